//! Options of a group
//!
//! Where a group starts is said by `start_after` or `start_at`, not both; without either it starts at the beginning.
//! Partitions that a map or `partitions` leaves out start at the beginning.

use super::boundary::{change, create, free, partitions as set_of, text};
use super::error::rheo_error;
use super::values::{RHEO_ORDERING_KEY, RHEO_ORDERING_NONE, rheo_ordering, rheo_status};
use crate::handle::{Options, invalid, number};
use rheo_core::{GroupOptions, Ordering, Sequences, Timestamp};
use std::collections::BTreeMap;
use std::ffi::c_char;

/// What a group is created with. One thread at a time.
pub struct rheo_group_options(pub(super) GroupOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_new(
    out: *mut *mut rheo_group_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_group_options(GroupOptions::default())))
}

/// Sets one option by name: `max_attempts`, `max_deliveries`, `ordering` (`none` or `key`), `start_after` (`3` or
/// `{"0": 3, "2": 1}`), `start_at`, `partitions` (`[0, 2]`).
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set(
    options: *mut rheo_group_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Sets at which attempt a retry dead-letters: 1 or more; the instance's `default_max_attempts` when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set_max_attempts(
    options: *mut rheo_group_options,
    max_attempts: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_attempts = Some(number("max_attempts", max_attempts)?);
        Ok(())
    })
}

/// Sets after how many leases a delivery is dead-lettered instead of being offered again, so that a payload which
/// kills its consumers stops circulating; 0, and when not set: never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set_max_deliveries(
    options: *mut rheo_group_options,
    max_deliveries: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_deliveries = number("max_deliveries", max_deliveries)?;
        Ok(())
    })
}

/// Sets the ordering: `RHEO_ORDERING_NONE` (when not set) or `RHEO_ORDERING_KEY`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set_ordering(
    options: *mut rheo_group_options,
    ordering: rheo_ordering,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.ordering = match ordering {
            RHEO_ORDERING_NONE => Ordering::None,
            RHEO_ORDERING_KEY => Ordering::Key,
            _ => {
                let message = format!("ordering is {ordering}; it takes RHEO_ORDERING_NONE or RHEO_ORDERING_KEY");
                return Err(invalid(message));
            }
        };
        Ok(())
    })
}

/// Starts the group after this sequence in every partition (exclusive). Beyond the last event: at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set_start_after(
    options: *mut rheo_group_options,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.start.start_after = Some(Sequences::All(sequence));
        Ok(())
    })
}

/// Starts the group after this sequence in one partition; called again for each further partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set_start_after_in(
    options: *mut rheo_group_options,
    partition: u32,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        set_in(&mut options.0.start.start_after, partition, sequence);
        Ok(())
    })
}

/// Starts the group, per partition, with the first event whose timestamp is at or after this time (microseconds since
/// the Unix epoch), and takes everything after that; at the end when there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set_start_at(
    options: *mut rheo_group_options,
    micros: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.start.start_at = Some(Timestamp::from_micros(micros));
        Ok(())
    })
}

/// Limits the start to these partitions, a set that is copied; NULL with length 0: to all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_options_set_partitions(
    options: *mut rheo_group_options,
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
pub unsafe extern "C" fn rheo_group_options_free(options: *mut rheo_group_options) {
    free(options);
}

/// Sets the sequence of one partition; a sequence for all that was set before is replaced.
pub(super) fn set_in(sequences: &mut Option<Sequences>, partition: u32, sequence: u64) {
    match sequences {
        Some(Sequences::Map(map)) => {
            map.insert(partition, sequence);
        }
        _ => *sequences = Some(Sequences::Map(BTreeMap::from([(partition, sequence)]))),
    }
}
