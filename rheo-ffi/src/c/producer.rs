//! Producer
//!
//! Turns demand into leases: whoever asks for leases by `rheo_producer_next` gets what can be claimed, never more than
//! `max_demand` unsettled ones in all. What runs behind it, such as a pool of threads, owns the concurrency; the
//! producer renews every lease on a thread of the instance's own until it is settled, so that no work, however long,
//! loses one. A lease that is lost all the same is no longer held; settling it is `RHEO_ERROR_STALE_LEASE`.
//!
//! ```c
//! rheo_producer *producer;
//! rheo_lease_list *leases;
//! bool stopped = false;
//! rheo_group_producer(billing, NULL, &producer, NULL);
//! rheo_lease_list_new(&leases, NULL);
//! while (rheo_producer_next(producer, 10, 1000, NULL, leases, &stopped, NULL) == RHEO_OK && !stopped) {
//!     for (size_t i = 0; i < rheo_lease_list_len(leases); i++) {
//!         rheo_producer_ack(producer, rheo_lease_list_get(leases, i), NULL);
//!     }
//! }
//! ```
//!
//! Settle through the producer: the slot of the lease is free then, whatever the settle answered. Parameters and
//! statuses are those of the section on settling. What is settled in another way (through the instance or the group,
//! or by its token in another process) keeps its slot until `rheo_producer_confirm`, or until its renewal finds that
//! it is gone.

use super::boundary::{call, create, exclusive, free, kept_reason, output, shared, text, texts, view};
use super::error::rheo_error;
use super::group::rheo_group;
use super::instance::{count, rheo_instance};
use super::interrupt::rheo_interrupt;
use super::lease::{rheo_lease, rheo_lease_list};
use super::producer_options::rheo_producer_options;
use super::results::rheo_results;
use super::settle::{by_token, duration_of, pointers, settle};
use super::values::{rheo_bytes, rheo_status};
use crate::handle::{number, settle_tokens};
use rheo_core::{Group, LeaseId, Producer, ProducerOptions, Result};
use std::ffi::c_char;

/// Takes leases for whoever asks. Any thread, any number at once. Keeps the instance open.
pub struct rheo_producer(Producer);

/// Starts a producer for a group; the caller frees it. Nothing is fetched before somebody asks. `options`: NULL for the
/// defaults.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`;
/// `RHEO_ERROR_INVALID_ARGUMENT` for an option out of range; `RHEO_ERROR_FAILED` when the system gives no thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_producer(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_producer_options,
    out: *mut *mut rheo_producer,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let instance = &shared("instance", instance)?.0;
        start(&instance.group(text("stream", stream, stream_len)?, text("group", group, group_len)?)?, options)
    })
}

/// The same by a group's handle: `rheo_instance_producer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_producer(
    group: *const rheo_group,
    options: *const rheo_producer_options,
    out: *mut *mut rheo_producer,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || start(&shared("group", group)?.group, options))
}

unsafe fn start(group: &Group, options: *const rheo_producer_options) -> Result<rheo_producer> {
    let defaults = ProducerOptions::default();
    let options = options.as_ref().map_or(&defaults, |options| &options.0);
    Ok(rheo_producer(Producer::start(group, options)?))
}

/// Fills `leases` with at most `most` (1 to 10,000) leases, emptied first; waits up to `timeout_ms` milliseconds (0 to
/// ten years) for the first. Nothing to claim in that time is no error: the list is empty then. With a list that was
/// filled before nothing is allocated here.
///
/// `interrupt` ends the wait; NULL: none. Under a manual clock the wait is over when that clock has moved by
/// `timeout_ms`, or when so much time has passed. `stopped` says that there will be none any more: the producer was
/// drained or closed. A fetch that fails is told to telemetry (`fetch.error`) and repeated after a back-off.
///
/// Statuses: `RHEO_ERROR_CLOSED`, `RHEO_ERROR_POISONED`, `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`
/// once the instance, the stream or the group is gone. They also end a wait, and every later call gives the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_next(
    producer: *const rheo_producer,
    most: i64,
    timeout_ms: i64,
    interrupt: *const rheo_interrupt,
    leases: *mut rheo_lease_list,
    stopped: *mut bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let stopped = output("stopped", stopped, false)?;
        let goes_on = exclusive("leases", leases)?.fill(|leases| {
            let producer = &shared("producer", producer)?.0;
            let (most, timeout_ms) = (number("most", most)?, number("timeout_ms", timeout_ms)?);
            let interrupt = interrupt.as_ref().map(|interrupt| &interrupt.0);
            producer.next_into(most, timeout_ms, interrupt, leases)
        })?;
        *stopped = !goes_on;
        Ok(())
    })
}

/// Ends a claim and frees its slot: `rheo_group_ack`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_ack(
    producer: *const rheo_producer,
    lease: *const rheo_lease,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("producer", producer)?.0.ack(shared("lease", lease)?.get()))
}

/// Gives a delivery back for another attempt after `*delay_ms` milliseconds (0 to ten years) and frees its slot:
/// `rheo_group_retry`. NULL for `delay_ms`: the producer's retry delay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_retry(
    producer: *const rheo_producer,
    lease: *const rheo_lease,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: *const i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let (producer, lease) = (shared("producer", producer)?, shared("lease", lease)?);
        producer.0.retry(lease.get(), &kept_reason(reason, reason_len), duration_of("delay_ms", delay_ms)?)
    })
}

/// Makes a delivery a dead letter and frees its slot: `rheo_group_reject`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_reject(
    producer: *const rheo_producer,
    lease: *const rheo_lease,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        shared("producer", producer)?.0.reject(shared("lease", lease)?.get(), &kept_reason(reason, reason_len))
    })
}

/// Gives a delivery back unworked and frees its slot: `rheo_group_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_release(
    producer: *const rheo_producer,
    lease: *const rheo_lease,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("producer", producer)?.0.release(shared("lease", lease)?.get()))
}

/// Says that the work on a delivery failed: retries it after the retry delay or rejects it, as the producer's
/// `on_failure` says, and frees its slot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_fail(
    producer: *const rheo_producer,
    lease: *const rheo_lease,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        shared("producer", producer)?.0.fail(shared("lease", lease)?.get(), &kept_reason(reason, reason_len))
    })
}

/// `rheo_producer_ack` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_ack_token(
    producer: *const rheo_producer,
    token: *const c_char,
    token_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || by_token(token, token_len, |token| shared("producer", producer)?.0.ack(token)))
}

/// `rheo_producer_retry` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_retry_token(
    producer: *const rheo_producer,
    token: *const c_char,
    token_len: usize,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: *const i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        by_token(token, token_len, |token| {
            let producer = shared("producer", producer)?;
            producer.0.retry(token, &kept_reason(reason, reason_len), duration_of("delay_ms", delay_ms)?)
        })
    })
}

/// `rheo_producer_reject` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_reject_token(
    producer: *const rheo_producer,
    token: *const c_char,
    token_len: usize,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        by_token(token, token_len, |token| {
            shared("producer", producer)?.0.reject(token, &kept_reason(reason, reason_len))
        })
    })
}

/// `rheo_producer_release` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_release_token(
    producer: *const rheo_producer,
    token: *const c_char,
    token_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || by_token(token, token_len, |token| shared("producer", producer)?.0.release(token)))
}

/// `rheo_producer_fail` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_fail_token(
    producer: *const rheo_producer,
    token: *const c_char,
    token_len: usize,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        by_token(token, token_len, |token| {
            shared("producer", producer)?.0.fail(token, &kept_reason(reason, reason_len))
        })
    })
}

/// Acks each of an array of leases, frees their slots and fills `results`: `rheo_group_ack_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_ack_many(
    producer: *const rheo_producer,
    leases: *const *const rheo_lease,
    leases_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("producer", producer)?.0.ack_many(pointers(leases, leases_len)?)))
}

/// Acks every lease of a list, frees their slots and fills `results`: `rheo_group_ack_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_ack_list(
    producer: *const rheo_producer,
    leases: *const rheo_lease_list,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("producer", producer)?.0.ack_many(shared("leases", leases)?.leases())))
}

/// Acks the leases of an array of tokens, frees their slots and fills `results`: `rheo_group_ack_tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_ack_tokens(
    producer: *const rheo_producer,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let producer = shared("producer", producer)?;
            settle_tokens(texts("token", tokens, tokens_len)?, |tokens| producer.0.ack_many(tokens))
        })
    })
}

/// Frees the slots of leases that were settled without this producer, by an array of lease ids (`rheo_lease_id`), and
/// writes how many of them it held (`freed` may be NULL).
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a text that is no lease id; no slot is freed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_confirm(
    producer: *const rheo_producer,
    lease_ids: *const rheo_bytes,
    lease_ids_len: usize,
    freed: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(freed, || {
            let ids: Vec<LeaseId> =
                texts("lease_ids", lease_ids, lease_ids_len)?.map(|text| text?.parse()).collect::<Result<_>>()?;
            Ok(shared("producer", producer)?.0.confirm(&ids)? as u64)
        })
    })
}

/// Writes how many leases it holds that are not settled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_inflight_count(
    producer: *const rheo_producer,
    count: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let count = output("count", count, 0)?;
        *count = shared("producer", producer)?.0.inflight_count()? as u64;
        Ok(())
    })
}

/// Gives no more leases, gives back at once what was fetched and handed to nobody, waits up to `timeout_ms`
/// milliseconds (0 to ten years) for the rest to be settled, and writes whether all of it was. Renews meanwhile, and
/// afterwards too.
///
/// Statuses: `RHEO_ERROR_ALREADY_DRAINING` while another drain is pending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_drain(
    producer: *const rheo_producer,
    timeout_ms: i64,
    settled: *mut bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let settled = output("settled", settled, false)?;
        *settled = shared("producer", producer)?.0.drain(number("timeout_ms", timeout_ms)?)?;
        Ok(())
    })
}

/// Drains for up to `timeout_ms` milliseconds (0 to ten years), then makes available to others what was not settled:
/// settling that is `RHEO_ERROR_STALE_LEASE` afterwards. Threads that wait for leases return promptly. Closing again is
/// fine. The handle is still to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_close(
    producer: *const rheo_producer,
    timeout_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("producer", producer)?.0.close(number("timeout_ms", timeout_ms)?))
}

/// Whether it gives no more leases: it was drained or closed, or ended by itself; false for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_is_stopped(producer: *const rheo_producer) -> bool {
    view(producer, |producer| producer.0.is_stopped().unwrap_or(true))
}

/// Closes a producer without waiting and frees it; NULL is fine. No other thread may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_producer_free(producer: *mut rheo_producer) {
    free(producer);
}
