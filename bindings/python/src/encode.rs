//! Python's values to JSON, once, at append.
//!
//! What JSON has comes back as it was: `None`, `bool`, `int` of any size, finite `float`, `str`, `list`, `dict` with `str` keys,
//! and their subclasses; a `tuple` comes back as a list. Anything else is refused, with the path to it; nothing is guessed.

use crate::errors::{invalid, not_unicode};
use crate::scan::plain_len;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::fmt::Write as _;

/// How deep lists and dicts may lie in each other, in what is encoded and what is decoded. Also what ends a cycle.
/// Each level is a frame on the stack of a thread, which may have as little as 128 KiB.
pub const MAX_DEPTH: usize = 200;

/// Appends the JSON of a value to `out`; `what` is the argument's name.
///
/// # Errors
/// `TypeError` for a type that JSON lacks, `invalid_argument` for a value that it lacks, both with the path to it. What
/// was written to `out` before stays there.
pub fn json(what: &str, value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    encode(value, out, 0).map_err(|refusal| refusal.raise(value.py(), what))
}

/// What JSON cannot hold, and the way to it, innermost step first.
struct Refusal {
    steps: Vec<Step>,
    why: Why,
}

enum Step {
    Key(String),
    Index(usize),
}

enum Why {
    /// Of this type.
    Type(String),
    /// A key of this type.
    Key(String),
    Depth,
    /// While it was read.
    Changed,
    Float(f64),
    Digits,
    Python(PyErr),
}

impl Refusal {
    #[cold]
    fn new(why: Why) -> Box<Refusal> {
        Box::new(Refusal { steps: Vec::new(), why })
    }

    #[cold]
    fn python(problem: PyErr) -> Box<Refusal> {
        Refusal::new(Why::Python(problem))
    }

    #[cold]
    fn inside(mut self: Box<Self>, step: Step) -> Box<Refusal> {
        self.steps.push(step);
        self
    }

    #[cold]
    fn raise(self, py: Python<'_>, what: &str) -> PyErr {
        let mut path = what.to_owned();
        for step in self.steps.iter().rev().take(20) {
            let _ = match step {
                Step::Key(key) => write!(path, "[{key:?}]"),
                Step::Index(index) => write!(path, "[{index}]"),
            };
        }
        match self.why {
            Why::Type(name) => PyTypeError::new_err(format!(
                "{path} is a {name}, which JSON does not have; convert it first, or open with dumps= of your own"
            )),
            Why::Key(name) => PyTypeError::new_err(format!(
                "{path} has a key of type {name}; in JSON keys are text, so make it a str"
            )),
            Why::Changed => invalid(py, format!("{path} was changed while it was read; give each call its own")),
            Why::Digits => invalid(
                py,
                format!(
                    "{path} is a whole number of more digits than sys.get_int_max_str_digits() allows; send it as text"
                ),
            ),
            Why::Depth => invalid(py, format!("{path} holds itself, or lies deeper than {MAX_DEPTH} levels")),
            Why::Float(value) => invalid(py, format!("{path} is {value}, which JSON does not have; use None or text")),
            Why::Python(problem) => not_unicode(py, &path, problem),
        }
    }
}

type Encoded = Result<(), Box<Refusal>>;

fn encode(value: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth: usize) -> Encoded {
    // Exact types first: a comparison of pointers each.
    if let Ok(text) = value.cast_exact::<PyString>() {
        encode_text(text, out)
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        encode_int(number, out)
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        encode_dict(dict, out, depth)
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        encode_float(number.extract().map_err(Refusal::python)?, out)
    } else if value.is_none() {
        out.extend(b"null");
        Ok(())
    } else if let Ok(truth) = value.cast_exact::<PyBool>() {
        out.extend(if truth.is_true() { &b"true"[..] } else { b"false" });
        Ok(())
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        encode_items(list.iter(), out, depth)
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        encode_items(tuple.iter(), out, depth)
    } else {
        encode_subclass(value, out, depth)
    }
}

#[cold]
#[inline(never)]
fn encode_subclass(value: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth: usize) -> Encoded {
    if let Ok(text) = value.cast::<PyString>() {
        encode_text(text, out)
    } else if let Ok(number) = value.cast::<PyInt>() {
        encode_int(number, out)
    } else if let Ok(number) = value.cast::<PyFloat>() {
        encode_float(number.extract().map_err(Refusal::python)?, out)
    } else if let Ok(dict) = value.cast::<PyDict>() {
        // Its own order and content are those that it shows.
        let shown = dict.as_any().call_method0("items").and_then(|items| PyDict::from_sequence(&items));
        encode_dict(&shown.map_err(Refusal::python)?, out, depth)
    } else if let Ok(list) = value.cast::<PyList>() {
        encode_items(list.iter(), out, depth)
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        encode_items(tuple.iter(), out, depth)
    } else {
        Err(Refusal::new(Why::Type(type_name(value))))
    }
}

fn encode_text(text: &Bound<'_, PyString>, out: &mut Vec<u8>) -> Encoded {
    let text = text.to_str().map_err(Refusal::python)?;
    if plain_len(text.as_bytes()) < text.len() {
        serde_json::to_writer(out, text).expect("memory takes all text");
        return Ok(());
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
    Ok(())
}

fn encode_int(number: &Bound<'_, PyInt>, out: &mut Vec<u8>) -> Encoded {
    if let Ok(number) = number.extract::<i64>() {
        serde_json::to_writer(out, &number).expect("memory takes all numbers");
        return Ok(());
    }
    // `int.__repr__`, so that a subclass cannot write what it likes.
    let digits = number.py().get_type::<PyInt>().call_method1("__repr__", (number,));
    let digits = digits.map_err(|_| Refusal::new(Why::Digits))?;
    let digits = digits.extract::<String>().map_err(Refusal::python)?;
    out.extend(digits.as_bytes());
    Ok(())
}

fn encode_float(number: f64, out: &mut Vec<u8>) -> Encoded {
    if !number.is_finite() {
        return Err(Refusal::new(Why::Float(number)));
    }
    serde_json::to_writer(out, &number).expect("memory takes all numbers");
    Ok(())
}

fn encode_dict(dict: &Bound<'_, PyDict>, out: &mut Vec<u8>, depth: usize) -> Encoded {
    if depth == MAX_DEPTH {
        return Err(Refusal::new(Why::Depth));
    }
    out.push(b'{');
    // Code of Python's, such as a subclass's `items`, may run in between; then the iterator must not be asked further.
    let len = dict.len();
    let mut entries = dict.iter();
    for index in 0..len {
        let next = if dict.len() == len { entries.next() } else { None };
        let Some((key, value)) = next else { return Err(Refusal::new(Why::Changed)) };
        if index > 0 {
            out.push(b',');
        }
        let Ok(name) = key.cast::<PyString>() else { return Err(Refusal::new(Why::Key(type_name(&key)))) };
        encode_text(name, out)?;
        out.push(b':');
        encode(&value, out, depth + 1)
            .map_err(|refusal| refusal.inside(Step::Key(name.to_string_lossy().into_owned())))?;
    }
    out.push(b'}');
    Ok(())
}

fn encode_items<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>, out: &mut Vec<u8>, depth: usize) -> Encoded {
    if depth == MAX_DEPTH {
        return Err(Refusal::new(Why::Depth));
    }
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        encode(&item, out, depth + 1).map_err(|refusal| refusal.inside(Step::Index(index)))?;
    }
    out.push(b']');
    Ok(())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().fully_qualified_name().map_or_else(|_| "value".to_owned(), |name| name.to_string())
}
