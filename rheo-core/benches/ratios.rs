//! Measures the engine against floors: loops that do only what an operation cannot do without. Floor and subject
//! alternate; see `common` for how, and `bench/run.py` for the ratios.
//!
//! Memory is warmed and reused: the allocator is told to keep what it has, and each round's stream is deleted before
//! the next.

mod common;

use common::{Named, Run, measure, timed};
use crossbeam_utils::CachePadded;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use rheo_core::{
    Append, AppendOptions, Clock, FetchOptions, GroupOptions, Instance, Lease, OpenOptions, StreamOptions, Telemetry,
    open,
};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

const PAYLOAD: [u8; 128] = [b'x'; 128];

fn main() {
    let cases: [Named; 25] = [
        ("floor_append", 200_000, floor_append),
        ("append_by_name", 200_000, append_by_name),
        ("append_bound", 200_000, || append_bound(None)),
        ("append_counted", 200_000, || append_bound(Some(counting().without_durations()))),
        ("append_counted_with_durations", 200_000, || append_bound(Some(counting()))),
        ("append_batch_100", 200_000, append_batch),
        ("floor_fetch_ack", 200_000, floor_fetch_ack),
        ("fetch_ack_by_name", 200_000, fetch_ack_by_name),
        ("fetch_ack_bound", 200_000, || fetch_ack_bound(None)),
        ("fetch_ack_counted", 200_000, || fetch_ack_bound(Some(counting().without_durations()))),
        ("fetch_ack_counted_with_durations", 200_000, || fetch_ack_bound(Some(counting()))),
        ("fetch_100_ack_many", 200_000, fetch_many),
        ("append_1_thread", 200_000, || append_by_threads(1)),
        ("append_2_threads", 200_000, || append_by_threads(2)),
        ("fetch_ack_1_thread", 200_000, || fetch_ack_by_threads(1)),
        ("fetch_ack_2_threads", 200_000, || fetch_ack_by_threads(2)),
        ("append_1_group", 200_000, || append_with_groups(1)),
        ("append_1000_groups", 200_000, || append_with_groups(1000)),
        ("fetch_ack_backlog_10_thousand", 10_000, || fetch_ack_backlog(10_000)),
        ("fetch_ack_backlog_10_million", 10_000, || fetch_ack_backlog(10_000_000)),
        ("ack_inflight_100_in_order", 100_000, || ack_inflight(100, false)),
        ("ack_inflight_100_thousand_in_order", 100_000, || ack_inflight(100_000, false)),
        ("ack_inflight_100_thousand_at_random", 100_000, || ack_inflight(100_000, true)),
        ("group_info_of_100", 10_000, || group_info(100)),
        ("group_info_of_1_million", 10_000, || group_info(1_000_000)),
    ];
    measure(&cases);
}

fn memory() -> Instance {
    told(None)
}

/// A memory instance that tells of its work, or not.
fn told(telemetry: Option<Telemetry>) -> Instance {
    let mut options = OpenOptions::new();
    if let Some(telemetry) = telemetry {
        options = options.telemetry(telemetry);
    }
    open("memory:", options).expect("memory opens")
}

/// A hook that counts.
fn counting() -> Telemetry {
    let total = AtomicU64::new(0);
    Telemetry::new(move |event| {
        total.fetch_add(event.count, Ordering::Relaxed);
    })
}

/// Lets so many threads work at the same time, each with the number of its partition, and returns the nanoseconds from
/// the first one's beginning to the last one's end.
fn at_once(threads: u32, work: impl Fn(u32) + Sync) -> f64 {
    let barrier = Barrier::new(threads as usize);
    let (barrier, work) = (&barrier, &work);
    let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let start = |partition| {
            scope.spawn(move || {
                barrier.wait();
                let began = Instant::now();
                work(partition);
                (began, Instant::now())
            })
        };
        let running: Vec<_> = (0..threads).map(start).collect();
        running.into_iter().map(|thread| thread.join().expect("it worked")).collect()
    });
    let began = spans.iter().map(|(began, _)| *began).min().expect("there is a thread");
    let ended = spans.iter().map(|(_, ended)| *ended).max().expect("there is a thread");
    (ended - began).as_nanos() as f64
}

// Floors.

/// A chunked arena with an index, and what makes ids: all that an append cannot do without.
struct FloorStream {
    chunks: Vec<Vec<u8>>,
    chunk: usize,
    index: Vec<(u32, u32)>,
    last_id: u128,
}

fn floor_append() -> Run {
    let streams: RwLock<HashMap<String, Arc<CachePadded<Mutex<FloorStream>>>>> = RwLock::default();
    let stream = FloorStream { chunks: Vec::new(), chunk: 0, index: Vec::new(), last_id: 0 };
    streams.write().insert("orders".to_owned(), Arc::new(CachePadded::new(Mutex::new(stream))));
    let clock = Clock::system();
    Box::new(move |count| {
        if let Some(stream) = streams.read().get("orders") {
            let mut stream = stream.lock();
            stream.chunks.iter_mut().for_each(Vec::clear);
            stream.chunk = 0;
            stream.index.clear();
        }
        timed(count, |_| {
            let streams = streams.read();
            let mut stream = streams.get(black_box("orders")).expect("it was inserted").lock();
            let stream = &mut *stream;
            let now = clock.now().as_micros() as u128;
            stream.last_id = (stream.last_id + 1).max(now << 64);
            let payload = black_box(&PAYLOAD);
            while stream.chunks.get(stream.chunk).is_some_and(|chunk| chunk.capacity() - chunk.len() < 128) {
                stream.chunk += 1;
            }
            if stream.chunk == stream.chunks.len() {
                stream.chunks.push(Vec::with_capacity(1 << 20));
            }
            let chunk = &mut stream.chunks[stream.chunk];
            let offset = chunk.len();
            chunk.extend_from_slice(payload);
            stream.index.push((stream.chunk as u32, offset as u32));
            black_box(stream.last_id);
        })
    })
}

fn floor_fetch_ack() -> Run {
    type Open = BTreeMap<u64, ([u64; 2], i64)>;
    let groups: RwLock<HashMap<String, Arc<CachePadded<Mutex<Open>>>>> = RwLock::default();
    groups.write().insert("orders".to_owned(), Arc::default());
    let clock = Clock::system();
    let mut sequence = 0;
    let mut random: rand::rngs::SmallRng = rand::SeedableRng::from_rng(&mut rand::rng());
    Box::new(move |count| {
        timed(count, |_| {
            sequence += 1;
            let groups = groups.read();
            let mut open = groups.get(black_box("orders")).expect("it was inserted").lock();
            let now = clock.monotonic();
            let id: [u64; 2] = [rand::RngCore::next_u64(&mut random), rand::RngCore::next_u64(&mut random)];
            open.insert(sequence, (id, now));
            black_box(open.remove(&black_box(sequence)));
        })
    })
}

// The engine.

fn append_by_name() -> Run {
    let db = memory();
    Box::new(move |count| {
        db.create_stream("orders", StreamOptions::default()).expect("created");
        let nanos = timed(count, |_| {
            black_box(db.append(black_box("orders"), &Append::bytes(black_box(&PAYLOAD))).expect("appended"));
        });
        db.delete_stream("orders", true).expect("deleted");
        nanos
    })
}

fn append_bound(telemetry: Option<Telemetry>) -> Run {
    let db = told(telemetry);
    Box::new(move |count| {
        db.create_stream("orders", StreamOptions::default()).expect("created");
        let orders = db.stream("orders").expect("a good name");
        let nanos = timed(count, |_| {
            black_box(orders.append(&Append::bytes(black_box(&PAYLOAD))).expect("appended"));
        });
        db.delete_stream("orders", true).expect("deleted");
        nanos
    })
}

fn append_batch() -> Run {
    let db = memory();
    Box::new(move |count| {
        db.create_stream("orders", StreamOptions::default()).expect("created");
        let orders = db.stream("orders").expect("a good name");
        let items = [Append::bytes(&PAYLOAD); 100];
        let nanos = timed(count / 100, |_| {
            black_box(orders.append_batch(black_box(&items), &AppendOptions::default()).expect("appended"));
        });
        db.delete_stream("orders", true).expect("deleted");
        nanos / 100.0
    })
}

/// So many threads append, each to its own one of two partitions.
fn append_by_threads(threads: u32) -> Run {
    let db = memory();
    Box::new(move |count| {
        db.create_stream("orders", StreamOptions::partitions(2)).expect("created");
        let nanos = at_once(threads, |partition| {
            let orders = db.stream("orders").expect("a good name");
            for _ in 0..count {
                black_box(orders.append(&Append::bytes(black_box(&PAYLOAD)).partition(partition)).expect("appended"));
            }
        });
        db.delete_stream("orders", true).expect("deleted");
        nanos / (count * u64::from(threads)) as f64
    })
}

fn append_with_groups(groups: usize) -> Run {
    let db = memory();
    Box::new(move |count| {
        db.create_stream("orders", StreamOptions::default()).expect("created");
        for group in 0..groups {
            db.create_group("orders", &group.to_string(), &GroupOptions::default()).expect("created");
        }
        let orders = db.stream("orders").expect("a good name");
        let nanos = timed(count, |_| {
            black_box(orders.append(&Append::bytes(black_box(&PAYLOAD))).expect("appended"));
        });
        db.delete_stream("orders", true).expect("deleted");
        nanos
    })
}

/// A stream `orders` with so many events and a group `billing` that has seen none.
fn filled(events: u64) -> Instance {
    let db = memory();
    create(&db, 1);
    fill(&db, events);
    db
}

fn create(db: &Instance, partitions: u32) {
    db.create_stream("orders", StreamOptions::partitions(partitions)).expect("created");
    db.create_group("orders", "billing", &GroupOptions::default()).expect("created");
}

fn fill(db: &Instance, events: u64) {
    fill_partition(db, 0, events);
}

fn fill_partition(db: &Instance, partition: u32, events: u64) {
    let items = [Append::bytes(&PAYLOAD).partition(partition); 1000];
    for start in (0..events).step_by(items.len()) {
        let count = (events - start).min(items.len() as u64) as usize;
        db.append_batch("orders", &items[..count], &AppendOptions::default()).expect("appended");
    }
}

fn fetch_ack_by_name() -> Run {
    let db = filled(0);
    let mut leases: Vec<Lease> = Vec::new();
    Box::new(move |count| {
        fill(&db, count);
        let options = FetchOptions::new().limit(1);
        let nanos = timed(count, |_| {
            db.fetch_into(black_box("orders"), black_box("billing"), &options, &mut leases).expect("fetched");
            db.ack(&leases[0]).expect("acked");
        });
        leases.clear();
        trim(&db);
        nanos
    })
}

fn fetch_ack_bound(telemetry: Option<Telemetry>) -> Run {
    let db = told(telemetry);
    create(&db, 1);
    let billing = db.group("orders", "billing").expect("good names");
    let mut leases: Vec<Lease> = Vec::new();
    Box::new(move |count| {
        fill(&db, count);
        let options = FetchOptions::new().limit(1);
        let nanos = timed(count, |_| {
            billing.fetch_into(&options, &mut leases).expect("fetched");
            billing.ack(&leases[0]).expect("acked");
        });
        leases.clear();
        trim(&db);
        nanos
    })
}

fn fetch_many() -> Run {
    let db = filled(0);
    let billing = db.group("orders", "billing").expect("good names");
    let mut leases: Vec<Lease> = Vec::new();
    Box::new(move |count| {
        fill(&db, count);
        let options = FetchOptions::new().limit(100);
        let nanos = timed(count / 100, |_| {
            billing.fetch_into(&options, &mut leases).expect("fetched");
            assert!(billing.ack_many(&leases).expect("acked").iter().all(Result::is_ok));
        });
        leases.clear();
        trim(&db);
        nanos / 100.0
    })
}

/// So many threads fetch and ack, each from its own one of two partitions.
fn fetch_ack_by_threads(threads: u32) -> Run {
    let db = memory();
    create(&db, 2);
    Box::new(move |count| {
        for partition in 0..threads {
            fill_partition(&db, partition, count);
        }
        let nanos = at_once(threads, |partition| {
            let billing = db.group("orders", "billing").expect("good names");
            let partitions = [partition];
            let options = FetchOptions::new().limit(1).partitions(&partitions);
            let mut leases: Vec<Lease> = Vec::new();
            for _ in 0..count {
                billing.fetch_into(&options, &mut leases).expect("fetched");
                billing.ack(&leases[0]).expect("acked");
            }
        });
        trim(&db);
        nanos / (count * u64::from(threads)) as f64
    })
}

fn trim(db: &Instance) {
    let all = rheo_core::TrimOptions { max_len: Some(0), ..Default::default() };
    db.trim("orders", &all).expect("trimmed");
}

/// Growth: the backlog is there all the time; what a round takes is replayed after it.
fn fetch_ack_backlog(events: u64) -> Run {
    let db = filled(events);
    let billing = db.group("orders", "billing").expect("good names");
    let mut leases: Vec<Lease> = Vec::new();
    Box::new(move |count| {
        let options = FetchOptions::new().limit(1);
        let nanos = timed(count, |_| {
            billing.fetch_into(&options, &mut leases).expect("fetched");
            billing.ack(&leases[0]).expect("acked");
        });
        billing
            .replay(&rheo_core::ReplayOptions { from_sequence: Some(0.into()), ..Default::default() })
            .expect("replayed");
        nanos
    })
}

/// Growth: what there is to know of a group with so many events behind it and so many before it, a tenth of the latter
/// in flight (at most 10,000) and as many dead letters as the former's hundredth.
fn group_info(events: u64) -> Run {
    let db = filled(events * 2);
    let billing = db.group("orders", "billing").expect("good names");
    let mut left = events;
    while left > 0 {
        let leases = billing.fetch(&FetchOptions::new().limit(left.min(10_000) as usize)).expect("fetched");
        left -= leases.len() as u64;
        let (rejected, acked) = leases.split_at(leases.len() / 100);
        billing.reject_many(rejected, "no").expect("rejected");
        billing.ack_many(acked).expect("acked");
    }
    billing.fetch(&FetchOptions::new().limit((events / 10).min(10_000) as usize)).expect("fetched");
    Box::new(move |count| {
        timed(count, |_| {
            black_box(billing.info(None).expect("known"));
            black_box(billing.lag(None).expect("known"));
        })
    })
}

/// Growth: leases are acked while so many are in flight; each acked one is followed by another.
fn ack_inflight(inflight: usize, at_random: bool) -> Run {
    let db = filled(0);
    let billing = db.group("orders", "billing").expect("good names");
    Box::new(move |count| {
        fill(&db, inflight as u64);
        let mut leases = Vec::new();
        while leases.len() < inflight {
            leases.extend(billing.fetch(&FetchOptions::new().limit(10_000)).expect("fetched"));
        }
        if at_random {
            let mut state = 1_u64;
            for index in (1..leases.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                leases.swap(index, (state >> 33) as usize % (index + 1));
            }
        }
        let mut nanos = 0.0;
        let mut done = 0;
        // With few in flight the list is refilled as often as it takes; only the acks are timed.
        while done < count {
            let started = Instant::now();
            for lease in &leases {
                billing.ack(lease).expect("acked");
            }
            nanos += started.elapsed().as_nanos() as f64;
            done += leases.len() as u64;
            if done < count {
                fill(&db, inflight as u64);
                leases = billing.fetch(&FetchOptions::new().limit(inflight)).expect("fetched");
            }
        }
        drop(leases);
        trim(&db);
        nanos / done as f64
    })
}
