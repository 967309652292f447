//! Times: microseconds since the Unix epoch inside, `datetime` with a time zone outside.

use crate::args;
use crate::errors::{invalid, wrong_type};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDateTime, PyDelta, PyDeltaAccess, PyInt, PyTzInfo};
use rheo_core::Timestamp;

const DAY: i64 = 86_400;
const SECOND: i64 = 1_000_000;

fn epoch(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyAny>> {
        let utc = PyTzInfo::utc(py)?;
        Ok(PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&utc))?.into_any().unbind())
    };
    EPOCH.get_or_try_init(py, make).map(|epoch| epoch.bind(py))
}

/// A time as `datetime`, in UTC.
pub fn to_python(py: Python<'_>, time: Timestamp) -> PyResult<Bound<'_, PyAny>> {
    let micros = time.as_micros();
    let (seconds, rest) = (micros.div_euclid(SECOND), micros.rem_euclid(SECOND));
    let days = i32::try_from(seconds.div_euclid(DAY)).expect("an i64 of microseconds has fewer days");
    let delta = PyDelta::new(py, days, seconds.rem_euclid(DAY) as i32, rest as i32, false)?;
    epoch(py)?.add(delta).map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(py) {
            invalid(py, format!("{micros} µs since 1970 are beyond what a datetime holds; take the microseconds"))
        } else {
            error
        }
    })
}

/// A time that an argument gives: an aware `datetime`, or microseconds since the epoch as `int`.
pub fn from_python(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Timestamp> {
    let py = given.py();
    let Ok(time) = given.cast::<PyDateTime>() else {
        if given.is_instance_of::<PyInt>() {
            return args::number::<i64>(what, given).map(Timestamp::from_micros);
        }
        return Err(wrong_type(what, "an aware datetime, or an int of microseconds since 1970", given));
    };
    if time.call_method0("utcoffset")?.is_none() {
        let shown = given.str()?;
        return Err(invalid(
            py,
            format!(
                "{what} is {shown}, a datetime without a time zone, so it names no moment; \
                 give it one, as in datetime.now(timezone.utc)"
            ),
        ));
    }
    let delta = given.sub(epoch(py)?)?.cast_into::<PyDelta>()?;
    let seconds = i64::from(delta.get_days()) * DAY + i64::from(delta.get_seconds());
    Ok(Timestamp::from_micros(seconds * SECOND + i64::from(delta.get_microseconds())))
}

/// The same of an argument that may be missing.
pub fn optional(what: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Timestamp>> {
    given.map(|given| from_python(what, given)).transpose()
}
