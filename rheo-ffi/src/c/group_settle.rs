//! Settling through a group's handle
//!
//! The functions of the section on settling, for the leases of this group: what belongs to another group is
//! `RHEO_ERROR_STALE_LEASE`, with one lease as among many, and nothing happens to it.

use super::boundary::{call, kept_reason, shared, texts};
use super::error::rheo_error;
use super::group::rheo_group;
use super::lease::{rheo_lease, rheo_lease_list};
use super::results::rheo_results;
use super::settle::{by_token, cleared, duration, pointers, renew, retry, settle};
use super::values::{rheo_bytes, rheo_status};
use crate::handle::settle_tokens;
use std::ffi::c_char;

/// Ends a claim: `rheo_instance_ack`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_ack(
    group: *const rheo_group,
    lease: *const rheo_lease,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("group", group)?.group.ack(shared("lease", lease)?.get()))
}

/// Gives a delivery back for another attempt: `rheo_instance_retry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_retry(
    group: *const rheo_group,
    lease: *const rheo_lease,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let (group, lease) = (shared("group", group)?, shared("lease", lease)?);
        retry(reason, reason_len, delay_ms, |options| group.group.retry(lease.get(), options))
    })
}

/// Makes a delivery a dead letter: `rheo_instance_reject`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_reject(
    group: *const rheo_group,
    lease: *const rheo_lease,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        shared("group", group)?.group.reject(shared("lease", lease)?.get(), &kept_reason(reason, reason_len))
    })
}

/// Gives a delivery back unworked: `rheo_instance_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_release(
    group: *const rheo_group,
    lease: *const rheo_lease,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("group", group)?.group.release(shared("lease", lease)?.get()))
}

/// Extends a claim: `rheo_instance_renew`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_renew(
    group: *const rheo_group,
    lease: *const rheo_lease,
    lease_ms: *const i64,
    expires_at: *mut i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        renew(lease_ms, expires_at, |lease_ms| {
            shared("group", group)?.group.renew_token(shared("lease", lease)?.get().token(), lease_ms)
        })
    })
}

/// Ends a claim, by token: `rheo_instance_ack_token`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_ack_token(
    group: *const rheo_group,
    token: *const c_char,
    token_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || by_token(token, token_len, |token| shared("group", group)?.group.ack(token)))
}

/// Gives a delivery back for another attempt, by token: `rheo_instance_retry_token`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_retry_token(
    group: *const rheo_group,
    token: *const c_char,
    token_len: usize,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        by_token(token, token_len, |token| {
            let group = shared("group", group)?;
            retry(reason, reason_len, delay_ms, |options| group.group.retry(token, options))
        })
    })
}

/// Makes a delivery a dead letter, by token: `rheo_instance_reject_token`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_reject_token(
    group: *const rheo_group,
    token: *const c_char,
    token_len: usize,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        by_token(token, token_len, |token| {
            shared("group", group)?.group.reject(token, &kept_reason(reason, reason_len))
        })
    })
}

/// Gives a delivery back unworked, by token: `rheo_instance_release_token`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_release_token(
    group: *const rheo_group,
    token: *const c_char,
    token_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || by_token(token, token_len, |token| shared("group", group)?.group.release(token)))
}

/// Extends a claim, by token: `rheo_instance_renew_token`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_renew_token(
    group: *const rheo_group,
    token: *const c_char,
    token_len: usize,
    lease_ms: *const i64,
    expires_at: *mut i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        renew(lease_ms, expires_at, |lease_ms| {
            by_token(token, token_len, |token| shared("group", group)?.group.renew_token(token, lease_ms))
        })
    })
}

/// Acks each of an array of leases: `rheo_instance_ack_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_ack_many(
    group: *const rheo_group,
    leases: *const *const rheo_lease,
    leases_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("group", group)?.group.ack_many(pointers(leases, leases_len)?)))
}

/// Retries each of an array of leases: `rheo_instance_retry_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_retry_many(
    group: *const rheo_group,
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
            let (group, leases) = (shared("group", group)?, pointers(leases, leases_len)?);
            retry(reason, reason_len, delay_ms, |options| group.group.retry_many(leases, options))
        })
    })
}

/// Rejects each of an array of leases: `rheo_instance_reject_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_reject_many(
    group: *const rheo_group,
    leases: *const *const rheo_lease,
    leases_len: usize,
    reason: *const c_char,
    reason_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let (group, leases) = (shared("group", group)?, pointers(leases, leases_len)?);
            group.group.reject_many(leases, &kept_reason(reason, reason_len))
        })
    })
}

/// Releases each of an array of leases: `rheo_instance_release_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_release_many(
    group: *const rheo_group,
    leases: *const *const rheo_lease,
    leases_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("group", group)?.group.release_many(pointers(leases, leases_len)?)))
}

/// Renews each of an array of leases: `rheo_instance_renew_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_renew_many(
    group: *const rheo_group,
    leases: *const *const rheo_lease,
    leases_len: usize,
    lease_ms: *const i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let results = cleared(results)?;
        let (group, leases) = (shared("group", group)?, pointers(leases, leases_len)?);
        results.renewed(group.group.renew_many(leases, duration(lease_ms)?)?);
        Ok(())
    })
}

/// Acks every lease of a list: `rheo_instance_ack_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_ack_list(
    group: *const rheo_group,
    leases: *const rheo_lease_list,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("group", group)?.group.ack_many(shared("leases", leases)?.leases())))
}

/// Retries every lease of a list: `rheo_instance_retry_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_retry_list(
    group: *const rheo_group,
    leases: *const rheo_lease_list,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let (group, leases) = (shared("group", group)?, shared("leases", leases)?.leases());
            retry(reason, reason_len, delay_ms, |options| group.group.retry_many(leases, options))
        })
    })
}

/// Rejects every lease of a list: `rheo_instance_reject_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_reject_list(
    group: *const rheo_group,
    leases: *const rheo_lease_list,
    reason: *const c_char,
    reason_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let (group, leases) = (shared("group", group)?, shared("leases", leases)?.leases());
            group.group.reject_many(leases, &kept_reason(reason, reason_len))
        })
    })
}

/// Releases every lease of a list: `rheo_instance_release_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_release_list(
    group: *const rheo_group,
    leases: *const rheo_lease_list,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || settle(results, || shared("group", group)?.group.release_many(shared("leases", leases)?.leases())))
}

/// Renews every lease of a list: `rheo_instance_renew_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_renew_list(
    group: *const rheo_group,
    leases: *const rheo_lease_list,
    lease_ms: *const i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let results = cleared(results)?;
        let (group, leases) = (shared("group", group)?, shared("leases", leases)?.leases());
        results.renewed(group.group.renew_many(leases, duration(lease_ms)?)?);
        Ok(())
    })
}

/// Acks the leases of an array of tokens: `rheo_instance_ack_tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_ack_tokens(
    group: *const rheo_group,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let group = shared("group", group)?;
            settle_tokens(texts("token", tokens, tokens_len)?, |tokens| group.group.ack_many(tokens))
        })
    })
}

/// Retries the leases of an array of tokens: `rheo_instance_retry_tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_retry_tokens(
    group: *const rheo_group,
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
            let group = shared("group", group)?;
            retry(reason, reason_len, delay_ms, |options| {
                settle_tokens(texts("token", tokens, tokens_len)?, |tokens| group.group.retry_many(tokens, options))
            })
        })
    })
}

/// Rejects the leases of an array of tokens: `rheo_instance_reject_tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_reject_tokens(
    group: *const rheo_group,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    reason: *const c_char,
    reason_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let group = shared("group", group)?;
            let reason = kept_reason(reason, reason_len);
            settle_tokens(texts("token", tokens, tokens_len)?, |tokens| group.group.reject_many(tokens, &reason))
        })
    })
}

/// Releases the leases of an array of tokens: `rheo_instance_release_tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_release_tokens(
    group: *const rheo_group,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        settle(results, || {
            let group = shared("group", group)?;
            settle_tokens(texts("token", tokens, tokens_len)?, |tokens| group.group.release_many(tokens))
        })
    })
}

/// Renews the leases of an array of tokens: `rheo_instance_renew_tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_renew_tokens(
    group: *const rheo_group,
    tokens: *const rheo_bytes,
    tokens_len: usize,
    lease_ms: *const i64,
    results: *mut rheo_results,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let results = cleared(results)?;
        let (group, lease_ms) = (shared("group", group)?, duration(lease_ms)?);
        let tokens = texts("token", tokens, tokens_len)?;
        results.renewed(settle_tokens(tokens, |tokens| group.group.renew_many(tokens, lease_ms))?);
        Ok(())
    })
}
