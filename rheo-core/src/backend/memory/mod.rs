//! The memory backend: partition logs, group progress and waiters, under narrow locks (their order is written
//! down in the crate's head).
//!
//! What a call costs: an append takes one lock (its partition's log), reads the clock once and copies the event
//! into a chunk; a fetch takes the lock of each partition that it looks at and, once, that of each log it takes events
//! from; a settle takes its partition's progress lock. By name, one look-up of the stream and one of the group come on top; a
//! bound handle and a lease have found them before. Nobody who waits costs an append anything but a load.

mod group;
mod key_order;
mod log;
mod open;
mod progress;
mod recover;
mod stored;
mod stream;

use self::group::GroupEntry;
use self::progress::{Freed, Progress, Terms, micros};
use self::stored::{Claimed, Claims};
use self::stream::StreamEntry;
use crate::append::Append;
use crate::backend::journal::Journal;
use crate::backend::journal::change::{self, GroupCreated, kind};
use crate::backend::{
    Backend, Binding, Blocking, FetchRequest, Fetched, GroupRef, NewGroup, Scan, Settled, Settlement, StreamRef, Watch,
};
use crate::capabilities::Capabilities;
use crate::clock::{Clock, Reading};
use crate::dead_letter::{DeadLetter, DeadLetterOptions, Discard};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::group::{GroupInfo, GroupUpdate, Start};
use crate::lag::Lag;
use crate::lease::{Lease, LeaseContext, LeaseToken};
use crate::lock::Mutex;
use crate::replay::Replay;
use crate::stream::{StreamInfo, StreamOptions, Trim};
use crate::timestamp::Timestamp;
use crate::wakers::wake_all;
use crossbeam_utils::sync::ShardedLock;
use hashbrown::{Equivalent, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Streams, groups and deliveries in this process's memory. Everything is gone when it is dropped.
pub struct MemoryBackend {
    /// Its own among the stores of this process: tells whose entry a binding kept.
    number: u64,
    clock: Clock,
    /// By name. Read by every call that comes by name, changed seldom.
    streams: ShardedLock<HashMap<Arc<str>, Arc<StreamEntry>>>,
    /// The groups of all streams by both names, so that a call finds its group in one step.
    groups: ShardedLock<HashMap<GroupKey, Arc<BoundGroup>>>,
    /// Makes it durable; nothing in memory alone.
    journal: Option<Arc<Journal>>,
    /// Held while a stream is created or deleted, which the registry above is not.
    administration: Mutex<()>,
}

/// What a bound group handle and a lease keep.
struct BoundGroup {
    stream: Arc<StreamEntry>,
    group: Arc<GroupEntry>,
}

/// That neither the stream nor the group was deleted.
#[inline]
fn check(stream: &StreamEntry, group: &GroupEntry) -> Result<()> {
    if group.deleted.load(Ordering::Acquire) {
        // A stream is marked before its groups are: one that goes with its stream finds the stream gone.
        stream.check()?;
        return Err(Error::group_not_found(&stream.name, &group.name));
    }
    stream.check()
}

/// The names of a stream and of one of its groups.
#[derive(PartialEq, Eq, Hash)]
struct GroupKey(Arc<str>, Arc<str>);

/// The same, borrowed; hashes alike.
#[derive(Hash)]
struct GroupNames<'a>(&'a str, &'a str);

impl Equivalent<GroupKey> for GroupNames<'_> {
    fn equivalent(&self, key: &GroupKey) -> bool {
        self.0 == &*key.0 && self.1 == &*key.1
    }
}

impl MemoryBackend {
    /// An empty store that goes by this clock.
    pub fn new(clock: Clock) -> MemoryBackend {
        MemoryBackend::over(clock, None)
    }

    fn over(clock: Clock, journal: Option<Arc<Journal>>) -> MemoryBackend {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        MemoryBackend {
            number: COUNT.fetch_add(1, Ordering::Relaxed),
            clock,
            streams: ShardedLock::default(),
            groups: ShardedLock::default(),
            journal,
            administration: Mutex::new(()),
        }
    }

    /// Whether an entry that a binding kept is this backend's and still stands.
    fn stands(&self, stream: &StreamEntry) -> bool {
        stream.owner == self.number && !stream.deleted.load(Ordering::Acquire)
    }

    /// Runs `work` on a stream. The registry is held meanwhile where the stream came by name, so `work` is short
    /// and wakes nobody.
    ///
    /// A stream or group may be deleted once it was found. Whoever deletes marks it first and takes each lock of its
    /// content after that; so `work` that matters looks at the mark, by `check`, under such a lock.
    #[inline]
    fn with_stream<R>(&self, stream: StreamRef<'_>, work: impl FnOnce(&Arc<StreamEntry>) -> Result<R>) -> Result<R> {
        if let Some(entry) = stream.binding.and_then(Binding::get::<Arc<StreamEntry>>)
            && self.stands(entry)
        {
            return work(entry);
        }
        let streams = self.streams.read().unwrap_or_else(PoisonError::into_inner);
        let entry = streams.get(stream.name).ok_or_else(|| Error::stream_not_found(stream.name))?;
        if let Some(binding) = stream.binding
            && !binding.is_set()
        {
            binding.set(Arc::new(Arc::clone(entry)));
        }
        work(entry)
    }

    /// Runs `work` on a group, as `with_stream`.
    #[inline]
    fn with_group<R>(
        &self,
        group: GroupRef<'_>,
        work: impl FnOnce(&Arc<StreamEntry>, &Arc<GroupEntry>) -> Result<R>,
    ) -> Result<R> {
        if let Some(bound) = group.binding.and_then(Binding::get::<BoundGroup>)
            && self.stands(&bound.stream)
            && !bound.group.deleted.load(Ordering::Acquire)
        {
            return work(&bound.stream, &bound.group);
        }
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner);
        let Some(bound) = groups.get(&GroupNames(group.stream, group.name)) else {
            drop(groups);
            self.stream(StreamRef { name: group.stream, binding: None })?;
            return Err(Error::group_not_found(group.stream, group.name));
        };
        if let Some(binding) = group.binding {
            binding.set(Arc::clone(bound));
        }
        work(&bound.stream, &bound.group)
    }

    /// The entries of a group, kept beyond the registry's lock: for whatever is not short or wakes somebody.
    fn group(&self, group: GroupRef<'_>) -> Result<(Arc<StreamEntry>, Arc<GroupEntry>)> {
        self.with_group(group, |stream, group| Ok((Arc::clone(stream), Arc::clone(group))))
    }

    fn stream(&self, stream: StreamRef<'_>) -> Result<Arc<StreamEntry>> {
        self.with_stream(stream, |stream| Ok(Arc::clone(stream)))
    }

    /// Calls `change` for each token with the progress of its partition locked, runs of one partition under one
    /// lock, and wakes who waits for what that freed.
    #[inline]
    fn with_claims<T>(
        &self,
        tokens: &[&LeaseToken],
        results: &mut [Result<T>],
        mut change: impl FnMut(&mut Progress, &GroupEntry, &LeaseToken) -> Option<(T, Freed)>,
    ) {
        let mut done = 0;
        while let Some(first) = tokens.get(done) {
            let same_place = |token: &&&LeaseToken| {
                Arc::ptr_eq(token.context(), first.context()) && token.partition() == first.partition()
            };
            let run = 1 + tokens[done + 1..].iter().take_while(same_place).count();
            let place =
                GroupRef { stream: first.stream(), name: first.group(), binding: Some(first.context().binding()) };
            let (tokens, results) = (&tokens[done..done + run], &mut results[done..done + run]);
            let outcome = self.with_group(place, |stream, group| {
                // A partition that does not exist: the token was forged or is another store's.
                let Some(slot) = group.partitions.get(first.partition() as usize) else {
                    tokens
                        .iter()
                        .zip(results.iter_mut())
                        .for_each(|(token, place)| *place = Err(Error::stale_lease(token)));
                    return Ok(Vec::new());
                };
                let mut freed = Freed::Nothing;
                let mut progress = slot.progress.lock();
                check(stream, group)?;
                for (token, place) in tokens.iter().zip(results.iter_mut()) {
                    if has_foreign_receipt(token) && progress.is_held(token.sequence(), token.lease_id()) {
                        *place = Err(Error::receipt_mismatch(token));
                        continue;
                    }
                    match change(&mut progress, group, token) {
                        Some((value, frees)) => {
                            *place = Ok(value);
                            if frees == Freed::Work {
                                freed = frees;
                            }
                        }
                        None => *place = Err(Error::stale_lease(token)),
                    }
                }
                drop(progress);
                Ok(match freed {
                    Freed::Work if !stream.nobody_waits() => stream.waiting_for(group, Some(&[first.partition()])),
                    _ => Vec::new(),
                })
            });
            match outcome {
                Ok(wakers) => wake_all(wakers),
                Err(error) => results.iter_mut().for_each(|place| *place = Err(error.clone())),
            }
            done += run;
        }
    }

    /// The partitions that a request is about, after checking them.
    fn scope<'a>(stream: &StreamEntry, partitions: Option<&'a [u32]>) -> Result<Scope<'a>> {
        if let Some(set) = partitions {
            crate::group::check_partitions(&stream.name, set.iter().copied(), stream.partition_count())?;
        }
        Ok(match partitions {
            Some(set) => Scope::Set(set),
            None => Scope::All(stream.partition_count()),
        })
    }
}

/// Whether a token carries a receipt that no lease of this backend has: here it is always the lease id's text.
#[inline]
fn has_foreign_receipt(token: &LeaseToken) -> bool {
    token.own_receipt().is_some_and(|receipt| receipt.as_bytes() != token.lease_id().to_text())
}

/// Some partitions of a stream, or all.
#[derive(Clone, Copy)]
enum Scope<'a> {
    All(u32),
    Set(&'a [u32]),
}

impl Scope<'_> {
    fn len(self) -> usize {
        match self {
            Scope::All(count) => count as usize,
            Scope::Set(set) => set.len(),
        }
    }

    fn get(self, index: usize) -> u32 {
        match self {
            Scope::All(_) => index as u32,
            Scope::Set(set) => set[index],
        }
    }

    fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.len()).map(move |index| self.get(index))
    }
}

impl Backend for MemoryBackend {
    fn capabilities(&self) -> Capabilities {
        let guarantees = ["partitions", "contiguous_frontier", "replay", "ordered_range_scan", "batch_writes"];
        let guarantees = guarantees.map(|name| (name, true)).into_iter().chain([("durable", self.journal.is_some())]);
        let mechanisms = ["atomic_compare_and_set", "notifications", "blocking_reads"];
        Capabilities::new(guarantees, mechanisms.map(|name| (name, true))).expect("these are names of the contract")
    }

    fn blocking(&self) -> Blocking {
        match &self.journal {
            Some(journal) => journal.blocking(),
            None => Blocking::NOTHING,
        }
    }

    fn ping(&self) -> Result<()> {
        Ok(())
    }

    fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    fn advance_clock(&self, by: Duration) -> Result<Timestamp> {
        let now = self.clock.advance(by)?;
        self.wake_everybody();
        Ok(now)
    }

    fn close(&self) -> Result<()> {
        self.wake_everybody();
        let Some(journal) = &self.journal else { return Ok(()) };
        let _administration = self.administration.lock();
        let streams: Vec<Arc<StreamEntry>> =
            self.streams.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let mut first_error = Ok(());
        for stream in &streams {
            if let Some(log) = &stream.journal {
                first_error = first_error.and(log.close(stream));
            }
        }
        first_error.and(journal.close())
    }

    fn create_stream(&self, stream: StreamRef<'_>, options: &StreamOptions) -> Result<()> {
        let _administration = self.administration.lock();
        if self.streams.read().unwrap_or_else(PoisonError::into_inner).contains_key(stream.name) {
            return Err(Error::already_exists(&format!("stream {:?}", stream.name)));
        }
        let stored = self.journal.as_ref().map(|journal| journal.create_stream(stream.name, options.partition_count));
        let name: Arc<str> = stream.name.into();
        let entry = StreamEntry::new(Arc::clone(&name), self.number, options.partition_count, stored.transpose()?);
        self.streams.write().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::new(entry));
        Ok(())
    }

    fn delete_stream(&self, stream: StreamRef<'_>) -> Result<()> {
        let _administration = self.administration.lock();
        let entry = self.stream(StreamRef { name: stream.name, binding: None })?;
        if let Some(log) = &entry.journal {
            log.delete()?;
        }
        self.streams.write().unwrap_or_else(PoisonError::into_inner).remove(stream.name);
        let wakers = entry.delete();
        self.groups
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|_, bound| !Arc::ptr_eq(&bound.stream, &entry));
        if let Some(log) = &entry.journal {
            log.remove();
        }
        wake_all(wakers);
        Ok(())
    }

    fn stream_info(&self, stream: StreamRef<'_>) -> Result<StreamInfo> {
        Ok(self.stream(stream)?.info())
    }

    fn list_streams(&self) -> Result<Vec<String>> {
        let streams = self.streams.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = streams.keys().map(|name| name.to_string()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn create_group(&self, group: GroupRef<'_>, new: &NewGroup) -> Result<()> {
        let stream = self.stream(StreamRef { name: group.stream, binding: None })?;
        let mut administration = stream.administration.lock();
        // The stream may have been deleted since it was found.
        stream.check()?;
        if stream.groups.read().contains_key(group.name) {
            return Err(Error::already_exists(&format!("group {:?} of stream {:?}", group.name, group.stream)));
        }
        new.start.check(&stream.name, stream.partition_count())?;
        let created = GroupCreated {
            number: administration.next_group,
            name: group.name.to_owned(),
            settings: new.settings,
            cursors: group::first_cursors(&stream, &new.start),
        };
        stream.store(kind::GROUP_CREATED, |body| created.write(body))?;
        administration.next_group += 1;
        let GroupCreated { number, name, settings, cursors } = created;
        self.insert_group(&stream, GroupEntry::new(number, name.into(), settings, &cursors));
        Ok(())
    }

    fn update_group(&self, group: GroupRef<'_>, update: &GroupUpdate) -> Result<()> {
        let (stream, entry) = self.group(group)?;
        {
            let _administration = stream.administration.lock();
            let mut settings = entry.settings();
            settings.max_attempts = update.max_attempts.unwrap_or(settings.max_attempts);
            settings.max_deliveries = update.max_deliveries.unwrap_or(settings.max_deliveries);
            stream.store(kind::GROUP_UPDATED, |body| change::write_group_updated(body, entry.number, &settings))?;
            entry.set(&settings);
        }
        wake_all(stream.waiting_for(&entry, None));
        Ok(())
    }

    fn delete_group(&self, group: GroupRef<'_>) -> Result<()> {
        let stream = self.stream(StreamRef { name: group.stream, binding: None })?;
        let _administration = stream.administration.lock();
        let entry = stream.groups.read().get(group.name).cloned();
        let entry = entry.ok_or_else(|| Error::group_not_found(group.stream, group.name))?;
        stream.store(kind::GROUP_DELETED, |body| change::put(body, entry.number))?;
        stream.groups.write().remove(group.name);
        entry.delete();
        let names = GroupNames(group.stream, group.name);
        self.groups.write().unwrap_or_else(PoisonError::into_inner).remove(&names);
        drop(_administration);
        wake_all(stream.waiting_for(&entry, None));
        Ok(())
    }

    fn list_groups(&self, stream: StreamRef<'_>) -> Result<Vec<String>> {
        self.with_stream(stream, |stream| Ok(stream.groups.read().keys().map(|name| name.to_string()).collect()))
    }

    fn append(&self, stream: StreamRef<'_>, items: &[Append<'_>], emit: &mut dyn FnMut(Event)) -> Result<()> {
        let wakers = match &self.journal {
            None => self.with_stream(stream, |stream| stream.append(items, &self.clock, emit))?,
            Some(_) => self.append_stored(stream, items, emit)?,
        };
        wake_all(wakers);
        Ok(())
    }

    fn read(&self, stream: StreamRef<'_>, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>> {
        self.stream(stream)?.read(partition, after, limit)
    }

    fn get(&self, stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>> {
        self.with_stream(stream, |stream| Ok(stream.find(event_id)))
    }

    fn partition_count(&self, stream: StreamRef<'_>) -> Result<u32> {
        self.with_stream(stream, |stream| Ok(stream.partition_count()))
    }

    fn scan(
        &self,
        stream: StreamRef<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<()> {
        self.stream(stream)?.scan(scan, visit);
        Ok(())
    }

    fn trim(&self, stream: StreamRef<'_>, trim: &Trim, force: bool) -> Result<u64> {
        let (removed, wakers) = self.stream(stream)?.trim(trim, force, self.clock.now())?;
        wake_all(wakers);
        Ok(removed)
    }

    fn fetch(&self, group: GroupRef<'_>, request: &FetchRequest<'_>, leases: &mut Vec<Lease>) -> Result<Fetched> {
        if let Some(journal) = &self.journal {
            journal.check()?;
            let (stream, group) = self.group(group)?;
            let mut claims = Claims::default();
            let fetched = self.fetch_from(&stream, &group, request, leases, &mut claims);
            return stored::finish_fetch(&stream, &group, fetched, claims, leases);
        }
        self.with_group(group, |stream, group| self.fetch_from(stream, group, request, leases, &mut Claims::default()))
    }

    fn settle(
        &self,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) -> Result<()> {
        if let Some(journal) = &self.journal {
            journal.check()?;
            self.settle_stored(tokens, settlement, results);
            return Ok(());
        }
        self.with_claims(tokens, results, |progress, group, token| {
            let max_attempts = group.max_attempts.load(Ordering::Relaxed);
            progress.settle(token.sequence(), token.lease_id(), settlement, max_attempts, || self.clock.read())
        });
        Ok(())
    }

    fn renew(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()> {
        if let Some(journal) = &self.journal {
            // A deadline is not stored, for it ends with this open; but who holds a lease is to hear of it.
            journal.check()?;
        }
        let now = self.clock.read();
        self.with_claims(tokens, results, |progress, _, token| {
            let micros = micros(lease_ms.unwrap_or(token.lease_ms()));
            progress
                .renew(token.sequence(), token.lease_id(), now.monotonic.saturating_add(micros))
                .map(|settled| (Timestamp::from_micros(now.wall.as_micros().saturating_add(micros)), settled))
        });
        Ok(())
    }

    fn lag(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag> {
        self.with_group(group, |stream, group| {
            let scope = MemoryBackend::scope(stream, partitions)?;
            let lag = group.lag(stream, scope.iter());
            check(stream, group).map(|()| lag)
        })
    }

    fn group_info(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        self.with_group(group, |stream, group| {
            let scope = MemoryBackend::scope(stream, partitions)?;
            let info = group.info(stream, scope.iter(), self.clock.monotonic());
            check(stream, group).map(|()| info)
        })
    }

    fn dead_letters(&self, group: GroupRef<'_>, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        let (stream, group) = self.group(group)?;
        let scope = MemoryBackend::scope(&stream, options.partitions.as_deref())?;
        group.dead_letters(&stream, scope.iter(), options)
    }

    fn discard_dead_letters(&self, group: GroupRef<'_>, which: Discard<'_>) -> Result<u64> {
        let (stream, group) = self.group(group)?;
        let _administration = stream.administration.lock();
        group.discard_dead_letters(&stream, which)
    }

    fn replay(&self, group: GroupRef<'_>, what: Replay<'_>, partitions: Option<&[u32]>) -> Result<u64> {
        let (stream, group) = self.group(group)?;
        let scope = MemoryBackend::scope(&stream, partitions)?;
        if let Replay::FromSequence(sequences) = what {
            sequences.check(&stream.name, stream.partition_count())?;
        }
        let count = {
            let _administration = stream.administration.lock();
            group.replay(&stream, what, &scope.iter().collect::<Vec<u32>>())?
        };
        wake_all(stream.waiting_for(&group, partitions));
        Ok(count)
    }

    fn reset_group(&self, group: GroupRef<'_>, start: &Start) -> Result<()> {
        let (stream, group) = self.group(group)?;
        start.check(&stream.name, stream.partition_count())?;
        {
            let _administration = stream.administration.lock();
            group.reset(&stream, start)?;
        }
        wake_all(stream.waiting_for(&group, None));
        Ok(())
    }

    fn watch(&self, group: GroupRef<'_>, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        let (stream, group) = self.group(group)?;
        MemoryBackend::scope(&stream, partitions)?;
        Ok(stream::watch(&stream, &group, partitions, waker.clone()))
    }
}

impl MemoryBackend {
    /// Puts a group where it is found.
    fn insert_group(&self, stream: &Arc<StreamEntry>, entry: GroupEntry) {
        let entry = Arc::new(entry);
        stream.groups.write().insert(Arc::clone(&entry.name), Arc::clone(&entry));
        let key = GroupKey(Arc::clone(&stream.name), Arc::clone(&entry.name));
        let bound = Arc::new(BoundGroup { stream: Arc::clone(stream), group: entry });
        self.groups.write().unwrap_or_else(PoisonError::into_inner).insert(key, bound);
    }

    /// Goes through the partitions of a request, from the one that was visited longest ago.
    fn fetch_from(
        &self,
        stream: &Arc<StreamEntry>,
        group: &Arc<GroupEntry>,
        request: &FetchRequest<'_>,
        leases: &mut Vec<Lease>,
        claims: &mut Claims,
    ) -> Result<Fetched> {
        let scope = MemoryBackend::scope(stream, request.partitions)?;
        let now = self.clock.read();
        let (begin, number) = group.begin_with(scope);
        let fetching = Fetching { stream, group, request, now, number };
        let mut due: Option<i64> = None;
        let mut dead_letters = 0;
        for step in 0..scope.len() {
            let index = (begin + step) % scope.len();
            let before = leases.len();
            let (next, buried) = fetching.claim_from(scope.get(index), leases, claims)?;
            due = earlier(due, next);
            dead_letters += buried;
            if leases.len() > before {
                group.served(scope, index);
            }
            if leases.len() >= request.limit {
                break;
            }
        }
        if !leases.is_empty() {
            return Ok(Fetched { next_due: None, dead_letters });
        }
        check(stream, group)?;
        let next_due = due.map(|due| Duration::from_micros(due.saturating_sub(now.monotonic).max(0) as u64));
        Ok(Fetched { next_due, dead_letters })
    }

    fn wake_everybody(&self) {
        let streams = self.streams.read().unwrap_or_else(PoisonError::into_inner);
        let wakers: Vec<Waker> = streams.values().flat_map(|stream| stream.everybody()).collect();
        drop(streams);
        wake_all(wakers);
    }
}

impl Drop for MemoryBackend {
    /// Leases may outlive the backend. They keep their events alive, but not the stream around them.
    fn drop(&mut self) {
        for stream in self.streams.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            wake_all(stream.delete());
        }
    }
}

/// The lesser of two, where there are two.
fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// One fetch, as it goes through the partitions.
struct Fetching<'a> {
    stream: &'a Arc<StreamEntry>,
    group: &'a Arc<GroupEntry>,
    request: &'a FetchRequest<'a>,
    now: Reading,
    /// Marks the partitions that it visits.
    number: u64,
}

impl Fetching<'_> {
    /// Claims from one partition, up to what the request leaves open. Returns the next deadline there if nothing has been
    /// found so far, and how many deliveries were dead-lettered.
    #[inline]
    fn claim_from(&self, partition: u32, leases: &mut Vec<Lease>, claims: &mut Claims) -> Result<(Option<i64>, u64)> {
        let Fetching { stream, group, request, now, number } = *self;
        let lease_micros = micros(request.lease_ms);
        let expires_at = Timestamp::from_micros(now.wall.as_micros().saturating_add(lease_micros));
        let place = &stream.partitions[partition as usize];
        let slot = &group.partitions[partition as usize];
        let mut progress = slot.progress.lock();
        // The fetch that finds nothing looks again at why.
        if check(stream, group).is_err() {
            return Ok((None, 0));
        }
        let (before, cursor) = (leases.len(), progress.cursor());
        let terms = Terms {
            now,
            deadline: now.monotonic.saturating_add(lease_micros),
            limit: request.limit - leases.len(),
            max_deliveries: group.max_deliveries.load(Ordering::Relaxed),
            high_watermark: place.high_watermark.load(Ordering::Acquire),
        };
        let context = progress.context_for(request.consumer_id, || {
            let bound = BoundGroup { stream: Arc::clone(stream), group: Arc::clone(group) };
            let (stream, group) = (Arc::clone(&stream.name), Arc::clone(&group.name));
            LeaseContext::new(stream, group, Arc::clone(request.consumer_id), Binding::holding(Arc::new(bound)))
        });
        let mut open_before = Vec::new();
        let noted = stream.journal.is_some().then_some(&mut open_before);
        let buried = progress.claim(&terms, &place.log, noted, |event, lease_id, attempt| {
            let context = Arc::clone(&context);
            let token = LeaseToken::new(context, partition, event.sequence(), lease_id, None, request.lease_ms);
            leases.push(Lease::new(token, event, attempt, now.wall, expires_at));
        });
        progress.context = Some(context);
        if let Some(journal) = &stream.journal {
            claims.note_visit(partition, slot.visited.load(Ordering::Relaxed));
            let leases = &leases[before..];
            let claimed = Claimed { group, partition, progress: &progress, cursor, leases, buried: &buried };
            claims.note_before(partition, open_before);
            claims.enqueue(journal, &claimed)?;
        }
        slot.visited.store(number, Ordering::Relaxed);
        let next = if leases.is_empty() { progress.next_deadline() } else { None };
        Ok((next, buried.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FetchOptions, GroupOptions, OpenOptions};

    /// The fence covers the store, also one that lies where another lay (contract 4.2).
    #[test]
    fn a_lease_of_another_store_does_not_settle() {
        let open = || {
            let db = crate::open("memory:", OpenOptions::new()).unwrap();
            db.create_stream("s", StreamOptions::default()).unwrap();
            db.create_group("s", "g", &GroupOptions::default()).unwrap();
            db.append("s", &Append::json("1")).unwrap();
            db
        };
        for _ in 0..100 {
            let before = open();
            let leases = before.fetch("s", "g", &FetchOptions::new()).unwrap();
            drop(before);
            let after = open();
            assert_eq!(after.ack(&leases[0]).unwrap_err().code(), crate::ErrorCode::StaleLease);
            after.delete_stream("s", true).unwrap();
            assert_eq!(after.ack(&leases[0]).unwrap_err().code(), crate::ErrorCode::StreamNotFound);
        }
    }

    /// Leases lead back to their stream and group; none of that may keep them alive.
    #[test]
    fn nothing_stays_of_what_was_deleted_or_dropped() {
        let backend = Arc::new(MemoryBackend::new(Clock::system()));
        let db = crate::Instance::with_backend(backend.clone(), OpenOptions::new()).unwrap();
        let mut entries = Vec::new();
        for stream in ["deleted", "group deleted", "dropped"] {
            db.create_stream(stream, StreamOptions::default()).unwrap();
            db.create_group(stream, "g", &GroupOptions::default()).unwrap();
            db.append(stream, &Append::json("1")).unwrap();
            assert_eq!(db.fetch(stream, "g", &FetchOptions::new()).unwrap().len(), 1);
            let place = GroupRef { stream, name: "g", binding: None };
            let (stream, group) = backend.group(place).unwrap();
            entries.push((Arc::downgrade(&stream), Arc::downgrade(&group)));
        }
        db.delete_stream("deleted", true).unwrap();
        assert!(entries[0].0.upgrade().is_none() && entries[0].1.upgrade().is_none());
        db.delete_group("group deleted", "g").unwrap();
        assert!(entries[1].1.upgrade().is_none());
        drop((db, backend));
        assert!(entries.iter().all(|(stream, group)| stream.upgrade().is_none() && group.upgrade().is_none()));
    }
}
