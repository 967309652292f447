//! Settling
//!
//! How a claim ends, or goes on. A lease says by itself which stream and group it belongs to, so it is settled
//! through any handle of its instance, from any thread; a token of it does as well. Through a group's handle only
//! that group's leases are settled; another's is stale there.
//!
//! A settle succeeds only while the delivery is leased under this lease, and once. It fails with
//! `RHEO_ERROR_STALE_LEASE` when the lease was settled, claimed by another holder after it expired, replayed, reset
//! or trimmed; `RHEO_ERROR_RECEIPT_MISMATCH` when the store knows the claim by another receipt;
//! `RHEO_ERROR_STREAM_NOT_FOUND` and `RHEO_ERROR_GROUP_NOT_FOUND` when those are gone. An expired lease that nobody
//! claimed since still settles. `rheo_error_settle_class` says what to conclude from a failure. A malformed token is
//! `RHEO_ERROR_INVALID_ARGUMENT`.
//!
//! Reasons are any text, of which at most 1 KiB is kept. A settle never fails because of its reason: bytes that are
//! not UTF-8 are replaced, and NULL is no reason.
//!
//! Of many leases each has its own result, in `results`: one that fails changes nothing for the others, and the same
//! lease twice succeeds once. `RHEO_OK` then means that all were tried, not that all were done:
//! `rheo_results_failed` tells. At most 10,000 leases in one call.

use super::boundary::{array, call, exclusive, kept_reason, optional_output, shared, text, texts};
use super::error::rheo_error;
use super::instance::rheo_instance;
use super::lease::{rheo_lease, rheo_lease_list};
use super::results::rheo_results;
use super::values::{rheo_bytes, rheo_status};
use crate::handle::{invalid, number, settle_tokens};
use rheo_core::{LeaseToken, Result, RetryOptions, Timestamp, limits};
use std::ffi::c_char;

/// Ends a claim: the work is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_ack(
    instance: *const rheo_instance,
    lease: *const rheo_lease,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("instance", instance)?.0.ack(shared("lease", lease)?.get()))
}

/// Gives a delivery back for another attempt after `delay_ms` milliseconds (0 to ten years). When this was the
/// attempt `max_attempts`, it becomes a dead letter instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_retry(
    instance: *const rheo_instance,
    lease: *const rheo_lease,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let (instance, lease) = (shared("instance", instance)?, shared("lease", lease)?);
        retry(reason, reason_len, delay_ms, |options| instance.0.retry(lease.get(), options))
    })
}

/// Makes a delivery a dead letter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_reject(
    instance: *const rheo_instance,
    lease: *const rheo_lease,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        shared("instance", instance)?.0.reject(shared("lease", lease)?.get(), &kept_reason(reason, reason_len))
    })
}

/// Gives a delivery back unworked: available at once, and the attempt does not count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_release(
    instance: *const rheo_instance,
    lease: *const rheo_lease,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("instance", instance)?.0.release(shared("lease", lease)?.get()))
}

/// Extends a claim to `*lease_ms` milliseconds from now (1 to ten years); NULL: the lease's own duration. Writes when
/// it expires then, in microseconds since the Unix epoch (`expires_at` may be NULL). The lease is used on as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_renew(
    instance: *const rheo_instance,
    lease: *const rheo_lease,
    lease_ms: *const i64,
    expires_at: *mut i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        renew(lease_ms, expires_at, |lease_ms| {
            shared("instance", instance)?.0.renew_token(shared("lease", lease)?.get().token(), lease_ms)
        })
    })
}

/// `rheo_instance_ack` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_ack_token(
    instance: *const rheo_instance,
    token: *const c_char,
    token_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || by_token(token, token_len, |token| shared("instance", instance)?.0.ack(token)))
}

/// `rheo_instance_retry` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_retry_token(
    instance: *const rheo_instance,
    token: *const c_char,
    token_len: usize,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        by_token(token, token_len, |token| {
            let instance = shared("instance", instance)?;
            retry(reason, reason_len, delay_ms, |options| instance.0.retry(token, options))
        })
    })
}

/// `rheo_instance_reject` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_reject_token(
    instance: *const rheo_instance,
    token: *const c_char,
    token_len: usize,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        by_token(token, token_len, |token| {
            shared("instance", instance)?.0.reject(token, &kept_reason(reason, reason_len))
        })
    })
}

/// `rheo_instance_release` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_release_token(
    instance: *const rheo_instance,
    token: *const c_char,
    token_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || by_token(token, token_len, |token| shared("instance", instance)?.0.release(token)))
}

/// `rheo_instance_renew` by token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_renew_token(
    instance: *const rheo_instance,
    token: *const c_char,
    token_len: usize,
    lease_ms: *const i64,
    expires_at: *mut i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        renew(lease_ms, expires_at, |lease_ms| {
            by_token(token, token_len, |token| shared("instance", instance)?.0.renew_token(token, lease_ms))
        })
    })
}

/// Acks each of an array of leases and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_ack_many(
    instance: *const rheo_instance,
    leases: *const *const rheo_lease,
    leases_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("instance", instance)?.0.ack_many(pointers(leases, leases_len)?)))
}

/// Retries each of an array of leases, with one reason and one delay, and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_retry_many(
    instance: *const rheo_instance,
    leases: *const *const rheo_lease,
    leases_len: usize,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let (instance, leases) = (shared("instance", instance)?, pointers(leases, leases_len)?);
            retry(reason, reason_len, delay_ms, |options| instance.0.retry_many(leases, options))
        })
    })
}

/// Rejects each of an array of leases, with one reason, and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_reject_many(
    instance: *const rheo_instance,
    leases: *const *const rheo_lease,
    leases_len: usize,
    reason: *const c_char,
    reason_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let (instance, leases) = (shared("instance", instance)?, pointers(leases, leases_len)?);
            instance.0.reject_many(leases, &kept_reason(reason, reason_len))
        })
    })
}

/// Releases each of an array of leases and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_release_many(
    instance: *const rheo_instance,
    leases: *const *const rheo_lease,
    leases_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("instance", instance)?.0.release_many(pointers(leases, leases_len)?)))
}

/// Renews each of an array of leases, as `rheo_instance_renew` does, and fills `results`; `rheo_results_expires_at`
/// gives the new times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_renew_many(
    instance: *const rheo_instance,
    leases: *const *const rheo_lease,
    leases_len: usize,
    lease_ms: *const i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let results = cleared(results)?;
        let (instance, leases) = (shared("instance", instance)?, pointers(leases, leases_len)?);
        results.renewed(instance.0.renew_many(leases, duration(lease_ms)?)?);
        Ok(())
    })
}

/// Acks every lease of a list and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_ack_list(
    instance: *const rheo_instance,
    leases: *const rheo_lease_list,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("instance", instance)?.0.ack_many(shared("leases", leases)?.leases())))
}

/// Retries every lease of a list, with one reason and one delay, and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_retry_list(
    instance: *const rheo_instance,
    leases: *const rheo_lease_list,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let (instance, leases) = (shared("instance", instance)?, shared("leases", leases)?.leases());
            retry(reason, reason_len, delay_ms, |options| instance.0.retry_many(leases, options))
        })
    })
}

/// Rejects every lease of a list, with one reason, and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_reject_list(
    instance: *const rheo_instance,
    leases: *const rheo_lease_list,
    reason: *const c_char,
    reason_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let (instance, leases) = (shared("instance", instance)?, shared("leases", leases)?.leases());
            instance.0.reject_many(leases, &kept_reason(reason, reason_len))
        })
    })
}

/// Releases every lease of a list and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_release_list(
    instance: *const rheo_instance,
    leases: *const rheo_lease_list,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("instance", instance)?.0.release_many(shared("leases", leases)?.leases())))
}

/// Renews every lease of a list, as `rheo_instance_renew` does, and fills `results`; `rheo_results_expires_at` gives
/// the new times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_renew_list(
    instance: *const rheo_instance,
    leases: *const rheo_lease_list,
    lease_ms: *const i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let results = cleared(results)?;
        let (instance, leases) = (shared("instance", instance)?, shared("leases", leases)?.leases());
        results.renewed(instance.0.renew_many(leases, duration(lease_ms)?)?);
        Ok(())
    })
}

/// Acks the leases of an array of tokens and fills `results`; a malformed token is an error in its place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_ack_tokens(
    instance: *const rheo_instance,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let instance = shared("instance", instance)?;
            settle_tokens(texts("token", tokens, tokens_len)?, |tokens| instance.0.ack_many(tokens))
        })
    })
}

/// Retries the leases of an array of tokens, with one reason and one delay, and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_retry_tokens(
    instance: *const rheo_instance,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let instance = shared("instance", instance)?;
            retry(reason, reason_len, delay_ms, |options| {
                settle_tokens(texts("token", tokens, tokens_len)?, |tokens| instance.0.retry_many(tokens, options))
            })
        })
    })
}

/// Rejects the leases of an array of tokens, with one reason, and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_reject_tokens(
    instance: *const rheo_instance,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    reason: *const c_char,
    reason_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let instance = shared("instance", instance)?;
            let reason = kept_reason(reason, reason_len);
            settle_tokens(texts("token", tokens, tokens_len)?, |tokens| instance.0.reject_many(tokens, &reason))
        })
    })
}

/// Releases the leases of an array of tokens and fills `results`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_release_tokens(
    instance: *const rheo_instance,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let instance = shared("instance", instance)?;
            settle_tokens(texts("token", tokens, tokens_len)?, |tokens| instance.0.release_many(tokens))
        })
    })
}

/// Renews the leases of an array of tokens and fills `results`; `rheo_results_expires_at` gives the new
/// times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_renew_tokens(
    instance: *const rheo_instance,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    lease_ms: *const i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let results = cleared(results)?;
        let (instance, lease_ms) = (shared("instance", instance)?, duration(lease_ms)?);
        let tokens = texts("token", tokens, tokens_len)?;
        results.renewed(settle_tokens(tokens, |tokens| instance.0.renew_many(tokens, lease_ms))?);
        Ok(())
    })
}

/// A retry, once its options are read.
pub(super) unsafe fn retry<T>(
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    operation: impl FnOnce(RetryOptions<'_>) -> Result<T>,
) -> Result<T> {
    let delay_ms = number("delay_ms", delay_ms)?;
    operation(RetryOptions { reason: &kept_reason(reason, reason_len), delay_ms })
}

/// NULL is the lease's own duration.
pub(super) unsafe fn duration(lease_ms: *const i64) -> Result<Option<u64>> {
    duration_of("lease_ms", lease_ms)
}

/// A duration that may be left to somebody else; `what` is the parameter's name.
pub(super) unsafe fn duration_of(what: &str, millis: *const i64) -> Result<Option<u64>> {
    millis.as_ref().map(|millis| number(what, *millis)).transpose()
}

/// A renew of one lease: reads the duration and writes the new time.
pub(super) unsafe fn renew(
    lease_ms: *const i64,
    expires_at: *mut i64,
    operation: impl FnOnce(Option<u64>) -> Result<Timestamp>,
) -> Result<()> {
    // Read first: both may point to the same variable.
    let lease_ms = duration(lease_ms);
    let expires_at = optional_output(expires_at, 0);
    let renewed = operation(lease_ms?)?;
    if let Some(expires_at) = expires_at {
        *expires_at = renewed.as_micros();
    }
    Ok(())
}

/// A settle by the text of a token.
pub(super) unsafe fn by_token<T>(
    token: *const c_char,
    token_len: usize,
    operation: impl FnOnce(&LeaseToken) -> Result<T>,
) -> Result<T> {
    operation(&text("token", token, token_len)?.parse()?)
}

/// Results that must be given, emptied.
pub(super) unsafe fn cleared<'a>(results: *mut rheo_results) -> Result<&'a mut rheo_results> {
    let results = exclusive("results", results)?;
    results.clear();
    Ok(results)
}

/// A settle of many.
pub(super) unsafe fn settle(
    results: *mut rheo_results,
    operation: impl FnOnce() -> Result<Vec<Result<()>>>,
) -> Result<()> {
    let results = cleared(results)?;
    results.settled(operation()?);
    Ok(())
}

/// A lease in an array of C's, where the core wants something that has a token.
#[repr(transparent)]
pub(super) struct LeasePointer(*const rheo_lease);

impl AsRef<LeaseToken> for LeasePointer {
    fn as_ref(&self) -> &LeaseToken {
        // SAFETY: `pointers` lets no NULL through, and the leases live as long as the call.
        unsafe { &*self.0 }.get().token()
    }
}

/// An array of leases, none of them NULL.
pub(super) unsafe fn pointers<'a>(leases: *const *const rheo_lease, len: usize) -> Result<&'a [LeasePointer]> {
    let leases = array::<LeasePointer>("leases", leases.cast(), len, limits::MAX_BATCH_ITEMS)?;
    match leases.iter().position(|lease| lease.0.is_null()) {
        Some(at) => Err(invalid(format!("the lease at position {at} is NULL; it must be given"))),
        None => Ok(leases),
    }
}
