//! Options of a fetch

use super::boundary::{change, create, free, partitions as set_of, text};
use super::error::rheo_error;
use super::interrupt::rheo_interrupt;
use super::values::rheo_status;
use crate::handle::{Options, OwnedFetchOptions, number};
use std::ffi::c_char;

/// How to fetch. One thread at a time; several may fetch with the same unchanging options.
pub struct rheo_fetch_options(pub(super) OwnedFetchOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_new(
    out: *mut *mut rheo_fetch_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_fetch_options(OwnedFetchOptions::new())))
}

/// Sets one option by name: `limit`, `lease_ms`, `consumer_id`, `partitions` (`[0, 2]`), `wait_ms`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_set(
    options: *mut rheo_fetch_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Sets the most leases to take: 0 to 10,000; the instance's `default_max_demand` when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_set_limit(
    options: *mut rheo_fetch_options,
    limit: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.limit = Some(number("limit", limit)?);
        Ok(())
    })
}

/// Sets how long the leases last, in milliseconds: 1 to ten years; the instance's `default_lease_ms` when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_set_lease_ms(
    options: *mut rheo_fetch_options,
    lease_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.lease_ms = Some(number("lease_ms", lease_ms)?);
        Ok(())
    })
}

/// Sets who takes the leases: 1 to 255 bytes without control characters; an id made for the instance when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_set_consumer_id(
    options: *mut rheo_fetch_options,
    consumer_id: *const c_char,
    consumer_id_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.consumer_id = Some(text("consumer_id", consumer_id, consumer_id_len)?.to_owned());
        Ok(())
    })
}

/// Fetches from these partitions only, a set that is copied; NULL with length 0: from all. An empty set (a pointer
/// with length 0) fetches nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_set_partitions(
    options: *mut rheo_fetch_options,
    partitions: *const u32,
    partitions_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.partitions = set_of(partitions, partitions_len)?.map(<[u32]>::to_vec);
        Ok(())
    })
}

/// Sets how long to wait for work when there is none, in milliseconds: 0 (when not set) to ten years.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_set_wait_ms(
    options: *mut rheo_fetch_options,
    wait_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.wait_ms = number("wait_ms", wait_ms)?;
        Ok(())
    })
}

/// Lets an interrupt end the wait; NULL: none. The options keep what they need of it: the caller may free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_set_interrupt(
    options: *mut rheo_fetch_options,
    interrupt: *const rheo_interrupt,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.interrupt = interrupt.as_ref().map(|interrupt| interrupt.0.clone());
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_fetch_options_free(options: *mut rheo_fetch_options) {
    free(options);
}
