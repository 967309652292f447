//! Producers and consumers (contract, section 6): what only shows in Rust, with threads and faults. The rules themselves are in the scenarios.

mod common;

use common::*;
use rheo_core::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering as Atomic};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

#[test]
fn a_producer_never_holds_more_than_it_may() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 10);
    let producer = Producer::start(&group(&db), &ProducerOptions::new().max_demand(3)).unwrap();
    let held = leases(producer.next(10, 0, None).unwrap());
    assert_eq!((held.len(), producer.inflight_count().unwrap()), (3, 3));
    assert!(matches!(producer.next(10, 0, None).unwrap(), Next::Nothing { .. }));
    producer.ack(&held[0]).unwrap();
    assert_eq!(producer.ack(&held[0]).unwrap_err().code(), ErrorCode::StaleLease);
    db.ack(&held[1]).unwrap();
    assert_eq!(producer.inflight_count().unwrap(), 2);
    assert_eq!(producer.confirm(&[held[1].lease_id(), held[0].lease_id()]).unwrap(), 1);
    let mut refilled = held;
    assert!(producer.next_into(10, 0, None, &mut refilled).unwrap());
    assert_eq!(refilled.len(), 2);
    producer.close(0).unwrap();
    assert!(!producer.next_into(10, 0, None, &mut refilled).unwrap());
    assert!(refilled.is_empty());
    drop(producer);
    // What was not settled is there again.
    assert_eq!(db.fetch("s", "g", &FetchOptions::new()).unwrap().len(), 8);
}

#[test]
fn leases_are_renewed_on_a_manual_clock_and_lost_ones_dropped() {
    let db = opened("memory:", OpenOptions::new().manual_clock(None));
    append(&db, 2);
    let producer = Producer::start(&group(&db), &ProducerOptions::new().lease_ms(1000)).unwrap();
    let cancel = Interrupt::new();
    let held = leases(producer.next_for(2, 0, None, Some(&cancel)).unwrap());
    for _ in 0..20 {
        db.advance_clock(500).unwrap();
        assert!(db.fetch("s", "g", &FetchOptions::new()).unwrap().is_empty());
    }
    assert!(!cancel.is_fired());
    db.reset_group("s", "g", &ResetOptions { confirm: true, ..ResetOptions::default() }).unwrap();
    db.advance_clock(500).unwrap();
    assert!(cancel.is_fired());
    assert_eq!(producer.inflight_count().unwrap(), 0);
    assert_eq!(producer.ack(&held[0]).unwrap_err().code(), ErrorCode::StaleLease);
}

#[test]
fn of_many_under_one_signal_it_is_told_which_it_was() {
    let db = opened("memory:", OpenOptions::new().manual_clock(None));
    append(&db, 3);
    let options = ConsumerOptions { max_lease_ms: 1000, ..ConsumerOptions::new() };
    let producer = Producer::for_consumer(&group(&db), &options).unwrap();
    let cancel = Interrupt::new();
    let first = leases(producer.next_for(2, 0, None, Some(&cancel)).unwrap());
    db.advance_clock(500).unwrap();
    let second = leases(producer.next_for(1, 0, None, Some(&cancel)).unwrap());
    let tokens: Vec<&LeaseToken> = first.iter().chain(&second).map(Lease::token).collect();
    assert_eq!(producer.cancelled(&tokens).unwrap(), [false, false, false]);
    producer.complete(&tokens[..1], &[Outcome::Ack]).unwrap();
    db.advance_clock(500).unwrap();
    assert!(cancel.is_fired());
    assert_eq!(producer.cancelled(&tokens).unwrap(), [true, true, false]);
    producer.close(0).unwrap();
    assert_eq!(producer.cancelled(&tokens).unwrap(), [true, true, true]);
}

#[test]
fn draining_waits_for_what_is_held() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 3);
    let producer = Producer::start(&group(&db), &ProducerOptions::new().max_demand(2)).unwrap();
    let held = leases(producer.next(2, 0, None).unwrap());
    assert!(!producer.drain(1).unwrap());
    let (drained, other) = std::thread::scope(|scope| {
        let drain = scope.spawn(|| {
            loop {
                match producer.drain(SOON) {
                    // The one below was quicker.
                    Err(error) if error.code() == ErrorCode::AlreadyDraining => {}
                    drained => return drained,
                }
            }
        });
        until(|| matches!(producer.drain(0), Err(error) if error.code() == ErrorCode::AlreadyDraining));
        for lease in &held {
            producer.ack(lease).unwrap();
        }
        (drain.join().unwrap(), producer.next(1, SOON, None))
    });
    assert!(drained.unwrap());
    assert!(matches!(other.unwrap(), Next::Stopped));
    assert_eq!(db.fetch("s", "g", &FetchOptions::new()).unwrap().len(), 1);
}

#[test]
fn waiting_ends_by_an_append_an_interrupt_a_drain_and_the_time() {
    let db = opened("memory:", OpenOptions::new());
    let producer = Producer::start(&group(&db), &ProducerOptions::new()).unwrap();
    let interrupt = Interrupt::new();
    std::thread::scope(|scope| {
        let waiters: Vec<_> =
            (0..3).map(|_| scope.spawn(|| producer.next(1, SOON, Some(&interrupt)).unwrap())).collect();
        append(&db, 1);
        until(|| waiters.iter().any(|waiter| waiter.is_finished()));
        interrupt.fire();
        let ends: Vec<Next> = waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect();
        assert_eq!(ends.iter().filter(|end| matches!(end, Next::Leases(_))).count(), 1);
        interrupt.reset();
        let waiter = scope.spawn(|| producer.next(1, SOON, None).unwrap());
        assert!(!producer.drain(0).unwrap());
        assert!(matches!(waiter.join().unwrap(), Next::Stopped));
    });
    let producer = Producer::start(&group(&db), &ProducerOptions::new()).unwrap();
    assert!(matches!(producer.next(1, 1, None).unwrap(), Next::Nothing { .. }));
}

#[test]
fn waiting_ends_by_closing_the_instance_and_says_so() {
    // Often, as the close comes now before the wait, now during it.
    for _ in 0..100 {
        let db = opened("memory:", OpenOptions::new());
        let producer = Producer::start(&group(&db), &ProducerOptions::new()).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| producer.next(1, SOON, None));
            db.close().unwrap();
            assert_eq!(waiter.join().unwrap().unwrap_err().code(), ErrorCode::Closed);
        });
    }
}

#[test]
fn bad_options_and_names_are_refused_at_the_start() {
    let db = opened("memory:", OpenOptions::new());
    let code = |options: &ConsumerOptions| {
        Consumer::start(&group(&db), options, |_, _| Outcome::Ack).map(drop).unwrap_err().code()
    };
    for (key, value) in [
        ("concurrency", "0"),
        ("concurrency", "10001"),
        ("batch_size", "0"),
        ("max_demand", "0"),
        ("max_demand", "10001"),
        ("lease_ms", "0"),
        ("poll_ms", "0"),
        ("consumer_id", ""),
        ("partitions", ""),
        ("retry_delay", "exponential:5:1"),
        ("max_lease_ms", "9999999999999"),
    ] {
        let mut options = ConsumerOptions::new();
        options.set(key, value).unwrap();
        assert_eq!(code(&options), ErrorCode::InvalidArgument, "{key}={value}");
    }
    for (key, value) in [("concurrency", "-1"), ("on_failure", "ack"), ("retry_delay", "x"), ("consumers", "1")] {
        let error = ConsumerOptions::new().set(key, value).unwrap_err();
        assert!(error.code() == ErrorCode::InvalidArgument && error.message().contains(key), "{error}");
    }
    assert_eq!(ProducerOptions::new().set("concurrency", "1").unwrap_err().code(), ErrorCode::InvalidArgument);
    let partition = ConsumerOptions::new().producer(ProducerOptions::new().partitions([2]));
    assert_eq!(code(&partition), ErrorCode::InvalidPartition);
    for (stream, name, code) in [("x", "g", ErrorCode::StreamNotFound), ("s", "x", ErrorCode::GroupNotFound)] {
        let missing = db.group(stream, name).unwrap();
        assert_eq!(Producer::start(&missing, &ProducerOptions::new()).unwrap_err().code(), code);
    }
}

#[test]
fn every_event_ends_as_its_last_outcome_says() {
    const EVENTS: usize = 10_000;
    let db = opened("memory:", OpenOptions::new());
    db.update_group("s", "g", &GroupUpdate { max_attempts: Some(4), max_deliveries: None }).unwrap();
    append(&db, EVENTS);
    let last: Arc<Mutex<HashMap<String, (u32, u8)>>> = Arc::default();
    let random = AtomicU64::new(1);
    let options = ConsumerOptions::new().concurrency(8).producer(ProducerOptions::new().max_demand(200));
    let consumer = Consumer::start(&group(&db), &options, {
        let last = Arc::clone(&last);
        move |lease, _| {
            let draw = (random.fetch_add(0x9e37_79b9_7f4a_7c15, Atomic::Relaxed) >> 33) % 10;
            let kind = match draw {
                0 | 1 => 1,
                2 => 2,
                3 => 3,
                _ => 0,
            };
            last.lock().unwrap().insert(lease.event().id().to_string(), (lease.attempt(), kind));
            match kind {
                1 => Outcome::retry_after("again", 0),
                2 => Outcome::reject("no"),
                3 => panic!("a test"),
                _ => Outcome::Ack,
            }
        }
    })
    .unwrap();
    until(|| db.lag("s", "g", None).unwrap().lag() == 0);
    assert!(consumer.drain(SOON).unwrap());
    consumer.close(SOON).unwrap();
    let mut dead: HashMap<String, String> = HashMap::new();
    let mut after = None;
    loop {
        let page = DeadLetterOptions { limit: Some(1000), after, partitions: None };
        let letters = db.dead_letters("s", "g", &page).unwrap();
        let Some(end) = letters.last() else { break };
        after = Some(end.event.id().to_string());
        dead.extend(letters.iter().map(|letter| (letter.event.id().to_string(), letter.reason.clone())));
    }
    let last = last.lock().unwrap();
    assert_eq!(last.len(), EVENTS);
    for (id, (attempt, kind)) in last.iter() {
        match (kind, dead.get(id)) {
            (0, None) => {}
            (2, Some(reason)) => assert_eq!(reason, "no"),
            (1 | 3, Some(_)) => assert_eq!(*attempt, 4),
            (kind, letter) => panic!("{id} ended with {kind} at attempt {attempt}, and is {letter:?}"),
        }
    }
}

#[test]
fn closing_gives_back_at_once_what_no_handler_has() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 10);
    let (handler, entries, go) = gated();
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), handler).unwrap();
    entries.recv().unwrap();
    assert_eq!(consumer.inflight_count().unwrap(), 10);
    assert!(!consumer.drain(0).unwrap());
    assert_eq!(db.fetch("s", "g", &FetchOptions::new().limit(100)).unwrap().len(), 9);
    std::thread::scope(|scope| {
        let close = scope.spawn(|| consumer.close(SOON));
        go.send(Outcome::Ack).unwrap();
        close.join().unwrap().unwrap();
    });
    assert!(consumer.wait(SOON).unwrap() && !consumer.is_running().unwrap());
    assert_eq!(db.group_info("s", "g", None).unwrap().inflight_count, 9);
}

#[test]
fn a_handler_that_does_not_return_is_told_and_left() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 1);
    let [cancelled, begun] = [0; 2].map(|_| Arc::new(AtomicBool::new(false)));
    let (left, is_left) = channel::<()>();
    let is_left = Mutex::new(is_left);
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), {
        let (cancelled, begun) = (Arc::clone(&cancelled), Arc::clone(&begun));
        move |_, cancel| {
            begun.store(true, Atomic::SeqCst);
            until(|| cancel.is_fired());
            cancelled.store(true, Atomic::SeqCst);
            let _ = is_left.lock().unwrap().recv();
            Outcome::Ack
        }
    })
    .unwrap();
    until(|| begun.load(Atomic::SeqCst));
    consumer.close(1).unwrap();
    until(|| cancelled.load(Atomic::SeqCst));
    let again = db.fetch("s", "g", &FetchOptions::new()).unwrap();
    assert_eq!(again.len(), 1);
    drop(left);
    assert!(consumer.wait(SOON).unwrap());
    // What it said came too late.
    db.ack(&again[0]).unwrap();
}

#[test]
fn a_lease_is_not_renewed_beyond_its_limit() {
    let db = opened("memory:", OpenOptions::new().manual_clock(None));
    append(&db, 1);
    let (handler, entries, go) = gated();
    let mut options = ConsumerOptions::new().producer(ProducerOptions::new().lease_ms(1000));
    options.max_lease_ms = 2000;
    let consumer = Consumer::start(&group(&db), &options, handler).unwrap();
    entries.recv().unwrap();
    for _ in 0..4 {
        assert!(db.fetch("s", "g", &FetchOptions::new()).unwrap().is_empty());
        db.advance_clock(500).unwrap();
    }
    db.advance_clock(1000).unwrap();
    // This one got it a second time: the first handler still runs.
    let again = db.fetch("s", "g", &FetchOptions::new()).unwrap();
    assert_eq!(again[0].attempt(), 2);
    go.send(Outcome::Ack).unwrap();
    consumer.close(SOON).unwrap();
    db.ack(&again[0]).unwrap();
}

#[test]
fn fetches_that_fail_are_repeated_later_and_later() {
    let (errors, telemetry) = counted(TelemetryName::FetchError);
    let db = opened("flaky:memory:", OpenOptions::new().manual_clock(None).telemetry(telemetry));
    append(&db, 1);
    db.create_stream("flaky!unavailable:fetch:3", StreamOptions::default()).unwrap();
    let producer = Producer::start(&group(&db), &ProducerOptions::new()).unwrap();
    for (failures, wait) in [(1, 100), (2, 200), (3, 400)] {
        for _ in 0..2 {
            assert!(matches!(producer.next(1, 0, None).unwrap(), Next::Nothing { .. }));
            assert_eq!(errors.load(Atomic::SeqCst), failures);
        }
        db.advance_clock(wait).unwrap();
    }
    assert_eq!(leases(producer.next(1, 0, None).unwrap()).len(), 1);
}

#[test]
fn only_a_definite_failure_of_a_settle_is_repeated() {
    for (fault, repeated) in [("failed", true), ("ambiguous", false), ("ambiguous-undone", false), ("timeout", false)] {
        let (errors, telemetry) = counted(TelemetryName::SettleError);
        let db = opened("flaky:memory:", OpenOptions::new().manual_clock(None).telemetry(telemetry));
        append(&db, 1);
        db.create_stream(&format!("flaky!{fault}:settle:2"), StreamOptions::default()).unwrap();
        let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), |_, _| Outcome::Ack).unwrap();
        until(|| errors.load(Atomic::SeqCst) == 1);
        let settled = || db.group_info("s", "g", None).unwrap().inflight_count == 0;
        if repeated {
            until(|| consumer.inflight_count().unwrap() == 1);
            for (wait, all) in [(100, 2), (199, 2), (1, 2)] {
                assert!(!settled());
                db.advance_clock(wait).unwrap();
                assert_eq!(errors.load(Atomic::SeqCst), all);
            }
            assert!(settled());
        } else {
            until(|| consumer.inflight_count().unwrap() == 0);
            // Left to expire, unless it was done.
            db.advance_clock(20_000).unwrap();
            assert_eq!((errors.load(Atomic::SeqCst), settled()), (1, fault == "ambiguous"));
        }
        consumer.close(SOON).unwrap();
    }
}

#[test]
fn a_consumer_ends_with_its_group_and_its_instance() {
    for what in ["group", "stream", "instance"] {
        let db = opened("memory:", OpenOptions::new());
        let consumer =
            Consumer::start(&group(&db), &ConsumerOptions::new().concurrency(3), |_, _| Outcome::Ack).unwrap();
        assert!(!consumer.wait(1).unwrap());
        let code = match what {
            "group" => db.delete_group("s", "g").map(|()| ErrorCode::GroupNotFound),
            "stream" => db.delete_stream("s", true).map(|()| ErrorCode::StreamNotFound),
            _ => db.close().map(|()| ErrorCode::Closed),
        };
        assert_eq!(consumer.wait(SOON).unwrap_err().code(), code.unwrap());
        consumer.close(SOON).unwrap();
    }
}

#[test]
fn a_handler_may_close_its_consumer() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 5);
    let own: Arc<Mutex<Option<Consumer>>> = Arc::default();
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), {
        let own = Arc::clone(&own);
        move |_, _| {
            until(|| own.lock().unwrap().is_some());
            let own = own.lock().unwrap().clone().unwrap();
            own.close(SOON).unwrap();
            assert!(!own.drain(SOON).unwrap());
            assert!(!own.wait(SOON).unwrap());
            Outcome::Ack
        }
    })
    .unwrap();
    *own.lock().unwrap() = Some(consumer.clone());
    assert!(consumer.wait(SOON).unwrap());
    own.lock().unwrap().take();
    assert_eq!(db.lag("s", "g", None).unwrap().lag(), 4);
    assert_eq!(db.fetch("s", "g", &FetchOptions::new()).unwrap().len(), 4);
}

#[test]
fn batches_fill_or_time_out_and_settle_one_by_one() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 7);
    let (sizes, seen) = channel();
    let sizes = Mutex::new(sizes);
    let mut options = ConsumerOptions::new().batch_size(5);
    options.batch_timeout_ms = 50;
    let consumer = Consumer::start_batches(&group(&db), &options, move |work, outcomes| {
        sizes.lock().unwrap().send(work.leases().len()).unwrap();
        for lease in work.leases() {
            outcomes.push(if lease.event().payload() == b"3" { Outcome::reject("three") } else { Outcome::Ack });
        }
    })
    .unwrap();
    assert_eq!([seen.recv().unwrap(), seen.recv().unwrap()], [5, 2]);
    consumer.close(SOON).unwrap();
    let dead = db.dead_letters("s", "g", &DeadLetterOptions::default()).unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!(db.lag("s", "g", None).unwrap().lag(), 0);
}

#[test]
fn a_batch_that_waited_longer_than_its_limit_is_told_of_it_all_the_same() {
    let db = opened("memory:", OpenOptions::new().manual_clock(None));
    append(&db, 1);
    let (told, tells) = channel();
    let told = Mutex::new(told);
    let mut options = ConsumerOptions::new().batch_size(2);
    (options.batch_timeout_ms, options.max_lease_ms) = (5000, 1000);
    let consumer = Consumer::start_batches(&group(&db), &options, move |work, _| {
        told.lock().unwrap().send(work.is_cancelled()).unwrap();
        until(|| work.is_cancelled());
        told.lock().unwrap().send(work.is_cancelled()).unwrap();
    })
    .unwrap();
    let began = || tells.try_recv().inspect(|cancelled| assert!(!cancelled)).is_ok();
    until(|| db.advance_clock(100).is_ok() && began());
    db.advance_clock(1000).unwrap();
    assert!(tells.recv().unwrap());
    consumer.close(SOON).unwrap();
}

#[test]
fn a_drain_waits_for_a_fetch_that_is_under_way() {
    let shown = Shown::new(true);
    let db = shown.open();
    append(&db, 1);
    shown.holds_fetch.store(true, Atomic::SeqCst);
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), |_, _| Outcome::Ack).unwrap();
    until(|| shown.is_held.load(Atomic::SeqCst));
    assert!(!consumer.drain(0).unwrap());
    std::thread::scope(|scope| {
        let drain = scope.spawn(|| consumer.drain(SOON));
        shown.holds_fetch.store(false, Atomic::SeqCst);
        assert!(drain.join().unwrap().unwrap());
    });
    // Nobody had begun with it.
    assert_eq!(db.fetch("s", "g", &FetchOptions::new()).unwrap()[0].attempt(), 1);
}

#[test]
fn gathered_acks_do_not_wait_for_the_next_demand() {
    for lease_ms in [40, 30_000] {
        let db = opened("memory:", OpenOptions::new());
        append(&db, 2);
        let options = ConsumerOptions::new().producer(ProducerOptions::new().lease_ms(lease_ms));
        let producer = Producer::for_consumer(&group(&db), &options).unwrap();
        let held = leases(producer.next(1, 0, None).unwrap());
        producer.complete(&held, &[Outcome::Ack]).unwrap();
        // The other one is held by nobody, and renewed.
        until(|| db.lag("s", "g", None).unwrap().lag() == 1);
        assert_eq!(producer.inflight_count().unwrap(), 1);
        assert_eq!(leases(producer.next(1, 0, None).unwrap())[0].attempt(), 1);
    }
}

#[test]
fn a_handler_is_told_that_its_instance_is_closed() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 1);
    let (entered, entries) = channel();
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), move |_, cancel| {
        entered.send(()).unwrap();
        until(|| cancel.is_fired());
        Outcome::Ack
    })
    .unwrap();
    entries.recv().unwrap();
    db.close().unwrap();
    assert_eq!(consumer.wait(SOON).unwrap_err().code(), ErrorCode::Closed);
}

#[test]
fn whoever_waits_learns_that_the_instance_was_closed() {
    for _ in 0..200 {
        let db = opened("memory:", OpenOptions::new());
        let producer = Producer::start(&group(&db), &ProducerOptions::new()).unwrap();
        std::thread::scope(|scope| {
            let waiters = [(); 3].map(|()| scope.spawn(|| producer.next(1, SOON, None)));
            db.close().unwrap();
            for waiter in waiters {
                assert_eq!(waiter.join().unwrap().unwrap_err().code(), ErrorCode::Closed);
            }
        });
    }
}

#[test]
fn a_panic_that_is_not_the_handlers_ends_the_consumer() {
    let shown = Shown::new(true);
    let db = shown.open();
    shown.panics.store(true, Atomic::SeqCst);
    append(&db, 1);
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), |_, _| Outcome::Ack).unwrap();
    assert_eq!(consumer.wait(SOON).unwrap_err().code(), ErrorCode::Internal);
    assert!(!consumer.is_running().unwrap());
    shown.panics.store(false, Atomic::SeqCst);
    consumer.close(SOON).unwrap();
}

#[test]
fn a_store_that_does_not_notify_is_polled() {
    let shown = Shown::new(false);
    let db = shown.open();
    let (entered, entries) = channel();
    let producer = ProducerOptions { poll_ms: 5, ..ProducerOptions::new() };
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new().producer(producer), move |_, _| {
        entered.send(()).unwrap();
        Outcome::Ack
    })
    .unwrap();
    for _ in 0..3 {
        let fetches = shown.fetches.load(Atomic::SeqCst);
        until(|| shown.fetches.load(Atomic::SeqCst) > fetches + 2);
        append(&db, 1);
        entries.recv().unwrap();
    }
    consumer.close(SOON).unwrap();
    let rare = ProducerOptions { poll_ms: 3_600_000, ..ProducerOptions::new() };
    let producer = Producer::start(&group(&db), &rare).unwrap();
    let fetches = shown.fetches.load(Atomic::SeqCst);
    assert!(matches!(producer.next(1, 50, None).unwrap(), Next::Nothing { .. }));
    assert!(shown.fetches.load(Atomic::SeqCst) <= fetches + 3);
}

#[test]
fn telemetry_hears_of_everything_that_happens() {
    type Told = Vec<(TelemetryName, Option<ErrorCode>)>;
    let told: Arc<Mutex<Told>> = Arc::default();
    let telling = Arc::clone(&told);
    let telemetry = Telemetry::new(move |event| {
        if event.name.number() >= TelemetryName::ConsumerStart.number() {
            assert_eq!((event.stream, event.group, event.partition), ("s", Some("g"), None));
            telling.lock().unwrap().push((event.name, event.error));
        }
    });
    let all = || std::mem::take(&mut *told.lock().unwrap());
    let db = opened("flaky:memory:", OpenOptions::new().telemetry(telemetry));
    let arm = |what: &str| db.create_stream(&format!("flaky!{what}"), StreamOptions::default()).unwrap();

    let producer = Producer::start(&group(&db), &ProducerOptions::new()).unwrap();
    arm("unavailable:fetch:1");
    assert!(matches!(producer.next(1, 0, None).unwrap(), Next::Nothing { .. }));
    producer.close(0).unwrap();
    producer.close(0).unwrap();
    drop(producer);
    let expected = [
        (TelemetryName::ProducerStart, None),
        (TelemetryName::FetchError, Some(ErrorCode::BackendUnavailable)),
        (TelemetryName::ProducerStop, None),
    ];
    assert_eq!(all(), expected);

    append(&db, 3);
    arm("unavailable:settle:1");
    let one = ConsumerOptions::new().producer(ProducerOptions::new().max_demand(1));
    let consumer = Consumer::start(&group(&db), &one, |lease, _| match lease.event().payload() {
        b"0" => Outcome::fail("a test"),
        b"1" => panic!("a test"),
        _ => Outcome::Ack,
    })
    .unwrap();
    until(|| told.lock().unwrap().iter().any(|(name, _)| *name == TelemetryName::WorkerCrash));
    consumer.close(SOON).unwrap();
    let mut names = all();
    assert_eq!(names.remove(0), (TelemetryName::ConsumerStart, None));
    assert_eq!(names.pop(), Some((TelemetryName::ConsumerStop, None)));
    for wanted in [
        (TelemetryName::SettleError, Some(ErrorCode::BackendUnavailable)),
        (TelemetryName::HandlerError, None),
        (TelemetryName::WorkerCrash, None),
    ] {
        assert_eq!(names.iter().filter(|told| **told == wanted).count(), 1, "{wanted:?} in {names:?}");
    }

    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), |_, _| Outcome::Ack).unwrap();
    db.delete_group("s", "g").unwrap();
    assert_eq!(consumer.wait(SOON).unwrap_err().code(), ErrorCode::GroupNotFound);
    drop(consumer);
    let gone = Some(ErrorCode::GroupNotFound);
    let expected =
        [(TelemetryName::ConsumerStart, None), (TelemetryName::FetchError, gone), (TelemetryName::ConsumerStop, gone)];
    assert_eq!(all(), expected);
}

#[test]
fn a_drain_may_be_waited_for_in_pieces() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 1);
    let own: Arc<Mutex<Option<Consumer>>> = Arc::default();
    let (handler, entries, go) = gated();
    let consumer = Consumer::start(&group(&db), &ConsumerOptions::new(), {
        let own = Arc::clone(&own);
        move |lease, cancel| {
            let outcome = handler(lease, cancel);
            let own = own.lock().unwrap().take().unwrap();
            assert!(own.is_called_by_handler());
            outcome
        }
    })
    .unwrap();
    entries.recv().unwrap();
    *own.lock().unwrap() = Some(consumer.clone());
    let drain = consumer.begin_drain().unwrap();
    assert!(!consumer.is_called_by_handler() && !consumer.is_running().unwrap());
    assert!(!drain.wait(0).unwrap() && !drain.wait(1).unwrap());
    assert_eq!(consumer.drain(0).unwrap_err().code(), ErrorCode::AlreadyDraining);
    go.send(Outcome::Ack).unwrap();
    assert!(drain.wait(SOON).unwrap());
    drop(drain);
    assert!(consumer.drain(0).unwrap());
}

#[test]
fn who_waits_for_more_forgets_what_was_lost() {
    let db = opened("memory:", OpenOptions::new());
    append(&db, 2);
    let producer = Producer::for_consumer(&group(&db), &ConsumerOptions::new().batch_size(2)).unwrap();
    let cancel = Interrupt::new();
    let Next::Leases(mut leases) = producer.next_for(2, 0, None, Some(&cancel)).unwrap() else { panic!("two") };
    assert_eq!(producer.confirm(&[leases[0].lease_id()]).unwrap(), 1);
    cancel.fire();
    producer.begin(&mut leases, &cancel).unwrap();
    assert_eq!(leases.len(), 1);
    assert!(!cancel.is_fired());
    let mut tokens: Vec<LeaseToken> = leases.iter().map(|lease| lease.token().clone()).collect();
    assert_eq!(producer.confirm(&[leases[0].lease_id()]).unwrap(), 1);
    producer.begin(&mut tokens, &cancel).unwrap();
    assert!(tokens.is_empty());
}
