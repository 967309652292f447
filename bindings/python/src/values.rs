//! Plain values: the dataclasses of `rheo._values`, made from the core's structs.

use crate::codec::Codec;
use crate::event::Event;
use crate::time;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};
use rheo_core::{Capabilities, DeadLetter, GroupInfo, Lag, Page, StreamInfo};

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Takes the module with the classes of the values.
#[pyfunction]
pub fn set_values(py: Python<'_>, module: Bound<'_, PyModule>) {
    let _ = MODULE.set(py, module.unbind());
}

/// A new value of this class.
fn make<'py>(py: Python<'py>, class: &str, args: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    let module = MODULE.get(py).ok_or_else(|| PyRuntimeError::new_err("import rheo, not its native module"))?;
    module.bind(py).getattr(class)?.call1(args)
}

pub fn capabilities<'py>(py: Python<'py>, capabilities: &Capabilities) -> PyResult<Bound<'py, PyAny>> {
    let (guarantees, mechanisms) = (PyDict::new(py), PyDict::new(py));
    capabilities.guarantees().try_for_each(|(name, value)| guarantees.set_item(name, value))?;
    capabilities.mechanisms().try_for_each(|(name, value)| mechanisms.set_item(name, value))?;
    make(py, "Capabilities", (guarantees, mechanisms))
}

pub fn lag<'py>(py: Python<'py>, lag: &Lag) -> PyResult<Bound<'py, PyAny>> {
    let partitions = PyDict::new(py);
    for (partition, at) in &lag.partitions {
        let value = make(py, "PartitionLag", (at.frontier, at.high_watermark, at.lag()))?;
        partitions.set_item(partition, value)?;
    }
    make(py, "Lag", (&lag.stream, &lag.group, partitions, lag.lag()))
}

pub fn group_info<'py>(py: Python<'py>, info: &GroupInfo) -> PyResult<Bound<'py, PyAny>> {
    let oldest = info.oldest_unsettled_at.map(rheo_core::Timestamp::as_micros);
    let settings = &info.settings;
    let counts = (info.inflight_count, info.available_count, info.delayed_count, info.dead_letter_count);
    let settings = (settings.max_attempts, settings.max_deliveries, settings.ordering.name());
    make(
        py,
        "GroupInfo",
        (lag(py, &info.lag)?, counts.0, counts.1, counts.2, counts.3, oldest, settings.0, settings.1, settings.2),
    )
}

pub fn stream_info<'py>(py: Python<'py>, info: &StreamInfo) -> PyResult<Bound<'py, PyAny>> {
    let mut partitions = Vec::with_capacity(info.partitions.len());
    for at in &info.partitions {
        let held_by = match &at.held_by {
            Some(hold) => Some(make(py, "RetentionHold", (hold.sequence, &hold.group, hold.dead_letter))?),
            None => None,
        };
        let fields = (at.partition, at.first_sequence, at.high_watermark, at.bytes, held_by);
        partitions.push(make(py, "PartitionInfo", fields)?);
    }
    make(py, "StreamInfo", (&info.stream, partitions))
}

pub fn dead_letter<'py>(py: Python<'py>, letter: DeadLetter, codec: &Codec) -> PyResult<Bound<'py, PyAny>> {
    let at = time::to_python(py, letter.dead_lettered_at)?;
    let event = Bound::new(py, Event::new(letter.event, codec))?;
    make(py, "DeadLetter", (letter.group, letter.attempt, letter.reason, at, event))
}

pub fn page<'py>(py: Python<'py>, page: Page, codec: &Codec) -> PyResult<Bound<'py, PyAny>> {
    let events: Vec<Event> = page.events.into_iter().map(|event| Event::new(event, codec)).collect();
    make(py, "Page", (events, page.next_cursor))
}

pub fn events(events: Vec<rheo_core::Event>, codec: &Codec) -> Vec<Event> {
    events.into_iter().map(|event| Event::new(event, codec)).collect()
}

pub fn telemetry_event<'py>(py: Python<'py>, event: &rheo_core::TelemetryEvent<'_>) -> PyResult<Bound<'py, PyAny>> {
    let duration = event.duration.map(|duration| duration.as_secs_f64());
    let error = event.error.map(rheo_core::ErrorCode::name);
    let labels = (event.name.name(), event.stream, event.group, event.partition);
    make(py, "TelemetryEvent", (labels.0, labels.1, labels.2, labels.3, event.count, event.failed, duration, error))
}
