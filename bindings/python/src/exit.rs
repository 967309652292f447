//! The end of the interpreter: no wait may keep it from ending, and what is open is flushed.

use crate::attached::detached;
use crate::codec;
use pyo3::prelude::*;
use rheo_core::{Instance, Interrupt, WeakInstance};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

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
    // Dropped when the lock is let go, should one be the last handle.
    let known: Vec<Instance> = opened.iter().filter_map(WeakInstance::upgrade).collect();
    *opened = known.iter().chain([instance]).filter(|known| !known.is_closed()).map(Instance::downgrade).collect();
    drop(opened);
}

/// The thread that ends the interpreter, once it does.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

/// How many threads are inside code of Python's that the library called.
static CALLBACKS: AtomicUsize = AtomicUsize::new(0);

/// How long the end waits for such code to return, and a thread stays away from the interpreter at its end.
const END: Duration = Duration::from_secs(1);

/// Whether the interpreter is at its end.
pub fn is_ending() -> bool {
    ENDING.get().is_some()
}

/// Called by a thread before it takes the interpreter again. When that is at its end, only the thread that ends it may have it:
/// others, which nobody waits for any more, would be ended by force in the middle of what they do (before Python 3.14 so that the
/// process aborts). They stay here until the process has ended, but not for ever: somebody may be joining them.
pub fn stay_away_at_the_end() {
    if ENDING.get().is_some_and(|ending| *ending != thread::current().id()) {
        #[allow(clippy::disallowed_methods)] // Nobody is left who could wake it.
        thread::sleep(5 * END);
    }
}

/// To be held by a thread while it runs code of Python's for the library: the end waits for it a while.
pub fn callback(py: Python<'_>) -> Callback {
    CALLBACKS.fetch_add(1, Ordering::SeqCst);
    let callback = Callback;
    if ENDING.get().is_some() {
        py.detach(stay_away_at_the_end);
    }
    callback
}

/// See `callback`.
pub struct Callback;

impl Drop for Callback {
    fn drop(&mut self) {
        CALLBACKS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// In a forked child: forgets what belonged to the parent, whose threads may have left it in any state.
#[pyfunction]
pub fn forget_parent() {
    if let Some(interrupt) = WAITS.lock().unwrap_or_else(PoisonError::into_inner).take() {
        std::mem::forget(interrupt);
    }
    std::mem::forget(std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner)));
    CALLBACKS.store(0, Ordering::SeqCst);
}

/// Lets consumers that still run begin with nothing more, and gives their handlers a moment to end. Called when the interpreter
/// ends, while threads may still have it.
fn drain_all(py: Python<'_>) -> PyResult<()> {
    let opened: Vec<Instance> = {
        let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        opened.iter().filter_map(WeakInstance::upgrade).collect()
    };
    detached(py, || {
        let until = Instant::now() + END;
        let drains: Vec<_> = opened.iter().flat_map(codec::drains).collect();
        for drain in &drains {
            let left = until.saturating_duration_since(Instant::now()).as_millis() as u64;
            let _ = drain.wait(left);
        }
        drop((drains, opened));
        Ok(())
    })
}

/// Closes what is still open, which flushes it. Called when the interpreter ends; there is nobody left to tell of an error.
#[pyfunction]
pub fn close_all(py: Python<'_>) -> PyResult<()> {
    drain_all(py)?;
    let _ = ENDING.set(thread::current().id());
    let opened = std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner));
    detached(py, || {
        let until = Instant::now() + END;
        while CALLBACKS.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            #[allow(clippy::disallowed_methods)] // Once, at the end, and nobody tells of it.
            thread::sleep(Duration::from_millis(1));
        }
        for instance in opened.iter().filter_map(WeakInstance::upgrade) {
            let _ = instance.close();
        }
        Ok(())
    })
}
