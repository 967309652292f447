//! A stream: its partitions, its explicit ids, its groups and who waits for it.

use super::group::GroupEntry;
use super::log::Log;
use super::progress::{Freed, Progress};
use crate::append::Append;
use crate::backend::journal::change::{self, ProgressWriter, Progressed, kind};
use crate::backend::journal::{Lost, StreamLog, Ticket};
use crate::backend::{Scan, Watch};
use crate::chunk::{Record, RecordParts, StoredId};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::group::Sequences;
use crate::id::parse_generated;
use crate::lock::{Mutex, RwLock};
use crate::stream::{PartitionInfo, RetentionHold, StreamInfo, Trim};
use crate::timestamp::Timestamp;
use crate::wakers::Wakers;
use crossbeam_utils::CachePadded;
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::MutexGuard;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hash::{BuildHasher, Hash};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use uuid::Uuid;

/// In how many parts the explicit ids are kept, so that appends to different partitions seldom meet.
const ID_SHARDS: usize = 16;
/// How many events a read or a scan takes from a partition at a time.
const PIECE: usize = 256;

type Ids = HashMap<Box<str>, Position>;

#[derive(Clone, Copy)]
struct Position {
    partition: u32,
    sequence: u64,
}

pub(super) struct StreamEntry {
    pub(super) name: Arc<str>,
    /// The number of the backend that this belongs to.
    pub(super) owner: u64,
    pub(super) deleted: AtomicBool,
    pub(super) partitions: Box<[CachePadded<Partition>]>,
    /// By name, and in its order.
    pub(super) groups: RwLock<BTreeMap<Arc<str>, Arc<GroupEntry>>>,
    /// Explicit ids; an entry whose event is trimmed counts as absent.
    ids: [CachePadded<Mutex<Ids>>; ID_SHARDS],
    hasher: DefaultHashBuilder,
    wakers: Wakers<Interest>,
    /// Where everything that changes is stored; nowhere in memory alone.
    pub(super) journal: Option<StreamLog<StreamEntry>>,
    /// One change of groups, or of their progress by hand, at a time.
    pub(super) administration: Mutex<Administration>,
}

pub(super) struct Administration {
    /// The number of the next group.
    pub(super) next_group: u64,
}

/// An event that was enqueued, and is taken back if it cannot be written.
pub(super) struct Enqueued {
    partition: u32,
    sequence: u64,
}

/// Events that were appended, on their way to being stored: nobody sees them before `StreamEntry::publish`.
pub(super) struct Pending {
    events: Events,
    ticket: Ticket,
}

/// One costs no allocation.
enum Events {
    One(Event),
    Many(Vec<Event>),
}

impl Events {
    fn as_slice(&self) -> &[Event] {
        match self {
            Events::One(event) => std::slice::from_ref(event),
            Events::Many(events) => events,
        }
    }
}

pub(super) struct Partition {
    pub(super) log: Mutex<Log>,
    /// The last visible sequence; written with the log locked.
    pub(super) high_watermark: AtomicU64,
}

/// What somebody waits for.
struct Interest {
    group: Arc<GroupEntry>,
    partitions: Option<Box<[u32]>>,
}

impl Interest {
    fn covers(&self, partition: u32) -> bool {
        self.partitions.as_ref().is_none_or(|set| set.binary_search(&partition).is_ok())
    }
}

impl StreamEntry {
    pub(super) fn new(
        name: Arc<str>,
        owner: u64,
        partition_count: u32,
        journal: Option<StreamLog<StreamEntry>>,
    ) -> StreamEntry {
        let mut random = SmallRng::from_os_rng();
        let partition = |number| {
            let log = Mutex::new(Log::new(Arc::clone(&name), number, &mut random));
            CachePadded::new(Partition { log, high_watermark: AtomicU64::new(0) })
        };
        StreamEntry {
            owner,
            deleted: AtomicBool::new(false),
            partitions: (0..partition_count).map(partition).collect(),
            groups: RwLock::default(),
            ids: Default::default(),
            hasher: DefaultHashBuilder::default(),
            wakers: Wakers::default(),
            journal,
            administration: Mutex::new(Administration { next_group: 0 }),
            name,
        }
    }

    pub(super) fn partition_count(&self) -> u32 {
        self.partitions.len() as u32
    }

    /// That the stream was not deleted; see `MemoryBackend::with_stream`.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        if self.deleted.load(Ordering::Acquire) { Err(Error::stream_not_found(&self.name)) } else { Ok(()) }
    }

    /// The events of a partition after a sequence, up to what is visible now; the log is locked a piece at a time.
    pub(super) fn read(&self, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>> {
        let place = self.partition(partition)?;
        let to = place.high_watermark.load(Ordering::Acquire);
        let mut events = Vec::new();
        let mut from = after.saturating_add(1);
        while events.len() < limit && from <= to {
            let piece = place.log.lock().range(from, to, PIECE.min(limit - events.len()));
            let Some(last) = piece.last() else { break };
            from = last.sequence() + 1;
            events.extend(piece);
        }
        Ok(events)
    }

    fn partition(&self, partition: u32) -> Result<&Partition> {
        match self.partitions.get(partition as usize) {
            Some(place) => Ok(place),
            None => Err(Error::invalid_partition(&self.name, partition, self.partition_count())),
        }
    }

    /// Appends in memory alone and returns whom to wake.
    #[inline]
    pub(super) fn append(
        &self,
        items: &[Append<'_>],
        clock: &Clock,
        emit: &mut dyn FnMut(Event),
    ) -> Result<Vec<Waker>> {
        if let [item] = items
            && item.options.id.is_none()
        {
            let number = item.route(&self.name, self.partition_count())?;
            let partition = &self.partitions[number as usize];
            let mut log = partition.log.lock();
            self.check()?;
            let event = push_new(&mut log, item, clock.now());
            log.publish(event.sequence());
            partition.high_watermark.store(event.sequence(), Ordering::Release);
            drop(log);
            emit(event);
            return Ok(self.waiting_for_partition(number));
        }
        let events = self.append_batch(items, clock, |_, logs| {
            // What is new becomes visible at once, and as a whole in each partition.
            for (partition, log) in logs {
                if let Some(log) = log {
                    log.publish(u64::MAX);
                    let place = &self.partitions[*partition as usize];
                    place.high_watermark.store(log.high_watermark(), Ordering::Release);
                }
            }
            Ok(())
        })?;
        let wakers = self.waiting_for_events(&events);
        events.into_iter().for_each(emit);
        Ok(wakers)
    }

    /// Appends over a journal: the events are enqueued, and `publish` does the rest when they are stored.
    pub(super) fn append_stored(
        &self,
        journal: &StreamLog<StreamEntry>,
        items: &[Append<'_>],
        clock: &Clock,
    ) -> Result<Pending> {
        if let [item] = items
            && item.options.id.is_none()
        {
            let number = item.route(&self.name, self.partition_count())?;
            let mut log = self.partitions[number as usize].log.lock();
            self.check()?;
            let event = push_new(&mut log, item, clock.now());
            return match enqueue(journal, std::slice::from_ref(&event)) {
                Ok(ticket) => Ok(Pending { events: Events::One(event), ticket }),
                Err(error) => {
                    log.take_back(event.sequence());
                    Err(error)
                }
            };
        }
        let mut ticket = None;
        let events = self.append_batch(items, clock, |events, _| {
            ticket = Some(enqueue(journal, events)?);
            Ok(())
        })?;
        let ticket = ticket.unwrap_or_else(|| journal.last_enqueued());
        Ok(Pending { events: Events::Many(events), ticket })
    }

    /// Every check comes before the first change. Explicit ids, then logs are locked, each in ascending order, so
    /// that nobody sees a part of the batch. `finish` says that the events stand, while all that is locked; when it fails,
    /// they are taken back.
    fn append_batch<'a>(
        &'a self,
        items: &[Append<'_>],
        clock: &Clock,
        finish: impl FnOnce(&[Event], &mut BTreeMap<u32, Option<MutexGuard<'a, Log>>>) -> Result<()>,
    ) -> Result<Vec<Event>> {
        let routes =
            items.iter().map(|item| item.route(&self.name, self.partition_count())).collect::<Result<Vec<u32>>>()?;

        let mut shards: BTreeMap<usize, Option<MutexGuard<'_, Ids>>> =
            items.iter().filter_map(|item| Some((self.shard_of(item.options.id?), None))).collect();
        for (shard, guard) in &mut shards {
            *guard = Some(self.ids[*shard].lock());
        }
        let known = |shards: &BTreeMap<usize, Option<MutexGuard<'_, Ids>>>, id: &str| {
            shards[&self.shard_of(id)].as_ref().and_then(|ids| ids.get(id).copied())
        };

        // Besides where the new events go: where those with a known id stand, or would stand if they were generated.
        let mut logs: BTreeMap<u32, Option<MutexGuard<'_, Log>>> = routes.iter().map(|route| (*route, None)).collect();
        for id in items.iter().filter_map(|item| item.options.id) {
            logs.extend(known(&shards, id).map(|position| (position.partition, None)));
            logs.extend(self.as_generated(id).map(|(partition, _)| (partition, None)));
        }
        for (partition, guard) in &mut logs {
            *guard = Some(self.partitions[*partition as usize].log.lock());
        }
        self.check()?;
        let now = clock.now();
        let mut events = Vec::with_capacity(items.len());
        for (item, route) in items.iter().zip(routes) {
            let mut standing = None;
            if let Some(id) = item.options.id {
                let generated = self.as_generated(id);
                standing = match known(&shards, id) {
                    Some(at) => locked(&mut logs, at.partition).get(at.sequence),
                    None => generated.and_then(|(partition, id)| locked(&mut logs, partition).find_generated(id)),
                };
                if let (None, Some((partition, id))) = (&standing, generated) {
                    locked(&mut logs, partition).note_explicit_id(id);
                }
            }
            events.push(match standing {
                Some(event) => event.into_deduplicated(),
                None => {
                    let event = push_new(locked(&mut logs, route), item, now);
                    if let Some(id) = item.options.id {
                        let position = Position { partition: route, sequence: event.sequence() };
                        if let Some(ids) = shards.get_mut(&self.shard_of(id)).and_then(Option::as_mut) {
                            ids.insert(id.into(), position);
                        }
                    }
                    event
                }
            });
        }
        if let Err(error) = finish(&events, &mut logs) {
            for event in events.iter().filter(|event| !event.deduplicated()) {
                locked(&mut logs, event.partition()).take_back(event.sequence());
                if let StoredId::Explicit(id) = event.stored_id()
                    && let Some(ids) = shards.get_mut(&self.shard_of(id)).and_then(Option::as_mut)
                {
                    ids.remove(id);
                }
            }
            return Err(error);
        }
        Ok(events)
    }

    /// Takes over an event that a journal holds, and says whether it can be the next of its partition.
    #[inline]
    pub(super) fn restore(&mut self, partition: u32, sequence: u64, parts: &RecordParts<'_>) -> bool {
        let Some(place) = self.partitions.get_mut(partition as usize) else { return false };
        let log = place.log.get_mut();
        if log.next() != sequence {
            return false;
        }
        let fits = log.restore(parts);
        *place.high_watermark.get_mut() = sequence;
        if let StoredId::Explicit(id) = parts.id {
            let shard = self.shard_of(id);
            self.ids[shard].get_mut().insert(id.into(), Position { partition, sequence });
            if let Some((partition, id)) = self.as_generated(id) {
                self.partitions[partition as usize].log.get_mut().note_explicit_id(id);
            }
        }
        fits
    }

    /// Takes over that the events before `first` are gone, and says whether they were ever there.
    pub(super) fn retrim(&mut self, partition: u32, first: u64) -> bool {
        let Some(place) = self.partitions.get_mut(partition as usize) else { return false };
        let log = place.log.get_mut();
        let mut explicit: Vec<(Box<str>, u64)> = Vec::new();
        let fits = first <= log.next();
        if fits {
            log.trim(first, |sequence, id| {
                if let StoredId::Explicit(id) = id {
                    explicit.push((id.into(), sequence));
                }
            });
        }
        explicit.iter().for_each(|(id, sequence)| self.forget_id(id, partition, *sequence));
        fits
    }

    /// Waits until events are stored, makes them visible, hands them out, and returns whom to wake.
    pub(super) fn publish(&self, pending: Pending, emit: &mut dyn FnMut(Event)) -> Result<Vec<Waker>> {
        let Pending { events, ticket } = pending;
        let Some(journal) = &self.journal else { return Ok(Vec::new()) };
        // An event that stands and is visible has been waited for before.
        let is_visible = |event: &Event| {
            let place = &self.partitions[event.partition() as usize];
            event.deduplicated() && place.high_watermark.load(Ordering::Acquire) >= event.sequence()
        };
        if !events.as_slice().iter().all(is_visible) {
            journal.wait(ticket, self)?;
        }
        for run in events.as_slice().chunk_by(|a, b| a.partition() == b.partition()) {
            let place = &self.partitions[run[0].partition() as usize];
            let mut log = place.log.lock();
            log.publish(run.iter().map(Event::sequence).max().unwrap_or(0));
            place.high_watermark.store(log.high_watermark(), Ordering::Release);
        }
        let wakers = self.waiting_for_events(events.as_slice());
        match events {
            Events::One(event) => emit(event),
            Events::Many(events) => events.into_iter().for_each(emit),
        }
        Ok(wakers)
    }

    /// Stores what is about to happen to a group's deliveries, under the locks under which it was decided; nothing where
    /// nothing is to happen.
    pub(super) fn store_progress<'a>(
        &self,
        group: &GroupEntry,
        changes: impl Iterator<Item = (u32, Progressed<'a>)>,
    ) -> Result<()> {
        let mut changes = changes.peekable();
        if changes.peek().is_none() {
            return self.journal.as_ref().map_or(Ok(()), StreamLog::check);
        }
        self.store(kind::PROGRESS, |body| {
            let mut writer = ProgressWriter::new(body, group.number);
            changes.for_each(|(partition, progressed)| writer.put(partition, &progressed));
        })
    }

    /// Stores what is about to change, and waits for that; does nothing in memory alone.
    pub(super) fn store(&self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        match &self.journal {
            Some(journal) => journal.wait(journal.enqueue(kind, [], body)?, self),
            None => Ok(()),
        }
    }

    fn shard_of(&self, id: &str) -> usize {
        self.hasher.hash_one(id) as usize % ID_SHARDS
    }

    /// The id as one that a partition of this stream may have generated.
    fn as_generated(&self, id: &str) -> Option<(u32, Uuid)> {
        parse_generated(id).filter(|(partition, _)| *partition < self.partition_count())
    }

    /// The visible event with this id.
    pub(super) fn find(&self, id: &str) -> Option<Event> {
        let position = self.ids[self.shard_of(id)].lock().get(id).copied();
        let (event, high_watermark) = match position {
            Some(at) => {
                let log = self.partitions[at.partition as usize].log.lock();
                (log.get(at.sequence).filter(|event| event.id() == id), log.high_watermark())
            }
            None => {
                let (partition, id) = self.as_generated(id)?;
                let log = self.partitions[partition as usize].log.lock();
                (log.find_generated(id), log.high_watermark())
            }
        };
        event.filter(|event| event.sequence() <= high_watermark)
    }

    /// Visits what was visible at the call, a piece of each partition at a time, merged.
    pub(super) fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Event) -> ControlFlow<()>) {
        let until = scan.query.until_sequence.unwrap_or(u64::MAX);
        let mut sources: Vec<Source<'_>> = scan
            .positions
            .iter()
            .filter_map(|(number, after)| {
                let partition = self.partitions.get(*number as usize)?;
                let to = partition.high_watermark.load(Ordering::Acquire).min(until);
                let from = after.saturating_add(1);
                Some(Source { partition, from, to, descending: scan.descending, piece: Vec::new() })
            })
            .collect();
        // By sequence in the order asked for, ties by partition ascending; `Reverse` since a heap gives its largest.
        let rank = |event: &Event| {
            let sequence = if scan.descending { u64::MAX - event.sequence() } else { event.sequence() };
            Reverse((sequence, event.partition()))
        };
        let mut next: BinaryHeap<(Reverse<(u64, u32)>, usize)> = BinaryHeap::new();
        for (index, source) in sources.iter_mut().enumerate() {
            next.extend(source.peek().map(|event| (rank(event), index)));
        }
        while let Some((_, index)) = next.pop() {
            let source = &mut sources[index];
            let Some(event) = source.piece.pop() else { continue };
            if visit(event).is_break() {
                return;
            }
            next.extend(source.peek().map(|event| (rank(event), index)));
        }
    }

    pub(super) fn info(&self) -> StreamInfo {
        let groups = self.groups.read();
        let partition = |(number, place): (usize, &CachePadded<Partition>)| {
            let needs = groups.values().map(|group| {
                let (sequence, dead_letter) = group.partitions[number].progress.lock().lowest_needed();
                RetentionHold { sequence, group: group.name.to_string(), dead_letter }
            });
            let held_by = needs.min_by_key(|hold| hold.sequence);
            let log = place.log.lock();
            PartitionInfo {
                partition: number as u32,
                first_sequence: log.first(),
                high_watermark: log.high_watermark(),
                bytes: log.bytes(),
                held_by: held_by.filter(|hold| hold.sequence <= log.high_watermark()),
            }
        };
        StreamInfo {
            stream: self.name.to_string(),
            partitions: self.partitions.iter().enumerate().map(partition).collect(),
        }
    }

    /// Removes old events; returns how many, and whom to wake: a removed event may have blocked its key.
    pub(super) fn trim(&self, trim: &Trim, force: bool, now: Timestamp) -> Result<(u64, Vec<Waker>)> {
        if let Trim::BeforeSequence(sequences) = trim {
            sequences.check(&self.name, self.partition_count())?;
        }
        // Nobody moves a group back meanwhile, so what may be removed now may be removed when that is stored.
        let _administration = self.administration.lock();
        let firsts = self.to_trim(trim, force, now);
        if firsts.is_empty() {
            return self.journal.as_ref().map_or(Ok(()), StreamLog::check).map(|()| (0, Vec::new()));
        }
        self.store(kind::TRIMMED, |body| change::write_trimmed(body, &firsts))?;
        let mut removed = 0;
        let mut explicit: Vec<(Box<str>, u64, u32)> = Vec::new();
        let mut freed = Vec::new();
        // No group appears or goes meanwhile.
        let groups = self.groups.read();
        for (number, first) in firsts {
            let mut progresses: Vec<MutexGuard<'_, Progress>> =
                groups.values().map(|group| group.partitions[number as usize].progress.lock()).collect();
            let mut log = self.partitions[number as usize].log.lock();
            removed += first.saturating_sub(log.first());
            log.trim(first, |sequence, id| {
                if let StoredId::Explicit(id) = id {
                    explicit.push((id.into(), sequence, number));
                }
            });
            for (group, progress) in groups.values().zip(&mut progresses) {
                if progress.trim(first) == Freed::Work {
                    freed.push((Arc::clone(group), number));
                }
            }
        }
        for (id, sequence, partition) in explicit {
            self.forget_id(&id, partition, sequence);
        }
        let woken = |interest: &Interest| {
            freed.iter().any(|(group, number)| Arc::ptr_eq(&interest.group, group) && interest.covers(*number))
        };
        Ok((removed, self.wakers.matching(woken)))
    }

    /// The partitions that a trim takes something from, and what will be first in each.
    fn to_trim(&self, trim: &Trim, force: bool, now: Timestamp) -> Vec<(u32, u64)> {
        let groups = self.groups.read();
        let first_in = |(number, place): (u32, &CachePadded<Partition>)| {
            let progresses: Vec<MutexGuard<'_, Progress>> =
                groups.values().map(|group| group.partitions[number as usize].progress.lock()).collect();
            let log = place.log.lock();
            let wanted = match trim {
                Trim::BeforeSequence(Sequences::All(before)) => *before,
                Trim::BeforeSequence(Sequences::Map(map)) => map.get(&number).copied().unwrap_or(0),
                Trim::MaxLen(len) => (log.high_watermark() + 1).saturating_sub(*len),
                Trim::MaxAgeMs(age) => log.first_not_older(now.plus_millis(-i64::try_from(*age).unwrap_or(i64::MAX))),
                Trim::MaxBytes(bytes) => log.first_within(*bytes),
            };
            let allowed = if force {
                u64::MAX
            } else {
                progresses.iter().map(|progress| progress.lowest_needed().0).min().unwrap_or(u64::MAX)
            };
            let first = wanted.min(allowed).min(log.high_watermark() + 1);
            (first > log.first()).then_some((number, first))
        };
        (0..).zip(&self.partitions).filter_map(first_in).collect()
    }

    /// Forgets an explicit id whose event is gone. An append may have given it anew since; that entry stays.
    fn forget_id(&self, id: &str, partition: u32, sequence: u64) {
        let mut ids = self.ids[self.shard_of(id)].lock();
        if ids.get(id).is_some_and(|at| at.sequence == sequence && at.partition == partition) {
            ids.remove(id);
            shrink(&mut ids);
        }
    }

    /// Takes note that the stream is gone, gives its memory back whoever still holds the entry, and returns whom to
    /// wake.
    pub(super) fn delete(&self) -> Vec<Waker> {
        // A change by hand that is under way has decided what to do to what is there.
        let _administration = self.administration.lock();
        self.deleted.store(true, Ordering::Release);
        let mut groups = self.groups.write();
        for group in std::mem::take(&mut *groups).into_values() {
            group.delete();
        }
        for shard in &self.ids {
            *shard.lock() = Ids::default();
        }
        for partition in &self.partitions {
            partition.log.lock().clear();
            partition.high_watermark.store(0, Ordering::Release);
        }
        self.everybody()
    }

    /// Whether nobody waits, asked after a change under a partition's lock.
    #[inline]
    pub(super) fn nobody_waits(&self) -> bool {
        self.wakers.is_empty()
    }

    /// Who waits for a group, in these partitions (all when missing).
    pub(super) fn waiting_for(&self, group: &Arc<GroupEntry>, partitions: Option<&[u32]>) -> Vec<Waker> {
        self.wakers.matching(|interest| {
            Arc::ptr_eq(&interest.group, group)
                && partitions.is_none_or(|set| set.iter().any(|partition| interest.covers(*partition)))
        })
    }

    #[inline]
    fn waiting_for_partition(&self, partition: u32) -> Vec<Waker> {
        if self.wakers.is_empty() {
            return Vec::new();
        }
        self.wakers.matching(|interest| interest.covers(partition))
    }

    /// Who waits for the partitions of some events.
    fn waiting_for_events(&self, events: &[Event]) -> Vec<Waker> {
        if self.wakers.is_empty() {
            return Vec::new();
        }
        self.wakers.matching(|interest| events.iter().any(|event| interest.covers(event.partition())))
    }

    pub(super) fn everybody(&self) -> Vec<Waker> {
        self.wakers.matching(|_| true)
    }
}

impl Lost for StreamEntry {
    type Mark = Enqueued;

    /// Takes back the events that could not be written. Nobody has seen them, and none is enqueued meanwhile.
    fn undo(&self, marks: &[Enqueued]) {
        let mut from: BTreeMap<u32, u64> = BTreeMap::new();
        for mark in marks {
            let from = from.entry(mark.partition).or_insert(mark.sequence);
            *from = mark.sequence.min(*from);
        }
        for (partition, from) in from {
            let mut explicit: Vec<(Box<str>, u64)> = Vec::new();
            let mut log = self.partitions[partition as usize].log.lock();
            for sequence in from..log.next() {
                if let Some(StoredId::Explicit(id)) = log.record(sequence).map(Record::id) {
                    explicit.push((id.into(), sequence));
                }
            }
            log.take_back(from);
            drop(log);
            explicit.iter().for_each(|(id, sequence)| self.forget_id(id, partition, *sequence));
        }
    }
}

/// Enqueues the new ones among these events; a ticket that covers those that stand as well.
fn enqueue(journal: &StreamLog<StreamEntry>, events: &[Event]) -> Result<Ticket> {
    let new = || events.iter().filter(|event| !event.deduplicated());
    if new().next().is_none() {
        return journal.check().map(|()| journal.last_enqueued());
    }
    let mark = |event: &Event| Enqueued { partition: event.partition(), sequence: event.sequence() };
    journal.enqueue(kind::APPENDED, new().map(mark), |body| new().for_each(|event| change::write_event(body, event)))
}

/// Appends one event, generating its id if it has none. The caller makes it visible.
#[inline]
fn push_new(log: &mut Log, item: &Append<'_>, now: Timestamp) -> Event {
    let options = &item.options;
    let id = match options.id {
        Some(id) => StoredId::Explicit(id),
        None => StoredId::Generated(log.next_id(now)),
    };
    log.push(&RecordParts {
        id,
        timestamp: options.timestamp.unwrap_or(now),
        key: options.key,
        event_type: options.event_type,
        metadata: options.metadata.unwrap_or(""),
        encoding: item.encoding,
        payload: item.payload,
    })
}

/// Gives back the memory of a map that has become much smaller.
pub(super) fn shrink<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.len() < map.capacity() / 8 {
        map.shrink_to(2 * map.len() + 16);
    }
}

fn locked<'a, 'b>(logs: &'a mut BTreeMap<u32, Option<MutexGuard<'b, Log>>>, partition: u32) -> &'a mut Log {
    logs.get_mut(&partition).and_then(Option::as_mut).expect("every log that a batch needs is locked before")
}

/// A partition that is scanned, a piece at a time.
struct Source<'a> {
    partition: &'a Partition,
    /// The lowest sequence still to come.
    from: u64,
    /// The highest sequence still to come.
    to: u64,
    descending: bool,
    /// What was taken already, the next one last.
    piece: Vec<Event>,
}

impl Source<'_> {
    /// The next event, which `piece.pop()` takes.
    fn peek(&mut self) -> Option<&Event> {
        if self.piece.is_empty() && self.from <= self.to {
            let log = self.partition.log.lock();
            self.from = self.from.max(log.first());
            if self.descending {
                let low = self.from.max((self.to + 1).saturating_sub(PIECE as u64));
                self.piece = log.range(low, self.to, PIECE);
                self.to = low - 1;
            } else {
                self.piece = log.range(self.from, self.to, PIECE);
                self.from += self.piece.len() as u64;
                self.piece.reverse();
            }
        }
        self.piece.last()
    }
}

/// Registers a waker. The logs are locked once after that: an append that took its lock before is seen by the fetch that
/// follows, one that takes it later sees the registration.
pub(super) fn watch(
    stream: &Arc<StreamEntry>,
    group: &Arc<GroupEntry>,
    partitions: Option<&[u32]>,
    waker: Waker,
) -> Watch {
    struct Registration {
        stream: Arc<StreamEntry>,
        number: u64,
    }
    impl Drop for Registration {
        fn drop(&mut self) {
            self.stream.wakers.remove(self.number);
        }
    }
    let interest = Interest { group: Arc::clone(group), partitions: partitions.map(Into::into) };
    let number = stream.wakers.add(interest, waker);
    match partitions {
        Some(set) => set.iter().for_each(|partition| drop(stream.partitions[*partition as usize].log.lock())),
        None => stream.partitions.iter().for_each(|partition| drop(partition.log.lock())),
    }
    Watch::new(Registration { stream: Arc::clone(stream), number })
}
