//! A stream's options, what there is to know of it, and how it is trimmed.

use crate::error::{Error, ErrorCode, Result};
use crate::group::Sequences;
use crate::limits;
use crate::partition::MAX_PARTITION_COUNT;

/// How a stream is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// 1 to 65,536; 1 by default. It never changes.
    pub partition_count: u32,
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions { partition_count: 1 }
    }
}

impl StreamOptions {
    /// A stream of so many partitions.
    pub const fn partitions(partition_count: u32) -> StreamOptions {
        StreamOptions { partition_count }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.partition_count == 0 || self.partition_count > MAX_PARTITION_COUNT {
            return Err(Error::new(
                ErrorCode::InvalidPartitionCount,
                format!("partition_count is {}; it takes 1 to {MAX_PARTITION_COUNT}", self.partition_count),
            ));
        }
        Ok(())
    }
}

/// What there is to know of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// The stream's name.
    pub stream: String,
    /// Every partition, by number.
    pub partitions: Vec<PartitionInfo>,
}

/// What there is to know of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// The partition's number.
    pub partition: u32,
    /// The first sequence that is kept; high watermark + 1 when none is.
    pub first_sequence: u64,
    /// The last visible sequence; 0 when there never was one.
    pub high_watermark: u64,
    /// Bytes kept: payload, metadata, id, key and type.
    pub bytes: u64,
    /// What holds retention back: the lowest kept event that some group still needs; nothing when none does.
    pub held_by: Option<RetentionHold>,
}

/// What holds retention back in a partition: the lowest event that some group still needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionHold {
    /// The lowest sequence that may not be trimmed.
    pub sequence: u64,
    /// The group that needs it.
    pub group: String,
    /// Whether it is a dead letter of that group; otherwise the group has not passed it.
    pub dead_letter: bool,
}

/// How far to trim: exactly one way (contract 4.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trim {
    /// Remove what lies before this sequence. Partitions that a map leaves out are left alone.
    BeforeSequence(Sequences),
    /// Keep at most so many events per partition.
    MaxLen(u64),
    /// Remove events older than so many milliseconds, up to the first younger one.
    MaxAgeMs(u64),
    /// Keep at most so many bytes per partition, as `stream_info` counts them.
    MaxBytes(u64),
}

/// The ways to say how far to trim, of which exactly one is to be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrimOptions {
    /// See [`Trim::BeforeSequence`].
    pub before_sequence: Option<Sequences>,
    /// See [`Trim::MaxLen`].
    pub max_len: Option<u64>,
    /// See [`Trim::MaxAgeMs`].
    pub max_age_ms: Option<u64>,
    /// See [`Trim::MaxBytes`].
    pub max_bytes: Option<u64>,
    /// Remove also what some group has not passed or lists as a dead letter.
    pub force: bool,
}

impl TrimOptions {
    pub(crate) fn check(&self) -> Result<Trim> {
        match (&self.before_sequence, self.max_len, self.max_age_ms, self.max_bytes) {
            (Some(sequences), None, None, None) => Ok(Trim::BeforeSequence(sequences.clone())),
            (None, Some(max_len), None, None) => Ok(Trim::MaxLen(max_len)),
            (None, None, Some(max_age_ms), None) => {
                limits::check_duration("max_age_ms", max_age_ms, 0)?;
                Ok(Trim::MaxAgeMs(max_age_ms))
            }
            (None, None, None, Some(max_bytes)) => Ok(Trim::MaxBytes(max_bytes)),
            _ => Err(Error::invalid("trim takes exactly one of before_sequence, max_len, max_age_ms and max_bytes")),
        }
    }
}
