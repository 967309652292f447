//! Bad input: every exported function is called with NULL and with garbage in every place, and answers with a named
//! error or an empty value. The list of functions is compared with the header's, so none is forgotten.

#[path = "../examples/header.rs"]
#[allow(dead_code, reason = "only the header's place is needed here")]
mod generator;

use rheo::c::append_options::*;
use rheo::c::batch::*;
use rheo::c::capabilities::*;
use rheo::c::consumer::*;
use rheo::c::consumer_options::*;
use rheo::c::dead_letter::*;
use rheo::c::dead_letter_options::*;
use rheo::c::error::*;
use rheo::c::event::*;
use rheo::c::fetch_options::*;
use rheo::c::group::*;
use rheo::c::group_info::*;
use rheo::c::group_options::*;
use rheo::c::group_settle::*;
use rheo::c::instance::*;
use rheo::c::interrupt::*;
use rheo::c::lag::*;
use rheo::c::lease::*;
use rheo::c::library::*;
use rheo::c::name_list::*;
use rheo::c::options::*;
use rheo::c::producer::*;
use rheo::c::producer_options::*;
use rheo::c::query::*;
use rheo::c::replay_options::*;
use rheo::c::reset_options::*;
use rheo::c::results::*;
use rheo::c::settle::*;
use rheo::c::stream::*;
use rheo::c::stream_info::*;
use rheo::c::stream_options::*;
use rheo::c::telemetry::*;
use rheo::c::trim_options::*;
use rheo::c::update_options::*;
use rheo::c::values::*;
use rheo::c::work::*;
use rheo_core::{
    Append, ErrorCode, FetchOptions, GroupOptions, Interrupt, OpenOptions, StreamOptions, TelemetryEvent, TelemetryName,
};
use std::ffi::{c_char, c_void};
use std::ptr;

/// What an argument is made to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Valid,
    /// A NULL pointer; its length, if it has one, stays what it was.
    Null,
    /// Text that is not UTF-8, an array of nonsense, an enum value that nobody knows, a negative number.
    Garbage,
    /// A length that no memory has, the largest number.
    Huge,
}

/// Which arguments are made to be what.
#[derive(Clone, Copy, Debug)]
struct Plan {
    kind: Kind,
    /// Only the one at this position; all when missing.
    at: Option<usize>,
    /// The instance is closed before the call.
    closed: bool,
}

/// One call in the making: the things it works on, and what is to be done with them afterwards.
struct Call<'a> {
    plan: Plan,
    /// The header's name of each parameter.
    parameters: &'a [String],
    next: usize,
    /// The function frees the handle that it is given.
    frees: bool,
    instance: *mut rheo_instance,
    error: *mut rheo_error,
    /// Looks at an output: whether it is empty.
    outputs: Vec<Box<dyn Fn() -> bool>>,
    cleanup: Vec<Box<dyn FnOnce()>>,
}

impl Call<'_> {
    /// What the next argument is to be.
    fn kind(&mut self) -> Kind {
        let at = self.next;
        self.next += 1;
        if self.plan.at.is_none_or(|only| only == at) { self.plan.kind } else { Kind::Valid }
    }

    /// The name of the parameter whose argument was asked for last.
    fn name(&self) -> &str {
        &self.parameters[self.next - 1]
    }

    /// Memory that lives until the call is over.
    fn keep<T: 'static>(&mut self, value: T) -> *mut T {
        let kept = Box::into_raw(Box::new(value));
        // SAFETY: from a box, and given up once.
        self.cleanup.push(Box::new(move || drop(unsafe { Box::from_raw(kept) })));
        kept
    }

    /// An output: holds `before`, and has to be `empty` if the call fails.
    fn output<T: PartialEq + Copy + 'static>(&mut self, before: T, empty: T) -> *mut T {
        let place = self.keep(before);
        // SAFETY: kept until the call is over; the outputs are looked at before.
        self.outputs.push(Box::new(move || unsafe { *place == empty }));
        place
    }
}

/// A type of handle: how one is made for a call, and how it is freed.
trait Handle: Sized + 'static {
    fn make(call: &Call<'_>) -> *mut Self;
    unsafe fn free(handle: *mut Self);
}

macro_rules! handles {
    ($($type:ident: $free:ident, |$call:pat_param, $out:ident| $make:expr;)*) => {$(
        impl Handle for $type {
            fn make(call: &Call<'_>) -> *mut $type {
                let $call = call;
                let mut handle = ptr::null_mut();
                let $out: *mut *mut $type = &mut handle;
                // SAFETY: the call's instance lives as long as the call, and texts have the lengths given.
                let status = unsafe { $make };
                assert_eq!(status, RHEO_OK, "{}", stringify!($type));
                assert!(!handle.is_null(), "{}", stringify!($type));
                handle
            }

            unsafe fn free(handle: *mut $type) {
                // SAFETY: the caller's.
                unsafe { $free(handle) };
            }
        }
    )*};
}

const NO_ERROR: *mut *mut rheo_error = ptr::null_mut();

/// Longer than a call looks at for which no length is too large: the start of a reason.
const LONG: usize = 2048;
/// The name of the stream, the group and the event that there are.
static NAME_BYTES: [u8; LONG] = [b's'; LONG];
static BAD_BYTES: [u8; LONG] = [0xff; LONG];
const NAME: *const c_char = (&raw const NAME_BYTES).cast();

handles! {
    rheo_options: rheo_options_free, |_, out| rheo_options_new(out, NO_ERROR);
    rheo_stream_options: rheo_stream_options_free, |_, out| rheo_stream_options_new(out, NO_ERROR);
    rheo_group_options: rheo_group_options_free, |_, out| rheo_group_options_new(out, NO_ERROR);
    rheo_update_options: rheo_update_options_free, |_, out| rheo_update_options_new(out, NO_ERROR);
    rheo_append_options: rheo_append_options_free, |_, out| rheo_append_options_new(out, NO_ERROR);
    rheo_trim_options: rheo_trim_options_free, |_, out| rheo_trim_options_new(out, NO_ERROR);
    rheo_fetch_options: rheo_fetch_options_free, |_, out| rheo_fetch_options_new(out, NO_ERROR);
    rheo_producer_options: rheo_producer_options_free, |_, out| rheo_producer_options_new(out, NO_ERROR);
    rheo_consumer_options: rheo_consumer_options_free, |_, out| rheo_consumer_options_new(out, NO_ERROR);
    rheo_dead_letter_options: rheo_dead_letter_options_free, |_, out| rheo_dead_letter_options_new(out, NO_ERROR);
    rheo_replay_options: rheo_replay_options_free, |_, out| rheo_replay_options_new(out, NO_ERROR);
    rheo_reset_options: rheo_reset_options_free, |_, out| rheo_reset_options_new(out, NO_ERROR);
    rheo_batch: rheo_batch_free, |_, out| rheo_batch_new(out, NO_ERROR);
    rheo_query: rheo_query_free, |_, out| rheo_query_new(out, NO_ERROR);
    rheo_interrupt: rheo_interrupt_free, |_, out| rheo_interrupt_new(out, NO_ERROR);
    rheo_event_list: rheo_event_list_free, |_, out| rheo_event_list_new(out, NO_ERROR);
    rheo_lease_list: rheo_lease_list_free, |_, out| rheo_lease_list_new(out, NO_ERROR);
    rheo_results: rheo_results_free, |_, out| rheo_results_new(out, NO_ERROR);
    rheo_instance: rheo_instance_free, |call, out| rheo_instance_clone(call.instance, out, NO_ERROR);
    rheo_capabilities: rheo_capabilities_free, |call, out| rheo_instance_capabilities(call.instance, out, NO_ERROR);
    rheo_stream: rheo_stream_free, |call, out| rheo_instance_stream(call.instance, NAME, 1, out, NO_ERROR);
    rheo_group: rheo_group_free, |call, out| rheo_instance_group(call.instance, NAME, 1, NAME, 1, out, NO_ERROR);
    rheo_producer: rheo_producer_free,
        |call, out| rheo_instance_producer(call.instance, NAME, 1, NAME, 1, ptr::null(), out, NO_ERROR);
    rheo_consumer: rheo_consumer_free, |call, out| {
        let (options, context) = (ptr::null(), ptr::null_mut());
        rheo_instance_consumer(call.instance, NAME, 1, NAME, 1, options, Some(handle), context, None, out, NO_ERROR)
    };
    rheo_name_list: rheo_name_list_free, |call, out| rheo_instance_list_streams(call.instance, out, NO_ERROR);
    rheo_stream_info: rheo_stream_info_free,
        |call, out| rheo_instance_stream_info(call.instance, NAME, 1, out, NO_ERROR);
    rheo_lag: rheo_lag_free,
        |call, out| rheo_instance_lag(call.instance, NAME, 1, NAME, 1, ptr::null(), 0, out, NO_ERROR);
    rheo_group_info: rheo_group_info_free,
        |call, out| rheo_instance_group_info(call.instance, NAME, 1, NAME, 1, ptr::null(), 0, out, NO_ERROR);
    rheo_dead_letter_list: rheo_dead_letter_list_free,
        |call, out| rheo_instance_dead_letters(call.instance, NAME, 1, NAME, 1, ptr::null(), out, NO_ERROR);
    rheo_event: rheo_event_free,
        |call, out| rheo_instance_get_event(call.instance, NAME, 1, NAME, 1, out, NO_ERROR);
    rheo_event_iterator: rheo_event_iterator_free,
        |call, out| rheo_instance_query_stream(call.instance, NAME, 1, ptr::null(), out, NO_ERROR);
    rheo_error: rheo_error_free, |call, out| {
        // Not confirmed.
        assert_eq!(rheo_instance_delete_stream(call.instance, NAME, 1, false, out), 305);
        RHEO_OK
    };
    rheo_lease: rheo_lease_free, |call, out| {
        let list = rheo_lease_list::make(call);
        assert_eq!(rheo_instance_fetch(call.instance, NAME, 1, NAME, 1, ptr::null(), list, NO_ERROR), RHEO_OK);
        let status = rheo_lease_clone(rheo_lease_list_get(list, 0), out, NO_ERROR);
        rheo_lease_list_free(list);
        status
    };
}

/// An argument of some type, valid or not.
trait Argument {
    fn make(call: &mut Call<'_>) -> Self;
}

impl<T: Handle> Argument for *mut T {
    fn make(call: &mut Call<'_>) -> *mut T {
        if call.kind() == Kind::Null {
            return ptr::null_mut();
        }
        let handle = T::make(call);
        if !call.frees {
            // SAFETY: made above, and the function does not free it.
            call.cleanup.push(Box::new(move || unsafe { T::free(handle) }));
        }
        handle
    }
}

impl<T: Handle> Argument for *const T {
    fn make(call: &mut Call<'_>) -> *const T {
        <*mut T>::make(call)
    }
}

impl Argument for *const rheo_dead_letter {
    fn make(call: &mut Call<'_>) -> *const rheo_dead_letter {
        // SAFETY: the list lives until the call is over; NULL is fine.
        unsafe { rheo_dead_letter_list_get(<*const rheo_dead_letter_list>::make(call), 0) }
    }
}

impl Argument for *const rheo_telemetry_event<'static> {
    fn make(call: &mut Call<'_>) -> *const rheo_telemetry_event<'static> {
        if call.kind() == Kind::Null {
            return ptr::null();
        }
        call.keep(rheo_telemetry_event(TelemetryEvent {
            name: TelemetryName::GroupFrontier,
            stream: "s",
            group: None,
            partition: Some(7),
            count: 7,
            failed: 0,
            duration: None,
            error: None,
        }))
    }
}

/// Some work with two leases, which are of another instance.
impl Argument for *mut rheo_work {
    fn make(call: &mut Call<'_>) -> *mut rheo_work {
        if call.kind() == Kind::Null {
            return ptr::null_mut();
        }
        let db = rheo_core::open("memory:", OpenOptions::new()).unwrap();
        db.create_stream("s", StreamOptions::default()).unwrap();
        db.create_group("s", "s", &GroupOptions::default()).unwrap();
        for _ in 0..2 {
            db.append("s", &Append::bytes(b"s")).unwrap();
        }
        let leases = call.keep(db.fetch("s", "s", &FetchOptions::new()).unwrap());
        let work = call.keep(rheo_work::default());
        // SAFETY: both are kept until the call is over.
        unsafe { (*work).begin(&*leases, &Interrupt::new()) };
        work
    }
}

impl Argument for *const rheo_work {
    fn make(call: &mut Call<'_>) -> *const rheo_work {
        <*mut rheo_work>::make(call)
    }
}

/// Every `T **out` but the error's; what it receives is freed after the call.
impl<T: Handle> Argument for *mut *mut T {
    fn make(call: &mut Call<'_>) -> *mut *mut T {
        if call.kind() == Kind::Null {
            return ptr::null_mut();
        }
        if call.name() == "error" {
            return (&raw mut call.error).cast();
        }
        let place: *mut *mut T = Box::into_raw(Box::new(ptr::dangling_mut()));
        // SAFETY: the outputs are looked at before the clean-up, which happens once.
        unsafe {
            call.outputs.push(Box::new(move || (*place).is_null()));
            call.cleanup.push(Box::new(move || T::free(*Box::from_raw(place))));
        }
        place
    }
}

impl Argument for *mut *const rheo_event {
    fn make(call: &mut Call<'_>) -> *mut *const rheo_event {
        match call.kind() {
            Kind::Null => ptr::null_mut(),
            _ => call.output(ptr::dangling(), ptr::null()),
        }
    }
}

macro_rules! outputs {
    ($($type:ty = $before:expr;)*) => {$(
        impl Argument for *mut $type {
            fn make(call: &mut Call<'_>) -> *mut $type {
                match call.kind() {
                    Kind::Null => ptr::null_mut(),
                    _ => call.output($before, <$type>::default()),
                }
            }
        }
    )*};
}

outputs! {
    i64 = -7;
    u32 = 7;
    u64 = 7;
    bool = true;
    rheo_position = rheo_position { sequence: 7, partition: 7, deduplicated: true };
    rheo_partition_lag = rheo_partition_lag { frontier: 7, high_watermark: 7, lag: 7, partition: 7 };
}

impl Argument for *mut rheo_partition_info {
    fn make(call: &mut Call<'_>) -> *mut rheo_partition_info {
        if call.kind() == Kind::Null {
            return ptr::null_mut();
        }
        let place = call.keep(rheo_partition_info { high_watermark: 7, ..rheo_partition_info::default() });
        // SAFETY: kept until the call is over; the outputs are looked at before.
        call.outputs.push(Box::new(move || unsafe { (*place).high_watermark == 0 }));
        place
    }
}

/// Defines the arguments of a type by the value for each kind.
macro_rules! values {
    ($($type:ty: $valid:expr, $null:expr, $garbage:expr, $huge:expr;)*) => {$(
        impl Argument for $type {
            fn make(call: &mut Call<'_>) -> $type {
                match call.kind() {
                    Kind::Valid => $valid,
                    Kind::Null => $null,
                    Kind::Garbage => $garbage,
                    Kind::Huge => $huge,
                }
            }
        }
    )*};
}

const BAD_TEXT: *const c_char = (&raw const BAD_BYTES).cast();
const BAD_PARTITIONS: &[u32; 1] = &[u32::MAX];
const TEXTS: &rheo_bytes = &rheo_bytes { data: NAME.cast(), len: 1 };
/// NULL with a length.
const BAD_TEXTS: &rheo_bytes = &rheo_bytes { data: ptr::null(), len: 1 };

values! {
    *const c_char: NAME, ptr::null(), BAD_TEXT, NAME;
    *mut c_void: NAME.cast_mut().cast(), ptr::null_mut(), BAD_TEXT.cast_mut().cast(), NAME.cast_mut().cast();
    rheo_telemetry_hook: Some(hear), None, Some(hear), Some(hear);
    rheo_free_context: Some(forget), None, Some(forget), Some(forget);
    rheo_handler: Some(handle), None, Some(handle), Some(handle);
    *const c_void: NAME.cast(), ptr::null(), BAD_TEXT.cast(), NAME.cast();
    *const u32: [0].as_ptr(), ptr::null(), BAD_PARTITIONS.as_ptr(), [0].as_ptr();
    *const i64: &1000, ptr::null(), &-1, &i64::MAX;
    *const rheo_bytes: TEXTS, ptr::null(), BAD_TEXTS, BAD_TEXTS;
    usize: 1, 0, usize::MAX / 2, usize::MAX;
    i64: 1, 0, -1, i64::MAX;
    u64: 1, 0, u64::MAX / 2, u64::MAX;
    u32: 0, 0, 70_000, u32::MAX;
    i32: 0, 0, 999, i32::MIN;
    bool: true, false, true, true;
}

unsafe extern "C" fn hear(event: *const rheo_telemetry_event<'_>, _context: *mut c_void) {
    assert!(!event.is_null());
}

unsafe extern "C" fn handle(work: *mut rheo_work, _context: *mut c_void) -> rheo_status {
    assert!(!work.is_null());
    RHEO_OK
}

unsafe extern "C" fn forget(_context: *mut c_void) {}

/// An array of one lease.
impl Argument for *const *const rheo_lease {
    fn make(call: &mut Call<'_>) -> *const *const rheo_lease {
        match call.kind() {
            Kind::Null => ptr::null(),
            Kind::Garbage => call.keep(ptr::null()),
            Kind::Valid | Kind::Huge => {
                let lease = rheo_lease::make(call);
                // SAFETY: made above.
                call.cleanup.push(Box::new(move || unsafe { rheo_lease::free(lease) }));
                call.keep(lease.cast_const())
            }
        }
    }
}

/// What a function answered.
struct Answer {
    /// The number, where it is a 32-bit one.
    status: i32,
    /// NULL, 0, false or nothing.
    empty: bool,
}

trait Returned {
    fn answer(self) -> Answer;
}

macro_rules! returned {
    ($($type:ty: $empty:expr;)*) => {$(
        impl Returned for $type {
            fn answer(self) -> Answer {
                let empty: fn(&$type) -> bool = $empty;
                Answer { status: 0, empty: empty(&self) }
            }
        }
    )*};
}

returned! {
    (): |()| true;
    bool: |value| !value;
    u32: |value| *value == 0;
    u64: |value| *value == 0;
    i64: |value| *value == 0;
    usize: |value| *value == 0;
    rheo_bytes: |value| value.data.is_null() && value.len == 0;
}

impl Returned for i32 {
    fn answer(self) -> Answer {
        Answer { status: self, empty: self == 0 }
    }
}

impl<T> Returned for *const T {
    fn answer(self) -> Answer {
        Answer { status: 0, empty: self.is_null() }
    }
}

/// A function that can be called with made-up arguments.
trait Function {
    fn call(self, call: &mut Call<'_>) -> Answer;
}

macro_rules! function {
    ($($argument:ident)*) => {
        impl<R: Returned, $($argument: Argument),*> Function for unsafe extern "C" fn($($argument),*) -> R {
            fn call(self, call: &mut Call<'_>) -> Answer {
                #[allow(non_snake_case, reason = "named after their types")]
                let ($($argument,)*) = ($($argument::make(call),)*);
                if call.plan.closed {
                    // SAFETY: the instance lives as long as the call.
                    assert_eq!(unsafe { rheo_instance_close(call.instance, NO_ERROR) }, RHEO_OK);
                }
                // SAFETY: every pointer is NULL or valid for what the function may do with it; lengths that are not
                // true are beyond what the function follows.
                unsafe { self($($argument),*) }.answer()
            }
        }
    };
}

function! {}
function! { A }
function! { A B }
function! { A B C }
function! { A B C D }
function! { A B C D E }
function! { A B C D E F }
function! { A B C D E F G }
function! { A B C D E F G H }
function! { A B C D E F G H I }
function! { A B C D E F G H I J }
function! { A B C D E F G H I J K }

/// Calls one function with arguments that are made for it.
type Caller = fn(&mut Call<'_>) -> Answer;

macro_rules! functions {
    ($($name:ident($($any:ty),*);)*) => {
        /// Every exported function.
        const FUNCTIONS: &[(&str, Caller)] = &[
            $((stringify!($name), |call| ($name as unsafe extern "C" fn($($any),*) -> _).call(call)),)*
        ];
    };
}

functions! {
    rheo_version();
    rheo_abi_version();
    rheo_has_feature(_, _);
    rheo_error_code(_);
    rheo_error_name(_);
    rheo_error_message(_);
    rheo_error_cause(_);
    rheo_error_settle_class(_);
    rheo_error_retriable(_);
    rheo_error_clone(_, _);
    rheo_error_free(_);
    rheo_status_name(_);
    rheo_status_settle_class(_);
    rheo_status_retriable(_);
    rheo_options_new(_, _);
    rheo_options_set(_, _, _, _, _, _);
    rheo_options_set_name(_, _, _, _);
    rheo_options_set_default_max_demand(_, _, _);
    rheo_options_set_default_lease_ms(_, _, _);
    rheo_options_set_default_max_attempts(_, _, _);
    rheo_options_set_max_payload_bytes(_, _, _);
    rheo_options_set_clock(_, _, _);
    rheo_options_set_clock_start(_, _, _);
    rheo_options_set_sync(_, _, _, _);
    rheo_options_set_sync_settles(_, _, _);
    rheo_options_set_segment_bytes(_, _, _);
    rheo_options_free(_);
    rheo_options_set_telemetry(_, _, _, _, _, _);
    rheo_telemetry_event_name(_);
    rheo_telemetry_event_stream(_);
    rheo_telemetry_event_group(_);
    rheo_telemetry_event_partition(_, _);
    rheo_telemetry_event_count(_);
    rheo_telemetry_event_failed(_);
    rheo_telemetry_event_duration(_, _);
    rheo_telemetry_event_error(_);
    rheo_telemetry_name_text(_);
    rheo_instance_open(_, _, _, _, _);
    rheo_instance_get(_, _, _, _);
    rheo_instance_clone(_, _, _);
    rheo_instance_name(_);
    rheo_instance_close(_, _);
    rheo_instance_is_closed(_);
    rheo_instance_free(_);
    rheo_instance_ping(_, _);
    rheo_instance_ensure_indexes(_, _);
    rheo_instance_capabilities(_, _, _);
    rheo_instance_now(_, _, _);
    rheo_instance_advance_clock(_, _, _, _);
    rheo_instance_stream(_, _, _, _, _);
    rheo_instance_group(_, _, _, _, _, _, _);
    rheo_instance_create_stream(_, _, _, _, _);
    rheo_instance_delete_stream(_, _, _, _, _);
    rheo_instance_stream_info(_, _, _, _, _);
    rheo_instance_list_streams(_, _, _);
    rheo_instance_create_group(_, _, _, _, _, _, _);
    rheo_instance_update_group(_, _, _, _, _, _, _);
    rheo_instance_delete_group(_, _, _, _, _, _);
    rheo_instance_list_groups(_, _, _, _, _);
    rheo_instance_append(_, _, _, _, _, _, _, _, _, _);
    rheo_instance_append_batch(_, _, _, _, _, _, _);
    rheo_instance_read(_, _, _, _, _, _, _, _);
    rheo_instance_get_event(_, _, _, _, _, _, _);
    rheo_instance_query(_, _, _, _, _, _);
    rheo_instance_query_page(_, _, _, _, _, _, _, _);
    rheo_instance_query_stream(_, _, _, _, _, _);
    rheo_instance_trim(_, _, _, _, _, _);
    rheo_instance_fetch(_, _, _, _, _, _, _, _);
    rheo_instance_lag(_, _, _, _, _, _, _, _, _);
    rheo_instance_group_info(_, _, _, _, _, _, _, _, _);
    rheo_instance_dead_letters(_, _, _, _, _, _, _, _);
    rheo_instance_discard_dead_letters(_, _, _, _, _, _, _, _, _);
    rheo_instance_discard_all_dead_letters(_, _, _, _, _, _, _);
    rheo_instance_replay(_, _, _, _, _, _, _, _);
    rheo_instance_reset_group(_, _, _, _, _, _, _);
    rheo_instance_ack(_, _, _);
    rheo_instance_retry(_, _, _, _, _, _);
    rheo_instance_reject(_, _, _, _, _);
    rheo_instance_release(_, _, _);
    rheo_instance_renew(_, _, _, _, _);
    rheo_instance_ack_token(_, _, _, _);
    rheo_instance_retry_token(_, _, _, _, _, _, _);
    rheo_instance_reject_token(_, _, _, _, _, _);
    rheo_instance_release_token(_, _, _, _);
    rheo_instance_renew_token(_, _, _, _, _, _);
    rheo_instance_ack_many(_, _, _, _, _);
    rheo_instance_retry_many(_, _, _, _, _, _, _, _);
    rheo_instance_reject_many(_, _, _, _, _, _, _);
    rheo_instance_release_many(_, _, _, _, _);
    rheo_instance_renew_many(_, _, _, _, _, _);
    rheo_instance_ack_list(_, _, _, _);
    rheo_instance_retry_list(_, _, _, _, _, _, _);
    rheo_instance_reject_list(_, _, _, _, _, _);
    rheo_instance_release_list(_, _, _, _);
    rheo_instance_renew_list(_, _, _, _, _);
    rheo_instance_ack_tokens(_, _, _, _, _);
    rheo_instance_retry_tokens(_, _, _, _, _, _, _, _);
    rheo_instance_reject_tokens(_, _, _, _, _, _, _);
    rheo_instance_release_tokens(_, _, _, _, _);
    rheo_instance_renew_tokens(_, _, _, _, _, _);
    rheo_results_new(_, _);
    rheo_results_len(_);
    rheo_results_failed(_);
    rheo_results_status(_, _);
    rheo_results_error(_, _);
    rheo_results_expires_at(_, _);
    rheo_results_free(_);
    rheo_stream_name(_);
    rheo_stream_instance(_);
    rheo_stream_get_info(_, _, _);
    rheo_stream_list_groups(_, _, _);
    rheo_stream_delete(_, _, _);
    rheo_stream_append(_, _, _, _, _, _, _, _);
    rheo_stream_append_batch(_, _, _, _, _);
    rheo_stream_read(_, _, _, _, _, _);
    rheo_stream_get_event(_, _, _, _, _);
    rheo_stream_query(_, _, _, _);
    rheo_stream_query_page(_, _, _, _, _, _);
    rheo_stream_query_stream(_, _, _, _);
    rheo_stream_trim(_, _, _, _);
    rheo_stream_free(_);
    rheo_group_name(_);
    rheo_group_stream_name(_);
    rheo_group_instance(_);
    rheo_group_fetch(_, _, _, _);
    rheo_group_lag(_, _, _, _, _);
    rheo_group_get_info(_, _, _, _, _);
    rheo_group_dead_letters(_, _, _, _);
    rheo_group_discard_dead_letters(_, _, _, _, _);
    rheo_group_discard_all_dead_letters(_, _, _);
    rheo_group_replay(_, _, _, _);
    rheo_group_reset(_, _, _);
    rheo_group_update(_, _, _);
    rheo_group_delete(_, _);
    rheo_group_ack(_, _, _);
    rheo_group_retry(_, _, _, _, _, _);
    rheo_group_reject(_, _, _, _, _);
    rheo_group_release(_, _, _);
    rheo_group_renew(_, _, _, _, _);
    rheo_group_ack_token(_, _, _, _);
    rheo_group_retry_token(_, _, _, _, _, _, _);
    rheo_group_reject_token(_, _, _, _, _, _);
    rheo_group_release_token(_, _, _, _);
    rheo_group_renew_token(_, _, _, _, _, _);
    rheo_group_ack_many(_, _, _, _, _);
    rheo_group_retry_many(_, _, _, _, _, _, _, _);
    rheo_group_reject_many(_, _, _, _, _, _, _);
    rheo_group_release_many(_, _, _, _, _);
    rheo_group_renew_many(_, _, _, _, _, _);
    rheo_group_ack_list(_, _, _, _);
    rheo_group_retry_list(_, _, _, _, _, _, _);
    rheo_group_reject_list(_, _, _, _, _, _);
    rheo_group_release_list(_, _, _, _);
    rheo_group_renew_list(_, _, _, _, _);
    rheo_group_ack_tokens(_, _, _, _, _);
    rheo_group_retry_tokens(_, _, _, _, _, _, _, _);
    rheo_group_reject_tokens(_, _, _, _, _, _, _);
    rheo_group_release_tokens(_, _, _, _, _);
    rheo_group_renew_tokens(_, _, _, _, _, _);
    rheo_group_free(_);
    rheo_instance_producer(_, _, _, _, _, _, _, _);
    rheo_group_producer(_, _, _, _);
    rheo_producer_next(_, _, _, _, _, _, _);
    rheo_producer_ack(_, _, _);
    rheo_producer_retry(_, _, _, _, _, _);
    rheo_producer_reject(_, _, _, _, _);
    rheo_producer_release(_, _, _);
    rheo_producer_fail(_, _, _, _, _);
    rheo_producer_ack_token(_, _, _, _);
    rheo_producer_retry_token(_, _, _, _, _, _, _);
    rheo_producer_reject_token(_, _, _, _, _, _);
    rheo_producer_release_token(_, _, _, _);
    rheo_producer_fail_token(_, _, _, _, _, _);
    rheo_producer_ack_many(_, _, _, _, _);
    rheo_producer_ack_list(_, _, _, _);
    rheo_producer_ack_tokens(_, _, _, _, _);
    rheo_producer_confirm(_, _, _, _, _);
    rheo_producer_inflight_count(_, _, _);
    rheo_producer_drain(_, _, _, _);
    rheo_producer_close(_, _, _);
    rheo_producer_is_stopped(_);
    rheo_producer_free(_);
    rheo_work_len(_);
    rheo_work_lease(_, _);
    rheo_work_event(_, _);
    rheo_work_is_cancelled(_);
    rheo_work_interrupt(_);
    rheo_work_ack(_, _, _);
    rheo_work_retry(_, _, _, _, _, _);
    rheo_work_reject(_, _, _, _, _);
    rheo_work_fail(_, _, _, _, _);
    rheo_work_release(_, _, _);
    rheo_work_set_reason(_, _, _, _);
    rheo_instance_consumer(_, _, _, _, _, _, _, _, _, _, _);
    rheo_group_consumer(_, _, _, _, _, _, _);
    rheo_consumer_drain(_, _, _, _);
    rheo_consumer_close(_, _, _);
    rheo_consumer_wait(_, _, _, _);
    rheo_consumer_is_running(_);
    rheo_consumer_inflight_count(_, _, _);
    rheo_consumer_free(_);
    rheo_stream_options_new(_, _);
    rheo_stream_options_set(_, _, _, _, _, _);
    rheo_stream_options_set_partition_count(_, _, _);
    rheo_stream_options_free(_);
    rheo_group_options_new(_, _);
    rheo_group_options_set(_, _, _, _, _, _);
    rheo_group_options_set_max_attempts(_, _, _);
    rheo_group_options_set_max_deliveries(_, _, _);
    rheo_group_options_set_ordering(_, _, _);
    rheo_group_options_set_start_after(_, _, _);
    rheo_group_options_set_start_after_in(_, _, _, _);
    rheo_group_options_set_start_at(_, _, _);
    rheo_group_options_set_partitions(_, _, _, _);
    rheo_group_options_free(_);
    rheo_update_options_new(_, _);
    rheo_update_options_set(_, _, _, _, _, _);
    rheo_update_options_set_max_attempts(_, _, _);
    rheo_update_options_set_max_deliveries(_, _, _);
    rheo_update_options_free(_);
    rheo_append_options_new(_, _);
    rheo_append_options_set(_, _, _, _, _, _);
    rheo_append_options_set_id(_, _, _, _);
    rheo_append_options_set_key(_, _, _, _);
    rheo_append_options_set_type(_, _, _, _);
    rheo_append_options_set_metadata(_, _, _, _);
    rheo_append_options_set_timestamp(_, _, _);
    rheo_append_options_set_partition(_, _, _);
    rheo_append_options_clear(_, _);
    rheo_append_options_free(_);
    rheo_batch_new(_, _);
    rheo_batch_add(_, _, _, _, _, _);
    rheo_batch_clear(_, _);
    rheo_batch_len(_);
    rheo_batch_free(_);
    rheo_query_new(_, _);
    rheo_query_set(_, _, _, _, _, _);
    rheo_query_set_where(_, _, _, _);
    rheo_query_set_from(_, _, _);
    rheo_query_set_to(_, _, _);
    rheo_query_set_after_sequence(_, _, _);
    rheo_query_set_until_sequence(_, _, _);
    rheo_query_add_order_by(_, _, _, _);
    rheo_query_set_limit(_, _, _);
    rheo_query_free(_);
    rheo_trim_options_new(_, _);
    rheo_trim_options_set(_, _, _, _, _, _);
    rheo_trim_options_set_before_sequence(_, _, _);
    rheo_trim_options_set_before_sequence_in(_, _, _, _);
    rheo_trim_options_set_max_len(_, _, _);
    rheo_trim_options_set_max_age_ms(_, _, _);
    rheo_trim_options_set_max_bytes(_, _, _);
    rheo_trim_options_set_force(_, _, _);
    rheo_trim_options_free(_);
    rheo_fetch_options_new(_, _);
    rheo_fetch_options_set(_, _, _, _, _, _);
    rheo_fetch_options_set_limit(_, _, _);
    rheo_fetch_options_set_lease_ms(_, _, _);
    rheo_fetch_options_set_consumer_id(_, _, _, _);
    rheo_fetch_options_set_partitions(_, _, _, _);
    rheo_fetch_options_set_wait_ms(_, _, _);
    rheo_fetch_options_set_interrupt(_, _, _);
    rheo_fetch_options_free(_);
    rheo_producer_options_new(_, _);
    rheo_producer_options_set(_, _, _, _, _, _);
    rheo_producer_options_set_max_demand(_, _, _);
    rheo_producer_options_set_lease_ms(_, _, _);
    rheo_producer_options_set_poll_ms(_, _, _);
    rheo_producer_options_set_consumer_id(_, _, _, _);
    rheo_producer_options_set_partitions(_, _, _, _);
    rheo_producer_options_set_on_failure(_, _, _);
    rheo_producer_options_set_retry_delay(_, _, _);
    rheo_producer_options_set_retry_delay_exponential(_, _, _, _);
    rheo_producer_options_free(_);
    rheo_consumer_options_new(_, _);
    rheo_consumer_options_set(_, _, _, _, _, _);
    rheo_consumer_options_set_concurrency(_, _, _);
    rheo_consumer_options_set_batch_size(_, _, _);
    rheo_consumer_options_set_batch_timeout_ms(_, _, _);
    rheo_consumer_options_set_max_lease_ms(_, _, _);
    rheo_consumer_options_set_max_demand(_, _, _);
    rheo_consumer_options_set_lease_ms(_, _, _);
    rheo_consumer_options_set_poll_ms(_, _, _);
    rheo_consumer_options_set_consumer_id(_, _, _, _);
    rheo_consumer_options_set_partitions(_, _, _, _);
    rheo_consumer_options_set_on_failure(_, _, _);
    rheo_consumer_options_set_retry_delay(_, _, _);
    rheo_consumer_options_set_retry_delay_exponential(_, _, _, _);
    rheo_consumer_options_free(_);
    rheo_interrupt_new(_, _);
    rheo_interrupt_fire(_, _);
    rheo_interrupt_reset(_, _);
    rheo_interrupt_is_fired(_);
    rheo_interrupt_free(_);
    rheo_dead_letter_options_new(_, _);
    rheo_dead_letter_options_set(_, _, _, _, _, _);
    rheo_dead_letter_options_set_limit(_, _, _);
    rheo_dead_letter_options_set_after(_, _, _, _);
    rheo_dead_letter_options_set_partitions(_, _, _, _);
    rheo_dead_letter_options_free(_);
    rheo_replay_options_new(_, _);
    rheo_replay_options_set(_, _, _, _, _, _);
    rheo_replay_options_set_from_sequence(_, _, _);
    rheo_replay_options_set_from_sequence_in(_, _, _, _);
    rheo_replay_options_set_from(_, _, _);
    rheo_replay_options_add_event_id(_, _, _, _);
    rheo_replay_options_set_query(_, _, _);
    rheo_replay_options_set_partitions(_, _, _, _);
    rheo_replay_options_free(_);
    rheo_reset_options_new(_, _);
    rheo_reset_options_set(_, _, _, _, _, _);
    rheo_reset_options_set_confirm(_, _, _);
    rheo_reset_options_set_start_after(_, _, _);
    rheo_reset_options_set_start_after_in(_, _, _, _);
    rheo_reset_options_set_start_at(_, _, _);
    rheo_reset_options_set_partitions(_, _, _, _);
    rheo_reset_options_free(_);
    rheo_event_id(_);
    rheo_event_stream(_);
    rheo_event_partition(_);
    rheo_event_sequence(_);
    rheo_event_timestamp(_);
    rheo_event_key(_);
    rheo_event_type(_);
    rheo_event_metadata(_);
    rheo_event_payload(_);
    rheo_event_encoding(_);
    rheo_event_deduplicated(_);
    rheo_event_clone(_, _, _);
    rheo_event_free(_);
    rheo_event_list_new(_, _);
    rheo_event_list_len(_);
    rheo_event_list_get(_, _);
    rheo_event_list_next_cursor(_);
    rheo_event_list_free(_);
    rheo_event_iterator_next(_, _, _);
    rheo_event_iterator_free(_);
    rheo_lease_id(_);
    rheo_lease_receipt(_);
    rheo_lease_stream(_);
    rheo_lease_group(_);
    rheo_lease_consumer_id(_);
    rheo_lease_token(_);
    rheo_lease_event(_);
    rheo_lease_attempt(_);
    rheo_lease_ms(_);
    rheo_lease_leased_at(_);
    rheo_lease_expires_at(_);
    rheo_lease_clone(_, _, _);
    rheo_lease_free(_);
    rheo_lease_list_new(_, _);
    rheo_lease_list_len(_);
    rheo_lease_list_get(_, _);
    rheo_lease_list_free(_);
    rheo_name_list_len(_);
    rheo_name_list_get(_, _);
    rheo_name_list_free(_);
    rheo_stream_info_stream(_);
    rheo_stream_info_len(_);
    rheo_stream_info_get(_, _, _, _);
    rheo_stream_info_free(_);
    rheo_lag_stream(_);
    rheo_lag_group(_);
    rheo_lag_total(_);
    rheo_lag_len(_);
    rheo_lag_get(_, _, _, _);
    rheo_lag_free(_);
    rheo_group_info_lag(_);
    rheo_group_info_inflight_count(_);
    rheo_group_info_available_count(_);
    rheo_group_info_delayed_count(_);
    rheo_group_info_dead_letter_count(_);
    rheo_group_info_oldest_unsettled_at(_, _);
    rheo_group_info_max_attempts(_);
    rheo_group_info_max_deliveries(_);
    rheo_group_info_ordering(_);
    rheo_group_info_free(_);
    rheo_dead_letter_event(_);
    rheo_dead_letter_group(_);
    rheo_dead_letter_attempt(_);
    rheo_dead_letter_reason(_);
    rheo_dead_letter_dead_lettered_at(_);
    rheo_dead_letter_list_len(_);
    rheo_dead_letter_list_get(_, _);
    rheo_dead_letter_list_free(_);
    rheo_capabilities_guarantees_len(_);
    rheo_capabilities_guarantee_name(_, _);
    rheo_capabilities_guarantee(_, _, _, _, _);
    rheo_capabilities_mechanisms_len(_);
    rheo_capabilities_mechanism_name(_, _);
    rheo_capabilities_mechanism(_, _, _, _, _);
    rheo_capabilities_free(_);
}

/// A function as the header declares it.
struct Declaration {
    name: String,
    returns: String,
    /// The type and the name of each parameter.
    parameters: Vec<(String, String)>,
}

impl Declaration {
    /// Whether what it returns tells of success or failure.
    fn has_status(&self) -> bool {
        let told = ["rheo_error_code", "rheo_results_status", "rheo_telemetry_event_error"];
        self.returns == "rheo_status" && !told.contains(&&*self.name)
    }
}

/// Every function that the header declares.
fn declarations() -> Vec<Declaration> {
    let header = std::fs::read_to_string(generator::header_path()).unwrap();
    let mut code = String::new();
    for piece in header.split("/*") {
        code.push_str(piece.split_once("*/").map_or(piece, |(_, code)| code));
    }
    let code: String = code.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, " "]).collect();
    code.split(';').filter(|code| !code.contains("typedef")).filter_map(declaration).collect()
}

fn declaration(code: &str) -> Option<Declaration> {
    let (before, parameters) = code.trim().strip_suffix(')')?.split_once('(')?;
    let (returns, name) = typed(before.trim_start_matches("extern \"C\" {").trim());
    let parameters = parameters.split(',').map(str::trim).filter(|text| *text != "void").map(typed).collect();
    Some(Declaration { name, returns, parameters })
}

/// The type and the name of `const char *text`.
fn typed(text: &str) -> (String, String) {
    let at = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    (text[..at].trim().to_owned(), text[at..].to_owned())
}

/// Calls a function by a plan and checks what holds whatever happens: the status is one of the contract's, there is an
/// error with the same number exactly when the call failed, and the outputs are empty then.
fn call(declaration: &Declaration, caller: Caller, plan: Plan) -> Answer {
    let parameters: Vec<String> = declaration.parameters.iter().map(|(_, name)| name.clone()).collect();
    let mut call = Call {
        plan,
        parameters: &parameters,
        next: 0,
        frees: declaration.name.ends_with("_free"),
        instance: instance_with_a_dead_letter(),
        error: ptr::dangling_mut(),
        outputs: Vec::new(),
        cleanup: Vec::new(),
    };
    let what = format!("{} with {plan:?}", declaration.name);
    let answer = caller(&mut call);
    assert_eq!(call.next, parameters.len(), "{what}");
    if declaration.has_status() {
        let code = ErrorCode::from_number(answer.status);
        assert!(answer.status == RHEO_OK || code.is_some(), "{what} gave {}", answer.status);
        assert_ne!(code, Some(ErrorCode::Internal), "{what}");
        if answer.status != RHEO_OK {
            assert!(call.outputs.iter().all(|empty| empty()), "{what} failed and wrote an output");
        }
        // Not touched where the argument was NULL.
        if call.error != ptr::dangling_mut() {
            assert_eq!(call.error.is_null(), answer.status == RHEO_OK, "{what}");
            // SAFETY: NULL, or the error that was written; freed once.
            unsafe {
                assert_eq!(rheo_error_code(call.error), answer.status, "{what}");
                assert_eq!(rheo_error_message(call.error).len == 0, call.error.is_null(), "{what}");
                rheo_error_free(call.error);
            }
        }
    }
    // In the order of their making, so that what is freed first still has to be kept alive by the rest.
    call.cleanup.into_iter().for_each(|clean| clean());
    // SAFETY: opened for this call.
    unsafe { rheo_instance_free(call.instance) };
    answer
}

/// An instance with stream "s", group "s" and two events, of which the first, with the id "s", is a dead letter.
fn instance_with_a_dead_letter() -> *mut rheo_instance {
    let mut instance = ptr::null_mut();
    let (mut options, mut fetch_options, mut leases) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let ok = |status| assert_eq!(status, RHEO_OK);
    // SAFETY: pointers to valid handles and texts throughout.
    unsafe {
        ok(rheo_instance_open(c"memory:".as_ptr(), 7, ptr::null(), &mut instance, NO_ERROR));
        ok(rheo_instance_create_stream(instance, NAME, 1, ptr::null(), NO_ERROR));
        ok(rheo_instance_create_group(instance, NAME, 1, NAME, 1, ptr::null(), NO_ERROR));
        ok(rheo_append_options_new(&mut options, NO_ERROR));
        ok(rheo_append_options_set_id(options, NAME, 1, NO_ERROR));
        for options in [options, ptr::null_mut()] {
            let (payload, position, out) = (NAME.cast(), ptr::null_mut(), ptr::null_mut());
            ok(rheo_instance_append(instance, NAME, 1, payload, 1, 0, options, position, out, NO_ERROR));
        }
        ok(rheo_fetch_options_new(&mut fetch_options, NO_ERROR));
        ok(rheo_fetch_options_set_limit(fetch_options, 1, NO_ERROR));
        ok(rheo_lease_list_new(&mut leases, NO_ERROR));
        ok(rheo_instance_fetch(instance, NAME, 1, NAME, 1, fetch_options, leases, NO_ERROR));
        ok(rheo_instance_reject(instance, rheo_lease_list_get(leases, 0), NAME, 1, NO_ERROR));
        rheo_append_options_free(options);
        rheo_fetch_options_free(fetch_options);
        rheo_lease_list_free(leases);
    }
    instance
}

/// Every function with its declaration.
fn each_function(mut check: impl FnMut(&Declaration, Caller)) {
    let declarations = declarations();
    for (name, caller) in FUNCTIONS {
        let declaration = declarations.iter().find(|declaration| declaration.name == *name);
        check(declaration.unwrap_or_else(|| panic!("the header has no {name}")), *caller);
    }
}

/// Calls every function with one argument made to be of a kind, for each argument, and hands the answer on with the type
/// and the name of the parameter and its position.
fn each_argument(kind: Kind, mut check: impl FnMut(&Declaration, usize, &str, &str, &Answer)) {
    each_function(|declaration, caller| {
        for (at, (of_type, name)) in declaration.parameters.iter().enumerate() {
            let answer = call(declaration, caller, Plan { kind, at: Some(at), closed: false });
            if declaration.has_status() {
                check(declaration, at, of_type, name, &answer);
            }
        }
    });
}

/// The error is about the form of the argument: of a payload's length it may be that it is too large.
fn assert_refused(declaration: &Declaration, parameter: &str, answer: &Answer) {
    let too_large = parameter == "payload_len" && answer.status == ErrorCode::PayloadTooLarge.number();
    let refused = answer.status == ErrorCode::InvalidArgument.number() || too_large;
    assert!(refused, "{}: bad {parameter} gave {}", declaration.name, answer.status);
}

#[test]
fn no_function_is_forgotten() {
    let mut declared: Vec<String> = declarations().into_iter().map(|declaration| declaration.name).collect();
    let mut listed: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
    declared.sort_unstable();
    listed.sort_unstable();
    assert!(listed.len() > 200);
    assert_eq!(declared, listed);
}

#[test]
fn valid_arguments_are_accepted() {
    // What the made-up arguments cannot satisfy; everything else has to succeed, or the tests below would find only
    // their own mistakes.
    let refused = [
        ("rheo_options_set", 301),
        ("rheo_stream_options_set", 301),
        ("rheo_group_options_set", 301),
        ("rheo_update_options_set", 301),
        ("rheo_append_options_set", 301),
        ("rheo_query_set", 301),
        ("rheo_query_set_where", 301),
        ("rheo_trim_options_set", 301),
        ("rheo_fetch_options_set", 301),
        ("rheo_producer_options_set", 301),
        ("rheo_consumer_options_set", 301),
        ("rheo_producer_confirm", 301),
        ("rheo_dead_letter_options_set", 301),
        ("rheo_replay_options_set", 301),
        ("rheo_reset_options_set", 301),
        ("rheo_instance_open", 301),
        ("rheo_instance_advance_clock", 307),
        ("rheo_instance_create_stream", 103),
        ("rheo_instance_create_group", 103),
        ("rheo_instance_query_page", 301),
        ("rheo_instance_trim", 301),
        ("rheo_instance_replay", 304),
        ("rheo_instance_reset_group", 305),
        ("rheo_instance_ack_token", 301),
        ("rheo_instance_retry_token", 301),
        ("rheo_instance_reject_token", 301),
        ("rheo_instance_release_token", 301),
        ("rheo_instance_renew_token", 301),
        ("rheo_group_ack_token", 301),
        ("rheo_group_retry_token", 301),
        ("rheo_group_reject_token", 301),
        ("rheo_group_release_token", 301),
        ("rheo_group_renew_token", 301),
        ("rheo_producer_ack_token", 301),
        ("rheo_producer_retry_token", 301),
        ("rheo_producer_reject_token", 301),
        ("rheo_producer_release_token", 301),
        ("rheo_producer_fail_token", 301),
        ("rheo_stream_query_page", 301),
        ("rheo_stream_trim", 301),
        ("rheo_group_replay", 304),
        ("rheo_group_reset", 305),
        ("rheo_capabilities_guarantee", 301),
        ("rheo_capabilities_mechanism", 301),
        ("rheo_stream_info_get", 301),
        ("rheo_lag_get", 301),
    ];
    each_function(|declaration, caller| {
        let answer = call(declaration, caller, Plan { kind: Kind::Valid, at: None, closed: false });
        if declaration.has_status() {
            let expected =
                refused.iter().find(|(name, _)| *name == declaration.name).map_or(RHEO_OK, |(_, status)| *status);
            assert_eq!(answer.status, expected, "{}", declaration.name);
        }
    });
}

#[test]
fn null_everywhere_is_an_error_or_nothing() {
    each_function(|declaration, caller| {
        let answer = call(declaration, caller, Plan { kind: Kind::Null, at: None, closed: false });
        let name = &declaration.name;
        if declaration.has_status() {
            assert_eq!(answer.status, ErrorCode::InvalidArgument.number(), "{name}");
        } else if !["rheo_version", "rheo_status_name"].contains(&&**name) {
            assert!(answer.empty, "{name} made something of NULL");
        }
    });
}

#[test]
fn one_null_is_an_error_where_something_must_be_given() {
    each_argument(Kind::Null, |declaration, at, of_type, name, answer| {
        let text = of_type == "const char *" && name != "reason";
        if of_type == "rheo_handler"
            || of_type.ends_with('*') && (at == 0 || text || name == "payload" || name == "leases" || name == "results")
        {
            assert_refused(declaration, name, answer);
        }
    });
}

#[test]
fn one_piece_of_garbage_is_an_error_with_a_name() {
    each_argument(Kind::Garbage, |declaration, _, of_type, name, answer| {
        let refused = match of_type {
            "const char *" => name != "reason",
            "size_t" => name != "reason_len",
            "int64_t" => name != "micros" && name != "partition_count",
            "const int64_t *" | "const rheo_lease *const *" => true,
            // A bad token is bad in its place.
            "const rheo_bytes *" => name != "tokens",
            "rheo_encoding" | "rheo_ordering" | "rheo_clock" | "rheo_order_field" | "rheo_direction"
            | "rheo_on_failure" => true,
            _ => false,
        };
        if refused {
            assert_refused(declaration, name, answer);
        }
    });
}

#[test]
fn one_huge_value_is_an_error_or_harmless() {
    each_argument(Kind::Huge, |declaration, _, of_type, name, answer| {
        if of_type == "size_t" && name != "reason_len" {
            assert_refused(declaration, name, answer);
        }
    });
}

#[test]
fn garbage_and_huge_values_everywhere_are_errors_or_harmless() {
    for kind in [Kind::Garbage, Kind::Huge] {
        each_function(|declaration, caller| {
            call(declaration, caller, Plan { kind, at: None, closed: false });
        });
    }
}

#[test]
fn after_close_every_operation_says_closed() {
    // What needs no store.
    let indifferent = ["close", "clone", "capabilities", "stream", "group"].map(|verb| format!("rheo_instance_{verb}"));
    let nouns = ["const rheo_instance *", "const rheo_stream *", "const rheo_group *"];
    each_function(|declaration, caller| {
        let answer = call(declaration, caller, Plan { kind: Kind::Valid, at: None, closed: true });
        let on_an_instance = declaration.parameters.first().is_some_and(|(of_type, _)| nouns.contains(&&**of_type));
        // Nothing is asked for yet; and the made-up token is malformed, which is found before.
        let apart = ["_query_stream", "_token"].iter().any(|end| declaration.name.ends_with(end));
        if on_an_instance && declaration.has_status() && !indifferent.contains(&declaration.name) && !apart {
            assert_eq!(answer.status, ErrorCode::Closed.number(), "{}", declaration.name);
        }
    });
}
