//! Leases, and the batches that a fetch gives.
//!
//! A fetch makes one list of leases, which is shared: a lease is a place in it, so that what nobody looks at costs nothing.

use crate::args::{Given, Maybe};
use crate::attached::attached;
use crate::codec::{self, Codec};
use crate::errors::{does_not_pickle, exception};
use crate::event::Event;
use crate::settle::{self, Settle};
use crate::time;
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyValueError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PySlice};
use rheo_core::{Instance, LeaseId, Producer};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What one fetch gave.
pub struct Leases {
    pub leases: Vec<rheo_core::Lease>,
    pub instance: Instance,
    pub codec: Codec,
    /// Through which they are settled, where one gave them.
    pub producer: Option<Producer>,
}

/// A claim on one delivery until `expires_at`. Made by a fetch; settles once.
///
/// Whoever has it may settle it, on any thread. It stays readable after it was settled and after the instance was
/// closed. It does not pickle, since it holds its instance: send `token`, which settles in whatever process reaches the
/// same store, and `event`.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     db.create_group("orders", "billing")
///     ...     event = db.append("orders", {"total": 3}, id="o-1")
///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
///     ...     lease.event.payload, lease.attempt
///     ...     lease.ack()
///     ({'total': 3}, 1)
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

    fn claim(&self) -> Claim<'_> {
        claim(self.lease())
    }

    /// This lease as it is after a renewal.
    pub fn renewed(&self, lease: rheo_core::Lease) -> Lease {
        let (instance, codec, producer) = (self.of.instance.clone(), self.of.codec.clone(), self.of.producer.clone());
        let of = Leases { leases: vec![lease], instance, codec, producer };
        Lease { of: Arc::new(of), index: 0, event: OnceLock::new() }
    }

    fn settle(&self, py: Python<'_>, settle: &Settle<'_>) -> PyResult<()> {
        let lease = self.lease();
        attached(py, || match &self.of.producer {
            Some(producer) => settle.one(producer, lease),
            None => settle.one(&self.of.instance, lease),
        })
    }
}

#[pymethods]
impl Lease {
    /// The lease's id, 128 random bits as 32 hexadecimal digits; a renewal keeps it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     len(lease.lease_id), lease.renew().lease_id == lease.lease_id
    ///     (32, True)
    #[getter]
    fn lease_id(&self) -> String {
        self.lease().lease_id().to_string()
    }

    /// The backend's own identity of the claim; the `lease_id` where it has none.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.receipt == lease.lease_id
    ///     True
    #[getter]
    fn receipt(&self) -> String {
        self.lease().receipt()
    }

    /// The stream's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.stream
    ///     'orders'
    #[getter]
    fn stream(&self) -> &str {
        self.lease().stream()
    }

    /// The group's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.group
    ///     'billing'
    #[getter]
    fn group(&self) -> &str {
        self.lease().group()
    }

    /// The event. Always the same object, so that its payload is decoded once.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.event.id, lease.event is lease.event
    ///     ('o-1', True)
    #[getter]
    pub fn event<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Event>> {
        if let Some(event) = self.event.get() {
            return Ok(event.bind(py).clone());
        }
        let event = Bound::new(py, Event::new(self.lease().event().clone(), &self.of.codec))?;
        let _ = self.event.set(event.clone().unbind());
        Ok(self.event.get().map_or(event, |kept| kept.bind(py).clone()))
    }

    /// Who took it, as the fetch said.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.consumer_id
    ///     'me'
    #[getter]
    fn consumer_id(&self) -> &str {
        self.lease().consumer_id()
    }

    /// Which delivery of the event to the group it is; 1 for the first.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.attempt
    ///     1
    #[getter]
    fn attempt(&self) -> u32 {
        self.lease().attempt()
    }

    /// How long the fetch gave it, in milliseconds, and how long a `renew` without an argument gives it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.lease_ms
    ///     30000
    #[getter]
    fn lease_ms(&self) -> u64 {
        self.lease().lease_ms()
    }

    /// When it was given, an aware `datetime` in UTC.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.leased_at <= lease.expires_at
    ///     True
    #[getter]
    fn leased_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, self.lease().leased_at())
    }

    /// When it expires, an aware `datetime` in UTC. For people: the backend's own deadline counts.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     (lease.expires_at - lease.leased_at).total_seconds()
    ///     30.0
    #[getter]
    fn expires_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, self.lease().expires_at())
    }

    /// Printable text that settles as the lease does, wherever the same store is reached. It does not hold the event.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     db.ack(lease.token)
    #[getter]
    fn token(&self) -> String {
        self.lease().token().to_string()
    }

    fn __eq__<'py>(&self, other: Given<'_, 'py>) -> Bound<'py, PyAny> {
        let py = other.py();
        match other.cast::<Lease>() {
            Ok(other) => PyBool::new(py, self.claim() == other.get().claim()).to_owned().into_any(),
            Err(_) => py.NotImplemented().into_bound(py),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.claim().hash(&mut hasher);
        hasher.finish()
    }

    /// Settles it: the work is done.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.ack()
    ///     ...     db.lag("orders", "billing").lag
    ///     0
    fn ack(&self, py: Python<'_>) -> PyResult<()> {
        self.settle(py, &Settle::Ack)
    }

    /// Gives it back to be tried again. With the group's last attempt it becomes a dead letter instead.
    ///
    /// Args:
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; 0, of a producer's lease its `retry_delay`.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.retry("the bank is closed")
    ///     ...     db.fetch("orders", "billing")[0].attempt
    ///     2
    #[pyo3(signature = (reason=None, *, delay_ms=None))]
    fn retry(&self, py: Python<'_>, reason: Maybe<'_, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<()> {
        self.settle(py, &Settle::retry(reason, delay_ms)?)
    }

    /// Makes a dead letter of its delivery: it is not offered again until it is replayed.
    ///
    /// Args:
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.reject("a negative total")
    ///     ...     db.dead_letters("orders", "billing")[0].reason
    ///     'a negative total'
    #[pyo3(signature = (reason=None))]
    fn reject(&self, py: Python<'_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        self.settle(py, &Settle::reject(reason)?)
    }

    /// Gives it back unworked: available at once, and the attempt does not count.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.release()
    ///     ...     db.fetch("orders", "billing")[0].attempt
    ///     1
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.settle(py, &Settle::Release)
    }

    /// Extends it, counted from now.
    ///
    /// Args:
    ///     lease_ms: How long it lasts from now on, in milliseconds, 1 or more; by default the lease's own time.
    ///
    /// Returns:
    ///     The lease as it is now. This one says the old `expires_at`, and settles as well.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     lease = db.fetch("orders", "billing", consumer_id="me")[0]
    ///     ...     lease.renew(60_000).expires_at > lease.expires_at
    ///     True
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

    /// Refuses to pickle, and says what to send instead.
    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("a lease", "send lease.token and lease.event"))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.event.get().map_or(Ok(()), |event| visit.call(event))
    }
}

/// What a fetch gave: a sequence of leases, and what can be done with all of them at once.
///
/// It is indexed, sliced (to a list of leases) and gone over like a list; empty, it is false. Leases and events are
/// made as they are looked at: `payloads` with `ack` makes neither, and is the fastest way through a batch.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     db.create_group("orders", "billing")
///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
///     ...     batch = db.fetch("orders", "billing")
///     ...     len(batch), batch[0].event.payload, [lease.attempt for lease in batch]
///     ...     batch.payloads(), batch.ack()
///     (2, {'n': 1}, [1, 1])
///     ([{'n': 1}, {'n': 2}], [None, None])
#[pyclass(frozen, module = "rheo", sequence, weakref)]
pub struct Batch(Arc<Leases>);

impl Batch {
    pub fn new(leases: Vec<rheo_core::Lease>, instance: &Instance, codec: &Codec) -> Batch {
        Batch(Arc::new(Leases { leases, instance: instance.clone(), codec: codec.clone(), producer: None }))
    }

    /// Of leases that are settled through a producer.
    pub fn produced(leases: Vec<rheo_core::Lease>, producer: &Producer, instance: &Instance, codec: &Codec) -> Batch {
        let (instance, codec, producer) = (instance.clone(), codec.clone(), Some(producer.clone()));
        Batch(Arc::new(Leases { leases, instance, codec, producer }))
    }

    /// One of its leases.
    pub fn at(&self, index: usize) -> Lease {
        Lease::at(&self.0, index)
    }

    #[inline]
    pub fn leases(&self) -> &[rheo_core::Lease] {
        &self.0.leases
    }

    fn position(&self, value: Given<'_, '_>) -> Option<usize> {
        let wanted = value.cast::<Lease>().ok()?.get().claim();
        self.leases().iter().position(|lease| claim(lease) == wanted)
    }

    fn settle<'py>(&self, py: Python<'py>, settle: &Settle<'_>) -> PyResult<Bound<'py, PyList>> {
        let results = attached(py, || match &self.0.producer {
            Some(producer) => settle.many(producer, self.leases()),
            None => settle.many(&self.0.instance, self.leases()),
        })?;
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
        let given: isize = index.extract().map_err(|error| beyond(py, error))?;
        let index = if given < 0 { given + len } else { given };
        if !(0..len).contains(&index) {
            return Err(PyIndexError::new_err(format!("the batch has {len} leases; there is none at {given}")));
        }
        Ok(Bound::new(py, Lease::at(&self.0, index as usize))?.into_any())
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("a batch", "send batch.tokens() and batch.events()"))
    }

    fn __contains__(&self, value: Given<'_, '_>) -> bool {
        self.position(value).is_some()
    }

    /// Where the lease is in the batch.
    ///
    /// Args:
    ///     value: A lease.
    ///     start: Look from this position on.
    ///     stop: Look up to, but not including, this position.
    ///
    /// Raises:
    ///     ValueError: The batch does not have it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     batch.index(batch[1])
    ///     1
    #[pyo3(signature = (value, start=0, stop=isize::MAX, /))]
    fn index(&self, value: Given<'_, '_>, start: isize, stop: isize) -> PyResult<usize> {
        let len = self.leases().len();
        let place = |at: isize| if at < 0 { len.saturating_sub(at.unsigned_abs()) } else { at.unsigned_abs() };
        self.position(value)
            .filter(|index| (place(start)..place(stop)).contains(index))
            .ok_or_else(|| PyValueError::new_err("the batch does not have it"))
    }

    /// How often the batch has the lease: once or not at all.
    ///
    /// Args:
    ///     value: A lease.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"n": 1})
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     batch.count(batch[0])
    ///     1
    fn count(&self, value: Given<'_, '_>) -> usize {
        usize::from(self.position(value).is_some())
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

    /// The payloads, a list: JSON decoded, bytes as `bytes`. Each call decodes anew.
    ///
    /// Raises:
    ///     InvalidArgument: A payload is tagged `json` but is none; a note on the error says which.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     batch.payloads()
    ///     [{'n': 1}, {'n': 2}]
    fn payloads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let decode = |lease: &rheo_core::Lease| codec::decode(py, &self.0.codec, lease.event());
        PyList::new(py, self.leases().iter().map(decode).collect::<PyResult<Vec<_>>>()?)
    }

    /// The events, a list.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     [event.sequence for event in batch.events()]
    ///     [1, 2]
    pub fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let event = |lease: &rheo_core::Lease| Event::new(lease.event().clone(), &self.0.codec);
        PyList::new(py, self.leases().iter().map(event).collect::<Vec<_>>())
    }

    /// The leases' tokens, a list.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     db.ack_many(batch.tokens())
    ///     [None, None]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.leases().iter().map(|lease| lease.token().to_string()).collect::<Vec<_>>())
    }

    /// Settles all: their work is done.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     batch.ack()
    ///     [None, None]
    fn ack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::Ack)
    }

    /// Gives all back to be tried again, as `Lease.retry` does.
    ///
    /// Args:
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; 0, of a producer's lease its `retry_delay`.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     batch.retry("the bank is closed", delay_ms=60_000)
    ///     [None, None]
    #[pyo3(signature = (reason=None, *, delay_ms=None))]
    fn retry<'py>(
        &self,
        py: Python<'py>,
        reason: Maybe<'_, 'py>,
        delay_ms: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::retry(reason, delay_ms)?)
    }

    /// Makes dead letters of all, as `Lease.reject` does.
    ///
    /// Args:
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     batch.reject("bad")
    ///     [None, None]
    #[pyo3(signature = (reason=None))]
    fn reject<'py>(&self, py: Python<'py>, reason: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::reject(reason)?)
    }

    /// Gives all back unworked, as `Lease.release` does.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     batch.release()
    ///     [None, None]
    fn release<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.settle(py, &Settle::Release)
    }

    /// Extends all, counted from now.
    ///
    /// Args:
    ///     lease_ms: How long it lasts from now on, in milliseconds, 1 or more; by default each lease's own time.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: the lease as it is now, or the `RheoError` of that lease.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     batch = db.fetch("orders", "billing")
    ///     ...     [lease.attempt for lease in batch.renew(60_000)]
    ///     [1, 1]
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

/// No sequence is that long.
#[cold]
fn beyond(py: Python<'_>, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyOverflowError>(py) {
        return PyIndexError::new_err("the batch has no lease at a position that large");
    }
    error
}

type Claim<'a> = (LeaseId, &'a str, &'a str, u32, u64);

/// What makes a lease this claim and no other.
fn claim(lease: &rheo_core::Lease) -> Claim<'_> {
    let token = lease.token();
    (token.lease_id(), token.stream(), token.group(), token.partition(), token.sequence())
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
