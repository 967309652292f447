//! Event
//!
//! One immutable record of a partition, lists of them, and an iterator. An event refers to the store's bytes and
//! copies none; one that is held keeps the memory around it alive, usually at most 1 MiB.

use super::boundary::{call, create, exclusive, free, inner, output, shared, view};
use super::error::rheo_error;
use super::values::{RHEO_ENCODING_BYTES, RHEO_ENCODING_JSON, rheo_bytes, rheo_encoding, rheo_status};
use rheo_core::{Encoding, Event, EventStream};
use std::borrow::Borrow;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

/// One event. Never changes; any thread may read it, several at once. Views that it gives live as long as it does.
pub struct rheo_event {
    event: Held<Event>,
    /// A generated id is kept as 16 bytes; its text is made when it is asked for.
    id: OnceLock<Box<str>>,
}

/// A value that a handle owns, in `O`, or that the handle around it owns.
pub(super) enum Held<T, O = T> {
    Own(O),
    /// Valid as long as the handle that gave it is neither filled again nor freed, which is what its user was told.
    Borrowed(NonNull<T>),
}

impl<T, O: Borrow<T>> Held<T, O> {
    #[inline]
    pub(super) fn get(&self) -> &T {
        match self {
            Held::Own(value) => value.borrow(),
            // SAFETY: see `Borrowed`.
            Held::Borrowed(value) => unsafe { value.as_ref() },
        }
    }
}

impl rheo_event {
    pub(super) fn own(event: Event) -> rheo_event {
        rheo_event { event: Held::Own(event), id: OnceLock::new() }
    }

    /// An event that is part of what the handle around it owns.
    #[inline]
    pub(super) fn borrowed(event: &Event) -> rheo_event {
        rheo_event { event: Held::Borrowed(NonNull::from(event)), id: OnceLock::new() }
    }

    pub(super) fn get(&self) -> &Event {
        self.event.get()
    }

    fn id(&self) -> &str {
        self.id.get_or_init(|| self.get().id().as_str().into())
    }
}

/// The id: the one given at append, or a generated UUIDv7.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_id(event: *const rheo_event) -> rheo_bytes {
    view(event, |event| event.id().into())
}

/// The stream's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_stream(event: *const rheo_event) -> rheo_bytes {
    view(event, |event| event.get().stream().into())
}

/// The partition, from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_partition(event: *const rheo_event) -> u32 {
    view(event, |event| event.get().partition())
}

/// The position in the partition, from 1, without gaps. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_sequence(event: *const rheo_event) -> u64 {
    view(event, |event| event.get().sequence())
}

/// When it happened, in microseconds since the Unix epoch. Timestamps need not ascend.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_timestamp(event: *const rheo_event) -> i64 {
    view(event, |event| event.get().timestamp().as_micros())
}

/// The key; `data` is NULL when it was given none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_key(event: *const rheo_event) -> rheo_bytes {
    view(event, |event| event.get().key().into())
}

/// The type; `data` is NULL when it was given none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_type(event: *const rheo_event) -> rheo_bytes {
    view(event, |event| event.get().event_type().into())
}

/// The metadata: the text of a JSON object, `{}` when it was given none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_metadata(event: *const rheo_event) -> rheo_bytes {
    view(event, |event| event.get().metadata().into())
}

/// The payload, byte for byte as it was appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_payload(event: *const rheo_event) -> rheo_bytes {
    view(event, |event| event.get().payload().into())
}

/// How the producer tagged the payload: `RHEO_ENCODING_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_encoding(event: *const rheo_event) -> rheo_encoding {
    view(event, |event| match event.get().encoding() {
        Encoding::Bytes => RHEO_ENCODING_BYTES,
        Encoding::Json => RHEO_ENCODING_JSON,
    })
}

/// Whether this is what stood already when an append with its id appended nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_deduplicated(event: *const rheo_event) -> bool {
    view(event, |event| event.get().deduplicated())
}

/// Makes a handle of the event that outlives the list, lease or dead letter it is part of. Copies no bytes. The
/// caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_clone(
    event: *const rheo_event,
    out: *mut *mut rheo_event,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_event::own(shared("event", event)?.get().clone())))
}

/// Frees an event that a function wrote out or that was cloned; NULL is fine. One that is part of a list, a lease, a
/// dead letter or an iterator belongs to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_free(event: *mut rheo_event) {
    free(event);
}

/// Events, in order. Filled by reads, queries and batches, each of which replaces what was in it, also when it fails.
/// Filled by one thread while no other uses it; read by any number.
pub struct rheo_event_list {
    events: Vec<rheo_event>,
    next_cursor: Option<String>,
}

impl rheo_event_list {
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.next_cursor = None;
    }

    pub(super) fn fill(&mut self, events: Vec<Event>, next_cursor: Option<String>) {
        self.events.extend(events.into_iter().map(rheo_event::own));
        self.next_cursor = next_cursor;
    }
}

/// Makes an empty list. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_list_new(
    out: *mut *mut rheo_event_list,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_event_list { events: Vec::new(), next_cursor: None }))
}

/// How many events it holds; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_list_len(events: *const rheo_event_list) -> usize {
    view(events, |events| events.events.len())
}

/// The event at a position from 0; NULL beyond the end. It belongs to the list, until that is filled again or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_list_get(events: *const rheo_event_list, index: usize) -> *const rheo_event {
    inner(events, |events| events.events.get(index))
}

/// After a `..._query_page`: the cursor of the next page; `data` is NULL when this was the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_list_next_cursor(events: *const rheo_event_list) -> rheo_bytes {
    view(events, |events| events.next_cursor.as_deref().into())
}

/// Frees a list with its events; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_list_free(events: *mut rheo_event_list) {
    free(events);
}

/// What a `..._query_stream` gives: all events that match, a page at a time as they are asked for. One thread at a
/// time. Keeps the instance open.
pub struct rheo_event_iterator {
    events: EventStream,
    current: Option<rheo_event>,
}

impl rheo_event_iterator {
    pub(super) fn new(events: EventStream) -> rheo_event_iterator {
        rheo_event_iterator { events, current: None }
    }
}

/// Gives the next event; NULL with `RHEO_OK` at the end. It belongs to the iterator, until the next call or free.
///
/// Statuses: as `rheo_instance_query`; an error ends the iteration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_iterator_next(
    iterator: *mut rheo_event_iterator,
    out: *mut *const rheo_event,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        let out = output("out", out, ptr::null())?;
        let iterator = exclusive("iterator", iterator)?;
        iterator.current = None;
        iterator.current = iterator.events.next().transpose()?.map(rheo_event::own);
        *out = iterator.current.as_ref().map_or(ptr::null(), ptr::from_ref);
        Ok(())
    })
}

/// Frees an iterator with the event that it gave last; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_event_iterator_free(iterator: *mut rheo_event_iterator) {
    free(iterator);
}
