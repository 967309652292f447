//! The library's errors as Python's exceptions. Their classes are in `rheo._errors`, one for each number.

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use rheo_core::{Error, ErrorCode};

static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyDict>> {
    let load = || -> PyResult<Py<PyDict>> {
        Ok(py.import("rheo._errors")?.getattr("BY_NUMBER")?.cast_into::<PyDict>()?.unbind())
    };
    CLASSES.get_or_try_init(py, load).map(|classes| classes.bind(py))
}

/// The exception of an error, not raised.
#[cold]
pub fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = classes(py)?.as_any().get_item(error.code().number())?;
    class.call1((error.message(), error.cause()))
}

/// The exception of an error, to be raised.
#[cold]
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).map_or_else(|problem| problem, PyErr::from_value)
}

/// `invalid_argument` with this text.
#[cold]
pub fn invalid(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raised(py, &Error::new(ErrorCode::InvalidArgument, message))
}

/// A value of a type that an argument does not take.
#[cold]
pub fn wrong_type(what: &str, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let name = given.get_type().fully_qualified_name();
    PyTypeError::new_err(match name {
        Ok(name) => format!("{what} takes {wanted}, not {name}"),
        Err(_) => format!("{what} takes {wanted}"),
    })
}

/// Why a text cannot be had as UTF-8.
#[cold]
pub fn not_unicode(py: Python<'_>, what: &str, problem: PyErr) -> PyErr {
    if problem.is_instance_of::<PyUnicodeEncodeError>(py) {
        return invalid(py, format!("{what} holds a lone surrogate, which no text has in UTF-8; remove or replace it"));
    }
    problem
}
