//! Instance
//!
//! One opened backend. Every operation is here, with streams and groups by name; `rheo_stream` and `rheo_group` are
//! handles that have resolved the names once: the same operations without the names, and faster. Settling is a
//! section of its own.
//!
//! Names of streams and groups have 1 to 255 bytes and no control characters. A missing stream gives
//! `RHEO_ERROR_STREAM_NOT_FOUND` before anything is said of a group.

use super::append_options::rheo_append_options;
use super::batch::{given, item, rheo_batch};
use super::boundary::{
    boxed, call, create, exclusive, find, free, optional_output, output, partitions as set_of, shared, text, texts,
    view,
};
use super::capabilities::rheo_capabilities;
use super::dead_letter::rheo_dead_letter_list;
use super::dead_letter_options::rheo_dead_letter_options;
use super::error::rheo_error;
use super::event::{rheo_event, rheo_event_iterator, rheo_event_list};
use super::fetch_options::rheo_fetch_options;
use super::group::rheo_group;
use super::group_info::rheo_group_info;
use super::group_options::rheo_group_options;
use super::lag::rheo_lag;
use super::lease::rheo_lease_list;
use super::name_list::rheo_name_list;
use super::options::rheo_options;
use super::query::rheo_query;
use super::replay_options::rheo_replay_options;
use super::reset_options::rheo_reset_options;
use super::stream::rheo_stream;
use super::stream_info::rheo_stream_info;
use super::stream_options::rheo_stream_options;
use super::trim_options::rheo_trim_options;
use super::update_options::rheo_update_options;
use super::values::{rheo_bytes, rheo_encoding, rheo_position, rheo_status};
use crate::handle::number;
use rheo_core::{
    DeadLetterOptions, Discard, Event, FetchOptions, GroupOptions, GroupUpdate, Instance, OpenOptions, Page, Query,
    ReadOptions, ReplayOptions, ResetOptions, Result, StreamOptions, TrimOptions,
};
use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::ptr;

/// One opened backend. Any thread, any number at once. Several handles may be of the same instance; what is bound to
/// it keeps it open. Freeing the last of all these closes it.
pub struct rheo_instance(pub(super) Instance);

/// Opens an instance and writes its handle, the caller's to free.
///
/// `url` is `memory:`; other schemes come with other builds. `options`: NULL for the defaults.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a malformed URL and an option out of range; `RHEO_ERROR_UNSUPPORTED`
/// for a scheme that this build lacks; `RHEO_ERROR_ALREADY_EXISTS` when an instance of that name is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_open(
    url: *const c_char,
    url_len: usize,
    options: *const rheo_options,
    out: *mut *mut rheo_instance,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let options = options.as_ref().map_or_else(OpenOptions::new, |options| options.0.clone());
        Ok(rheo_instance(rheo_core::open(text("url", url, url_len)?, options)?))
    })
}

/// Writes a handle of the open instance with this name, the caller's to free; NULL with `RHEO_OK` when there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_get(
    name: *const c_char,
    name_len: usize,
    out: *mut *mut rheo_instance,
    error: *mut *mut rheo_error,
) -> rheo_status {
    find(out, error, || Ok(rheo_core::get(text("name", name, name_len)?).map(rheo_instance)))
}

/// Writes another handle of the same instance, the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_clone(
    instance: *const rheo_instance,
    out: *mut *mut rheo_instance,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_instance(shared("instance", instance)?.0.clone())))
}

/// The name it was opened with; `data` is NULL when it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_name(instance: *const rheo_instance) -> rheo_bytes {
    view(instance, |instance| instance.0.name().into())
}

/// Flushes and closes, for every handle of the instance. Every later call gives `RHEO_ERROR_CLOSED`, and threads that
/// wait return promptly with it. Closing again is fine. The handle is still to be freed.
///
/// Statuses: `RHEO_ERROR_FAILED` or `RHEO_ERROR_AMBIGUOUS` when flushing did; the instance is closed all the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_close(
    instance: *const rheo_instance,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("instance", instance)?.0.close())
}

/// Whether it was closed; false for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_is_closed(instance: *const rheo_instance) -> bool {
    view(instance, |instance| instance.0.is_closed())
}

/// Frees a handle; NULL is fine. When nothing else holds the instance, it is closed; `rheo_instance_close` would say
/// whether that went well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_free(instance: *mut rheo_instance) {
    free(instance);
}

/// Asks whether the store answers.
///
/// Statuses: `RHEO_ERROR_BACKEND_UNAVAILABLE`, `RHEO_ERROR_TIMEOUT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_ping(
    instance: *const rheo_instance,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("instance", instance)?.0.ping())
}

/// Creates what the store needs (schema, indexes). May be called again; there is nothing to do in memory.
///
/// Statuses: `RHEO_ERROR_BACKEND_UNAVAILABLE`, `RHEO_ERROR_FAILED`, `RHEO_ERROR_VERSION_MISMATCH`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_ensure_indexes(
    instance: *const rheo_instance,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("instance", instance)?.0.ensure_indexes())
}

/// Writes what the backend guarantees and how, the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_capabilities(
    instance: *const rheo_instance,
    out: *mut *mut rheo_capabilities,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_capabilities(shared("instance", instance)?.0.capabilities())))
}

/// Writes the time by which this instance is judged, in microseconds since the Unix epoch.
///
/// Statuses: `RHEO_ERROR_BACKEND_UNAVAILABLE`, `RHEO_ERROR_TIMEOUT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_now(
    instance: *const rheo_instance,
    now: *mut i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let now = output("now", now, 0)?;
        *now = shared("instance", instance)?.0.now()?.as_micros();
        Ok(())
    })
}

/// Moves the manual clock by so many milliseconds (0 to ten years), wakes every waiter, and writes the new time in
/// microseconds since the Unix epoch (`now` may be NULL).
///
/// Statuses: `RHEO_ERROR_UNSUPPORTED` unless the instance was opened with a manual clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_advance_clock(
    instance: *const rheo_instance,
    ms: i64,
    now: *mut i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let now = optional_output(now, 0);
        let moved = shared("instance", instance)?.0.advance_clock(number("ms", ms)?)?;
        if let Some(now) = now {
            *now = moved.as_micros();
        }
        Ok(())
    })
}

/// Writes a handle of a stream, its name resolved once; the caller's to free. Whether the stream exists shows at the
/// first use. When the stream is deleted and created anew, the handle goes on with the new one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_stream(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    out: *mut *mut rheo_stream,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let instance = &shared("instance", instance)?.0;
        Ok(rheo_stream::new(instance.stream(text("stream", stream, stream_len)?)?, instance.clone()))
    })
}

/// Writes a handle of a group, its names resolved once; the caller's to free. Whether the group exists shows at the
/// first use. When the group is deleted and created anew, the handle goes on with the new one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_group(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    out: *mut *mut rheo_group,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let instance = &shared("instance", instance)?.0;
        let bound = instance.group(text("stream", stream, stream_len)?, text("group", group, group_len)?)?;
        Ok(rheo_group::new(bound, instance.clone()))
    })
}

/// Creates a stream. `options`: NULL for one partition.
///
/// Statuses: `RHEO_ERROR_ALREADY_EXISTS`, `RHEO_ERROR_INVALID_PARTITION_COUNT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_create_stream(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    options: *const rheo_stream_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let options = options.as_ref().map_or_else(StreamOptions::default, |options| options.0);
        shared("instance", instance)?.0.create_stream(text("stream", stream, stream_len)?, options)
    })
}

/// Deletes a stream with its events and groups. Holders of its leases, and threads that wait for it, then get
/// `RHEO_ERROR_STREAM_NOT_FOUND`. `confirm` says that this is meant.
///
/// Statuses: `RHEO_ERROR_CONFIRM_REQUIRED` unless `confirm`; `RHEO_ERROR_STREAM_NOT_FOUND`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_delete_stream(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    confirm: bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("instance", instance)?.0.delete_stream(text("stream", stream, stream_len)?, confirm))
}

/// Writes what there is to know of a stream, the caller's to free. Looks at every group's progress.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_stream_info(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    out: *mut *mut rheo_stream_info,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let info = shared("instance", instance)?.0.stream_info(text("stream", stream, stream_len)?)?;
        Ok(rheo_stream_info(info))
    })
}

/// Writes the names of the streams, sorted by code point; the caller's to free.
///
/// Statuses: `RHEO_ERROR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_list_streams(
    instance: *const rheo_instance,
    out: *mut *mut rheo_name_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_name_list(shared("instance", instance)?.0.list_streams()?)))
}

/// Creates a group. `options`: NULL for a group that starts at the beginning, with the instance's defaults.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_ALREADY_EXISTS`, `RHEO_ERROR_INVALID_PARTITION`;
/// `RHEO_ERROR_INVALID_ARGUMENT` also for both start options at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_create_group(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_group_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let defaults = GroupOptions::default();
        let options = options.as_ref().map_or(&defaults, |options| &options.0);
        let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
        shared("instance", instance)?.0.create_group(stream, group, options)
    })
}

/// Changes a group's limits. `options`: NULL changes nothing. A lowered limit acts at the next fetch that reaches a
/// delivery, so it strands none.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_update_group(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_update_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let update = options.as_ref().map_or_else(GroupUpdate::default, |options| options.0);
        let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
        shared("instance", instance)?.0.update_group(stream, group, &update)
    })
}

/// Deletes a group. Holders of its leases, and threads that wait for it, then get `RHEO_ERROR_GROUP_NOT_FOUND`.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_delete_group(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
        shared("instance", instance)?.0.delete_group(stream, group)
    })
}

/// Writes the names of a stream's groups, sorted by code point; the caller's to free.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_list_groups(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    out: *mut *mut rheo_name_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        Ok(rheo_name_list(shared("instance", instance)?.0.list_groups(text("stream", stream, stream_len)?)?))
    })
}

/// Appends one event. Without `out` nothing is allocated here.
///
/// `payload` is copied: at most the instance's `max_payload_bytes`. `encoding` is `RHEO_ENCODING_...`. `options`:
/// NULL for none. `position` (may be NULL) receives where the event lies. `out` (may be NULL) receives the event, the
/// caller's to free. An id that the stream holds appends nothing; both outputs then tell of the event that stands,
/// marked as deduplicated.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`, `RHEO_ERROR_PAYLOAD_TOO_LARGE`. After
/// `RHEO_ERROR_AMBIGUOUS` an append with an explicit id may be repeated as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_append(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    payload: *const c_void,
    payload_len: usize,
    encoding: rheo_encoding,
    options: *const rheo_append_options,
    position: *mut rheo_position,
    out: *mut *mut rheo_event,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let outputs = Appended::outputs(position, out);
        let item = item(payload, payload_len, encoding, options)?;
        outputs.write(shared("instance", instance)?.0.append(text("stream", stream, stream_len)?, &item)?);
        Ok(())
    })
}

/// Appends the events of a batch, all or nothing: all are checked first. New events get contiguous sequences per
/// partition, in the batch's order; the same id twice is one event. The batch stays as it is.
///
/// `shared_options` (may be NULL) say what an event of the batch leaves open; they take no id. `events` (may be NULL)
/// is filled with the event of each, in order.
///
/// Statuses: as `rheo_instance_append`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_append_batch(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    batch: *const rheo_batch,
    shared_options: *const rheo_append_options,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        fill_if_given(events, || {
            let (instance, batch) = (shared("instance", instance)?, shared("batch", batch)?);
            let stream = text("stream", stream, stream_len)?;
            instance.0.append_batch(stream, batch.0.items(), &given(shared_options))
        })
    })
}

/// Fills `events` with at most `limit` events of a partition after a sequence (0: from the beginning), ascending.
/// Touches no group.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_read(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    partition: u32,
    after: u64,
    limit: i64,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        fill(events, || {
            let options = ReadOptions { after, limit: number("limit", limit)?, partition };
            shared("instance", instance)?.0.read(text("stream", stream, stream_len)?, options)
        })
    })
}

/// Writes the event with this id, the caller's to free; NULL with `RHEO_OK` when the stream does not hold it.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_get_event(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    event_id: *const c_char,
    event_id_len: usize,
    out: *mut *mut rheo_event,
    error: *mut *mut rheo_error,
) -> rheo_status {
    find(out, error, || {
        let (stream, event_id) = (text("stream", stream, stream_len)?, text("event_id", event_id, event_id_len)?);
        Ok(shared("instance", instance)?.0.get(stream, event_id)?.map(rheo_event::own))
    })
}

/// Fills `events` with those that match, in the query's order. `query`: NULL for one that every event matches.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`; `RHEO_ERROR_INVALID_ARGUMENT` for a malformed query.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_query(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    query: *const rheo_query,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        fill(events, || shared("instance", instance)?.0.query(text("stream", stream, stream_len)?, &query_of(query)))
    })
}

/// Fills `events` with one page of those that match, by sequence and then partition, ascending.
/// `rheo_event_list_next_cursor` then gives the cursor of the next page.
///
/// `query`: NULL for one that every event matches. `cursor`: of the page before; NULL with length 0 for the first
/// page. Paging neither skips nor repeats over a static set.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`; `RHEO_ERROR_INVALID_ARGUMENT` for a malformed query or cursor, and for a
/// query with an order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_query_page(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    query: *const rheo_query,
    cursor: *const c_char,
    cursor_len: usize,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        fill_page(events, || {
            let (stream, cursor) = (text("stream", stream, stream_len)?, cursor_of(cursor, cursor_len)?);
            shared("instance", instance)?.0.query_page(stream, &query_of(query), cursor)
        })
    })
}

/// Writes an iterator over all events that match, by sequence and then partition, ascending; the caller's to free.
/// `query`: NULL for one that every event matches; its limit is how many are looked up at a time.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a malformed query, and for one with an order; a missing stream shows
/// at the first event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_query_stream(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    query: *const rheo_query,
    out: *mut *mut rheo_event_iterator,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let stream = text("stream", stream, stream_len)?;
        let events = shared("instance", instance)?.0.query_stream(stream, &query_of(query))?;
        Ok(rheo_event_iterator::new(events))
    })
}

/// Removes old events and writes how many (`removed` may be NULL). Without `force` nothing is removed that some group
/// has not passed, or lists as a dead letter.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`; `RHEO_ERROR_INVALID_ARGUMENT` unless
/// exactly one way to trim is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_trim(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    options: *const rheo_trim_options,
    removed: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(removed, || {
            let defaults = TrimOptions::default();
            let options = options.as_ref().map_or(&defaults, |options| &options.0);
            shared("instance", instance)?.0.trim(text("stream", stream, stream_len)?, options)
        })
    })
}

/// Claims what can be claimed and fills `leases` with it, emptied first: lowest sequence first within a partition,
/// fair across partitions. Nothing to claim is no error: the list is empty then. With a list that was filled before
/// nothing is allocated here.
///
/// `options`: NULL for the instance's defaults and no waiting. With `wait_ms` the call waits that long for work: an
/// append, a retry that is due, an expiry, a replay, closing, or the options' interrupt ends the wait.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`. They, and
/// `RHEO_ERROR_CLOSED`, also end a wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_fetch(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_fetch_options,
    leases: *mut rheo_lease_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        exclusive("leases", leases)?.fill(|leases| {
            let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
            shared("instance", instance)?.0.fetch_into(stream, group, &fetch_options(options), leases)
        })
    })
}

/// Writes a group's frontier, high watermark and lag, the caller's to free. `partitions`: only these, a set; NULL
/// with length 0: all. Walks no events.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_lag(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    partitions: *const u32,
    partitions_len: usize,
    out: *mut *mut rheo_lag,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
        let lag = shared("instance", instance)?.0.lag(stream, group, set_of(partitions, partitions_len)?)?;
        Ok(rheo_lag::new(lag))
    })
}

/// Writes what there is to know of a group, the caller's to free. `partitions`: only these, a set; NULL with length
/// 0: all. Walks no events.
///
/// Statuses: as `rheo_instance_lag`; `RHEO_ERROR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_group_info(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    partitions: *const u32,
    partitions_len: usize,
    out: *mut *mut rheo_group_info,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
        let info = shared("instance", instance)?.0.group_info(stream, group, set_of(partitions, partitions_len)?)?;
        Ok(rheo_group_info::new(info))
    })
}

/// Writes a group's dead letters, ordered by partition and sequence; the caller's to free. `options`: NULL for the
/// first 100.
///
/// Statuses: as `rheo_instance_lag`; `RHEO_ERROR_CURSOR_NOT_FOUND` when no dead letter has the id to go on after;
/// `RHEO_ERROR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_dead_letters(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_dead_letter_options,
    out: *mut *mut rheo_dead_letter_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        let defaults = DeadLetterOptions::default();
        let options = options.as_ref().map_or(&defaults, |options| &options.0);
        let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
        Ok(rheo_dead_letter_list::new(shared("instance", instance)?.0.dead_letters(stream, group, options)?))
    })
}

/// Forgets the dead letters of these events for good, and writes how many (`discarded` may be NULL). `event_ids`: at
/// most 10,000; those that are not in the list are passed over.
///
/// Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_discard_dead_letters(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    event_ids: *const rheo_bytes,
    event_ids_len: usize,
    discarded: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(discarded, || {
            let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
            let event_ids: Vec<&str> = texts("event_ids", event_ids, event_ids_len)?.collect::<Result<_>>()?;
            shared("instance", instance)?.0.discard_dead_letters(stream, group, Discard::EventIds(&event_ids))
        })
    })
}

/// Forgets all dead letters of a group for good, and writes how many (`discarded` may be NULL).
///
/// Statuses: as `rheo_instance_discard_dead_letters`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_discard_all_dead_letters(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    discarded: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(discarded, || {
            let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
            shared("instance", instance)?.0.discard_dead_letters(stream, group, Discard::All)
        })
    })
}

/// Makes deliveries available again, their attempts starting over, and writes how many (`replayed` may be NULL). A
/// delivery that is leased at that moment is fenced off its holder; dead letters that are replayed leave the list.
///
/// Statuses: `RHEO_ERROR_INVALID_REPLAY_OPTS` unless exactly one way is set; `RHEO_ERROR_STREAM_NOT_FOUND`,
/// `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_replay(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_replay_options,
    replayed: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(replayed, || {
            let defaults = ReplayOptions::default();
            let options = options.as_ref().map_or(&defaults, |options| &options.0);
            let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
            shared("instance", instance)?.0.replay(stream, group, options)
        })
    })
}

/// Clears a group's deliveries and dead letters, fences all its leases, and moves it to a new start.
///
/// Statuses: `RHEO_ERROR_CONFIRM_REQUIRED` unless the options confirm; `RHEO_ERROR_STREAM_NOT_FOUND`,
/// `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`; `RHEO_ERROR_INVALID_ARGUMENT` also for both start
/// options at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_instance_reset_group(
    instance: *const rheo_instance,
    stream: *const c_char,
    stream_len: usize,
    group: *const c_char,
    group_len: usize,
    options: *const rheo_reset_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let defaults = ResetOptions::default();
        let options = options.as_ref().map_or(&defaults, |options| &options.0);
        let (stream, group) = (text("stream", stream, stream_len)?, text("group", group, group_len)?);
        shared("instance", instance)?.0.reset_group(stream, group, options)
    })
}

/// Where an append writes to.
pub(super) struct Appended<'a> {
    position: Option<&'a mut rheo_position>,
    event: Option<&'a mut *mut rheo_event>,
}

impl Appended<'_> {
    #[inline]
    pub(super) unsafe fn outputs<'a>(position: *mut rheo_position, event: *mut *mut rheo_event) -> Appended<'a> {
        Appended {
            position: optional_output(position, rheo_position::default()),
            event: optional_output(event, ptr::null_mut()),
        }
    }

    #[inline]
    pub(super) fn write(self, event: Event) {
        if let Some(position) = self.position {
            *position = rheo_position {
                sequence: event.sequence(),
                partition: event.partition(),
                deduplicated: event.deduplicated(),
            };
        }
        if let Some(out) = self.event {
            *out = boxed(rheo_event::own(event));
        }
    }
}

/// Fills a list with what `find` gives, or empties it when that fails. It is looked up before the list changes, so
/// that the cursor of a page may be the list's own.
pub(super) unsafe fn fill_page(events: *mut rheo_event_list, find: impl FnOnce() -> Result<Page>) -> Result<()> {
    let events = exclusive("events", events)?;
    let found = find();
    events.clear();
    let page = found?;
    events.fill(page.events, page.next_cursor);
    Ok(())
}

/// The same where there are no pages.
pub(super) unsafe fn fill(events: *mut rheo_event_list, find: impl FnOnce() -> Result<Vec<Event>>) -> Result<()> {
    fill_page(events, || Ok(Page { events: find()?, next_cursor: None }))
}

/// The same for a list that may be NULL.
pub(super) unsafe fn fill_if_given(
    events: *mut rheo_event_list,
    find: impl FnOnce() -> Result<Vec<Event>>,
) -> Result<()> {
    if events.is_null() { find().map(drop) } else { fill(events, find) }
}

/// Writes what an operation counted, if anybody wants to know.
pub(super) unsafe fn count(out: *mut u64, operation: impl FnOnce() -> Result<u64>) -> Result<()> {
    let out = optional_output(out, 0);
    let counted = operation()?;
    if let Some(out) = out {
        *out = counted;
    }
    Ok(())
}

/// NULL is the query that every event matches.
pub(super) unsafe fn query_of<'a>(query: *const rheo_query) -> Cow<'a, Query> {
    query.as_ref().map_or_else(|| Cow::Owned(Query::new()), |query| Cow::Borrowed(&query.0))
}

/// NULL with length 0 is the first page.
pub(super) unsafe fn cursor_of<'a>(cursor: *const c_char, len: usize) -> Result<Option<&'a str>> {
    if cursor.is_null() && len == 0 {
        return Ok(None);
    }
    text("cursor", cursor, len).map(Some)
}

/// NULL is the defaults.
#[inline]
pub(super) unsafe fn fetch_options<'a>(options: *const rheo_fetch_options) -> FetchOptions<'a> {
    options.as_ref().map_or_else(FetchOptions::new, |options| options.0.as_options())
}
