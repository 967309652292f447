//! Stream
//!
//! A stream, its name resolved once: the operations of the instance on it, without the name, and faster. Parameters,
//! outputs and statuses are those of the function that each comment names.

use super::append_options::rheo_append_options;
use super::batch::{given, item, rheo_batch};
use super::boundary::{call, create, find, free, inner, shared, text, view};
use super::error::rheo_error;
use super::event::{rheo_event, rheo_event_iterator, rheo_event_list};
use super::instance::{Appended, count, cursor_of, fill, fill_if_given, fill_page, query_of, rheo_instance};
use super::name_list::rheo_name_list;
use super::query::rheo_query;
use super::stream_info::rheo_stream_info;
use super::trim_options::rheo_trim_options;
use super::values::{rheo_bytes, rheo_encoding, rheo_position, rheo_status};
use crate::handle::number;
use rheo_core::{Instance, ReadOptions, Stream, TrimOptions};
use std::ffi::{c_char, c_void};

/// A stream, its name resolved once. Any thread, any number at once. Keeps the instance open.
pub struct rheo_stream {
    stream: Stream,
    instance: rheo_instance,
}

impl rheo_stream {
    pub(super) fn new(stream: Stream, instance: Instance) -> rheo_stream {
        rheo_stream { stream, instance: rheo_instance(instance) }
    }
}

/// The stream's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_name(stream: *const rheo_stream) -> rheo_bytes {
    view(stream, |stream| stream.stream.name().into())
}

/// The instance it belongs to. The handle belongs to the stream's, and lives as long. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_instance(stream: *const rheo_stream) -> *const rheo_instance {
    inner(stream, |stream| Some(&stream.instance))
}

/// What there is to know of it: `rheo_instance_stream_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_get_info(
    stream: *const rheo_stream,
    out: *mut *mut rheo_stream_info,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_stream_info(shared("stream", stream)?.stream.info()?)))
}

/// The names of its groups: `rheo_instance_list_groups`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_list_groups(
    stream: *const rheo_stream,
    out: *mut *mut rheo_name_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_name_list(shared("stream", stream)?.stream.list_groups()?)))
}

/// Deletes it: `rheo_instance_delete_stream`. The handle is still to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_delete(
    stream: *const rheo_stream,
    confirm: bool,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || shared("stream", stream)?.stream.delete(confirm))
}

/// Appends one event: `rheo_instance_append`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_append(
    stream: *const rheo_stream,
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
        outputs.write(shared("stream", stream)?.stream.append(&item)?);
        Ok(())
    })
}

/// Appends a batch: `rheo_instance_append_batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_append_batch(
    stream: *const rheo_stream,
    batch: *const rheo_batch,
    shared_options: *const rheo_append_options,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        fill_if_given(events, || {
            let (stream, batch) = (shared("stream", stream)?, shared("batch", batch)?);
            stream.stream.append_batch(batch.0.items(), &given(shared_options))
        })
    })
}

/// Events of a partition: `rheo_instance_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_read(
    stream: *const rheo_stream,
    partition: u32,
    after: u64,
    limit: i64,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        fill(events, || {
            let options = ReadOptions { after, limit: number("limit", limit)?, partition };
            shared("stream", stream)?.stream.read(options)
        })
    })
}

/// The event with an id: `rheo_instance_get_event`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_get_event(
    stream: *const rheo_stream,
    event_id: *const c_char,
    event_id_len: usize,
    out: *mut *mut rheo_event,
    error: *mut *mut rheo_error,
) -> rheo_status {
    find(out, error, || {
        let event_id = text("event_id", event_id, event_id_len)?;
        Ok(shared("stream", stream)?.stream.get(event_id)?.map(rheo_event::own))
    })
}

/// The events that match: `rheo_instance_query`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_query(
    stream: *const rheo_stream,
    query: *const rheo_query,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || fill(events, || shared("stream", stream)?.stream.query(&query_of(query))))
}

/// One page of the events that match: `rheo_instance_query_page`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_query_page(
    stream: *const rheo_stream,
    query: *const rheo_query,
    cursor: *const c_char,
    cursor_len: usize,
    events: *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        fill_page(events, || {
            let cursor = cursor_of(cursor, cursor_len)?;
            shared("stream", stream)?.stream.query_page(&query_of(query), cursor)
        })
    })
}

/// An iterator over the events that match: `rheo_instance_query_stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_query_stream(
    stream: *const rheo_stream,
    query: *const rheo_query,
    out: *mut *mut rheo_event_iterator,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || {
        Ok(rheo_event_iterator::new(shared("stream", stream)?.stream.query_stream(&query_of(query))?))
    })
}

/// Removes old events: `rheo_instance_trim`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_trim(
    stream: *const rheo_stream,
    options: *const rheo_trim_options,
    removed: *mut u64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        count(removed, || {
            let defaults = TrimOptions::default();
            shared("stream", stream)?.stream.trim(options.as_ref().map_or(&defaults, |options| &options.0))
        })
    })
}

/// Frees a handle; NULL is fine. The stream stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_free(stream: *mut rheo_stream) {
    free(stream);
}
