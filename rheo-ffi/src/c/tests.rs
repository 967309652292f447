//! What a C program sees of a backend that panics in every method: `internal`, and nothing worse.

use super::error::{rheo_error_cause, rheo_error_code, rheo_error_free};
use super::group::{rheo_group, rheo_group_fetch};
use super::instance::{
    rheo_instance, rheo_instance_append, rheo_instance_close, rheo_instance_free, rheo_instance_ping,
};
use super::lease::{rheo_lease_list_free, rheo_lease_list_len, rheo_lease_list_new};
use super::values::{rheo_position, rheo_status};
use rheo_core::backend::{Backend, FetchRequest, Fetched, GroupRef, NewGroup, Scan, Settled, Settlement, StreamRef};
use rheo_core::{
    Append, Capabilities, ErrorCode, Event, GroupUpdate, Instance, Lag, Lease, LeaseToken, OpenOptions, Replay, Result,
    Start, StreamOptions, Timestamp, Trim,
};
use std::ops::ControlFlow;
use std::ptr;
use std::sync::Arc;

/// Panics wherever it can.
struct Panics;

macro_rules! panics {
    ($($name:ident($($argument:ident: $type:ty),*) -> $returns:ty;)*) => {
        impl Backend for Panics {
            fn capabilities(&self) -> Capabilities {
                panic!("capabilities")
            }

            $(fn $name(&self, $($argument: $type),*) -> $returns {
                $(let _ = $argument;)*
                panic!(stringify!($name))
            })*
        }
    };
}

panics! {
    ping() -> Result<()>;
    now() -> Result<Timestamp>;
    close() -> Result<()>;
    create_stream(stream: StreamRef<'_>, options: &StreamOptions) -> Result<()>;
    delete_stream(stream: StreamRef<'_>) -> Result<()>;
    create_group(group: GroupRef<'_>, new: &NewGroup) -> Result<()>;
    update_group(group: GroupRef<'_>, update: &GroupUpdate) -> Result<()>;
    delete_group(group: GroupRef<'_>) -> Result<()>;
    append(stream: StreamRef<'_>, items: &[Append<'_>], emit: &mut dyn FnMut(Event)) -> Result<()>;
    read(stream: StreamRef<'_>, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>>;
    get(stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>>;
    partition_count(stream: StreamRef<'_>) -> Result<u32>;
    scan(stream: StreamRef<'_>, scan: &Scan<'_>, visit: &mut dyn FnMut(Event) -> ControlFlow<()>) -> Result<()>;
    trim(stream: StreamRef<'_>, trim: &Trim, force: bool) -> Result<u64>;
    fetch(group: GroupRef<'_>, request: &FetchRequest<'_>, leases: &mut Vec<Lease>) -> Result<Fetched>;
    settle(tokens: &[&LeaseToken], settlement: Settlement<'_>, results: &mut [Result<Settled>]) -> Result<()>;
    renew(tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()>;
    lag(group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag>;
    replay(group: GroupRef<'_>, what: Replay<'_>, partitions: Option<&[u32]>) -> Result<u64>;
    reset_group(group: GroupRef<'_>, start: &Start) -> Result<()>;
}

/// Checks that a call gave `internal` with the name of the method that panicked.
fn assert_internal(method: &str, call: impl FnOnce(*mut *mut super::error::rheo_error) -> rheo_status) {
    let mut error = ptr::dangling_mut();
    assert_eq!(call(&mut error), ErrorCode::Internal.number(), "{method}");
    // SAFETY: the error was written, and is freed once.
    unsafe {
        assert_eq!(rheo_error_code(error), ErrorCode::Internal.number());
        let cause = rheo_error_cause(error);
        assert_eq!(std::slice::from_raw_parts(cause.data, cause.len), method.as_bytes());
        rheo_error_free(error);
    }
}

#[test]
fn a_panic_below_any_function_is_internal() {
    let instance = Instance::with_backend(Arc::new(Panics), OpenOptions::new()).unwrap();
    let group = rheo_group::new(instance.group("s", "g").unwrap(), instance.clone());
    let instance = super::boundary::boxed(rheo_instance(instance));
    let mut leases = ptr::null_mut();
    let mut position = rheo_position { sequence: 7, ..rheo_position::default() };
    // SAFETY: handles and texts are valid; each handle is freed once.
    unsafe {
        assert_eq!(rheo_lease_list_new(&mut leases, ptr::null_mut()), 0);
        assert_internal("ping", |error| rheo_instance_ping(instance, error));
        assert_internal("fetch", |error| rheo_group_fetch(&group, ptr::null(), leases, error));
        assert_eq!(rheo_lease_list_len(leases), 0);
        assert_internal("append", |error| {
            let (stream, payload, options) = (c"s".as_ptr(), ptr::null(), ptr::null());
            rheo_instance_append(instance, stream, 1, payload, 0, 0, options, &mut position, ptr::null_mut(), error)
        });
        assert_eq!(position, rheo_position::default());
        rheo_lease_list_free(leases);
        assert_internal("close", |error| rheo_instance_close(instance, error));
        rheo_instance_free(instance);
    }
}

#[test]
fn a_panic_while_freeing_stays_inside() {
    let instance = Instance::with_backend(Arc::new(Panics), OpenOptions::new()).unwrap();
    // The last handle closes the backend, which panics.
    // SAFETY: freed once.
    unsafe { rheo_instance_free(super::boundary::boxed(rheo_instance(instance))) };
}

#[test]
fn what_may_be_used_by_any_number_of_threads_can_be() {
    fn shareable<T: Send + Sync>() {}
    shareable::<rheo_instance>();
    shareable::<rheo_group>();
    shareable::<super::stream::rheo_stream>();
    shareable::<super::interrupt::rheo_interrupt>();
    shareable::<super::error::rheo_error>();
    shareable::<super::batch::rheo_batch>();
    shareable::<super::query::rheo_query>();
    shareable::<super::fetch_options::rheo_fetch_options>();
    shareable::<super::append_options::rheo_append_options>();
    // Those that refer to what a handle around them owns are no Rust thread's to share, but what they refer to is.
    shareable::<Event>();
    shareable::<Lease>();
}
