//! Options of a stream

use super::boundary::{change, create, free, text};
use super::error::rheo_error;
use super::values::rheo_status;
use crate::handle::{Options, partition_count as in_range};
use rheo_core::StreamOptions;
use std::ffi::c_char;

/// What a stream is created with. One thread at a time.
pub struct rheo_stream_options(pub(super) StreamOptions);

/// Makes options with nothing set. The caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_options_new(
    out: *mut *mut rheo_stream_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    create(out, error, || Ok(rheo_stream_options(StreamOptions::default())))
}

/// Sets one option by name: `partition_count`.
///
/// Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_options_set(
    options: *mut rheo_stream_options,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| options.0.set(text("key", key, key_len)?, text("value", value, value_len)?))
}

/// Sets the number of partitions: 1 to 65,536; 1 when not set. It never changes afterwards. Out of range:
/// `RHEO_ERROR_INVALID_PARTITION_COUNT`, when the stream is created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_options_set_partition_count(
    options: *mut rheo_stream_options,
    partition_count: i64,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(options, error, |options| {
        options.0.partition_count = in_range(partition_count);
        Ok(())
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_stream_options_free(options: *mut rheo_stream_options) {
    free(options);
}
