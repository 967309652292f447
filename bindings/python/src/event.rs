//! Events.

use crate::args::{self, Given};
use crate::attached::detached;
use crate::codec::{self, Codec};
use crate::errors::invalid;
use crate::{decode, time};
use pyo3::PyTraverseError;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyTuple};
use rheo_core::{Encoding, EventParts, EventStream, Timestamp, limits};
use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

/// One immutable event of a partition.
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
    #[getter]
    fn id(&self) -> String {
        self.event.id().to_string()
    }

    #[getter]
    fn stream(&self) -> &str {
        self.event.stream()
    }

    #[getter]
    fn partition(&self) -> u32 {
        self.event.partition()
    }

    #[getter]
    fn sequence(&self) -> u64 {
        self.event.sequence()
    }

    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time::to_python(py, self.event.timestamp())
    }

    #[getter]
    fn timestamp_us(&self) -> i64 {
        self.event.timestamp().as_micros()
    }

    #[getter]
    fn key(&self) -> Option<&str> {
        self.event.key()
    }

    #[getter]
    fn r#type(&self) -> Option<&str> {
        self.event.event_type()
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decode::json(py, "the metadata", self.event.metadata().as_bytes())
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.event.encoding().name()
    }

    #[getter]
    fn deduplicated(&self) -> bool {
        self.event.deduplicated()
    }

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

    fn __eq__(&self, other: Given<'_, '_>) -> Option<bool> {
        other.cast::<Event>().ok().map(|other| other.get().event == self.event)
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

/// The event that another process pickled.
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
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let bytes = slf.get().0.payload();
        let len = isize::try_from(bytes.len()).expect("a payload has at most 16 MiB");
        // SAFETY: `view` is the interpreter's, not null. The bytes never change (readonly is said) and stay where they are
        // as long as the event lives, which this object keeps, which the view keeps.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast::<c_void>(), len, 1, flags)
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }

    /// # Safety
    /// Called by the interpreter only, as its buffer protocol says.
    #[allow(clippy::unused_self)]
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        if !view.is_null() {
            // SAFETY: `view` is the interpreter's; nothing of it is ours to free.
            unsafe { (*view).internal = null_mut() };
        }
    }
}

/// Pages through what a query finds, as it is asked for.
#[pyclass(frozen, module = "rheo")]
pub struct EventIterator {
    events: Mutex<EventStream>,
    codec: Codec,
}

impl EventIterator {
    pub fn new(events: EventStream, codec: &Codec) -> EventIterator {
        EventIterator { events: Mutex::new(events), codec: codec.clone() }
    }
}

#[pymethods]
impl EventIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        let next = || self.events.lock().unwrap_or_else(PoisonError::into_inner).next().transpose();
        Ok(detached(py, next)?.map(|event| Event::new(event, &self.codec)))
    }

    #[allow(clippy::unused_self)]
    fn __repr__(&self) -> &'static str {
        "<rheo.EventIterator>"
    }
}
