//! Options of a trim
//!
//! How far to trim: exactly one of `before_sequence`, `max_len`, `max_age_ms` and `max_bytes`.

use super::boundary::{change, create, free, text};
use super::error::rheo_error;
use super::group_options::set_in;
use super::values::rheo_status;
use crate::handle::{Options, number};
use rheo_core::{Sequences, TrimOptions};
use std::ffi::c_char;

/// How far to trim. One thread at a time.
pub struct rheo_trim_options(pub(super) TrimOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_new(
    out: *mut *mut rheo_trim_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_trim_options(TrimOptions::default())))
}

/// Sets one option by name: `before_sequence` (`3` or `{"0": 3, "2": 1}`), `max_len`, `max_age_ms`, `max_bytes`,
/// `force` (`true` or `false`).
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_set(
    options: *mut rheo_trim_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Removes what lies before this sequence, in every partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_set_before_sequence(
    options: *mut rheo_trim_options,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.before_sequence = Some(Sequences::All(sequence));
        Ok(())
    })
}

/// Removes what lies before this sequence in one partition; called again for each further partition. The others are
/// left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_set_before_sequence_in(
    options: *mut rheo_trim_options,
    partition: u32,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        set_in(&mut options.0.before_sequence, partition, sequence);
        Ok(())
    })
}

/// Keeps at most so many events per partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_set_max_len(
    options: *mut rheo_trim_options,
    max_len: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_len = Some(number("max_len", max_len)?);
        Ok(())
    })
}

/// Removes events older than so many milliseconds, up to the first younger one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_set_max_age_ms(
    options: *mut rheo_trim_options,
    max_age_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_age_ms = Some(number("max_age_ms", max_age_ms)?);
        Ok(())
    })
}

/// Keeps at most so many bytes per partition, counted as `rheo_partition_info.bytes` is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_set_max_bytes(
    options: *mut rheo_trim_options,
    max_bytes: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_bytes = Some(number("max_bytes", max_bytes)?);
        Ok(())
    })
}

/// Removes also what some group has not passed or lists as a dead letter; false when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_set_force(
    options: *mut rheo_trim_options,
    force: bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.force = force;
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_trim_options_free(options: *mut rheo_trim_options) {
    free(options);
}
