//! What is appended: a payload and what goes with it.

use crate::args::{self, Given, Maybe};
use crate::codec::{self, Codec, Payload};
use crate::errors::{invalid, wrong_type};
use crate::event::{self, Event};
use crate::{encode, time};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use rheo_core::{AppendOptions, Encoding, Timestamp};
use std::cell::Cell;

/// One item of a batch, with options of its own; what it leaves out is as the batch says.
///
/// Args:
///     payload: What JSON has, or bytes.
///     id: The event's id; one that the stream holds appends nothing.
///     key: Says which partition; up to 1 KiB.
///     type: What kind of event it is.
///     metadata: A mapping of what JSON has, at most 64 KiB. It replaces the batch's, it does not add to it.
///     timestamp: An aware `datetime`, or microseconds since 1970.
///     partition: The partition.
///     encoding: How bytes are tagged: `"bytes"` or `"json"`.
///
/// Nothing is checked before the append.
///
/// Example:
///     >>> rheo.Append({"n": 2}, key="k")
///     rheo.Append({'n': 2}, key='k')
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     [event.key for event in db.append_batch("orders", [{"n": 1}, rheo.Append({"n": 2}, key="k")])]
///     [None, 'k']
#[pyclass(frozen, module = "rheo")]
pub struct Append {
    /// The payload.
    ///
    /// Example:
    ///     >>> rheo.Append({'n': 2}).payload
    ///     {'n': 2}
    #[pyo3(get)]
    payload: Py<PyAny>,
    /// The event's id, or None.
    ///
    /// Example:
    ///     >>> rheo.Append({'n': 2}, id='o-1').id
    ///     'o-1'
    #[pyo3(get)]
    id: Option<Py<PyAny>>,
    /// The key, or None.
    ///
    /// Example:
    ///     >>> rheo.Append({'n': 2}, key='k').key
    ///     'k'
    #[pyo3(get)]
    key: Option<Py<PyAny>>,
    /// The type, or None.
    ///
    /// Example:
    ///     >>> rheo.Append({'n': 2}, type='tick').type
    ///     'tick'
    #[pyo3(get)]
    r#type: Option<Py<PyAny>>,
    /// The metadata, or None.
    ///
    /// Example:
    ///     >>> rheo.Append({'n': 2}, metadata={'producer': 'clock'}).metadata
    ///     {'producer': 'clock'}
    #[pyo3(get)]
    metadata: Option<Py<PyAny>>,
    /// The time as it was given, or None.
    ///
    /// Example:
    ///     >>> rheo.Append({'n': 2}, timestamp=0).timestamp
    ///     0
    #[pyo3(get)]
    timestamp: Option<Py<PyAny>>,
    /// The partition, or None.
    ///
    /// Example:
    ///     >>> rheo.Append({'n': 2}, partition=0).partition
    ///     0
    #[pyo3(get)]
    partition: Option<Py<PyAny>>,
    /// How bytes are tagged, or None.
    ///
    /// Example:
    ///     >>> rheo.Append(b'2', encoding='json').encoding
    ///     'json'
    #[pyo3(get)]
    encoding: Option<Py<PyAny>>,
}

#[pymethods]
impl Append {
    #[new]
    #[pyo3(signature = (payload, *, id=None, key=None, r#type=None, metadata=None, timestamp=None, partition=None, encoding=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        payload: Py<PyAny>,
        id: Option<Py<PyAny>>,
        key: Option<Py<PyAny>>,
        r#type: Option<Py<PyAny>>,
        metadata: Option<Py<PyAny>>,
        timestamp: Option<Py<PyAny>>,
        partition: Option<Py<PyAny>>,
        encoding: Option<Py<PyAny>>,
    ) -> Append {
        Append { payload, id, key, r#type, metadata, timestamp, partition, encoding }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("rheo.Append({}", self.payload.bind(py).repr()?);
        for (name, value) in self.named() {
            if let Some(value) = value {
                text += &format!(", {name}={}", value.bind(py).repr()?);
            }
        }
        Ok(text + ")")
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.payload)?;
        self.named().into_iter().try_for_each(|(_, value)| visit.call(value))
    }
}

impl Append {
    fn named(&self) -> [(&'static str, &Option<Py<PyAny>>); 7] {
        [
            ("id", &self.id),
            ("key", &self.key),
            ("type", &self.r#type),
            ("metadata", &self.metadata),
            ("timestamp", &self.timestamp),
            ("partition", &self.partition),
            ("encoding", &self.encoding),
        ]
    }
}

/// The options of an append as Python gives them.
#[derive(Clone, Copy, Default)]
pub struct Options<'a, 'py> {
    pub id: Maybe<'a, 'py>,
    pub key: Maybe<'a, 'py>,
    pub event_type: Maybe<'a, 'py>,
    pub metadata: Maybe<'a, 'py>,
    pub timestamp: Maybe<'a, 'py>,
    pub partition: Maybe<'a, 'py>,
    pub encoding: Maybe<'a, 'py>,
}

/// The same, looked at; the metadata is text in a buffer, from and to.
struct Read<'a> {
    id: Option<&'a str>,
    key: Option<&'a str>,
    event_type: Option<&'a str>,
    metadata: Option<(usize, usize)>,
    timestamp: Option<Timestamp>,
    partition: Option<u32>,
    tag: Option<Encoding>,
}

impl<'a> Options<'a, '_> {
    #[inline]
    fn read(self, buffer: &mut Vec<u8>) -> PyResult<Read<'a>> {
        let metadata = match self.metadata {
            None => None,
            Some(given) => {
                let start = buffer.len();
                encode::json("metadata", args::mapping("metadata", given)?.as_any(), buffer)?;
                Some((start, buffer.len()))
            }
        };
        Ok(Read {
            id: args::optional_text("id", self.id)?,
            key: args::optional_text("key", self.key)?,
            event_type: args::optional_text("type", self.event_type)?,
            metadata,
            timestamp: time::optional("timestamp", self.timestamp)?,
            partition: self.partition.map(|given| args::partition("partition", given)).transpose()?,
            tag: event::tag(self.encoding)?,
        })
    }
}

impl Read<'_> {
    #[inline]
    fn options<'b>(&'b self, buffer: &'b [u8]) -> AppendOptions<'b> {
        AppendOptions {
            id: self.id,
            key: self.key,
            event_type: self.event_type,
            metadata: self
                .metadata
                .map(|(from, to)| std::str::from_utf8(&buffer[from..to]).expect("our encoder writes UTF-8")),
            timestamp: self.timestamp,
            partition: self.partition,
        }
    }
}

/// Appends one event by `append`.
#[inline]
pub fn one<'py>(
    codec: &Codec,
    payload: Given<'_, 'py>,
    options: Options<'_, 'py>,
    append: impl FnOnce(&rheo_core::Append<'_>) -> PyResult<rheo_core::Event>,
) -> PyResult<Event> {
    with_buffer(|buffer| {
        let read = options.read(buffer)?;
        let (payload, encoding) = codec::encode(codec, "payload", payload, read.tag, buffer)?;
        let item = rheo_core::Append { payload: payload.bytes(buffer), encoding, options: read.options(buffer) };
        Ok(Event::new(append(&item)?, codec))
    })
}

/// Appends a batch by `append`. Everything is encoded before anything is appended.
pub fn many<'py>(
    codec: &Codec,
    items: Given<'_, 'py>,
    shared: Options<'_, 'py>,
    append: impl FnOnce(&[rheo_core::Append<'_>], &AppendOptions<'_>) -> PyResult<Vec<rheo_core::Event>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = items.py();
    if items.is_instance_of::<PyString>() || items.is_instance_of::<PyDict>() || codec::is_bytes_like(items) {
        return Err(wrong_type("items", "a list (or another iterable) of payloads", items));
    }
    // One more than there may be, so that an endless iterable is refused like one that is too long.
    const MOST: usize = rheo_core::limits::MAX_BATCH_ITEMS + 1;
    let items: Vec<Bound<'py, PyAny>> = match (items.cast_exact::<PyList>(), items.cast_exact::<PyTuple>()) {
        (Ok(list), _) => list.iter().take(MOST).collect(),
        (_, Ok(tuple)) => tuple.iter().take(MOST).collect(),
        _ => items
            .try_iter()
            .map_err(|_| wrong_type("items", "a list (or another iterable) of payloads", items))?
            .take(MOST)
            .collect::<PyResult<_>>()?,
    };
    if items.len() == MOST {
        let most = rheo_core::limits::MAX_BATCH_ITEMS;
        return Err(invalid(py, format!("the batch has {MOST} items or more; it takes at most {most}: split it")));
    }
    with_buffer(|buffer| {
        let shared = shared.read(buffer)?;
        let encoded = items
            .iter()
            .enumerate()
            .map(|(index, item)| item_of(codec, item, shared.tag, buffer).map_err(|error| at(py, error, index)))
            .collect::<PyResult<Vec<Item<'_, 'py>>>>()?;
        let appends: Vec<rheo_core::Append<'_>> = encoded
            .iter()
            .map(|item| rheo_core::Append {
                payload: item.payload.bytes(buffer),
                encoding: item.encoding,
                options: item.read.as_ref().map_or_else(AppendOptions::default, |read| read.options(buffer)),
            })
            .collect();
        let events = append(&appends, &shared.options(buffer))?;
        PyList::new(py, events.into_iter().map(|event| Event::new(event, codec)).collect::<Vec<_>>())
    })
}

struct Item<'a, 'py> {
    payload: Payload<'py>,
    encoding: Encoding,
    read: Option<Read<'a>>,
}

fn item_of<'a, 'py>(
    codec: &Codec,
    item: &'a Bound<'py, PyAny>,
    shared_tag: Option<Encoding>,
    buffer: &mut Vec<u8>,
) -> PyResult<Item<'a, 'py>> {
    let Ok(item) = item.cast_exact::<Append>() else {
        let (payload, encoding) = codec::encode(codec, "payload", item, shared_tag, buffer)?;
        return Ok(Item { payload, encoding, read: None });
    };
    let py = item.py();
    let item = item.get();
    let of = |value: &'a Option<Py<PyAny>>| value.as_ref().map(|value| value.bind(py));
    let options = Options {
        id: of(&item.id),
        key: of(&item.key),
        event_type: of(&item.r#type),
        metadata: of(&item.metadata),
        timestamp: of(&item.timestamp),
        partition: of(&item.partition),
        encoding: of(&item.encoding),
    };
    let read = options.read(buffer)?;
    let tag = read.tag.or(shared_tag);
    let (payload, encoding) = codec::encode(codec, "payload", item.payload.bind(py), tag, buffer)?;
    Ok(Item { payload, encoding, read: Some(read) })
}

/// Says which item an error is of.
#[cold]
fn at(py: Python<'_>, error: PyErr, index: usize) -> PyErr {
    let text = error.value(py).str().map(|text| text.to_string()).unwrap_or_default();
    if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) {
        return pyo3::exceptions::PyTypeError::new_err(format!("item {index}: {text}"));
    }
    if error.value(py).getattr("number").and_then(|number| number.extract::<i32>()).ok() == Some(301) {
        return invalid(py, format!("item {index}: {text}"));
    }
    let _ = error.value(py).call_method1("add_note", (format!("item {index} of the batch"),));
    error
}

/// Lends this thread's buffer, cleared; what asks for it inside gets one of its own.
fn with_buffer<T>(use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    /// A larger one is not kept.
    const KEPT: usize = 1 << 20;
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    BUFFER.with(|place| {
        let mut buffer = place.take();
        let result = use_it(&mut buffer);
        if buffer.capacity() <= KEPT {
            buffer.clear();
            place.set(buffer);
        }
        result
    })
}

/// What an append would store of a payload, for those who append it later: the bytes and their tag.
#[pyfunction]
#[pyo3(signature = (instance, payload, encoding))]
pub fn encoded<'py>(
    instance: &Bound<'py, crate::instance::Instance>,
    payload: Given<'_, 'py>,
    encoding: Maybe<'_, 'py>,
) -> PyResult<(Bound<'py, PyBytes>, &'static str)> {
    with_buffer(|buffer| {
        let codec = instance.get().codec();
        let (payload, tag) = codec::encode(codec, "payload", payload, event::tag(encoding)?, buffer)?;
        Ok((PyBytes::new(instance.py(), payload.bytes(buffer)), tag.name()))
    })
}
