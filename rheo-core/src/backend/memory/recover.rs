//! The engine over a journal, as it was: what the records say, applied in their order.

use super::MemoryBackend;
use super::group::GroupEntry;
use super::stream::StreamEntry;
use crate::backend::journal::change::{self, GroupCreated, Progressed, StreamCreated, kind};
use crate::backend::journal::files::Files;
use crate::backend::journal::{Found, Journal, Settings};
use crate::clock::{Clock, Reading};
use crate::error::Result;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

impl MemoryBackend {
    /// Opens a journal, or makes one, and the engine over it.
    ///
    /// # Errors
    /// As `Journal::open`.
    pub(crate) fn open_journal(
        files: Arc<dyn Files>,
        path: &Path,
        settings: Settings,
        clock: Clock,
    ) -> Result<MemoryBackend> {
        let (journal, streams) = Journal::open(files, path, settings)?;
        let backend = MemoryBackend::over(clock, Some(Arc::clone(&journal)));
        let now = backend.clock.read();
        for stored in &streams {
            backend.recover_stream(&journal, stored, now)?;
        }
        Ok(backend)
    }

    fn recover_stream(&self, journal: &Arc<Journal>, created: &StreamCreated, now: Reading) -> Result<()> {
        let name: Arc<str> = created.name.as_str().into();
        let entry = StreamEntry::new(Arc::clone(&name), self.number, created.partition_count, None);
        let mut recovery = Recovery { entry, groups: BTreeMap::new(), next_group: 0, now, held: None };
        let log = journal.recover(created, |found| recovery.apply(found))?;
        recovery.enter_held();
        let Recovery { mut entry, groups, next_group, .. } = recovery;
        entry.journal = Some(log);
        entry.administration.get_mut().next_group = next_group;
        for group in groups.values() {
            for (place, slot) in entry.partitions.iter().zip(&group.partitions) {
                slot.progress.lock().recovered(&place.log.lock());
            }
        }
        let entry = Arc::new(entry);
        for group in groups.into_values() {
            self.insert_group(&entry, group);
        }
        self.streams.write().unwrap_or_else(PoisonError::into_inner).insert(name, entry);
        Ok(())
    }
}

/// A stream that is being recovered.
struct Recovery {
    entry: StreamEntry,
    /// By number.
    groups: BTreeMap<u64, GroupEntry>,
    next_group: u64,
    now: Reading,
    /// The last claim of new deliveries, as far as it is not acked: most are acked soon, and then were never entered.
    held: Option<Held>,
}

struct Held {
    group: u64,
    partition: u32,
    first: u64,
    count: u64,
    attempt: u32,
}

impl Recovery {
    fn apply(&mut self, found: &Found<'_>) -> Result<()> {
        let body = found.body();
        let odd = |what: &str| found.corrupt(what);
        if !matches!(found.kind(), kind::APPENDED | kind::PROGRESS) {
            self.enter_held();
        }
        match found.kind() {
            kind::APPENDED => {
                if !change::read_events(body, |partition, sequence, parts| {
                    self.entry.restore(partition, sequence, parts)
                }) {
                    return Err(odd("an event in it is not the one that comes next in its partition"));
                }
            }
            kind::TRIMMED => {
                for trimmed in change::read_trimmed(body) {
                    let fits = trimmed.is_some_and(|(partition, first)| self.trim(partition, first));
                    if !fits {
                        return Err(odd("it removes events that there never were"));
                    }
                }
            }
            kind::GROUP_CREATED => {
                let created = GroupCreated::read(body, self.entry.partition_count());
                let created = created.filter(|created| created.number >= self.next_group && self.can_begin(created));
                let GroupCreated { number, name, settings, cursors } =
                    created.ok_or_else(|| odd("it creates no group"))?;
                self.groups.insert(number, GroupEntry::new(number, name.as_str().into(), settings, &cursors));
                self.next_group = number + 1;
            }
            kind::GROUP_UPDATED => {
                let (number, settings) = change::read_group_updated(body).ok_or_else(|| odd("it updates no group"))?;
                if let Some(group) = self.group(number).map_err(odd)? {
                    group.set(&settings);
                }
            }
            kind::GROUP_DELETED => {
                let number = change::read_number(body).ok_or_else(|| odd("it deletes no group"))?;
                self.group(number).map_err(odd)?;
                self.groups.remove(&number);
            }
            kind::PROGRESS => {
                let (number, changes) = change::read_progress(body).ok_or_else(|| odd("it is about no group"))?;
                if self.group(number).map_err(odd)?.is_none() {
                    return Ok(());
                }
                for changed in changes {
                    if !changed.is_some_and(|(partition, progressed)| self.progress(number, partition, &progressed)) {
                        return Err(odd("a group's progress in it points past the log"));
                    }
                }
            }
            kind::CLOSED => {}
            _ => return Err(odd("it is of no kind that a stream has")),
        }
        Ok(())
    }

    /// Applies what happened to deliveries of a group, and says whether it can be.
    fn progress(&mut self, group: u64, partition: u32, progressed: &Progressed<'_>) -> bool {
        if let (Some(held), Progressed::Acked { first, count }) = (&mut self.held, progressed)
            && (held.group, held.partition, held.first) == (group, partition, *first)
            && *count <= held.count
        {
            held.first += count;
            held.count -= count;
            return true;
        }
        self.enter_held();
        let Some(place) = self.entry.partitions.get(partition as usize) else { return false };
        let Some(slot) = self.groups.get(&group).and_then(|group| group.partitions.get(partition as usize)) else {
            return false;
        };
        let (mut progress, log) = (slot.progress.lock(), place.log.lock());
        match *progressed {
            Progressed::Claimed { first, count, attempt } if progress.offer_up_to(first, count, &log) => {
                self.held = Some(Held { group, partition, first, count, attempt });
                true
            }
            _ => progress.recover(progressed, &log, self.now),
        }
    }

    /// Enters what is left of the last claim.
    fn enter_held(&mut self) {
        let Some(Held { group, partition, first, count, attempt }) = self.held.take().filter(|held| held.count > 0)
        else {
            return;
        };
        if let Some(group) = self.groups.get(&group) {
            let log = self.entry.partitions[partition as usize].log.lock();
            let claimed = Progressed::Claimed { first, count, attempt };
            group.partitions[partition as usize].progress.lock().recover(&claimed, &log, self.now);
        }
    }

    /// A group; nothing when it was deleted since, for what was under way then may be stored behind that.
    fn group(&self, number: u64) -> std::result::Result<Option<&GroupEntry>, &'static str> {
        if number >= self.next_group {
            return Err("it is about a group that there never was");
        }
        Ok(self.groups.get(&number))
    }

    fn can_begin(&self, created: &GroupCreated) -> bool {
        let next = self.entry.partitions.iter().map(|place| place.log.lock().next());
        created.cursors.iter().zip(next).all(|(cursor, next)| (1..=next).contains(cursor))
    }

    fn trim(&mut self, partition: u32, first: u64) -> bool {
        let fits = self.entry.retrim(partition, first);
        if fits {
            for group in self.groups.values() {
                group.partitions[partition as usize].progress.lock().retrim(first);
            }
        }
        fits
    }
}
