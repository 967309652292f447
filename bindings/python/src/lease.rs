//! Leases, and the batches that a fetch gives.
//!
//! A fetch makes one list of leases, which is shared: a lease is a place in it, so that what nobody looks at costs nothing.

use crate::args::{Given, Maybe};
use crate::attached::attached;
use crate::codec::{self, Codec};
use crate::errors::exception;
use crate::event::Event;
use crate::settle::{self, Settle};
use crate::time;
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};
use rheo_core::Instance;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What one fetch gave.
pub struct Leases {
    pub leases: Vec<rheo_core::Lease>,
    pub instance: Instance,
    pub codec: Codec,
}

/// A claim on one delivery.
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Lease {
    of: Arc<Leases>,
    index: u32,
    event: OnceLock<Py<Event>>,
}

impl Lease {
    fn at(of: &Arc<Leases>, index: usize) -> Lease {
        let index = u32::try_from(index).expect("a fetch gives at most 10,000");
        Lease { of: Arc::clone(of), index, event: OnceLock::new() }
    }

    /// The lease itself.
    #[inline]
    pub fn lease(&self) -> &rheo_core::Lease {
        &self.of.leases[self.index as usize]
    }

    /// This lease as it is after a renewal.
    pub fn renewed(&self, lease: rheo_core::Lease) -> Lease {
        let of = Leases { leases: vec![lease], instance: self.of.instance.clone(), codec: self.of.codec.clone() };
        Lease { of: Arc::new(of), index: 0, event: OnceLock::new() }
    }

    fn settle(&self, py: Python<'_>, settle: &Settle<'_>) -> PyResult<()> {
        let (instance, lease) = (&self.of.instance, self.lease());
        attached(py, || settle.one(instance, lease))
    }
}

#[pymethods]
impl Lease {
    #[getter]
    fn lease_id(&self) -> String {
        self.lease().lease_id().to_string()
    }

    #[getter]
    fn receipt(&self) -> String {
        self.lease().receipt()
    }

    #[getter]
    fn stream(&self) -> &str {
        self.lease().stream()
    }

    #[getter]
    fn group(&self) -> &str {
        self.lease().group()
    }

    #[getter]
    fn event<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Event>> {
        if let Some(event) = self.event.get() {
            return Ok(event.bind(py).clone());
        }
        let event = Bound::new(py, Event::new(self.lease().event().clone(), &self.of.codec))?;
        let _ = self.event.set(event.clone().unbind());
        Ok(self.event.get().map_or(event, |kept| kept.bind(py).clone()))
    }

    #[getter]
    fn consumer_id(&self) -> &str {
        self.lease().consumer_id()
    }

    #[getter]
    fn attempt(&self) -> u32 {
        self.lease().attempt()
    }

    #[getter]
    fn lease_ms(&self) -> u64 {
        self.lease().lease_ms()
    }

    #[getter]
    fn leased_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, self.lease().leased_at())
    }

    #[getter]
    fn expires_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, self.lease().expires_at())
    }

    #[getter]
    fn token(&self) -> String {
        self.lease().token().to_string()
    }

    fn ack(&self, py: Python<'_>) -> PyResult<()> {
        self.settle(py, &Settle::Ack)
    }

    #[pyo3(signature = (reason=None, *, delay_ms=None))]
    fn retry(&self, py: Python<'_>, reason: Maybe<'_, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<()> {
        self.settle(py, &Settle::retry(reason, delay_ms)?)
    }

    #[pyo3(signature = (reason=None))]
    fn reject(&self, py: Python<'_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        self.settle(py, &Settle::reject(reason)?)
    }

    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.settle(py, &Settle::Release)
    }

    #[pyo3(signature = (lease_ms=None))]
    fn renew(&self, py: Python<'_>, lease_ms: Maybe<'_, '_>) -> PyResult<Lease> {
        let lease_ms = settle::lease_ms(lease_ms)?;
        let (instance, lease) = (&self.of.instance, self.lease());
        Ok(self.renewed(attached(py, || instance.renew(lease, lease_ms))?))
    }

    fn __repr__(&self) -> String {
        let lease = self.lease();
        let event = lease.event();
        format!(
            "<rheo.Lease of {:?} partition {} sequence {} for {:?}, attempt {}>",
            lease.stream(),
            event.partition(),
            event.sequence(),
            lease.group(),
            lease.attempt(),
        )
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a lease does not pickle, since it holds its instance; send lease.token and lease.event",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.event.get().map_or(Ok(()), |event| visit.call(event))
    }
}

/// What a fetch gave: a sequence of leases.
#[pyclass(frozen, module = "rheo", sequence, weakref)]
pub struct Batch(Arc<Leases>);

impl Batch {
    pub fn new(leases: Vec<rheo_core::Lease>, instance: &Instance, codec: &Codec) -> Batch {
        Batch(Arc::new(Leases { leases, instance: instance.clone(), codec: codec.clone() }))
    }

    #[inline]
    pub fn leases(&self) -> &[rheo_core::Lease] {
        &self.0.leases
    }

    fn settle<'py>(&self, py: Python<'py>, settle: &Settle<'_>) -> PyResult<Bound<'py, PyList>> {
        let results = attached(py, || settle.many(&self.0.instance, self.leases()))?;
        settle::list(py, &results)
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.leases().len()
    }

    fn __getitem__<'py>(&self, index: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        let len = isize::try_from(self.leases().len()).expect("a fetch gives at most 10,000");
        if let Ok(slice) = index.cast::<PySlice>() {
            let places = slice.indices(len)?;
            let lease = |n: usize| Lease::at(&self.0, (places.start + n as isize * places.step) as usize);
            return Ok(PyList::new(py, (0..places.slicelength).map(lease).collect::<Vec<_>>())?.into_any());
        }
        let given: isize = index.extract()?;
        let index = if given < 0 { given + len } else { given };
        if !(0..len).contains(&index) {
            return Err(PyIndexError::new_err(format!("the batch has {len} leases; there is none at {given}")));
        }
        Ok(Bound::new(py, Lease::at(&self.0, index as usize))?.into_any())
    }

    fn __iter__(&self) -> LeaseIterator {
        LeaseIterator { of: Arc::clone(&self.0), next: AtomicUsize::new(0) }
    }

    fn __repr__(&self) -> String {
        match self.leases().first() {
            None => "<rheo.Batch of no leases>".to_owned(),
            Some(lease) => {
                format!("<rheo.Batch of {} leases of {:?} for {:?}>", self.__len__(), lease.stream(), lease.group())
            }
        }
    }

    fn payloads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let decode = |lease: &rheo_core::Lease| codec::decode(py, &self.0.codec, lease.event());
        PyList::new(py, self.leases().iter().map(decode).collect::<PyResult<Vec<_>>>()?)
    }

    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let event = |lease: &rheo_core::Lease| Event::new(lease.event().clone(), &self.0.codec);
        PyList::new(py, self.leases().iter().map(event).collect::<Vec<_>>())
    }

    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.leases().iter().map(|lease| lease.token().to_string()).collect::<Vec<_>>())
    }

    fn ack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::Ack)
    }

    #[pyo3(signature = (reason=None, *, delay_ms=None))]
    fn retry<'py>(
        &self,
        py: Python<'py>,
        reason: Maybe<'_, 'py>,
        delay_ms: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::retry(reason, delay_ms)?)
    }

    #[pyo3(signature = (reason=None))]
    fn reject<'py>(&self, py: Python<'py>, reason: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::reject(reason)?)
    }

    fn release<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::Release)
    }

    #[pyo3(signature = (lease_ms=None))]
    fn renew<'py>(&self, py: Python<'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let lease_ms = settle::lease_ms(lease_ms)?;
        let results = attached(py, || self.0.instance.renew_many(self.leases(), lease_ms))?;
        let renewed = self.leases().iter().zip(results).enumerate().map(|(index, (lease, result))| match result {
            Ok(expires_at) => {
                let renewed = Lease::at(&self.0, index).renewed(lease.renewed(expires_at));
                Ok(Bound::new(py, renewed)?.into_any())
            }
            Err(error) => exception(py, &error),
        });
        PyList::new(py, renewed.collect::<PyResult<Vec<_>>>()?)
    }
}

/// Goes over a batch.
#[pyclass(frozen)]
struct LeaseIterator {
    of: Arc<Leases>,
    next: AtomicUsize,
}

#[pymethods]
impl LeaseIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self) -> Option<Lease> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.of.leases.len()).then(|| Lease::at(&self.of, index))
    }

    fn __length_hint__(&self) -> usize {
        self.of.leases.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }
}
