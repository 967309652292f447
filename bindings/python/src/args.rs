//! Arguments: a wrong type is a `TypeError` that names the argument, a wrong value the contract's error.

use crate::errors::{invalid, not_unicode, raised, wrong_type};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyMapping, PyString};
use rheo_core::{Error, ErrorCode, Sequences};

/// Something that Python gives.
pub type Given<'a, 'py> = &'a Bound<'py, PyAny>;
/// Something that Python may give.
pub type Maybe<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// A whole number in the range of `N`.
pub fn number<N: TryFrom<i128>>(what: &str, given: Given<'_, '_>) -> PyResult<N> {
    let value = whole(what, given)?;
    N::try_from(value).map_err(|_| {
        let why = if value < 0 { "it takes 0 or more" } else { "that is too large" };
        invalid(given.py(), format!("{what} is {value}; {why}"))
    })
}

/// A whole number that may be missing.
pub fn optional_number<N: TryFrom<i128>>(what: &str, given: Maybe<'_, '_>) -> PyResult<Option<N>> {
    given.map(|given| number(what, given)).transpose()
}

/// Any whole number that 64 bits hold, signed or not.
fn whole(what: &str, given: Given<'_, '_>) -> PyResult<i128> {
    if given.is_instance_of::<PyBool>() {
        return Err(wrong_type(what, "a whole number", given));
    }
    match given.extract::<i64>() {
        Ok(value) => Ok(value.into()),
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => match given.extract::<u64>() {
            Ok(value) => Ok(value.into()),
            Err(_) => Err(invalid(given.py(), format!("{what} is a number that 64 bits do not hold"))),
        },
        Err(_) => Err(wrong_type(what, "a whole number", given)),
    }
}

/// A partition: which there are only the stream knows, but none has a negative number.
pub fn partition(what: &str, given: Given<'_, '_>) -> PyResult<u32> {
    let value = whole(what, given)?;
    u32::try_from(value).map_err(|_| {
        let message = format!("{what} is {value}; partitions are numbered from 0 to less than 65,536");
        raised(given.py(), &Error::new(ErrorCode::InvalidPartition, message))
    })
}

/// How many partitions: what is out of range stays out of range, so that creating the stream says so.
pub fn partition_count(given: Given<'_, '_>) -> PyResult<u32> {
    let value = whole("partition_count", given)?;
    u32::try_from(value).map_err(|_| {
        let message = format!("partition_count is {value}; it takes 1 to 65,536");
        raised(given.py(), &Error::new(ErrorCode::InvalidPartitionCount, message))
    })
}

/// A set of partitions that may be missing: any iterable of whole numbers.
pub fn partitions(given: Maybe<'_, '_>) -> PyResult<Option<Vec<u32>>> {
    let Some(given) = given else { return Ok(None) };
    if given.is_instance_of::<PyString>() {
        return Err(wrong_type("partitions", "an iterable of whole numbers", given));
    }
    let items = given.try_iter().map_err(|_| wrong_type("partitions", "an iterable of whole numbers", given))?;
    items.map(|item| partition("partitions", &item?)).collect::<PyResult<_>>().map(Some)
}

/// One sequence for all partitions, or a mapping of partitions to sequences.
pub fn sequences(what: &str, given: Maybe<'_, '_>) -> PyResult<Option<Sequences>> {
    let Some(given) = given else { return Ok(None) };
    let Ok(mapping) = given.cast::<PyMapping>() else {
        return number(what, given).map(Sequences::All).map(Some);
    };
    let entry = |item: PyResult<Bound<'_, PyAny>>| {
        let (key, value) = item?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        Ok((partition(what, &key)?, number(what, &value)?))
    };
    mapping.items()?.try_iter()?.map(entry).collect::<PyResult<_>>().map(|map| Some(Sequences::Map(map)))
}

/// A text.
#[inline]
pub fn text<'a>(what: &str, given: Given<'a, '_>) -> PyResult<&'a str> {
    let Ok(text) = given.cast::<PyString>() else { return Err(wrong_type(what, "a str", given)) };
    text.to_str().map_err(|problem| not_unicode(given.py(), what, problem))
}

/// A text that may be missing.
#[inline]
pub fn optional_text<'a>(what: &str, given: Maybe<'a, '_>) -> PyResult<Option<&'a str>> {
    match given {
        Some(given) => text(what, given).map(Some),
        None => Ok(None),
    }
}

/// Texts: any iterable of them, but not a text itself.
pub fn texts(what: &str, given: Given<'_, '_>) -> PyResult<Vec<String>> {
    let wanted = "an iterable of str";
    if given.is_instance_of::<PyString>() {
        return Err(wrong_type(what, wanted, given));
    }
    let items = given.try_iter().map_err(|_| wrong_type(what, wanted, given))?;
    items.map(|item| text(what, &item?).map(str::to_owned)).collect()
}

/// True or false.
pub fn boolean(what: &str, given: Given<'_, '_>) -> PyResult<bool> {
    given.cast::<PyBool>().map(|value| value.is_true()).map_err(|_| wrong_type(what, "True or False", given))
}

/// A dict, or any other mapping as one.
pub fn mapping<'py>(what: &str, given: Given<'_, 'py>) -> PyResult<Bound<'py, PyDict>> {
    if let Ok(dict) = given.cast::<PyDict>() {
        return Ok(dict.clone());
    }
    let Ok(mapping) = given.cast::<PyMapping>() else { return Err(wrong_type(what, "a mapping", given)) };
    PyDict::from_sequence(mapping.items()?.as_any())
}
