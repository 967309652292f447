//! The end of the interpreter: no wait may keep it from ending, and what is open is flushed.

use crate::attached::detached;
use pyo3::prelude::*;
use rheo_core::{Instance, Interrupt, WeakInstance};
use std::sync::{Mutex, PoisonError};

/// Ends every wait that began under it.
static WAITS: Mutex<Option<Interrupt>> = Mutex::new(None);
/// What was opened here, and may be open still.
static OPENED: Mutex<Vec<WeakInstance>> = Mutex::new(Vec::new());

/// The interrupt for a wait that begins now.
pub fn interrupt() -> Interrupt {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().clone()
}

/// Ends the waits that are under way, once; those that begin later wait as ever. Called when the main thread ends: a thread
/// that waits in one long fetch should not keep the interpreter, one that works in a loop goes on.
#[pyfunction]
pub fn interrupt_waits(py: Python<'_>) -> PyResult<()> {
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

/// Closes what is still open, which flushes it. Called when the interpreter ends; there is nobody left to tell of an error.
#[pyfunction]
pub fn close_all(py: Python<'_>) -> PyResult<()> {
    let opened = std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner));
    detached(py, || {
        for instance in opened.iter().filter_map(WeakInstance::upgrade) {
            let _ = instance.close();
        }
        Ok(())
    })
}
