//! Error
//!
//! A status says what went wrong; the error says it in words, with the values concerned. A function that fails writes
//! one to its last parameter, unless that is NULL.
//!
//! What to do with a failed call: `rheo_error_retriable` says whether to try again, and, if it was to settle a lease,
//! `rheo_error_settle_class` whether the lease still counts.

use super::boundary::{create, free, shared, view};
use super::values::{
    RHEO_OK, RHEO_RETRIABLE_NO, RHEO_RETRIABLE_WITH_SAME_ID, RHEO_RETRIABLE_YES, RHEO_SETTLE_DEFINITE,
    RHEO_SETTLE_LOST, RHEO_SETTLE_NONE, RHEO_SETTLE_UNKNOWN, rheo_bytes, rheo_retriable, rheo_settle_class,
    rheo_status,
};
use rheo_core::{Error, ErrorCode, Retriable, SettleClass};
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::LazyLock;

/// One failure. Never changes; any thread may read it, several at once.
pub struct rheo_error(pub(super) Error);

/// The error's status. `RHEO_OK` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_code(error: *const rheo_error) -> rheo_status {
    view(error, |error| error.0.code().number())
}

/// The contract's name of the error, such as `stale_lease`. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_name(error: *const rheo_error) -> rheo_bytes {
    view(error, |error| error.0.code().name().into())
}

/// What failed, with which value, and what to do. A sentence for people, which may change; decide by the status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_message(error: *const rheo_error) -> rheo_bytes {
    view(error, |error| error.0.message().into())
}

/// The text of the failure behind this one: a store's or the system's. `data` is NULL when there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_cause(error: *const rheo_error) -> rheo_bytes {
    view(error, |error| error.0.cause().into())
}

/// What the holder of a lease may conclude when a settle gave this error: `RHEO_SETTLE_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_settle_class(error: *const rheo_error) -> rheo_settle_class {
    view(error, |error| settle_class(error.0.code()))
}

/// Whether calling again can help: `RHEO_RETRIABLE_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_retriable(error: *const rheo_error) -> rheo_retriable {
    view(error, |error| retriable(error.0.code()))
}

/// Copies an error, for instance one that belongs to a `rheo_results`. The copy is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_clone(error: *const rheo_error, out: *mut *mut rheo_error) -> rheo_status {
    create(out, ptr::null_mut(), || Ok(rheo_error(shared("error", error)?.0.clone())))
}

/// Frees an error that a function wrote out or that was copied; NULL is fine. An error that a `rheo_results` gave
/// belongs to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_error_free(error: *mut rheo_error) {
    free(error);
}

/// The name of a status, such as `"stale_lease"`; `"ok"` for `RHEO_OK`. NUL-terminated and static; NULL for a number
/// that is no status. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn rheo_status_name(status: rheo_status) -> *const c_char {
    if status == RHEO_OK {
        return c"ok".as_ptr();
    }
    static NAMES: LazyLock<Vec<CString>> =
        LazyLock::new(|| ErrorCode::ALL.iter().map(|code| CString::new(code.name()).unwrap_or_default()).collect());
    let at = ErrorCode::ALL.iter().position(|code| code.number() == status);
    at.map_or(ptr::null(), |at| NAMES[at].as_ptr())
}

/// As `rheo_error_settle_class`, from the status alone. `RHEO_SETTLE_NONE` for a number that is no error. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn rheo_status_settle_class(status: rheo_status) -> rheo_settle_class {
    ErrorCode::from_number(status).map_or(RHEO_SETTLE_NONE, settle_class)
}

/// As `rheo_error_retriable`, from the status alone. `RHEO_RETRIABLE_NO` for a number that is no error. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn rheo_status_retriable(status: rheo_status) -> rheo_retriable {
    ErrorCode::from_number(status).map_or(RHEO_RETRIABLE_NO, retriable)
}

fn settle_class(code: ErrorCode) -> rheo_settle_class {
    match code.settle_class() {
        SettleClass::None => RHEO_SETTLE_NONE,
        SettleClass::Lost => RHEO_SETTLE_LOST,
        SettleClass::Definite => RHEO_SETTLE_DEFINITE,
        // What a newer core may add says no less than this.
        _ => RHEO_SETTLE_UNKNOWN,
    }
}

fn retriable(code: ErrorCode) -> rheo_retriable {
    match code.retriable() {
        Retriable::Yes => RHEO_RETRIABLE_YES,
        Retriable::WithSameId => RHEO_RETRIABLE_WITH_SAME_ID,
        _ => RHEO_RETRIABLE_NO,
    }
}
