//! Lag
//!
//! How far a group is behind: exact at the moment it was taken.

use super::boundary::{call, free, output, shared, view};
use super::error::rheo_error;
use super::values::{rheo_bytes, rheo_partition_lag, rheo_status};
use crate::handle::invalid;
use rheo_core::Lag;

/// A group's progress. Never changes; any thread may read it, several at once.
pub struct rheo_lag {
    lag: Lag,
    partitions: Vec<rheo_partition_lag>,
}

impl rheo_lag {
    pub(super) fn new(lag: Lag) -> rheo_lag {
        let partitions = lag.partitions.iter().map(|(&partition, progress)| rheo_partition_lag {
            frontier: progress.frontier,
            high_watermark: progress.high_watermark,
            lag: progress.lag(),
            partition,
        });
        rheo_lag { partitions: partitions.collect(), lag }
    }
}

/// The stream's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lag_stream(lag: *const rheo_lag) -> rheo_bytes {
    view(lag, |lag| lag.lag.stream.as_str().into())
}

/// The group's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lag_group(lag: *const rheo_lag) -> rheo_bytes {
    view(lag, |lag| lag.lag.group.as_str().into())
}

/// The group's lag: the sum over the partitions that were asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lag_total(lag: *const rheo_lag) -> u64 {
    view(lag, |lag| lag.lag.lag())
}

/// How many partitions were asked for; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lag_len(lag: *const rheo_lag) -> usize {
    view(lag, |lag| lag.partitions.len())
}

/// Writes the progress in the partition at a position from 0; partitions ascend.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lag_get(
    lag: *const rheo_lag,
    index: usize,
    out: *mut rheo_partition_lag,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let out = output("out", out, rheo_partition_lag::default())?;
        let partitions = &shared("lag", lag)?.partitions;
        *out = *partitions
            .get(index)
            .ok_or_else(|| invalid(format!("index is {index}; there are {} partitions", partitions.len())))?;
        Ok(())
    })
}

/// Frees a lag that a function wrote out; NULL is fine. One that is part of a group's info belongs to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_lag_free(lag: *mut rheo_lag) {
    free(lag);
}
