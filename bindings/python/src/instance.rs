//! Opening, and an instance: everything by name.
//!
//! What is hot goes to the core by name; the rest goes through the bound handles, so that it is written once.

use crate::append::{self, Options};
use crate::args::{self, Given, Maybe};
use crate::attached::{attached, detached};
use crate::codec::{self, Codec, Custom, Hook, Opened};
use crate::errors::{does_not_pickle, raised, wrong_type};
use crate::event::{Event, EventIterator};
use crate::exit;
use crate::group::Group;
use crate::handler::handled;
use crate::lease::Batch;
use crate::options;
use crate::producer::{Options as ProducerArgs, Producer, consumer_options};
use crate::settle::{self, Settle};
use crate::stream::Stream;
use crate::{telemetry, time, values, wait};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rheo_core::{FetchOptions, HostData, OpenOptions, StreamOptions};
use std::sync::{Arc, Mutex, PoisonError};

/// Opens an instance.
///
/// Args:
///     url: `memory:` (the default) lives and ends with the process; `journal:PATH` is one directory that survives
///         kills and power cuts. What this build can open is in `rheo.FEATURES`.
///     name: A name by which `rheo.get` finds the instance from any thread of this process.
///     default_max_demand: The `limit` of a fetch that is not given one; 10.
///     default_lease_ms: The `lease_ms` of a fetch that is not given one, in milliseconds; 30,000.
///     default_max_attempts: The `max_attempts` of a group that is not given one; 5.
///     max_payload_bytes: The largest payload, in bytes; 16 MiB, which is also the most it may be.
///     clock: `"system"` (the default), or `"manual"`: a clock that stands still and moves only by `advance_clock`, for
///         tests.
///     clock_start: Where a manual clock begins: an aware `datetime`, or an `int` of microseconds since 1970. By
///         default the time at which it is opened.
///     sync: When a journal is synced: `"always"` (the default), `"interval:MS"` or `"never"`.
///     sync_settles: Whether a settle in a journal returns only once it is synced; false.
///     segment_bytes: How large a file of a journal gets before the next begins, in bytes; 64 MiB, from 4 KiB to 1 GiB.
///     dumps: A function that encodes payloads: a value to JSON as `bytes` or `str`. By default Rheo's own encoder.
///         Bytes never go through it.
///     loads: A function that decodes payloads: JSON as `bytes` to a value. By default Rheo's own decoder.
///     telemetry: A function that is called with a `TelemetryEvent` after each operation, on the thread of the
///         operation. What it raises goes to `sys.unraisablehook`. See `rheo.log_to` for one that is ready.
///     telemetry_durations: Whether spans carry how long they took, which costs two readings of the clock; true.
///
/// Returns:
///     The open instance. It is a context manager that closes itself.
///
/// Raises:
///     AlreadyExists: An open instance has this name.
///     InvalidArgument: An option's value or the URL is none.
///     Unsupported: The URL is of a backend that this build lacks.
///     Locked: The journal is open already, here or in another process.
///     Corrupt: What the journal holds fails its check.
///     VersionMismatch: A newer release wrote the journal.
///
/// Example:
///     >>> with rheo.open("memory:", clock="manual", clock_start=0) as db:
///     ...     str(db.now())
///     '1970-01-01 00:00:00+00:00'
#[pyfunction]
#[pyo3(signature = (
    url=None, *, name=None, default_max_demand=None, default_lease_ms=None, default_max_attempts=None,
    max_payload_bytes=None, clock=None, clock_start=None, sync=None, sync_settles=None, segment_bytes=None,
    dumps=None, loads=None, telemetry=None, telemetry_durations=None
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
    telemetry_durations: Maybe<'_, '_>,
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
    let hook = Hook::default();
    let durations = telemetry_durations.map_or(Ok(true), |given| args::boolean("telemetry_durations", given))?;
    if let Some(callable) = telemetry {
        options = options.telemetry(telemetry::hook(callable, durations, &hook)?);
    }
    let codec = custom(dumps, loads)?;
    options.host = Some(HostData::new(Arc::new(Opened { codec: codec.clone(), hook, running: Mutex::default() })));
    let instance = detached(py, move || rheo_core::open(url, options))?;
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

/// The open instance of this name, as `rheo.get(name)`.
///
/// Args:
///     name: What `rheo.open` was given as `name`.
///
/// Returns:
///     The same instance, with its `dumps` and `loads`, or None when no open one has this name.
///
/// Example:
///     >>> with rheo.open(name="shop") as db:
///     ...     rheo.get("shop").name
///     'shop'
///     >>> rheo.get("shop") is None
///     True
#[pyfunction]
#[pyo3(name = "get")]
pub fn find(name: Given<'_, '_>) -> PyResult<Option<Instance>> {
    let name = args::text("name", name)?;
    Ok(rheo_core::get(name).map(|instance| {
        let codec = codec::of(&instance).codec.clone();
        Instance { instance, codec }
    }))
}

/// One opened backend: streams, groups, events and leases, all by name. Made by `rheo.open`.
///
/// Every thread may use it, at the same time. It is a context manager that closes itself. `stream` and `group` give
/// handles with the same methods that resolve the names once: use these where it is hot.
///
/// Every method raises `Closed` after `close`, `Forked` in a child that was forked off after the instance was opened,
/// and, where the store is at fault, `BackendUnavailable`, `Failed`, `Ambiguous`, `Timeout`, `Poisoned` or `Corrupt`. A
/// missing stream is `StreamNotFound`, a missing group `GroupNotFound`, a value out of range `InvalidArgument`, a wrong
/// type `TypeError`. The methods name only what they raise beyond that.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     db.create_group("orders", "billing")
///     ...     event = db.append("orders", {"total": 12.5}, type="placed")
///     ...     for lease in db.fetch("orders", "billing"):
///     ...         print(lease.event.payload)
///     ...         lease.ack()
///     {'total': 12.5}
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Instance {
    instance: rheo_core::Instance,
    codec: Codec,
}

impl Instance {
    pub fn of(instance: rheo_core::Instance, codec: Codec) -> Instance {
        Instance { instance, codec }
    }

    pub fn codec(&self) -> &Codec {
        &self.codec
    }

    fn at_group(&self, stream: Given<'_, '_>, group: Given<'_, '_>) -> PyResult<Group> {
        let (stream_name, group_name) = (args::text("stream", stream)?, args::text("group", group)?);
        let group = self.instance.group(stream_name, group_name).map_err(|error| raised(stream.py(), &error))?;
        Ok(Group { group, instance: self.instance.clone(), codec: self.codec.clone() })
    }

    fn at_stream(&self, stream: Given<'_, '_>) -> PyResult<Stream> {
        let name = args::text("stream", stream)?;
        let found = self.instance.stream(name).map_err(|error| raised(stream.py(), &error))?;
        Ok(Stream { stream: found, instance: self.instance.clone(), codec: self.codec.clone() })
    }
}

#[pymethods]
#[allow(clippy::too_many_arguments)]
impl Instance {
    /// The name it was opened with, or None.
    ///
    /// Example:
    ///     >>> with rheo.open(name="till") as db:
    ///     ...     db.name
    ///     'till'
    #[getter]
    fn name(&self) -> Option<&str> {
        self.instance.name()
    }

    /// Whether it was closed.
    ///
    /// Example:
    ///     >>> db = rheo.open()
    ///     >>> db.close()
    ///     >>> db.closed
    ///     True
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

    /// Whether the clock is moved by `advance_clock`, so that no timer of the host's may be trusted.
    #[getter]
    fn _manual_clock(&self) -> bool {
        matches!(self.instance.options().clock, rheo_core::ClockOption::Manual { .. })
    }

    /// The instance's time, in microseconds since the epoch.
    fn _now_us(&self, py: Python<'_>) -> PyResult<i64> {
        attached(py, || Ok(self.instance.now()?.as_micros()))
    }

    /// The instance itself.
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Closes the instance, whatever happened inside.
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Given<'_, '_>,
        _error: Given<'_, '_>,
        _traceback: Given<'_, '_>,
    ) -> PyResult<()> {
        self.close(py)
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("an instance", "open the store there"))
    }

    fn __repr__(&self) -> String {
        let name = self.instance.name().map(|name| format!(" {name:?}")).unwrap_or_default();
        format!("<rheo.Instance{name}, {}>", if self.closed() { "closed" } else { "open" })
    }

    /// Closes it: flushes, wakes who waits, and gives the journal's directory free. A second call does nothing.
    ///
    /// Waiting fetches end at once with `Closed`, as does every later call. Events and leases that were read stay
    /// readable.
    ///
    /// Raises:
    ///     Ambiguous: The last sync failed, so the end of the journal may be lost.
    ///
    /// Example:
    ///     >>> db = rheo.open()
    ///     >>> db.close()
    ///     >>> db.close()
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = detached(py, || self.instance.close());
        // Dropped when the locks are let go: they may run code of Python's.
        let opened = codec::of(&self.instance);
        let hook = opened.hook.lock().unwrap_or_else(PoisonError::into_inner).take();
        let running = std::mem::take(&mut *opened.running.lock().unwrap_or_else(PoisonError::into_inner));
        drop((hook, running));
        closed
    }

    /// Returns when the store answers.
    ///
    /// Raises:
    ///     Closed: The instance was closed.
    ///     BackendUnavailable: The store does not answer.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.ping()
    fn ping(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.instance.ping())
    }

    /// Makes the indexes that the backend's queries use, where it has some. May be called again and again.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.ensure_indexes()
    fn ensure_indexes(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.instance.ensure_indexes())
    }

    /// What the backend guarantees, and by what means.
    ///
    /// Returns:
    ///     A `Capabilities`: two mappings of names to booleans, `guarantees` and `mechanisms`.
    ///
    /// Example:
    ///     >>> with rheo.open("memory:") as db:
    ///     ...     db.capabilities().guarantees["durable"]
    ///     False
    fn capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::capabilities(py, &self.instance.capabilities())
    }

    /// The instance's time: what an append without `timestamp` gets.
    ///
    /// Returns:
    ///     An aware `datetime` in UTC.
    ///
    /// Example:
    ///     >>> with rheo.open(clock="manual", clock_start=1_500_000) as db:
    ///     ...     str(db.now())
    ///     '1970-01-01 00:00:01.500000+00:00'
    fn now<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, attached(py, || self.instance.now())?)
    }

    /// Moves a manual clock forward and wakes who waits, so that leases expire and retries come due without waiting.
    ///
    /// Args:
    ///     ms: How far, in milliseconds.
    ///
    /// Returns:
    ///     The new time, an aware `datetime`.
    ///
    /// Raises:
    ///     Unsupported: The instance was not opened with `clock="manual"`.
    ///
    /// Example:
    ///     >>> with rheo.open(clock="manual") as db:
    ///     ...     before = db.now()
    ///     ...     (db.advance_clock(30_000) - before).total_seconds()
    ///     30.0
    fn advance_clock<'py>(&self, ms: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let (py, ms) = (ms.py(), args::number("ms", ms)?);
        time::to_python(py, detached(py, || self.instance.advance_clock(ms))?)
    }

    /// A handle on a stream, its name resolved once. The stream may be created later.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///
    /// Returns:
    ///     A `Stream`: the methods of this class that concern a stream, without the name.
    ///
    /// Raises:
    ///     InvalidArgument: That is no name: 1 to 255 bytes of UTF-8 without control characters.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.stream("orders").append({"total": 3}).sequence
    ///     1
    fn stream(&self, stream: Given<'_, '_>) -> PyResult<Stream> {
        self.at_stream(stream)
    }

    /// A handle on a group, its names resolved once. Stream and group may be created later.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///
    /// Returns:
    ///     A `Group`: the methods of this class that concern a group, without the names.
    ///
    /// Raises:
    ///     InvalidArgument: That is no name: 1 to 255 bytes of UTF-8 without control characters.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     len(db.group("orders", "billing").fetch())
    ///     0
    fn group(&self, stream: Given<'_, '_>, group: Given<'_, '_>) -> PyResult<Group> {
        self.at_group(stream, group)
    }

    // Streams and groups

    /// Creates a stream.
    ///
    /// Args:
    ///     stream: Its name: 1 to 255 bytes of UTF-8 without control characters.
    ///     partition_count: How many partitions, 1 to 65,536; 1. It never changes.
    ///
    /// Raises:
    ///     AlreadyExists: There is such a stream.
    ///     InvalidPartitionCount: The count is out of range.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders", partition_count=4)
    ///     ...     len(db.stream_info("orders").partitions)
    ///     4
    #[pyo3(signature = (stream, partition_count=None))]
    fn create_stream(&self, py: Python<'_>, stream: Given<'_, '_>, partition_count: Maybe<'_, '_>) -> PyResult<()> {
        let name = args::text("stream", stream)?;
        let count = partition_count.map_or(Ok(1), args::partition_count)?;
        detached(py, || self.instance.create_stream(name, StreamOptions::partitions(count)))
    }

    /// Deletes a stream with its events, groups and dead letters. Who holds leases or waits gets `StreamNotFound`.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     confirm: Must be `True`.
    ///
    /// Raises:
    ///     ConfirmRequired: `confirm` is not `True`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.delete_stream("orders", confirm=True)
    ///     ...     db.list_streams()
    ///     []
    #[pyo3(signature = (stream, *, confirm=None))]
    fn delete_stream(&self, py: Python<'_>, stream: Given<'_, '_>, confirm: Maybe<'_, '_>) -> PyResult<()> {
        let (name, confirm) = (args::text("stream", stream)?, options::flag("confirm", confirm)?);
        detached(py, || self.instance.delete_stream(name, confirm))
    }

    /// What there is to know of a stream.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///
    /// Returns:
    ///     A `StreamInfo`: per partition the first sequence, the high watermark, the bytes, and what holds retention
    ///     back.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     db.stream_info("orders").partitions[0].high_watermark
    ///     1
    fn stream_info<'py>(&self, py: Python<'py>, stream: Given<'_, '_>) -> PyResult<Bound<'py, PyAny>> {
        let name = args::text("stream", stream)?;
        values::stream_info(py, &detached(py, || self.instance.stream_info(name))?)
    }

    /// The names of all streams, sorted by code point.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.list_streams()
    ///     ['orders']
    fn list_streams(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || self.instance.list_streams())
    }

    /// Creates a group: a reader of the stream with a progress of its own. Without a start it begins with the first
    /// event.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     max_attempts: With how many attempts a retry makes a dead letter, 1 or more; by default the instance's, 5.
    ///     max_deliveries: After how many deliveries an event becomes a dead letter instead of being offered again,
    ///         whatever became of them; 0, without limit. It stops payloads that kill their consumers.
    ///     ordering: `"none"` (the default), or `"key"`: no event of a key is offered while an earlier one is open.
    ///     start_after: The sequence after which it starts: one for all partitions, or a mapping of partitions to
    ///         sequences. Beyond the end is the end. Partitions that a mapping leaves out start at the beginning.
    ///     start_at: The time at which it starts: per partition the first event with this timestamp or a later one, and
    ///         everything behind it. Not together with `start_after`.
    ///     partitions: Which partitions the start is for; all.
    ///
    /// Raises:
    ///     AlreadyExists: The stream has such a group.
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing", max_attempts=3, ordering="key")
    ///     ...     db.list_groups("orders")
    ///     ['billing']
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

    /// Changes a group's limits. What is left out stays as it is; a lower limit holds for what is open already.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     max_attempts: As for `create_group`.
    ///     max_deliveries: As for `create_group`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     db.update_group("orders", "billing", max_attempts=8)
    ///     ...     db.group_info("orders", "billing").max_attempts
    ///     8
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

    /// Deletes a group with its progress and dead letters; events stay. Who holds leases or waits gets `GroupNotFound`.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     db.delete_group("orders", "billing")
    ///     ...     db.list_groups("orders")
    ///     []
    fn delete_group(&self, py: Python<'_>, stream: Given<'_, '_>, group: Given<'_, '_>) -> PyResult<()> {
        let (stream, group) = (args::text("stream", stream)?, args::text("group", group)?);
        detached(py, || self.instance.delete_group(stream, group))
    }

    /// The names of a stream's groups, sorted by code point.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     db.list_groups("orders")
    ///     ['billing']
    fn list_groups(&self, py: Python<'_>, stream: Given<'_, '_>) -> PyResult<Vec<String>> {
        let name = args::text("stream", stream)?;
        detached(py, || self.instance.list_groups(name))
    }

    // The log

    /// Appends an event.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     payload: What JSON has (`None`, `bool`, `int`, finite `float`, `str`, `list`, `tuple`, `dict` with `str`
    ///         keys), encoded once; or bytes (`bytes`, `bytearray`, `memoryview`), kept as they are.
    ///     id: The event's id. If the stream holds it already, nothing is appended and the event that stands is
    ///         returned, marked `deduplicated`: so an append may be repeated. By default a new UUIDv7.
    ///     key: Says which partition (equal keys share one) and, for groups with `ordering="key"`, what is in order; up
    ///         to 1 KiB.
    ///     type: What kind of event it is.
    ///     metadata: A mapping of what JSON has, at most 64 KiB, beside the payload.
    ///     timestamp: An aware `datetime`, or microseconds since 1970; by default the instance's time.
    ///     partition: The partition; by default the key's, or 0 without a key.
    ///     encoding: How bytes are tagged: `"bytes"` (the default), or `"json"` when they are JSON already. Only with
    ///         bytes.
    ///
    /// Returns:
    ///     The event, with its sequence.
    ///
    /// Raises:
    ///     TypeError: The payload holds a type that JSON lacks; the text names the place.
    ///     InvalidArgument: It holds a NaN, an infinity or a lone surrogate, or lies deeper than 200 levels; a naive
    ///         `datetime`.
    ///     PayloadTooLarge: It has more than `max_payload_bytes`.
    ///     InvalidPartition: The stream has no such partition.
    ///     Ambiguous: Whether it was appended is not known; repeat it with the same `id`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     event = db.append("orders", {"total": 12.5}, id="o-1", type="placed", key="customer-7")
    ///     ...     event.sequence, event.type, event.payload
    ///     ...     db.append("orders", {"total": 12.5}, id="o-1").deduplicated
    ///     (1, 'placed', {'total': 12.5})
    ///     True
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

    /// Appends many events, all or none: in order, without a gap in each partition.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     items: An iterable of payloads, or of `rheo.Append` for an item with options of its own; at most 10,000 and
    ///         64 MiB.
    ///     id: Not for a whole batch; give each item its own with `rheo.Append`.
    ///     key: For the items that say nothing else, as are the rest; see `append`.
    ///     type: See `append`.
    ///     metadata: See `append`.
    ///     timestamp: See `append`.
    ///     partition: See `append`.
    ///     encoding: See `append`. Then every payload must be bytes.
    ///
    /// Returns:
    ///     A list of the events, one for each item. The same id twice is one event.
    ///
    /// Raises:
    ///     As `append` does; the text says which item it was.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, rheo.Append({"n": 2}, type="tock")], type="tick")
    ///     ...     [(event.type, event.sequence) for event in events]
    ///     [('tick', 1), ('tock', 2)]
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

    /// Reads events of one partition in order. No group notices.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     after: The sequence after which to begin; 0, the beginning.
    ///     limit: At most how many; 100.
    ///     partition: Which partition; 0.
    ///
    /// Returns:
    ///     A list of events.
    ///
    /// Raises:
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     events = db.append_batch("orders", ["a", "b", "c"])
    ///     ...     [event.payload for event in db.read("orders", after=1, limit=10)]
    ///     ['b', 'c']
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

    /// The event of an id, or None.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     event_id: The id.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1")
    ///     ...     db.get("orders", "o-1").payload, db.get("orders", "o-2")
    ///     ({'total': 3}, None)
    fn get(&self, stream: Given<'_, '_>, event_id: Given<'_, '_>) -> PyResult<Option<Event>> {
        let (py, stream, id) = (stream.py(), args::text("stream", stream)?, args::text("event_id", event_id)?);
        let event = attached(py, || self.instance.get(stream, id))?;
        Ok(event.map(|event| Event::new(event, &self.codec)))
    }

    /// The events that meet all conditions, over all partitions.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     where: A mapping of fields to values (equal), or to mappings of `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`,
    ///         `exists`, `prefix` to values. Fields are `id`, `type`, `key`, `partition`, the lineage keys
    ///         (`correlation_id`, `causation_id`, `producer`, `schema`, `schema_version`), `metadata.NAME`; anything
    ///         else, or `payload.NAME`, is a field of a JSON object payload, dots descending. A missing field matches
    ///         only `{"exists": False}`.
    ///     from_: The earliest timestamp, inclusive: an aware `datetime`, or microseconds since 1970.
    ///     to: The latest timestamp, inclusive.
    ///     after_sequence: The sequence after which to begin, in each partition.
    ///     until_sequence: The last sequence, inclusive, in each partition.
    ///     order_by: Pairs of `"sequence"` or `"timestamp"` with `"asc"` or `"desc"`; `[("sequence", "asc")]`.
    ///     limit: At most how many; 100.
    ///
    /// Returns:
    ///     A list of events.
    ///
    /// Raises:
    ///     InvalidArgument: A condition is none, such as an operator that does not exist.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     events = db.append_batch("orders", [{"total": 5}, {"total": 50}], type="placed")
    ///     ...     events = db.query("orders", where={"type": "placed", "total": {"gt": 3}}, order_by=[("sequence", "desc")])
    ///     ...     [event.payload for event in events]
    ///     [{'total': 50}, {'total': 5}]
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

    /// One page of what a query finds, by ascending sequence, then partition. Nothing is skipped or repeated from page
    /// to page.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     where: A mapping of fields to values (equal), or to mappings of `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`,
    ///         `exists`, `prefix` to values. Fields are `id`, `type`, `key`, `partition`, the lineage keys
    ///         (`correlation_id`, `causation_id`, `producer`, `schema`, `schema_version`), `metadata.NAME`; anything
    ///         else, or `payload.NAME`, is a field of a JSON object payload, dots descending. A missing field matches
    ///         only `{"exists": False}`.
    ///     from_: The earliest timestamp, inclusive: an aware `datetime`, or microseconds since 1970.
    ///     to: The latest timestamp, inclusive.
    ///     after_sequence: The sequence after which to begin, in each partition.
    ///     until_sequence: The last sequence, inclusive, in each partition.
    ///     limit: At most how many on this page, 1 or more; 100.
    ///     cursor: The `next_cursor` of the page before; by default the first page.
    ///
    /// Returns:
    ///     A `Page`: `events`, and `next_cursor`, None on the last page.
    ///
    /// Raises:
    ///     InvalidArgument: A condition or the cursor is none.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     events = db.append_batch("orders", [1, 2, 3])
    ///     ...     first = db.query_page("orders", limit=2)
    ///     ...     rest = db.query_page("orders", limit=2, cursor=first.next_cursor)
    ///     ...     [event.payload for event in rest.events], rest.next_cursor
    ///     ([3], None)
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

    /// Goes over all that a query finds, by ascending sequence, then partition: a page at a time, as it is asked for.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     where: A mapping of fields to values (equal), or to mappings of `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`,
    ///         `exists`, `prefix` to values. Fields are `id`, `type`, `key`, `partition`, the lineage keys
    ///         (`correlation_id`, `causation_id`, `producer`, `schema`, `schema_version`), `metadata.NAME`; anything
    ///         else, or `payload.NAME`, is a field of a JSON object payload, dots descending. A missing field matches
    ///         only `{"exists": False}`.
    ///     from_: The earliest timestamp, inclusive: an aware `datetime`, or microseconds since 1970.
    ///     to: The latest timestamp, inclusive.
    ///     after_sequence: The sequence after which to begin, in each partition.
    ///     until_sequence: The last sequence, inclusive, in each partition.
    ///     limit: How many events a page has, 1 or more; 100. The iterator goes on to the end.
    ///
    /// Returns:
    ///     An iterator of events. A missing stream is told when the first one is asked for.
    ///
    /// Raises:
    ///     InvalidArgument: A condition is none.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     events = db.append_batch("orders", [{"n": n} for n in range(300)])
    ///     ...     sum(event.payload["n"] for event in db.query_stream("orders"))
    ///     44850
    #[pyo3(signature = (
        stream, *, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, limit=None
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
        limit: Maybe<'_, '_>,
    ) -> PyResult<EventIterator> {
        let stream = self.at_stream(stream)?;
        stream.query_stream(py, r#where, from_, to, after_sequence, until_sequence, limit)
    }

    /// Removes the oldest events. Exactly one of the four limits says which.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     before_sequence: What lies before this sequence: one for all partitions, or a mapping of partitions to
    ///         sequences.
    ///     max_len: What is more than this many, per partition.
    ///     max_age_ms: What is older than this, in milliseconds, up to the first younger event.
    ///     max_bytes: What is more than this many bytes, per partition.
    ///     force: Whether to remove also what a group has not passed or lists as a dead letter; false.
    ///
    /// Returns:
    ///     How many events were removed.
    ///
    /// Raises:
    ///     InvalidArgument: None or several of the limits are given.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     events = db.append_batch("orders", [1, 2, 3])
    ///     ...     db.trim("orders", max_len=1)
    ///     ...     db.stream_info("orders").partitions[0].first_sequence
    ///     2
    ///     3
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

    /// Takes events for a group, each under a lease: what is open again first, then what is new.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     limit: At most how many leases, up to 10,000; by default the instance's `default_max_demand`, 10.
    ///     lease_ms: How long each lease lasts, in milliseconds, 1 or more; by default the instance's
    ///         `default_lease_ms`, 30,000.
    ///     consumer_id: Who takes them, for people to read; by default a text of the instance's own.
    ///     partitions: From which partitions: an iterable of numbers; all.
    ///     wait_ms: How long to wait for work when there is none, in milliseconds; 0. Other threads run meanwhile, and
    ///         Ctrl-C ends the wait on the main thread.
    ///
    /// Returns:
    ///     A `Batch` of leases; empty when there was nothing.
    ///
    /// Raises:
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     batch = db.fetch("orders", "billing", limit=100, lease_ms=60_000, wait_ms=1_000)
    ///     ...     batch.payloads(), batch.ack()
    ///     (['a', 'b'], [None, None])
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
        let fetch_now = |options: &FetchOptions<'_>, leases: &mut Vec<_>| {
            self.instance.fetch_now_into(stream, group, options, leases)
        };
        wait::fetch(py, &self.instance, &self.codec, &options, fetch_now, || self.instance.group(stream, group))
    }

    /// Starts a consumer: runs a function for each event of the group.
    ///
    /// A plain function runs on threads of the consumer's own, up to `concurrency` at a time; an async function as tasks of one
    /// event loop, on one thread of the consumer's own. It takes the event, or with `batch_size` a list of events; with a second
    /// parameter it is given a `Context` too. It returns None or `ACK`, `Retry(…)`, `Reject(…)` or `RELEASE`, of a list a list
    /// of these, one for each event, or None. What it raises, and whatever else it returns, is a failure: it is logged (logger
    /// `rheo`), and `on_failure` says what becomes of the event. Leases are renewed as long as the handler has them.
    ///
    /// The instance keeps its consumers: one that nobody refers to goes on until it or the instance is closed. Errors of the
    /// store do not end it, but that the stream, the group or the instance is gone does.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     handler: A plain or async function of an event (and a `Context`).
    ///     concurrency: How many handlers run at a time, 1 to 10,000; 1.
    ///     batch_size: The most events that a handler is given at once, 1 to 10,000. When it is given, the handler takes a list.
    ///     batch_timeout_ms: How long a batch may take to fill once it has an event, in milliseconds; 0.
    ///     max_lease_ms: After how long a handler's leases are no longer renewed, in milliseconds; 0 is never.
    ///     max_demand: The most unsettled leases held at once, 1 to 10,000; by default `default_max_demand`, and at least `concurrency` times `batch_size`.
    ///     lease_ms: How long a lease lasts unless it is renewed, in milliseconds; the instance's `default_lease_ms`.
    ///     poll_ms: How often to look for work where the store does not notify, in milliseconds; 200.
    ///     consumer_id: Who takes the leases; by default a text of the instance's own.
    ///     partitions: From which partitions; all.
    ///     on_failure: What becomes of an event whose handler failed: `"retry"` (the default), or `"reject"`.
    ///     retry_delay: How long an event waits for its next attempt, where nobody says, in milliseconds; or
    ///         `"exponential:FIRST_MS:MOST_MS"`, which doubles with each attempt, by default `"exponential:100:5000"`.
    ///
    /// Returns:
    ///     The running `Consumer`; without `handler` a decorator that makes one of a function.
    ///
    /// Raises:
    ///     TypeError: The handler is no function, or takes something else.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     @db.consumer("orders", "billing", concurrency=8)
    ///     ...     def bill(event: rheo.Event) -> rheo.Outcome | None:
    ///     ...         return rheo.Reject("too little") if event.payload["total"] < 10 else rheo.ACK
    ///     ...     while not db.dead_letters("orders", "billing"):
    ///     ...         pass
    ///     ...     bill.close()
    #[pyo3(signature = (
        stream, group, handler=None, *, concurrency=None, batch_size=None, batch_timeout_ms=None, max_lease_ms=None,
        max_demand=None, lease_ms=None, poll_ms=None, consumer_id=None, partitions=None, on_failure=None,
        retry_delay=None
    ))]
    fn consumer<'py>(
        &self,
        py: Python<'py>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        handler: Maybe<'_, 'py>,
        concurrency: Maybe<'_, '_>,
        batch_size: Maybe<'_, '_>,
        batch_timeout_ms: Maybe<'_, '_>,
        max_lease_ms: Maybe<'_, '_>,
        max_demand: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        poll_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        on_failure: Maybe<'_, '_>,
        retry_delay: Maybe<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let producer = ProducerArgs { max_demand, lease_ms, poll_ms, consumer_id, partitions, on_failure, retry_delay };
        let numbers = [
            ("concurrency", concurrency),
            ("batch_size", batch_size),
            ("batch_timeout_ms", batch_timeout_ms),
            ("max_lease_ms", max_lease_ms),
        ];
        let options = consumer_options(py, &producer, numbers)?;
        let module = handled(py, handler)?;
        let plan = self.at_group(stream, group)?.plan(py, options, batch_size.is_some())?;
        module.getattr(intern!(py, "consumer"))?.call1((plan, handler))
    }

    /// Starts a producer: leases as they are asked for.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     max_demand: The most unsettled leases held at once, 1 to 10,000; the instance's `default_max_demand`.
    ///     lease_ms: How long a lease lasts unless it is renewed, in milliseconds; the instance's `default_lease_ms`.
    ///     poll_ms: How often to look for work where the store does not notify, in milliseconds; 200.
    ///     consumer_id: Who takes the leases; by default a text of the instance's own.
    ///     partitions: From which partitions; all.
    ///     on_failure: What becomes of an event whose processing failed: `"retry"` (the default), or `"reject"`.
    ///     retry_delay: How long an event waits for its next attempt, where nobody says, in milliseconds; or
    ///         `"exponential:FIRST_MS:MOST_MS"`, which doubles with each attempt, by default `"exponential:100:5000"`.
    ///
    /// Returns:
    ///     The `Producer`, a context manager and an iterator of leases.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     with db.producer("orders", "billing", max_demand=50) as producer:
    ///     ...         lease = next(producer)
    ///     ...         producer.ack(lease)
    ///     ...     db.lag("orders", "billing").lag
    ///     0
    #[pyo3(signature = (
        stream, group, *, max_demand=None, lease_ms=None, poll_ms=None, consumer_id=None, partitions=None, on_failure=None,
        retry_delay=None
    ))]
    fn producer(
        &self,
        py: Python<'_>,
        stream: Given<'_, '_>,
        group: Given<'_, '_>,
        max_demand: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        poll_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        on_failure: Maybe<'_, '_>,
        retry_delay: Maybe<'_, '_>,
    ) -> PyResult<Producer> {
        let options = ProducerArgs { max_demand, lease_ms, poll_ms, consumer_id, partitions, on_failure, retry_delay }
            .read(py)?;
        self.at_group(stream, group)?.start_producer(py, &options)
    }

    /// Settles a lease: the work is done.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///     ReceiptMismatch: The token carries a receipt that is not the store's.
    ///     InvalidArgument: The text is no token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     db.ack(db.fetch("orders", "billing")[0].token)
    ///     ...     db.lag("orders", "billing").lag
    ///     0
    fn ack(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Ack.one_given(&self.instance, lease)
    }

    /// Gives a lease back to be tried again. With the group's last attempt it becomes a dead letter instead.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; 0.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///     ReceiptMismatch: The token carries a receipt that is not the store's.
    ///     InvalidArgument: The text is no token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     db.retry(db.fetch("orders", "billing")[0], "the bank is closed")
    ///     ...     db.fetch("orders", "billing")[0].attempt
    ///     2
    #[pyo3(signature = (lease, reason=None, *, delay_ms=None))]
    fn retry(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<()> {
        Settle::retry(reason, delay_ms)?.one_given(&self.instance, lease)
    }

    /// Makes a dead letter of a lease's delivery: it is not offered again until it is replayed.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///     ReceiptMismatch: The token carries a receipt that is not the store's.
    ///     InvalidArgument: The text is no token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": -3})
    ///     ...     db.reject(db.fetch("orders", "billing")[0], "a negative total")
    ///     ...     db.dead_letters("orders", "billing")[0].reason
    ///     'a negative total'
    #[pyo3(signature = (lease, reason=None))]
    fn reject(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        Settle::reject(reason)?.one_given(&self.instance, lease)
    }

    /// Gives a lease back unworked: available at once, and the attempt does not count.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///     ReceiptMismatch: The token carries a receipt that is not the store's.
    ///     InvalidArgument: The text is no token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     db.release(db.fetch("orders", "billing")[0])
    ///     ...     db.fetch("orders", "billing")[0].attempt
    ///     1
    fn release(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Release.one_given(&self.instance, lease)
    }

    /// Extends a lease, counted from now.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     lease_ms: How long it lasts from now on, in milliseconds, 1 or more; by default the lease's own time.
    ///
    /// Returns:
    ///     Of a `Lease` the lease as it is now; of a token the new `expires_at`, an aware `datetime`.
    ///
    /// Raises:
    ///     StaleLease: The delivery is not leased under this lease any more; drop it.
    ///     ReceiptMismatch: The token carries a receipt that is not the store's.
    ///     InvalidArgument: The text is no token.
    ///
    /// Example:
    ///     >>> with rheo.open(clock="manual", clock_start=0) as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     lease = db.renew(db.fetch("orders", "billing")[0], 60_000)
    ///     ...     str(lease.expires_at), str(db.renew(lease.token))
    ///     ('1970-01-01 00:01:00+00:00', '1970-01-01 00:00:30+00:00')
    #[pyo3(signature = (lease, lease_ms=None))]
    fn renew<'py>(&self, lease: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        settle::renew_given(&self.instance, lease, lease_ms)
    }

    /// Settles many leases: their work is done.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease. One bad lease changes
    ///     nothing for the others; nothing of theirs is raised.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     db.ack_many(db.fetch("orders", "billing"))
    ///     [None, None]
    fn ack_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Ack.many_given(&self.instance, leases)
    }

    /// Gives many leases back to be tried again, as `retry` does.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; 0.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease. One bad lease changes
    ///     nothing for the others; nothing of theirs is raised.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     db.retry_many(db.fetch("orders", "billing"), "later", delay_ms=500)
    ///     [None, None]
    #[pyo3(signature = (leases, reason=None, *, delay_ms=None))]
    fn retry_many<'py>(
        &self,
        leases: Given<'_, 'py>,
        reason: Maybe<'_, 'py>,
        delay_ms: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        Settle::retry(reason, delay_ms)?.many_given(&self.instance, leases)
    }

    /// Makes dead letters of many leases' deliveries, as `reject` does.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease. One bad lease changes
    ///     nothing for the others; nothing of theirs is raised.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     db.reject_many(db.fetch("orders", "billing"), "bad")
    ///     ...     len(db.dead_letters("orders", "billing"))
    ///     [None, None]
    ///     2
    #[pyo3(signature = (leases, reason=None))]
    fn reject_many<'py>(&self, leases: Given<'_, 'py>, reason: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::reject(reason)?.many_given(&self.instance, leases)
    }

    /// Gives many leases back unworked, as `release` does.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///
    /// Returns:
    ///     A list, one result for each lease in order: None, or the `RheoError` of that lease. One bad lease changes
    ///     nothing for the others; nothing of theirs is raised.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     db.release_many(db.fetch("orders", "billing"))
    ///     [None, None]
    fn release_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Release.many_given(&self.instance, leases)
    }

    /// Extends many leases, counted from now.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     lease_ms: How long it lasts from now on, in milliseconds, 1 or more; by default the lease's own time.
    ///
    /// Returns:
    ///     A list, one result for each in order: of a lease the lease as it is now, of a token its `expires_at`, or the
    ///     `RheoError`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     [lease.event.payload for lease in db.renew_many(db.fetch("orders", "billing"))]
    ///     ['a', 'b']
    #[pyo3(signature = (leases, lease_ms=None))]
    fn renew_many<'py>(&self, leases: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        settle::renew_many_given(&self.instance, leases, lease_ms)
    }

    // Progress

    /// How far a group has come: exact, after every settle.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     partitions: Which partitions: an iterable of numbers; all.
    ///
    /// Returns:
    ///     A `Lag`: per partition frontier, high watermark and lag, and the sum of the lags.
    ///
    /// Raises:
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     db.fetch("orders", "billing", limit=1)[0].ack()
    ///     ...     db.lag("orders", "billing").lag
    ///     1
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

    /// What there is to know of a group.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     partitions: Which partitions: an iterable of numbers; all.
    ///
    /// Returns:
    ///     A `GroupInfo`: the lag, counts of leased, available, delayed and dead deliveries, and the group's options.
    ///
    /// Raises:
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     batch = db.fetch("orders", "billing", limit=1)
    ///     ...     db.group_info("orders", "billing").inflight_count
    ///     1
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

    /// A group's dead letters, by partition and sequence.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     limit: At most how many; 100.
    ///     after: The event id of the dead letter after which to go on; by default from the first.
    ///     partitions: Which partitions: an iterable of numbers; all.
    ///
    /// Returns:
    ///     A list of `DeadLetter`.
    ///
    /// Raises:
    ///     CursorNotFound: `after` is not among the dead letters.
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": -3})
    ///     ...     db.fetch("orders", "billing")[0].reject("a negative total")
    ///     ...     [(letter.reason, letter.event.payload) for letter in db.dead_letters("orders", "billing")]
    ///     [('a negative total', {'total': -3})]
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

    /// Forgets dead letters for good. Their events stay in the stream.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     event_ids: Which: an iterable of event ids.
    ///     all: True for every one, instead of `event_ids`.
    ///
    /// Returns:
    ///     How many were forgotten.
    ///
    /// Raises:
    ///     InvalidArgument: Neither or both are given.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": -3})
    ///     ...     db.fetch("orders", "billing")[0].reject("a negative total")
    ///     ...     db.discard_dead_letters("orders", "billing", [event.id])
    ///     1
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

    /// Makes deliveries available again, dead letters included; their attempts start over. Exactly one of the four says
    /// which.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     from_sequence: Everything after this sequence: one for all partitions, or a mapping of partitions to
    ///         sequences. Never moves a group forward.
    ///     from_: Everything from this time on: an aware `datetime`, or microseconds since 1970.
    ///     event_ids: Just these events: an iterable of ids. Unknown ones are passed over.
    ///     query: Just what a query finds: a mapping of the arguments of `query`, such as `{"where": {"type":
    ///         "placed"}}`. Without `limit` it has none.
    ///     partitions: Which partitions; all.
    ///
    /// Returns:
    ///     How many deliveries were made available.
    ///
    /// Raises:
    ///     InvalidReplayOpts: None or several of the four are given.
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", [{"n": 1}, {"n": 2}])
    ///     ...     results = db.fetch("orders", "billing").ack()
    ///     ...     db.replay("orders", "billing", query={"where": {"n": 2}})
    ///     ...     db.fetch("orders", "billing").payloads()
    ///     1
    ///     [{'n': 2}]
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

    /// Starts a group again: its deliveries and dead letters go, its leases are void. Without a start it begins with
    /// the first event.
    ///
    /// Args:
    ///     stream: The stream's name.
    ///     group: The group's name.
    ///     confirm: Must be `True`.
    ///     start_after: The sequence after which it starts: one for all partitions, or a mapping of partitions to
    ///         sequences. Beyond the end is the end. Partitions that a mapping leaves out are left alone.
    ///     start_at: The time at which it starts: per partition the first event with this timestamp or a later one, and
    ///         everything behind it. Not together with `start_after`.
    ///     partitions: Which partitions the start is for; all.
    ///
    /// Raises:
    ///     ConfirmRequired: `confirm` is not `True`.
    ///     InvalidPartition: The stream has no such partition.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     db.reset_group("orders", "billing", confirm=True, start_after=1)
    ///     ...     db.fetch("orders", "billing").payloads()
    ///     ['b']
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
