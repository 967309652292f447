//! Opening, and an instance: everything by name.
//!
//! What is hot goes to the core by name; the rest goes through the bound handles, so that it is written once.

use crate::append::{self, Options};
use crate::args::{self, Given, Maybe};
use crate::attached::{attached, detached};
use crate::codec::{self, Codec, Custom};
use crate::errors::{raised, wrong_type};
use crate::event::{Event, EventIterator};
use crate::exit;
use crate::group::Group;
use crate::lease::Batch;
use crate::options;
use crate::settle::{self, Settle};
use crate::stream::Stream;
use crate::{telemetry, time, values, wait};
use pyo3::prelude::*;
use pyo3::types::PyList;
use rheo::handle::partition_count as any_partition_count;
use rheo_core::{FetchOptions, OpenOptions, StreamOptions};
use std::sync::Arc;

/// Opens an instance.
#[pyfunction]
#[pyo3(signature = (
    url=None, *, name=None, default_max_demand=None, default_lease_ms=None, default_max_attempts=None,
    max_payload_bytes=None, clock=None, clock_start=None, sync=None, sync_settles=None, segment_bytes=None,
    dumps=None, loads=None, telemetry=None, telemetry_durations=true
))]
#[allow(clippy::too_many_arguments)]
pub fn open(
    py: Python<'_>,
    url: Maybe<'_, '_>,
    name: Maybe<'_, '_>,
    default_max_demand: Maybe<'_, '_>,
    default_lease_ms: Maybe<'_, '_>,
    default_max_attempts: Maybe<'_, '_>,
    max_payload_bytes: Maybe<'_, '_>,
    clock: Maybe<'_, '_>,
    clock_start: Maybe<'_, '_>,
    sync: Maybe<'_, '_>,
    sync_settles: Maybe<'_, '_>,
    segment_bytes: Maybe<'_, '_>,
    dumps: Option<Bound<'_, PyAny>>,
    loads: Option<Bound<'_, PyAny>>,
    telemetry: Maybe<'_, '_>,
    telemetry_durations: bool,
) -> PyResult<Instance> {
    let url = args::optional_text("url", url)?.unwrap_or("memory:");
    let mut options = OpenOptions::new();
    let mut set = |what: &str, text: Option<String>| match text {
        Some(text) => options.set(what, &text).map_err(|error| raised(py, &error)),
        None => Ok(()),
    };
    for (what, given) in [("name", name), ("clock", clock), ("sync", sync)] {
        set(what, args::optional_text(what, given)?.map(str::to_owned))?;
    }
    let numbers = [
        ("default_max_demand", default_max_demand),
        ("default_lease_ms", default_lease_ms),
        ("default_max_attempts", default_max_attempts),
        ("max_payload_bytes", max_payload_bytes),
        ("segment_bytes", segment_bytes),
    ];
    for (what, given) in numbers {
        set(what, args::optional_number::<i128>(what, given)?.map(|number| number.to_string()))?;
    }
    let start = time::optional("clock_start", clock_start)?;
    set("clock_start", start.map(|start| start.as_micros().to_string()))?;
    if let Some(given) = sync_settles {
        set("sync_settles", Some(args::boolean("sync_settles", given)?.to_string()))?;
    }
    if let Some(callable) = telemetry {
        options = options.telemetry(telemetry::hook(callable, telemetry_durations)?);
    }
    let codec = custom(dumps, loads)?;
    let named = options.name.clone();
    let instance = detached(py, move || rheo_core::open(url, options))?;
    if let Some(name) = named {
        codec::name(&name, &codec);
    }
    exit::note_opened(&instance);
    Ok(Instance { instance, codec })
}

fn custom(dumps: Option<Bound<'_, PyAny>>, loads: Option<Bound<'_, PyAny>>) -> PyResult<Codec> {
    for (what, given) in [("dumps", &dumps), ("loads", &loads)] {
        if let Some(given) = given
            && !given.is_callable()
        {
            return Err(wrong_type(what, "a function", given));
        }
    }
    if dumps.is_none() && loads.is_none() {
        return Ok(None);
    }
    Ok(Some(Arc::new(Custom { dumps: dumps.map(Bound::unbind), loads: loads.map(Bound::unbind) })))
}

/// The open instance of this name.
#[pyfunction]
pub fn find(name: Given<'_, '_>) -> PyResult<Option<Instance>> {
    let name = args::text("name", name)?;
    Ok(rheo_core::get(name).map(|instance| Instance { instance, codec: codec::named(name) }))
}

/// One opened backend.
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Instance {
    instance: rheo_core::Instance,
    codec: Codec,
}

impl Instance {
    fn at_group(&self, stream: Given<'_, '_>, group: Given<'_, '_>) -> PyResult<Group> {
        let (stream_name, group_name) = (args::text("stream", stream)?, args::text("group", group)?);
        let group = self.instance.group(stream_name, group_name).map_err(|error| raised(stream.py(), &error))?;
        Ok(Group { group, instance: self.instance.clone(), codec: self.codec.clone() })
    }

    fn at_stream(&self, stream: Given<'_, '_>) -> PyResult<Stream> {
        let name = args::text("stream", stream)?;
        let found = self.instance.stream(name).map_err(|error| raised(stream.py(), &error))?;
        Ok(Stream { stream: found, codec: self.codec.clone() })
    }
}

#[pymethods]
#[allow(clippy::too_many_arguments)]
impl Instance {
    #[getter]
    fn name(&self) -> Option<&str> {
        self.instance.name()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.instance.is_closed()
    }

    /// Which operations may wait for something outside the process: appends, deliveries, reads.
    #[getter]
    fn _blocking(&self) -> (bool, bool, bool) {
        let blocking = self.instance.blocking();
        (blocking.appends, blocking.deliveries, blocking.reads)
    }

    #[getter]
    fn _manual_clock(&self) -> bool {
        matches!(self.instance.options().clock, rheo_core::ClockOption::Manual { .. })
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Given<'_, '_>,
        _error: Given<'_, '_>,
        _traceback: Given<'_, '_>,
    ) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let name = self.instance.name().map(|name| format!(" {name:?}")).unwrap_or_default();
        format!("<rheo.Instance{name}, {}>", if self.closed() { "closed" } else { "open" })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.instance.close())
    }

    fn ping(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.instance.ping())
    }

    fn ensure_indexes(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.instance.ensure_indexes())
    }

    fn capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::capabilities(py, &self.instance.capabilities())
    }

    fn now<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, attached(py, || self.instance.now())?)
    }

    fn advance_clock<'py>(&self, ms: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let (py, ms) = (ms.py(), args::number("ms", ms)?);
        time::to_python(py, detached(py, || self.instance.advance_clock(ms))?)
    }

    fn stream(&self, stream: Given<'_, '_>) -> PyResult<Stream> {
        self.at_stream(stream)
    }

    fn group(&self, stream: Given<'_, '_>, group: Given<'_, '_>) -> PyResult<Group> {
        self.at_group(stream, group)
    }

    // Streams and groups

    #[pyo3(signature = (stream, partition_count=None))]
    fn create_stream(&self, py: Python<'_>, stream: Given<'_, '_>, partition_count: Maybe<'_, '_>) -> PyResult<()> {
        let name = args::text("stream", stream)?;
        let count = args::optional_number("partition_count", partition_count)?.map_or(1, any_partition_count);
        detached(py, || self.instance.create_stream(name, StreamOptions::partitions(count)))
    }

    #[pyo3(signature = (stream, *, confirm=None))]
    fn delete_stream(&self, py: Python<'_>, stream: Given<'_, '_>, confirm: Maybe<'_, '_>) -> PyResult<()> {
        let (name, confirm) = (args::text("stream", stream)?, options::flag("confirm", confirm)?);
        detached(py, || self.instance.delete_stream(name, confirm))
    }

    fn stream_info<'py>(&self, py: Python<'py>, stream: Given<'_, '_>) -> PyResult<Bound<'py, PyAny>> {
        let name = args::text("stream", stream)?;
        values::stream_info(py, &detached(py, || self.instance.stream_info(name))?)
    }

    fn list_streams(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || self.instance.list_streams())
    }

    #[pyo3(signature = (
        stream, group, *, max_attempts=None, max_deliveries=None, ordering=None, start_after=None, start_at=None,
        partitions=None
    ))]
    fn create_group(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        max_attempts: Maybe<'_, '_>,
        max_deliveries: Maybe<'_, '_>,
        ordering: Maybe<'_, '_>,
        start_after: Maybe<'_, '_>,
        start_at: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<()> {
        let (stream, group) = (args::text("stream", stream)?, args::text("group", group)?);
        let start = options::start(start_after, start_at, partitions)?;
        let options = options::group(max_attempts, max_deliveries, ordering, start)?;
        detached(py, || self.instance.create_group(stream, group, &options))
    }

    #[pyo3(signature = (stream, group, *, max_attempts=None, max_deliveries=None))]
    fn update_group(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        max_attempts: Maybe<'_, '_>,
        max_deliveries: Maybe<'_, '_>,
    ) -> PyResult<()> {
        let (stream, group) = (args::text("stream", stream)?, args::text("group", group)?);
        let update = options::update(max_attempts, max_deliveries)?;
        detached(py, || self.instance.update_group(stream, group, &update))
    }

    fn delete_group(&self, py: Python<'_>, stream: Given<'_, '_>, group: Given<'_, '_>) -> PyResult<()> {
        let (stream, group) = (args::text("stream", stream)?, args::text("group", group)?);
        detached(py, || self.instance.delete_group(stream, group))
    }

    fn list_groups(&self, py: Python<'_>, stream: Given<'_, '_>) -> PyResult<Vec<String>> {
        let name = args::text("stream", stream)?;
        detached(py, || self.instance.list_groups(name))
    }

    // The log

    #[pyo3(signature = (
        stream, payload, *, id=None, key=None, r#type=None, metadata=None, timestamp=None, partition=None, encoding=None
    ))]
    fn append<'py>(
        &self,
        stream: Given<'_, 'py>,
        payload: Given<'_, 'py>,
        id: Maybe<'_, 'py>,
        key: Maybe<'_, 'py>,
        r#type: Maybe<'_, 'py>,
        metadata: Maybe<'_, 'py>,
        timestamp: Maybe<'_, 'py>,
        partition: Maybe<'_, 'py>,
        encoding: Maybe<'_, 'py>,
    ) -> PyResult<Event> {
        let (py, stream) = (stream.py(), args::text("stream", stream)?);
        let options = Options { id, key, event_type: r#type, metadata, timestamp, partition, encoding };
        append::one(&self.codec, payload, options, |item| attached(py, || self.instance.append(stream, item)))
    }

    #[pyo3(signature = (
        stream, items, *, id=None, key=None, r#type=None, metadata=None, timestamp=None, partition=None, encoding=None
    ))]
    fn append_batch<'py>(
        &self,
        stream: Given<'_, 'py>,
        items: Given<'_, 'py>,
        id: Maybe<'_, 'py>,
        key: Maybe<'_, 'py>,
        r#type: Maybe<'_, 'py>,
        metadata: Maybe<'_, 'py>,
        timestamp: Maybe<'_, 'py>,
        partition: Maybe<'_, 'py>,
        encoding: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, stream) = (stream.py(), args::text("stream", stream)?);
        let options = Options { id, key, event_type: r#type, metadata, timestamp, partition, encoding };
        append::many(&self.codec, items, options, |items, shared| {
            attached(py, || self.instance.append_batch(stream, items, shared))
        })
    }

    #[pyo3(signature = (stream, *, after=None, limit=None, partition=None))]
    fn read(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        after: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
        partition: Maybe<'_, '_>,
    ) -> PyResult<Vec<Event>> {
        let (stream, options) = (args::text("stream", stream)?, options::read(after, limit, partition)?);
        Ok(values::events(attached(py, || self.instance.read(stream, options))?, &self.codec))
    }

    fn get(&self, stream: Given<'_, '_>, event_id: Given<'_, '_>) -> PyResult<Option<Event>> {
        let (py, stream, id) = (stream.py(), args::text("stream", stream)?, args::text("event_id", event_id)?);
        let event = attached(py, || self.instance.get(stream, id))?;
        Ok(event.map(|event| Event::new(event, &self.codec)))
    }

    #[pyo3(signature = (
        stream, *, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, order_by=None, limit=None
    ))]
    fn query(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        r#where: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        to: Maybe<'_, '_>,
        after_sequence: Maybe<'_, '_>,
        until_sequence: Maybe<'_, '_>,
        order_by: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
    ) -> PyResult<Vec<Event>> {
        let stream = self.at_stream(stream)?;
        stream.query(py, r#where, from_, to, after_sequence, until_sequence, order_by, limit)
    }

    #[pyo3(signature = (
        stream, *, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, limit=None, cursor=None
    ))]
    fn query_page<'py>(
        &self,
        py: Python<'py>,
        stream: Given<'_, '_>,
        r#where: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        to: Maybe<'_, '_>,
        after_sequence: Maybe<'_, '_>,
        until_sequence: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
        cursor: Maybe<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.at_stream(stream)?;
        stream.query_page(py, r#where, from_, to, after_sequence, until_sequence, limit, cursor)
    }

    #[pyo3(signature = (
        stream, *, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, order_by=None, limit=None
    ))]
    fn query_stream(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        r#where: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        to: Maybe<'_, '_>,
        after_sequence: Maybe<'_, '_>,
        until_sequence: Maybe<'_, '_>,
        order_by: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
    ) -> PyResult<EventIterator> {
        let stream = self.at_stream(stream)?;
        stream.query_stream(py, r#where, from_, to, after_sequence, until_sequence, order_by, limit)
    }

    #[pyo3(signature = (stream, *, before_sequence=None, max_len=None, max_age_ms=None, max_bytes=None, force=None))]
    fn trim(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        before_sequence: Maybe<'_, '_>,
        max_len: Maybe<'_, '_>,
        max_age_ms: Maybe<'_, '_>,
        max_bytes: Maybe<'_, '_>,
        force: Maybe<'_, '_>,
    ) -> PyResult<u64> {
        self.at_stream(stream)?.trim(py, before_sequence, max_len, max_age_ms, max_bytes, force)
    }

    // Delivery

    #[pyo3(signature = (
        stream, group, *, limit=None, lease_ms=None, consumer_id=None, partitions=None, wait_ms=None
    ))]
    fn fetch(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        limit: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        wait_ms: Maybe<'_, '_>,
    ) -> PyResult<Batch> {
        let (stream, group) = (args::text("stream", stream)?, args::text("group", group)?);
        let options = options::fetch(limit, lease_ms, consumer_id, partitions, wait_ms)?;
        let now = FetchOptions { wait_ms: 0, ..options.as_options() };
        let fetch_now = |leases: &mut Vec<_>| self.instance.fetch_into(stream, group, &now, leases);
        wait::fetch(py, &self.instance, &self.codec, &options, fetch_now, || self.instance.group(stream, group))
    }

    fn ack(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Ack.one_given(&self.instance, lease)
    }

    #[pyo3(signature = (lease, reason=None, *, delay_ms=None))]
    fn retry(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<()> {
        Settle::retry(reason, delay_ms)?.one_given(&self.instance, lease)
    }

    #[pyo3(signature = (lease, reason=None))]
    fn reject(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        Settle::reject(reason)?.one_given(&self.instance, lease)
    }

    fn release(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Release.one_given(&self.instance, lease)
    }

    #[pyo3(signature = (lease, lease_ms=None))]
    fn renew<'py>(&self, lease: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        settle::renew_given(&self.instance, lease, lease_ms)
    }

    fn ack_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Ack.many_given(&self.instance, leases)
    }

    #[pyo3(signature = (leases, reason=None, *, delay_ms=None))]
    fn retry_many<'py>(
        &self,
        leases: Given<'_, 'py>,
        reason: Maybe<'_, 'py>,
        delay_ms: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        Settle::retry(reason, delay_ms)?.many_given(&self.instance, leases)
    }

    #[pyo3(signature = (leases, reason=None))]
    fn reject_many<'py>(&self, leases: Given<'_, 'py>, reason: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::reject(reason)?.many_given(&self.instance, leases)
    }

    fn release_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Release.many_given(&self.instance, leases)
    }

    #[pyo3(signature = (leases, lease_ms=None))]
    fn renew_many<'py>(&self, leases: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        settle::renew_many_given(&self.instance, leases, lease_ms)
    }

    // Progress

    #[pyo3(signature = (stream, group, *, partitions=None))]
    fn lag<'py>(
        &self,
        py: Python<'py>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.at_group(stream, group)?.lag(py, partitions)
    }

    #[pyo3(signature = (stream, group, *, partitions=None))]
    fn group_info<'py>(
        &self,
        py: Python<'py>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.at_group(stream, group)?.info(py, partitions)
    }

    #[pyo3(signature = (stream, group, *, limit=None, after=None, partitions=None))]
    fn dead_letters<'py>(
        &self,
        py: Python<'py>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        limit: Maybe<'_, '_>,
        after: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.at_group(stream, group)?.dead_letters(py, limit, after, partitions)
    }

    #[pyo3(signature = (stream, group, event_ids=None, *, all=None))]
    fn discard_dead_letters(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        event_ids: Maybe<'_, '_>,
        all: Maybe<'_, '_>,
    ) -> PyResult<u64> {
        self.at_group(stream, group)?.discard_dead_letters(py, event_ids, all)
    }

    #[pyo3(signature = (
        stream, group, *, from_sequence=None, from_=None, event_ids=None, query=None, partitions=None
    ))]
    fn replay(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        from_sequence: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        event_ids: Maybe<'_, '_>,
        query: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<u64> {
        self.at_group(stream, group)?.replay(py, from_sequence, from_, event_ids, query, partitions)
    }

    #[pyo3(signature = (stream, group, *, confirm=None, start_after=None, start_at=None, partitions=None))]
    fn reset_group(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        confirm: Maybe<'_, '_>,
        start_after: Maybe<'_, '_>,
        start_at: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<()> {
        self.at_group(stream, group)?.reset(py, confirm, start_after, start_at, partitions)
    }
}
