//! Work
//!
//! What a consumer's handler is given: leases, and what it says of each. The handler returns `RHEO_OK` to ack all of
//! which it said nothing, and anything else to let those fail; so it sets an outcome only where it means another one:
//!
//! ```c
//! static rheo_status handle(rheo_work *work, void *context) {
//!     rheo_bytes payload = rheo_event_payload(rheo_work_event(work, 0));
//!     if (payload.len == 0)
//!         return rheo_work_reject(work, 0, RHEO_TEXT("empty"), NULL);
//!     return store(context, payload) ? RHEO_OK : RHEO_ERROR_FAILED;
//! }
//! ```
//!
//! Without `batch_size` there is one lease, at position 0. An outcome that is set again replaces the one before. What
//! is said of a lease that was lost meanwhile counts for nothing.

use super::boundary::{change, inner, kept_reason, view};
use super::error::rheo_error;
use super::event::rheo_event;
use super::interrupt::rheo_interrupt;
use super::lease::rheo_lease;
use super::settle::duration_of;
use super::values::{RHEO_OK, rheo_status};
use crate::handle::invalid;
use rheo_core::{ErrorCode, Interrupt, Lease, Outcome, Result, limits};
use std::ffi::c_char;

/// What a handler works on. It lives, with all that it shows, until the handler returns: copy what is to stay
/// (`rheo_lease_clone`, `rheo_event_clone`). Until then any thread may read it, while no other sets outcomes.
#[derive(Default)]
pub struct rheo_work {
    /// What C sees. Refers to the consumer's leases.
    views: Vec<rheo_lease>,
    /// What the handler said of each, if anything.
    outcomes: Vec<Option<Outcome>>,
    reason: Option<String>,
    interrupt: Option<rheo_interrupt>,
}

impl rheo_work {
    /// Lets C see these leases.
    ///
    /// # Safety
    /// They live until `end`, or until the work is used no more.
    pub unsafe fn begin(&mut self, leases: &[Lease], cancel: &Interrupt) {
        self.views.extend(leases.iter().map(rheo_lease::borrowed));
        self.outcomes.resize(leases.len(), None);
        self.interrupt = Some(rheo_interrupt(cancel.clone()));
    }

    /// Adds what the handler said of each lease, and forgets everything. It allocates only where a handler failed.
    pub(super) fn end(&mut self, status: rheo_status, outcomes: &mut Vec<Outcome>) {
        let reason = self.reason.take();
        let unsaid = match status {
            RHEO_OK => Outcome::Ack,
            _ => Outcome::fail(reason.unwrap_or_else(|| match ErrorCode::from_number(status) {
                Some(code) => format!("the handler returned {} ({status})", code.name()),
                None => format!("the handler returned {status}"),
            })),
        };
        outcomes.extend(self.outcomes.drain(..).map(|outcome| outcome.unwrap_or_else(|| unsaid.clone())));
        self.views.clear();
        self.interrupt = None;
    }

    fn set(&mut self, index: usize, outcome: Outcome) -> Result<()> {
        let len = self.outcomes.len();
        let place = self.outcomes.get_mut(index).ok_or_else(|| {
            invalid(format!("the position {index} is beyond the end: there are {len} leases, counted from 0"))
        })?;
        *place = Some(outcome);
        Ok(())
    }
}

/// How many leases there are, at least one; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_len(work: *const rheo_work) -> usize {
    view(work, |work| work.views.len())
}

/// The lease at a position from 0; NULL beyond the end. It is not to be settled by the handler: that is what outcomes
/// are for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_lease(work: *const rheo_work, index: usize) -> *const rheo_lease {
    inner(work, |work| work.views.get(index))
}

/// The event of the lease at a position from 0; NULL beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_event(work: *const rheo_work, index: usize) -> *const rheo_event {
    inner(work, |work| work.views.get(index).map(rheo_lease::event))
}

/// Whether it is in vain to go on: one of the leases is lost, the handler has had them for `max_lease_ms`, or the
/// consumer was closed and its time is over. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_is_cancelled(work: *const rheo_work) -> bool {
    view(work, |work| work.interrupt.as_ref().is_some_and(|interrupt| interrupt.0.is_fired()))
}

/// An interrupt that is fired when `rheo_work_is_cancelled` becomes true, for the handler's own waits. It belongs to
/// the work. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_interrupt(work: *const rheo_work) -> *const rheo_interrupt {
    inner(work, |work| work.interrupt.as_ref())
}

/// Says that the work on the lease at a position from 0 is done, also when the handler returns a failure.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a position beyond the end; the same for the functions that follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_ack(work: *mut rheo_work, index: usize, error: *mut *mut rheo_error) -> rheo_status {
    change(work, error, |work| work.set(index, Outcome::Ack))
}

/// Says that the delivery at a position from 0 is to be tried again after `*delay_ms` milliseconds (0 to ten years);
/// NULL for `delay_ms`: the consumer's retry delay. When this was the attempt `max_attempts`, it becomes a dead letter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_retry(
    work: *mut rheo_work,
    index: usize,
    reason: *const c_char,
    reason_len: usize,
    delay_ms: *const i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(work, error, |work| {
        let delay_ms = duration_of("delay_ms", delay_ms)?;
        delay_ms.map_or(Ok(()), |delay_ms| limits::check_duration("delay_ms", delay_ms, 0))?;
        work.set(index, Outcome::Retry { reason: kept_reason(reason, reason_len).into_owned(), delay_ms })
    })
}

/// Says that the delivery at a position from 0 is to become a dead letter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_reject(
    work: *mut rheo_work,
    index: usize,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(work, error, |work| work.set(index, Outcome::reject(kept_reason(reason, reason_len))))
}

/// Says that the work on the delivery at a position from 0 failed: what becomes of it the consumer's `on_failure` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_fail(
    work: *mut rheo_work,
    index: usize,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(work, error, |work| work.set(index, Outcome::fail(kept_reason(reason, reason_len))))
}

/// Says that the delivery at a position from 0 was not worked on: available to others at once, and the attempt does not
/// count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_release(
    work: *mut rheo_work,
    index: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(work, error, |work| work.set(index, Outcome::Release))
}

/// Sets why the leases fail of which the handler says nothing when it returns something else than `RHEO_OK`; when not
/// set, that it returned it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_work_set_reason(
    work: *mut rheo_work,
    reason: *const c_char,
    reason_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(work, error, |work| {
        work.reason = Some(kept_reason(reason, reason_len).into_owned());
        Ok(())
    })
}
