//! A group: its options, and its progress in every partition.

use super::progress::{Counts, Dead, Progress};
use super::stream::StreamEntry;
use super::{Scope, earlier};
use crate::backend::journal::change::Progressed;
use crate::dead_letter::{DeadLetter, DeadLetterOptions, Discard, cursor_not_found};
use crate::error::Result;
use crate::event::Event;
use crate::group::{GroupInfo, GroupSettings, Ordering as KeyOrdering, Start, StartPosition};
use crate::lag::{Lag, PartitionLag};
use crate::lock::Mutex;
use crate::replay::Replay;
use crossbeam_utils::CachePadded;
use parking_lot::MutexGuard;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// So many partitions are looked at for the one that was visited longest ago.
const FEW: u32 = 64;

pub(super) struct GroupEntry {
    /// Its own among the groups that its stream ever had.
    pub(super) number: u64,
    pub(super) name: Arc<str>,
    pub(super) deleted: AtomicBool,
    pub(super) max_attempts: AtomicU32,
    pub(super) max_deliveries: AtomicU32,
    ordering: KeyOrdering,
    /// Counts fetches, where there are several partitions to be fair to.
    fetches: CachePadded<AtomicU64>,
    /// The partition behind the last that was served, where there are a great many.
    next: AtomicU32,
    pub(super) partitions: Box<[CachePadded<Slot>]>,
}

pub(super) struct Slot {
    pub(super) progress: Mutex<Progress>,
    /// The number of the fetch that visited the partition last.
    pub(super) visited: AtomicU64,
}

impl GroupEntry {
    /// A group with a cursor for each partition.
    pub(super) fn new(number: u64, name: Arc<str>, settings: GroupSettings, cursors: &[u64]) -> GroupEntry {
        let GroupSettings { max_attempts, max_deliveries, ordering } = settings;
        // One seed of the system's for all partitions; no thread's own source, which is gone when a thread ends.
        let mut random = SmallRng::from_os_rng();
        let slot = |cursor: &u64| {
            let progress = Mutex::new(Progress::new(*cursor, ordering, SmallRng::from_rng(&mut random)));
            CachePadded::new(Slot { progress, visited: AtomicU64::new(0) })
        };
        GroupEntry {
            number,
            name,
            deleted: AtomicBool::new(false),
            max_attempts: AtomicU32::new(max_attempts),
            max_deliveries: AtomicU32::new(max_deliveries),
            ordering,
            fetches: CachePadded::new(AtomicU64::new(0)),
            next: AtomicU32::new(0),
            partitions: cursors.iter().map(slot).collect(),
        }
    }

    /// Takes note that the group is gone and gives back what it holds, whoever still holds the entry.
    pub(super) fn delete(&self) {
        self.deleted.store(true, Ordering::Release);
        for slot in &self.partitions {
            slot.progress.lock().clear();
        }
    }

    pub(super) fn settings(&self) -> GroupSettings {
        GroupSettings {
            max_attempts: self.max_attempts.load(Ordering::Relaxed),
            max_deliveries: self.max_deliveries.load(Ordering::Relaxed),
            ordering: self.ordering,
        }
    }

    /// Changes what may be changed.
    pub(super) fn set(&self, settings: &GroupSettings) {
        self.max_attempts.store(settings.max_attempts, Ordering::Relaxed);
        self.max_deliveries.store(settings.max_deliveries, Ordering::Relaxed);
    }

    /// With which partition of the scope a fetch begins, as an index, and the number that marks what it visits: with the
    /// one that was visited longest ago, whether it had work then or not. Over a great many partitions, where looking
    /// at all of them would cost more than the fetch, with the one behind the last that was served.
    #[inline]
    pub(super) fn begin_with(&self, scope: Scope<'_>) -> (usize, u64) {
        if let Scope::All(1) = scope {
            return (0, 0);
        }
        let fetch = self.fetches.fetch_add(1, Ordering::Relaxed) + 1;
        let visited = |index: usize| self.partitions[scope.get(index) as usize].visited.load(Ordering::Relaxed);
        let begin = match scope {
            Scope::All(count) if count > FEW => self.next.load(Ordering::Relaxed) as usize,
            _ => (0..scope.len()).min_by_key(|index| visited(*index)).unwrap_or(0),
        };
        (begin, fetch)
    }

    /// Takes note that a fetch served a partition of its scope.
    #[inline]
    pub(super) fn served(&self, scope: Scope<'_>, index: usize) {
        if let Scope::All(count) = scope
            && count > FEW
        {
            self.next.store((index as u32 + 1) % count, Ordering::Relaxed);
        }
    }

    fn partition_lag(&self, stream: &StreamEntry, partition: u32, progress: &Progress) -> (u32, PartitionLag) {
        let frontier = progress.frontier();
        let high_watermark = stream.partitions[partition as usize].high_watermark.load(Ordering::Acquire);
        (partition, PartitionLag { frontier, high_watermark })
    }

    pub(super) fn lag(&self, stream: &StreamEntry, partitions: impl Iterator<Item = u32>) -> Lag {
        let partitions = partitions
            .map(|partition| {
                self.partition_lag(stream, partition, &self.partitions[partition as usize].progress.lock())
            })
            .collect();
        Lag { stream: stream.name.to_string(), group: self.name.to_string(), partitions }
    }

    pub(super) fn info(&self, stream: &StreamEntry, partitions: impl Iterator<Item = u32>, now: i64) -> GroupInfo {
        let mut total = Counts::default();
        let mut oldest_unsettled_at = None;
        let lags = partitions.map(|partition| {
            let mut progress = self.partitions[partition as usize].progress.lock();
            let counts = progress.counts(now);
            total.inflight += counts.inflight;
            total.available += counts.available;
            total.delayed += counts.delayed;
            total.dead_letters += counts.dead_letters;
            let lag = self.partition_lag(stream, partition, &progress);
            if lag.1.lag() > 0 {
                let log = stream.partitions[partition as usize].log.lock();
                let timestamp = log.record(lag.1.frontier + 1).map(|record| record.timestamp());
                oldest_unsettled_at = earlier(oldest_unsettled_at, timestamp);
            }
            lag
        });
        let lag = Lag { stream: stream.name.to_string(), group: self.name.to_string(), partitions: lags.collect() };
        GroupInfo {
            lag,
            inflight_count: total.inflight,
            available_count: total.available,
            delayed_count: total.delayed,
            dead_letter_count: total.dead_letters,
            oldest_unsettled_at,
            settings: self.settings(),
        }
    }

    pub(super) fn dead_letters(
        &self,
        stream: &StreamEntry,
        partitions: impl Iterator<Item = u32>,
        options: &DeadLetterOptions,
    ) -> Result<Vec<DeadLetter>> {
        let after = match &options.after {
            Some(id) => {
                let listed = |event: &Event| {
                    let progress = self.partitions[event.partition() as usize].progress.lock();
                    progress.dead_letters().contains_key(&event.sequence())
                };
                let event = stream.find(id).filter(listed);
                let event = event.ok_or_else(|| cursor_not_found(id, &stream.name, &self.name))?;
                (event.partition(), event.sequence())
            }
            None => (0, 0),
        };
        let limit = options.limit.unwrap_or(usize::MAX);
        let mut letters = Vec::new();
        for partition in partitions.filter(|partition| *partition >= after.0) {
            let from = if partition == after.0 { after.1 + 1 } else { 0 };
            let progress = self.partitions[partition as usize].progress.lock();
            let log = stream.partitions[partition as usize].log.lock();
            let letter = |(sequence, dead): (&u64, &Dead)| {
                Some(DeadLetter {
                    group: self.name.to_string(),
                    event: log.get(*sequence)?,
                    attempt: dead.attempt,
                    reason: dead.reason.clone(),
                    dead_lettered_at: dead.at,
                })
            };
            letters.extend(progress.dead_letters().range(from..).filter_map(letter).take(limit - letters.len()));
            if letters.len() == limit {
                break;
            }
        }
        Ok(letters)
    }

    /// Forgets dead letters and says how many. What is to be forgotten is stored before it is, under the locks under which
    /// it was found; so it is in the two below.
    pub(super) fn discard_dead_letters(&self, stream: &StreamEntry, which: Discard<'_>) -> Result<u64> {
        let wanted: Option<BTreeSet<(u32, u64)>> = match which {
            Discard::All => None,
            Discard::EventIds(ids) => Some(places_of(stream, ids).collect()),
        };
        let scope: Vec<u32> = match &wanted {
            None => (0..stream.partition_count()).collect(),
            Some(places) => distinct(places.iter().map(|(partition, _)| *partition)),
        };
        let mut locked = self.lock(&scope);
        let mut discarded = Vec::new();
        for (partition, progress) in &locked {
            let dead = progress.dead_letters().keys().map(|sequence| (*partition, *sequence));
            discarded.extend(dead.filter(|place| wanted.as_ref().is_none_or(|wanted| wanted.contains(place))));
        }
        let changes =
            discarded.iter().map(|(partition, sequence)| (*partition, Progressed::Discarded { sequence: *sequence }));
        stream.store_progress(self, changes)?;
        for (partition, sequence) in &discarded {
            progress_of(&mut locked, *partition).discard(*sequence);
        }
        Ok(discarded.len() as u64)
    }

    /// Makes deliveries available again and says how many.
    pub(super) fn replay(&self, stream: &StreamEntry, what: Replay<'_>, scope: &[u32]) -> Result<u64> {
        let first_after: Box<dyn Fn(u32) -> Option<u64>> = match what {
            Replay::FromSequence(sequences) => Box::new(|partition| {
                let first = stream.partitions[partition as usize].log.lock().first();
                Some(sequences.get(partition)?.max(first - 1).saturating_add(1))
            }),
            Replay::From(time) => Box::new(move |partition| {
                Some(stream.partitions[partition as usize].log.lock().first_at_or_after(time))
            }),
            Replay::EventIds(ids) => return self.reopen(stream, ids, scope),
        };
        let mut locked = self.lock(scope);
        let rewound: Vec<(u32, u64)> = locked
            .iter()
            .filter_map(|(partition, progress)| Some((*partition, first_after(*partition)?, progress.cursor())))
            .filter(|(_, cursor, current)| cursor < current)
            .map(|(partition, cursor, _)| (partition, cursor))
            .collect();
        let changes = rewound.iter().map(|(partition, cursor)| (*partition, Progressed::Rewound { cursor: *cursor }));
        stream.store_progress(self, changes)?;
        let rewind = |(partition, cursor): &(u32, u64)| progress_of(&mut locked, *partition).rewind(*cursor);
        Ok(rewound.iter().map(rewind).sum())
    }

    fn reopen(&self, stream: &StreamEntry, ids: &[&str], scope: &[u32]) -> Result<u64> {
        let places: BTreeSet<(u32, u64)> =
            places_of(stream, ids).filter(|(partition, _)| scope.binary_search(partition).is_ok()).collect();
        let mut locked = self.lock(&distinct(places.iter().map(|(partition, _)| *partition)));
        // Between finding the event and now it may have been trimmed.
        let kept = |partition: u32, sequence: u64| stream.partitions[partition as usize].log.lock().get(sequence);
        let reopened: Vec<(u32, Event)> = places
            .iter()
            .filter(|(partition, sequence)| progress_of(&mut locked, *partition).was_offered(*sequence))
            .filter_map(|(partition, sequence)| Some((*partition, kept(*partition, *sequence)?)))
            .collect();
        let changes =
            reopened.iter().map(|(partition, event)| (*partition, Progressed::Reopened { sequence: event.sequence() }));
        stream.store_progress(self, changes)?;
        for (partition, event) in &reopened {
            progress_of(&mut locked, *partition).reopen(event.sequence(), event.key());
        }
        Ok(reopened.len() as u64)
    }

    /// Begins anew in the partitions that the start covers.
    pub(super) fn reset(&self, stream: &StreamEntry, start: &Start) -> Result<()> {
        let scope: Vec<u32> = (0..stream.partition_count()).filter(|partition| start.covers(*partition)).collect();
        let mut locked = self.lock(&scope);
        let cursors: Vec<(u32, u64)> =
            scope.iter().filter_map(|partition| Some((*partition, start_in(stream, *partition, start)?))).collect();
        let changes = cursors.iter().map(|(partition, cursor)| (*partition, Progressed::Reset { cursor: *cursor }));
        stream.store_progress(self, changes)?;
        for (partition, cursor) in &cursors {
            progress_of(&mut locked, *partition).reset(*cursor);
        }
        Ok(())
    }

    /// Locks the progress of these partitions, which ascend.
    pub(super) fn lock(&self, scope: &[u32]) -> Locked<'_> {
        scope.iter().map(|partition| (*partition, self.partitions[*partition as usize].progress.lock())).collect()
    }
}

/// The progress of some partitions, ascending.
pub(super) type Locked<'a> = Vec<(u32, MutexGuard<'a, Progress>)>;

/// The progress of a partition that is among the locked ones.
pub(super) fn progress_of<'a>(locked: &'a mut Locked<'_>, partition: u32) -> &'a mut Progress {
    let found = locked.binary_search_by_key(&partition, |(number, _)| *number);
    &mut locked[found.expect("every partition that is changed was locked before")].1
}

/// Where the events with these ids lie.
fn places_of<'a>(stream: &'a StreamEntry, ids: &'a [&str]) -> impl Iterator<Item = (u32, u64)> + 'a {
    ids.iter().filter_map(|id| stream.find(id)).map(|event| (event.partition(), event.sequence()))
}

/// Without those that follow their like.
fn distinct(partitions: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut distinct: Vec<u32> = partitions.collect();
    distinct.dedup();
    distinct
}

/// The cursors with which a group begins.
pub(super) fn first_cursors(stream: &StreamEntry, start: &Start) -> Vec<u64> {
    let cursor = |partition| {
        let cursor = if start.covers(partition) { start_in(stream, partition, start) } else { None };
        cursor.unwrap_or_else(|| stream.partitions[partition as usize].log.lock().first())
    };
    (0..stream.partition_count()).map(cursor).collect()
}

/// The first sequence that a start leaves to be offered in a partition that it covers.
fn start_in(stream: &StreamEntry, partition: u32, start: &Start) -> Option<u64> {
    let log = stream.partitions[partition as usize].log.lock();
    Some(match &start.position {
        StartPosition::Beginning => log.first(),
        StartPosition::After(sequences) => sequences.get(partition)?.clamp(log.first() - 1, log.high_watermark()) + 1,
        StartPosition::At(time) => log.first_at_or_after(*time),
    })
}
