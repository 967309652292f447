//! A stream, its name resolved once.

use crate::append::{self, Options};
use crate::args::{self, Given, Maybe};
use crate::attached::{attached, detached};
use crate::codec::Codec;
use crate::errors::does_not_pickle;
use crate::event::{Event, EventIterator};
use crate::options::{self, QueryArgs};
use crate::values;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A stream, its name resolved once: the methods of `Instance` that concern a stream, without the name. Made by
/// `Instance.stream`.
///
/// Every thread may use it. It does not keep the stream from being deleted: then every method raises `StreamNotFound`.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     orders = db.stream("orders")
///     ...     orders.append({"total": 3}).sequence
///     1
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Stream {
    pub stream: rheo_core::Stream,
    pub instance: rheo_core::Instance,
    pub codec: Codec,
}

#[pymethods]
#[allow(clippy::too_many_arguments)]
impl Stream {
    /// The stream's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     orders.name
    ///     'orders'
    #[getter]
    fn name(&self) -> &str {
        self.stream.name()
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("a stream's handle", "open the store there and send its name"))
    }

    fn __repr__(&self) -> String {
        format!("<rheo.Stream {:?}>", self.stream.name())
    }

    /// Appends an event. Returns it. See `Instance.append`.
    ///
    /// Args:
    ///     payload: What JSON has, or bytes.
    ///     id: The event's id; one that the stream holds appends nothing.
    ///     key: Says which partition.
    ///     type: What kind of event it is.
    ///     metadata: A mapping of what JSON has, at most 64 KiB.
    ///     timestamp: An aware `datetime`, or microseconds since 1970; by default the instance's time.
    ///     partition: The partition; by default the key's, or 0.
    ///     encoding: How bytes are tagged: `"bytes"` (the default) or `"json"`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     orders.append({"total": 12.5}, type="placed").payload
    ///     {'total': 12.5}
    #[pyo3(signature = (payload, *, id=None, key=None, r#type=None, metadata=None, timestamp=None, partition=None, encoding=None))]
    fn append<'py>(
        &self,
        payload: Given<'_, 'py>,
        id: Maybe<'_, 'py>,
        key: Maybe<'_, 'py>,
        r#type: Maybe<'_, 'py>,
        metadata: Maybe<'_, 'py>,
        timestamp: Maybe<'_, 'py>,
        partition: Maybe<'_, 'py>,
        encoding: Maybe<'_, 'py>,
    ) -> PyResult<Event> {
        let options = Options { id, key, event_type: r#type, metadata, timestamp, partition, encoding };
        let py = payload.py();
        append::one(&self.codec, payload, options, |item| attached(py, || self.stream.append(item)))
    }

    /// Appends many events, all or none. Returns a list of them. See `Instance.append_batch`.
    ///
    /// Args:
    ///     items: An iterable of payloads, or of `rheo.Append`.
    ///     id: Not for a whole batch; give each item its own.
    ///     key: Says which partition.
    ///     type: What kind of event it is.
    ///     metadata: A mapping of what JSON has, at most 64 KiB.
    ///     timestamp: An aware `datetime`, or microseconds since 1970; by default the instance's time.
    ///     partition: The partition; by default the key's, or 0.
    ///     encoding: How bytes are tagged: `"bytes"` (the default) or `"json"`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     [event.sequence for event in orders.append_batch(["a", "b"], type="letter")]
    ///     [1, 2]
    #[pyo3(signature = (items, *, id=None, key=None, r#type=None, metadata=None, timestamp=None, partition=None, encoding=None))]
    fn append_batch<'py>(
        &self,
        items: Given<'_, 'py>,
        id: Maybe<'_, 'py>,
        key: Maybe<'_, 'py>,
        r#type: Maybe<'_, 'py>,
        metadata: Maybe<'_, 'py>,
        timestamp: Maybe<'_, 'py>,
        partition: Maybe<'_, 'py>,
        encoding: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = Options { id, key, event_type: r#type, metadata, timestamp, partition, encoding };
        let py = items.py();
        append::many(&self.codec, items, options, |items, shared| {
            attached(py, || self.stream.append_batch(items, shared))
        })
    }

    /// Reads events of one partition in order, as a list. See `Instance.read`.
    ///
    /// Args:
    ///     after: The sequence after which to begin; 0.
    ///     limit: At most how many; 100.
    ///     partition: Which partition; 0.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     events = orders.append_batch(["a", "b"])
    ///     ...     [event.payload for event in orders.read(after=1)]
    ///     ['b']
    #[pyo3(signature = (*, after=None, limit=None, partition=None))]
    fn read(
        &self,
        py: Python<'_>,
        after: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
        partition: Maybe<'_, '_>,
    ) -> PyResult<Vec<Event>> {
        let options = options::read(after, limit, partition)?;
        Ok(values::events(attached(py, || self.stream.read(options))?, &self.codec))
    }

    /// The event of an id, or None. See `Instance.get`.
    ///
    /// Args:
    ///     event_id: The id.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     event = orders.append({"total": 3}, id="o-1")
    ///     ...     orders.get("o-1").payload
    ///     {'total': 3}
    fn get(&self, event_id: Given<'_, '_>) -> PyResult<Option<Event>> {
        let id = args::text("event_id", event_id)?;
        let event = attached(event_id.py(), || self.stream.get(id))?;
        Ok(event.map(|event| Event::new(event, &self.codec)))
    }

    /// The events that meet all conditions, as a list. See `Instance.query`.
    ///
    /// Args:
    ///     where: A mapping of fields to values or to operators.
    ///     from_: The earliest timestamp, inclusive.
    ///     to: The latest timestamp, inclusive.
    ///     after_sequence: The sequence after which to begin.
    ///     until_sequence: The last sequence, inclusive.
    ///     order_by: Pairs of `"sequence"` or `"timestamp"` with `"asc"` or `"desc"`.
    ///     limit: At most how many; 100.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     events = orders.append_batch([{"total": 5}, {"total": 50}])
    ///     ...     [event.payload for event in orders.query(where={"total": {"gt": 10}})]
    ///     [{'total': 50}]
    #[pyo3(signature = (*, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, order_by=None, limit=None))]
    pub fn query(
        &self,
        py: Python<'_>,
        r#where: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        to: Maybe<'_, '_>,
        after_sequence: Maybe<'_, '_>,
        until_sequence: Maybe<'_, '_>,
        order_by: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
    ) -> PyResult<Vec<Event>> {
        let args = QueryArgs { conditions: r#where, from: from_, to, after_sequence, until_sequence, order_by, limit };
        let query = args.query()?;
        Ok(values::events(detached(py, || self.stream.query(&query))?, &self.codec))
    }

    /// One page of what a query finds, a `Page`. See `Instance.query_page`.
    ///
    /// Args:
    ///     where: A mapping of fields to values or to operators.
    ///     from_: The earliest timestamp, inclusive.
    ///     to: The latest timestamp, inclusive.
    ///     after_sequence: The sequence after which to begin.
    ///     until_sequence: The last sequence, inclusive.
    ///     limit: At most how many on this page, 1 or more; 100.
    ///     cursor: The `next_cursor` of the page before.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     events = orders.append_batch(["a", "b"])
    ///     ...     page = orders.query_page(limit=1)
    ///     ...     orders.query_page(cursor=page.next_cursor).events[0].payload
    ///     'b'
    #[pyo3(signature = (*, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, limit=None, cursor=None))]
    pub fn query_page<'py>(
        &self,
        py: Python<'py>,
        r#where: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        to: Maybe<'_, '_>,
        after_sequence: Maybe<'_, '_>,
        until_sequence: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
        cursor: Maybe<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args =
            QueryArgs { conditions: r#where, from: from_, to, after_sequence, until_sequence, order_by: None, limit };
        let query = args.query()?;
        let cursor = args::optional_text("cursor", cursor)?;
        values::page(py, detached(py, || self.stream.query_page(&query, cursor))?, &self.codec)
    }

    /// Goes over all that a query finds, a page at a time. See `Instance.query_stream`.
    ///
    /// Args:
    ///     where: A mapping of fields to values or to operators.
    ///     from_: The earliest timestamp, inclusive.
    ///     to: The latest timestamp, inclusive.
    ///     after_sequence: The sequence after which to begin.
    ///     until_sequence: The last sequence, inclusive.
    ///     limit: How many events a page has; 100.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     events = orders.append_batch(["a", "b"])
    ///     ...     [event.payload for event in orders.query_stream()]
    ///     ['a', 'b']
    #[pyo3(signature = (*, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, limit=None))]
    pub fn query_stream(
        &self,
        py: Python<'_>,
        r#where: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        to: Maybe<'_, '_>,
        after_sequence: Maybe<'_, '_>,
        until_sequence: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
    ) -> PyResult<EventIterator> {
        let args =
            QueryArgs { conditions: r#where, from: from_, to, after_sequence, until_sequence, order_by: None, limit };
        let query = args.query()?;
        Ok(EventIterator::new(detached(py, || self.stream.query_stream(&query))?, &self.instance, &self.codec))
    }

    /// Removes the oldest events by exactly one of the four limits. Returns how many. See `Instance.trim`.
    ///
    /// Args:
    ///     before_sequence: What lies before this sequence; one, or a mapping of partitions to sequences.
    ///     max_len: What is more than this many, per partition.
    ///     max_age_ms: What is older than this, in milliseconds.
    ///     max_bytes: What is more than this many bytes, per partition.
    ///     force: Whether to remove also what a group still needs; false.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     events = orders.append_batch(["a", "b"])
    ///     ...     orders.trim(before_sequence=2)
    ///     1
    #[pyo3(signature = (*, before_sequence=None, max_len=None, max_age_ms=None, max_bytes=None, force=None))]
    pub fn trim(
        &self,
        py: Python<'_>,
        before_sequence: Maybe<'_, '_>,
        max_len: Maybe<'_, '_>,
        max_age_ms: Maybe<'_, '_>,
        max_bytes: Maybe<'_, '_>,
        force: Maybe<'_, '_>,
    ) -> PyResult<u64> {
        let options = options::trim(before_sequence, max_len, max_age_ms, max_bytes, force)?;
        detached(py, || self.stream.trim(&options))
    }

    /// What there is to know of the stream, a `StreamInfo`. See `Instance.stream_info`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     orders.info().partitions[0].high_watermark
    ///     0
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::stream_info(py, &detached(py, || self.stream.info())?)
    }

    /// The names of its groups, sorted. See `Instance.list_groups`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     orders.list_groups()
    ///     ['billing']
    fn list_groups(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || self.stream.list_groups())
    }

    /// Deletes the stream with all that is in it. See `Instance.delete_stream`.
    ///
    /// Args:
    ///     confirm: Must be `True`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     orders = db.stream("orders")
    ///     ...     orders.delete(confirm=True)
    ///     ...     db.list_streams()
    ///     []
    #[pyo3(signature = (*, confirm=None))]
    fn delete(&self, py: Python<'_>, confirm: Maybe<'_, '_>) -> PyResult<()> {
        let confirm = options::flag("confirm", confirm)?;
        detached(py, || self.stream.delete(confirm))
    }
}
