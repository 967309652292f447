//! The instances of this process that have a name.
//!
//! The registry keeps nobody alive: a name is found until its instance is closed or its last handle is dropped. What was
//! open before this process was forked off counts as not open here.

use crate::fork::Spin;
use crate::instance::Operations;
use parking_lot::lock_api::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

type Registry = BTreeMap<String, Weak<Operations>>;

static NAMED: Mutex<Spin, Registry> = Mutex::new(BTreeMap::new());

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

/// The lock of the registry, for a fork.
pub(crate) fn lock() -> &'static Spin {
    // SAFETY: only its address is taken; who locks and unlocks it is `fork`.
    unsafe { NAMED.raw() }
}
