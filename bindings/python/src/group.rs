//! A group, its names resolved once.

use crate::args::{self, Given, Maybe};
use crate::attached::{attached, detached};
use crate::codec::Codec;
use crate::lease::Batch;
use crate::options::{self, Discard};
use crate::settle::{self, Settle};
use crate::values;
use crate::wait;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rheo::handle::OwnedFetchOptions;
use rheo_core::{FetchOptions, Instance};

/// A group, its names resolved once.
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Group {
    pub group: rheo_core::Group,
    pub instance: Instance,
    pub codec: Codec,
}

#[pymethods]
impl Group {
    #[getter]
    fn stream(&self) -> &str {
        self.group.stream()
    }

    #[getter]
    fn name(&self) -> &str {
        self.group.name()
    }

    fn __repr__(&self) -> String {
        format!("<rheo.Group {:?} of {:?}>", self.group.name(), self.group.stream())
    }

    #[pyo3(signature = (*, limit=None, lease_ms=None, consumer_id=None, partitions=None, wait_ms=None))]
    fn fetch(
        &self,
        py: Python<'_>,
        limit: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        wait_ms: Maybe<'_, '_>,
    ) -> PyResult<Batch> {
        let options = options::fetch(limit, lease_ms, consumer_id, partitions, wait_ms)?;
        let now = FetchOptions { wait_ms: 0, ..options.as_options() };
        let fetch_now = |leases: &mut Vec<_>| self.group.fetch_into(&now, leases);
        wait::fetch(py, &self.instance, &self.codec, &options, fetch_now, || Ok(self.group.clone()))
    }

    #[pyo3(signature = (*, limit=None, lease_ms=None, consumer_id=None, partitions=None))]
    fn _fetch_now(
        &self,
        py: Python<'_>,
        limit: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<(Batch, Option<f64>)> {
        let options: OwnedFetchOptions = options::fetch(limit, lease_ms, consumer_id, partitions, None)?;
        wait::fetch_now(py, &self.instance, &self.group, &self.codec, &options)
    }

    #[cfg(unix)]
    #[pyo3(signature = (bridge=None, partitions=None))]
    fn _watch(
        &self,
        py: Python<'_>,
        bridge: Option<&Bound<'_, wait::Bridge>>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Option<wait::Watch>> {
        wait::Watch::new(py, bridge, &self.group, partitions)
    }

    fn ack(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Ack.one_given(&self.group, lease)
    }

    #[pyo3(signature = (lease, reason=None, *, delay_ms=None))]
    fn retry(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<()> {
        Settle::retry(reason, delay_ms)?.one_given(&self.group, lease)
    }

    #[pyo3(signature = (lease, reason=None))]
    fn reject(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        Settle::reject(reason)?.one_given(&self.group, lease)
    }

    fn release(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Release.one_given(&self.group, lease)
    }

    #[pyo3(signature = (lease, lease_ms=None))]
    fn renew<'py>(&self, lease: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        settle::renew_given(&self.group, lease, lease_ms)
    }

    fn ack_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Ack.many_given(&self.group, leases)
    }

    #[pyo3(signature = (leases, reason=None, *, delay_ms=None))]
    fn retry_many<'py>(
        &self,
        leases: Given<'_, 'py>,
        reason: Maybe<'_, 'py>,
        delay_ms: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        Settle::retry(reason, delay_ms)?.many_given(&self.group, leases)
    }

    #[pyo3(signature = (leases, reason=None))]
    fn reject_many<'py>(&self, leases: Given<'_, 'py>, reason: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::reject(reason)?.many_given(&self.group, leases)
    }

    fn release_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Release.many_given(&self.group, leases)
    }

    #[pyo3(signature = (leases, lease_ms=None))]
    fn renew_many<'py>(&self, leases: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        settle::renew_many_given(&self.group, leases, lease_ms)
    }

    #[pyo3(signature = (*, partitions=None))]
    pub fn lag<'py>(&self, py: Python<'py>, partitions: Maybe<'_, '_>) -> PyResult<Bound<'py, PyAny>> {
        let partitions = args::partitions(partitions)?;
        values::lag(py, &attached(py, || self.group.lag(partitions.as_deref()))?)
    }

    #[pyo3(signature = (*, partitions=None))]
    pub fn info<'py>(&self, py: Python<'py>, partitions: Maybe<'_, '_>) -> PyResult<Bound<'py, PyAny>> {
        let partitions = args::partitions(partitions)?;
        values::group_info(py, &attached(py, || self.group.info(partitions.as_deref()))?)
    }

    #[pyo3(signature = (*, limit=None, after=None, partitions=None))]
    pub fn dead_letters<'py>(
        &self,
        py: Python<'py>,
        limit: Maybe<'_, '_>,
        after: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let options = options::dead_letters(limit, after, partitions)?;
        let letters = detached(py, || self.group.dead_letters(&options))?;
        letters.into_iter().map(|letter| values::dead_letter(py, letter, &self.codec)).collect()
    }

    #[pyo3(signature = (event_ids=None, *, all=None))]
    pub fn discard_dead_letters(&self, py: Python<'_>, event_ids: Maybe<'_, '_>, all: Maybe<'_, '_>) -> PyResult<u64> {
        let which = Discard::new(py, event_ids, all)?;
        detached(py, || which.with(|which| self.group.discard_dead_letters(which)))
    }

    #[pyo3(signature = (*, from_sequence=None, from_=None, event_ids=None, query=None, partitions=None))]
    pub fn replay(
        &self,
        py: Python<'_>,
        from_sequence: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        event_ids: Maybe<'_, '_>,
        query: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<u64> {
        let options = options::replay(from_sequence, from_, event_ids, query, partitions)?;
        detached(py, || self.group.replay(&options))
    }

    #[pyo3(signature = (*, confirm=None, start_after=None, start_at=None, partitions=None))]
    pub fn reset(
        &self,
        py: Python<'_>,
        confirm: Maybe<'_, '_>,
        start_after: Maybe<'_, '_>,
        start_at: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<()> {
        let options = options::reset(confirm, options::start(start_after, start_at, partitions)?)?;
        detached(py, || self.group.reset(&options))
    }

    #[pyo3(signature = (*, max_attempts=None, max_deliveries=None))]
    fn update(&self, py: Python<'_>, max_attempts: Maybe<'_, '_>, max_deliveries: Maybe<'_, '_>) -> PyResult<()> {
        let update = options::update(max_attempts, max_deliveries)?;
        detached(py, || self.group.update(&update))
    }

    fn delete(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.group.delete())
    }
}
