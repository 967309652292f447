//! Appends, claims and settles over a journal: done in memory, stored, and undone where they could not be.
//!
//! A settle is stored while its progress is locked, so nobody sees one that is not. A claim is enqueued while its progress
//! is locked and written once the fetch has gone through its partitions, in one write for all of them; until then nobody
//! has its lease, and undoing it makes the delivery available again.

use super::group::{GroupEntry, Locked, progress_of};
use super::progress::{Before, Freed, Progress};
use super::stream::StreamEntry;
use super::{MemoryBackend, check, has_foreign_receipt};
use crate::append::Append;
use crate::backend::journal::change::{ProgressWriter, Progressed, kind};
use crate::backend::journal::{StreamLog, Ticket};
use crate::backend::{Fetched, GroupRef, Settled, Settlement, StreamRef};
use crate::chunk::Record;
use crate::clock::Reading;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::lease::{Lease, LeaseId, LeaseToken};
use crate::wakers::wake_all;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

/// What a fetch did in one partition.
pub(super) struct Claimed<'a> {
    pub(super) group: &'a GroupEntry,
    pub(super) partition: u32,
    /// As it is now.
    pub(super) progress: &'a Progress,
    /// Where its cursor was before.
    pub(super) cursor: u64,
    pub(super) leases: &'a [Lease],
    /// What became a dead letter instead.
    pub(super) buried: &'a [u64],
}

/// What a fetch has claimed so far.
#[derive(Default)]
pub(super) struct Claims {
    /// Of the last record; those before it are written with it.
    ticket: Option<Ticket>,
    /// The partitions, each with the number of the fetch that had visited it last.
    visits: Vec<(u32, u64)>,
    /// What had been open, by partition, as it was before.
    before: Vec<(u32, Before)>,
    /// The partitions in which something new was offered: where the cursor was before, and after.
    offered: Vec<(u32, u64, u64)>,
}

impl Claims {
    /// Takes note of who had visited a partition last.
    pub(super) fn note_visit(&mut self, partition: u32, number: u64) {
        self.visits.push((partition, number));
    }

    /// Takes note of what had been open in a partition.
    pub(super) fn note_before(&mut self, partition: u32, before: Vec<Before>) {
        self.before.extend(before.into_iter().map(|before| (partition, before)));
    }

    /// Enqueues what was claimed in a partition, whose progress is locked.
    pub(super) fn enqueue(&mut self, journal: &StreamLog<StreamEntry>, claimed: &Claimed<'_>) -> Result<()> {
        let Claimed { group, partition, progress, cursor, leases, buried, .. } = *claimed;
        if progress.cursor() > cursor {
            self.offered.push((partition, cursor, progress.cursor()));
        }
        let last_claimed = leases.last().map_or(0, |lease| lease.event().sequence());
        let passes_over = progress.cursor() > cursor.max(last_claimed + 1);
        if leases.is_empty() && buried.is_empty() && !passes_over {
            return Ok(());
        }
        let ticket = journal.enqueue(kind::PROGRESS, [], |body| {
            let mut writer = ProgressWriter::new(body, group.number);
            for sequence in buried {
                if let Some(dead) = dead(progress, *sequence) {
                    writer.put(partition, &dead);
                }
            }
            let follows =
                |a: &Lease, b: &Lease| a.event().sequence() + 1 == b.event().sequence() && a.attempt() == b.attempt();
            for run in leases.chunk_by(follows) {
                let (first, count, attempt) = (run[0].event().sequence(), run.len() as u64, run[0].attempt());
                writer.put(partition, &Progressed::Claimed { first, count, attempt });
            }
            if passes_over {
                writer.put(partition, &Progressed::PassedOver { cursor: progress.cursor() });
            }
        })?;
        self.ticket = Some(ticket);
        Ok(())
    }
}

/// A dead letter as it is stored.
fn dead(progress: &Progress, sequence: u64) -> Option<Progressed<'_>> {
    let dead = progress.dead_letters().get(&sequence)?;
    Some(Progressed::Dead { sequence, attempt: dead.attempt, at: dead.at, reason: &dead.reason })
}

/// Writes what a fetch has claimed; undoes all of it when that fails.
pub(super) fn finish_fetch(
    stream: &Arc<StreamEntry>,
    group: &Arc<GroupEntry>,
    fetched: Result<Fetched>,
    claims: Claims,
    leases: &mut Vec<Lease>,
) -> Result<Fetched> {
    let written = fetched.and_then(|fetched| {
        if let (Some(journal), Some(ticket)) = (&stream.journal, claims.ticket) {
            journal.wait_written(ticket, stream)?;
        }
        Ok(fetched)
    });
    if written.is_err() {
        let lease_of = |partition: u32, sequence: u64| {
            let mut tokens = leases.iter().map(Lease::token);
            let found = tokens.find(|token| (token.partition(), token.sequence()) == (partition, sequence));
            found.map(LeaseToken::lease_id)
        };
        // Whose turn it is stays.
        for (partition, number) in claims.visits {
            group.partitions[partition as usize].visited.store(number, Ordering::Relaxed);
        }
        for (partition, before) in claims.before.into_iter().rev() {
            let mut progress = group.partitions[partition as usize].progress.lock();
            if progress.is_left(before.sequence, lease_of(partition, before.sequence)) {
                with_key(stream, partition, before.sequence, |key| progress.restore(&before, key));
            }
        }
        for (partition, before, after) in claims.offered {
            let mut progress = group.partitions[partition as usize].progress.lock();
            progress.take_back_offer(before, after, |sequence| lease_of(partition, sequence));
        }
        for lease in leases.drain(..) {
            let token = lease.token();
            let mut progress = group.partitions[token.partition() as usize].progress.lock();
            progress.unclaim(token.sequence(), token.lease_id());
        }
        wake_all(stream.waiting_for(group, None));
    }
    written
}

/// Does something with the key of an event.
fn with_key<R>(stream: &StreamEntry, partition: u32, sequence: u64, work: impl FnOnce(Option<&str>) -> R) -> R {
    let log = stream.partitions[partition as usize].log.lock();
    work(log.record(sequence).and_then(Record::key))
}

/// A settle that is done in memory and not stored yet.
struct Undo {
    partition: u32,
    before: Before,
}

impl MemoryBackend {
    /// Appends, waits until the events are stored, and returns whom to wake. No registry is locked meanwhile.
    pub(super) fn append_stored(
        &self,
        stream: StreamRef<'_>,
        items: &[Append<'_>],
        emit: &mut dyn FnMut(Event),
    ) -> Result<Vec<Waker>> {
        let stream = self.stream(stream)?;
        let Some(journal) = &stream.journal else { return Ok(Vec::new()) };
        let pending = stream.append_stored(journal, items, &self.clock)?;
        stream.publish(pending, emit)
    }

    /// Settles, runs of leases of one group in one record.
    pub(super) fn settle_stored(
        &self,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) {
        let mut done = 0;
        for run in tokens.chunk_by(|a, b| Arc::ptr_eq(a.context(), b.context())) {
            let results = &mut results[done..done + run.len()];
            done += run.len();
            let place =
                GroupRef { stream: run[0].stream(), name: run[0].group(), binding: Some(run[0].context().binding()) };
            let settled = self.group(place).and_then(|(stream, group)| {
                let settling = Settling { stream: &stream, group: &group, settlement, now: self.clock.read() };
                settling.settle(run, results)
            });
            if let Err(error) = settled {
                results.iter_mut().filter(|result| result.is_ok()).for_each(|result| *result = Err(error.clone()));
            }
        }
    }
}

struct Settling<'a> {
    stream: &'a Arc<StreamEntry>,
    group: &'a Arc<GroupEntry>,
    settlement: Settlement<'a>,
    now: Reading,
}

impl Settling<'_> {
    /// Settles leases of the group. An error is that of all that are not told otherwise.
    fn settle(&self, tokens: &[&LeaseToken], results: &mut [Result<Settled>]) -> Result<()> {
        let Settling { stream, group, .. } = *self;
        let Some(journal) = &stream.journal else { return Ok(()) };
        let mut scope: Vec<u32> = tokens.iter().map(|token| token.partition()).collect();
        scope.sort_unstable();
        scope.dedup();
        // Partitions that do not exist: the token was forged or is another store's.
        scope.retain(|partition| *partition < stream.partition_count());

        let mut freed: Vec<u32> = Vec::new();
        let ticket = {
            let mut locked = group.lock(&scope);
            check(stream, group)?;
            let mut undo = Vec::with_capacity(tokens.len());
            let mut body = Vec::new();
            self.settle_in_memory(tokens, results, &mut locked, &mut undo, &mut freed, &mut body);
            let stored = if body.is_empty() {
                Ok(None)
            } else {
                let enqueued = journal.enqueue(kind::PROGRESS, [], |record| record.extend_from_slice(&body));
                enqueued.and_then(|ticket| journal.wait_written(ticket, stream).map(|()| Some(ticket)))
            };
            match stored {
                Ok(ticket) => ticket,
                Err(error) => {
                    for Undo { partition, before } in undo.into_iter().rev() {
                        let progress = progress_of(&mut locked, partition);
                        with_key(stream, partition, before.sequence, |key| progress.restore(&before, key));
                    }
                    // Also what was stale only because the call had it twice.
                    for (token, result) in tokens.iter().zip(results) {
                        let place = locked.iter().find(|(partition, _)| *partition == token.partition());
                        if place.is_some_and(|(_, progress)| progress.is_held(token.sequence(), token.lease_id())) {
                            let foreign = has_foreign_receipt(token);
                            *result = Err(if foreign { Error::receipt_mismatch(token) } else { error.clone() });
                        }
                    }
                    return Ok(());
                }
            }
        };
        if !freed.is_empty() && !stream.nobody_waits() {
            freed.sort_unstable();
            freed.dedup();
            wake_all(stream.waiting_for(group, Some(&freed)));
        }
        ticket.map_or(Ok(()), |ticket| journal.sync_settled(ticket, stream))
    }

    /// Settles in memory, notes how to undo it, which partitions it frees work in, and what is to be stored.
    fn settle_in_memory(
        &self,
        tokens: &[&LeaseToken],
        results: &mut [Result<Settled>],
        locked: &mut Locked<'_>,
        undo: &mut Vec<Undo>,
        freed: &mut Vec<u32>,
        body: &mut Vec<u8>,
    ) {
        let Settling { group, settlement, .. } = *self;
        let max_attempts = group.max_attempts.load(Ordering::Relaxed);
        let mut writer = ProgressWriter::new(body, group.number);
        let mut is_empty = true;
        // Acks that follow each other are stored as one.
        let mut acked: Option<(u32, u64, u64)> = None;
        // Leases of one partition mostly follow each other.
        let mut at = 0;
        for (token, result) in tokens.iter().zip(results.iter_mut()) {
            let (partition, sequence, lease_id) = (token.partition(), token.sequence(), token.lease_id());
            if locked.get(at).is_none_or(|(number, _)| *number != partition) {
                match locked.binary_search_by_key(&partition, |(number, _)| *number) {
                    Ok(found) => at = found,
                    Err(_) => {
                        *result = Err(Error::stale_lease(token));
                        continue;
                    }
                }
            }
            let progress = &mut *locked[at].1;
            let Some(before) = progress.held(sequence, lease_id) else {
                *result = Err(Error::stale_lease(token));
                continue;
            };
            if has_foreign_receipt(token) {
                *result = Err(Error::receipt_mismatch(token));
                continue;
            }
            let Some((settled, frees)) = self.settle_one(progress, sequence, lease_id, max_attempts) else {
                *result = Err(Error::stale_lease(token));
                continue;
            };
            let attempt = before.delivery.attempt;
            undo.push(Undo { partition, before });
            if frees == Freed::Work {
                freed.push(partition);
            }
            if settled == Settled::Done && settlement == Settlement::Ack {
                acked = match acked {
                    Some((in_partition, first, count)) if in_partition == partition && first + count == sequence => {
                        Some((partition, first, count + 1))
                    }
                    before => {
                        is_empty &= before.is_none();
                        put_acked(&mut writer, before);
                        Some((partition, sequence, 1))
                    }
                };
            } else if let Some(change) = self.stored_form(settled, progress, sequence, attempt) {
                writer.put(partition, &change);
                is_empty = false;
            }
            *result = Ok(settled);
        }
        is_empty &= acked.is_none();
        put_acked(&mut writer, acked);
        if is_empty {
            body.clear();
        }
    }
}

impl Settling<'_> {
    /// Not inlined: it would be made into loops by what is in the settlement, and these look at it before they know that it
    /// is there, which is harmless and which valgrind minds.
    #[inline(never)]
    fn settle_one(
        &self,
        progress: &mut Progress,
        sequence: u64,
        lease_id: LeaseId,
        max_attempts: u32,
    ) -> Option<(Settled, Freed)> {
        progress.settle(sequence, lease_id, self.settlement, max_attempts, || self.now)
    }

    /// What is stored of a settle that is no ack. Given back without a delay, a delivery is what every lease becomes when
    /// the journal is opened again: nothing is stored of that.
    #[inline(never)]
    fn stored_form<'a>(
        &self,
        settled: Settled,
        progress: &'a Progress,
        sequence: u64,
        attempt: u32,
    ) -> Option<Progressed<'a>> {
        if settled == Settled::DeadLettered {
            return dead(progress, sequence);
        }
        match self.settlement {
            Settlement::Retry { delay_ms, .. } if delay_ms > 0 => {
                let due = self.now.wall.plus_millis(i64::try_from(delay_ms).unwrap_or(i64::MAX));
                Some(Progressed::Delayed { sequence, due, delay_ms })
            }
            Settlement::Release => Some(Progressed::Released { sequence, attempt: attempt - 1 }),
            _ => None,
        }
    }
}

fn put_acked(writer: &mut ProgressWriter<'_>, acked: Option<(u32, u64, u64)>) {
    if let Some((partition, first, count)) = acked {
        writer.put(partition, &Progressed::Acked { first, count });
    }
}
