//! What is done with a pointer that comes from C: every check of it, and every conversion.

#![deny(unsafe_op_in_unsafe_fn)]

use super::error::rheo_error;
use super::values::{RHEO_OK, rheo_bytes, rheo_status};
use crate::handle::{guard, invalid};
use rheo_core::partition::MAX_PARTITION_COUNT;
use rheo_core::{Error, Result, limits};
use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::{ptr, slice};

/// The longest text that is read, in bytes: enough for a `where` with many values, and few enough that a length which
/// is garbage is refused instead of followed.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// The body of every function with a status: clears `error`, runs the operation, stops panics, and hands the error
/// out.
///
/// # Safety
/// `error` is NULL or points to a pointer that may be written.
#[inline]
pub(super) unsafe fn call(error: *mut *mut rheo_error, operation: impl FnOnce() -> Result<()>) -> rheo_status {
    if !error.is_null() {
        // SAFETY: the caller's; it is not NULL.
        unsafe { error.write(ptr::null_mut()) };
    }
    match guard(operation) {
        Ok(()) => RHEO_OK,
        // SAFETY: the caller's.
        Err(failure) => unsafe { fail(error, failure) },
    }
}

/// # Safety
/// As [`call`].
#[cold]
unsafe fn fail(error: *mut *mut rheo_error, failure: Error) -> rheo_status {
    let status = failure.code().number();
    if !error.is_null() {
        // SAFETY: the caller's; it is not NULL.
        unsafe { error.write(boxed(rheo_error(failure))) };
    }
    status
}

/// The body of every function that writes a new handle: the caller's to free.
///
/// # Safety
/// As [`call`] and [`output`].
#[inline]
pub(super) unsafe fn create<T>(
    out: *mut *mut T,
    error: *mut *mut rheo_error,
    make: impl FnOnce() -> Result<T>,
) -> rheo_status {
    // SAFETY: the caller's.
    unsafe { find(out, error, || make().map(Some)) }
}

/// The same where there may be nothing to write, which is no error.
///
/// # Safety
/// As [`call`] and [`output`].
#[inline]
pub(super) unsafe fn find<T>(
    out: *mut *mut T,
    error: *mut *mut rheo_error,
    find: impl FnOnce() -> Result<Option<T>>,
) -> rheo_status {
    // SAFETY: the caller's.
    unsafe {
        call(error, || {
            let out = output("out", out, ptr::null_mut())?;
            *out = find()?.map_or(ptr::null_mut(), boxed);
            Ok(())
        })
    }
}

/// The body of every function that sets options or fills a builder.
///
/// # Safety
/// As [`call`] and [`exclusive`].
#[inline]
pub(super) unsafe fn change<T>(
    target: *mut T,
    error: *mut *mut rheo_error,
    change: impl FnOnce(&mut T) -> Result<()>,
) -> rheo_status {
    // SAFETY: the caller's.
    unsafe { call(error, || change(exclusive("the handle to change", target)?)) }
}

/// The body of every function that reads something of a handle and has no status: NULL gives nothing.
///
/// # Safety
/// As [`shared`].
#[inline]
pub(super) unsafe fn view<'a, T: 'a, R: Default>(pointer: *const T, read: impl FnOnce(&'a T) -> R) -> R {
    // SAFETY: the caller's.
    let handle = unsafe { pointer.as_ref() };
    guard(|| Ok(handle.map(read).unwrap_or_default())).unwrap_or_default()
}

/// The same for what may not be there: writes it, or the type's default, and says whether it is.
///
/// # Safety
/// As [`shared`] and [`optional_output`].
#[inline]
pub(super) unsafe fn view_optional<'a, T: 'a, R: Copy + Default>(
    pointer: *const T,
    out: *mut R,
    read: impl FnOnce(&'a T) -> Option<R>,
) -> bool {
    // SAFETY: the caller's.
    let (value, out) = unsafe { (view(pointer, read), optional_output(out, R::default())) };
    if let (Some(value), Some(out)) = (value, out) {
        *out = value;
    }
    value.is_some()
}

/// The same for what is looked at through a pointer: NULL gives NULL.
///
/// # Safety
/// As [`shared`].
#[inline]
pub(super) unsafe fn inner<'a, T: 'a, U: 'a>(pointer: *const T, find: impl FnOnce(&'a T) -> Option<&'a U>) -> *const U {
    // SAFETY: the caller's.
    let handle = unsafe { pointer.as_ref() };
    guard(|| Ok(handle.and_then(find).map_or(ptr::null(), ptr::from_ref))).unwrap_or(ptr::null())
}

/// The body of every `_free`.
///
/// # Safety
/// `pointer` is NULL or came from [`boxed`] and is not used again.
pub(super) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // A panic while giving something up has nowhere to go; what it held is lost.
        let _ = guard(|| {
            // SAFETY: the caller's.
            drop(unsafe { Box::from_raw(pointer) });
            Ok(())
        });
    }
}

/// A new handle, to be freed by [`free`].
pub(super) fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// A handle that is only read.
///
/// # Errors
/// `invalid_argument` for NULL; `what` is the parameter's name.
///
/// # Safety
/// `pointer` is NULL or a handle of this type that nobody changes or frees meanwhile.
#[inline]
pub(super) unsafe fn shared<'a, T>(what: &str, pointer: *const T) -> Result<&'a T> {
    // SAFETY: the caller's.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// A handle that is changed.
///
/// # Errors
/// `invalid_argument` for NULL; `what` is the parameter's name.
///
/// # Safety
/// `pointer` is NULL or a handle of this type that nobody else uses meanwhile.
#[inline]
pub(super) unsafe fn exclusive<'a, T>(what: &str, pointer: *mut T) -> Result<&'a mut T> {
    // SAFETY: the caller's.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(what))
}

/// An output that must be given; holds `empty` from now on.
///
/// # Errors
/// `invalid_argument` for NULL; `what` is the parameter's name.
///
/// # Safety
/// `pointer` is NULL or points to a place that may be written and that nobody else uses meanwhile.
#[inline]
pub(super) unsafe fn output<'a, T>(what: &str, pointer: *mut T, empty: T) -> Result<&'a mut T> {
    // SAFETY: the caller's.
    unsafe { optional_output(pointer, empty) }.ok_or_else(|| null(what))
}

/// An output that may be NULL; holds `empty` from now on.
///
/// # Safety
/// As [`output`].
#[inline]
pub(super) unsafe fn optional_output<'a, T>(pointer: *mut T, empty: T) -> Option<&'a mut T> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's; it is not NULL. Written before it is referred to, for C need not have initialised it.
    unsafe {
        pointer.write(empty);
        pointer.as_mut()
    }
}

/// Bytes from pointer and length.
///
/// # Errors
/// `invalid_argument` for NULL with a length, and for a length that no memory has.
///
/// # Safety
/// `pointer` is NULL or points to `len` bytes that nobody changes for `'a`.
#[inline]
pub(super) unsafe fn bytes<'a>(what: &str, pointer: *const c_void, len: usize) -> Result<&'a [u8]> {
    // SAFETY: the caller's.
    unsafe { array(what, pointer.cast(), len, isize::MAX as usize) }
}

/// Text from pointer and length.
///
/// # Errors
/// `invalid_argument` for NULL with a length, for more than 16 MiB, and for what is not UTF-8.
///
/// # Safety
/// As [`bytes`].
#[inline]
pub(super) unsafe fn text<'a>(what: &str, pointer: *const c_char, len: usize) -> Result<&'a str> {
    // SAFETY: the caller's.
    let bytes = unsafe { array(what, pointer.cast(), len, MAX_TEXT_BYTES)? };
    str::from_utf8(bytes).map_err(|error| not_utf8(what, error.valid_up_to()))
}

/// The reason of a settle, which never keeps it from being done: what is not UTF-8 is replaced, NULL is no reason,
/// and no more is read than may be kept.
///
/// # Safety
/// As [`bytes`].
pub(super) unsafe fn kept_reason<'a>(pointer: *const c_char, len: usize) -> Cow<'a, str> {
    // Four bytes more than are kept: a character that is cut off at the end of what is read is not in what is kept.
    let len = len.min(limits::MAX_REASON_BYTES + 4);
    // SAFETY: the caller's; fewer bytes than it says.
    unsafe { bytes("reason", pointer.cast(), len) }.map_or(Cow::Borrowed(""), String::from_utf8_lossy)
}

/// A set of partitions: NULL means all.
///
/// # Errors
/// `invalid_argument` for NULL with a length, and for more entries than a stream may have partitions.
///
/// # Safety
/// As [`array`].
pub(super) unsafe fn partitions<'a>(pointer: *const u32, len: usize) -> Result<Option<&'a [u32]>> {
    if pointer.is_null() && len == 0 {
        return Ok(None);
    }
    // SAFETY: the caller's.
    unsafe { array("partitions", pointer, len, MAX_PARTITION_COUNT as usize) }.map(Some)
}

/// A list of texts, each of which may be bad by itself.
///
/// # Errors
/// `invalid_argument` for NULL with a length, and for more than 10,000 texts; for each text as [`text`].
///
/// # Safety
/// As [`array`], and each text as [`bytes`].
pub(super) unsafe fn texts<'a>(
    what: &'a str,
    pointer: *const rheo_bytes,
    len: usize,
) -> Result<impl Iterator<Item = Result<&'a str>>> {
    // SAFETY: the caller's.
    let array: &'a [rheo_bytes] = unsafe { array(what, pointer, len, limits::MAX_BATCH_ITEMS)? };
    // SAFETY: the caller's.
    Ok(array.iter().map(move |view| unsafe { text(what, view.data.cast(), view.len) }))
}

/// An array from pointer and length.
///
/// # Errors
/// `invalid_argument` for NULL with a length, and above `most` elements; `what` is the parameter's name.
///
/// # Safety
/// `pointer` is NULL or points to `len` elements that nobody changes for `'a`.
#[inline]
pub(super) unsafe fn array<'a, T>(what: &str, pointer: *const T, len: usize, most: usize) -> Result<&'a [T]> {
    if pointer.is_null() {
        return if len == 0 { Ok(&[]) } else { Err(null_with_length(what, len)) };
    }
    if len > most {
        return Err(too_long(what, len, most));
    }
    // SAFETY: the caller's; it is not NULL, and the length is in the range of an object's size.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

#[cold]
fn null(what: &str) -> Error {
    invalid(format!("{what} is NULL; it must be given"))
}

#[cold]
fn null_with_length(what: &str, len: usize) -> Error {
    invalid(format!("{what} is NULL, and its length is {len}; NULL goes with length 0 only"))
}

#[cold]
fn too_long(what: &str, len: usize, most: usize) -> Error {
    invalid(format!("the length of {what} is {len}; it is {most} at most"))
}

#[cold]
fn not_utf8(what: &str, at: usize) -> Error {
    invalid(format!("{what} is not UTF-8 at its byte {at}; encode it, or pass it as a payload"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rheo_core::ErrorCode;

    #[test]
    fn lengths_that_are_garbage_are_refused_before_anything_is_read() {
        let byte = 0u8;
        let pointer: *const u8 = &byte;
        // SAFETY: what is refused is not read.
        unsafe {
            for len in [MAX_TEXT_BYTES + 1, isize::MAX as usize, usize::MAX] {
                assert_eq!(text("t", pointer.cast(), len).unwrap_err().code(), ErrorCode::InvalidArgument);
            }
            assert!(bytes("b", pointer.cast(), usize::MAX).is_err());
            assert!(partitions(pointer.cast(), usize::MAX).is_err());
            assert!(texts("ids", pointer.cast(), usize::MAX).is_err());
            assert!(bytes("b", ptr::null(), 1).is_err());
            assert_eq!(bytes("b", ptr::null(), 0), Ok(&[][..]));
            assert_eq!(partitions(ptr::null(), 0), Ok(None));
            assert_eq!(partitions(ptr::NonNull::dangling().as_ptr(), 0), Ok(Some(&[][..])));
        }
    }

    #[test]
    fn a_reason_is_never_refused() {
        let cut = "é".repeat(600);
        let long = vec![b'x'; 5000];
        let cases: [(&[u8], &str); 4] = [
            (b"plain", "plain"),
            (b"\xff\0b", "\u{fffd}\0b"),
            (cut.as_bytes(), &cut[..1024]),
            (&long, &"x".repeat(1024)),
        ];
        for (given, kept) in cases {
            // SAFETY: pointer and length of a slice.
            let read = unsafe { kept_reason(given.as_ptr().cast(), given.len()) };
            assert_eq!(limits::kept_reason(&read), kept);
        }
        // SAFETY: NULL is not read.
        assert_eq!(unsafe { kept_reason(ptr::null(), usize::MAX) }, "");
    }

    #[test]
    fn a_panic_becomes_a_status_and_an_error() {
        let mut error = ptr::null_mut();
        // SAFETY: the error's place may be written; NULL may be given as well.
        unsafe {
            assert_eq!(call(&mut error, || panic!("on purpose")), 901);
            assert_eq!((*error).0.cause(), Some("on purpose"));
            free(error);
            assert_eq!(call(ptr::null_mut(), || panic!("on purpose")), 901);
            assert_eq!(view(&7, |_| -> u32 { panic!("on purpose") }), 0);
            assert!(inner(&7, |_| -> Option<&u32> { panic!("on purpose") }).is_null());
        }
    }
}
