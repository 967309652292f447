//! Options of a list of dead letters

use super::boundary::{change, create, free, partitions as set_of, text};
use super::error::rheo_error;
use super::values::rheo_status;
use crate::handle::{Options, number};
use rheo_core::DeadLetterOptions;
use std::ffi::c_char;

/// How to list dead letters. One thread at a time.
pub struct rheo_dead_letter_options(pub(super) DeadLetterOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_options_new(
    out: *mut *mut rheo_dead_letter_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_dead_letter_options(DeadLetterOptions::default())))
}

/// Sets one option by name: `limit`, `after`, `partitions` (`[0, 2]`).
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_options_set(
    options: *mut rheo_dead_letter_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Sets the most to list: 0 or more; 100 when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_options_set_limit(
    options: *mut rheo_dead_letter_options,
    limit: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.limit = Some(number("limit", limit)?);
        Ok(())
    })
}

/// Goes on after the dead letter of this event id: the last one of the list before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_options_set_after(
    options: *mut rheo_dead_letter_options,
    event_id: *const c_char,
    event_id_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.after = Some(text("event_id", event_id, event_id_len)?.to_owned());
        Ok(())
    })
}

/// Lists those of these partitions only, a set that is copied; NULL with length 0: of all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_options_set_partitions(
    options: *mut rheo_dead_letter_options,
    partitions: *const u32,
    partitions_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.partitions = set_of(partitions, partitions_len)?.map(<[u32]>::to_vec);
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_dead_letter_options_free(options: *mut rheo_dead_letter_options) {
    free(options);
}
