//! Batch
//!
//! The events of a `..._append_batch`, all or nothing. At most 10,000 events and 64 MiB.

use super::append_options::rheo_append_options;
use super::boundary::{bytes, change, create, free, view};
use super::error::rheo_error;
use super::values::{RHEO_ENCODING_BYTES, RHEO_ENCODING_JSON, rheo_encoding, rheo_status};
use crate::handle::{Batch, invalid};
use rheo_core::{Append, AppendOptions, Encoding, Result};
use std::ffi::c_void;

/// Events to append together, with their bytes. Can be appended more than once, and cleared and filled again without
/// allocating. One thread at a time; several may append the same unchanging batch.
pub struct rheo_batch(pub(super) Batch);

/// Makes an empty batch. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_batch_new(out: *mut *mut rheo_batch, error: *mut *mut rheo_error) -> rheo_status {
    create(out, error, || Ok(rheo_batch(Batch::new())))
}

/// Adds one event; payload and options are copied. `encoding` is `RHEO_ENCODING_...`. `options` is NULL for none.
/// Names and metadata are checked when the batch is appended.
///
/// Statuses: `RHEO_ERROR_PAYLOAD_TOO_LARGE` above 16 MiB; `RHEO_ERROR_INVALID_ARGUMENT` beyond the batch's limits and
/// for an unknown encoding. Nothing is added then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_batch_add(
    batch: *mut rheo_batch,
    payload: *const c_void,
    payload_len: usize,
    encoding: rheo_encoding,
    options: *const rheo_append_options,
    error: *mut *mut rheo_error,
) -> rheo_status {
    change(batch, error, |batch| batch.0.push(&item(payload, payload_len, encoding, options)?))
}

/// Takes all events out. Keeps the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_batch_clear(batch: *mut rheo_batch, error: *mut *mut rheo_error) -> rheo_status {
    change(batch, error, |batch| {
        batch.0.clear();
        Ok(())
    })
}

/// How many events it holds; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_batch_len(batch: *const rheo_batch) -> usize {
    view(batch, |batch| batch.0.items().len())
}

/// Frees a batch; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_batch_free(batch: *mut rheo_batch) {
    free(batch);
}

/// One event to append, from what an append or a batch is given. Inlined, so that it is made where the append reads it:
/// copying it there costs a tenth of an append.
#[inline(always)]
pub(super) unsafe fn item<'a>(
    payload: *const c_void,
    payload_len: usize,
    encoding: rheo_encoding,
    options: *const rheo_append_options,
) -> Result<Append<'a>> {
    let encoding = match encoding {
        RHEO_ENCODING_BYTES => Encoding::Bytes,
        RHEO_ENCODING_JSON => Encoding::Json,
        _ => {
            let message = format!("encoding is {encoding}; it takes RHEO_ENCODING_BYTES or RHEO_ENCODING_JSON");
            return Err(invalid(message));
        }
    };
    Ok(Append { payload: bytes("payload", payload, payload_len)?, encoding, options: given(options) })
}

/// The options of an append; NULL is none.
#[inline(always)]
pub(super) unsafe fn given<'a>(options: *const rheo_append_options) -> AppendOptions<'a> {
    options.as_ref().map_or_else(AppendOptions::default, |options| options.0.as_options())
}
