//! How payloads are encoded and decoded: the package's own JSON, or what the user brought.

use crate::args::Given;
use crate::errors::wrong_type;
use crate::{decode, encode, exit};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use rheo_core::{Encoding, Event};
use std::sync::{Arc, Mutex, PoisonError};

/// An encoder and a decoder that an instance was opened with.
pub struct Custom {
    /// Called with a value, gives JSON as bytes or text.
    pub dumps: Option<Py<PyAny>>,
    /// Called with JSON as bytes.
    pub loads: Option<Py<PyAny>>,
}

/// None: the package's own. Costs the usual case no counting of references.
pub type Codec = Option<Arc<Custom>>;

/// What goes with an instance, wherever it is found: `get` by name gives it as it was opened.
#[derive(Default)]
pub struct Opened {
    pub codec: Codec,
    /// The telemetry hook's callable, let go when the instance is closed: it may refer to the instance.
    pub hook: Hook,
    /// The consumers, kept until the instance is closed.
    pub running: Mutex<Vec<Running>>,
}

/// A consumer that was started.
pub enum Running {
    /// On threads of the library's.
    Pool(rheo_core::Consumer),
    /// In an event loop.
    Loop(rheo_core::Producer),
}

impl Running {
    pub fn is_running(&self) -> bool {
        match self {
            Running::Pool(consumer) => consumer.is_running().unwrap_or(false),
            Running::Loop(producer) => !producer.is_stopped().unwrap_or(true),
        }
    }

    fn begin_drain(&self) -> rheo_core::Result<rheo_core::Drain> {
        match self {
            Running::Pool(consumer) => consumer.begin_drain(),
            Running::Loop(producer) => producer.begin_drain(),
        }
    }
}

/// Begins to drain the consumers of this instance that still run.
pub fn drains(instance: &rheo_core::Instance) -> Vec<rheo_core::Drain> {
    let opened = of(instance);
    let running = opened.running.lock().unwrap_or_else(PoisonError::into_inner);
    running.iter().filter_map(|running| running.begin_drain().ok()).collect()
}

/// A callable that can be taken away.
pub type Hook = Arc<Mutex<Option<Arc<Py<PyAny>>>>>;

/// What goes with this instance.
pub fn of(instance: &rheo_core::Instance) -> Arc<Opened> {
    instance.options().host.as_ref().and_then(rheo_core::HostData::get).unwrap_or_default()
}

/// Where the bytes of a payload are.
pub enum Payload<'py> {
    /// In the buffer, from and to.
    Encoded(usize, usize),
    /// In Python's own object, which does not change.
    Bytes(Bound<'py, PyBytes>),
}

impl Payload<'_> {
    /// The bytes; `buffer` is what the payload was encoded into.
    pub fn bytes<'a>(&'a self, buffer: &'a [u8]) -> &'a [u8] {
        match self {
            Payload::Encoded(from, to) => &buffer[*from..*to],
            Payload::Bytes(bytes) => bytes.as_bytes(),
        }
    }
}

/// The payload of a value, and how it is tagged. `what` is the argument's name; `tag` is what the caller says that bytes are.
pub fn encode<'py>(
    codec: &Codec,
    what: &str,
    value: &Bound<'py, PyAny>,
    tag: Option<Encoding>,
    buffer: &mut Vec<u8>,
) -> PyResult<(Payload<'py>, Encoding)> {
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return Ok((Payload::Bytes(bytes.clone()), tag.unwrap_or(Encoding::Bytes)));
    }
    let start = buffer.len();
    if !is_json(value) && is_bytes_like(value) {
        copy(value, buffer)?;
        return Ok((Payload::Encoded(start, buffer.len()), tag.unwrap_or(Encoding::Bytes)));
    }
    if tag.is_some() {
        return Err(wrong_type(what, "bytes when encoding is given", value));
    }
    match codec.as_deref().and_then(|custom| custom.dumps.as_ref()) {
        Some(dumps) => dumped(value.py(), dumps, what, value, buffer)?,
        None => encode::json(what, value, buffer)?,
    }
    Ok((Payload::Encoded(start, buffer.len()), Encoding::Json))
}

/// Whether it is of a type that JSON has; these are never taken as bytes.
fn is_json(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyDict>()
        || value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyBool>()
        || value.is_none()
}

pub fn is_bytes_like(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: it is an object, and this thread holds the interpreter.
    unsafe { pyo3::ffi::PyObject_CheckBuffer(value.as_ptr()) != 0 }
}

/// The bytes of any object that has some, copied: whoever has it may change them.
fn copy(value: &Bound<'_, PyAny>, buffer: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(view) = PyUntypedBuffer::get(value)
        && let Ok(bytes) = view.as_typed::<u8>()
        && let Some(bytes) = bytes.as_slice_ptr()
    {
        let bytes: *const [u8] = bytes.as_ptr();
        // SAFETY: the exporter keeps the memory while it lends the buffer, and no code of Python's runs until it is copied.
        buffer.extend_from_slice(unsafe { &*bytes });
        return Ok(());
    }
    // Of other items, not in one piece, or without a shape: as `bytes` has it.
    let bytes = value.py().get_type::<PyBytes>().call1((value,))?;
    buffer.extend_from_slice(bytes.cast::<PyBytes>()?.as_bytes());
    Ok(())
}

#[cold]
fn dumped(py: Python<'_>, dumps: &Py<PyAny>, what: &str, value: Given<'_, '_>, buffer: &mut Vec<u8>) -> PyResult<()> {
    let _callback = exit::callback(py);
    let dumped = dumps.bind(py).call1((value,))?;
    if let Ok(bytes) = dumped.cast::<PyBytes>() {
        buffer.extend_from_slice(bytes.as_bytes());
    } else if let Ok(text) = dumped.cast::<PyString>() {
        buffer.extend_from_slice(crate::args::text(what, text.as_any())?.as_bytes());
    } else {
        return Err(wrong_type("dumps", "a function that gives bytes or str", &dumped));
    }
    Ok(())
}

/// The payload of an event as a value: JSON decoded, or the bytes.
pub fn decode<'py>(py: Python<'py>, codec: &Codec, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    let payload = event.payload();
    if event.encoding() == Encoding::Bytes {
        return Ok(PyBytes::new(py, payload).into_any());
    }
    match codec.as_deref().and_then(|custom| custom.loads.as_ref()) {
        Some(loads) => {
            let _callback = exit::callback(py);
            loads.bind(py).call1((PyBytes::new(py, payload),))
        }
        None => decode::json(py, "the payload", payload).map_err(|error| of_event(py, error, event)),
    }
}

/// Says of which event it is; the usual case makes no text of it.
#[cold]
fn of_event(py: Python<'_>, error: PyErr, event: &Event) -> PyErr {
    let id = event.id();
    let note = format!("event {id} of stream {:?}; event.data has its bytes", event.stream());
    let _ = error.value(py).call_method1("add_note", (note,));
    error
}
