//! Stream info
//!
//! What there is to know of a stream, partition by partition.

use super::boundary::{call, free, output, shared, view};
use super::error::rheo_error;
use super::values::{rheo_bytes, rheo_partition_info, rheo_status};
use crate::handle::invalid;
use rheo_core::{PartitionInfo, StreamInfo};

/// What there is to know of a stream. Never changes; any thread may read it, several at once.
pub struct rheo_stream_info(pub(super) StreamInfo);

/// The stream's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_info_stream(info: *const rheo_stream_info) -> rheo_bytes {
    view(info, |info| info.0.stream.as_str().into())
}

/// How many partitions the stream has; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_info_len(info: *const rheo_stream_info) -> usize {
    view(info, |info| info.0.partitions.len())
}

/// Writes what there is to know of the partition at a position from 0, which is its number. What `out` points to
/// belongs to the info.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_info_get(
    info: *const rheo_stream_info,
    index: usize,
    out: *mut rheo_partition_info,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let out = output("out", out, rheo_partition_info::default())?;
        let partitions = &shared("info", info)?.0.partitions;
        let partition = partitions
            .get(index)
            .ok_or_else(|| invalid(format!("index is {index}; there are {} partitions", partitions.len())))?;
        *out = partition_info(partition);
        Ok(())
    })
}

/// Frees an info; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_info_free(info: *mut rheo_stream_info) {
    free(info);
}

fn partition_info(info: &PartitionInfo) -> rheo_partition_info {
    let held_by = info.held_by.as_ref();
    rheo_partition_info {
        first_sequence: info.first_sequence,
        high_watermark: info.high_watermark,
        bytes: info.bytes,
        held_by: held_by.map(|hold| hold.group.as_str()).into(),
        held_sequence: held_by.map_or(0, |hold| hold.sequence),
        partition: info.partition,
        held_dead_letter: held_by.is_some_and(|hold| hold.dead_letter),
    }
}
