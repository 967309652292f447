//! Tells a forked child from its parent. After `fork` the child has one thread and a copy of every lock in
//! whatever state another thread left it, so an instance opened before must not be touched: its calls give
//! `forked` (contract, section 5).
//!
//! A handler that runs in the child raises a counter; a call compares it with the one at opening. That costs
//! a load, where asking for the process id would cost a system call.

use crate::named;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The process as it was when this value was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generation(u32);

impl Generation {
    /// Of the running process.
    pub(crate) fn current() -> Generation {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(register);
        Generation(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether this process was forked off since.
    #[inline]
    pub(crate) fn is_past(self) -> bool {
        self.0 != GENERATION.load(Ordering::Relaxed)
    }
}

/// A value that a forked child does not drop: dropping it takes locks, which another thread of the parent may have
/// held at the fork.
pub(crate) struct Leaked<T> {
    value: ManuallyDrop<T>,
    generation: Generation,
}

impl<T> Leaked<T> {
    pub(crate) fn new(value: T) -> Leaked<T> {
        Leaked { value: ManuallyDrop::new(value), generation: Generation::current() }
    }

    #[inline]
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }
}

impl<T> Deref for Leaked<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Leaked<T> {
    fn drop(&mut self) {
        if !self.generation.is_past() {
            // SAFETY: the value is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(unix)]
fn register() {
    extern "C" fn before() {
        named::lock_for_fork();
    }
    extern "C" fn in_parent() {
        named::unlock_after_fork();
    }
    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        named::unlock_after_fork();
    }
    // SAFETY: the handlers are plain functions that touch an atomic and one lock, which nobody holds while it forks. If
    // registering fails (no memory), forks go undetected, as with any library without a handler.
    unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
    }
}

#[cfg(not(unix))]
fn register() {}
