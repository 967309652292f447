//! Options of a consumer
//!
//! Those of a producer, and how the handler is run.

use super::boundary::{change, create, free, partitions as set_of, text};
use super::error::rheo_error;
use super::producer_options::on_failure_of;
use super::values::{rheo_on_failure, rheo_status};
use crate::handle::{Options, number};
use rheo_core::{ConsumerOptions, RetryDelay};
use std::ffi::c_char;

/// How a consumer runs its handler. One thread at a time; several may start consumers with the same unchanging options.
pub struct rheo_consumer_options(pub(super) ConsumerOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_new(
    out: *mut *mut rheo_consumer_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_consumer_options(ConsumerOptions::new())))
}

/// Sets one option by name: `concurrency`, `batch_size`, `batch_timeout_ms`, `max_lease_ms`, and those of
/// `rheo_producer_options_set`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set(
    options: *mut rheo_consumer_options,
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

/// Sets how many handlers run at a time, each on a thread of its own: 1 (when not set) to 10,000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_concurrency(
    options: *mut rheo_consumer_options,
    concurrency: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.concurrency = number("concurrency", concurrency)?;
        Ok(())
    })
}

/// Sets the most events that the handler gets at once: 1 (when not set) to 10,000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_batch_size(
    options: *mut rheo_consumer_options,
    batch_size: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.batch_size = number("batch_size", batch_size)?;
        Ok(())
    })
}

/// Sets how long to wait for a batch to fill once it has its first event, in milliseconds: 0 (when not set: the handler
/// gets what there is) to ten years.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_batch_timeout_ms(
    options: *mut rheo_consumer_options,
    batch_timeout_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.batch_timeout_ms = number("batch_timeout_ms", batch_timeout_ms)?;
        Ok(())
    })
}

/// Sets after how long the leases of a handler that does not return are no longer renewed and its cancel signal fires,
/// in milliseconds: 0 (when not set: never) to ten years.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_max_lease_ms(
    options: *mut rheo_consumer_options,
    max_lease_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.max_lease_ms = number("max_lease_ms", max_lease_ms)?;
        Ok(())
    })
}

/// Sets the most unsettled leases held at once: 1 to 10,000, and at least `batch_size`. When not set it is the
/// instance's `default_max_demand`, or what the handlers can hold (`concurrency` times `batch_size`) if that is more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_max_demand(
    options: *mut rheo_consumer_options,
    max_demand: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.producer.max_demand = Some(number("max_demand", max_demand)?);
        Ok(())
    })
}

/// Sets how long the leases last unless they are renewed, in milliseconds: 1 to ten years; the instance's
/// `default_lease_ms` when not set. They are renewed when half of that is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_lease_ms(
    options: *mut rheo_consumer_options,
    lease_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.producer.lease_ms = Some(number("lease_ms", lease_ms)?);
        Ok(())
    })
}

/// Sets how often to look for work where the store does not notify, in milliseconds: 1 to ten years; 200 when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_poll_ms(
    options: *mut rheo_consumer_options,
    poll_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.producer.poll_ms = number("poll_ms", poll_ms)?;
        Ok(())
    })
}

/// Sets who takes the leases: 1 to 255 bytes without control characters; an id made for the instance when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_consumer_id(
    options: *mut rheo_consumer_options,
    consumer_id: *const c_char,
    consumer_id_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.producer.consumer_id = Some(text("consumer_id", consumer_id, consumer_id_len)?.to_owned());
        Ok(())
    })
}

/// Takes from these partitions only, a set that is copied and not empty; NULL with length 0: from all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_partitions(
    options: *mut rheo_consumer_options,
    partitions: *const u32,
    partitions_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.producer.partitions = set_of(partitions, partitions_len)?.map(<[u32]>::to_vec);
        Ok(())
    })
}

/// Sets what becomes of a delivery whose handler failed: `RHEO_ON_FAILURE_RETRY` (when not set) or
/// `RHEO_ON_FAILURE_REJECT`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_on_failure(
    options: *mut rheo_consumer_options,
    on_failure: rheo_on_failure,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.producer.on_failure = on_failure_of(on_failure)?;
        Ok(())
    })
}

/// Sets how long a delivery waits for its next attempt where nobody says, in milliseconds: 0 to ten years. When not
/// set, it is as `rheo_consumer_options_set_retry_delay_exponential` with 100 and 5,000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_retry_delay(
    options: *mut rheo_consumer_options,
    delay_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.producer.retry_delay = RetryDelay::Fixed(number("delay_ms", delay_ms)?);
        Ok(())
    })
}

/// The same with a delay that grows: `first_ms` milliseconds after the first attempt, doubled after each further one, up
/// to `most_ms`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_set_retry_delay_exponential(
    options: *mut rheo_consumer_options,
    first_ms: i64,
    most_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        let (first_ms, most_ms) = (number("first_ms", first_ms)?, number("most_ms", most_ms)?);
        options.0.producer.retry_delay = RetryDelay::Exponential { first_ms, most_ms };
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_options_free(options: *mut rheo_consumer_options) {
    free(options);
}
