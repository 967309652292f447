//! Options of an append

use super::boundary::{change, create, free, text};
use super::error::rheo_error;
use super::values::rheo_status;
use crate::handle::{Options, OwnedAppendOptions};
use rheo_core::Timestamp;
use std::ffi::c_char;

/// What may go with a payload. Texts are copied; `rheo_append_options_clear` keeps the memory, so that a loop which
/// sets the options anew for each event allocates nothing. One thread at a time.
pub struct rheo_append_options(pub(super) OwnedAppendOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_new(
    out: *mut *mut rheo_append_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_append_options(OwnedAppendOptions::new())))
}

/// Sets one option by name: `id`, `key`, `type`, `metadata`, `timestamp`, `partition`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
/// `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_set(
    options: *mut rheo_append_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Sets the event's id: 1 to 255 bytes without control characters. An id that the stream holds appends nothing, so an
/// append with an id may be repeated safely. Without one, an id is generated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_set_id(
    options: *mut rheo_append_options,
    id: *const c_char,
    id_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.set_id(text("id", id, id_len)?);
        Ok(())
    })
}

/// Sets the key: 1 to 1,024 bytes. It chooses the partition, unless one is set: the same one in every language, and
/// the one that Kafka's Java client would choose.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_set_key(
    options: *mut rheo_append_options,
    key: *const c_char,
    key_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.set_key(text("key", key, key_len)?);
        Ok(())
    })
}

/// Sets the type: 1 to 255 bytes without control characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_set_type(
    options: *mut rheo_append_options,
    event_type: *const c_char,
    event_type_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.set_type(text("event_type", event_type, event_type_len)?);
        Ok(())
    })
}

/// Sets the metadata: the text of a JSON object, at most 64 KiB. By convention `correlation_id`, `causation_id`,
/// `producer`, `schema` and `schema_version` in it tell the event's lineage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_set_metadata(
    options: *mut rheo_append_options,
    json: *const c_char,
    json_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.set_metadata(text("metadata", json, json_len)?);
        Ok(())
    })
}

/// Sets when it happened, in microseconds since the Unix epoch; the instance's clock when not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_set_timestamp(
    options: *mut rheo_append_options,
    micros: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.timestamp = Some(Timestamp::from_micros(micros));
        Ok(())
    })
}

/// Sets the partition, whatever the key. Without partition and key: partition 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_set_partition(
    options: *mut rheo_append_options,
    partition: u32,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.partition = Some(partition);
        Ok(())
    })
}

/// Back to nothing set. Keeps the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_clear(
    options: *mut rheo_append_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.clear();
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_append_options_free(options: *mut rheo_append_options) {
    free(options);
}
