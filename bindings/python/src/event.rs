//! Events.

use crate::args::{self, Given};
use crate::attached::{attached, detached};
use crate::codec::{self, Codec};
use crate::errors::invalid;
use crate::{decode, time};
use pyo3::PyTraverseError;
use pyo3::ffi;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyMemoryView, PyTuple};
use rheo_core::{Encoding, EventParts, EventStream, Timestamp, limits};
use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

/// One immutable event of a partition. Made by appends, reads, queries and fetches.
///
/// Equal events are equal in all that they say; they hash by their place. It pickles as a copy, unless the instance was
/// opened with `dumps` or `loads` of its own.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
///     ...     event.sequence, event.payload
///     (1, {'total': 3})
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Event {
    event: rheo_core::Event,
    codec: Codec,
    payload: OnceLock<Py<PyAny>>,
}

impl Event {
    pub fn new(event: rheo_core::Event, codec: &Codec) -> Event {
        Event { event, codec: codec.clone(), payload: OnceLock::new() }
    }

    /// The text of its place, for people.
    fn place(&self) -> String {
        let event = &self.event;
        format!("{:?} partition {} sequence {}", event.stream(), event.partition(), event.sequence())
    }
}

#[pymethods]
impl Event {
    /// The event's id, unique in its stream.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.id
    ///     'o-1'
    #[getter]
    fn id(&self) -> String {
        self.event.id().to_string()
    }

    /// The stream's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.stream
    ///     'orders'
    #[getter]
    fn stream(&self) -> &str {
        self.event.stream()
    }

    /// The partition's number, from 0.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.partition
    ///     0
    #[getter]
    fn partition(&self) -> u32 {
        self.event.partition()
    }

    /// The place in its partition: 1, 2, 3, … without gaps.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.sequence
    ///     1
    #[getter]
    fn sequence(&self) -> u64 {
        self.event.sequence()
    }

    /// The time, an aware `datetime` in UTC.
    ///
    /// Raises:
    ///     InvalidArgument: It is beyond what a `datetime` holds; `timestamp_us` has it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     str(event.timestamp)
    ///     '1970-01-01 00:00:00+00:00'
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, self.event.timestamp())
    }

    /// The time in microseconds since 1970: cheaper than `timestamp`, and without its bounds.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.timestamp_us
    ///     0
    #[getter]
    fn timestamp_us(&self) -> i64 {
        self.event.timestamp().as_micros()
    }

    /// The key, or None.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.key
    ///     'c-7'
    #[getter]
    fn key(&self) -> Option<&str> {
        self.event.key()
    }

    /// The type, or None.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.type
    ///     'placed'
    #[getter]
    fn r#type(&self) -> Option<&str> {
        self.event.event_type()
    }

    /// The metadata, a new dict at each access.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.metadata
    ///     {'producer': 'shop'}
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decode::json(py, "the metadata", self.event.metadata().as_bytes())
    }

    /// How the payload is tagged: `"json"` or `"bytes"`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.encoding
    ///     'json'
    #[getter]
    fn encoding(&self) -> &'static str {
        self.event.encoding().name()
    }

    /// Whether this append found its id in the stream and appended nothing.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.deduplicated, db.append("orders", None, id="o-1").deduplicated
    ///     (False, True)
    #[getter]
    fn deduplicated(&self) -> bool {
        self.event.deduplicated()
    }

    /// The payload: JSON decoded at the first access and kept, bytes as `bytes`.
    ///
    /// Every access gives the same object; who changes it changes it for all that hold this event, not what is stored.
    ///
    /// Raises:
    ///     InvalidArgument: It is tagged `json` but is none; `data` has the bytes.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     event.payload
    ///     {'total': 3}
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(payload) = self.payload.get() {
            return Ok(payload.bind(py).clone());
        }
        // Not inside the lock's own initialisation: a decoder of the user's may give the interpreter up, and whoever came
        // second would wait for the first one while holding it.
        let payload = codec::decode(py, &self.codec, &self.event)?;
        let _ = self.payload.set(payload.clone().unbind());
        Ok(self.payload.get().map_or(payload, |kept| kept.bind(py).clone()))
    }

    /// The payload's bytes as they were stored, a read-only `memoryview` without a copy.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     options = {"type": "placed", "key": "c-7", "metadata": {"producer": "shop"}, "timestamp": 0}
    ///     ...     event = db.append("orders", {"total": 3}, id="o-1", **options)
    ///     ...     bytes(event.data)
    ///     b'{"total":3}'
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        PyMemoryView::from(Bound::new(py, Data(self.event.clone()))?.as_any())
    }

    fn __repr__(&self) -> String {
        let event = &self.event;
        let mut text = format!("<rheo.Event {}", self.place());
        for (name, value) in [("type", event.event_type()), ("key", event.key())] {
            if let Some(value) = value {
                text += &format!(" {name}={value:?}");
            }
        }
        text + &format!(", {} bytes of {}>", event.payload().len(), self.encoding())
    }

    fn __eq__<'py>(&self, other: Given<'_, 'py>) -> Bound<'py, PyAny> {
        let py = other.py();
        match other.cast::<Event>() {
            Ok(other) => PyBool::new(py, other.get().event == self.event).to_owned().into_any(),
            Err(_) => py.NotImplemented().into_bound(py),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.event.stream(), self.event.partition(), self.event.sequence()).hash(&mut hasher);
        hasher.finish()
    }

    /// Pickles as a copy of all that it says.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        if self.codec.is_some() {
            return Err(pyo3::exceptions::PyTypeError::new_err(
                "an event of an instance with dumps= or loads= of its own does not pickle; send event.payload, or its id",
            ));
        }
        let event = &self.event;
        let place = (event.stream(), event.partition(), event.sequence());
        let labels = (event.id().to_string(), event.timestamp().as_micros(), event.key(), event.event_type());
        let content = (event.metadata(), self.encoding(), PyBytes::new(py, event.payload()), event.deduplicated());
        let make = py.import("rheo._rheo")?.getattr("event_from_parts")?;
        Ok((make, (place, labels, content).into_pyobject(py)?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.payload.get().map_or(Ok(()), |payload| visit.call(payload))
    }
}

/// The event that another process pickled. For `pickle` only.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn event_from_parts(
    py: Python<'_>,
    place: (String, u32, u64),
    labels: (String, i64, Option<String>, Option<String>),
    content: (String, String, Bound<'_, PyBytes>, bool),
) -> PyResult<Event> {
    let ((stream, partition, sequence), (id, timestamp, key, event_type)) = (place, labels);
    let (metadata, encoding, payload, deduplicated) = content;
    let lens = [id.len(), event_type.as_deref().map_or(1, str::len)];
    let fits = lens.iter().all(|len| (1..=limits::MAX_NAME_BYTES).contains(len))
        && key.as_deref().is_none_or(|key| key.len() <= limits::MAX_KEY_BYTES)
        && metadata.len() <= limits::MAX_METADATA_BYTES
        && payload.as_bytes().len() <= limits::MAX_PAYLOAD_BYTES;
    if !fits {
        return Err(invalid(py, "this is not an event that was pickled"));
    }
    let parts = EventParts {
        id: &id,
        sequence,
        timestamp: Timestamp::from_micros(timestamp),
        key: key.as_deref(),
        event_type: event_type.as_deref(),
        metadata: &metadata,
        encoding: tag(Some(encoding.into_pyobject(py)?.as_any()))?.unwrap_or(Encoding::Bytes),
        payload: payload.as_bytes(),
    };
    let event = rheo_core::Event::build(&stream, partition, &[parts]).remove(0);
    Ok(Event::new(if deduplicated { event.into_deduplicated() } else { event }, &None))
}

/// How the caller says that bytes are tagged.
pub fn tag(encoding: Option<Given<'_, '_>>) -> PyResult<Option<Encoding>> {
    let Some(given) = encoding else { return Ok(None) };
    match args::text("encoding", given)? {
        "json" => Ok(Some(Encoding::Json)),
        "bytes" => Ok(Some(Encoding::Bytes)),
        other => Err(invalid(given.py(), format!("encoding is {other:?}; it takes \"json\" or \"bytes\""))),
    }
}

/// The bytes of a payload, lent to a memoryview: the view keeps this, this the event, the event its memory.
#[pyclass(frozen)]
struct Data(rheo_core::Event);

#[pymethods]
impl Data {
    /// # Safety
    /// Called by the interpreter only, as its buffer protocol says.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = slf.get().0.payload();
        let len = isize::try_from(bytes.len()).expect("a payload has at most 16 MiB");
        // SAFETY: `view` is the interpreter's. The bytes never change (readonly is said) and stay where they are
        // as long as the event lives, which this object keeps, which the view keeps.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast::<c_void>(), len, 1, flags)
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Goes over what a query finds, a page at a time. Made by `query_stream`; threads may share it.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     events = db.append_batch("orders", ["a", "b"])
///     ...     found = db.query_stream("orders")
///     ...     next(found).payload, [event.payload for event in found]
///     ('a', ['b'])
#[pyclass(frozen, module = "rheo")]
pub struct EventIterator {
    events: Mutex<EventStream>,
    instance: rheo_core::Instance,
    codec: Codec,
}

impl EventIterator {
    pub fn new(events: EventStream, instance: &rheo_core::Instance, codec: &Codec) -> EventIterator {
        EventIterator { events: Mutex::new(events), instance: instance.clone(), codec: codec.clone() }
    }
}

#[pymethods]
impl EventIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        // In a forked child the lock may be held for ever.
        attached(py, || self.instance.check())?;
        let next = || self.events.lock().unwrap_or_else(PoisonError::into_inner).next().transpose();
        Ok(detached(py, next)?.map(|event| Event::new(event, &self.codec)))
    }

    #[allow(clippy::unused_self)]
    fn __repr__(&self) -> &'static str {
        "<rheo.EventIterator>"
    }
}
