//! The instances of this process that have a name.
//!
//! The registry keeps nobody alive: a name is found until its instance is closed or its last handle is dropped. What was
//! open before this process was forked off counts as not open here.

use crate::instance::Operations;
use parking_lot::lock_api::{GuardSend, Mutex, RawMutex};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

type Registry = BTreeMap<String, Weak<Operations>>;

static NAMED: Mutex<Spin, Registry> = Mutex::new(BTreeMap::new());

/// A lock without any bookkeeping elsewhere: the one lock that a forked child gives back although a thread of its parent
/// may have been waiting for it. It is held for a look-up.
struct Spin(AtomicBool);

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

/// The open instance of this name.
pub(crate) fn find(name: &str) -> Option<Arc<Operations>> {
    find_in(&NAMED.lock(), name)
}

fn find_in(named: &Registry, name: &str) -> Option<Arc<Operations>> {
    named.get(name)?.upgrade().filter(|operations| operations.is_open_here())
}

/// Gives an instance its name, unless another one has it.
pub(crate) fn add(name: &str, operations: &Arc<Operations>) -> bool {
    let mut named = NAMED.lock();
    let taken = find_in(&named, name);
    if taken.is_none() {
        named.insert(name.to_owned(), Arc::downgrade(operations));
    }
    // Dropped last, should it be the last handle: closing looks into the registry.
    drop(named);
    taken.is_none()
}

/// Takes a name back from the instance that had it. Another one may have it by now.
pub(crate) fn remove(name: &str, operations: &Operations) {
    let mut named = NAMED.lock();
    if named.get(name).is_some_and(|known| std::ptr::eq(known.as_ptr(), operations)) {
        named.remove(name);
    }
}

/// Waits until nobody uses the registry and keeps it so: called before a fork, or the child might find it locked for ever.
pub(crate) fn lock_for_fork() {
    // SAFETY: the lock is given back by `unlock_after_fork`, in the parent and in the child.
    unsafe { NAMED.raw() }.lock();
}

/// Called after a fork, on both sides, by the thread that forked.
pub(crate) fn unlock_after_fork() {
    // SAFETY: `lock_for_fork` took it, in this thread; nobody has a guard.
    unsafe { NAMED.force_unlock() };
}
