//! Group
//!
//! A group, its names resolved once: the operations of the instance on it, without the names, and faster. Parameters,
//! outputs and statuses are those of the function that each comment names.

use super::boundary::{call, create, exclusive, free, inner, partitions as set_of, shared, texts, view};
use super::dead_letter::rheo_dead_letter_list;
use super::dead_letter_options::rheo_dead_letter_options;
use super::error::rheo_error;
use super::fetch_options::rheo_fetch_options;
use super::group_info::rheo_group_info;
use super::instance::{count, fetch_options, rheo_instance};
use super::lag::rheo_lag;
use super::lease::rheo_lease_list;
use super::replay_options::rheo_replay_options;
use super::reset_options::rheo_reset_options;
use super::update_options::rheo_update_options;
use super::values::{rheo_bytes, rheo_status};
use rheo_core::{DeadLetterOptions, Discard, Group, GroupUpdate, Instance, ReplayOptions, ResetOptions, Result};

/// A group, its names resolved once. Any thread, any number at once. Keeps the instance open.
pub struct rheo_group {
    pub(super) group: Group,
    instance: rheo_instance,
}

impl rheo_group {
    pub(super) fn new(group: Group, instance: Instance) -> rheo_group {
        rheo_group { group, instance: rheo_instance(instance) }
    }
}

/// The group's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_name(group: *const rheo_group) -> rheo_bytes {
    view(group, |group| group.group.name().into())
}

/// The stream's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_stream_name(group: *const rheo_group) -> rheo_bytes {
    view(group, |group| group.group.stream().into())
}

/// The instance it belongs to. The handle belongs to the group's, and lives as long. NULL for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_instance(group: *const rheo_group) -> *const rheo_instance {
    inner(group, |group| Some(&group.instance))
}

/// Claims what can be claimed: `rheo_instance_fetch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_fetch(
    group: *const rheo_group,
    options: *const rheo_fetch_options,
    leases: *mut rheo_lease_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        exclusive("leases", leases)?
            .fill(|leases| shared("group", group)?.group.fetch_into(&fetch_options(options), leases))
    })
}

/// Frontier, high watermark and lag: `rheo_instance_lag`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_lag(
    group: *const rheo_group,
    partitions: *const u32,
    partitions_len: usize,
    out: *mut *mut rheo_lag,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_lag::new(shared("group", group)?.group.lag(set_of(partitions, partitions_len)?)?)))
}

/// What there is to know of it: `rheo_instance_group_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_get_info(
    group: *const rheo_group,
    partitions: *const u32,
    partitions_len: usize,
    out: *mut *mut rheo_group_info,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        Ok(rheo_group_info::new(shared("group", group)?.group.info(set_of(partitions, partitions_len)?)?))
    })
}

/// Its dead letters: `rheo_instance_dead_letters`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_dead_letters(
    group: *const rheo_group,
    options: *const rheo_dead_letter_options,
    out: *mut *mut rheo_dead_letter_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let defaults = DeadLetterOptions::default();
        let options = options.as_ref().map_or(&defaults, |options| &options.0);
        Ok(rheo_dead_letter_list::new(shared("group", group)?.group.dead_letters(options)?))
    })
}

/// Forgets the dead letters of some events: `rheo_instance_discard_dead_letters`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_discard_dead_letters(
    group: *const rheo_group,
    event_ids: *const rheo_bytes,
    event_ids_len: usize,
    discarded: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(discarded, || {
            let event_ids: Vec<&str> = texts("event_ids", event_ids, event_ids_len)?.collect::<Result<_>>()?;
            shared("group", group)?.group.discard_dead_letters(Discard::EventIds(&event_ids))
        })
    })
}

/// Forgets all its dead letters: `rheo_instance_discard_all_dead_letters`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_discard_all_dead_letters(
    group: *const rheo_group,
    discarded: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || count(discarded, || shared("group", group)?.group.discard_dead_letters(Discard::All)))
}

/// Makes deliveries available again: `rheo_instance_replay`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_replay(
    group: *const rheo_group,
    options: *const rheo_replay_options,
    replayed: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(replayed, || {
            let defaults = ReplayOptions::default();
            shared("group", group)?.group.replay(options.as_ref().map_or(&defaults, |options| &options.0))
        })
    })
}

/// Clears it and moves it to a new start: `rheo_instance_reset_group`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_reset(
    group: *const rheo_group,
    options: *const rheo_reset_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let defaults = ResetOptions::default();
        shared("group", group)?.group.reset(options.as_ref().map_or(&defaults, |options| &options.0))
    })
}

/// Changes its limits: `rheo_instance_update_group`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_update(
    group: *const rheo_group,
    options: *const rheo_update_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let update = options.as_ref().map_or_else(GroupUpdate::default, |options| options.0);
        shared("group", group)?.group.update(&update)
    })
}

/// Deletes it: `rheo_instance_delete_group`. The handle is still to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_delete(group: *const rheo_group, error: *mut *mut rheo_error) -> rheo_status {
    call(error, || shared("group", group)?.group.delete())
}

/// Frees a handle; NULL is fine. The group stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_group_free(group: *mut rheo_group) {
    free(group);
}
