//! Options of a producer

use super::boundary::{change, create, free, partitions as set_of, text};
use super::error::rheo_error;
use super::values::{RHEO_ON_FAILURE_REJECT, RHEO_ON_FAILURE_RETRY, rheo_on_failure, rheo_status};
use crate::handle::{Options, invalid, number};
use rheo_core::{OnFailure, ProducerOptions, Result, RetryDelay};
use std::ffi::c_char;

/// How a producer takes leases. One thread at a time; several may start producers with the same unchanging options.
pub struct rheo_producer_options(pub(super) ProducerOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_new(
    out: *mut *mut rheo_producer_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_producer_options(ProducerOptions::new())))
}

/// Sets one option by name: `max_demand`, `lease_ms`, `poll_ms`, `consumer_id`, `partitions` (`[0, 2]`), `on_failure`
/// (`retry` or `reject`), `retry_delay` (milliseconds, or `exponential:FIRST_MS:MOST_MS`).
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set(
    options: *mut rheo_producer_options,
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

/// Sets the most unsettled leases held at once: 1 to 10,000; the instance's `default_max_demand` when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_max_demand(
    options: *mut rheo_producer_options,
    max_demand: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_demand = Some(number("max_demand", max_demand)?);
        Ok(())
    })
}

/// Sets how long the leases last unless they are renewed, in milliseconds: 1 to ten years; the instance's
/// `default_lease_ms` when not set. They are renewed when half of that is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_lease_ms(
    options: *mut rheo_producer_options,
    lease_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.lease_ms = Some(number("lease_ms", lease_ms)?);
        Ok(())
    })
}

/// Sets how often to look for work where the store does not notify, in milliseconds: 1 to ten years; 200 when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_poll_ms(
    options: *mut rheo_producer_options,
    poll_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.poll_ms = number("poll_ms", poll_ms)?;
        Ok(())
    })
}

/// Sets who takes the leases: 1 to 255 bytes without control characters; an id made for the instance when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_consumer_id(
    options: *mut rheo_producer_options,
    consumer_id: *const c_char,
    consumer_id_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.consumer_id = Some(text("consumer_id", consumer_id, consumer_id_len)?.to_owned());
        Ok(())
    })
}

/// Takes from these partitions only, a set that is copied and not empty; NULL with length 0: from all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_partitions(
    options: *mut rheo_producer_options,
    partitions: *const u32,
    partitions_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.partitions = set_of(partitions, partitions_len)?.map(<[u32]>::to_vec);
        Ok(())
    })
}

/// Sets what `rheo_producer_fail` does: `RHEO_ON_FAILURE_RETRY` (when not set) or `RHEO_ON_FAILURE_REJECT`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_on_failure(
    options: *mut rheo_producer_options,
    on_failure: rheo_on_failure,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.on_failure = on_failure_of(on_failure)?;
        Ok(())
    })
}

/// Sets how long a delivery waits for its next attempt where nobody says, in milliseconds: 0 to ten years. When not
/// set, it is as `rheo_producer_options_set_retry_delay_exponential` with 100 and 5,000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_retry_delay(
    options: *mut rheo_producer_options,
    delay_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.retry_delay = RetryDelay::Fixed(number("delay_ms", delay_ms)?);
        Ok(())
    })
}

/// The same with a delay that grows: `first_ms` milliseconds after the first attempt, doubled after each further one, up
/// to `most_ms`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_set_retry_delay_exponential(
    options: *mut rheo_producer_options,
    first_ms: i64,
    most_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        let (first_ms, most_ms) = (number("first_ms", first_ms)?, number("most_ms", most_ms)?);
        options.0.retry_delay = RetryDelay::Exponential { first_ms, most_ms };
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_options_free(options: *mut rheo_producer_options) {
    free(options);
}

/// What a number of C's says.
pub(super) fn on_failure_of(on_failure: rheo_on_failure) -> Result<OnFailure> {
    match on_failure {
        RHEO_ON_FAILURE_RETRY => Ok(OnFailure::Retry),
        RHEO_ON_FAILURE_REJECT => Ok(OnFailure::Reject),
        _ => Err(invalid(format!(
            "on_failure is {on_failure}; it takes RHEO_ON_FAILURE_RETRY or RHEO_ON_FAILURE_REJECT"
        ))),
    }
}
