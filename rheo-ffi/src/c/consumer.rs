//! Consumer
//!
//! A producer with a pool of handlers: calls a function for the events of a group, on threads of its own, settles them
//! by what the function says, renews their leases meanwhile, and waits without polling where the store notifies.
//!
//! ```c
//! static rheo_status handle(rheo_work *work, void *context) {
//!     rheo_bytes payload = rheo_event_payload(rheo_work_event(work, 0));
//!     return send_invoice(context, payload) ? RHEO_OK : RHEO_ERROR_FAILED;
//! }
//!
//! rheo_consumer *consumer;
//! rheo_group_consumer(billing, NULL, handle, mailer, NULL, &consumer, NULL);
//! ...
//! rheo_consumer_close(consumer, 30000, NULL);
//! rheo_consumer_free(consumer);
//! ```
//!
//! Errors of the store never end a consumer: they are told to telemetry (`fetch.error`, `settle.error`) and tried again
//! after a back-off. It ends by itself only when the instance is closed or poisoned, or the stream or the group is
//! gone; then `rheo_consumer_wait` and telemetry (`consumer.stop`) say why.
//!
//! Two consumers on one group compete for its events, as a consumer and a producer do: do that only on purpose. A
//! consumer does not work in a process that was forked off.

use super::boundary::{call, create, free, output, shared, text, view};
use super::consumer_options::rheo_consumer_options;
use super::error::rheo_error;
use super::group::rheo_group;
use super::instance::rheo_instance;
use super::telemetry::{Context, rheo_free_context};
use super::values::rheo_status;
use super::work::rheo_work;
use crate::handle::{invalid, number};
use rheo_core::{Consumer, ConsumerOptions, Group, Result};
use std::cell::Cell;
use std::ffi::{c_char, c_void};

/// Handles some work. `RHEO_OK` acks what it set no other outcome for; any other status, or any other number, fails it.
/// `context` is what was given with it.
///
/// It is called on the consumer's threads, with no lock held, by up to `concurrency` of them at once. It may call any
/// function; the consumer's own `_drain`, `_close` and `_wait` do not wait then. It must return: no `longjmp`, no
/// exception.
pub type rheo_handler = Option<unsafe extern "C" fn(work: *mut rheo_work, context: *mut c_void) -> rheo_status>;

/// Runs a handler for the events of a group. Any thread, any number at once. Keeps the instance open.
pub struct rheo_consumer(Consumer);

/// Starts a consumer; the caller frees it. `options`: NULL for the defaults: one handler at a time, one event each.
///
/// `context` is passed to the handler and may be NULL. `free_context` is called with it, once, when the handler is not
/// running and never will be any more: after the consumer was freed and the last handler has returned, on that thread;
/// also when the start fails. NULL if there is nothing to free.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`;
/// `RHEO_ERROR_INVALID_ARGUMENT` for an option out of range, and for NULL as the handler; `RHEO_ERROR_FAILED` when the
/// system gives no thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_consumer(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_consumer_options,
    handler: rheo_handler,
    context: *mut c_void,
    free_context: rheo_free_context,
    out: *mut *mut rheo_consumer,
    error: *mut *mut rheo_error,
) -> rheo_status {
    let context = Context::new(context, free_context);
    create(out, error, || {
        let instance = &shared("instance", instance)?.0;
        let group = instance.group(text("stream", stream, stream_len)?, text("group", group, group_len)?)?;
        start(&group, options, handler, context)
    })
}

/// The same by a group's handle: `rheo_instance_consumer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_consumer(
    group: *const rheo_group,
    options: *const rheo_consumer_options,
    handler: rheo_handler,
    context: *mut c_void,
    free_context: rheo_free_context,
    out: *mut *mut rheo_consumer,
    error: *mut *mut rheo_error,
) -> rheo_status {
    let context = Context::new(context, free_context);
    create(out, error, || start(&shared("group", group)?.group, options, handler, context))
}

thread_local! {
    /// What the handler of this thread is given, used again for the next.
    static WORK: Cell<Option<Box<rheo_work>>> = const { Cell::new(None) };
}

unsafe fn start(
    group: &Group,
    options: *const rheo_consumer_options,
    handler: rheo_handler,
    context: Context,
) -> Result<rheo_consumer> {
    let handler = handler.ok_or_else(|| invalid("handler is NULL; it must be a function"))?;
    let defaults = ConsumerOptions::default();
    let options = options.as_ref().map_or(&defaults, |options| &options.0);
    let consumer = Consumer::start_batches(group, options, move |given, outcomes| {
        let mut work = WORK.take().unwrap_or_default();
        // SAFETY: the leases live until the handler has returned, and `end` forgets them.
        unsafe { work.begin(given.leases(), given.cancel()) };
        // SAFETY: the program gave both for this.
        let status = unsafe { handler(&raw mut *work, context.get()) };
        work.end(status, outcomes);
        WORK.set(Some(work));
    })?;
    Ok(rheo_consumer(consumer))
}

/// Starts no more handlers, gives back at once what no handler has begun with, waits up to `timeout_ms` milliseconds
/// (0 to ten years) for the handlers that run and their settles, and writes whether all is settled. Renews meanwhile.
///
/// Statuses: `RHEO_ERROR_ALREADY_DRAINING` while another drain is pending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_drain(
    consumer: *const rheo_consumer,
    timeout_ms: i64,
    settled: *mut bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let settled = output("settled", settled, false)?;
        *settled = shared("consumer", consumer)?.0.drain(number("timeout_ms", timeout_ms)?)?;
        Ok(())
    })
}

/// Drains for up to `timeout_ms` milliseconds (0 to ten years; 30,000 is usual), then fires the cancel signals of the
/// handlers that still run and makes their events available to others: what these handlers say counts for nothing then.
/// Closing again is fine. The handle is still to be freed.
///
/// Called by a handler of this consumer it waits for nobody and takes nothing away: handlers that run finish.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_close(
    consumer: *const rheo_consumer,
    timeout_ms: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("consumer", consumer)?.0.close(number("timeout_ms", timeout_ms)?))
}

/// Waits up to `timeout_ms` milliseconds (0 to ten years) until it has ended (it was drained or closed, or met an error
/// that ends it) and all its handlers have returned; writes whether that is so.
///
/// Statuses: once it has ended, the error that ended it by itself: `RHEO_ERROR_CLOSED`, `RHEO_ERROR_POISONED`,
/// `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_wait(
    consumer: *const rheo_consumer,
    timeout_ms: i64,
    ended: *mut bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let ended = output("ended", ended, false)?;
        *ended = shared("consumer", consumer)?.0.wait(number("timeout_ms", timeout_ms)?)?;
        Ok(())
    })
}

/// Whether it takes events: it was neither drained nor closed, and met no error that ends it. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_is_running(consumer: *const rheo_consumer) -> bool {
    view(consumer, |consumer| consumer.0.is_running().unwrap_or(false))
}

/// Writes how many leases it holds that are not settled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_inflight_count(
    consumer: *const rheo_consumer,
    count: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let count = output("count", count, 0)?;
        *count = shared("consumer", consumer)?.0.inflight_count()? as u64;
        Ok(())
    })
}

/// Frees a consumer; NULL is fine. Handlers that run finish, on their threads, and their events are settled; no more
/// are started. It does not wait for them: `rheo_consumer_close` does. A handler may free its own consumer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_consumer_free(consumer: *mut rheo_consumer) {
    free(consumer);
}
