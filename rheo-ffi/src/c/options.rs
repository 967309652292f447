//! Options of an instance
//!
//! What an instance is opened with. Like every builder here: `_new`, set, hand over, `_free`; the operation reads the
//! options and keeps nothing of them, so one builder serves many calls. Values are checked for form where they are
//! set and for range where they are used. `_set` takes any option by name, with its value as text: the text itself, a
//! number, `true` or `false`, or JSON for lists and maps.

use super::boundary::{change, create, free, text};
use super::error::rheo_error;
use super::values::{
    RHEO_CLOCK_MANUAL, RHEO_CLOCK_SYSTEM, RHEO_SYNC_ALWAYS, RHEO_SYNC_INTERVAL, RHEO_SYNC_NEVER, rheo_clock,
    rheo_status, rheo_sync,
};
use crate::handle::{Options, invalid, number};
use rheo_core::{ClockOption, OpenOptions, SyncPolicy, Timestamp};
use std::ffi::c_char;

/// What an instance is opened with. One thread at a time.
pub struct rheo_options(pub(super) OpenOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_new(out: *mut *mut rheo_options, error: *mut *mut rheo_error) -> rheo_status {
    create(out, error, || Ok(rheo_options(OpenOptions::new())))
}

/// Sets one option by name: `name`, `default_max_demand`, `default_lease_ms`, `default_max_attempts`,
/// `max_payload_bytes`, `clock` (`system` or `manual`), `clock_start`; for a journal `sync` (`always`, `never` or
/// `interval:MS`), `sync_settles`, `segment_bytes`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set(
    options: *mut rheo_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        Options::set(&mut options.0, text("key", key, key_len)?, text("value", value, value_len)?)
    })
}

/// Names the instance, so that `rheo_instance_get` finds it from any thread. 1 to 255 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_name(
    options: *mut rheo_options,
    name: *const c_char,
    name_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.name = Some(text("name", name, name_len)?.to_owned());
        Ok(())
    })
}

/// Sets how many leases a fetch takes that is not told: 0 to 10,000; 10 when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_default_max_demand(
    options: *mut rheo_options,
    limit: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.default_max_demand = number("default_max_demand", limit)?;
        Ok(())
    })
}

/// Sets how long a lease lasts whose fetch is not told, in milliseconds: 1 to ten years; 30,000 when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_default_lease_ms(
    options: *mut rheo_options,
    lease_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.default_lease_ms = number("default_lease_ms", lease_ms)?;
        Ok(())
    })
}

/// Sets at which attempt a retry dead-letters in a group that is not told: 1 or more; 5 when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_default_max_attempts(
    options: *mut rheo_options,
    max_attempts: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.default_max_attempts = number("default_max_attempts", max_attempts)?;
        Ok(())
    })
}

/// Sets the largest payload, in bytes: 0 to 16 MiB; 16 MiB when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_max_payload_bytes(
    options: *mut rheo_options,
    max_payload_bytes: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_payload_bytes = number("max_payload_bytes", max_payload_bytes)?;
        Ok(())
    })
}

/// Sets the clock: `RHEO_CLOCK_SYSTEM` (when not set) or `RHEO_CLOCK_MANUAL`, which starts at the store's time unless
/// `rheo_options_set_clock_start` says where.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_clock(
    options: *mut rheo_options,
    clock: rheo_clock,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        let name = match clock {
            RHEO_CLOCK_SYSTEM => "system",
            RHEO_CLOCK_MANUAL => "manual",
            _ => return Err(invalid(format!("clock is {clock}; it takes RHEO_CLOCK_SYSTEM or RHEO_CLOCK_MANUAL"))),
        };
        Options::set(&mut options.0, "clock", name)
    })
}

/// Makes the clock manual and lets it start at this time, in microseconds since the Unix epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_clock_start(
    options: *mut rheo_options,
    micros: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.clock = ClockOption::Manual { start: Some(Timestamp::from_micros(micros)) };
        Ok(())
    })
}

/// Sets when a journal syncs what is written: `RHEO_SYNC_ALWAYS` when not set. `interval_ms` counts with
/// `RHEO_SYNC_INTERVAL` alone: 1 to ten years in milliseconds. Not for other stores.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another policy, and for a negative interval.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_sync(
    options: *mut rheo_options,
    sync: rheo_sync,
    interval_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        let interval = number("interval_ms", interval_ms)?;
        let policy = match sync {
            RHEO_SYNC_ALWAYS => SyncPolicy::Always,
            RHEO_SYNC_INTERVAL => SyncPolicy::Interval(interval),
            RHEO_SYNC_NEVER => SyncPolicy::Never,
            _ => return Err(invalid(format!("sync is {sync}; it takes RHEO_SYNC_ALWAYS, _INTERVAL or _NEVER"))),
        };
        options.0.journal.sync = Some(policy);
        Ok(())
    })
}

/// Sets whether a journal answers a settle only when it is synced; false when not set: it is written then, and under
/// `RHEO_SYNC_ALWAYS` synced within 50 ms. Not for other stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_sync_settles(
    options: *mut rheo_options,
    sync_settles: bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.journal.sync_settles = Some(sync_settles);
        Ok(())
    })
}

/// Sets how large a journal's file gets before the next begins, in bytes: 4 KiB to 1 GiB; 64 MiB when not set. Not for
/// other stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_segment_bytes(
    options: *mut rheo_options,
    segment_bytes: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.journal.segment_bytes = Some(number("segment_bytes", segment_bytes)?);
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_free(options: *mut rheo_options) {
    free(options);
}
