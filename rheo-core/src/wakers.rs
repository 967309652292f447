//! A set of wakers, each with what it waits for. Costs whoever wakes one load while nobody waits.

use crate::lock::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

/// Wakers by what they wait for.
pub(crate) struct Wakers<K> {
    /// How many are registered. Raised before the registration returns.
    count: AtomicUsize,
    inner: Mutex<Inner<K>>,
}

struct Inner<K> {
    next: u64,
    entries: Vec<(u64, K, Waker)>,
}

impl<K> Default for Wakers<K> {
    fn default() -> Wakers<K> {
        Wakers { count: AtomicUsize::new(0), inner: Mutex::new(Inner { next: 0, entries: Vec::new() }) }
    }
}

impl<K> Wakers<K> {
    /// Registers a waker and returns the number that [`remove`](Wakers::remove) takes.
    pub(crate) fn add(&self, what: K, waker: Waker) -> u64 {
        let mut inner = self.inner.lock();
        let number = inner.next;
        inner.next += 1;
        inner.entries.push((number, what, waker));
        self.count.store(inner.entries.len(), Ordering::SeqCst);
        number
    }

    /// Removes a waker. It may still be called by somebody who had looked it up before.
    pub(crate) fn remove(&self, number: u64) {
        let mut inner = self.inner.lock();
        let removed =
            inner.entries.iter().position(|(known, ..)| *known == number).map(|at| inner.entries.swap_remove(at));
        self.count.store(inner.entries.len(), Ordering::SeqCst);
        // Dropping a waker may run its owner's code.
        drop(inner);
        drop(removed);
    }

    /// Whether nobody waits. An answer for those who have changed what there is to fetch under a lock that the fetch of a
    /// waiter takes too: that lock orders the change, this look and the registration.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// The wakers that wait for this, to be called when no lock is held. Takes the lock of the set, which orders whatever
    /// was changed before against the registration of those who look for it after.
    #[must_use]
    pub(crate) fn matching(&self, matches: impl Fn(&K) -> bool) -> Vec<Waker> {
        self.inner.lock().entries.iter().filter(|(_, what, _)| matches(what)).map(|(.., waker)| waker.clone()).collect()
    }
}

/// Calls wakers; no lock is held.
#[inline]
pub(crate) fn wake_all(wakers: Vec<Waker>) {
    if !wakers.is_empty() {
        wakers.into_iter().for_each(Waker::wake);
    }
}
