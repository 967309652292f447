//! Native functions that carry their handle as data.

use crate::home::Home;
use crate::js::{Failure, Js, Outcome, Value};
use napi::sys;
use rheo::handle::guard;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

/// The most arguments that a function takes.
pub(crate) const MOST_ARGUMENTS: usize = 10;

/// A function of JavaScript over some data.
pub(crate) trait Function: 'static {
    /// What it works on.
    type Data: 'static;
    /// What it is called.
    const NAME: &'static str;

    /// Does it. Arguments that are not given are undefined.
    fn call(home: &Rc<Home>, data: &Self::Data, js: Js, arguments: &[Value; MOST_ARGUMENTS]) -> Outcome<Value>;
}

/// Declares functions, each with its name and its signature in TypeScript, and the table of all of them.
macro_rules! functions {
    (
        $table:ident over $of:ty;
        $($(#[$doc:meta])* $type:ident = $name:literal $signature:literal ($home:ident, $data:ident, $js:ident, $arguments:ident) $body:block)*
    ) => {
        /// The functions over these data, as an object.
        pub(crate) struct $table;

        impl $table {
            /// The name and the signature of each.
            pub(crate) const SIGNATURES: &[(&'static str, &'static str)] = &[$(($name, $signature)),*];

            pub(crate) fn make(
                home: &std::rc::Rc<$crate::home::Home>,
                js: $crate::js::Js,
                data: impl Into<std::rc::Rc<$of>>,
            ) -> $crate::js::Outcome<$crate::js::Value> {
                let data = data.into();
                let object = js.object()?;
                $($crate::function::define::<$type>(home, js, object, &data)?;)*
                Ok(object)
            }
        }

        $(
            $(#[$doc])*
            struct $type;

            impl $crate::function::Function for $type {
                type Data = $of;
                const NAME: &'static str = $name;

                #[inline]
                #[allow(unused_variables)]
                fn call(
                    $home: &std::rc::Rc<$crate::home::Home>,
                    $data: &$of,
                    $js: $crate::js::Js,
                    $arguments: &[$crate::js::Value; $crate::function::MOST_ARGUMENTS],
                ) -> $crate::js::Outcome<$crate::js::Value> $body
            }
        )*
    };
}
pub(crate) use functions;

struct Carried<T> {
    home: Rc<Home>,
    data: Rc<T>,
}

/// Puts a function into an object of functions over the same data.
pub(crate) fn define<F: Function>(home: &Rc<Home>, js: Js, object: Value, data: &Rc<F::Data>) -> Outcome<()> {
    let carried = Box::into_raw(Box::new(Carried { home: Rc::clone(home), data: Rc::clone(data) }));
    let mut function = ptr::null_mut();
    let (name, len) = (F::NAME.as_ptr().cast(), F::NAME.len() as isize);
    // SAFETY: the environment is valid here; what is carried lives until `release`, which Node calls once, when the
    // function is gone or the environment ends.
    let made = unsafe {
        let status = sys::napi_create_function(js.env(), name, len, Some(enter::<F>), carried.cast(), &mut function);
        if status == sys::Status::napi_ok {
            let (hint, reference) = (ptr::null_mut(), ptr::null_mut());
            sys::napi_add_finalizer(js.env(), function, carried.cast(), Some(release::<F::Data>), hint, reference)
        } else {
            status
        }
    };
    if made != sys::Status::napi_ok {
        // SAFETY: nobody else got it: without its finalizer the function is not handed out.
        drop(unsafe { Box::from_raw(carried) });
        return Err(Failure::Pending);
    }
    js.set(object, F::NAME, function)
}

unsafe extern "C" fn release<T>(_: sys::napi_env, carried: *mut c_void, _: *mut c_void) {
    // SAFETY: the pointer is the box of `define`, and this is called once.
    let carried = unsafe { Box::from_raw(carried.cast::<Carried<T>>()) };
    // Closing the last handle of an instance may panic as anything may.
    let _ = guard(|| {
        drop(carried);
        Ok(())
    });
}

unsafe extern "C" fn enter<F: Function>(env: sys::napi_env, info: sys::napi_callback_info) -> Value {
    let mut arguments: [Value; MOST_ARGUMENTS] = [ptr::null_mut(); MOST_ARGUMENTS];
    let (mut count, mut data) = (MOST_ARGUMENTS, ptr::null_mut());
    // SAFETY: Node calls this with a valid environment on its thread; there is room for so many arguments.
    let js = unsafe {
        sys::napi_get_cb_info(env, info, &mut count, arguments.as_mut_ptr(), ptr::null_mut(), &mut data);
        Js::new(env)
    };
    // SAFETY: the data is what `define` gave the function, and lives as long as the function.
    let carried = unsafe { &*data.cast::<Carried<F::Data>>() };
    let called = guard(|| Ok(F::call(&carried.home, &carried.data, js, &arguments)));
    match called.map_err(Failure::Rheo).and_then(|outcome| outcome) {
        Ok(value) => value,
        Err(failure) => {
            carried.home.throw(js, failure);
            ptr::null_mut()
        }
    }
}
