//! Two promises, watched by the instance's own answers and not by the reference: at most one live lease per event
//! and group, and attempts that never fall, but for release, replay and reset (contract, 4.2 and 4.3).

use rheo_core::{Lease, LeaseId, LeaseToken, Timestamp};
use std::collections::{BTreeMap, HashSet};

/// Stream, group, partition, sequence.
type Place = (String, String, u32, u64);

#[derive(Clone, Debug)]
struct Claimed {
    attempt: u32,
    /// Until when it is held; nothing once it was settled.
    held_until: Option<Timestamp>,
}

/// The last claim of every delivery, as the instance told of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    claims: BTreeMap<Place, Claimed>,
    lease_ids: HashSet<LeaseId>,
}

fn place(token: &LeaseToken) -> Place {
    (token.stream().to_owned(), token.group().to_owned(), token.partition(), token.sequence())
}

impl Promises {
    /// A fetch gave this lease.
    pub(super) fn claimed(&mut self, lease: &Lease, now: Timestamp) -> Result<(), String> {
        if !self.lease_ids.insert(lease.lease_id()) {
            return Err(format!("the lease id of {lease:?} was given before"));
        }
        let claimed = Claimed { attempt: lease.attempt(), held_until: Some(lease.expires_at()) };
        match self.claims.insert(place(lease.token()), claimed) {
            Some(Claimed { held_until: Some(until), .. }) if until > now => {
                Err(format!("{lease:?} was given while another lease of that event is live until {until}"))
            }
            Some(Claimed { attempt, .. }) if attempt >= lease.attempt() => {
                Err(format!("{lease:?} has an attempt that is not above {attempt}, the one before"))
            }
            _ => Ok(()),
        }
    }

    /// A settle ended a claim; a release takes its attempt back.
    pub(super) fn settled(&mut self, token: &LeaseToken, released: bool) {
        if let Some(claimed) = self.claims.get_mut(&place(token)) {
            claimed.held_until = None;
            claimed.attempt -= u32::from(released);
        }
    }

    /// The store was opened again, which ends every claim.
    pub(super) fn reopened(&mut self) {
        self.claims.values_mut().for_each(|claimed| claimed.held_until = None);
    }

    /// A claim was extended.
    pub(super) fn renewed(&mut self, token: &LeaseToken, until: Timestamp) {
        if let Some(claimed) = self.claims.get_mut(&place(token)) {
            claimed.held_until = Some(until);
        }
    }

    /// A replay, a reset, a trim or a deletion may have ended claims and taken attempts back: in one group of a stream,
    /// or in all.
    pub(super) fn forget(&mut self, stream: &str, group: Option<&str>) {
        self.claims.retain(|(of, in_group, ..), _| of != stream || group.is_some_and(|group| group != in_group));
    }
}
