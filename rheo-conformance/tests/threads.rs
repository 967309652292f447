//! Many threads on one memory instance, by the real clock and without sleeping.

use rheo_conformance::model::Random;
use rheo_core::{
    Append, AppendOptions, DeadLetterOptions, ErrorCode, FetchOptions, GroupOptions, Instance, Interrupt, Lease,
    OpenOptions, ReadOptions, ReplayOptions, Result, RetryOptions, StreamOptions, open,
};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const EVENTS: usize = 4_000;
const PARTITIONS: u32 = 4;
const MAX_ATTEMPTS: u32 = 3;
/// Longer than any of these tests takes: a lease that no test sees the end of.
const LEASE_MS: u64 = 600_000;
/// After this it is certain that a waiting fetch was not woken.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long fetches wait: more than that, so that no wait ends by itself in time.
const WAIT_MS: u64 = 90_000;

/// Partition and sequence.
type Place = (u32, u64);

fn place(lease: &Lease) -> Place {
    (lease.event().partition(), lease.event().sequence())
}

fn memory() -> Instance {
    let db = open("memory:", OpenOptions::new()).unwrap();
    db.create_stream("orders", StreamOptions::partitions(PARTITIONS)).unwrap();
    let options = GroupOptions { max_attempts: Some(MAX_ATTEMPTS), ..GroupOptions::default() };
    db.create_group("orders", "billing", &options).unwrap();
    db
}

/// Appends the events with the ids 0 to EVENTS − 1, one by one and in batches, in an order of its own.
fn produce(db: &Instance, seed: u64) {
    let mut random = Random::new(seed);
    let mut ids: Vec<String> = (0..EVENTS).map(|number| number.to_string()).collect();
    for last in (1..ids.len()).rev() {
        ids.swap(last, random.below(last as u64 + 1) as usize);
    }
    let stream = db.stream("orders").unwrap();
    let mut rest = ids.as_slice();
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(rest.len().min(1 + random.below(8) as usize));
        let items: Vec<Append<'_>> = batch.iter().map(|id| Append::json(id).id(id).key(id)).collect();
        match items.as_slice() {
            [item] => drop(stream.append(item).unwrap()),
            items => drop(stream.append_batch(items, &AppendOptions::default()).unwrap()),
        }
        rest = later;
    }
}

/// Reads every partition while it grows, until all events are seen: in order, without a gap, unaltered, each id once.
fn read_along(db: &Instance) {
    let mut seen = HashSet::new();
    let mut last = [0; PARTITIONS as usize];
    while seen.len() < EVENTS {
        for (partition, last) in (0..).zip(&mut last) {
            let options = ReadOptions { after: *last, limit: 50, partition };
            for event in db.read("orders", options).unwrap() {
                assert_eq!(event.sequence(), *last + 1, "partition {partition} has a gap");
                assert_eq!(event.payload(), event.id().as_bytes());
                assert!(seen.insert(event.id().to_string()), "{event:?} is there twice");
                *last += 1;
            }
        }
        thread::yield_now();
    }
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Ack,
    Retry,
    Reject,
    Release,
}

impl Outcome {
    fn random(random: &mut Random) -> Outcome {
        random.weighted(&[(50, Outcome::Ack), (25, Outcome::Retry), (10, Outcome::Reject), (15, Outcome::Release)])
    }

    fn settle(self, db: &Instance, lease: &Lease) -> Result<()> {
        match self {
            Outcome::Ack => db.ack(lease),
            Outcome::Retry => db.retry(lease, RetryOptions::reason("later")),
            Outcome::Reject => db.reject(lease, "never"),
            Outcome::Release => db.release(lease),
        }
    }

    fn settle_many(self, db: &Instance, leases: &[Lease]) -> Vec<Result<()>> {
        match self {
            Outcome::Ack => db.ack_many(leases),
            Outcome::Retry => db.retry_many(leases, RetryOptions::reason("later")),
            Outcome::Reject => db.reject_many(leases, "never"),
            Outcome::Release => db.release_many(leases),
        }
        .unwrap()
    }

    /// What becomes of a delivery that ends so at this attempt; nothing when it comes again.
    fn end(self, attempt: u32) -> Option<End> {
        match self {
            Outcome::Ack => Some(End::Acked),
            Outcome::Reject => Some(End::Dead { attempt, because: "never" }),
            Outcome::Retry if attempt >= MAX_ATTEMPTS => Some(End::Dead { attempt, because: "later" }),
            Outcome::Retry | Outcome::Release => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Acked,
    Dead { attempt: u32, because: &'static str },
}

/// What the workers did.
#[derive(Default)]
struct Ledger {
    held: Mutex<HashSet<Place>>,
    ends: Mutex<HashMap<Place, End>>,
    ended: AtomicUsize,
    /// Fired when every delivery has come to its end.
    done: Interrupt,
}

impl Ledger {
    fn is_done(&self) -> bool {
        self.ended.load(Ordering::SeqCst) == EVENTS
    }

    /// Takes note of the end of a delivery, which has only one.
    fn end(&self, place: Place, end: End) {
        assert_eq!(self.ends.lock().unwrap().insert(place, end), None, "{place:?} ends a second time, now as {end:?}");
        if self.ended.fetch_add(1, Ordering::SeqCst) + 1 == EVENTS {
            self.done.fire();
        }
    }

    /// Checks that the group knows of every delivery's end as the ledger does.
    fn compare(&self, db: &Instance) {
        let ends = self.ends.lock().unwrap();
        assert_eq!(ends.len(), EVENTS);
        let all = DeadLetterOptions { limit: Some(usize::MAX), ..DeadLetterOptions::default() };
        let letters = db.dead_letters("orders", "billing", &all).unwrap();
        for letter in &letters {
            match ends[&(letter.event.partition(), letter.event.sequence())] {
                End::Dead { attempt, because } => {
                    assert_eq!(letter.attempt, attempt, "{letter:?}");
                    assert!(letter.reason.starts_with(because), "{letter:?} should be dead because of {because:?}");
                }
                End::Acked => panic!("{letter:?} was acked"),
            }
        }
        assert_eq!(letters.len(), ends.values().filter(|end| **end != End::Acked).count());
        let info = db.group_info("orders", "billing", None).unwrap();
        assert_eq!((info.lag.lag(), info.inflight_count, info.available_count, info.delayed_count), (0, 0, 0, 0));
        assert!(info.lag.partitions.values().all(|lag| lag.frontier == lag.high_watermark));
        assert_eq!(info.lag.partitions.values().map(|lag| lag.high_watermark).sum::<u64>(), EVENTS as u64);
    }
}

/// Runs two producers of the same events, two readers and four workers until all deliveries have come to their end.
fn run(db: &Instance, ledger: &Ledger, work: impl Fn(Random) + Sync) {
    thread::scope(|scope| {
        for seed in 0..2 {
            scope.spawn(move || produce(db, seed));
            scope.spawn(|| read_along(db));
        }
        for seed in 0..4 {
            let work = &work;
            scope.spawn(move || work(Random::new(100 + seed)));
        }
    });
    ledger.compare(db);
}

/// While leases last, an event has one holder at a time, every settle succeeds, and the last one decides.
#[test]
fn every_delivery_ends_as_its_last_outcome_says() {
    let (db, ledger) = (memory(), Ledger::default());
    run(&db, &ledger, |mut random| {
        let group = db.group("orders", "billing").unwrap();
        while !ledger.is_done() {
            let limit = 1 + random.below(20) as usize;
            let options = FetchOptions::new().limit(limit).lease_ms(LEASE_MS).wait_ms(WAIT_MS).interrupt(&ledger.done);
            let leases = group.fetch(&options).unwrap();
            assert!(!leases.is_empty() || ledger.is_done(), "a wait ended with nothing");
            for lease in &leases {
                assert!(ledger.held.lock().unwrap().insert(place(lease)), "{lease:?} has another holder");
                if random.chance(10) {
                    assert!(db.renew(lease, None).unwrap().expires_at() >= lease.expires_at());
                }
            }
            let outcome = Outcome::random(&mut random);
            // Before the settle: after it the next holder may be there already.
            for lease in &leases {
                ledger.held.lock().unwrap().remove(&place(lease));
            }
            let results = if random.chance(50) {
                outcome.settle_many(&db, &leases)
            } else {
                leases.iter().map(|lease| outcome.settle(&db, lease)).collect()
            };
            for (lease, result) in leases.iter().zip(results) {
                assert_eq!(result, Ok(()), "{lease:?}");
                if let Some(end) = outcome.end(lease.attempt()) {
                    ledger.end(place(lease), end);
                }
            }
        }
    });
}

/// While leases run out under their holders, each claim is a new attempt, only the last holder settles, and a delivery
/// still ends once.
#[test]
fn leases_that_run_out_are_fenced() {
    let (db, ledger) = (memory(), Ledger::default());
    let claims = Mutex::new(HashSet::new());
    run(&db, &ledger, |mut random| {
        let mut bag: Vec<Lease> = Vec::new();
        while !ledger.is_done() {
            let (limit, lease_ms) = (1 + random.below(20) as usize, 1 + random.below(3));
            let options = FetchOptions::new().limit(limit).lease_ms(lease_ms).wait_ms(WAIT_MS).interrupt(&ledger.done);
            for lease in db.fetch("orders", "billing", &options).unwrap() {
                let is_new = claims.lock().unwrap().insert((place(&lease), lease.attempt()));
                assert!(is_new, "{lease:?} was claimed twice at this attempt");
                bag.push(lease);
            }
            // Most leases are settled at once, some when they have long run out.
            while bag.len() > 10 || (!bag.is_empty() && random.chance(70)) {
                let lease = bag.swap_remove(random.below(bag.len() as u64) as usize);
                let outcome = if random.chance(80) { Outcome::Ack } else { Outcome::Reject };
                match outcome.settle(&db, &lease) {
                    Ok(()) => ledger.end(place(&lease), outcome.end(lease.attempt()).expect("both are ends")),
                    Err(error) => assert_eq!(error.code(), ErrorCode::StaleLease, "{error}"),
                }
            }
        }
    });
}

/// Every waiting group gets every event as it comes, however waiting and appending meet.
#[test]
fn an_append_wakes_every_waiting_fetch() {
    const ROUNDS: usize = 500;
    let db = open("memory:", OpenOptions::new()).unwrap();
    db.create_stream("orders", StreamOptions::partitions(PARTITIONS)).unwrap();
    let groups = ["a", "b", "c"];
    groups.iter().for_each(|group| db.create_group("orders", group, &GroupOptions::default()).unwrap());
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for group in groups {
            let (sender, db) = (sender.clone(), &db);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let leases = db.fetch("orders", group, &FetchOptions::new().wait_ms(WAIT_MS)).unwrap();
                    assert_eq!(leases.len(), 1, "one event is there at a time");
                    db.ack(&leases[0]).unwrap();
                    sender.send(leases[0].event().id().to_string()).unwrap();
                }
            });
        }
        for round in 0..ROUNDS {
            let (id, partition) = (round.to_string(), round as u32 % PARTITIONS);
            db.append("orders", &Append::bytes("").id(&id).partition(partition)).unwrap();
            for _ in groups {
                assert_eq!(receiver.recv_timeout(PATIENCE).as_ref(), Ok(&id), "a fetch was not woken");
            }
        }
    });
}

/// Lets threads wait for work, does something about it, and checks what each of them gets.
fn wakes(open: impl Fn() -> Instance, cause: impl Fn(&Instance), check: impl Fn(Result<Vec<Lease>>)) {
    const WAITERS: usize = 3;
    for round in 0..60 {
        let db = open();
        let barrier = Barrier::new(WAITERS + 1);
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..WAITERS {
                let (sender, db, barrier) = (sender.clone(), &db, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let options = FetchOptions::new().limit(1).wait_ms(WAIT_MS);
                    sender.send(db.fetch("orders", "billing", &options)).unwrap();
                });
            }
            barrier.wait();
            // Meet them at different points of their way into the wait.
            (0..round).for_each(|_| thread::yield_now());
            cause(&db);
            for _ in 0..WAITERS {
                check(receiver.recv_timeout(PATIENCE).expect("every waiting fetch wakes"));
            }
        });
    }
}

fn error_code(result: Result<Vec<Lease>>) -> ErrorCode {
    result.expect_err("there is nothing to fetch").code()
}

#[test]
fn closing_wakes_every_waiting_fetch() {
    wakes(memory, |db| db.close().unwrap(), |got| assert_eq!(error_code(got), ErrorCode::Closed));
}

#[test]
fn deleting_wakes_every_waiting_fetch() {
    let delete_group = |db: &Instance| db.delete_group("orders", "billing").unwrap();
    wakes(memory, delete_group, |got| assert_eq!(error_code(got), ErrorCode::GroupNotFound));
    let delete_stream = |db: &Instance| db.delete_stream("orders", true).unwrap();
    wakes(memory, delete_stream, |got| assert_eq!(error_code(got), ErrorCode::StreamNotFound));
}

/// Three deliveries come due, run out or are replayed, and each of three waiting fetches gets one.
#[test]
fn work_that_comes_back_wakes_every_waiting_fetch() {
    const SHORT_MS: u64 = 20;
    let held = |options: OpenOptions| {
        let db = open("memory:", options).unwrap();
        db.create_stream("orders", StreamOptions::default()).unwrap();
        db.create_group("orders", "billing", &GroupOptions::default()).unwrap();
        db.append_batch("orders", &[Append::bytes(""); 3], &AppendOptions::default()).unwrap();
        let leases = db.fetch("orders", "billing", &FetchOptions::new().lease_ms(SHORT_MS)).unwrap();
        assert_eq!(leases.len(), 3);
        (db, leases)
    };
    let manual = || OpenOptions::new().manual_clock(None);
    let got_one = |got: Result<Vec<Lease>>| assert_eq!(got.unwrap().len(), 1);
    let advance = |db: &Instance| {
        db.advance_clock(SHORT_MS).unwrap();
    };

    wakes(|| held(manual()).0, advance, got_one);
    let delayed = || {
        let (db, leases) = held(manual());
        let later = RetryOptions::reason("later").delay_ms(SHORT_MS);
        assert!(db.retry_many(&leases, later).unwrap().iter().all(Result::is_ok));
        db
    };
    wakes(delayed, advance, got_one);
    let replay = |db: &Instance| {
        let options = ReplayOptions { from_sequence: Some(0.into()), ..ReplayOptions::default() };
        assert_eq!(db.replay("orders", "billing", &options).unwrap(), 3);
    };
    wakes(|| held(manual()).0, replay, got_one);

    // By the real clock, whose time alone ends the leases.
    wakes(|| held(OpenOptions::new()).0, |_| {}, got_one);
}
