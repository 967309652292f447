//! Tells a forked child from its parent. After `fork` the child has one thread and a copy of every lock in
//! whatever state another thread left it, so an instance opened before must not be touched: its calls give
//! `forked` (contract, section 5).
//!
//! A handler that runs in the child raises a counter; a call compares it with the one at opening. That costs
//! a load, where asking for the process id would cost a system call.

use crate::named;
use parking_lot::lock_api::{GuardSend, Mutex, RawMutex};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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

/// A lock without any bookkeeping elsewhere: one that a forked child gives back although a thread of its parent may have
/// been waiting for it. It is held for a look-up or a few system calls.
pub(crate) struct Spin(AtomicBool);

// SAFETY: only one thread at a time sees the flag go from false to true.
unsafe impl RawMutex for Spin {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Spin = Spin(AtomicBool::new(false));
    type GuardMarker = GuardSend;

    fn lock(&self) {
        while !self.try_lock() {
            std::thread::yield_now();
        }
    }

    fn try_lock(&self) -> bool {
        !self.0.swap(true, Ordering::Acquire)
    }

    unsafe fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The open files that a forked child must not keep: it would share a lock that is its parent's alone.
static NOT_INHERITED: Mutex<Spin, Vec<i32>> = Mutex::new(Vec::new());

/// Opens or closes files that a forked child must not keep, and changes the list of them, while nobody forks.
pub(crate) fn with_not_inherited<T>(change: impl FnOnce(&mut Vec<i32>) -> T) -> T {
    Generation::current();
    change(&mut NOT_INHERITED.lock())
}

#[cfg(unix)]
fn register() {
    fn locks() -> [&'static Spin; 2] {
        // SAFETY: only its address is taken.
        [named::lock(), unsafe { NOT_INHERITED.raw() }]
    }
    fn unlock_all() {
        for lock in locks() {
            // SAFETY: `before` took it, in this thread; nobody has a guard.
            unsafe { lock.unlock() };
        }
    }
    extern "C" fn before() {
        locks().iter().for_each(|lock| lock.lock());
    }
    extern "C" fn in_parent() {
        unlock_all();
    }
    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        unlock_all();
        // Nobody else is here. Nothing is freed: the allocator may be locked for ever.
        let mut descriptors = NOT_INHERITED.lock();
        for descriptor in descriptors.iter() {
            // SAFETY: the descriptor is open here as it was in the parent, and whoever has it gives `forked`.
            unsafe { libc::close(*descriptor) };
        }
        descriptors.clear();
    }
    // SAFETY: the handlers are plain functions that touch an atomic and two locks, which nobody holds while it forks. If
    // registering fails (no memory), forks go undetected, as with any library without a handler.
    unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
    }
}

#[cfg(not(unix))]
fn register() {}
