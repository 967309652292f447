//! How a thread waits for something to become claimable, and how another thread ends that wait.

use crate::lock::before_wait;
use crate::wakers::{Wakers, wake_all};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Instant;

/// Ends waits from another thread. Clones are the same interrupt.
///
/// A fetch that waits under an interrupt returns what it has, usually nothing, once the interrupt is fired; a
/// fired interrupt ends every later wait at once until it is reset.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<InterruptState>);

#[derive(Default)]
struct InterruptState {
    fired: AtomicBool,
    wakers: Wakers<()>,
}

impl Interrupt {
    /// An interrupt that has not been fired.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Ends every wait under this interrupt, now and until it is reset. Any thread.
    pub fn fire(&self) {
        self.set();
        self.wake();
    }

    /// The first half of firing: takes no lock and runs nobody's code.
    pub(crate) fn set(&self) {
        self.0.fired.store(true, Ordering::SeqCst);
    }

    /// The second half: wakes who watches.
    pub(crate) fn wake(&self) {
        if !self.0.wakers.is_empty() {
            wake_all(self.0.wakers.matching(|()| true));
        }
    }

    /// Lets waits wait again.
    pub fn reset(&self) {
        self.0.fired.store(false, Ordering::SeqCst);
    }

    /// Whether it has been fired and not reset since.
    pub fn is_fired(&self) -> bool {
        self.0.fired.load(Ordering::SeqCst)
    }

    /// Registers a waker, called when the interrupt is fired (any number of times, also without cause), until the guard is dropped. Who
    /// registers looks afterwards whether it has been fired already.
    pub fn watch(&self, waker: Waker) -> InterruptWatch {
        InterruptWatch { number: self.0.wakers.add((), waker), interrupt: self.clone() }
    }
}

/// Stops watching an interrupt when it is dropped.
pub struct InterruptWatch {
    interrupt: Interrupt,
    number: u64,
}

impl Drop for InterruptWatch {
    fn drop(&mut self) {
        self.interrupt.0.wakers.remove(self.number);
    }
}

/// A waker that wakes one waiting thread.
#[derive(Default)]
pub(crate) struct Parker {
    woken: Mutex<bool>,
    condition: Condvar,
}

impl Parker {
    /// Waits until woken or until the deadline; a wake since the last wait counts.
    pub(crate) fn wait_until(&self, deadline: Instant) {
        before_wait();
        let mut woken = self.woken.lock();
        while !*woken && !self.condition.wait_until(&mut woken, deadline).timed_out() {}
        *woken = false;
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.woken.lock() = true;
        self.condition.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_wake_before_the_wait_counts_once() {
        let parker = Arc::new(Parker::default());
        Waker::from(Arc::clone(&parker)).wake();
        parker.wait_until(Instant::now() + Duration::from_secs(3600));
        parker.wait_until(Instant::now());
    }

    #[test]
    fn an_interrupt_wakes_whoever_watches_it() {
        let interrupt = Interrupt::new();
        let parker = Arc::new(Parker::default());
        let watch = interrupt.watch(Arc::clone(&parker).into());
        interrupt.fire();
        parker.wait_until(Instant::now() + Duration::from_secs(3600));
        assert!(interrupt.is_fired());
        drop(watch);
        interrupt.reset();
        interrupt.fire();
        assert!(!*parker.woken.lock());
    }
}
