//! A stream, its name resolved once.

use crate::append::{self, Options};
use crate::args::{self, Given, Maybe};
use crate::attached::{attached, detached};
use crate::codec::Codec;
use crate::event::{Event, EventIterator};
use crate::options::{self, QueryArgs};
use crate::values;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A stream, its name resolved once.
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Stream {
    pub stream: rheo_core::Stream,
    pub codec: Codec,
}

#[pymethods]
#[allow(clippy::too_many_arguments)]
impl Stream {
    #[getter]
    fn name(&self) -> &str {
        self.stream.name()
    }

    fn __repr__(&self) -> String {
        format!("<rheo.Stream {:?}>", self.stream.name())
    }

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

    fn get(&self, event_id: Given<'_, '_>) -> PyResult<Option<Event>> {
        let id = args::text("event_id", event_id)?;
        let event = attached(event_id.py(), || self.stream.get(id))?;
        Ok(event.map(|event| Event::new(event, &self.codec)))
    }

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

    #[pyo3(signature = (*, r#where=None, from_=None, to=None, after_sequence=None, until_sequence=None, order_by=None, limit=None))]
    pub fn query_stream(
        &self,
        py: Python<'_>,
        r#where: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        to: Maybe<'_, '_>,
        after_sequence: Maybe<'_, '_>,
        until_sequence: Maybe<'_, '_>,
        order_by: Maybe<'_, '_>,
        limit: Maybe<'_, '_>,
    ) -> PyResult<EventIterator> {
        let args = QueryArgs { conditions: r#where, from: from_, to, after_sequence, until_sequence, order_by, limit };
        let query = args.query()?;
        Ok(EventIterator::new(detached(py, || self.stream.query_stream(&query))?, &self.codec))
    }

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

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::stream_info(py, &detached(py, || self.stream.info())?)
    }

    fn list_groups(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || self.stream.list_groups())
    }

    #[pyo3(signature = (*, confirm=None))]
    fn delete(&self, py: Python<'_>, confirm: Maybe<'_, '_>) -> PyResult<()> {
        let confirm = options::flag("confirm", confirm)?;
        detached(py, || self.stream.delete(confirm))
    }
}
