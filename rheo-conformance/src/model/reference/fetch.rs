//! What a fetch may give, and what it does to the deliveries.
//!
//! Within a partition there is no choice: a fetch goes from the lowest sequence up. How many of its leases come from
//! which partition is the backend's choice, and checked for fairness only.

use super::{Delivery, Group, Record, Reference, Stream};
use rheo_core::{ErrorCode, GroupSettings, LeaseId, Ordering, Timestamp, max_deliveries_reason};
use std::collections::{BTreeMap, HashSet};

/// A claim that the instance says it made.
#[derive(Clone, Debug)]
pub(in super::super) struct Claim {
    pub partition: u32,
    pub sequence: u64,
    pub attempt: u32,
    pub lease_id: LeaseId,
    pub receipt: String,
    pub expires_at: Timestamp,
}

/// What a fetch does about a delivery that it comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Look {
    Nothing,
    PassesOver,
    DeadLetters,
    Claims { attempt: u32 },
}

/// A fetch on its way through a partition, lowest sequence first.
pub(super) struct Walk<'a> {
    settings: GroupSettings,
    now: Timestamp,
    /// The keys of the open deliveries so far.
    pub(super) busy: HashSet<&'a str>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(settings: GroupSettings, now: Timestamp) -> Walk<'a> {
        Walk { settings, now, busy: HashSet::new() }
    }

    pub(super) fn key(&self, record: &'a Record) -> Option<&'a str> {
        record.key.as_deref().filter(|_| self.settings.ordering == Ordering::Key)
    }

    fn look(&mut self, record: &'a Record, delivery: &Delivery) -> Look {
        let key = self.key(record);
        let blocked = key.is_some_and(|key| self.busy.contains(key));
        let most = self.settings.max_deliveries;
        let look = if !delivery.is_due(self.now) || (blocked && delivery.is_offered()) {
            Look::Nothing
        } else if blocked {
            Look::PassesOver
        } else if most > 0 && delivery.attempt() >= most {
            Look::DeadLetters
        } else {
            Look::Claims { attempt: delivery.attempt() + 1 }
        };
        let stays_open = match look {
            Look::Nothing => delivery.is_open(),
            Look::DeadLetters => false,
            Look::PassesOver | Look::Claims { .. } => true,
        };
        self.busy.extend(key.filter(|_| stays_open));
        look
    }

    fn dead(&self, delivery: &Delivery) -> Delivery {
        Delivery::Dead {
            attempt: delivery.attempt(),
            reason: max_deliveries_reason(self.settings.max_deliveries),
            at: self.now,
        }
    }
}

/// How many claims a fetch without a limit would make in a partition.
fn claimable(settings: GroupSettings, now: Timestamp, records: &[Record], deliveries: &[Delivery]) -> usize {
    let mut walk = Walk::new(settings, now);
    let looks = records.iter().zip(deliveries).map(|(record, delivery)| walk.look(record, delivery));
    looks.filter(|look| matches!(look, Look::Claims { .. })).count()
}

impl Reference {
    /// Follows a fetch: checks that `claims` are what it may give, and does to the deliveries what it did. `listed`
    /// says whether the instance now lists a delivery as a dead letter.
    pub(in super::super) fn fetch(
        &mut self,
        (stream, group): (&str, &str),
        asked: Option<&[u32]>,
        limit: usize,
        claims: &[Claim],
        listed: &dyn Fn(u32, u64) -> bool,
    ) -> Result<(), String> {
        let now = self.now;
        let named = |code| format!("fetch went well in spite of {code}");
        let found = self.stream_mut(stream).map_err(named)?;
        let scope = found.scope(asked).map_err(named)?;
        let Stream { partitions, groups } = found;
        let group = groups.get_mut(group).ok_or(ErrorCode::GroupNotFound).map_err(named)?;
        let settings = group.settings;
        let count = |number: u32| {
            let (records, deliveries) = (&partitions[number as usize].events, &group.deliveries[number as usize]);
            (number, claimable(settings, now, records, deliveries))
        };
        let counts: BTreeMap<u32, usize> = scope.iter().map(|number| count(*number)).collect();
        let total = counts.values().sum::<usize>().min(limit);
        if claims.len() != total {
            let given = claims.len();
            return Err(format!(
                "fetch gave {given} leases; of {counts:?} claimable by partition it should give {total}"
            ));
        }
        if let Some(claim) = claims.iter().find(|claim| !scope.contains(&claim.partition)) {
            return Err(format!("fetch over partitions {scope:?} gave {claim:?}"));
        }
        for &number in &scope {
            let records = &partitions[number as usize].events;
            let deliveries = &mut group.deliveries[number as usize];
            let mut claims = claims.iter().filter(|claim| claim.partition == number).peekable();
            let mut walk = Walk::new(settings, now);
            let mut index = 0;
            // Up to the last claim; to the end if the limit did not end the fetch.
            while index < records.len() && (total < limit || claims.peek().is_some()) {
                match walk.look(&records[index], &deliveries[index]) {
                    Look::Nothing => {}
                    Look::PassesOver => deliveries[index] = Delivery::PassedOver,
                    Look::DeadLetters => deliveries[index] = walk.dead(&deliveries[index]),
                    Look::Claims { attempt } => {
                        let sequence = records[index].sequence;
                        let claim = claims.next();
                        let Some(claim) = claim.filter(|it| it.sequence == sequence && it.attempt == attempt) else {
                            return Err(format!(
                                "fetch gave {claim:?} of partition {number}; next there is sequence {sequence} at \
                                 attempt {attempt}"
                            ));
                        };
                        deliveries[index] = Delivery::Leased {
                            attempt,
                            lease_id: claim.lease_id,
                            receipt: claim.receipt.clone(),
                            expires_at: claim.expires_at,
                        };
                    }
                }
                index += 1;
            }
            if let Some(claim) = claims.next() {
                return Err(format!("fetch gave {claim:?}, which was not to be had"));
            }
            if scope.len() > 1 {
                look_further(walk, &records[index..], &mut deliveries[index..], |sequence| listed(number, sequence));
            }
        }
        group.check_fairness(asked.map(|_| scope.as_slice()), &counts, claims)
    }
}

impl Group {
    /// Takes note of a fetch. Fair is: a partition that has work is served at the latest after as many fetches over the
    /// same partitions as there are of them.
    fn check_fairness(
        &mut self,
        covered: Option<&[u32]>,
        claimable: &BTreeMap<u32, usize>,
        claims: &[Claim],
    ) -> Result<(), String> {
        let served = |partition| claims.iter().any(|claim| claim.partition == partition);
        for (&partition, &count) in claimable {
            if count == 0 || served(partition) {
                for fetches in self.passed_by.values_mut() {
                    fetches.remove(&partition);
                }
                continue;
            }
            let fetches = self.passed_by.entry(covered.map(<[u32]>::to_vec)).or_default().entry(partition).or_default();
            *fetches += 1;
            if *fetches >= claimable.len() {
                return Err(format!(
                    "partition {partition} has work and was passed by in {fetches} fetches over {covered:?} since it \
                     was last served: {claimable:?} were claimable, {claims:?} were given"
                ));
            }
        }
        Ok(())
    }
}

/// A fetch over several partitions that reached its limit may have looked further in each of them than its last claim
/// there, up to the next claim: what it passed over on that way does not show, what it dead-lettered does.
fn look_further<'a>(
    mut walk: Walk<'a>,
    records: &'a [Record],
    deliveries: &mut [Delivery],
    listed: impl Fn(u64) -> bool,
) {
    let mut perhaps = Vec::new();
    for (index, record) in records.iter().enumerate() {
        match walk.look(record, &deliveries[index]) {
            Look::Nothing => {}
            Look::PassesOver => perhaps.push(index),
            Look::DeadLetters if listed(record.sequence) => {
                deliveries[index] = walk.dead(&deliveries[index]);
                perhaps.drain(..).for_each(|passed| deliveries[passed] = Delivery::PassedOver);
            }
            Look::DeadLetters | Look::Claims { .. } => break,
        }
    }
    for index in perhaps {
        if deliveries[index] == Delivery::NotOffered {
            deliveries[index] = Delivery::PerhapsPassedOver;
        }
    }
}
