//! The library's locks, and the word to a host before a thread waits.
//!
//! A host is an interpreter that has a lock of its own, which a thread should hold through work that only computes and must
//! give up for what really waits: [`set_before_wait`] tells it in time. The locks here are parking_lot's; what they add is
//! that word, and it costs nothing while nobody else holds the lock.

use parking_lot::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use std::sync::OnceLock;

static BEFORE_WAIT: OnceLock<fn()> = OnceLock::new();

/// Sets what is called on a thread of the process before it waits: for a lock that another thread holds, for a sync, for
/// work to fetch. It may be called several times in one operation, and with locks of the library held, so it must neither wait
/// nor call back in; a host gives up its own lock there, and takes it again after the operation.
///
/// Returns whether it was set; only the first call sets it.
pub fn set_before_wait(hook: fn()) -> bool {
    BEFORE_WAIT.set(hook).is_ok()
}

/// To be called before this thread waits.
#[cold]
#[inline(never)]
pub(crate) fn before_wait() {
    if let Some(hook) = BEFORE_WAIT.get() {
        hook();
    }
}

/// A mutex.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex(parking_lot::Mutex::new(value))
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.try_lock() {
            Some(guard) => guard,
            None => self.lock_held(),
        }
    }

    #[cold]
    fn lock_held(&self) -> MutexGuard<'_, T> {
        before_wait();
        self.0.lock()
    }
}

/// A lock for many readers or one writer.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(parking_lot::RwLock<T>);

impl<T> RwLock<T> {
    #[inline]
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.try_read().unwrap_or_else(|| {
            before_wait();
            self.0.read()
        })
    }

    #[inline]
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.try_write().unwrap_or_else(|| {
            before_wait();
            self.0.write()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    thread_local! {
        static TOLD: Cell<u32> = const { Cell::new(0) };
        static LET_GO: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
    }

    /// Counts, and lets whoever holds the lock let it go.
    fn told() {
        TOLD.set(TOLD.get() + 1);
        LET_GO.with_borrow(|let_go| let_go.as_ref().map(|let_go| let_go.send(())));
    }

    /// How often the host was told while `take` took what another thread held with `hold`.
    fn told_of<T: Send + Sync + 'static>(
        lock: T,
        hold: impl FnOnce(&T, &dyn Fn()) + Send + 'static,
        take: impl Fn(&T),
    ) {
        let lock = Arc::new(lock);
        take(&lock);
        assert_eq!(TOLD.get(), 0, "nobody held it");
        let (held, wait_for_held) = channel();
        let (let_go, wait_for_let_go) = channel();
        let thread = std::thread::spawn({
            let lock = Arc::clone(&lock);
            move || {
                hold(&lock, &|| {
                    held.send(()).unwrap();
                    wait_for_let_go.recv().unwrap();
                });
            }
        });
        wait_for_held.recv().unwrap();
        LET_GO.set(Some(let_go));
        take(&lock);
        LET_GO.take();
        thread.join().unwrap();
        assert_eq!(TOLD.replace(0), 1);
    }

    #[test]
    fn the_host_is_told_before_a_wait_for_a_held_lock() {
        set_before_wait(told);
        assert!(!set_before_wait(|| {}), "it is set once");
        let hold = |lock: &Mutex<()>, meanwhile: &dyn Fn()| {
            let _guard = lock.lock();
            meanwhile();
        };
        told_of(Mutex::new(()), hold, |lock| drop(lock.lock()));
        let hold = |lock: &RwLock<()>, meanwhile: &dyn Fn()| {
            let _guard = lock.write();
            meanwhile();
        };
        told_of(RwLock::default(), hold, |lock| drop(lock.read()));
        told_of(RwLock::default(), hold, |lock| drop(lock.write()));
    }
}
