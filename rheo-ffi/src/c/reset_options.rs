//! Options of a reset
//!
//! A reset wants `confirm`, for what the group knows is lost. The new start is said as when a group is created;
//! without one it is the beginning. Partitions that a map or `partitions` leaves out are left alone.

use super::boundary::{change, create, free, partitions as set_of, text};
use super::error::rheo_error;
use super::group_options::set_in;
use super::values::rheo_status;
use crate::handle::Options;
use rheo_core::{ResetOptions, Sequences, Timestamp};
use std::ffi::c_char;

/// How to reset a group. One thread at a time.
pub struct rheo_reset_options(pub(super) ResetOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_new(
    out: *mut *mut rheo_reset_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_reset_options(ResetOptions::default())))
}

/// Sets one option by name: `confirm` (`true` or `false`), `start_after` (`3` or `{"0": 3, "2": 1}`), `start_at`,
/// `partitions` (`[0, 2]`).
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_set(
    options: *mut rheo_reset_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Says that the reset is meant; false when not set, which gives `RHEO_ERROR_CONFIRM_REQUIRED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_set_confirm(
    options: *mut rheo_reset_options,
    confirm: bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.confirm = confirm;
        Ok(())
    })
}

/// Starts anew after this sequence in every partition (exclusive). Beyond the last event: at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_set_start_after(
    options: *mut rheo_reset_options,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.start.start_after = Some(Sequences::All(sequence));
        Ok(())
    })
}

/// Starts anew after this sequence in one partition; called again for each further partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_set_start_after_in(
    options: *mut rheo_reset_options,
    partition: u32,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        set_in(&mut options.0.start.start_after, partition, sequence);
        Ok(())
    })
}

/// Starts anew, per partition, with the first event whose timestamp is at or after this time, in microseconds since
/// the Unix epoch; at the end when there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_set_start_at(
    options: *mut rheo_reset_options,
    micros: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.start.start_at = Some(Timestamp::from_micros(micros));
        Ok(())
    })
}

/// Resets these partitions only, a set that is copied; NULL with length 0: all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_set_partitions(
    options: *mut rheo_reset_options,
    partitions: *const u32,
    partitions_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.start.partitions = set_of(partitions, partitions_len)?.map(<[u32]>::to_vec);
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_reset_options_free(options: *mut rheo_reset_options) {
    free(options);
}
