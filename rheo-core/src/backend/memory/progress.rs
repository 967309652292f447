//! A group's progress in one partition: a cursor and the open deliveries (contract, sections 1 and 4).
//!
//! Below the cursor, what is neither open nor a dead letter is acked; nothing is stored for it. The frontier is
//! derived: the lowest open sequence − 1, or the cursor − 1. Fetching and settling one delivery cost
//! O(log open); nothing here walks events, settled deliveries or other groups.

use super::key_order::KeyOrder;
use super::log::Log;
use super::open::Open;
use crate::backend::journal::change::Progressed;
use crate::backend::{Settled, Settlement};
use crate::chunk::{ChunkReader, Record};
use crate::clock::Reading;
use crate::dead_letter::{max_attempts_reason, max_deliveries_reason};
use crate::event::Event;
use crate::group::Ordering;
use crate::lease::{LeaseContext, LeaseId};
use crate::limits::MAX_PASSED_OVER;
use crate::lock::Mutex;
use crate::timestamp::Timestamp;
use rand::rngs::SmallRng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

/// One delivery that is open.
#[derive(Clone, Copy, Default)]
pub(super) struct Delivery {
    /// When the lease expires or the retry is due, while `state` is `Leased` or `Delayed`; monotonic microseconds.
    deadline: i64,
    /// How often it has been delivered.
    pub(super) attempt: u32,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Claimed, until the deadline.
    Leased,
    /// The deadline is past. Anybody may claim it; until then its last holder may still settle.
    Expired,
    /// To be retried at the deadline.
    Delayed,
    /// Waiting to be claimed.
    #[default]
    Available,
    /// Passed over because its key was busy; never offered so far.
    PassedOver,
}

impl Delivery {
    fn has_deadline(&self) -> bool {
        matches!(self.state, State::Leased | State::Delayed)
    }
}

/// A dead letter, without its event.
pub(super) struct Dead {
    pub(super) attempt: u32,
    pub(super) reason: String,
    pub(super) at: Timestamp,
}

/// On what terms a fetch claims.
pub(super) struct Terms {
    pub(super) now: Reading,
    /// Until when, in monotonic microseconds.
    pub(super) deadline: i64,
    /// At most so many.
    pub(super) limit: usize,
    /// 0: unlimited.
    pub(super) max_deliveries: u32,
    /// Up to this sequence.
    pub(super) high_watermark: u64,
}

/// The counts of `group_info`.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) inflight: u64,
    pub(super) available: u64,
    pub(super) delayed: u64,
    pub(super) dead_letters: u64,
}

/// A delivery as it was before a fetch or a settle, to be put back.
pub(super) struct Before {
    pub(super) sequence: u64,
    /// Under which lease id it was held, by nobody or by somebody whose lease had run out.
    fence: LeaseId,
    pub(super) delivery: Delivery,
}

/// What a change leaves to those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// Nothing to fetch that was not there before.
    Nothing,
    /// Something may be claimable now, or earlier than it would have been.
    Work,
}

pub(super) struct Progress {
    cursor: u64,
    open: Open,
    /// Those of the open deliveries that a fetch may claim now.
    ready: BTreeSet<u64>,
    /// Deadlines of open deliveries, the earliest on top; entries whose delivery has moved on are passed over.
    deadlines: BinaryHeap<Reverse<(i64, u64)>>,
    dead: BTreeMap<u64, Dead>,
    leased: usize,
    expired: usize,
    delayed: usize,
    passed_over: usize,
    keys: Option<KeyOrder>,
    /// Reads what is at the cursor.
    reader: Option<ChunkReader>,
    /// What the leases of the last consumer have in common, so that its next fetch need not make it anew.
    pub(super) context: Option<Arc<LeaseContext>>,
    /// Makes lease ids; seeded by the system, so that no two partitions or processes share a sequence of ids.
    random: SmallRng,
}

impl Progress {
    /// Progress that has everything before `cursor` behind it.
    pub(super) fn new(cursor: u64, ordering: Ordering, random: SmallRng) -> Progress {
        Progress {
            cursor,
            open: Open::default(),
            ready: BTreeSet::new(),
            deadlines: BinaryHeap::new(),
            dead: BTreeMap::new(),
            leased: 0,
            expired: 0,
            delayed: 0,
            passed_over: 0,
            keys: (ordering == Ordering::Key).then(KeyOrder::default),
            reader: None,
            context: None,
            random,
        }
    }

    /// Takes out what the leases of a consumer have in common; it is put back into `context` afterwards.
    #[inline]
    pub(super) fn context_for(
        &mut self,
        consumer_id: &Arc<str>,
        make: impl FnOnce() -> Arc<LeaseContext>,
    ) -> Arc<LeaseContext> {
        let known = self
            .context
            .take()
            .filter(|known| Arc::ptr_eq(known.consumer_id(), consumer_id) || known.consumer_id() == consumer_id);
        known.unwrap_or_else(make)
    }

    pub(super) fn frontier(&self) -> u64 {
        self.open.first().unwrap_or(self.cursor) - 1
    }

    pub(super) fn is_held(&self, sequence: u64, lease_id: LeaseId) -> bool {
        self.open.is_held(sequence, lease_id)
    }

    /// The lowest sequence that this group still needs, and whether it is a dead letter.
    pub(super) fn lowest_needed(&self) -> (u64, bool) {
        let unsettled = self.frontier() + 1;
        match self.dead.first_key_value() {
            Some((dead, _)) if *dead < unsettled => (*dead, true),
            _ => (unsettled, false),
        }
    }

    pub(super) fn counts(&mut self, now: i64) -> Counts {
        self.pass_deadlines(now);
        Counts {
            inflight: self.leased as u64,
            available: self.ready.len() as u64,
            delayed: self.delayed as u64,
            dead_letters: self.dead.len() as u64,
        }
    }

    pub(super) fn dead_letters(&self) -> &BTreeMap<u64, Dead> {
        &self.dead
    }

    /// Forgets a dead letter and says whether there was one.
    pub(super) fn discard(&mut self, sequence: u64) -> bool {
        self.dead.remove(&sequence).is_some()
    }

    /// Claims deliveries, what is open again first, then what is new, calls `claimed` with the event, lease id and
    /// attempt of each, and returns those that ran into `max_deliveries` instead. What was open is noted in `before`, where
    /// there is one. New events are read without the log's lock, but where one lies in another chunk than the last.
    #[inline]
    pub(super) fn claim(
        &mut self,
        terms: &Terms,
        log: &Mutex<Log>,
        mut before: Option<&mut Vec<Before>>,
        mut claimed: impl FnMut(Event, LeaseId, u32),
    ) -> Vec<u64> {
        let Terms { now, deadline, limit, max_deliveries, high_watermark } = *terms;
        self.pass_deadlines(now.monotonic);
        let mut buried = Vec::new();
        let mut left = limit;
        while left > 0
            && let Some(&sequence) = self.ready.first()
        {
            let delivery = *self.open.get(sequence).expect("what is ready is open");
            let Delivery { attempt, state, .. } = delivery;
            if let Some(before) = &mut before {
                before.push(Before { sequence, fence: self.open.fence(sequence), delivery });
            }
            if max_deliveries > 0 && attempt >= max_deliveries {
                self.bury(sequence, max_deliveries_reason(max_deliveries), now.wall);
                buried.push(sequence);
                continue;
            }
            self.leave_state(sequence, state);
            let lease_id = LeaseId::from_source(&mut self.random);
            let attempt = attempt + 1;
            self.open.insert_held(sequence, lease_id, Delivery { deadline, attempt, state: State::Leased });
            self.leased += 1;
            self.watch_deadline(deadline, sequence);
            // Removing an event takes its deliveries away first, under the lock that is held here: only a stream that is
            // being deleted lacks one.
            let Some(event) = log.lock().get(sequence) else { return buried };
            left -= 1;
            claimed(event, lease_id, attempt);
        }
        while left > 0 && self.cursor <= high_watermark && self.passed_over < MAX_PASSED_OVER {
            let sequence = self.cursor;
            let event = match self.reader.as_mut().and_then(|reader| reader.next(sequence)) {
                Some(event) => event,
                None => {
                    let Some(reader) = log.lock().reader(sequence) else { return buried };
                    let Some(event) = self.reader.insert(reader).next(sequence) else { return buried };
                    event
                }
            };
            self.cursor += 1;
            if let Some(keys) = &mut self.keys
                && let Some(key) = event.key()
            {
                let busy = keys.is_busy(key);
                keys.opened(sequence, key);
                if busy {
                    self.open.insert(sequence, Delivery { state: State::PassedOver, ..Delivery::default() });
                    self.passed_over += 1;
                    continue;
                }
            }
            let lease_id = LeaseId::from_source(&mut self.random);
            self.open.insert_held(sequence, lease_id, Delivery { deadline, attempt: 1, state: State::Leased });
            self.leased += 1;
            self.watch_deadline(deadline, sequence);
            left -= 1;
            claimed(event, lease_id, 1);
        }
        buried
    }

    /// Ends a claim; nothing when the delivery is not held under this lease id.
    #[inline]
    pub(super) fn settle(
        &mut self,
        sequence: u64,
        lease_id: LeaseId,
        settlement: Settlement<'_>,
        max_attempts: u32,
        now: impl FnOnce() -> Reading,
    ) -> Option<(Settled, Freed)> {
        if settlement == Settlement::Ack && self.keys.is_none() && self.expired == 0 {
            // The common case: what is held is leased, so that the fence says all.
            let acked = self.open.remove_held(sequence, lease_id);
            self.leased -= usize::from(acked);
            // Otherwise one fetch would have to pass all the deadlines of a crowd that is gone.
            if self.deadlines.len() > 64 + 8 * (self.leased + self.delayed) {
                self.compact_deadlines();
            }
            return acked.then_some((Settled::Done, Freed::Nothing));
        }
        if !self.open.is_held(sequence, lease_id) {
            return None;
        }
        let delivery = self.open.get_mut(sequence)?;
        Some(match settlement {
            Settlement::Ack => (Settled::Done, self.close(sequence)),
            Settlement::Reject { reason } => {
                (Settled::DeadLettered, self.bury(sequence, reason.to_owned(), now().wall))
            }
            Settlement::Retry { reason, .. } if delivery.attempt >= max_attempts => {
                (Settled::DeadLettered, self.bury(sequence, max_attempts_reason(reason, max_attempts), now().wall))
            }
            Settlement::Retry { delay_ms, .. } if delay_ms > 0 => {
                let due = now().monotonic.saturating_add(micros(delay_ms));
                self.leave(sequence);
                self.open.let_go(sequence);
                let delivery = self.open.get_mut(sequence).expect("it was open just now");
                (delivery.state, delivery.deadline) = (State::Delayed, due);
                self.delayed += 1;
                self.watch_deadline(due, sequence);
                (Settled::Done, Freed::Work)
            }
            Settlement::Retry { .. } => (Settled::Done, self.make_available(sequence)),
            Settlement::Release => {
                delivery.attempt -= 1;
                (Settled::Done, self.make_available(sequence))
            }
        })
    }

    /// Extends a claim to a new deadline; nothing when the delivery is not held under this lease id.
    pub(super) fn renew(&mut self, sequence: u64, lease_id: LeaseId, deadline: i64) -> Option<Freed> {
        let delivery = self.open.get(sequence).filter(|_| self.open.is_held(sequence, lease_id))?;
        let earlier = delivery.state == State::Leased && deadline < delivery.deadline;
        self.leave(sequence);
        let delivery = self.open.get_mut(sequence).expect("it was open just now");
        (delivery.state, delivery.deadline) = (State::Leased, deadline);
        self.leased += 1;
        self.watch_deadline(deadline, sequence);
        Some(if earlier { Freed::Work } else { Freed::Nothing })
    }

    /// The delivery that is held under this lease id, as it is.
    pub(super) fn held(&self, sequence: u64, lease_id: LeaseId) -> Option<Before> {
        let delivery = self.open.get(sequence).copied().filter(|_| self.open.is_held(sequence, lease_id))?;
        Some(Before { sequence, fence: lease_id, delivery })
    }

    /// Undoes the first claim of a delivery that was not stored, unless it went on since.
    pub(super) fn unclaim(&mut self, sequence: u64, lease_id: LeaseId) {
        if self.open.is_held(sequence, lease_id) {
            if let Some(delivery) = self.open.get_mut(sequence) {
                delivery.attempt -= 1;
            }
            self.make_available(sequence);
        }
    }

    /// Undoes that a fetch moved the cursor on from `before` to `after`, if nobody has done anything with what it passed.
    /// `ours` gives the lease under which the fetch holds a delivery.
    pub(super) fn take_back_offer(&mut self, before: u64, after: u64, ours: impl Fn(u64) -> Option<LeaseId>) {
        let is_untouched = |(sequence, delivery): (u64, Delivery)| match ours(sequence) {
            Some(lease_id) => self.open.is_held(sequence, lease_id),
            None => delivery.state == State::PassedOver,
        };
        let passed = self.open.from(before).filter(|passed| is_untouched(*passed)).count() as u64;
        if self.cursor == after && passed == after - before {
            for (sequence, delivery) in self.open.take_from(before) {
                self.forget(sequence, &delivery);
            }
            self.cursor = before;
        }
    }

    /// Undoes what was done to an open delivery and was not stored: it is as it was. `key` is the event's.
    pub(super) fn restore(&mut self, before: &Before, key: Option<&str>) {
        let Before { sequence, fence, delivery } = *before;
        self.dead.remove(&sequence);
        match self.open.remove(sequence) {
            Some(delivery) => self.leave_state(sequence, delivery.state),
            None => self.note_key(sequence, key),
        }
        self.open.insert_held(sequence, fence, delivery);
        match delivery.state {
            State::Leased => {
                self.leased += 1;
                self.watch_deadline(delivery.deadline, sequence);
            }
            State::Delayed => {
                self.delayed += 1;
                self.watch_deadline(delivery.deadline, sequence);
            }
            State::Expired => self.expired += 1,
            State::PassedOver => self.passed_over += 1,
            State::Available => {}
        }
        self.offer(sequence);
    }

    /// Whether a delivery is as a fetch left it that claimed it under this lease id, or that buried it.
    pub(super) fn is_left(&self, sequence: u64, claimed: Option<LeaseId>) -> bool {
        match claimed {
            Some(lease_id) => self.open.is_held(sequence, lease_id),
            None => self.dead.contains_key(&sequence) && self.open.get(sequence).is_none(),
        }
    }

    /// Takes note that a delivery with this key is open again. The one that was first of its key waits.
    fn note_key(&mut self, sequence: u64, key: Option<&str>) {
        if let (Some(key), Some(keys)) = (key, &mut self.keys)
            && let Some(displaced) = keys.opened(sequence, key)
        {
            self.ready.remove(&displaced);
        }
    }

    /// The next deadline at which something may become claimable by time alone.
    pub(super) fn next_deadline(&mut self) -> Option<i64> {
        while let Some(&Reverse((deadline, sequence))) = self.deadlines.peek() {
            if self.is_due_at(sequence, deadline) {
                return Some(deadline);
            }
            self.deadlines.pop();
        }
        None
    }

    /// Moves the cursor back, never forward, and forgets what was open or dead from there on; returns how many
    /// deliveries that makes available again.
    pub(super) fn rewind(&mut self, cursor: u64) -> u64 {
        if cursor >= self.cursor {
            return 0;
        }
        let passed_over = self.passed_over;
        let dropped = self.open.take_from(cursor);
        for (sequence, delivery) in &dropped {
            self.forget(*sequence, delivery);
        }
        self.dead.split_off(&cursor);
        let moved_back = self.cursor - cursor;
        self.cursor = cursor;
        moved_back - (passed_over - self.passed_over) as u64
    }

    /// Makes one delivery available again with its attempts starting over, and says whether it did: one that was not
    /// offered yet is left alone. `key` is the event's.
    pub(super) fn reopen(&mut self, sequence: u64, key: Option<&str>) -> bool {
        if !self.was_offered(sequence) {
            return false;
        }
        if let Some(delivery) = self.open.get_mut(sequence) {
            delivery.attempt = 0;
            self.make_available(sequence);
            return true;
        }
        self.dead.remove(&sequence);
        self.open.insert(sequence, Delivery::default());
        self.note_key(sequence, key);
        self.offer(sequence);
        true
    }

    /// Whether `reopen` would make this delivery available.
    pub(super) fn was_offered(&self, sequence: u64) -> bool {
        sequence < self.cursor && self.open.get(sequence).is_none_or(|delivery| delivery.state != State::PassedOver)
    }

    pub(super) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Moves the cursor past a claim of what is next, without entering it, and says whether it is that.
    pub(super) fn offer_up_to(&mut self, first: u64, count: u64, log: &Log) -> bool {
        let is_next = first == self.cursor && first.saturating_add(count) <= log.next();
        if is_next {
            self.cursor += count;
        }
        is_next
    }

    /// Takes over what a journal says. Until `recovered`, only the cursor, what is open and what is dead are right.
    /// Returns whether it can be: nothing happens to events that were never appended.
    pub(super) fn recover(&mut self, progressed: &Progressed<'_>, log: &Log, now: Reading) -> bool {
        let available = |attempt| Delivery { attempt, ..Delivery::default() };
        match *progressed {
            Progressed::Claimed { first, count, attempt } => {
                let end = first.saturating_add(count);
                if end > log.next() {
                    return false;
                }
                self.pass_over(first);
                for sequence in first.max(log.first())..end {
                    self.open.insert(sequence, available(attempt));
                }
                self.cursor = self.cursor.max(end);
            }
            Progressed::Acked { first, count } => {
                let end = first.saturating_add(count);
                if end > self.cursor {
                    return false;
                }
                for sequence in first..end {
                    let _ = self.open.remove(sequence);
                }
            }
            Progressed::Delayed { sequence, due, delay_ms } => {
                // By the wall clock, which may have been set since, but never longer than it was to be.
                let rest = due.as_micros().saturating_sub(now.wall.as_micros()).clamp(0, micros(delay_ms));
                if let Some(delivery) = self.open.get_mut(sequence) {
                    (delivery.state, delivery.deadline) = (State::Delayed, now.monotonic.saturating_add(rest));
                }
            }
            Progressed::Released { sequence, attempt } => {
                if let Some(delivery) = self.open.get_mut(sequence) {
                    *delivery = available(attempt);
                }
            }
            Progressed::Dead { sequence, attempt, at, reason } => {
                // Of an event that was trimmed since there may be nothing left.
                if self.open.remove(sequence).is_some() {
                    self.dead.insert(sequence, Dead { attempt, reason: reason.to_owned(), at });
                }
            }
            Progressed::Discarded { sequence } => drop(self.dead.remove(&sequence)),
            Progressed::Rewound { cursor } => {
                if cursor < self.cursor {
                    self.open.take_from(cursor);
                    self.dead.split_off(&cursor);
                    self.cursor = cursor;
                }
            }
            Progressed::Reopened { sequence } => {
                if sequence >= self.cursor {
                    return false;
                }
                if sequence >= log.first() {
                    self.dead.remove(&sequence);
                    self.open.insert(sequence, Delivery::default());
                }
            }
            Progressed::Reset { cursor } => {
                if cursor > log.next() {
                    return false;
                }
                self.reset(cursor);
            }
            Progressed::PassedOver { cursor } => {
                if cursor > log.next() {
                    return false;
                }
                self.pass_over(cursor);
            }
        }
        true
    }

    /// Moves the cursor on to here. What it passes is open, so that it is not lost.
    fn pass_over(&mut self, cursor: u64) {
        let state = if self.keys.is_some() { State::PassedOver } else { State::Available };
        for sequence in self.cursor..cursor {
            self.open.insert(sequence, Delivery { state, ..Delivery::default() });
        }
        self.cursor = self.cursor.max(cursor);
    }

    /// Takes over that the events before `first` are gone; see `recover`.
    pub(super) fn retrim(&mut self, first: u64) {
        self.open.take_below(first);
        self.dead = self.dead.split_off(&first);
        self.cursor = self.cursor.max(first);
    }

    /// Derives the rest from what `recover` took over.
    pub(super) fn recovered(&mut self, log: &Log) {
        let open: Vec<(u64, Delivery)> = self.open.from(0).collect();
        for (sequence, delivery) in open {
            match delivery.state {
                State::Delayed => {
                    self.delayed += 1;
                    self.watch_deadline(delivery.deadline, sequence);
                }
                State::PassedOver => self.passed_over += 1,
                _ => {}
            }
            self.note_key(sequence, log.record(sequence).and_then(Record::key));
            self.offer(sequence);
        }
    }

    /// Forgets everything, for good.
    pub(super) fn clear(&mut self) {
        self.reset(1);
        self.context = None;
    }

    /// Forgets everything and starts over at `cursor`.
    pub(super) fn reset(&mut self, cursor: u64) {
        self.cursor = cursor;
        self.open.clear();
        self.ready.clear();
        self.deadlines.clear();
        self.dead.clear();
        self.reader = None;
        (self.leased, self.expired, self.delayed, self.passed_over) = (0, 0, 0, 0);
        if let Some(keys) = &mut self.keys {
            keys.clear();
        }
    }

    /// Forgets what belongs to events before `first`, which are removed, and says whether that frees work.
    pub(super) fn trim(&mut self, first: u64) -> Freed {
        let dropped = self.open.take_below(first);
        for (sequence, delivery) in &dropped {
            self.forget(*sequence, delivery);
        }
        self.dead = self.dead.split_off(&first);
        // It may hold the memory of removed events.
        self.reader = None;
        self.cursor = self.cursor.max(first);
        if dropped.is_empty() { Freed::Nothing } else { Freed::Work }
    }

    /// Ends an open delivery.
    fn close(&mut self, sequence: u64) -> Freed {
        match self.open.remove(sequence) {
            Some(delivery) => self.forget(sequence, &delivery),
            None => Freed::Nothing,
        }
    }

    fn bury(&mut self, sequence: u64, reason: String, at: Timestamp) -> Freed {
        let attempt = self.open.get(sequence).map_or(0, |delivery| delivery.attempt);
        let settled = self.close(sequence);
        self.dead.insert(sequence, Dead { attempt, reason, at });
        settled
    }

    /// Takes a delivery, removed from `open`, out of everything else, and lets the next of its key through.
    fn forget(&mut self, sequence: u64, delivery: &Delivery) -> Freed {
        self.leave_state(sequence, delivery.state);
        match self.keys.as_mut().and_then(|keys| keys.closed(sequence)) {
            Some(next) => {
                self.offer(next);
                Freed::Work
            }
            None => Freed::Nothing,
        }
    }

    /// Takes an open delivery out of the counts and sets that its state put it into.
    fn leave(&mut self, sequence: u64) {
        if let Some(delivery) = self.open.get(sequence) {
            self.leave_state(sequence, delivery.state);
        }
    }

    fn leave_state(&mut self, sequence: u64, state: State) {
        match state {
            State::Leased => self.leased -= 1,
            State::Delayed => self.delayed -= 1,
            State::PassedOver => {
                self.passed_over -= 1;
                self.ready.remove(&sequence);
            }
            State::Expired => {
                self.expired -= 1;
                self.ready.remove(&sequence);
            }
            State::Available => drop(self.ready.remove(&sequence)),
        }
    }

    /// Ends the hold on an open delivery and lets a fetch take it.
    fn make_available(&mut self, sequence: u64) -> Freed {
        self.leave(sequence);
        self.open.let_go(sequence);
        if let Some(delivery) = self.open.get_mut(sequence) {
            delivery.state = State::Available;
        }
        self.offer(sequence);
        Freed::Work
    }

    /// Puts an open delivery among the claimable ones if its state and its key let it.
    fn offer(&mut self, sequence: u64) {
        let claimable = self.open.get(sequence).is_some_and(|delivery| !delivery.has_deadline());
        if claimable && self.keys.as_ref().is_none_or(|keys| keys.is_first(sequence)) {
            self.ready.insert(sequence);
        }
    }

    /// Takes note of the deadline of a delivery that has just become, and is counted as, leased or delayed.
    #[inline]
    fn watch_deadline(&mut self, deadline: i64, sequence: u64) {
        self.deadlines.push(Reverse((deadline, sequence)));
        // Entries of settled deliveries stay until they outnumber the live ones.
        if self.deadlines.len() > 64 + 2 * (self.leased + self.delayed) {
            self.compact_deadlines();
        }
    }

    #[cold]
    fn compact_deadlines(&mut self) {
        let mut entries = std::mem::take(&mut self.deadlines).into_vec();
        entries.retain(|Reverse((deadline, sequence))| self.is_due_at(*sequence, *deadline));
        // While a clock stands still, a delivery that is claimed or renewed again has the same deadline again.
        entries.sort_unstable();
        entries.dedup();
        entries.shrink_to(4 * entries.len() + 64);
        self.deadlines = BinaryHeap::from(entries);
    }

    fn is_due_at(&self, sequence: u64, deadline: i64) -> bool {
        self.open.get(sequence).is_some_and(|delivery| delivery.has_deadline() && delivery.deadline == deadline)
    }

    /// Makes claimable whatever expired or came due.
    #[inline]
    fn pass_deadlines(&mut self, now: i64) {
        while let Some(&Reverse((deadline, sequence))) = self.deadlines.peek()
            && deadline <= now
        {
            self.deadlines.pop();
            if self.deadlines.capacity() > 64 + 8 * self.deadlines.len() {
                self.deadlines.shrink_to(2 * self.deadlines.len());
            }
            if !self.is_due_at(sequence, deadline) {
                continue;
            }
            self.leave(sequence);
            let delivery = self.open.get_mut(sequence).expect("it was open just now");
            if delivery.state == State::Leased {
                delivery.state = State::Expired;
                self.expired += 1;
            } else {
                delivery.state = State::Available;
            }
            self.offer(sequence);
        }
    }
}

/// Milliseconds as microseconds; durations are at most ten years.
pub(super) fn micros(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Append, Clock, FetchOptions, GroupOptions, Instance, OpenOptions, StreamOptions};

    /// The deadlines kept for the one partition of stream `s` and group `g`.
    fn deadlines(backend: &super::super::MemoryBackend) -> usize {
        let place = crate::backend::GroupRef { stream: "s", name: "g", binding: None };
        backend.group(place).unwrap().1.partitions[0].progress.lock().deadlines.len()
    }

    #[test]
    fn deadlines_of_the_past_do_not_pile_up() {
        for clock in [Clock::system(), Clock::manual(Timestamp::from_micros(0))] {
            let backend = Arc::new(super::super::MemoryBackend::new(clock));
            let db = Instance::with_backend(backend.clone(), OpenOptions::new()).unwrap();
            db.create_stream("s", StreamOptions::default()).unwrap();
            db.create_group("s", "g", &GroupOptions::default()).unwrap();
            for _ in 0..3 {
                db.append("s", &Append::json("1")).unwrap();
            }
            let held = db.fetch("s", "g", &FetchOptions::new().limit(1)).unwrap();
            for _ in 0..1000 {
                db.renew(&held[0], None).unwrap();
                let leases = db.fetch("s", "g", &FetchOptions::new()).unwrap();
                db.release_many(&leases).unwrap();
            }
            assert!(deadlines(&backend) <= 64 + 2 * 3, "{}", deadlines(&backend));
        }
    }
}
