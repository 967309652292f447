//! The telemetry hook: a Python callable.

use crate::attached::in_python;
use crate::errors::wrong_type;
use crate::values;
use pyo3::prelude::*;
use rheo_core::Telemetry;

/// A hook that calls `callable` with each event. What it raises goes to `sys.unraisablehook`, and harms nobody.
pub fn hook(callable: &Bound<'_, PyAny>, durations: bool) -> PyResult<Telemetry> {
    if !callable.is_callable() {
        return Err(wrong_type("telemetry", "a function of one event", callable));
    }
    let callable = callable.clone().unbind();
    let telemetry = Telemetry::new(move |event| {
        in_python(|py| {
            let called = values::telemetry_event(py, event).and_then(|event| callable.bind(py).call1((event,)));
            if let Err(error) = called {
                error.write_unraisable(py, Some(callable.bind(py)));
            }
        });
    });
    Ok(if durations { telemetry } else { telemetry.without_durations() })
}
