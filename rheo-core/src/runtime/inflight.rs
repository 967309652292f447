//! The leases that a producer holds: handed out or about to be, and not settled yet. Knows when each is to be renewed, and whom
//! to tell when it is lost.

use crate::error::{Error, SettleClass};
use crate::lease::{Lease, LeaseId, LeaseToken};
use crate::runtime::backoff::Backoff;
use crate::runtime::outcome::Outcome;
use crate::wait::Interrupt;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A time of the runtime's clock, in microseconds.
pub(super) type Micros = i64;

/// Later than everything.
const NEVER: Micros = Micros::MAX;

/// One lease that is held. Moved about for each event, so it is kept small.
pub(super) struct Held {
    pub(super) token: LeaseToken,
    pub(super) attempt: u32,
    /// What its settle is to be again, when it failed.
    pub(super) repeat: Option<Box<Repeat>>,
    renew_at: Micros,
    /// When it ends by our own clock, unless it is renewed.
    expires_at: Micros,
    /// Since when a handler has it; [`NEVER`] while none has.
    started_at: Micros,
    /// Whether its handler has had it for so long that it is not renewed any more.
    given_up: bool,
    /// Fired when the lease is lost.
    cancel: Option<Interrupt>,
}

/// A settle that definitely was not done, to be done again.
pub(super) struct Repeat {
    pub(super) outcome: Outcome,
    pub(super) backoff: Backoff,
    pub(super) due: Micros,
}

/// Lease ids are random already.
#[derive(Default)]
struct FirstWord(u64);

impl Hasher for FirstWord {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(word) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*word);
        }
    }

    // The length of the id's two words says nothing.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) struct Inflight {
    held: HashMap<LeaseId, Held, BuildHasherDefault<FirstWord>>,
    lease: Micros,
    /// No lease that is held runs out before.
    holds_until: Micros,
    /// A handler's lease is no longer renewed after so long; 0: always.
    max_lease: Micros,
}

impl Inflight {
    pub(super) fn new(lease_ms: u64, max_lease_ms: u64) -> Inflight {
        Inflight {
            held: HashMap::default(),
            lease: micros(lease_ms),
            holds_until: NEVER,
            max_lease: micros(max_lease_ms),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Takes a lease that was asked for at `now`, and returns when it is to be renewed.
    pub(super) fn add(&mut self, lease: &Lease, now: Micros) -> Micros {
        let (token, attempt) = (lease.token().clone(), lease.attempt());
        let (renew_at, expires_at) = (now.saturating_add(self.lease / 2), now.saturating_add(self.lease));
        let (repeat, started_at, given_up, cancel) = (None, NEVER, false, None);
        let held = Held { token, attempt, repeat, renew_at, expires_at, started_at, given_up, cancel };
        self.held.insert(lease.lease_id(), held);
        self.holds_until = self.holds_until.min(expires_at);
        renew_at
    }

    /// Takes back one whose settle is to be repeated.
    pub(super) fn put_back(&mut self, mut held: Held) {
        self.holds_until = self.holds_until.min(held.expires_at);
        (held.started_at, held.cancel) = (NEVER, None);
        self.held.insert(held.token.lease_id(), held);
    }

    /// Whether the signal that a lease was handed out with has fired for it: it is not held any more, or was given up.
    pub(super) fn is_cancelled(&self, id: LeaseId) -> bool {
        self.held.get(&id).is_none_or(|held| held.cancel.is_none())
    }

    /// Whether a lease is held.
    pub(super) fn holds(&self, id: LeaseId) -> bool {
        self.held.contains_key(&id)
    }

    /// Which attempt a lease is that is held.
    pub(super) fn attempt(&self, id: LeaseId) -> Option<u32> {
        self.held.get(&id).map(|held| held.attempt)
    }

    /// Takes note that somebody has the lease from now on and, for a handler, whom to tell when it is lost. Returns when it is to be
    /// looked at next; nothing for a lease that is lost or has run out, which is not held any more.
    pub(super) fn hand_out(&mut self, id: LeaseId, now: Micros, cancel: Option<&Interrupt>) -> Option<Micros> {
        let held = self.held.get_mut(&id)?;
        if held.expires_at <= now {
            self.held.remove(&id);
            return None;
        }
        if let Some(cancel) = cancel {
            (held.started_at, held.given_up) = (now, false);
            held.cancel = Some(cancel.clone());
        }
        Some(held.due(self.max_lease))
    }

    /// Whether a lease that is to be handed out must be looked up: it may have run out, or its handler's time is limited.
    pub(super) fn must_look(&self, now: Micros) -> bool {
        self.max_lease > 0 || now >= self.holds_until
    }

    /// No longer holds a lease.
    pub(super) fn remove(&mut self, id: LeaseId) -> Option<Held> {
        self.held.remove(&id)
    }

    /// No longer holds anything, and returns what was held.
    pub(super) fn take(&mut self) -> Vec<Held> {
        self.held.drain().map(|(_, held)| held).collect()
    }

    /// Sets the signals of everything that is held, and returns them.
    pub(super) fn cancel(&mut self) -> Vec<Interrupt> {
        self.held.values_mut().filter_map(Held::cancelled).collect()
    }

    /// Adds the tokens that are to be renewed now: those that are due, and those that nearly are, so that leases which were
    /// taken about the same time go together. Gives up those that their handlers have had for too long, and returns their
    /// signals.
    pub(super) fn due(&mut self, now: Micros, due: &mut Vec<LeaseToken>) -> Vec<Interrupt> {
        let (soon, max_lease) = (now.saturating_add(self.lease / 20), self.max_lease);
        let mut cancelled = Vec::new();
        let mut holds_until = NEVER;
        self.held.retain(|_, held| {
            holds_until = holds_until.min(held.expires_at);
            if max_lease > 0 && !held.given_up && held.age(now) >= max_lease {
                held.given_up = true;
                cancelled.extend(held.cancelled());
            }
            if held.given_up {
                // What its handler says before the lease runs out still counts.
                return held.expires_at > now;
            }
            if held.renew_at <= soon {
                due.push(held.token.clone());
            }
            true
        });
        self.holds_until = holds_until;
        cancelled
    }

    /// Takes note of what became of a renewal that was asked for at `now`. Returns the signal of a lease that is lost.
    pub(super) fn renewed(&mut self, id: LeaseId, now: Micros, error: Option<&Error>) -> Option<Interrupt> {
        // One that was settled meanwhile is none of ours any more.
        let held = self.held.get_mut(&id)?;
        match error {
            None => {
                held.renew_at = now.saturating_add(self.lease / 2);
                held.expires_at = now.saturating_add(self.lease);
                None
            }
            Some(error) if error.settle_class() == SettleClass::Lost => self.held.remove(&id)?.cancelled(),
            Some(_) => {
                held.renew_at = now.saturating_add((self.lease / 10).clamp(1000, 1_000_000));
                None
            }
        }
    }

    /// No longer holds those whose settle is to be repeated now, and returns them.
    pub(super) fn take_repeats(&mut self, now: Micros) -> Vec<Held> {
        let is_due = |held: &Held| held.repeat.as_ref().is_some_and(|repeat| repeat.due <= now);
        let ids: Vec<LeaseId> = self.held.iter().filter(|(_, held)| is_due(held)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.held.remove(&id)).collect()
    }

    /// When something is due next.
    pub(super) fn next_due(&self) -> Option<Micros> {
        self.held.values().map(|held| held.due(self.max_lease)).min()
    }
}

impl Held {
    fn due(&self, max_lease: Micros) -> Micros {
        if self.given_up {
            return self.expires_at;
        }
        let limit = if max_lease > 0 { self.started_at.saturating_add(max_lease) } else { NEVER };
        let repeat = self.repeat.as_ref().map_or(NEVER, |repeat| repeat.due);
        self.renew_at.min(limit).min(repeat)
    }

    /// For how long its handler has had it; nothing or less while none has.
    pub(super) fn age(&self, now: Micros) -> Micros {
        now.saturating_sub(self.started_at)
    }

    /// Sets the signal that tells its handler, and returns it: whoever watches it is to be woken once no lock is held. It is set at once,
    /// since it may serve other leases as soon as this one is no longer held.
    pub(super) fn cancelled(&mut self) -> Option<Interrupt> {
        let cancel = self.cancel.take()?;
        cancel.set();
        Some(cancel)
    }
}

/// A duration in microseconds.
pub(super) fn micros(millis: u64) -> Micros {
    i64::try_from(millis).unwrap_or(i64::MAX / 1000).saturating_mul(1000)
}
