//! A whole backend, to learn from: one mutex, a `Vec` of events per partition, a map of open deliveries per group and
//! partition. `docs/backends.md` is the guide to it. It keeps the whole contract and is slow on purpose: it walks where
//! an engine would keep an index, and wakes every waiter where only some are meant.
//!
//! Here is the trait: find the stream and the group, check the range, ask `log` and `group`, make leases.

use crate::group::{Dead, Group, Reader, later, ordered_key};
use crate::log::{Log, Partition};
use rheo_core::backend::{
    Backend, Binding, FetchRequest, Fetched, GroupRef, NewGroup, Scan, Settled, Settlement, StreamRef, Watch,
};
use rheo_core::{
    Append, Capabilities, Clock, DeadLetter, DeadLetterOptions, Discard, Error, Event, GroupInfo, GroupSettings,
    GroupUpdate, Lag, Lease, LeaseContext, LeaseId, LeaseToken, PartitionInfo, PartitionLag, Replay, Result,
    RetentionHold, Start, StartPosition, StreamInfo, StreamOptions, Timestamp, Trim, cursor_not_found,
};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Streams in `Vec`s, behind one mutex.
pub struct VecBackend {
    clock: Clock,
    streams: Mutex<Streams>,
    wakers: Arc<Mutex<Wakers>>,
}

type Streams = BTreeMap<String, Stream>;

struct Stream {
    log: Log,
    groups: BTreeMap<String, Group>,
}

/// Who wants to be woken, by the number of the watch.
#[derive(Default)]
struct Wakers {
    last_number: u64,
    by_number: BTreeMap<u64, Waker>,
}

impl Backend for VecBackend {
    fn capabilities(&self) -> Capabilities {
        let guarantees = ["partitions", "contiguous_frontier", "replay", "ordered_range_scan", "batch_writes"];
        Capabilities::new(guarantees.map(|name| (name, true)), [("notifications", true)])
            .expect("these are names of guarantees and mechanisms")
    }

    fn ping(&self) -> Result<()> {
        Ok(())
    }

    fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    fn advance_clock(&self, by: Duration) -> Result<Timestamp> {
        let now = self.clock.advance(by)?;
        self.wake_all();
        Ok(now)
    }

    fn close(&self) -> Result<()> {
        self.wake_all();
        Ok(())
    }

    fn create_stream(&self, stream: StreamRef<'_>, options: &StreamOptions) -> Result<()> {
        let mut streams = self.streams();
        if streams.contains_key(stream.name) {
            return Err(Error::already_exists(&format!("stream {:?}", stream.name)));
        }
        let log = Log::new(stream.name, options.partition_count);
        streams.insert(stream.name.to_owned(), Stream { log, groups: BTreeMap::new() });
        Ok(())
    }

    fn delete_stream(&self, stream: StreamRef<'_>) -> Result<()> {
        self.change(|streams| {
            let removed = streams.remove(stream.name);
            removed.map(drop).ok_or_else(|| Error::stream_not_found(stream.name))
        })
    }

    fn stream_info(&self, stream: StreamRef<'_>) -> Result<StreamInfo> {
        let mut streams = self.streams();
        let Stream { log, groups } = stream_of(&mut streams, stream.name)?;
        let info = |(number, partition): (u32, &Partition)| {
            let needs = groups.iter().map(|(name, group)| (group.readers[number as usize].needs_from(), name));
            let most_behind = needs.min_by_key(|((sequence, _), _)| *sequence);
            let held_by = most_behind
                .filter(|((sequence, _), _)| *sequence <= partition.last())
                .map(|((sequence, dead_letter), group)| RetentionHold { sequence, group: group.clone(), dead_letter });
            let (first_sequence, high_watermark) = (partition.trimmed + 1, partition.last());
            PartitionInfo { partition: number, first_sequence, high_watermark, bytes: partition.bytes(), held_by }
        };
        let partitions = (0..).zip(&log.partitions).map(info).collect();
        Ok(StreamInfo { stream: stream.name.to_owned(), partitions })
    }

    fn list_streams(&self) -> Result<Vec<String>> {
        Ok(self.streams().keys().cloned().collect())
    }

    fn create_group(&self, group: GroupRef<'_>, new: &NewGroup) -> Result<()> {
        let mut streams = self.streams();
        let Stream { log, groups } = stream_of(&mut streams, group.stream)?;
        if groups.contains_key(group.name) {
            return Err(Error::already_exists(&format!("group {:?} of stream {:?}", group.name, group.stream)));
        }
        new.start.check(group.stream, log.partition_count())?;
        let reader = |(number, partition): (u32, &Partition)| {
            let start = if new.start.covers(number) { &new.start.position } else { &StartPosition::Beginning };
            Reader::new(partition.position(number, start))
        };
        let readers = (0..).zip(&log.partitions).map(reader).collect();
        groups.insert(group.name.to_owned(), Group { settings: new.settings, readers, turns: 0 });
        Ok(())
    }

    fn update_group(&self, group: GroupRef<'_>, update: &GroupUpdate) -> Result<()> {
        let mut streams = self.streams();
        let (_, Group { settings, .. }) = group_of(&mut streams, group.stream, group.name)?;
        settings.max_attempts = update.max_attempts.unwrap_or(settings.max_attempts);
        settings.max_deliveries = update.max_deliveries.unwrap_or(settings.max_deliveries);
        Ok(())
    }

    fn delete_group(&self, group: GroupRef<'_>) -> Result<()> {
        self.change(|streams| {
            let removed = stream_of(streams, group.stream)?.groups.remove(group.name);
            removed.map(drop).ok_or_else(|| Error::group_not_found(group.stream, group.name))
        })
    }

    fn list_groups(&self, stream: StreamRef<'_>) -> Result<Vec<String>> {
        Ok(stream_of(&mut self.streams(), stream.name)?.groups.keys().cloned().collect())
    }

    fn append(&self, stream: StreamRef<'_>, items: &[Append<'_>], emit: &mut dyn FnMut(Event)) -> Result<()> {
        self.change(|streams| {
            let log = &mut stream_of(streams, stream.name)?.log;
            let now = self.clock.now();
            // All or nothing: whatever can fail does so before the first event is there.
            let route = |item: &Append<'_>| item.route(stream.name, log.partition_count());
            let partitions = items.iter().map(route).collect::<Result<Vec<u32>>>()?;
            for (item, partition) in items.iter().zip(partitions) {
                let standing = item.options.id.and_then(|id| log.find(id));
                emit(standing.map_or_else(|| log.add(partition, item, now), Event::into_deduplicated));
            }
            Ok(())
        })
    }

    fn read(&self, stream: StreamRef<'_>, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>> {
        let mut streams = self.streams();
        let events = stream_of(&mut streams, stream.name)?.log.partition(partition)?.after(after);
        Ok(events.take(limit).cloned().collect())
    }

    fn get(&self, stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>> {
        Ok(stream_of(&mut self.streams(), stream.name)?.log.find(event_id))
    }

    fn partition_count(&self, stream: StreamRef<'_>) -> Result<u32> {
        Ok(stream_of(&mut self.streams(), stream.name)?.log.partition_count())
    }

    fn scan(
        &self,
        stream: StreamRef<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut events = Vec::new();
        {
            let mut streams = self.streams();
            let log = &stream_of(&mut streams, stream.name)?.log;
            for &(partition, after) in scan.positions {
                events.extend(log.partition(partition)?.after(after).cloned());
            }
        }
        // The lock is free by now: the visitor may call the backend.
        events.sort_by_key(|event| (event.sequence(), event.partition()));
        if scan.descending {
            events.sort_by_key(|event| std::cmp::Reverse(event.sequence()));
        }
        let _ = events.into_iter().try_for_each(visit);
        Ok(())
    }

    fn trim(&self, stream: StreamRef<'_>, trim: &Trim, force: bool) -> Result<u64> {
        self.change(|streams| {
            let Stream { log, groups } = stream_of(streams, stream.name)?;
            if let Trim::BeforeSequence(sequences) = trim {
                sequences.check(stream.name, log.partition_count())?;
            }
            let now = self.clock.now();
            let mut removed = 0;
            for number in 0..log.partition_count() {
                let Some(mut first) = log.partitions[number as usize].first_left_by(trim, number, now) else {
                    continue;
                };
                if !force {
                    let needed = groups.values().map(|group| group.readers[number as usize].needs_from().0).min();
                    first = first.min(needed.unwrap_or(first));
                }
                removed += log.remove_before(number, first);
                groups.values_mut().for_each(|group| group.readers[number as usize].forget_before(first));
            }
            Ok(removed)
        })
    }

    fn fetch(&self, group: GroupRef<'_>, request: &FetchRequest<'_>, leases: &mut Vec<Lease>) -> Result<Fetched> {
        let mut streams = self.streams();
        let (log, Group { settings, readers, turns }) = group_of(&mut streams, group.stream, group.name)?;
        let mut scope = log.scope(request.partitions)?;
        scope.sort_by_key(|number| readers[*number as usize].last_turn);
        let now = self.clock.read();
        let until = later(now, request.lease_ms);
        let consumer_id = Arc::clone(request.consumer_id);
        let context = LeaseContext::new(group.stream.into(), group.name.into(), consumer_id, Binding::default());
        let mut dead_letters = 0;
        for &number in &scope {
            let (partition, reader) = (&log.partitions[number as usize], &mut readers[number as usize]);
            let before = leases.len();
            let grant = |event: &Event, attempt: u32, lease_id: LeaseId| {
                let context = Arc::clone(&context);
                let token = LeaseToken::new(context, number, event.sequence(), lease_id, None, request.lease_ms);
                leases.push(Lease::new(token, event.clone(), attempt, now.wall, until.wall));
            };
            dead_letters += reader.claim(partition, settings, request.limit - before, now, until, grant);
            if leases.len() > before {
                *turns += 1;
                reader.last_turn = *turns;
            }
        }
        let dues = scope.iter().filter_map(|number| readers[*number as usize].next_due(now));
        let next_due = dues.min().filter(|_| leases.is_empty());
        Ok(Fetched { next_due, dead_letters })
    }

    fn settle(
        &self,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) -> Result<()> {
        self.change(|streams| {
            let now = self.clock.read();
            for (token, result) in tokens.iter().zip(results) {
                *result = reader_of(streams, token)
                    .and_then(|(settings, reader)| reader.settle(token, settlement, settings.max_attempts, now));
            }
            Ok(())
        })
    }

    fn renew(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()> {
        self.change(|streams| {
            let now = self.clock.read();
            for (token, result) in tokens.iter().zip(results) {
                let until = later(now, lease_ms.unwrap_or(token.lease_ms()));
                *result = reader_of(streams, token).and_then(|(_, reader)| {
                    reader.held_under(token)?.due = until.monotonic;
                    Ok(until.wall)
                });
            }
            Ok(())
        })
    }

    fn lag(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag> {
        let mut streams = self.streams();
        let (log, found) = group_of(&mut streams, group.stream, group.name)?;
        Ok(lag_of(group, log, &found.readers, &log.scope(partitions)?))
    }

    fn group_info(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        let mut streams = self.streams();
        let (log, Group { settings, readers, .. }) = group_of(&mut streams, group.stream, group.name)?;
        let scope = log.scope(partitions)?;
        let now = self.clock.monotonic();
        let mut info = GroupInfo {
            lag: lag_of(group, log, readers, &scope),
            inflight_count: 0,
            available_count: 0,
            delayed_count: 0,
            dead_letter_count: 0,
            oldest_unsettled_at: None,
            settings: *settings,
        };
        for number in scope {
            let (partition, reader) = (&log.partitions[number as usize], &readers[number as usize]);
            let mut open_keys = HashSet::new();
            for (&sequence, open) in &reader.open {
                let key = partition.event(sequence).and_then(|event| ordered_key(settings, event));
                let blocked = key.is_some_and(|key| !open_keys.insert(key));
                match open.lease_id {
                    Some(_) if open.due > now => info.inflight_count += 1,
                    None if open.due > now => info.delayed_count += 1,
                    _ if blocked => {}
                    _ => info.available_count += 1,
                }
            }
            info.dead_letter_count += reader.dead.len() as u64;
            let unsettled_at = partition.event(reader.frontier() + 1).map(Event::timestamp);
            info.oldest_unsettled_at = info.oldest_unsettled_at.into_iter().chain(unsettled_at).min();
        }
        Ok(info)
    }

    fn dead_letters(&self, group: GroupRef<'_>, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        let mut streams = self.streams();
        let (log, Group { readers, .. }) = group_of(&mut streams, group.stream, group.name)?;
        let scope = log.scope(options.partitions.as_deref())?;
        let is_dead = |(number, sequence): &(u32, u64)| readers[*number as usize].dead.contains_key(sequence);
        let after = match &options.after {
            Some(id) => log
                .places
                .get(id)
                .copied()
                .filter(is_dead)
                .ok_or_else(|| cursor_not_found(id, group.stream, group.name))?,
            None => (0, 0),
        };
        let dead_in =
            |number: u32| readers[number as usize].dead.iter().map(move |(sequence, dead)| ((number, *sequence), dead));
        let letter = |((number, sequence), dead): ((u32, u64), &Dead)| {
            Some(DeadLetter {
                group: group.name.to_owned(),
                event: log.partitions[number as usize].event(sequence)?.clone(),
                attempt: dead.attempt,
                reason: dead.reason.clone(),
                dead_lettered_at: dead.at,
            })
        };
        let letters = scope.into_iter().flat_map(dead_in).filter(|(place, _)| *place > after).filter_map(letter);
        Ok(letters.take(options.limit.unwrap_or(usize::MAX)).collect())
    }

    fn discard_dead_letters(&self, group: GroupRef<'_>, which: Discard<'_>) -> Result<u64> {
        let mut streams = self.streams();
        let (log, Group { readers, .. }) = group_of(&mut streams, group.stream, group.name)?;
        Ok(match which {
            Discard::All => readers.iter_mut().map(|reader| std::mem::take(&mut reader.dead).len() as u64).sum(),
            Discard::EventIds(ids) => {
                let places = ids.iter().filter_map(|id| log.places.get(*id));
                places.filter_map(|(number, sequence)| readers[*number as usize].dead.remove(sequence)).count() as u64
            }
        })
    }

    fn replay(&self, group: GroupRef<'_>, what: Replay<'_>, partitions: Option<&[u32]>) -> Result<u64> {
        self.change(|streams| {
            let (log, Group { readers, .. }) = group_of(streams, group.stream, group.name)?;
            let scope = log.scope(partitions)?;
            if let Replay::FromSequence(sequences) = what {
                sequences.check(group.stream, log.partition_count())?;
            }
            let replay_in = |number: u32| {
                let (partition, reader) = (&log.partitions[number as usize], &mut readers[number as usize]);
                match what {
                    // What was removed cannot come again.
                    Replay::FromSequence(after) => {
                        after.get(number).map_or(0, |after| reader.rewind(after.max(partition.trimmed)))
                    }
                    Replay::From(time) => reader.rewind(partition.before_time(time)),
                    Replay::EventIds(ids) => {
                        let places = ids.iter().filter_map(|id| log.places.get(*id)).filter(|(at, _)| *at == number);
                        let sequences: HashSet<u64> = places.map(|(_, sequence)| *sequence).collect();
                        sequences.into_iter().filter(|sequence| reader.reopen(*sequence)).count() as u64
                    }
                }
            };
            Ok(scope.into_iter().map(replay_in).sum())
        })
    }

    fn reset_group(&self, group: GroupRef<'_>, start: &Start) -> Result<()> {
        self.change(|streams| {
            let (log, Group { readers, .. }) = group_of(streams, group.stream, group.name)?;
            start.check(group.stream, log.partition_count())?;
            for ((number, partition), reader) in (0..).zip(&log.partitions).zip(readers) {
                if start.covers(number) {
                    reader.reset(partition.position(number, &start.position));
                }
            }
            Ok(())
        })
    }

    fn watch(&self, group: GroupRef<'_>, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        group_of(&mut self.streams(), group.stream, group.name)?.0.scope(partitions)?;
        let mut wakers = lock(&self.wakers);
        wakers.last_number += 1;
        let number = wakers.last_number;
        wakers.by_number.insert(number, waker.clone());
        Ok(Watch::new(Registration { wakers: Arc::clone(&self.wakers), number }))
    }
}

/// Ends a watch when it is dropped.
struct Registration {
    wakers: Arc<Mutex<Wakers>>,
    number: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        // A waker may do anything when it is dropped: the lock is free again by then.
        let _removed = lock(&self.wakers).by_number.remove(&self.number);
    }
}

impl VecBackend {
    /// An empty store that goes by this clock.
    pub fn new(clock: Clock) -> VecBackend {
        VecBackend { clock, streams: Mutex::default(), wakers: Arc::default() }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        lock(&self.streams)
    }

    /// Changes what may make a delivery claimable, and then wakes whoever waits: once the change can be seen, and
    /// with no lock held.
    fn change<T>(&self, change: impl FnOnce(&mut Streams) -> Result<T>) -> Result<T> {
        let result = change(&mut self.streams());
        self.wake_all();
        result
    }

    fn wake_all(&self) {
        let wakers: Vec<Waker> = lock(&self.wakers).by_number.values().cloned().collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stream_of<'a>(streams: &'a mut Streams, name: &str) -> Result<&'a mut Stream> {
    streams.get_mut(name).ok_or_else(|| Error::stream_not_found(name))
}

/// A group and the log it reads. The stream is looked for first, so that its absence is what is told.
fn group_of<'a>(streams: &'a mut Streams, stream: &str, name: &str) -> Result<(&'a Log, &'a mut Group)> {
    let Stream { log, groups } = stream_of(streams, stream)?;
    let group = groups.get_mut(name).ok_or_else(|| Error::group_not_found(stream, name))?;
    Ok((log, group))
}

/// Where the delivery of a token is, and the settings of its group. A token is text from anywhere: it may name a
/// partition that does not exist.
fn reader_of<'a>(streams: &'a mut Streams, token: &LeaseToken) -> Result<(GroupSettings, &'a mut Reader)> {
    let (_, group) = group_of(streams, token.stream(), token.group())?;
    let reader = group.readers.get_mut(token.partition() as usize).ok_or_else(|| Error::stale_lease(token))?;
    Ok((group.settings, reader))
}

fn lag_of(group: GroupRef<'_>, log: &Log, readers: &[Reader], scope: &[u32]) -> Lag {
    let progress = |&number: &u32| {
        let (partition, reader) = (&log.partitions[number as usize], &readers[number as usize]);
        (number, PartitionLag { frontier: reader.frontier(), high_watermark: partition.last() })
    };
    let partitions = scope.iter().map(progress).collect();
    Lag { stream: group.stream.to_owned(), group: group.name.to_owned(), partitions }
}
