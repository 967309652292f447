//! What consumers and producers cost that have nothing to do. A program of its own, since it looks at its process.
#![cfg(target_os = "linux")]

mod common;

use common::*;
use rheo_core::*;
use std::fs;
use std::sync::atomic::Ordering as Atomic;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// How many threads of the library there are; those of the test runner come and go.
fn threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // One that has just ended has no name any more.
    let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.starts_with("rheo-")).count()
}

/// The processor time that this process has used.
fn used() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is there to be written to, and all zeros are a value of it.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    [usage.ru_utime, usage.ru_stime]
        .map(|time| Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64))
        .iter()
        .sum()
}

/// Lets some time pass in which there is nothing to do.
fn pass(millis: u64) {
    let (_never, nothing) = channel::<()>();
    assert_eq!(nothing.recv_timeout(Duration::from_millis(millis)), Err(RecvTimeoutError::Timeout));
}

#[test]
fn an_idle_consumer_does_not_poll() {
    let _alone = alone();
    let shown = Shown::new(true);
    let db = shown.open();
    let (entered, entries) = channel();
    let options = ProducerOptions { poll_ms: 1, ..ProducerOptions::new() };
    let consumer =
        Consumer::start(&group(&db), &ConsumerOptions::new().concurrency(4).producer(options), move |_, _| {
            entered.send(()).unwrap();
            Outcome::Ack
        })
        .unwrap();
    for _ in 0..5 {
        append(&db, 1);
        entries.recv().unwrap();
        until(|| consumer.inflight_count().unwrap() == 0);
        // It looks once more, watches, looks and waits; then there is nothing until it is woken.
        let mut fetches = shown.fetches.load(Atomic::SeqCst);
        loop {
            pass(50);
            match shown.fetches.load(Atomic::SeqCst) {
                same if same == fetches => break,
                more => {
                    assert!(more <= fetches + 8, "{more} fetches, {fetches} before");
                    fetches = more;
                }
            }
        }
    }
    let (fetches, before) = (shown.fetches.load(Atomic::SeqCst), used());
    pass(300);
    assert_eq!(shown.fetches.load(Atomic::SeqCst), fetches);
    assert!(used() - before < Duration::from_millis(20), "{:?}", used() - before);
    assert_eq!(shown.renewals.load(Atomic::SeqCst), 0);
    consumer.close(SOON).unwrap();
}

/// Waiting for a time is no polling either.
#[test]
fn a_consumer_that_waits_for_a_retry_looks_when_it_is_due() {
    let _alone = alone();
    let shown = Shown::new(true);
    let db = shown.open();
    append(&db, 1);
    let (entered, entries) = channel();
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), move |lease, _| {
        entered.send(lease.attempt()).unwrap();
        if lease.attempt() == 1 { Outcome::retry_after("later", 200) } else { Outcome::Ack }
    })
    .unwrap();
    assert_eq!([entries.recv().unwrap(), entries.recv().unwrap()], [1, 2]);
    until(|| consumer.inflight_count().unwrap() == 0);
    let fetches = shown.fetches.load(Atomic::SeqCst);
    assert!(fetches < 20, "{fetches} fetches for two deliveries");
    consumer.close(SOON).unwrap();
}

#[test]
fn two_hundred_consumers_share_one_thread() {
    let _alone = alone();
    let db = opened("memory:", OpenOptions::new());
    let before = threads();
    let consumers: Vec<Consumer> =
        (0..200).map(|_| Consumer::start(&group(&db), &ConsumerOptions::new(), |_, _| Outcome::Ack).unwrap()).collect();
    append(&db, 2000);
    until(|| db.lag("s", "g", None).unwrap().lag() == 0);
    assert!(threads() <= before + 200 + 1, "{} threads, {before} before", threads());
    db.close().unwrap();
    for consumer in &consumers {
        assert_eq!(consumer.wait(SOON).unwrap_err().code(), ErrorCode::Closed);
    }
    until(|| threads() <= before);
}

#[test]
fn a_thousand_idle_producers_cost_nothing() {
    let _alone = alone();
    let shown = Shown::new(true);
    let db = shown.open();
    let before = threads();
    let producers: Vec<Producer> =
        (0..1000).map(|_| Producer::start(&group(&db), &ProducerOptions::new()).unwrap()).collect();
    assert!(threads() <= before + 1);
    let (fetches, time) = (shown.fetches.load(Atomic::SeqCst), used());
    pass(300);
    assert_eq!(shown.fetches.load(Atomic::SeqCst), fetches);
    assert!(used() - time < Duration::from_millis(20), "{:?}", used() - time);
    drop(producers);
    db.close().unwrap();
    until(|| threads() <= before);
}
