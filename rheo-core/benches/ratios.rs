//! Measures the engine against floors: loops that do only what an operation cannot do without. Floor and subject
//! alternate, round after round, in one process; what is printed is the median over the rounds, in nanoseconds for
//! one event. Absolute times say little on a shared machine; `bench/run.py` turns them into ratios.
//!
//! Memory is warmed and reused: the allocator is told to keep what it has, and each round's stream is deleted before
//! the next.
//!
//! Arguments: a part of the names to run only those; `--rounds N`; `--quick`.

use crossbeam_utils::CachePadded;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use rheo_core::{
    Append, AppendOptions, Clock, FetchOptions, GroupOptions, Instance, Lease, OpenOptions, StreamOptions, open,
};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const PAYLOAD: [u8; 128] = [b'x'; 128];

/// What is measured: does `count` events and returns the nanoseconds for one.
type Run = Box<dyn FnMut(u64) -> f64>;

/// A case's name, how many events one round does, and what makes it.
type Named = (&'static str, u64, fn() -> Run);

struct Case {
    name: &'static str,
    count: u64,
    run: Run,
    samples: Vec<f64>,
}

fn main() {
    keep_memory();
    let mut rounds = 9;
    let mut scale = 1;
    let mut only = String::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--rounds" => rounds = arguments.next().and_then(|n| n.parse().ok()).expect("--rounds takes a number"),
            "--quick" => scale = 10,
            _ => only = argument,
        }
    }
    let cases: [Named; 17] = [
        ("floor_append", 200_000, floor_append),
        ("append_by_name", 200_000, append_by_name),
        ("append_bound", 200_000, append_bound),
        ("append_batch_100", 200_000, append_batch),
        ("floor_fetch_ack", 200_000, floor_fetch_ack),
        ("fetch_ack_by_name", 200_000, fetch_ack_by_name),
        ("fetch_ack_bound", 200_000, fetch_ack_bound),
        ("fetch_100_ack_many", 200_000, fetch_many),
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
    let mut cases: Vec<Case> = cases
        .into_iter()
        .filter(|(name, ..)| name.contains(&only))
        .map(|(name, count, make)| Case { name, count: count / scale, run: make(), samples: Vec::new() })
        .collect();
    // The first round touches memory for the first time and does not count.
    for round in 0..=rounds {
        for case in &mut cases {
            let nanos = (case.run)(case.count);
            if round > 0 {
                case.samples.push(nanos);
            }
        }
    }
    for case in &mut cases {
        case.samples.sort_by(f64::total_cmp);
        println!("{}\t{:.1}", case.name, case.samples[case.samples.len() / 2]);
    }
}

/// Tells glibc to keep freed memory instead of giving it back and touching it anew.
fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets two tunables of the allocator, before there are other threads.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
}

fn timed(count: u64, mut one: impl FnMut(u64)) -> f64 {
    let started = Instant::now();
    for index in 0..count {
        one(index);
    }
    started.elapsed().as_nanos() as f64 / count as f64
}

fn memory() -> Instance {
    open("memory:", OpenOptions::new()).expect("memory opens")
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

fn append_bound() -> Run {
    let db = memory();
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
    db.create_stream("orders", StreamOptions::default()).expect("created");
    db.create_group("orders", "billing", &GroupOptions::default()).expect("created");
    fill(&db, events);
    db
}

fn fill(db: &Instance, events: u64) {
    let items = [Append::bytes(&PAYLOAD); 1000];
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

fn fetch_ack_bound() -> Run {
    let db = filled(0);
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
