//! A consumer group, as a native stream store keeps it: per partition the last position delivered and the list of
//! pending entries. What the contract adds (due times, order per key, dead letters, replay) is kept beside them.

use super::log::{Entry, Log};
use crate::backend::{Settled, Settlement};
use crate::{
    Error, GroupSettings, LeaseId, LeaseToken, Ordering, Reading, Result, Timestamp, limits, max_attempts_reason,
    max_deliveries_reason,
};
use std::collections::{BTreeMap, HashSet};

/// A consumer group of a stream.
pub(super) struct Group {
    pub(super) settings: GroupSettings,
    readers: Vec<Reader>,
    /// How many claims it has granted: the number that a receipt ends with.
    claims: u64,
    /// How many times it has served a partition, to serve the one that waited longest first.
    served: u64,
}

/// A group's state in one partition.
pub(super) struct Reader {
    /// Everything after it is new. One below the contract's cursor.
    last_delivered: u64,
    /// What was delivered or passed over, and is open.
    pending: BTreeMap<u64, Pending>,
    dead: BTreeMap<u64, DeadEntry>,
    /// The group's `served` when this partition last gave something.
    last_served: u64,
}

/// An open delivery.
struct Pending {
    attempt: u32,
    state: State,
}

enum State {
    /// Somebody holds it; from `until` on anybody may take it over.
    Claimed { lease_id: LeaseId, receipt: String, until: i64 },
    /// Given back, or replayed; to be had from then on.
    Waiting { from: i64 },
    /// Not offered yet, because an earlier entry of its key was open.
    PassedOver,
}

impl Pending {
    /// From when it can be claimed, if its key lets it.
    fn due(&self) -> i64 {
        match self.state {
            State::Claimed { until, .. } => until,
            State::Waiting { from } => from,
            State::PassedOver => i64::MIN,
        }
    }

    fn is_passed_over(&self) -> bool {
        matches!(self.state, State::PassedOver)
    }

    /// Grants the group's claim of this number.
    fn claim(&mut self, sequence: u64, entry: &Entry, number: u64, until: Reading) -> Claim {
        self.attempt += 1;
        let lease_id = LeaseId::random();
        let receipt = format!("{}#{number}", entry.native_id);
        self.state = State::Claimed { lease_id, receipt: receipt.clone(), until: until.monotonic };
        Claim { sequence, attempt: self.attempt, lease_id, receipt }
    }
}

/// A dead letter, as far as it is the group's; the entry is in the log.
pub(super) struct DeadEntry {
    pub(super) attempt: u32,
    pub(super) reason: String,
    pub(super) at: Timestamp,
}

/// A claim that was granted.
pub(super) struct Claim {
    pub(super) sequence: u64,
    pub(super) attempt: u32,
    pub(super) lease_id: LeaseId,
    pub(super) receipt: String,
}

/// How many of a reader's open deliveries are in which state.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) inflight: u64,
    pub(super) available: u64,
    pub(super) delayed: u64,
}

/// A point in time so many milliseconds later.
pub(super) fn later(now: Reading, millis: u64) -> Reading {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    Reading { monotonic: now.monotonic.saturating_add(millis.saturating_mul(1000)), wall: now.wall.plus_millis(millis) }
}

/// The key whose order the group keeps at this entry, if it keeps any.
fn ordered_key(ordering: Ordering, entry: &Entry) -> Option<&str> {
    match ordering {
        Ordering::Key => entry.key.as_deref(),
        Ordering::None => None,
    }
}

impl Group {
    /// A group that begins in each partition after the position given for it.
    pub(super) fn new(settings: GroupSettings, positions: impl Iterator<Item = u64>) -> Group {
        Group { settings, readers: positions.map(Reader::new).collect(), claims: 0, served: 0 }
    }

    pub(super) fn reader(&self, partition: u32) -> &Reader {
        &self.readers[partition as usize]
    }

    pub(super) fn reader_mut(&mut self, partition: u32) -> &mut Reader {
        &mut self.readers[partition as usize]
    }

    /// The logs of these partitions, the one that has waited longest first: a busy one cannot starve the others.
    pub(super) fn in_turn<'a>(&self, mut logs: Vec<&'a Log>) -> Vec<&'a Log> {
        logs.sort_by_key(|log| self.reader(log.partition()).last_served);
        logs
    }

    /// Claims up to `limit` entries of a partition until `until`, lowest sequence first: pending ones that are due
    /// (in Redis XAUTOCLAIM), then new ones (XREADGROUP).
    pub(super) fn claim(&mut self, log: &Log, limit: usize, now: Reading, until: Reading) -> (Vec<Claim>, u64) {
        let Group { settings: GroupSettings { ordering, max_deliveries, .. }, readers, claims, served } = self;
        let reader = &mut readers[log.partition() as usize];
        let mut granted = Vec::new();
        // The keys of the open entries met so far. Going up, these are what a later entry of the key waits for.
        let mut open_keys = HashSet::new();
        let mut used_up = Vec::new();
        for (&sequence, pending) in &mut reader.pending {
            if granted.len() == limit {
                break;
            }
            let Some(entry) = log.entry(sequence) else { continue };
            let key = ordered_key(*ordering, entry);
            let blocked = key.is_some_and(|key| open_keys.contains(key));
            let claimable = !blocked && pending.due() <= now.monotonic;
            if claimable && *max_deliveries > 0 && pending.attempt >= *max_deliveries {
                used_up.push(sequence);
                continue;
            }
            if claimable {
                *claims += 1;
                granted.push(pending.claim(sequence, entry, *claims, until));
            }
            open_keys.extend(key);
        }
        let dead_letters = used_up.len() as u64;
        for sequence in used_up {
            reader.bury(sequence, max_deliveries_reason(*max_deliveries), now.wall);
        }
        let mut passed_over = reader.passed_over_after(0);
        for (sequence, entry) in log.after(reader.last_delivered) {
            if granted.len() == limit || passed_over == limits::MAX_PASSED_OVER {
                break;
            }
            let key = ordered_key(*ordering, entry);
            let mut pending = Pending { attempt: 0, state: State::PassedOver };
            if key.is_some_and(|key| open_keys.contains(key)) {
                passed_over += 1;
            } else {
                *claims += 1;
                granted.push(pending.claim(sequence, entry, *claims, until));
            }
            open_keys.extend(key);
            reader.pending.insert(sequence, pending);
            reader.last_delivered = sequence;
        }
        if !granted.is_empty() {
            *served += 1;
            reader.last_served = *served;
        }
        (granted, dead_letters)
    }

    /// Ends a claim, if the token is its (XACK for `ack`). Returns whether that may have made something claimable.
    pub(super) fn settle(
        &mut self,
        token: &LeaseToken,
        settlement: Settlement<'_>,
        now: Reading,
    ) -> Result<(Settled, bool)> {
        let GroupSettings { max_attempts, ordering, .. } = self.settings;
        let reader = self.readers.get_mut(token.partition() as usize).ok_or_else(|| Error::stale_lease(token))?;
        let pending = reader.claimed_under(token)?;
        let settled = match settlement {
            Settlement::Ack => {
                reader.pending.remove(&token.sequence());
                Settled::Done
            }
            Settlement::Reject { reason } => {
                reader.bury(token.sequence(), reason.to_owned(), now.wall);
                Settled::DeadLettered
            }
            Settlement::Retry { reason, .. } if pending.attempt >= max_attempts => {
                reader.bury(token.sequence(), max_attempts_reason(reason, max_attempts), now.wall);
                Settled::DeadLettered
            }
            Settlement::Retry { delay_ms, .. } => {
                pending.state = State::Waiting { from: later(now, delay_ms).monotonic };
                return Ok((Settled::Done, true));
            }
            Settlement::Release => {
                pending.attempt -= 1;
                pending.state = State::Waiting { from: now.monotonic };
                return Ok((Settled::Done, true));
            }
        };
        // What ended has freed its key.
        Ok((settled, ordering == Ordering::Key))
    }

    /// Extends a claim, if the token is its. Returns whether it now ends earlier than before.
    pub(super) fn renew(&mut self, token: &LeaseToken, new_until: Reading) -> Result<bool> {
        let reader = self.readers.get_mut(token.partition() as usize).ok_or_else(|| Error::stale_lease(token))?;
        let pending = reader.claimed_under(token)?;
        let earlier = new_until.monotonic < pending.due();
        if let State::Claimed { until, .. } = &mut pending.state {
            *until = new_until.monotonic;
        }
        Ok(earlier)
    }

    /// How many open deliveries of a partition are in which state. One that waits for its key is in none.
    pub(super) fn counts(&self, log: &Log, now: Reading) -> Counts {
        let mut counts = Counts::default();
        let mut open_keys = HashSet::new();
        for (&sequence, pending) in &self.reader(log.partition()).pending {
            let Some(entry) = log.entry(sequence) else { continue };
            let key = ordered_key(self.settings.ordering, entry);
            let due = pending.due() <= now.monotonic;
            match pending.state {
                State::Claimed { .. } if !due => counts.inflight += 1,
                State::Waiting { .. } if !due => counts.delayed += 1,
                _ if key.is_some_and(|key| open_keys.contains(key)) => {}
                _ => counts.available += 1,
            }
            open_keys.extend(key);
        }
        counts
    }
}

impl Reader {
    fn new(position: u64) -> Reader {
        Reader { last_delivered: position, pending: BTreeMap::new(), dead: BTreeMap::new(), last_served: 0 }
    }

    /// The last sequence up to which everything is settled.
    pub(super) fn frontier(&self) -> u64 {
        self.pending.first_key_value().map_or(self.last_delivered, |(sequence, _)| sequence - 1)
    }

    /// The lowest sequence that retention must leave to this reader, and whether as a dead letter.
    pub(super) fn needs_from(&self) -> (u64, bool) {
        let unsettled = self.frontier() + 1;
        match self.dead.first_key_value() {
            Some((&dead, _)) if dead < unsettled => (dead, true),
            _ => (unsettled, false),
        }
    }

    /// When the next claim ends or the next retry is due, if there is one that has not yet.
    pub(super) fn next_due(&self, now: Reading) -> Option<i64> {
        self.pending.values().map(Pending::due).filter(|due| *due > now.monotonic).min()
    }

    /// The dead letters after a sequence, ascending.
    pub(super) fn dead_after(&self, sequence: u64) -> impl Iterator<Item = (u64, &DeadEntry)> {
        self.dead.range(sequence + 1..).map(|(sequence, dead)| (*sequence, dead))
    }

    pub(super) fn is_dead(&self, sequence: u64) -> bool {
        self.dead.contains_key(&sequence)
    }

    pub(super) fn dead_count(&self) -> u64 {
        self.dead.len() as u64
    }

    /// Forgets a dead letter, and says whether there was one.
    pub(super) fn discard(&mut self, sequence: u64) -> bool {
        self.dead.remove(&sequence).is_some()
    }

    /// Forgets all dead letters and returns how many there were.
    pub(super) fn discard_all(&mut self) -> u64 {
        std::mem::take(&mut self.dead).len() as u64
    }

    /// Delivers anew everything after a sequence, and returns how many deliveries that makes available again.
    /// Beyond what was delivered there is nothing to do.
    pub(super) fn rewind(&mut self, sequence: u64) -> u64 {
        if sequence >= self.last_delivered {
            return 0;
        }
        let offered = self.last_delivered - sequence - self.passed_over_after(sequence) as u64;
        self.pending.split_off(&(sequence + 1));
        self.dead.split_off(&(sequence + 1));
        self.last_delivered = sequence;
        offered
    }

    /// Delivers one entry anew, and says whether it did: not when it has never been offered.
    pub(super) fn reopen(&mut self, sequence: u64) -> bool {
        let offered =
            sequence <= self.last_delivered && !self.pending.get(&sequence).is_some_and(Pending::is_passed_over);
        if offered {
            self.dead.remove(&sequence);
            self.pending.insert(sequence, Pending { attempt: 0, state: State::Waiting { from: i64::MIN } });
        }
        offered
    }

    /// Forgets everything and begins after this position.
    pub(super) fn reset(&mut self, position: u64) {
        *self = Reader { last_served: self.last_served, ..Reader::new(position) };
    }

    /// Forgets what the log has removed.
    pub(super) fn trimmed_before(&mut self, sequence: u64) {
        self.pending = self.pending.split_off(&sequence);
        self.dead = self.dead.split_off(&sequence);
        self.last_delivered = self.last_delivered.max(sequence - 1);
    }

    fn passed_over_after(&self, sequence: u64) -> usize {
        self.pending.range(sequence + 1..).filter(|(_, pending)| pending.is_passed_over()).count()
    }

    fn bury(&mut self, sequence: u64, reason: String, at: Timestamp) {
        if let Some(pending) = self.pending.remove(&sequence) {
            self.dead.insert(sequence, DeadEntry { attempt: pending.attempt, reason, at });
        }
    }

    /// The delivery that is claimed under this token. The fence comes first, then the store's own identity.
    fn claimed_under(&mut self, token: &LeaseToken) -> Result<&mut Pending> {
        let Some(pending) = self.pending.get_mut(&token.sequence()) else {
            return Err(Error::stale_lease(token));
        };
        match &pending.state {
            State::Claimed { lease_id, receipt, .. } if *lease_id == token.lease_id() => {
                if token.own_receipt() == Some(receipt) { Ok(pending) } else { Err(Error::receipt_mismatch(token)) }
            }
            _ => Err(Error::stale_lease(token)),
        }
    }
}
