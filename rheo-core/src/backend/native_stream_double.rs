//! A backend in the shape of a native stream store: the second implementation of the contract, independent of the
//! memory engine, to test with. Whoever writes a backend may read this one first.
//!
//! It is made as one over Redis Streams would be. The store names its entries itself (`0-7-1`: partition, sequence,
//! number of the stream), keeps for every group and partition the last position delivered and a list of pending
//! entries, gives a pending entry that is due to whoever asks next, and has its own name for every claim, the
//! receipt (`0-7-1#42`: the group's claim 42).
//!
//! | module | what it is |
//! |---|---|
//! | `log` | the entries of a partition: add, read, trim |
//! | `group` | a consumer group: claim, settle, replay |
//! | `store` | streams, ids, and who is told of changes |
//! | this one | the trait: looks up, checks ranges, turns entries into events and claims into leases |
//!
//! One lock, and a walk where an engine would keep an index: right and short before fast. Nothing here reaches into
//! rheo-core: it lives on what every backend may use.

mod group;
mod log;
mod store;

use crate::backend::{
    Backend, Binding, Blocking, FetchRequest, Fetched, GroupRef, NewGroup, Scan, Settled, Settlement, StreamRef, Watch,
};
use crate::{
    Append, Capabilities, Clock, DeadLetter, DeadLetterOptions, Discard, Error, Event, GroupInfo, GroupUpdate, Lag,
    Lease, LeaseContext, LeaseToken, PartitionInfo, PartitionLag, Replay, Result, RetentionHold, Start, StreamInfo,
    StreamOptions, Timestamp, Trim, cursor_not_found,
};
use group::{Group, later};
use log::Log;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use store::{Place, Store, Stream, Subscribers};

/// How many events a scan builds at a time.
const SCAN_PAGE: usize = 256;

/// A native stream store and the backend over it, in this process's memory. For tests.
///
/// Its receipts differ from lease ids, so that what compares receipts can be seen to do so.
pub struct NativeStreamDouble {
    clock: Clock,
    store: Mutex<Store>,
    subscribers: Arc<Subscribers>,
}

impl NativeStreamDouble {
    /// An empty store that goes by this clock.
    pub fn new(clock: Clock) -> NativeStreamDouble {
        NativeStreamDouble { clock, store: Mutex::default(), subscribers: Arc::default() }
    }
}

impl Backend for NativeStreamDouble {
    fn capabilities(&self) -> Capabilities {
        let guarantees = ["partitions", "contiguous_frontier", "replay", "ordered_range_scan", "batch_writes"];
        let mechanisms = ["notifications", "native_consumer_groups", "native_pending_list", "native_reclaim"];
        Capabilities::new(guarantees.map(|name| (name, true)), mechanisms.map(|name| (name, true)))
            .expect("these are names of guarantees and mechanisms")
    }

    fn blocking(&self) -> Blocking {
        Blocking::NOTHING
    }

    fn ping(&self) -> Result<()> {
        Ok(())
    }

    fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    fn advance_clock(&self, by: Duration) -> Result<Timestamp> {
        let now = self.clock.advance(by)?;
        self.subscribers.tell(None, None);
        Ok(now)
    }

    fn close(&self) -> Result<()> {
        self.subscribers.tell(None, None);
        Ok(())
    }

    fn create_stream(&self, stream: StreamRef<'_>, options: &StreamOptions) -> Result<()> {
        let mut store = self.store.lock();
        if store.streams.contains_key(stream.name) {
            return Err(Error::already_exists(&format!("stream {:?}", stream.name)));
        }
        store.add_stream(stream.name, options.partition_count);
        Ok(())
    }

    fn delete_stream(&self, stream: StreamRef<'_>) -> Result<()> {
        let removed = self.store.lock().streams.remove(stream.name);
        self.subscribers.tell(Some(stream.name), None);
        removed.map(drop).ok_or_else(|| Error::stream_not_found(stream.name))
    }

    fn stream_info(&self, stream: StreamRef<'_>) -> Result<StreamInfo> {
        let store = self.store.lock();
        let found = store.stream(stream.name)?;
        let info = |log: &Log| {
            let needs = found.groups.iter().map(|(name, group)| (group.reader(log.partition()).needs_from(), name));
            let most_behind = needs.min_by_key(|((sequence, _), _)| *sequence);
            PartitionInfo {
                partition: log.partition(),
                first_sequence: log.first(),
                high_watermark: log.last(),
                bytes: log.bytes(),
                held_by: most_behind.filter(|((sequence, _), _)| *sequence <= log.last()).map(
                    |((sequence, dead_letter), group)| RetentionHold { sequence, group: group.clone(), dead_letter },
                ),
            }
        };
        Ok(StreamInfo { stream: stream.name.to_owned(), partitions: found.entries.logs.iter().map(info).collect() })
    }

    fn list_streams(&self) -> Result<Vec<String>> {
        Ok(self.store.lock().streams.keys().cloned().collect())
    }

    fn create_group(&self, group: GroupRef<'_>, new: &NewGroup) -> Result<()> {
        let mut store = self.store.lock();
        let Stream { entries, groups } = store.stream_mut(group.stream)?;
        if groups.contains_key(group.name) {
            return Err(Error::already_exists(&format!("group {:?} of stream {:?}", group.name, group.stream)));
        }
        new.start.check(group.stream, entries.partition_count())?;
        let beginning = Start::default();
        let start_of = |log: &Log| if new.start.covers(log.partition()) { &new.start } else { &beginning };
        let positions = entries.logs.iter().map(|log| log.position(&start_of(log).position));
        groups.insert(group.name.to_owned(), Group::new(new.settings, positions));
        Ok(())
    }

    fn update_group(&self, group: GroupRef<'_>, update: &GroupUpdate) -> Result<()> {
        let mut store = self.store.lock();
        let (found, _) = store.group_mut(group.stream, group.name)?;
        let settings = &mut found.settings;
        settings.max_attempts = update.max_attempts.unwrap_or(settings.max_attempts);
        settings.max_deliveries = update.max_deliveries.unwrap_or(settings.max_deliveries);
        Ok(())
    }

    fn delete_group(&self, group: GroupRef<'_>) -> Result<()> {
        let removed = self.store.lock().stream_mut(group.stream)?.groups.remove(group.name);
        self.subscribers.tell(Some(group.stream), Some(group.name));
        removed.map(drop).ok_or_else(|| Error::group_not_found(group.stream, group.name))
    }

    fn list_groups(&self, stream: StreamRef<'_>) -> Result<Vec<String>> {
        Ok(self.store.lock().stream(stream.name)?.groups.keys().cloned().collect())
    }

    fn append(&self, stream: StreamRef<'_>, items: &[Append<'_>], emit: &mut dyn FnMut(Event)) -> Result<()> {
        let mut events = Vec::with_capacity(items.len());
        let mut appended = false;
        {
            let mut store = self.store.lock();
            let now = self.clock.now();
            let entries = &mut store.stream_mut(stream.name)?.entries;
            // All or nothing: what can go wrong is found before anything is added.
            let route = |item: &Append<'_>| item.route(stream.name, entries.partition_count());
            let partitions: Vec<u32> = items.iter().map(route).collect::<Result<_>>()?;
            for (item, partition) in items.iter().zip(partitions) {
                match item.options.id.and_then(|id| entries.find(id)) {
                    Some(place) => events.extend(entries.event(place).map(Event::into_deduplicated)),
                    None => {
                        let place = entries.add(partition, item, now);
                        events.extend(entries.event(place));
                        appended = true;
                    }
                }
            }
        }
        if appended {
            self.subscribers.tell(Some(stream.name), None);
        }
        events.into_iter().for_each(emit);
        Ok(())
    }

    fn read(&self, stream: StreamRef<'_>, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>> {
        let store = self.store.lock();
        let log = store.entries(stream.name)?.log(partition)?;
        Ok(log.events(stream.name, log.after(after).take(limit).map(|(sequence, _)| sequence)))
    }

    fn get(&self, stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>> {
        let store = self.store.lock();
        let entries = store.entries(stream.name)?;
        Ok(entries.find(event_id).and_then(|place| entries.event(place)))
    }

    fn partition_count(&self, stream: StreamRef<'_>) -> Result<u32> {
        Ok(self.store.lock().entries(stream.name)?.partition_count())
    }

    fn scan(
        &self,
        stream: StreamRef<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut places = Vec::new();
        {
            let store = self.store.lock();
            let entries = store.entries(stream.name)?;
            for &(partition, after) in scan.positions {
                let sequences = entries.log(partition)?.after(after).map(|(sequence, _)| sequence);
                places.extend(sequences.map(|sequence| Place { partition, sequence }));
            }
        }
        places.sort_by_key(|place| (place.sequence, place.partition));
        if scan.descending {
            places.sort_by_key(|place| std::cmp::Reverse(place.sequence));
        }
        for page in places.chunks(SCAN_PAGE) {
            let events: Vec<Event> = {
                let store = self.store.lock();
                let entries = store.entries(stream.name)?;
                // What was trimmed meanwhile is passed by.
                page.iter().filter_map(|place| entries.event(*place)).collect()
            };
            for event in events {
                if visit(event).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn trim(&self, stream: StreamRef<'_>, trim: &Trim, force: bool) -> Result<u64> {
        let removed = {
            let mut store = self.store.lock();
            let found = store.stream_mut(stream.name)?;
            if let Trim::BeforeSequence(sequences) = trim {
                sequences.check(stream.name, found.entries.partition_count())?;
            }
            found.trim(trim, force, self.clock.now())
        };
        // An open delivery that went may have kept its key from others.
        self.subscribers.tell(Some(stream.name), None);
        Ok(removed)
    }

    fn fetch(&self, group: GroupRef<'_>, request: &FetchRequest<'_>, leases: &mut Vec<Lease>) -> Result<Fetched> {
        let mut store = self.store.lock();
        let (found, entries) = store.group_mut(group.stream, group.name)?;
        let logs = found.in_turn(entries.scope(request.partitions)?);
        let now = self.clock.read();
        let until = later(now, request.lease_ms);
        let names = (Arc::from(group.stream), Arc::from(group.name));
        let context = LeaseContext::new(names.0, names.1, Arc::clone(request.consumer_id), Binding::default());
        let mut dead_letters = 0;
        for log in &logs {
            let (claims, used_up) = found.claim(log, request.limit - leases.len(), now, until);
            dead_letters += used_up;
            let events = log.events(group.stream, claims.iter().map(|claim| claim.sequence));
            leases.extend(claims.into_iter().zip(events).map(|(claim, event)| {
                let receipt = Some(claim.receipt.into_boxed_str());
                let context = Arc::clone(&context);
                let (partition, lease_ms) = (log.partition(), request.lease_ms);
                let token = LeaseToken::new(context, partition, claim.sequence, claim.lease_id, receipt, lease_ms);
                Lease::new(token, event, claim.attempt, now.wall, until.wall)
            }));
            if leases.len() == request.limit {
                break;
            }
        }
        if !leases.is_empty() {
            return Ok(Fetched { next_due: None, dead_letters });
        }
        let due = logs.iter().filter_map(|log| found.reader(log.partition()).next_due(now)).min();
        let next_due = due.map(|due| Duration::from_micros(due.abs_diff(now.monotonic)));
        Ok(Fetched { next_due, dead_letters })
    }

    fn settle(
        &self,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) -> Result<()> {
        let mut freed = BTreeSet::new();
        {
            let mut store = self.store.lock();
            let now = self.clock.read();
            for (token, result) in tokens.iter().zip(results) {
                let group = store.group_mut(token.stream(), token.group());
                *result = group.and_then(|(group, _)| group.settle(token, settlement, now)).map(|(settled, frees)| {
                    if frees {
                        freed.insert((token.stream(), token.group()));
                    }
                    settled
                });
            }
        }
        self.tell_groups(&freed);
        Ok(())
    }

    fn renew(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()> {
        let mut shortened = BTreeSet::new();
        {
            let mut store = self.store.lock();
            let now = self.clock.read();
            for (token, result) in tokens.iter().zip(results) {
                let until = later(now, lease_ms.unwrap_or(token.lease_ms()));
                let group = store.group_mut(token.stream(), token.group());
                *result = group.and_then(|(group, _)| group.renew(token, until)).map(|earlier| {
                    if earlier {
                        shortened.insert((token.stream(), token.group()));
                    }
                    until.wall
                });
            }
        }
        self.tell_groups(&shortened);
        Ok(())
    }

    fn lag(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag> {
        let store = self.store.lock();
        let (found, entries) = store.group(group.stream, group.name)?;
        Ok(lag_of(group, found, &entries.scope(partitions)?))
    }

    fn group_info(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        let store = self.store.lock();
        let (found, entries) = store.group(group.stream, group.name)?;
        let logs = entries.scope(partitions)?;
        let now = self.clock.read();
        let mut info = GroupInfo {
            lag: lag_of(group, found, &logs),
            inflight_count: 0,
            available_count: 0,
            delayed_count: 0,
            dead_letter_count: 0,
            oldest_unsettled_at: None,
            settings: found.settings,
        };
        for log in logs {
            let reader = found.reader(log.partition());
            let counts = found.counts(log, now);
            info.inflight_count += counts.inflight;
            info.available_count += counts.available;
            info.delayed_count += counts.delayed;
            info.dead_letter_count += reader.dead_count();
            let unsettled_at = log.entry(reader.frontier() + 1).map(|entry| entry.timestamp);
            info.oldest_unsettled_at = info.oldest_unsettled_at.into_iter().chain(unsettled_at).min();
        }
        Ok(info)
    }

    fn dead_letters(&self, group: GroupRef<'_>, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        let store = self.store.lock();
        let (found, entries) = store.group(group.stream, group.name)?;
        let logs = entries.scope(options.partitions.as_deref())?;
        let is_dead = |place: &Place| found.reader(place.partition).is_dead(place.sequence);
        let unknown = |id| cursor_not_found(id, group.stream, group.name);
        let after = match &options.after {
            Some(id) => entries.find(id).filter(is_dead).ok_or_else(|| unknown(id))?,
            None => Place { partition: 0, sequence: 0 },
        };
        let mut letters = Vec::new();
        for partition in logs.iter().map(|log| log.partition()).filter(|partition| *partition >= after.partition) {
            let after = if partition == after.partition { after.sequence } else { 0 };
            for (sequence, dead) in found.reader(partition).dead_after(after) {
                if options.limit.is_some_and(|limit| letters.len() == limit) {
                    return Ok(letters);
                }
                letters.extend(entries.event(Place { partition, sequence }).map(|event| DeadLetter {
                    group: group.name.to_owned(),
                    event,
                    attempt: dead.attempt,
                    reason: dead.reason.clone(),
                    dead_lettered_at: dead.at,
                }));
            }
        }
        Ok(letters)
    }

    fn discard_dead_letters(&self, group: GroupRef<'_>, which: Discard<'_>) -> Result<u64> {
        let mut store = self.store.lock();
        let (found, entries) = store.group_mut(group.stream, group.name)?;
        Ok(match which {
            Discard::All => entries.logs.iter().map(|log| found.reader_mut(log.partition()).discard_all()).sum(),
            Discard::EventIds(ids) => {
                let mut discard = |place: Place| found.reader_mut(place.partition).discard(place.sequence);
                ids.iter().filter(|id| entries.find(id).is_some_and(&mut discard)).count() as u64
            }
        })
    }

    fn replay(&self, group: GroupRef<'_>, what: Replay<'_>, partitions: Option<&[u32]>) -> Result<u64> {
        let replayed = {
            let mut store = self.store.lock();
            let (found, entries) = store.group_mut(group.stream, group.name)?;
            let logs = entries.scope(partitions)?;
            let mut rewind = |log: &Log, position: u64| {
                // What was removed cannot come again.
                found.reader_mut(log.partition()).rewind(position.max(log.first() - 1))
            };
            match what {
                Replay::FromSequence(sequences) => {
                    sequences.check(group.stream, entries.partition_count())?;
                    let positions = logs.iter().filter_map(|log| Some((log, sequences.get(log.partition())?)));
                    positions.map(|(log, position)| rewind(log, position)).sum()
                }
                Replay::From(time) => logs.iter().map(|log| rewind(log, log.before_time(time))).sum(),
                Replay::EventIds(ids) => {
                    let scope: HashSet<u32> = logs.iter().map(|log| log.partition()).collect();
                    let places: HashSet<Place> = ids.iter().filter_map(|id| entries.find(id)).collect();
                    let mut reopen = |place: &Place| found.reader_mut(place.partition).reopen(place.sequence);
                    places.iter().filter(|place| scope.contains(&place.partition) && reopen(place)).count() as u64
                }
            }
        };
        self.subscribers.tell(Some(group.stream), Some(group.name));
        Ok(replayed)
    }

    fn reset_group(&self, group: GroupRef<'_>, start: &Start) -> Result<()> {
        {
            let mut store = self.store.lock();
            let (found, entries) = store.group_mut(group.stream, group.name)?;
            start.check(group.stream, entries.partition_count())?;
            for log in entries.logs.iter().filter(|log| start.covers(log.partition())) {
                found.reader_mut(log.partition()).reset(log.position(&start.position));
            }
        }
        self.subscribers.tell(Some(group.stream), Some(group.name));
        Ok(())
    }

    fn watch(&self, group: GroupRef<'_>, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        self.store.lock().group(group.stream, group.name)?.1.scope(partitions)?;
        let number = self.subscribers.add(group.stream, group.name, waker);
        Ok(Watch::new(Registration { subscribers: Arc::clone(&self.subscribers), number }))
    }
}

impl NativeStreamDouble {
    fn tell_groups(&self, groups: &BTreeSet<(&str, &str)>) {
        groups.iter().for_each(|(stream, group)| self.subscribers.tell(Some(stream), Some(group)));
    }
}

fn lag_of(group: GroupRef<'_>, found: &Group, logs: &[&Log]) -> Lag {
    let progress = |log: &&Log| {
        let frontier = found.reader(log.partition()).frontier();
        (log.partition(), PartitionLag { frontier, high_watermark: log.last() })
    };
    Lag {
        stream: group.stream.to_owned(),
        group: group.name.to_owned(),
        partitions: logs.iter().map(progress).collect(),
    }
}

/// A subscription that ends when it is dropped.
struct Registration {
    subscribers: Arc<Subscribers>,
    number: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.subscribers.remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;
    use crate::{FetchOptions, GroupOptions, Instance, LeaseId, OpenOptions, RetryOptions};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    /// An instance with a stream `s` of two partitions that has a group `g`.
    fn open() -> Instance {
        let backend = Arc::new(NativeStreamDouble::new(Clock::manual(Timestamp::from_millis(1_000_000))));
        let db = Instance::with_backend(backend, OpenOptions::new().manual_clock(None)).unwrap();
        db.create_stream("s", StreamOptions::partitions(2)).unwrap();
        db.create_group("s", "g", &GroupOptions::default()).unwrap();
        db
    }

    fn append(db: &Instance, partition: u32) {
        db.append("s", &Append::bytes("x").partition(partition)).unwrap();
    }

    fn fetch_one(db: &Instance) -> Lease {
        db.fetch("s", "g", &FetchOptions::new().limit(1)).unwrap().pop().unwrap()
    }

    /// The token of a lease, but for its fence and its receipt.
    fn forged(lease: &Lease, lease_id: LeaseId, receipt: Option<&str>) -> LeaseToken {
        let context = Arc::clone(lease.token().context());
        LeaseToken::new(
            context,
            lease.event().partition(),
            lease.event().sequence(),
            lease_id,
            receipt.map(Into::into),
            1,
        )
    }

    #[test]
    fn a_receipt_is_the_stores_own_and_differs_at_every_claim() {
        let db = open();
        append(&db, 1);
        let first = fetch_one(&db);
        assert_eq!(first.receipt(), "1-1-1#1");
        db.release(&first).unwrap();
        assert_eq!(fetch_one(&db).receipt(), "1-1-1#2");
        db.delete_stream("s", true).unwrap();
        db.create_stream("s", StreamOptions::partitions(2)).unwrap();
        db.create_group("s", "g", &GroupOptions::default()).unwrap();
        append(&db, 1);
        assert_eq!(fetch_one(&db).receipt(), "1-1-2#1");
    }

    #[test]
    fn the_lease_id_is_compared_before_the_receipt() {
        let db = open();
        append(&db, 0);
        let lease = fetch_one(&db);
        for receipt in [None, Some("0-1-1#2")] {
            let token = forged(&lease, lease.lease_id(), receipt);
            assert_eq!(db.ack(&token).unwrap_err().code(), ErrorCode::ReceiptMismatch);
            assert_eq!(db.renew_token(&token, None).unwrap_err().code(), ErrorCode::ReceiptMismatch);
            let token = forged(&lease, LeaseId::random(), receipt);
            assert_eq!(db.ack(&token).unwrap_err().code(), ErrorCode::StaleLease);
        }
        let token = forged(&lease, LeaseId::random(), Some(&lease.receipt()));
        assert_eq!(db.ack(&token).unwrap_err().code(), ErrorCode::StaleLease);
        let travelled: LeaseToken = lease.token().to_string().parse().unwrap();
        db.ack(&travelled).unwrap();
    }

    #[test]
    fn the_partition_that_waited_longest_is_served_first() {
        let db = open();
        db.create_stream("wide", StreamOptions::partitions(3)).unwrap();
        db.create_group("wide", "g", &GroupOptions::default()).unwrap();
        for partition in [0, 0, 0, 0, 1, 2, 2] {
            db.append("wide", &Append::bytes("x").partition(partition)).unwrap();
        }
        let mut served = Vec::new();
        // Whoever is served between two fetches of the same partitions does not disturb their turns.
        for partitions in [[0, 1].as_slice(), &[2], &[0, 1], &[2], &[0, 1]] {
            let options = FetchOptions::new().limit(1).partitions(partitions);
            served.push(db.fetch("wide", "g", &options).unwrap()[0].event().partition());
        }
        assert_eq!(served, [0, 2, 1, 2, 0]);
    }

    #[test]
    fn a_scan_of_several_pages_keeps_its_order() {
        let db = open();
        let count = SCAN_PAGE as u64 + 9;
        (0..count).for_each(|_| (0..2).for_each(|partition| append(&db, partition)));
        let query = crate::Query::new();
        for descending in [false, true] {
            let mut seen = Vec::new();
            let scan = Scan { query: &query, positions: &[(1, 2), (0, 0)], descending };
            let visit = &mut |event: Event| {
                seen.push((event.sequence(), event.partition()));
                ControlFlow::Continue(())
            };
            db.backend().scan(StreamRef { name: "s", binding: None }, &scan, visit).unwrap();
            let mut expected = vec![(1, 0), (2, 0)];
            expected.extend((3..=count).flat_map(|sequence| [(sequence, 0), (sequence, 1)]));
            if descending {
                expected.sort_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
            }
            assert_eq!(seen, expected);
        }
    }

    #[derive(Default)]
    struct Counter(AtomicU32);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_watch_is_told_of_whatever_may_bring_work_or_bring_it_earlier() {
        let db = open();
        let counter = Arc::new(Counter::default());
        let watch = db.watch("s", "g", None, &Waker::from(Arc::clone(&counter))).unwrap();
        let told = |what: &str, expected: bool| {
            assert_eq!(counter.0.swap(0, Ordering::SeqCst) > 0, expected, "{what}");
        };
        append(&db, 0);
        told("append", true);
        db.create_group("s", "other", &GroupOptions::default()).unwrap();
        let elsewhere = db.fetch("s", "other", &FetchOptions::new()).unwrap();
        db.release(&elsewhere[0]).unwrap();
        told("another group's release", false);
        let lease = fetch_one(&db);
        told("fetch", false);
        let lease = db.renew(&lease, Some(60_000)).unwrap();
        told("renew to a later time", false);
        let lease = db.renew(&lease, Some(1_000)).unwrap();
        told("renew to an earlier time", true);
        db.retry(&lease, RetryOptions::default().delay_ms(5_000)).unwrap();
        told("a delayed retry", true);
        db.advance_clock(5_000).unwrap();
        told("advance_clock", true);
        db.ack(fetch_one(&db)).unwrap();
        told("ack without an order to keep", false);
        db.delete_group("s", "g").unwrap();
        told("delete_group", true);
        drop(watch);
        append(&db, 0);
        told("append after the watch was dropped", false);
    }
}
