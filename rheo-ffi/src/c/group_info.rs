//! Group info
//!
//! What there is to know of a group: exact at the moment it was taken, over the partitions that were asked for.

use super::boundary::{free, inner, view, view_optional};
use super::lag::rheo_lag;
use super::values::{RHEO_ORDERING_KEY, RHEO_ORDERING_NONE, rheo_ordering};
use rheo_core::{GroupInfo, Ordering, Timestamp};

/// What there is to know of a group. Never changes; any thread may read it, several at once.
pub struct rheo_group_info {
    info: GroupInfo,
    lag: rheo_lag,
}

impl rheo_group_info {
    pub(super) fn new(info: GroupInfo) -> rheo_group_info {
        rheo_group_info { lag: rheo_lag::new(info.lag.clone()), info }
    }
}

/// Frontier, high watermark and lag. It belongs to the info. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_lag(info: *const rheo_group_info) -> *const rheo_lag {
    inner(info, |info| Some(&info.lag))
}

/// Leases that have not expired.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_inflight_count(info: *const rheo_group_info) -> u64 {
    view(info, |info| info.info.inflight_count)
}

/// Deliveries that are open and can be claimed now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_available_count(info: *const rheo_group_info) -> u64 {
    view(info, |info| info.info.available_count)
}

/// Deliveries that are open and whose retry is not due yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_delayed_count(info: *const rheo_group_info) -> u64 {
    view(info, |info| info.info.delayed_count)
}

/// Dead letters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_dead_letter_count(info: *const rheo_group_info) -> u64 {
    view(info, |info| info.info.dead_letter_count)
}

/// Writes the oldest timestamp among the events right after each partition's frontier, in microseconds since the Unix
/// epoch (NULL allowed), and says whether there is one: there is none at lag 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_oldest_unsettled_at(info: *const rheo_group_info, micros: *mut i64) -> bool {
    view_optional(info, micros, |info| info.info.oldest_unsettled_at.map(Timestamp::as_micros))
}

/// At which attempt a retry dead-letters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_max_attempts(info: *const rheo_group_info) -> u32 {
    view(info, |info| info.info.settings.max_attempts)
}

/// After how many leases a delivery is dead-lettered instead of being offered again; 0: never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_max_deliveries(info: *const rheo_group_info) -> u32 {
    view(info, |info| info.info.settings.max_deliveries)
}

/// Whether the order per key is kept: `RHEO_ORDERING_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_ordering(info: *const rheo_group_info) -> rheo_ordering {
    view(info, |info| match info.info.settings.ordering {
        Ordering::None => RHEO_ORDERING_NONE,
        Ordering::Key => RHEO_ORDERING_KEY,
    })
}

/// Frees an info; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_info_free(info: *mut rheo_group_info) {
    free(info);
}
