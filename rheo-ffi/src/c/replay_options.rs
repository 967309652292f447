//! Options of a replay
//!
//! What to replay: exactly one of `from_sequence`, `from`, event ids and a query.

use super::boundary::{change, create, free, partitions as set_of, shared, text};
use super::error::rheo_error;
use super::group_options::set_in;
use super::query::rheo_query;
use super::values::rheo_status;
use crate::handle::Options;
use rheo_core::{ReplayOptions, Sequences, Timestamp};
use std::ffi::c_char;

/// What to replay. One thread at a time.
pub struct rheo_replay_options(pub(super) ReplayOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_new(
    out: *mut *mut rheo_replay_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_replay_options(ReplayOptions::default())))
}

/// Sets one option by name: `from_sequence` (`3` or `{"0": 3, "2": 1}`), `from`, `event_ids` (`["a", "b"]`), `query`
/// (an object of the names that `rheo_query_set` takes), `partitions` (`[0, 2]`).
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_set(
    options: *mut rheo_replay_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Replays everything after this sequence (exclusive), in every partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_set_from_sequence(
    options: *mut rheo_replay_options,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.from_sequence = Some(Sequences::All(sequence));
        Ok(())
    })
}

/// Replays everything after this sequence in one partition; called again for each further partition. The others are
/// left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_set_from_sequence_in(
    options: *mut rheo_replay_options,
    partition: u32,
    sequence: u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        set_in(&mut options.0.from_sequence, partition, sequence);
        Ok(())
    })
}

/// Replays, per partition, everything from the first event on whose timestamp is at or after this time, in
/// microseconds since the Unix epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_set_from(
    options: *mut rheo_replay_options,
    micros: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.from = Some(Timestamp::from_micros(micros));
        Ok(())
    })
}

/// Replays the event with this id too. An id that the stream does not hold reopens nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_add_event_id(
    options: *mut rheo_replay_options,
    event_id: *const c_char,
    event_id_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        let event_id = text("event_id", event_id, event_id_len)?.to_owned();
        options.0.event_ids.get_or_insert_default().push(event_id);
        Ok(())
    })
}

/// Replays the events that match a query, which is copied; without a limit of its own, all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_set_query(
    options: *mut rheo_replay_options,
    query: *const rheo_query,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.query = Some(shared("query", query)?.0.clone());
        Ok(())
    })
}

/// Replays in these partitions only, a set that is copied; NULL with length 0: in all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_set_partitions(
    options: *mut rheo_replay_options,
    partitions: *const u32,
    partitions_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.partitions = set_of(partitions, partitions_len)?.map(<[u32]>::to_vec);
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_replay_options_free(options: *mut rheo_replay_options) {
    free(options);
}
