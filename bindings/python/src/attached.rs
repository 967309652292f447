//! When a thread holds the interpreter lock.
//!
//! Work that only computes is done with the lock held: giving it up on every call would make a program with one other busy
//! thread wait for its switch interval each time. What really waits gives it up, and nobody waits for the interpreter while
//! holding a lock of the library:
//!
//! - [`attached`]: the thread keeps the interpreter until the library is about to wait ([`rheo_core::set_before_wait`]), gives
//!   it up there, and takes it again at the end, when it holds no lock of the library;
//! - [`detached`]: for what waits for certain or walks for long; gives it up at once.

use crate::errors::raised;
use crate::exit;
use pyo3::ffi;
use pyo3::marker::Ungil;
use pyo3::prelude::*;
use rheo::handle::guard;
use rheo_core::Result;
use std::cell::Cell;
use std::ptr::null_mut;

/// What a thread does between the interpreter and the library.
struct Work {
    /// It is inside [`attached`], in the library.
    is_inside: Cell<bool>,
    /// Its state of the interpreter, since it gave the interpreter up inside; null as long as it holds it.
    saved: Cell<*mut ffi::PyThreadState>,
}

thread_local! {
    static WORK: Work = const { Work { is_inside: Cell::new(false), saved: Cell::new(null_mut()) } };
}

/// To be called once, before anything else here.
pub fn set_up() {
    // A second import of the module finds it set.
    rheo_core::set_before_wait(before_wait);
}

fn before_wait() {
    WORK.with(|work| {
        if work.is_inside.get() && work.saved.get().is_null() {
            // SAFETY: inside `attached` and with nothing saved, this thread holds the interpreter. What runs until it is
            // taken again is the library, which touches no Python object and drops none (pyo3 still counts the thread as
            // attached, and would not put a drop off): events, leases and watches hold none, a telemetry hook goes through
            // `in_python`, and the instance that holds the hook is kept by whoever called.
            work.saved.set(unsafe { ffi::PyEval_SaveThread() });
        }
    });
}

impl Work {
    /// Takes the interpreter again, if it was given up.
    fn take_again(&self) {
        let saved = self.saved.replace(null_mut());
        if !saved.is_null() {
            exit::stay_away_at_the_end();
            // SAFETY: this thread saved this state and has not used it since.
            unsafe { ffi::PyEval_RestoreThread(saved) };
        }
    }
}

/// Does work of the library that seldom waits, and gives the interpreter up only if it does.
#[inline]
pub fn attached<T>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Ungil) -> PyResult<T> {
    struct End<'a>(&'a Work, bool);
    impl Drop for End<'_> {
        #[inline]
        fn drop(&mut self) {
            self.0.is_inside.set(self.1);
            self.0.take_again();
        }
    }
    let result = WORK.with(|state| {
        let _end = End(state, state.is_inside.replace(true));
        guard(work)
    });
    result.map_err(|error| raised(py, &error))
}

/// Does work of the library that waits, or takes long, without the interpreter.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let away = || {
        let result = guard(work);
        exit::stay_away_at_the_end();
        result
    };
    py.detach(away).map_err(|error| raised(py, &error))
}

/// After how many pieces of work a thread gives the interpreter up once, also if it runs no code that does so by itself.
const TURNS: u32 = 100;

/// A thread of the library's that runs Python's code again and again. It has a state of the interpreter of its own as long as it
/// lives, and between two pieces of work it keeps the interpreter until the library is about to wait.
struct OwnState {
    state: Cell<Option<ffi::PyGILState_STATE>>,
    turns: Cell<u32>,
}

thread_local! {
    static OWN: OwnState = const { OwnState { state: Cell::new(None), turns: Cell::new(0) } };
}

impl Drop for OwnState {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            WORK.with(Work::take_again);
            // SAFETY: of this thread, which holds the interpreter now.
            unsafe { ffi::PyGILState_Release(state) };
        }
    }
}

/// Runs Python's code on a thread of the library's: a handler.
pub fn in_worker<T>(code: impl FnOnce(Python<'_>) -> T) -> T {
    struct Back<'a>(&'a Work);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            self.0.is_inside.set(true);
        }
    }
    OWN.with(|own| {
        WORK.with(|work| {
            own.turns.set(own.turns.get() + 1);
            if own.state.get().is_none() {
                exit::stay_away_at_the_end();
                // SAFETY: the interpreter was initialised, since this module was imported.
                own.state.set(Some(unsafe { ffi::PyGILState_Ensure() }));
                work.is_inside.set(true);
            } else if exit::is_ending() || own.turns.get() >= TURNS {
                own.turns.set(0);
                before_wait();
            }
            work.take_again();
            work.is_inside.set(false);
            let _back = Back(work);
            Python::attach(code)
        })
    })
}

/// Runs Python's code from inside the library, in a place where no lock of it is held: the telemetry hook.
pub fn in_python(code: impl FnOnce(Python<'_>)) {
    struct Back<'a>(&'a Work);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            self.0.is_inside.set(true);
        }
    }
    WORK.with(|work| {
        if !work.is_inside.get() {
            // A thread of the library's, or one that is `detached`.
            exit::stay_away_at_the_end();
            return Python::attach(code);
        }
        work.take_again();
        work.is_inside.set(false);
        let _back = Back(work);
        Python::attach(code);
    });
}
