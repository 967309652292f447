//! What the tests of producers and consumers share.
#![allow(dead_code)]

use rheo_core::backend::memory::MemoryBackend;
use rheo_core::backend::{
    Backend, FetchRequest, Fetched, GroupRef, NewGroup, Scan, Settled, Settlement, StreamRef, Watch,
};
use rheo_core::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Atomic};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Waker;
use std::time::{Duration, Instant};

/// Far more than anything takes, in milliseconds.
pub const SOON: u64 = 30_000;

/// An instance with a stream `s` of two partitions and a group `g`.
pub fn opened(url: &str, options: OpenOptions) -> Instance {
    filled(open(url, options).unwrap())
}

pub fn filled(db: Instance) -> Instance {
    db.create_stream("s", StreamOptions::partitions(2)).unwrap();
    db.create_group("s", "g", &GroupOptions::default()).unwrap();
    db
}

pub fn group(db: &Instance) -> Group {
    db.group("s", "g").unwrap()
}

pub fn append(db: &Instance, count: usize) {
    for n in 0..count {
        db.append("s", &Append::json(&n.to_string())).unwrap();
    }
}

pub fn leases(next: Next) -> Vec<Lease> {
    match next {
        Next::Leases(leases) => leases,
        other => panic!("{other:?}"),
    }
}

/// Counts what telemetry is told by this name.
pub fn counted(name: TelemetryName) -> (Arc<AtomicUsize>, Telemetry) {
    let count = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&count);
    let telemetry = Telemetry::new(move |event| {
        if event.name == name {
            told.fetch_add(1, Atomic::SeqCst);
        }
    });
    (count, telemetry)
}

/// Waits until something holds that other threads bring about.
pub fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_millis(SOON);
    while !what() {
        assert!(Instant::now() < end, "it never came to hold");
        std::thread::yield_now();
    }
}

/// A handler that waits to be let go.
pub fn gated() -> (impl Fn(&Lease, &Interrupt) -> Outcome + Send + Sync + 'static, Receiver<u64>, Sender<Outcome>) {
    let (entered, entries) = channel();
    let (go, gate) = channel();
    let gate = Mutex::new(gate);
    let handler = move |lease: &Lease, _: &Interrupt| {
        entered.send(lease.event().sequence()).unwrap();
        gate.lock().unwrap().recv().unwrap_or(Outcome::Ack)
    };
    (handler, entries, go)
}

/// A memory backend that shows what is called and can be told to misbehave.
pub struct Shown {
    inner: MemoryBackend,
    pub fetches: AtomicUsize,
    pub renewals: AtomicUsize,
    /// Whether it notifies.
    pub notifies: bool,
    /// A fetch that claimed something stays in here while it is set.
    pub holds_fetch: AtomicBool,
    pub is_held: AtomicBool,
    /// Settles panic.
    pub panics: AtomicBool,
    /// The next renewal panics.
    pub renew_panics: AtomicBool,
    /// Watching fails.
    pub watch_fails: AtomicBool,
}

impl Shown {
    pub fn new(notifies: bool) -> Arc<Shown> {
        Arc::new(Shown {
            inner: MemoryBackend::new(Clock::new(ClockOption::System)),
            fetches: AtomicUsize::new(0),
            renewals: AtomicUsize::new(0),
            notifies,
            holds_fetch: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            panics: AtomicBool::new(false),
            renew_panics: AtomicBool::new(false),
            watch_fails: AtomicBool::new(false),
        })
    }

    /// An instance on it, as `opened` gives one.
    pub fn open(self: &Arc<Self>) -> Instance {
        filled(Instance::with_backend(Arc::clone(self) as Arc<dyn Backend>, OpenOptions::new()).unwrap())
    }
}

impl Backend for Shown {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn ping(&self) -> Result<()> {
        self.inner.ping()
    }

    fn now(&self) -> Result<Timestamp> {
        self.inner.now()
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }

    fn create_stream(&self, stream: StreamRef<'_>, options: &StreamOptions) -> Result<()> {
        self.inner.create_stream(stream, options)
    }

    fn delete_stream(&self, stream: StreamRef<'_>) -> Result<()> {
        self.inner.delete_stream(stream)
    }

    fn create_group(&self, group: GroupRef<'_>, new: &NewGroup) -> Result<()> {
        self.inner.create_group(group, new)
    }

    fn update_group(&self, group: GroupRef<'_>, update: &GroupUpdate) -> Result<()> {
        self.inner.update_group(group, update)
    }

    fn delete_group(&self, group: GroupRef<'_>) -> Result<()> {
        self.inner.delete_group(group)
    }

    fn append(&self, stream: StreamRef<'_>, items: &[Append<'_>], emit: &mut dyn FnMut(Event)) -> Result<()> {
        self.inner.append(stream, items, emit)
    }

    fn read(&self, stream: StreamRef<'_>, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>> {
        self.inner.read(stream, partition, after, limit)
    }

    fn get(&self, stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>> {
        self.inner.get(stream, event_id)
    }

    fn partition_count(&self, stream: StreamRef<'_>) -> Result<u32> {
        self.inner.partition_count(stream)
    }

    fn scan(
        &self,
        stream: StreamRef<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<()> {
        self.inner.scan(stream, scan, visit)
    }

    fn trim(&self, stream: StreamRef<'_>, trim: &Trim, force: bool) -> Result<u64> {
        self.inner.trim(stream, trim, force)
    }

    fn fetch(&self, group: GroupRef<'_>, request: &FetchRequest<'_>, leases: &mut Vec<Lease>) -> Result<Fetched> {
        self.fetches.fetch_add(1, Atomic::SeqCst);
        let fetched = self.inner.fetch(group, request, leases);
        if !leases.is_empty() && self.holds_fetch.load(Atomic::SeqCst) {
            self.is_held.store(true, Atomic::SeqCst);
            until(|| !self.holds_fetch.load(Atomic::SeqCst));
        }
        fetched
    }

    fn settle(
        &self,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) -> Result<()> {
        assert!(!self.panics.load(Atomic::SeqCst), "the backend has a bug");
        self.inner.settle(tokens, settlement, results)
    }

    fn renew(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()> {
        self.renewals.fetch_add(1, Atomic::SeqCst);
        assert!(!self.renew_panics.swap(false, Atomic::SeqCst), "a test");
        self.inner.renew(tokens, lease_ms, results)
    }

    fn lag(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag> {
        self.inner.lag(group, partitions)
    }

    fn group_info(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        self.inner.group_info(group, partitions)
    }

    fn replay(&self, group: GroupRef<'_>, what: Replay<'_>, partitions: Option<&[u32]>) -> Result<u64> {
        self.inner.replay(group, what, partitions)
    }

    fn reset_group(&self, group: GroupRef<'_>, start: &Start) -> Result<()> {
        self.inner.reset_group(group, start)
    }

    fn watch(&self, group: GroupRef<'_>, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        if self.watch_fails.load(Atomic::SeqCst) {
            return Err(Error::new(ErrorCode::BackendUnavailable, "a test"));
        }
        match self.notifies {
            true => self.inner.watch(group, partitions, waker),
            false => Err(Error::unsupported("watch")),
        }
    }
}
