//! JavaScript's values, as far as the hot paths need them: Node-API called directly, because a function that carries its
//! handle as data costs a tenth of a method of a class. The only module, with `function` and `event_loop`, that calls it.

use napi::sys;
use rheo_core::{Error, ErrorCode, Event};
use std::ffi::c_void;
use std::ptr;

/// A value of JavaScript, valid until the native call that it belongs to returns.
pub(crate) type Value = sys::napi_value;

/// Why a native call gives nothing.
pub(crate) enum Failure {
    /// An error of ours, to be thrown.
    Rheo(Error),
    /// An exception is on its way already.
    Pending,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Rheo(error)
    }
}

/// What a native call gives.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// An environment of Node, on its own thread, within a call from it.
#[derive(Clone, Copy)]
pub(crate) struct Js {
    env: sys::napi_env,
}

macro_rules! call {
    ($function:ident($js:expr $(, $argument:expr)* $(,)?)) => {{
        // SAFETY: a `Js` holds an environment that is valid on this thread; values are of this environment, pointers
        // point to memory that outlives the call and has the size that goes with them.
        let status = unsafe { sys::$function($js.env, $($argument),*) };
        checked(stringify!($function), status)
    }};
}

#[inline]
fn checked(function: &'static str, status: sys::napi_status) -> Outcome<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(refused(function, status)) }
}

#[cold]
fn refused(function: &str, status: sys::napi_status) -> Failure {
    match status {
        sys::Status::napi_pending_exception | sys::Status::napi_cannot_run_js | sys::Status::napi_closing => {
            Failure::Pending
        }
        _ => {
            Failure::Rheo(Error::new(ErrorCode::Internal, format!("{function} gave status {status}; please report it")))
        }
    }
}

impl Js {
    /// # Safety
    /// The environment is valid on this thread for as long as the value (or a copy) is used.
    #[inline]
    pub(crate) unsafe fn new(env: sys::napi_env) -> Js {
        Js { env }
    }

    pub(crate) fn env(self) -> sys::napi_env {
        self.env
    }

    pub(crate) fn undefined(self) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_get_undefined(self, &mut value)).map(|()| value)
    }

    pub(crate) fn number(self, number: f64) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_create_double(self, number, &mut value)).map(|()| value)
    }

    pub(crate) fn boolean(self, boolean: bool) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_get_boolean(self, boolean, &mut value)).map(|()| value)
    }

    pub(crate) fn big_int(self, integer: i64) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_create_bigint_int64(self, integer, &mut value)).map(|()| value)
    }

    /// A string of this text.
    #[inline]
    pub(crate) fn string(self, text: &str) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        let (start, len) = (text.as_ptr().cast(), text.len() as isize);
        if text.is_ascii() {
            call!(napi_create_string_latin1(self, start, len, &mut value))?;
        } else {
            call!(napi_create_string_utf8(self, start, len, &mut value))?;
        }
        Ok(value)
    }

    pub(crate) fn object(self) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_create_object(self, &mut value)).map(|()| value)
    }

    /// An array of these.
    pub(crate) fn array(self, elements: &[Value]) -> Outcome<Value> {
        let mut array = ptr::null_mut();
        call!(napi_create_array_with_length(self, elements.len(), &mut array))?;
        for (index, element) in elements.iter().enumerate() {
            call!(napi_set_element(self, array, index as u32, *element))?;
        }
        Ok(array)
    }

    pub(crate) fn set(self, object: Value, name: &str, value: Value) -> Outcome<()> {
        let key = self.string(name)?;
        call!(napi_set_property(self, object, key, value))
    }

    /// Memory of JavaScript's own, and where it lies. It does not move.
    pub(crate) fn array_buffer(self, bytes: usize) -> Outcome<(Value, *mut i32)> {
        let (mut value, mut data) = (ptr::null_mut(), ptr::null_mut());
        call!(napi_create_arraybuffer(self, bytes, &mut data, &mut value))?;
        Ok((value, data.cast()))
    }

    /// A buffer with a copy of these bytes.
    pub(crate) fn buffer_copy(self, bytes: &[u8]) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_create_buffer_copy(self, bytes.len(), bytes.as_ptr().cast(), ptr::null_mut(), &mut value))?;
        Ok(value)
    }

    /// A buffer that is the event's payload itself and keeps it alive. Where Node is built without such buffers
    /// it is a copy.
    pub(crate) fn buffer_of(self, event: &Event) -> Outcome<Value> {
        unsafe extern "C" fn release(_: sys::napi_env, _: *mut c_void, event: *mut c_void) {
            // SAFETY: `event` is the box that went with the buffer, and Node calls this once.
            drop(unsafe { Box::from_raw(event.cast::<Event>()) });
        }
        let kept = Box::new(event.clone());
        let (start, len) = (kept.payload().as_ptr().cast_mut().cast::<c_void>(), kept.payload().len());
        let hint = Box::into_raw(kept);
        let mut value = ptr::null_mut();
        // SAFETY: as of every call here; the bytes stay as long as the event in the box, which `release` drops.
        let status =
            unsafe { sys::napi_create_external_buffer(self.env, len, start, Some(release), hint.cast(), &mut value) };
        if status == sys::Status::napi_ok {
            return Ok(value);
        }
        // SAFETY: the buffer was not made, so the box is still ours.
        drop(unsafe { Box::from_raw(hint) });
        self.buffer_copy(event.payload())
    }

    /// Whether there is a value: neither undefined nor null.
    #[inline]
    pub(crate) fn is_given(self, value: Value) -> Outcome<bool> {
        let mut kind = sys::ValueType::napi_undefined;
        call!(napi_typeof(self, value, &mut kind))?;
        Ok(kind != sys::ValueType::napi_undefined && kind != sys::ValueType::napi_null)
    }

    pub(crate) fn is_string(self, value: Value) -> Outcome<bool> {
        let mut kind = sys::ValueType::napi_undefined;
        call!(napi_typeof(self, value, &mut kind))?;
        Ok(kind == sys::ValueType::napi_string)
    }

    /// A number that fits.
    #[inline]
    pub(crate) fn to_f64(self, value: Value) -> Outcome<f64> {
        let mut number = 0.0;
        call!(napi_get_value_double(self, value, &mut number)).map(|()| number)
    }

    #[inline]
    pub(crate) fn to_i32(self, value: Value) -> Outcome<i32> {
        let mut number = 0;
        call!(napi_get_value_int32(self, value, &mut number)).map(|()| number)
    }

    pub(crate) fn to_bool(self, value: Value) -> Outcome<bool> {
        let mut boolean = false;
        call!(napi_get_value_bool(self, value, &mut boolean)).map(|()| boolean)
    }

    /// A big integer that has 64 bits.
    pub(crate) fn to_i64(self, value: Value) -> Outcome<i64> {
        let (mut number, mut lossless) = (0, false);
        call!(napi_get_value_bigint_int64(self, value, &mut number, &mut lossless)).map(|()| number)
    }

    /// Reads a string behind what `into` holds. Half a surrogate pair becomes U+FFFD, so the bytes are UTF-8.
    #[inline]
    pub(crate) fn read_string(self, value: Value, into: &mut Vec<u8>) -> Outcome<()> {
        if into.capacity() - into.len() < 512 {
            into.reserve(4096);
        }
        loop {
            let room = into.spare_capacity_mut();
            let (start, size) = (room.as_mut_ptr(), room.len());
            let mut written = 0;
            call!(napi_get_value_string_utf8(self, value, start.cast(), size, &mut written))?;
            // The text may have been cut at a character, which has up to four bytes, and before the NUL.
            if written + 5 > size {
                let mut len = 0;
                call!(napi_get_value_string_utf8(self, value, ptr::null_mut(), 0, &mut len))?;
                if len > written {
                    into.reserve(len + 8);
                    continue;
                }
            }
            // SAFETY: so many bytes were just written there.
            unsafe { into.set_len(into.len() + written) };
            return Ok(());
        }
    }

    /// A string's text.
    pub(crate) fn to_text(self, value: Value) -> Outcome<String> {
        let mut bytes = Vec::new();
        self.read_string(value, &mut bytes)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// A string's text, where there is one.
    pub(crate) fn to_optional_text(self, value: Value) -> Outcome<Option<String>> {
        if self.is_given(value)? { self.to_text(value).map(Some) } else { Ok(None) }
    }

    /// Looks at the bytes of a `Uint8Array`.
    pub(crate) fn with_bytes<R>(self, value: Value, look: impl FnOnce(&[u8]) -> R) -> Outcome<R> {
        let (start, len) = self.typed_array(value)?;
        if len == 0 {
            return Ok(look(&[]));
        }
        // SAFETY: the array's memory holds so many bytes, and no JavaScript runs, here or (the caller passes no shared
        // memory) elsewhere, that could change it while it is looked at.
        Ok(look(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }))
    }

    /// Looks at the words of an `Int32Array`.
    pub(crate) fn with_words<R>(self, value: Value, look: impl FnOnce(&[i32]) -> R) -> Outcome<R> {
        let (start, len) = self.typed_array(value)?;
        if len == 0 {
            return Ok(look(&[]));
        }
        // SAFETY: as in `with_bytes`; the memory of an `Int32Array` is aligned.
        Ok(look(unsafe { std::slice::from_raw_parts(start.cast::<i32>(), len) }))
    }

    fn typed_array(self, value: Value) -> Outcome<(*mut c_void, usize)> {
        let (mut kind, mut len, mut start) = (0, 0, ptr::null_mut());
        let none = ptr::null_mut();
        call!(napi_get_typedarray_info(self, value, &mut kind, &mut len, &mut start, none, ptr::null_mut()))?;
        Ok((start, len))
    }

    pub(crate) fn length(self, array: Value) -> Outcome<u32> {
        let mut length = 0;
        call!(napi_get_array_length(self, array, &mut length)).map(|()| length)
    }

    pub(crate) fn element(self, array: Value, index: u32) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_get_element(self, array, index, &mut value)).map(|()| value)
    }

    /// A value that stays until the environment ends.
    pub(crate) fn keep(self, value: Value) -> Outcome<sys::napi_ref> {
        let mut reference = ptr::null_mut();
        call!(napi_create_reference(self, value, 1, &mut reference)).map(|()| reference)
    }

    pub(crate) fn kept(self, reference: sys::napi_ref) -> Outcome<Value> {
        let mut value = ptr::null_mut();
        call!(napi_get_reference_value(self, reference, &mut value)).map(|()| value)
    }

    /// Calls a function of JavaScript.
    pub(crate) fn invoke(self, function: Value, arguments: &[Value]) -> Outcome<Value> {
        let this = self.undefined()?;
        let mut result = ptr::null_mut();
        call!(napi_call_function(self, this, function, arguments.len(), arguments.as_ptr(), &mut result))?;
        Ok(result)
    }

    pub(crate) fn throw(self, error: Value) {
        let _ = call!(napi_throw(self, error));
    }

    /// Whether an exception is on its way; then nothing but returning makes sense.
    pub(crate) fn is_throwing(self) -> bool {
        let mut pending = false;
        call!(napi_is_exception_pending(self, &mut pending)).is_ok() && pending
    }

    pub(crate) fn promise(self) -> Outcome<(sys::napi_deferred, Value)> {
        let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
        call!(napi_create_promise(self, &mut deferred, &mut promise)).map(|()| (deferred, promise))
    }

    pub(crate) fn resolve(self, deferred: sys::napi_deferred, value: Value) {
        let _ = call!(napi_resolve_deferred(self, deferred, value));
    }

    pub(crate) fn reject(self, deferred: sys::napi_deferred, error: Value) {
        let _ = call!(napi_reject_deferred(self, deferred, error));
    }
}
