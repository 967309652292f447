//! How far a group is: frontier, high watermark and lag.

use std::collections::BTreeMap;

/// One partition's progress in a group (contract, section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionLag {
    /// The lowest open sequence − 1, or the cursor − 1 when nothing is open.
    pub frontier: u64,
    /// The last visible sequence; 0 when the partition never held an event.
    pub high_watermark: u64,
}

impl PartitionLag {
    /// High watermark − frontier, never below 0.
    pub fn lag(&self) -> u64 {
        self.high_watermark.saturating_sub(self.frontier)
    }
}

/// A group's progress, exact at the moment it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// The stream's name.
    pub stream: String,
    /// The group's name.
    pub group: String,
    /// Every partition asked for.
    pub partitions: BTreeMap<u32, PartitionLag>,
}

impl Lag {
    /// The sum over the partitions.
    pub fn lag(&self) -> u64 {
        self.partitions.values().map(PartitionLag::lag).sum()
    }
}
