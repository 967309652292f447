//! A group: its options, and its progress in every partition.

use super::progress::{Counts, Dead, Progress};
use super::stream::StreamEntry;
use super::{Scope, earlier};
use crate::backend::NewGroup;
use crate::dead_letter::{DeadLetter, DeadLetterOptions, Discard, cursor_not_found};
use crate::error::Result;
use crate::event::Event;
use crate::group::{GroupInfo, GroupSettings, GroupUpdate, Ordering as KeyOrdering, Start, StartPosition};
use crate::lag::{Lag, PartitionLag};
use crate::replay::Replay;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// So many partitions are looked at for the one that was visited longest ago.
const FEW: u32 = 64;

pub(super) struct GroupEntry {
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
    /// A group that begins where `new` says; the partitions are checked.
    pub(super) fn new(name: Arc<str>, new: &NewGroup, stream: &StreamEntry) -> GroupEntry {
        let GroupSettings { max_attempts, max_deliveries, ordering } = new.settings;
        // One seed of the system's for all partitions; no thread's own source, which is gone when a thread ends.
        let mut random = SmallRng::from_os_rng();
        let slot = |partition| {
            let cursor = if new.start.covers(partition) { start_in(stream, partition, &new.start) } else { None };
            let cursor = cursor.unwrap_or_else(|| stream.partitions[partition as usize].log.lock().first());
            let progress = Mutex::new(Progress::new(cursor, ordering, SmallRng::from_rng(&mut random)));
            CachePadded::new(Slot { progress, visited: AtomicU64::new(0) })
        };
        GroupEntry {
            name,
            deleted: AtomicBool::new(false),
            max_attempts: AtomicU32::new(max_attempts),
            max_deliveries: AtomicU32::new(max_deliveries),
            ordering,
            fetches: CachePadded::new(AtomicU64::new(0)),
            next: AtomicU32::new(0),
            partitions: (0..stream.partition_count()).map(slot).collect(),
        }
    }

    /// Takes note that the group is gone and gives back what it holds, whoever still holds the entry.
    pub(super) fn delete(&self) {
        self.deleted.store(true, Ordering::Release);
        for slot in &self.partitions {
            slot.progress.lock().clear();
        }
    }

    pub(super) fn update(&self, update: &GroupUpdate) {
        if let Some(max_attempts) = update.max_attempts {
            self.max_attempts.store(max_attempts, Ordering::Relaxed);
        }
        if let Some(max_deliveries) = update.max_deliveries {
            self.max_deliveries.store(max_deliveries, Ordering::Relaxed);
        }
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
            settings: GroupSettings {
                max_attempts: self.max_attempts.load(Ordering::Relaxed),
                max_deliveries: self.max_deliveries.load(Ordering::Relaxed),
                ordering: self.ordering,
            },
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

    pub(super) fn discard_dead_letters(&self, stream: &StreamEntry, which: Discard<'_>) -> u64 {
        match which {
            Discard::All => self.partitions.iter().map(|slot| slot.progress.lock().discard_all()).sum(),
            Discard::EventIds(ids) => {
                let discard = |event: &Event| {
                    self.partitions[event.partition() as usize].progress.lock().discard(event.sequence())
                };
                ids.iter().filter_map(|id| stream.find(id)).filter(discard).count() as u64
            }
        }
    }

    pub(super) fn replay(&self, stream: &StreamEntry, what: Replay<'_>, partitions: impl Iterator<Item = u32>) -> u64 {
        let rewind = |partition: u32, after: u64| {
            let mut progress = self.partitions[partition as usize].progress.lock();
            let first = stream.partitions[partition as usize].log.lock().first();
            progress.rewind(after.max(first - 1).saturating_add(1))
        };
        match what {
            Replay::FromSequence(sequences) => {
                partitions.filter_map(|partition| Some(rewind(partition, sequences.get(partition)?))).sum()
            }
            Replay::From(time) => partitions
                .map(|partition| {
                    let first = stream.partitions[partition as usize].log.lock().first_at_or_after(time);
                    rewind(partition, first - 1)
                })
                .sum(),
            Replay::EventIds(ids) => {
                let scope: Vec<u32> = partitions.collect();
                let reopen = |event: &Event| {
                    let mut progress = self.partitions[event.partition() as usize].progress.lock();
                    // Between finding the event and now it may have been trimmed.
                    let kept = stream.partitions[event.partition() as usize].log.lock().first() <= event.sequence();
                    kept && progress.reopen(event.sequence(), event.key())
                };
                let found = ids.iter().filter_map(|id| stream.find(id));
                let mut events: Vec<Event> =
                    found.filter(|event| scope.binary_search(&event.partition()).is_ok()).collect();
                events.sort_unstable_by_key(|event| (event.partition(), event.sequence()));
                events.dedup_by_key(|event| (event.partition(), event.sequence()));
                events.iter().filter(|event| reopen(event)).count() as u64
            }
        }
    }

    pub(super) fn reset(&self, stream: &StreamEntry, start: &Start) {
        for partition in (0..stream.partition_count()).filter(|partition| start.covers(*partition)) {
            let mut progress = self.partitions[partition as usize].progress.lock();
            if let Some(cursor) = start_in(stream, partition, start) {
                progress.reset(cursor);
            }
        }
    }
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
