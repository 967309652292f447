//! Options of an update
//!
//! What is to change of a group; what is not set stays as it is.

use super::boundary::{change, create, free, text};
use super::error::rheo_error;
use super::values::rheo_status;
use crate::handle::{Options, number};
use rheo_core::GroupUpdate;
use std::ffi::c_char;

/// What is to change of a group. One thread at a time.
pub struct rheo_update_options(pub(super) GroupUpdate);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_update_options_new(
    out: *mut *mut rheo_update_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_update_options(GroupUpdate::default())))
}

/// Sets one option by name: `max_attempts`, `max_deliveries`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_update_options_set(
    options: *mut rheo_update_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Sets at which attempt a retry dead-letters: 1 or more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_update_options_set_max_attempts(
    options: *mut rheo_update_options,
    max_attempts: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_attempts = Some(number("max_attempts", max_attempts)?);
        Ok(())
    })
}

/// Sets after how many leases a delivery is dead-lettered instead of being offered again; 0: never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_update_options_set_max_deliveries(
    options: *mut rheo_update_options,
    max_deliveries: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_deliveries = Some(number("max_deliveries", max_deliveries)?);
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_update_options_free(options: *mut rheo_update_options) {
    free(options);
}
