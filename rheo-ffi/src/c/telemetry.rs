//! Telemetry
//!
//! What an instance tells of its work: named events with measurements and labels, never payloads. An instance has at
//! most one hook, given to its options by `rheo_options_set_telemetry`; docs/telemetry.md lists the events. Without a
//! hook a call pays a branch.
//!
//! The hook is called after the operation, on its thread, with no lock held, so by several threads at once if several
//! use the instance. It may call back in. It must return: no `longjmp`, no exception.

use super::boundary::{change, view, view_optional};
use super::error::rheo_error;
use super::options::rheo_options;
use super::values::{RHEO_OK, rheo_bytes, rheo_status};
use rheo_core::{ErrorCode, Telemetry, TelemetryEvent, TelemetryName};
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::LazyLock;

/// What an event tells of: `RHEO_TELEMETRY_...`. A newer library may tell of more; skip what you do not know.
pub type rheo_telemetry_name = i32;

/// A span: one append. Count: 1 when it was done.
pub const RHEO_TELEMETRY_APPEND: rheo_telemetry_name = 1;
/// A span: one batch. Count: its items.
pub const RHEO_TELEMETRY_APPEND_BATCH: rheo_telemetry_name = 2;
/// A span: a query or a page of one. Count: the events found.
pub const RHEO_TELEMETRY_QUERY: rheo_telemetry_name = 3;
/// A span: a fetch, waiting included. Count: the leases given.
pub const RHEO_TELEMETRY_FETCH: rheo_telemetry_name = 4;
/// A span: renewing leases of one group. Count and failed: how many were renewed and were not.
pub const RHEO_TELEMETRY_RENEW: rheo_telemetry_name = 5;
/// A span: acking leases of one group. Count and failed: how many were acked and were not.
pub const RHEO_TELEMETRY_ACK: rheo_telemetry_name = 6;
/// A span: retrying leases of one group. Count and failed: how many were given back (or buried) and were not.
pub const RHEO_TELEMETRY_RETRY: rheo_telemetry_name = 7;
/// A span: rejecting leases of one group. Count and failed: how many were rejected and were not.
pub const RHEO_TELEMETRY_REJECT: rheo_telemetry_name = 8;
/// A span: releasing leases of one group. Count and failed: how many were given back and were not.
pub const RHEO_TELEMETRY_RELEASE: rheo_telemetry_name = 9;
/// A stream was created.
pub const RHEO_TELEMETRY_STREAM_CREATE: rheo_telemetry_name = 10;
/// A group was created.
pub const RHEO_TELEMETRY_GROUP_CREATE: rheo_telemetry_name = 11;
/// Count: the leases that a fetch gave.
pub const RHEO_TELEMETRY_LEASE: rheo_telemetry_name = 12;
/// Count: how many of them were not the first of their event.
pub const RHEO_TELEMETRY_REDELIVERY: rheo_telemetry_name = 13;
/// Count: the deliveries that became dead letters, by reject or by a limit.
pub const RHEO_TELEMETRY_DEAD_LETTER: rheo_telemetry_name = 14;
/// Count: the frontier of the event's partition, as `rheo_instance_lag` and `rheo_instance_group_info` find it.
pub const RHEO_TELEMETRY_GROUP_FRONTIER: rheo_telemetry_name = 15;
/// Count: the deliveries that a replay made available again.
pub const RHEO_TELEMETRY_GROUP_REPLAY: rheo_telemetry_name = 16;
/// A group was reset.
pub const RHEO_TELEMETRY_GROUP_RESET: rheo_telemetry_name = 17;
/// A consumer was started.
pub const RHEO_TELEMETRY_CONSUMER_START: rheo_telemetry_name = 18;
/// A consumer ended: it was closed, or the error ended it.
pub const RHEO_TELEMETRY_CONSUMER_STOP: rheo_telemetry_name = 19;
/// A producer was started.
pub const RHEO_TELEMETRY_PRODUCER_START: rheo_telemetry_name = 20;
/// A producer ended: it was closed, or the error ended it.
pub const RHEO_TELEMETRY_PRODUCER_STOP: rheo_telemetry_name = 21;
/// A fetch of a consumer or producer failed. It is repeated after a back-off, unless the error ends it.
pub const RHEO_TELEMETRY_FETCH_ERROR: rheo_telemetry_name = 22;
/// A settle of a consumer failed. It is repeated when the error is definite.
pub const RHEO_TELEMETRY_SETTLE_ERROR: rheo_telemetry_name = 23;
/// A handler failed, by what it returned or said.
pub const RHEO_TELEMETRY_HANDLER_ERROR: rheo_telemetry_name = 24;
/// A handler of a Rust program panicked; its worker goes on.
pub const RHEO_TELEMETRY_WORKER_CRASH: rheo_telemetry_name = 25;

/// One thing that happened. It and all that it shows live until the hook returns: copy what is to stay.
pub struct rheo_telemetry_event<'a>(pub TelemetryEvent<'a>);

/// A hook. `context` is what was given with it.
pub type rheo_telemetry_hook =
    Option<unsafe extern "C" fn(event: *const rheo_telemetry_event<'_>, context: *mut c_void)>;

/// Frees what a hook or a handler was given, when nothing calls that any more.
pub type rheo_free_context = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Sets the hook of the instances that are opened with these options; NULL for `hook`: none.
///
/// `context` is passed to the hook and may be NULL. When the last of the options, and of the instances opened with them
/// and all that was made from those, lets go of it, `free_context` is called with it, once, on that thread; NULL if
/// there is nothing to free. It belongs to the library from here on, also when `hook` is NULL, and stays the caller's
/// when this fails.
///
/// `durations` says whether spans are timed: two readings of a clock for each. A hook that only counts does without.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_options_set_telemetry(
    options: *mut rheo_options,
    hook: rheo_telemetry_hook,
    context: *mut c_void,
    free_context: rheo_free_context,
    durations: bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        let context = Context::new(context, free_context);
        options.0.telemetry = hook.map(|hook| {
            let telemetry = Telemetry::new(move |event| hook(&rheo_telemetry_event(*event), context.get()));
            if durations { telemetry } else { telemetry.without_durations() }
        });
        Ok(())
    })
}

/// What a hook or a handler was given, freed when dropped.
pub(super) struct Context {
    context: *mut c_void,
    free_context: rheo_free_context,
}

// SAFETY: it is only handed back to the program, which was told that its function is called from any thread and at once
// from several.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn new(context: *mut c_void, free_context: rheo_free_context) -> Context {
        Context { context, free_context }
    }

    pub(super) fn get(&self) -> *mut c_void {
        self.context
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(free_context) = self.free_context {
            // SAFETY: the program gave both for this, and nothing calls its function any more.
            unsafe { free_context(self.context) };
        }
    }
}

/// What happened: `RHEO_TELEMETRY_...`; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_name(event: *const rheo_telemetry_event<'_>) -> rheo_telemetry_name {
    view(event, |event| event.0.name.number())
}

/// The stream's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_stream(event: *const rheo_telemetry_event<'_>) -> rheo_bytes {
    view(event, |event| event.0.stream.into())
}

/// The group's name; `data` is NULL where it is not about a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_group(event: *const rheo_telemetry_event<'_>) -> rheo_bytes {
    view(event, |event| event.0.group.into())
}

/// Writes the partition (NULL allowed), and says whether it is about one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_partition(
    event: *const rheo_telemetry_event<'_>,
    partition: *mut u32,
) -> bool {
    view_optional(event, partition, |event| event.0.partition)
}

/// The measurement that the name says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_count(event: *const rheo_telemetry_event<'_>) -> u64 {
    view(event, |event| event.0.count)
}

/// How many leases of a settle or renewal failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_failed(event: *const rheo_telemetry_event<'_>) -> u64 {
    view(event, |event| event.0.failed)
}

/// Writes how long a span took, in nanoseconds (NULL allowed), and says whether it was timed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_duration(
    event: *const rheo_telemetry_event<'_>,
    nanos: *mut u64,
) -> bool {
    view_optional(event, nanos, |event| {
        event.0.duration.map(|duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    })
}

/// Why a span's call, or its first lease that failed, did; `RHEO_OK` when all went well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_telemetry_event_error(event: *const rheo_telemetry_event<'_>) -> rheo_status {
    view(event, |event| event.0.error.map_or(RHEO_OK, ErrorCode::number))
}

/// The contract's text of a name, such as `"append"` or `"stream.create"`. NUL-terminated and static; NULL for a number
/// that is no name. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn rheo_telemetry_name_text(name: rheo_telemetry_name) -> *const c_char {
    static TEXTS: LazyLock<Vec<(i32, CString)>> = LazyLock::new(|| {
        TelemetryName::ALL.iter().map(|name| (name.number(), CString::new(name.name()).unwrap_or_default())).collect()
    });
    TEXTS.iter().find(|(number, _)| *number == name).map_or(ptr::null(), |(_, text)| text.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn every_name_has_its_number_and_its_text() {
        let names = [
            (RHEO_TELEMETRY_APPEND, "append"),
            (RHEO_TELEMETRY_APPEND_BATCH, "append_batch"),
            (RHEO_TELEMETRY_QUERY, "query"),
            (RHEO_TELEMETRY_FETCH, "fetch"),
            (RHEO_TELEMETRY_RENEW, "renew"),
            (RHEO_TELEMETRY_ACK, "ack"),
            (RHEO_TELEMETRY_RETRY, "retry"),
            (RHEO_TELEMETRY_REJECT, "reject"),
            (RHEO_TELEMETRY_RELEASE, "release"),
            (RHEO_TELEMETRY_STREAM_CREATE, "stream.create"),
            (RHEO_TELEMETRY_GROUP_CREATE, "group.create"),
            (RHEO_TELEMETRY_LEASE, "lease"),
            (RHEO_TELEMETRY_REDELIVERY, "redelivery"),
            (RHEO_TELEMETRY_DEAD_LETTER, "dead_letter"),
            (RHEO_TELEMETRY_GROUP_FRONTIER, "group.frontier"),
            (RHEO_TELEMETRY_GROUP_REPLAY, "group.replay"),
            (RHEO_TELEMETRY_GROUP_RESET, "group.reset"),
            (RHEO_TELEMETRY_CONSUMER_START, "consumer.start"),
            (RHEO_TELEMETRY_CONSUMER_STOP, "consumer.stop"),
            (RHEO_TELEMETRY_PRODUCER_START, "producer.start"),
            (RHEO_TELEMETRY_PRODUCER_STOP, "producer.stop"),
            (RHEO_TELEMETRY_FETCH_ERROR, "fetch.error"),
            (RHEO_TELEMETRY_SETTLE_ERROR, "settle.error"),
            (RHEO_TELEMETRY_HANDLER_ERROR, "handler.error"),
            (RHEO_TELEMETRY_WORKER_CRASH, "worker.crash"),
        ];
        assert_eq!(names.len(), TelemetryName::ALL.len());
        for (number, text) in names {
            assert_eq!(TelemetryName::from_number(number).map(TelemetryName::name), Some(text));
            // SAFETY: the text of a name is static and ends with NUL.
            assert_eq!(unsafe { CStr::from_ptr(rheo_telemetry_name_text(number)) }.to_str(), Ok(text));
        }
        assert!(rheo_telemetry_name_text(0).is_null());
    }
}
