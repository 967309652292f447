//! What a group knows of its deliveries, and how they change: most of the contract's section 4 is here.

use crate::log::Partition;
use rheo_core::backend::{Settled, Settlement};
use rheo_core::{
    Error, Event, GroupSettings, LeaseId, LeaseToken, Ordering, Reading, Result, Timestamp, limits,
    max_attempts_reason, max_deliveries_reason,
};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// A consumer group.
pub struct Group {
    pub settings: GroupSettings,
    /// One for each partition.
    pub readers: Vec<Reader>,
    /// How often a partition was served, so that the one that has waited longest comes first.
    pub turns: u64,
}

/// A group's progress in one partition. Up to `offered`, what is neither open nor dead is acked; what comes after was
/// not offered yet.
#[derive(Default)]
pub struct Reader {
    offered: u64,
    pub open: BTreeMap<u64, Open>,
    pub dead: BTreeMap<u64, Dead>,
    /// The group's `turns` when this partition was last served.
    pub last_turn: u64,
}

/// An open delivery.
pub struct Open {
    pub attempt: u32,
    /// The fence, while it is leased. One that has run out stands until the next claim.
    pub lease_id: Option<LeaseId>,
    /// From when on it can be claimed: the end of its lease, or when its retry is due.
    pub due: i64,
    /// Not offered yet, because an earlier event of its key was open.
    pub passed_over: bool,
}

/// A dead letter.
pub struct Dead {
    pub attempt: u32,
    pub reason: String,
    pub at: Timestamp,
}

/// A point in time so many milliseconds later.
pub fn later(now: Reading, millis: u64) -> Reading {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    Reading { monotonic: now.monotonic.saturating_add(millis.saturating_mul(1000)), wall: now.wall.plus_millis(millis) }
}

/// The key whose order the group keeps at this event, if it keeps any.
pub fn ordered_key<'a>(settings: &GroupSettings, event: &'a Event) -> Option<&'a str> {
    event.key().filter(|_| settings.ordering == Ordering::Key)
}

impl Open {
    /// What nobody holds.
    fn waiting(attempt: u32, due: i64) -> Open {
        Open { attempt, lease_id: None, due, passed_over: false }
    }
}

impl Reader {
    /// One that begins after this position.
    pub fn new(position: u64) -> Reader {
        Reader { offered: position, ..Reader::default() }
    }

    /// The last sequence up to which everything is settled.
    pub fn frontier(&self) -> u64 {
        self.open.first_key_value().map_or(self.offered, |(sequence, _)| sequence - 1)
    }

    /// The lowest sequence that a trim must leave, and whether because of a dead letter.
    pub fn needs_from(&self) -> (u64, bool) {
        let unsettled = (self.frontier() + 1, false);
        self.dead.first_key_value().map_or(unsettled, |(sequence, _)| unsettled.min((*sequence, true)))
    }

    /// In how long the next lease ends or the next retry is due.
    pub fn next_due(&self, now: Reading) -> Option<Duration> {
        let next = self.open.values().map(|open| open.due).filter(|due| *due > now.monotonic).min();
        next.map(|due| Duration::from_micros(due.abs_diff(now.monotonic)))
    }

    /// Claims up to `limit` deliveries, lowest sequence first: what is open again, then what is new. Returns how many
    /// it dead-lettered instead.
    pub fn claim(
        &mut self,
        partition: &Partition,
        settings: &GroupSettings,
        limit: usize,
        now: Reading,
        until: Reading,
        mut grant: impl FnMut(&Event, u32, LeaseId),
    ) -> u64 {
        let max_deliveries = settings.max_deliveries;
        let (mut granted, mut dead_letters) = (0, 0);
        let mut passed_over = self.open.values().filter(|open| open.passed_over).count();
        // Going up, the keys of what is open so far are those that a later event must wait for.
        let mut open_keys = HashSet::new();
        let open: Vec<u64> = self.open.keys().copied().collect();
        let new = self.offered + 1..=partition.last();
        for sequence in open.into_iter().chain(new) {
            let is_new = sequence > self.offered;
            if granted == limit || is_new && passed_over == limits::MAX_PASSED_OVER {
                break;
            }
            let Some(event) = partition.event(sequence) else { continue };
            if is_new {
                self.offered = sequence;
                self.open.insert(sequence, Open { passed_over: true, ..Open::waiting(0, i64::MIN) });
                passed_over += 1;
            }
            let Some(open) = self.open.get_mut(&sequence) else { continue };
            let key = ordered_key(settings, event);
            if open.due <= now.monotonic && key.is_none_or(|key| !open_keys.contains(key)) {
                if max_deliveries > 0 && open.attempt >= max_deliveries {
                    self.bury(sequence, max_deliveries_reason(max_deliveries), now.wall);
                    dead_letters += 1;
                    continue;
                }
                passed_over -= usize::from(open.passed_over);
                let (attempt, lease_id) = (open.attempt + 1, LeaseId::random());
                *open = Open { lease_id: Some(lease_id), ..Open::waiting(attempt, until.monotonic) };
                grant(event, attempt, lease_id);
                granted += 1;
            }
            open_keys.extend(key);
        }
        dead_letters
    }

    /// The delivery that is leased under this token. This is the fence: every settle goes through it.
    pub fn held_under(&mut self, token: &LeaseToken) -> Result<&mut Open> {
        let open = self.open.get_mut(&token.sequence()).filter(|open| open.lease_id == Some(token.lease_id()));
        let open = open.ok_or_else(|| Error::stale_lease(token))?;
        // This store has no names of its own for claims: the receipt of each is its lease id.
        if token.receipt() != token.lease_id().to_string() {
            return Err(Error::receipt_mismatch(token));
        }
        Ok(open)
    }

    /// Ends a claim.
    pub fn settle(
        &mut self,
        token: &LeaseToken,
        settlement: Settlement<'_>,
        max_attempts: u32,
        now: Reading,
    ) -> Result<Settled> {
        let sequence = token.sequence();
        let open = self.held_under(token)?;
        match settlement {
            Settlement::Ack => drop(self.open.remove(&sequence)),
            Settlement::Reject { reason } => return Ok(self.bury(sequence, reason.to_owned(), now.wall)),
            Settlement::Retry { reason, .. } if open.attempt >= max_attempts => {
                return Ok(self.bury(sequence, max_attempts_reason(reason, max_attempts), now.wall));
            }
            Settlement::Retry { delay_ms, .. } => {
                *open = Open::waiting(open.attempt, later(now, delay_ms).monotonic);
            }
            Settlement::Release => *open = Open::waiting(open.attempt - 1, now.monotonic),
        }
        Ok(Settled::Done)
    }

    fn bury(&mut self, sequence: u64, reason: String, at: Timestamp) -> Settled {
        if let Some(Open { attempt, .. }) = self.open.remove(&sequence) {
            self.dead.insert(sequence, Dead { attempt, reason, at });
        }
        Settled::DeadLettered
    }

    /// Offers everything after a sequence anew, and returns how many deliveries that makes available again.
    pub fn rewind(&mut self, to: u64) -> u64 {
        if to >= self.offered {
            return 0;
        }
        self.dead.split_off(&(to + 1));
        let dropped = self.open.split_off(&(to + 1));
        let never_offered = dropped.values().filter(|open| open.passed_over).count() as u64;
        std::mem::replace(&mut self.offered, to) - to - never_offered
    }

    /// Makes one delivery available anew, and says whether it did: not when it has never been offered.
    pub fn reopen(&mut self, sequence: u64) -> bool {
        let offered = sequence <= self.offered && self.open.get(&sequence).is_none_or(|open| !open.passed_over);
        if offered {
            self.dead.remove(&sequence);
            self.open.insert(sequence, Open::waiting(0, i64::MIN));
        }
        offered
    }

    /// Forgets everything and begins after this position; whose turn it is stays.
    pub fn reset(&mut self, position: u64) {
        *self = Reader { last_turn: self.last_turn, ..Reader::new(position) };
    }

    /// Forgets what was removed from the log.
    pub fn forget_before(&mut self, sequence: u64) {
        self.open = self.open.split_off(&sequence);
        self.dead = self.dead.split_off(&sequence);
        self.offered = self.offered.max(sequence.saturating_sub(1));
    }
}
