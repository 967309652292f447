//! The telemetry hook: a Python callable.

use crate::attached::in_python;
use crate::codec::Hook;
use crate::errors::wrong_type;
use crate::exit;
use crate::values;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::prelude::*;
use rheo_core::Telemetry;
use std::sync::{Arc, PoisonError};

/// A hook that calls `callable` with each event, as long as it is in `hook`. What it raises goes to `sys.unraisablehook`, and harms nobody.
pub fn hook(callable: &Bound<'_, PyAny>, durations: bool, hook: &Hook) -> PyResult<Telemetry> {
    if !callable.is_callable() {
        return Err(wrong_type("telemetry", "a function of one event", callable));
    }
    *hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(callable.clone().unbind()));
    let hook = Arc::clone(hook);
    let telemetry = Telemetry::new(move |event| {
        in_python(|py| {
            let Some(callable) = hook.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
            let callable = callable.bind(py);
            let _callback = exit::callback(py);
            let called = values::telemetry_event(py, event).and_then(|event| callable.call1((event,)));
            match called {
                Ok(_) => {}
                // Who presses Ctrl-C means the program, not the hook.
                // SAFETY: it sets a flag, and has no conditions.
                Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => unsafe { ffi::PyErr_SetInterrupt() },
                Err(error) => error.write_unraisable(py, Some(callable)),
            }
        });
    });
    Ok(if durations { telemetry } else { telemetry.without_durations() })
}
