//! The end of the interpreter: no wait may keep it from ending, and what is open is flushed.

use crate::attached::detached;
use pyo3::prelude::*;
use rheo_core::{Instance, Interrupt, WeakInstance};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

/// Ends every wait that began under it.
static WAITS: Mutex<Option<Interrupt>> = Mutex::new(None);
/// What was opened here, and may be open still.
static OPENED: Mutex<Vec<WeakInstance>> = Mutex::new(Vec::new());

/// Whether the main thread has ended.
static MAIN_HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// How long a wait lasts at most once the main thread has ended, in milliseconds.
const LAST_WAIT_MS: u64 = 1000;

/// The interrupt for a wait that begins now, and how long that wait may last of the `wait_ms` that are asked for.
pub fn interrupt(wait_ms: u64) -> (Interrupt, u64) {
    // In this order: who gets an interrupt that nobody will fire sees that the main thread has ended.
    let interrupt = WAITS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().clone();
    let has_ended = MAIN_HAS_ENDED.load(Ordering::SeqCst);
    (interrupt, if has_ended { wait_ms.min(LAST_WAIT_MS) } else { wait_ms })
}

/// Ends the waits that are under way; those that begin later last a second at most. Called when the main thread ends: a thread
/// that waits for long should not keep the interpreter, one that works in a loop goes on.
#[pyfunction]
pub fn interrupt_waits(py: Python<'_>) -> PyResult<()> {
    MAIN_HAS_ENDED.store(true, Ordering::SeqCst);
    let waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner).take();
    detached(py, || {
        if let Some(waits) = waits {
            waits.fire();
        }
        Ok(())
    })
}

/// Notes an instance, to be closed at the end.
pub fn note_opened(instance: &Instance) {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.retain(|known| known.upgrade().is_some_and(|known| !known.is_closed()));
    opened.push(instance.downgrade());
}

/// The thread that ends the interpreter, once it does.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

/// Called by a thread before it takes the interpreter again. When that is at its end, only the thread that ends it may have it:
/// others, which nobody waits for any more, would be ended by force in the middle of what they do (before Python 3.14 so that the
/// process aborts). They stay here.
pub fn stay_away_at_the_end() {
    if ENDING.get().is_some_and(|ending| *ending != thread::current().id()) {
        loop {
            thread::park();
        }
    }
}

/// Closes what is still open, which flushes it. Called when the interpreter ends; there is nobody left to tell of an error.
#[pyfunction]
pub fn close_all(py: Python<'_>) -> PyResult<()> {
    let _ = ENDING.set(thread::current().id());
    let opened = std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner));
    detached(py, || {
        for instance in opened.iter().filter_map(WeakInstance::upgrade) {
            let _ = instance.close();
        }
        Ok(())
    })
}
