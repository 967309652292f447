//! Producers and consumers with many threads: the order of keys, renewal beside blocked handlers, wake-ups.

mod common;

use common::*;
use rheo_core::*;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Atomic};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Numbers that look random, by which thread and run they are asked for.
fn draw(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// How far the events of a key are.
#[derive(Default)]
struct Key {
    /// How many are acked or dead.
    ended: u64,
    is_running: bool,
}

/// Issue 7, item 3: each key's order holds, and one key that has much to do keeps no handler from the others.
#[test]
fn each_key_keeps_its_order_and_others_fill_the_slots() {
    const KEYS: u64 = 1000;
    const EACH: u64 = 5;
    /// So many events of one key come first.
    const HOT: u64 = 200;
    const ATTEMPTS: u32 = 3;
    // What a handler asserts fails that handler alone.
    let (panics, telemetry) = counted(TelemetryName::WorkerCrash);
    let db = open("memory:", OpenOptions::new().telemetry(telemetry)).unwrap();
    db.create_stream("s", StreamOptions::partitions(3)).unwrap();
    let options = GroupOptions { ordering: Ordering::Key, max_attempts: Some(ATTEMPTS), ..GroupOptions::default() };
    db.create_group("s", "g", &options).unwrap();
    let of_key = |key: u64, number: u64| {
        db.append("s", &Append::json(&number.to_string()).key(&format!("key-{key}"))).unwrap();
    };
    (0..HOT).for_each(|number| of_key(0, number));
    (0..EACH).for_each(|number| (1..KEYS).for_each(|key| of_key(key, number)));

    let keys: Arc<Mutex<HashMap<String, Key>>> = Arc::default();
    let [running, most, handled] = [0; 3].map(|_| Arc::new(AtomicUsize::new(0)));
    let options = ConsumerOptions::new().concurrency(16).producer(ProducerOptions::new().max_demand(100));
    let consumer = Consumer::start(&group(&db), &options, {
        let (keys, most, handled) = (Arc::clone(&keys), Arc::clone(&most), Arc::clone(&handled));
        move |lease, _| {
            let name = lease.event().key().unwrap().to_owned();
            let number: u64 = std::str::from_utf8(lease.event().payload()).unwrap().parse().unwrap();
            {
                let mut keys = keys.lock().unwrap();
                let key = keys.entry(name.clone()).or_default();
                assert!(!key.is_running, "{name}: two at a time");
                assert_eq!(key.ended, number, "{name}: out of its order");
                key.is_running = true;
            }
            let now = running.fetch_add(1, Atomic::SeqCst) + 1;
            most.fetch_max(now, Atomic::SeqCst);
            // Until so many have run at once, they wait for each other.
            until(|| most.load(Atomic::SeqCst) >= 12);
            let random = draw(handled.fetch_add(1, Atomic::SeqCst) as u64);
            if random.is_multiple_of(4) {
                thread::park_timeout(Duration::from_micros(random >> 32 & 0xff));
            }
            running.fetch_sub(1, Atomic::SeqCst);
            let (outcome, ends) = match random >> 8 & 0xf {
                0 => (Outcome::retry_after("again", 0), lease.attempt() == ATTEMPTS),
                1 => (Outcome::retry_after("later", 1), lease.attempt() == ATTEMPTS),
                2 => (Outcome::reject("no"), true),
                3 => (Outcome::Release, false),
                _ => (Outcome::Ack, true),
            };
            let mut keys = keys.lock().unwrap();
            let key = keys.get_mut(&name).unwrap();
            key.ended += u64::from(ends);
            key.is_running = false;
            outcome
        }
    })
    .unwrap();
    until(|| db.lag("s", "g", None).unwrap().lag() == 0);
    assert!(consumer.drain(SOON).unwrap());
    consumer.close(SOON).unwrap();
    assert_eq!(panics.load(Atomic::SeqCst), 0);
    let keys = keys.lock().unwrap();
    assert_eq!(keys.len() as u64, KEYS);
    assert!(keys.iter().all(|(name, key)| key.ended == if name == "key-0" { HOT } else { EACH }));
    assert!(most.load(Atomic::SeqCst) >= 12);
}

#[test]
fn two_consumers_share_the_events_of_a_group() {
    const EVENTS: usize = 4000;
    let (panics, telemetry) = counted(TelemetryName::WorkerCrash);
    let db = opened("memory:", OpenOptions::new().telemetry(telemetry));
    let handled: Arc<Mutex<HashSet<String>>> = Arc::default();
    let served = Arc::new(AtomicUsize::new(0));
    let options = ConsumerOptions::new().concurrency(2);
    let consumers = [(); 2].map(|()| {
        let (handled, served) = (Arc::clone(&handled), Arc::clone(&served));
        let is_first = AtomicBool::new(true);
        Consumer::start(&group(&db), &options, move |lease, _| {
            assert!(handled.lock().unwrap().insert(lease.event().id().to_string()), "handled twice");
            if is_first.swap(false, Atomic::SeqCst) {
                served.fetch_add(1, Atomic::SeqCst);
            }
            Outcome::Ack
        })
        .unwrap()
    });
    append(&db, EVENTS);
    let mut more = 0;
    // Each gets some in the end.
    while served.load(Atomic::SeqCst) < 2 {
        append(&db, 1);
        more += 1;
    }
    until(|| db.lag("s", "g", None).unwrap().lag() == 0);
    assert_eq!(handled.lock().unwrap().len(), EVENTS + more);
    assert_eq!(panics.load(Atomic::SeqCst), 0);
    for consumer in consumers {
        consumer.close(SOON).unwrap();
    }
}

/// Failure case 12 and its like: heartbeats are nobody's business but ours. The lease is long enough for a busy machine, whose threads wait
/// for the processor.
#[test]
fn blocked_handlers_starve_no_renewal() {
    let (panics, telemetry) = counted(TelemetryName::WorkerCrash);
    let db = opened("memory:", OpenOptions::new().telemetry(telemetry));
    append(&db, 4);
    let deliveries = Arc::new(AtomicUsize::new(0));
    let (blocker, blocked) = channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let options = ConsumerOptions::new().concurrency(2).producer(ProducerOptions::new().lease_ms(400));
    let consumers = [(); 2].map(|()| {
        let (deliveries, blocked) = (Arc::clone(&deliveries), Arc::clone(&blocked));
        Consumer::start(&group(&db), &options, move |lease, cancel| {
            deliveries.fetch_add(1, Atomic::SeqCst);
            assert_eq!(lease.attempt(), 1);
            // The others wait for this one, so that they block even longer.
            let end = blocked.lock().unwrap().recv_timeout(Duration::from_millis(900));
            assert_eq!(end, Err(RecvTimeoutError::Timeout));
            assert!(!cancel.is_fired());
            Outcome::Ack
        })
        .unwrap()
    });
    until(|| db.lag("s", "g", None).unwrap().lag() == 0);
    assert_eq!((deliveries.load(Atomic::SeqCst), panics.load(Atomic::SeqCst)), (4, 0));
    for consumer in consumers {
        consumer.close(SOON).unwrap();
    }
    drop(blocker);
}

#[test]
fn all_producers_of_an_instance_renew_together() {
    const PRODUCERS: usize = 100;
    let (renewals, telemetry) = counted(TelemetryName::Renew);
    let db = opened("memory:", OpenOptions::new().manual_clock(None).telemetry(telemetry));
    append(&db, PRODUCERS);
    let options = ProducerOptions::new().lease_ms(1000);
    let producers: Vec<Producer> = (0..PRODUCERS).map(|_| Producer::start(&group(&db), &options).unwrap()).collect();
    for producer in &producers {
        assert_eq!(leases(producer.next(1, 0, None).unwrap()).len(), 1);
    }
    for round in 1..=10 {
        db.advance_clock(500).unwrap();
        assert_eq!(renewals.load(Atomic::SeqCst), round);
    }
    assert!(db.fetch("s", "g", &FetchOptions::new()).unwrap().is_empty());
}

/// Appends meet threads that are about to wait, at every point of that.
#[test]
fn no_wake_up_is_lost() {
    let db = opened("memory:", OpenOptions::new());
    let (entered, entries) = channel();
    let entered = Mutex::new(entered);
    let options = ConsumerOptions::new().concurrency(3).producer(ProducerOptions::new().max_demand(3));
    let start = || {
        let entered = Mutex::new(entered.lock().unwrap().clone());
        let handler = move |_: &Lease, _: &Interrupt| {
            entered.lock().unwrap().send(()).unwrap();
            Outcome::Ack
        };
        Consumer::start(&group(&db), &options, handler).unwrap()
    };
    let wait = |count: usize| {
        (0..count).for_each(|_| entries.recv_timeout(Duration::from_millis(SOON)).expect("a wake-up was lost"));
    };
    let mut consumer = start();
    for round in 0..10_000_u64 {
        let random = draw(round);
        let count = 1 + (random & 3) as usize;
        append(&db, count);
        if random & 0xf0 == 0 {
            // What is left to the next one is found by it.
            consumer.drain(SOON).unwrap();
            consumer = start();
        }
        wait(count);
        (0..random >> 8 & 0xff).for_each(|_| std::hint::spin_loop());
    }
    consumer.close(SOON).unwrap();
    assert_eq!(db.lag("s", "g", None).unwrap().lag(), 0);
}

/// Slots that come free meet threads that are about to wait for one.
#[test]
fn no_free_slot_is_lost() {
    const THREADS: usize = 6;
    const EVENTS: usize = 20_000;
    let db = opened("memory:", OpenOptions::new());
    let producer = Producer::start(&group(&db), &ProducerOptions::new().max_demand(2)).unwrap();
    let left = AtomicUsize::new(EVENTS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    match producer.next(1, SOON, None).unwrap() {
                        Next::Leases(leases) => {
                            assert!(producer.inflight_count().unwrap() <= 2);
                            leases.iter().for_each(|lease| producer.ack(lease).unwrap());
                            if left.fetch_sub(leases.len(), Atomic::SeqCst) == leases.len() {
                                producer.close(0).unwrap();
                            }
                        }
                        Next::Stopped => break,
                        nothing => panic!("{nothing:?}, and {} are left", left.load(Atomic::SeqCst)),
                    }
                }
            });
        }
        append(&db, EVENTS);
    });
    assert_eq!(db.lag("s", "g", None).unwrap().lag(), 0);
}
