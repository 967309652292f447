//! The hot paths allocate nothing of their own: through the C ABI a loop allocates as often as the same loop on the
//! engine.

use rheo::c::batch::{rheo_batch_add, rheo_batch_clear, rheo_batch_free, rheo_batch_new};
use rheo::c::consumer::{rheo_consumer_close, rheo_consumer_free, rheo_group_consumer};
use rheo::c::event::rheo_event_payload;
use rheo::c::fetch_options::{rheo_fetch_options_free, rheo_fetch_options_new, rheo_fetch_options_set_limit};
use rheo::c::group::{rheo_group, rheo_group_fetch, rheo_group_free};
use rheo::c::instance::*;
use rheo::c::lease::{rheo_lease_list_free, rheo_lease_list_get, rheo_lease_list_new};
use rheo::c::options::{rheo_options, rheo_options_free, rheo_options_new, rheo_options_set_clock};
use rheo::c::producer::{rheo_group_producer, rheo_producer_ack, rheo_producer_free, rheo_producer_next};
use rheo::c::results::{rheo_results_failed, rheo_results_free, rheo_results_new};
use rheo::c::settle::{rheo_instance_ack, rheo_instance_ack_list};
use rheo::c::stream::{rheo_stream, rheo_stream_append, rheo_stream_append_batch, rheo_stream_free};
use rheo::c::values::{RHEO_CLOCK_MANUAL, RHEO_ENCODING_BYTES, RHEO_OK, rheo_position, rheo_status};
use rheo::c::work::{rheo_work, rheo_work_event};
use rheo_core::{
    Append, AppendOptions, Consumer, ConsumerOptions, FetchOptions, Group, GroupOptions, Instance, OpenOptions,
    Outcome, Producer, ProducerOptions, Stream, StreamOptions,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::mpsc::{Sender, channel};

/// Counts what the running thread allocates.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `work` allocates.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

const EVENTS: usize = 1000;
const BATCH: usize = 100;
const PAYLOAD: [u8; 100] = [b'x'; 100];

/// The engine with a stream, a group and bound handles of them.
struct Engine {
    instance: Instance,
    stream: Stream,
    group: Group,
}

impl Engine {
    fn new() -> Engine {
        Engine::with(OpenOptions::new())
    }

    fn with(options: OpenOptions) -> Engine {
        let instance = rheo_core::open("memory:", options).unwrap();
        instance.create_stream("s", StreamOptions::default()).unwrap();
        instance.create_group("s", "g", &GroupOptions::default()).unwrap();
        Engine { stream: instance.stream("s").unwrap(), group: instance.group("s", "g").unwrap(), instance }
    }
}

/// The same through the C ABI.
struct Library {
    instance: *mut rheo_instance,
    stream: *mut rheo_stream,
    group: *mut rheo_group,
}

fn ok(status: rheo_status) {
    assert_eq!(status, RHEO_OK);
}

impl Library {
    fn new() -> Library {
        Library::with(ptr::null())
    }

    fn with(options: *const rheo_options) -> Library {
        let (mut instance, mut stream, mut group) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let (s, g, error) = (c"s".as_ptr(), c"g".as_ptr(), ptr::null_mut());
        // SAFETY: valid handles, and texts with their lengths.
        unsafe {
            ok(rheo_instance_open(c"memory:".as_ptr(), 7, options, &mut instance, error));
            ok(rheo_instance_create_stream(instance, s, 1, ptr::null(), error));
            ok(rheo_instance_create_group(instance, s, 1, g, 1, ptr::null(), error));
            ok(rheo_instance_stream(instance, s, 1, &mut stream, error));
            ok(rheo_instance_group(instance, s, 1, g, 1, &mut group, error));
        }
        Library { instance, stream, group }
    }

    fn append(&self) {
        let mut position = rheo_position::default();
        let (payload, out, error) = (PAYLOAD.as_ptr().cast(), ptr::null_mut(), ptr::null_mut());
        for _ in 0..EVENTS {
            // SAFETY: valid handles and a payload with its length.
            ok(unsafe {
                let (len, encoding) = (PAYLOAD.len(), RHEO_ENCODING_BYTES);
                rheo_stream_append(self.stream, payload, len, encoding, ptr::null(), &mut position, out, error)
            });
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe {
            rheo_instance_free(self.instance);
            rheo_stream_free(self.stream);
            rheo_group_free(self.group);
        }
    }
}

#[test]
fn appending() {
    let (engine, library) = (Engine::new(), Library::new());
    let direct = allocations(|| {
        for _ in 0..EVENTS {
            engine.stream.append(&Append::bytes(&PAYLOAD)).unwrap();
        }
    });
    assert_eq!(allocations(|| library.append()), direct);
}

#[test]
fn fetching_one_and_acking_it() {
    let (engine, library) = (Engine::new(), Library::new());
    for _ in 0..EVENTS {
        engine.stream.append(&Append::bytes(&PAYLOAD)).unwrap();
    }
    library.append();
    let mut leases = Vec::new();
    let mut direct = || {
        engine.group.fetch_into(&FetchOptions::new().limit(1), &mut leases).unwrap();
        engine.instance.ack(&leases[0]).unwrap();
    };
    let (mut options, mut list, error) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: valid handles, each freed once.
    unsafe {
        ok(rheo_fetch_options_new(&mut options, error));
        ok(rheo_fetch_options_set_limit(options, 1, error));
        ok(rheo_lease_list_new(&mut list, error));
        let through_c = || {
            ok(rheo_group_fetch(library.group, options, list, error));
            ok(rheo_instance_ack(library.instance, rheo_lease_list_get(list, 0), error));
        };
        // The first fill makes the memory that the others use again.
        direct();
        through_c();
        let direct = allocations(|| (1..EVENTS).for_each(|_| direct()));
        assert_eq!(allocations(|| (1..EVENTS).for_each(|_| through_c())), direct);
        rheo_lease_list_free(list);
        rheo_fetch_options_free(options);
    }
}

#[test]
fn batches() {
    let (engine, library) = (Engine::new(), Library::new());
    let items = [Append::bytes(&PAYLOAD); BATCH];
    let mut leases = Vec::new();
    let mut direct = || {
        engine.stream.append_batch(&items, &AppendOptions::default()).unwrap();
        engine.group.fetch_into(&FetchOptions::new().limit(BATCH), &mut leases).unwrap();
        engine.instance.ack_many(&leases).unwrap();
    };
    let (mut batch, mut options, mut list, mut results) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let error = ptr::null_mut();
    // SAFETY: valid handles, each freed once, and a payload with its length.
    unsafe {
        ok(rheo_batch_new(&mut batch, error));
        ok(rheo_fetch_options_new(&mut options, error));
        ok(rheo_fetch_options_set_limit(options, BATCH as i64, error));
        ok(rheo_lease_list_new(&mut list, error));
        ok(rheo_results_new(&mut results, error));
        let through_c = || {
            ok(rheo_batch_clear(batch, error));
            for _ in 0..BATCH {
                let payload = PAYLOAD.as_ptr().cast();
                ok(rheo_batch_add(batch, payload, PAYLOAD.len(), RHEO_ENCODING_BYTES, ptr::null(), error));
            }
            ok(rheo_stream_append_batch(library.stream, batch, ptr::null(), ptr::null_mut(), error));
            ok(rheo_group_fetch(library.group, options, list, error));
            ok(rheo_instance_ack_list(library.instance, list, results, error));
            assert_eq!(rheo_results_failed(results), 0);
        };
        direct();
        through_c();
        let direct = allocations(|| (1..EVENTS / BATCH).for_each(|_| direct()));
        assert_eq!(allocations(|| (1..EVENTS / BATCH).for_each(|_| through_c())), direct);
        rheo_batch_free(batch);
        rheo_results_free(results);
        rheo_lease_list_free(list);
        rheo_fetch_options_free(options);
    }
}

#[test]
fn a_producer() {
    let (engine, library) = (Engine::new(), Library::new());
    for _ in 0..EVENTS {
        engine.stream.append(&Append::bytes(&PAYLOAD)).unwrap();
    }
    library.append();
    let producer = Producer::start(&engine.group, &ProducerOptions::new()).unwrap();
    let mut leases = Vec::new();
    let mut direct = || {
        assert!(producer.next_into(1, 0, None, &mut leases).unwrap());
        producer.ack(&leases[0]).unwrap();
    };
    let (mut producer, mut list, mut stopped) = (ptr::null_mut(), ptr::null_mut(), false);
    let (none, error) = (ptr::null(), ptr::null_mut());
    // SAFETY: valid handles, each freed once.
    unsafe {
        ok(rheo_group_producer(library.group, ptr::null(), &mut producer, error));
        ok(rheo_lease_list_new(&mut list, error));
        let mut through_c = || {
            ok(rheo_producer_next(producer, 1, 0, none, list, &mut stopped, error));
            ok(rheo_producer_ack(producer, rheo_lease_list_get(list, 0), error));
        };
        direct();
        through_c();
        let direct = allocations(|| (1..EVENTS).for_each(|_| direct()));
        assert_eq!(allocations(|| (1..EVENTS).for_each(|_| through_c())), direct);
        rheo_lease_list_free(list);
        rheo_producer_free(producer);
    }
}

thread_local! {
    static SEEN: Cell<usize> = const { Cell::new(0) };
    static BEFORE: Cell<u64> = const { Cell::new(0) };
}

/// Tells at the last event how often this thread has allocated since the memory is there that is used again and again.
fn tell(counts: &Sender<u64>) {
    let count = COUNT.get();
    SEEN.set(SEEN.get() + 1);
    if SEEN.get() == EVENTS / 2 {
        BEFORE.set(count);
    } else if SEEN.get() == EVENTS {
        counts.send(count - BEFORE.get()).unwrap();
    }
}

unsafe extern "C" fn handle(work: *mut rheo_work, context: *mut c_void) -> rheo_status {
    // SAFETY: the context is the sender, which outlives the consumer.
    unsafe {
        assert_eq!(rheo_event_payload(rheo_work_event(work, 0)).len, PAYLOAD.len());
        tell(&*context.cast::<Sender<u64>>());
    }
    RHEO_OK
}

#[test]
fn a_consumer() {
    // Under a manual clock every ack is settled by itself, so that the engine always does the same.
    let mut options = ptr::null_mut();
    let error = ptr::null_mut();
    // SAFETY: valid handles, freed once.
    let library = unsafe {
        ok(rheo_options_new(&mut options, error));
        ok(rheo_options_set_clock(options, RHEO_CLOCK_MANUAL, error));
        let library = Library::with(options);
        rheo_options_free(options);
        library
    };
    let engine = Engine::with(OpenOptions::new().manual_clock(None));
    for _ in 0..EVENTS {
        engine.stream.append(&Append::bytes(&PAYLOAD)).unwrap();
    }
    library.append();
    let (counts, counted) = channel();
    let direct = {
        let counts = counts.clone();
        Consumer::start(&engine.group, &ConsumerOptions::new(), move |lease, _| {
            assert_eq!(lease.event().payload().len(), PAYLOAD.len());
            tell(&counts);
            Outcome::Ack
        })
        .unwrap()
    };
    let expected = counted.recv().unwrap();
    direct.close(30_000).unwrap();
    let mut consumer = ptr::null_mut();
    // SAFETY: valid handles, freed once; the context outlives the consumer's handlers, for it is closed.
    unsafe {
        let context = (&raw const counts).cast_mut().cast();
        ok(rheo_group_consumer(library.group, ptr::null(), Some(handle), context, None, &mut consumer, error));
        assert_eq!(counted.recv().unwrap(), expected);
        ok(rheo_consumer_close(consumer, 30_000, error));
        rheo_consumer_free(consumer);
    }
}
