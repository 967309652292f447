//! Producers and consumers among stores that fail, leases that are lost, and times that are odd.

mod common;

use common::*;
use rheo_core::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering as Atomic};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

#[test]
fn a_lost_lease_tells_the_worker_that_has_it_alone() {
    let db = opened("memory:", OpenOptions::new().manual_clock(None));
    let append = |partition: u32| drop(db.append("s", &Append::json("1").partition(partition)).unwrap());
    (0..2).for_each(append);
    let (entered, entries) = channel();
    let (told, tells) = channel();
    let (go, gate) = channel::<()>();
    let (entered, told, gate) = (Mutex::new(entered), Mutex::new(told), Mutex::new(gate));
    let again = AtomicBool::new(false);
    let options = ConsumerOptions::new().concurrency(2).producer(ProducerOptions::new().lease_ms(1000));
    let consumer = Consumer::start(&group(&db), &options, move |lease, cancel| {
        let (partition, attempt) = (lease.event().partition(), lease.attempt());
        entered.lock().unwrap().send((partition, lease.event().sequence(), attempt)).unwrap();
        match (partition, lease.event().sequence(), attempt) {
            // The first time; after the reset attempts start over.
            (0, 1, 1) if !again.swap(true, Atomic::SeqCst) => until(|| cancel.is_fired()),
            (1, ..) => drop(gate.lock().unwrap().recv()),
            _ => {}
        }
        told.lock().unwrap().send((partition, cancel.is_fired())).unwrap();
        Outcome::Ack
    })
    .unwrap();
    let mut first = [entries.recv().unwrap(), entries.recv().unwrap()];
    first.sort_unstable();
    assert_eq!(first, [(0, 1, 1), (1, 1, 1)]);
    [0; 3].into_iter().for_each(append);
    let start = StartOptions { partitions: Some(vec![0]), ..StartOptions::default() };
    db.reset_group("s", "g", &ResetOptions { confirm: true, start }).unwrap();
    db.advance_clock(500).unwrap();
    assert_eq!(tells.recv().unwrap(), (0, true));
    for sequence in 1..=4 {
        assert_eq!(entries.recv().unwrap(), (0, sequence, 1));
        assert_eq!(tells.recv().unwrap(), (0, false), "the signal is not that of the work before");
    }
    go.send(()).unwrap();
    assert_eq!(tells.recv().unwrap(), (1, false));
    consumer.close(SOON).unwrap();
    assert_eq!(db.lag("s", "g", None).unwrap().lag(), 0);
}

#[test]
fn a_consumer_that_failed_holds_nothing() {
    let shown = Shown::new(true);
    let db = shown.open();
    append(&db, 10);
    shown.panics.store(true, Atomic::SeqCst);
    let producer = ProducerOptions { on_failure: OnFailure::Reject, ..ProducerOptions::new() };
    let options = ConsumerOptions::new().producer(producer.lease_ms(500));
    let consumer = Consumer::start(&group(&db), &options, |_, _| Outcome::fail("a test")).unwrap();
    assert_eq!(consumer.wait(SOON).unwrap_err().code(), ErrorCode::Internal);
    shown.panics.store(false, Atomic::SeqCst);
    // What could not be given back for the same reason runs out.
    let count = || db.fetch("s", "g", &FetchOptions::new().limit(100)).unwrap().len();
    let mut found = 0;
    let end = Instant::now() + Duration::from_millis(SOON);
    while found < 10 && Instant::now() < end {
        found += count();
    }
    assert_eq!(found, 10);
}

#[test]
fn renewing_goes_on_after_a_panic() {
    let shown = Shown::new(true);
    let db = shown.open();
    append(&db, 2);
    let producer = Producer::start(&group(&db), &ProducerOptions::new().lease_ms(400)).unwrap();
    let held = leases(producer.next(1, 0, None).unwrap());
    shown.renew_panics.store(true, Atomic::SeqCst);
    let later = leases(producer.next(1, 0, None).unwrap());
    let renewals = || shown.renewals.load(Atomic::SeqCst);
    until(|| renewals() > 5);
    for lease in held.iter().chain(&later) {
        producer.ack(lease).unwrap();
    }
}

#[test]
fn a_panic_of_a_settle_leaves_no_slot_taken() {
    let shown = Shown::new(true);
    let db = shown.open();
    append(&db, 4);
    let producer = Producer::for_consumer(&group(&db), &ConsumerOptions::new()).unwrap();
    let held = leases(producer.next(4, 0, None).unwrap());
    shown.panics.store(true, Atomic::SeqCst);
    let outcomes: Vec<Outcome> = (0..4).map(|number| Outcome::retry(number.to_string())).collect();
    assert!(catch_unwind(AssertUnwindSafe(|| producer.complete(&held, &outcomes))).is_err());
    shown.panics.store(false, Atomic::SeqCst);
    assert_eq!(producer.inflight_count().unwrap(), 0);
    assert!(producer.drain(0).unwrap());
}

#[test]
fn a_settle_by_hand_loses_nothing() {
    for _ in 0..10 {
        let db = opened("memory:", OpenOptions::new().manual_clock(None));
        append(&db, 500);
        let options = ProducerOptions::new().lease_ms(1000).max_demand(500);
        let producer = Producer::start(&group(&db), &options).unwrap();
        let held: Vec<(Interrupt, Lease)> = (0..500)
            .map(|_| {
                let cancel = Interrupt::new();
                let lease = leases(producer.next_for(1, 0, None, Some(&cancel)).unwrap()).remove(0);
                (cancel, lease)
            })
            .collect();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..20).for_each(|_| drop(db.advance_clock(500))));
            held.iter().for_each(|(_, lease)| producer.ack(lease).unwrap());
        });
        assert!(held.iter().all(|(cancel, _)| !cancel.is_fired()));
    }
}

#[test]
fn the_manual_clock_ends_a_close() {
    let db = opened("memory:", OpenOptions::new().manual_clock(None));
    append(&db, 1);
    let (handler, entries, go) = gated();
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), handler).unwrap();
    entries.recv().unwrap();
    std::thread::scope(|scope| {
        // Nobody would wait so long.
        let close = scope.spawn(|| consumer.close(3_600_000));
        until(|| !consumer.is_running().unwrap());
        until(|| db.advance_clock(3_600_000).is_ok() && close.is_finished());
        close.join().unwrap().unwrap();
    });
    drop(go);
}

#[test]
fn a_store_that_cannot_be_watched_is_asked_less_and_less() {
    let shown = Shown::new(true);
    let db = shown.open();
    shown.watch_fails.store(true, Atomic::SeqCst);
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), |_, _| Outcome::Ack).unwrap();
    let began = Instant::now();
    until(|| shown.fetches.load(Atomic::SeqCst) >= 4);
    // 100, 200 and 400 ms lie between.
    assert!(began.elapsed() >= Duration::from_millis(650), "{:?}", began.elapsed());
    shown.watch_fails.store(false, Atomic::SeqCst);
    append(&db, 1);
    until(|| db.lag("s", "g", None).unwrap().lag() == 0);
    consumer.close(SOON).unwrap();
}
