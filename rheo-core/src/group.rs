//! A group's options, where it starts, and what there is to know of it.

use crate::error::{Error, Result};
use crate::lag::Lag;
use crate::timestamp::Timestamp;
use std::collections::BTreeMap;

/// Whether a group keeps the order of events that share a key (contract 4.13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ordering {
    /// Deliveries of one key may be in flight at the same time.
    #[default]
    None,
    /// While an event of a key is open, no later event of that key in its partition is offered.
    Key,
}

impl Ordering {
    /// `none` or `key`.
    pub const fn name(self) -> &'static str {
        match self {
            Ordering::None => "none",
            Ordering::Key => "key",
        }
    }
}

/// One sequence for all partitions, or one each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sequences {
    /// The same in every partition.
    All(u64),
    /// By partition.
    Map(BTreeMap<u32, u64>),
}

impl From<u64> for Sequences {
    fn from(sequence: u64) -> Sequences {
        Sequences::All(sequence)
    }
}

impl From<BTreeMap<u32, u64>> for Sequences {
    fn from(map: BTreeMap<u32, u64>) -> Sequences {
        Sequences::Map(map)
    }
}

impl Sequences {
    /// The sequence of a partition, if there is one for it.
    pub fn get(&self, partition: u32) -> Option<u64> {
        match self {
            Sequences::All(sequence) => Some(*sequence),
            Sequences::Map(map) => map.get(&partition).copied(),
        }
    }

    /// Checks the partitions of a map against a stream's.
    ///
    /// # Errors
    /// `invalid_partition`.
    pub fn check(&self, stream: &str, partition_count: u32) -> Result<()> {
        match self {
            Sequences::Map(map) => check_partitions(stream, map.keys().copied(), partition_count),
            Sequences::All(_) => Ok(()),
        }
    }
}

/// Checks partitions against a stream's.
///
/// # Errors
/// `invalid_partition` names the first one out of range.
pub fn check_partitions(stream: &str, partitions: impl IntoIterator<Item = u32>, partition_count: u32) -> Result<()> {
    match partitions.into_iter().find(|partition| *partition >= partition_count) {
        Some(partition) => Err(Error::invalid_partition(stream, partition, partition_count)),
        None => Ok(()),
    }
}

/// Where a group begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartOptions {
    /// Begin after this sequence (exclusive); beyond the high watermark counts as the high watermark.
    pub start_after: Option<Sequences>,
    /// Begin with the lowest sequence whose timestamp is at or after this; at the end when there is none.
    pub start_at: Option<Timestamp>,
    /// Apply the start to these partitions only; all when missing.
    pub partitions: Option<Vec<u32>>,
}

/// Where a group begins, once the form is checked. Resolved by the backend, per partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartPosition {
    /// With the first kept event.
    #[default]
    Beginning,
    /// After a sequence.
    After(Sequences),
    /// With the lowest sequence whose timestamp is at or after this.
    At(Timestamp),
}

/// A start with its scope, as a backend gets it. `partitions` is sorted and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Where.
    pub position: StartPosition,
    /// In which partitions; all when missing.
    pub partitions: Option<Vec<u32>>,
}

impl StartOptions {
    pub(crate) fn check(&self) -> Result<Start> {
        let position = match (&self.start_after, self.start_at) {
            (None, None) => StartPosition::Beginning,
            (Some(sequences), None) => StartPosition::After(sequences.clone()),
            (None, Some(time)) => StartPosition::At(time),
            (Some(_), Some(_)) => {
                return Err(Error::invalid("start_after and start_at are both given; give one of them"));
            }
        };
        Ok(Start { position, partitions: self.partitions.as_deref().map(partition_set) })
    }
}

impl Start {
    /// Checks every partition named against a stream's.
    ///
    /// # Errors
    /// `invalid_partition`.
    pub fn check(&self, stream: &str, partition_count: u32) -> Result<()> {
        if let StartPosition::After(sequences) = &self.position {
            sequences.check(stream, partition_count)?;
        }
        check_partitions(stream, self.partitions.iter().flatten().copied(), partition_count)
    }

    /// Whether the scope holds this partition and the position says something of it.
    pub fn covers(&self, partition: u32) -> bool {
        let named = match &self.position {
            StartPosition::After(sequences) => sequences.get(partition).is_some(),
            StartPosition::Beginning | StartPosition::At(_) => true,
        };
        named && self.partitions.as_ref().is_none_or(|set| set.binary_search(&partition).is_ok())
    }
}

/// Sorted and without duplicates: how `partitions` reaches a backend.
pub(crate) fn partition_set(partitions: &[u32]) -> Vec<u32> {
    let mut set = partitions.to_vec();
    set.sort_unstable();
    set.dedup();
    set
}

/// How a group is created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupOptions {
    /// A retry at this attempt dead-letters, at least 1; the instance's `default_max_attempts` when missing.
    pub max_attempts: Option<u32>,
    /// A delivery leased this often is dead-lettered instead of being offered again; 0: unlimited.
    pub max_deliveries: u32,
    /// Whether the order per key is kept.
    pub ordering: Ordering,
    /// Where the group begins.
    pub start: StartOptions,
}

/// A group's standing options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// A retry at this attempt dead-letters.
    pub max_attempts: u32,
    /// A delivery leased this often is dead-lettered instead of being offered again; 0: unlimited.
    pub max_deliveries: u32,
    /// Whether the order per key is kept.
    pub ordering: Ordering,
}

/// What `update_group` changes; what is missing stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUpdate {
    /// At least 1.
    pub max_attempts: Option<u32>,
    /// 0: unlimited.
    pub max_deliveries: Option<u32>,
}

pub(crate) fn check_max_attempts(what: &str, max_attempts: Option<u32>) -> Result<()> {
    match max_attempts {
        Some(0) => Err(Error::invalid(format!("{what} is 0; it takes at least 1"))),
        _ => Ok(()),
    }
}

/// What there is to know of a group, exact at the moment it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    /// Frontier, high watermark and lag.
    pub lag: Lag,
    /// Leases that have not expired.
    pub inflight_count: u64,
    /// Deliveries that are open and claimable now.
    pub available_count: u64,
    /// Deliveries that are open and whose retry is not due yet.
    pub delayed_count: u64,
    /// Dead letters.
    pub dead_letter_count: u64,
    /// The oldest timestamp among the events right after each partition's frontier; nothing at lag 0.
    pub oldest_unsettled_at: Option<Timestamp>,
    /// The group's options.
    pub settings: GroupSettings,
}
