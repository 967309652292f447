//! Capabilities
//!
//! What an instance's backend guarantees, and by which mechanisms: two mappings of names to booleans. They can be
//! asked by name and walked by position.

use super::boundary::{call, free, output, shared, text, view};
use super::error::rheo_error;
use super::values::{rheo_bytes, rheo_status};
use crate::handle::{invalid, shown};
use rheo_core::{Capabilities, GUARANTEES, MECHANISMS};
use std::ffi::c_char;

/// What a backend guarantees and how. Never changes; any thread may read it, several at once.
pub struct rheo_capabilities(pub(super) Capabilities);

/// How many guarantees there are; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_capabilities_guarantees_len(capabilities: *const rheo_capabilities) -> usize {
    view(capabilities, |_| GUARANTEES.len())
}

/// The name of the guarantee at a position from 0; `data` is NULL beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_capabilities_guarantee_name(
    capabilities: *const rheo_capabilities,
    index: usize,
) -> rheo_bytes {
    view(capabilities, |_| GUARANTEES.get(index).copied().into())
}

/// Writes whether a guarantee is given: `durable`, `distributed`, `at_least_once`, `lease_fencing`, `partitions`,
/// `contiguous_frontier`, `replay`, `ordered_range_scan`, `secondary_indexes`, `batch_writes`, `multi_process`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_capabilities_guarantee(
    capabilities: *const rheo_capabilities,
    name: *const c_char,
    name_len: usize,
    out: *mut bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let out = output("out", out, false)?;
        let (capabilities, name) = (shared("capabilities", capabilities)?, text("name", name, name_len)?);
        *out = capabilities
            .0
            .guarantee(name)
            .ok_or_else(|| invalid(format!("there is no guarantee {:?}", shown(name))))?;
        Ok(())
    })
}

/// How many mechanisms there are; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_capabilities_mechanisms_len(capabilities: *const rheo_capabilities) -> usize {
    view(capabilities, |_| MECHANISMS.len())
}

/// The name of the mechanism at a position from 0; `data` is NULL beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_capabilities_mechanism_name(
    capabilities: *const rheo_capabilities,
    index: usize,
) -> rheo_bytes {
    view(capabilities, |_| MECHANISMS.get(index).copied().into())
}

/// Writes whether a mechanism is used: `atomic_compare_and_set`, `notifications`, `change_feed`,
/// `native_consumer_groups`, `native_pending_list`, `native_reclaim`, `blocking_reads`, `native_group_lag`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_capabilities_mechanism(
    capabilities: *const rheo_capabilities,
    name: *const c_char,
    name_len: usize,
    out: *mut bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let out = output("out", out, false)?;
        let (capabilities, name) = (shared("capabilities", capabilities)?, text("name", name, name_len)?);
        *out = capabilities
            .0
            .mechanism(name)
            .ok_or_else(|| invalid(format!("there is no mechanism {:?}", shown(name))))?;
        Ok(())
    })
}

/// Frees capabilities; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_capabilities_free(capabilities: *mut rheo_capabilities) {
    free(capabilities);
}
