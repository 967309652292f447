//! What one environment of Node (the main thread's, or a worker's) has of the library: memory shared with JavaScript, the way
//! to make its errors, and the way back onto its loop.

use crate::answer::Answer;
use crate::event_loop::{Loop, Receiver};
use crate::js::{Failure, Js, Outcome, Value};
use crate::{pool, rows};
use napi::sys;
use rheo::handle::guard;
use rheo_core::{Error, Result, Retriable};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The words in front of the rows: how many rows there are …
pub(crate) const COUNT: usize = 0;
/// … and in how many milliseconds to look again.
pub(crate) const DUE: usize = 1;
const HEAD: usize = 8;
/// The most rows that the scratch memory holds.
pub(crate) const SCRATCH_ROWS: usize = 1000;

/// One environment.
pub(crate) struct Home {
    scratch: *mut i32,
    make_error: sys::napi_ref,
    receiver: Rc<Receiver>,
    /// How many jobs of this environment are on the pool.
    jobs: Cell<usize>,
    /// What texts are read into, and what rows are built in.
    pub(crate) buffer: RefCell<Vec<u8>>,
    pub(crate) encoder: RefCell<rows::Encoder>,
}

impl Home {
    /// Makes it, and the memory that it shares with JavaScript.
    pub(crate) fn new(js: Js, receiver: Rc<Receiver>, make_error: Value) -> Outcome<(Rc<Home>, Value)> {
        let words = HEAD + SCRATCH_ROWS * rows::WORDS;
        let (memory, scratch) = js.array_buffer(words * size_of::<i32>())?;
        js.keep(memory)?;
        let make_error = js.keep(make_error)?;
        let home = Home {
            scratch,
            make_error,
            receiver,
            jobs: Cell::new(0),
            buffer: RefCell::default(),
            encoder: RefCell::default(),
        };
        let home = Rc::new(home);
        home.receiver.set_home(&home);
        Ok((home, memory))
    }

    /// Sets a word of the head.
    #[inline]
    pub(crate) fn set_head(&self, at: usize, value: i32) {
        debug_assert!(at < HEAD);
        // SAFETY: the memory is kept until the environment ends, and only this thread uses it; `at` is in the head.
        unsafe { self.scratch.add(at).write(value) };
    }

    /// Works on the rows of the scratch memory.
    #[inline]
    pub(crate) fn with_scratch<R>(&self, work: impl FnOnce(&mut [i32]) -> R) -> R {
        // SAFETY: as above; the slice lies behind the head, and no JavaScript runs while it is worked on.
        work(unsafe { std::slice::from_raw_parts_mut(self.scratch.add(HEAD), SCRATCH_ROWS * rows::WORDS) })
    }

    pub(crate) fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    pub(crate) fn event_loop(&self) -> &Arc<Loop> {
        self.receiver.event_loop()
    }

    /// The error as JavaScript sees it.
    pub(crate) fn error(&self, js: Js, error: &Error) -> Outcome<Value> {
        let code = error.code();
        let retriable = match error.retriable() {
            Retriable::Yes => "yes",
            Retriable::WithSameId => "with_same_id",
            _ => "no",
        };
        let cause = match error.cause() {
            Some(cause) => js.string(cause)?,
            None => js.undefined()?,
        };
        let arguments = [
            js.string(code.name())?,
            js.number(f64::from(code.number()))?,
            js.string(error.message())?,
            cause,
            js.string(retriable)?,
            js.string(error.settle_class().name())?,
        ];
        js.invoke(js.kept(self.make_error)?, &arguments)
    }

    /// Makes a failure the exception of the native call.
    #[cold]
    pub(crate) fn throw(&self, js: Js, failure: Failure) {
        if let Failure::Rheo(error) = failure
            && !js.is_throwing()
            && let Ok(error) = self.error(js, &error)
        {
            js.throw(error);
        }
    }

    /// Does something on a thread of ours; gives the promise of its answer. The process stays alive meanwhile.
    pub(crate) fn submit(&self, js: Js, work: impl FnOnce() -> Result<Answer> + Send + 'static) -> Outcome<Value> {
        let (deferred, promise) = js.promise()?;
        if self.jobs.replace(self.jobs.get() + 1) == 0 {
            self.event_loop().hold(js);
        }
        let event_loop = Arc::clone(self.event_loop());
        let ticket = Ticket(deferred);
        pool::run(move || event_loop.answer(ticket, guard(work)));
        Ok(promise)
    }

    /// Gives an answer to who was promised it.
    pub(crate) fn settle(self: &Rc<Home>, js: Js, ticket: &Ticket, answer: Result<Answer>) {
        let left = self.jobs.get() - 1;
        self.jobs.set(left);
        if left == 0 {
            self.event_loop().let_go(js);
        }
        let settled = answer.map_err(Failure::Rheo).and_then(|answer| answer.into_js(self, js, false));
        match settled {
            Ok(value) => js.resolve(ticket.0, value),
            Err(Failure::Rheo(error)) => {
                if let Ok(error) = self.error(js, &error) {
                    js.reject(ticket.0, error);
                }
            }
            Err(Failure::Pending) => {}
        }
    }
}

/// A promise that is to be settled. It travels to another thread and back; only its own uses it.
pub(crate) struct Ticket(sys::napi_deferred);

// SAFETY: what it points to is used only on the thread of the environment that made it.
unsafe impl Send for Ticket {}
