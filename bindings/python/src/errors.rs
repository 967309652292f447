//! The library's errors as Python's exceptions. Their classes are in `rheo._errors`, one for each number.

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use rheo_core::{Error, ErrorCode};

static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Takes the classes of the exceptions, each by its number.
#[pyfunction]
pub fn set_errors(py: Python<'_>, classes: Bound<'_, PyDict>) {
    // Importing the package a second time changes nothing.
    let _ = CLASSES.set(py, classes.unbind());
}

/// The exception of an error, not raised.
#[cold]
pub fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let classes = CLASSES.get(py).ok_or_else(|| PyRuntimeError::new_err("import rheo, not its native module"))?;
    let class = classes.bind(py).as_any().get_item(error.code().number())?;
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

/// What does not pickle, and what to send in its place.
#[cold]
pub fn does_not_pickle(what: &str, instead: &str) -> PyErr {
    PyTypeError::new_err(format!("{what} does not pickle, since it belongs to this process; {instead}"))
}

/// Why a text cannot be had as UTF-8.
#[cold]
pub fn not_unicode(py: Python<'_>, what: &str, problem: PyErr) -> PyErr {
    if problem.is_instance_of::<PyUnicodeEncodeError>(py) {
        return invalid(py, format!("{what} holds a lone surrogate, which no text has in UTF-8; remove or replace it"));
    }
    problem
}
