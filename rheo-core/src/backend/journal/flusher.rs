//! The thread that syncs what nobody waits for: settles and claims under `always`, everything under `interval`.

use super::log::{Log, Lost};
use crate::error::Result;
use crate::lock::Mutex;
use parking_lot::Condvar;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Something that can be synced.
pub(super) trait Flush: Send + Sync {
    fn flush(&self) -> Result<()>;
}

impl<L: Lost> Flush for Log<L> {
    fn flush(&self) -> Result<()> {
        self.sync_written()
    }
}

pub(super) struct Flusher {
    delay: Duration,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    dirty: Vec<Weak<dyn Flush>>,
    is_stopped: bool,
}

impl Flusher {
    /// One that syncs what it is told of after this time. Its thread begins with the first.
    pub(super) fn new(delay: Duration) -> Flusher {
        Flusher { delay, shared: Arc::default(), thread: Mutex::new(None) }
    }

    /// Takes note of a log that has something unsynced; it need not be told again until that is synced.
    pub(super) fn tell(&self, log: Weak<dyn Flush>) {
        {
            let mut state = self.shared.state.lock();
            if state.is_stopped {
                return;
            }
            state.dirty.push(log);
        }
        self.shared.changed.notify_one();
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (shared, delay) = (Arc::clone(&self.shared), self.delay);
            let named = std::thread::Builder::new().name("rheo-journal".to_owned());
            // Without a thread, what is written is synced by the next that waits for a sync, or at the end.
            *thread = named.spawn(move || shared.run(delay)).ok();
        }
    }

    /// Ends the thread. What it was told of stays as it is.
    pub(super) fn stop(&self) {
        self.shared.state.lock().is_stopped = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().take();
        // It may be the thread itself that drops the last of a journal.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, delay: Duration) {
        let mut state = self.state.lock();
        while !state.is_stopped {
            if state.dirty.is_empty() {
                self.changed.wait(&mut state);
                continue;
            }
            let until = std::time::Instant::now() + delay;
            while !state.is_stopped && !self.changed.wait_until(&mut state, until).timed_out() {}
            let dirty = std::mem::take(&mut state.dirty);
            drop(state);
            for log in dirty.iter().filter_map(Weak::upgrade) {
                // What fails poisons the journal: the next operation says so.
                let _ = log.flush();
            }
            state = self.state.lock();
        }
    }
}
