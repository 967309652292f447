//! The native half of the npm package `rheo`: `rheo_core` as functions that the TypeScript half (`src/`) calls.
//!
//! - `home` is what an environment of Node has, `event_loop` the way back onto its loop, `pool` the threads that wait;
//! - `instance`, `stream`, `group`, `producer` are tables of functions over a handle, made with `function`;
//! - `rows` is how events and leases cross: not as objects, but as one text and rows of words;
//! - `operations` are those that need no speed: by name, with options as JSON;
//! - `js` is Node-API.
//!
//! The types of all tables, as TypeScript, are `declarations`; `src/native.d.ts` is generated from them.

mod answer;
mod event_loop;
mod function;
mod group;
mod home;
mod instance;
mod js;
mod operations;
mod pool;
mod producer;
mod rows;
mod scan;
mod stream;
mod telemetry;

use crate::event_loop::Loop;
use crate::home::Home;
use crate::js::{Failure, Js, Outcome};
use napi::bindgen_prelude::{JsValue, Object, Unknown};
use napi::{Env, Status};
use napi_derive::napi;
use std::fmt::Write as _;

/// Prepares this environment. `onMail` gets what other threads sent: the numbers of watches that were woken, telemetry, and how much of
/// that was dropped. `makeError` makes the error that is thrown. Gives the functions of the library, and `memory`: the words that
/// they share with JavaScript.
#[napi(catch_unwind)]
pub fn start<'env>(env: Env, on_mail: Unknown<'env>, make_error: Unknown<'env>) -> napi::Result<Object<'env>> {
    // SAFETY: a call from this environment.
    let js = unsafe { Js::new(env.raw()) };
    let prepared = || -> Outcome<_> {
        let receiver = Loop::tie(js, on_mail.value().value)?;
        let (home, memory) = Home::new(js, receiver, make_error.value().value)?;
        let library = instance::LibraryTable::make(&home, js, ())?;
        js.set(library, "memory", memory)?;
        Ok(library)
    };
    match prepared() {
        Ok(library) => Ok(Object::from_raw(env.raw(), library)),
        Err(Failure::Rheo(error)) => Err(napi::Error::new(Status::GenericFailure, error.to_string())),
        Err(Failure::Pending) => Err(napi::Error::new(Status::PendingException, "an exception is pending")),
    }
}

/// The types of what `start` gives, as TypeScript.
#[napi(catch_unwind)]
pub fn declarations() -> String {
    let tables = [
        ("NativeLibrary", instance::LibraryTable::SIGNATURES),
        ("NativeInstance", instance::InstanceTable::SIGNATURES),
        ("NativeStream", stream::StreamTable::SIGNATURES),
        ("NativeGroup", group::GroupTable::SIGNATURES),
        ("NativeProducer", producer::ProducerTable::SIGNATURES),
    ];
    let mut text = String::new();
    for (table, signatures) in tables {
        let _ = writeln!(text, "export interface {table} {{");
        for (name, signature) in signatures {
            let _ = writeln!(text, "  {name}{signature}");
        }
        let _ = writeln!(text, "}}\n");
    }
    text
}
