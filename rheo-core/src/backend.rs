//! The contract of a backend: what Rheo needs of a store, not how the store does it.
//!
//! A backend knows the values and this trait, nothing of handles or languages. The facade
//! ([`Instance`](crate::Instance)) has checked the *form* of every argument before a backend sees it: names,
//! limits, options that exclude each other, `partitions` sorted and without duplicates. The backend answers
//! what only it can know, in this order: stream, group, range.
//!
//! The trait is batch-first: append, settle and renew take many, one is a batch of one. A backend calls
//! wakers, and the visitor of `scan`, without holding a lock.

#[cfg(feature = "test-backends")]
pub mod flaky;
pub mod journal;
pub mod memory;
#[cfg(feature = "test-backends")]
pub mod native_stream_double;

use crate::append::Append;
use crate::capabilities::Capabilities;
use crate::dead_letter::{DeadLetter, DeadLetterOptions, Discard};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fork::Leaked;
use crate::group::{GroupInfo, GroupSettings, GroupUpdate, Start};
use crate::lag::Lag;
use crate::lease::{Lease, LeaseToken};
use crate::query::Query;
use crate::replay::Replay;
use crate::stream::{StreamInfo, StreamOptions, Trim};
use crate::timestamp::Timestamp;
use std::any::{Any, TypeId};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

/// A place where a backend may keep what it found for a name, so that a bound handle or a lease resolves its
/// names once. A backend that looks everything up by name, or in a store elsewhere, leaves it empty.
///
/// What lies in it may come from another backend or be out of date (the stream was deleted and created
/// anew): a backend checks what it finds, and goes by the names when it does not fit.
#[derive(Default)]
pub struct Binding(OnceLock<Kept>);

struct Kept {
    /// Of which type the value is. Asking the value itself is a call through its vtable, on the hottest paths.
    type_id: TypeId,
    value: Arc<dyn Any + Send + Sync>,
}

impl Kept {
    fn new<T: Any + Send + Sync>(value: Arc<T>) -> Kept {
        Kept { type_id: TypeId::of::<T>(), value }
    }
}

impl Binding {
    /// A binding that holds this from the start.
    pub fn holding<T: Any + Send + Sync>(value: Arc<T>) -> Binding {
        Binding(OnceLock::from(Kept::new(value)))
    }

    /// What was kept, if it is of this type.
    #[inline]
    pub fn get<T: Any>(&self) -> Option<&T> {
        let kept = self.0.get()?;
        // SAFETY: the value is a `T`: `new` took the type id from the type that it was given.
        (kept.type_id == TypeId::of::<T>()).then(|| unsafe { &*Arc::as_ptr(&kept.value).cast::<T>() })
    }

    /// Whether something is kept.
    pub fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Keeps something, unless something is kept already.
    pub fn set<T: Any + Send + Sync>(&self, value: Arc<T>) {
        // A race between two first users is won by either: both found the same.
        let _ = self.0.set(Kept::new(value));
    }
}

/// A stream by its name, with the binding of the handle it came through, if it came through one.
#[derive(Clone, Copy)]
pub struct StreamRef<'a> {
    /// The stream's name.
    pub name: &'a str,
    /// Where the backend may keep what it found.
    pub binding: Option<&'a Binding>,
}

/// A group by its names, with the binding of the handle it came through, if it came through one.
#[derive(Clone, Copy)]
pub struct GroupRef<'a> {
    /// The stream's name.
    pub stream: &'a str,
    /// The group's name.
    pub name: &'a str,
    /// Where the backend may keep what it found.
    pub binding: Option<&'a Binding>,
}

/// How a group is created, as a backend gets it.
#[derive(Clone, Debug)]
pub struct NewGroup {
    /// The group's standing options.
    pub settings: GroupSettings,
    /// Where it begins. Partitions that it does not cover begin at the beginning.
    pub start: Start,
}

/// What a fetch asks for, as a backend gets it.
#[derive(Clone, Copy)]
pub struct FetchRequest<'a> {
    /// The most leases to give, 1 to 10,000.
    pub limit: usize,
    /// How long the leases last, in milliseconds.
    pub lease_ms: u64,
    /// Who takes them.
    pub consumer_id: &'a Arc<str>,
    /// Only from these partitions (sorted, no duplicates, not empty); from all when missing.
    pub partitions: Option<&'a [u32]>,
}

/// How a claim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement<'a> {
    /// Done: the delivery is terminal.
    Ack,
    /// Available again after a delay; dead-lettered at `max_attempts` (contract 4.4).
    Retry {
        /// Why, cut to what is kept.
        reason: &'a str,
        /// When it becomes available, in milliseconds from now.
        delay_ms: u64,
    },
    /// Dead-lettered.
    Reject {
        /// Why, cut to what is kept.
        reason: &'a str,
    },
    /// Available at once; this attempt does not count.
    Release,
}

/// What a fetch found besides the leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// In how long something may become claimable by time alone, if the fetch gave nothing and the backend knows: the
    /// earliest expiry or due retry.
    pub next_due: Option<Duration>,
    /// How many deliveries it dead-lettered because of `max_deliveries`.
    pub dead_letters: u64,
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Settled {
    /// As it was asked for.
    #[default]
    Done,
    /// As a dead letter: it was rejected, or a retry ran into `max_attempts`.
    DeadLettered,
}

/// Which operations of a backend may wait for a device, a network or another process. The others only compute (and may wait
/// for a moment for a thread that does): an event loop can call them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Appends, and everything that changes streams and groups by hand.
    pub appends: bool,
    /// Fetching, settling and renewing.
    pub deliveries: bool,
    /// Reading, and asking for what there is.
    pub reads: bool,
}

impl Blocking {
    /// Nothing waits.
    pub const NOTHING: Blocking = Blocking { appends: false, deliveries: false, reads: false };
    /// Everything may wait.
    pub const EVERYTHING: Blocking = Blocking { appends: true, deliveries: true, reads: true };
}

/// Which events to visit, as a backend gets it.
pub struct Scan<'a> {
    /// The query. A backend may leave out what it can tell not to match; the facade decides by itself what does.
    pub query: &'a Query,
    /// By partition, the sequence after which to begin or, descending, before reaching which to end (exclusive either
    /// way). Partitions that are left out are not visited.
    pub positions: &'a [(u32, u64)],
    /// Visit descending by sequence instead of ascending; ties ascend by partition either way.
    pub descending: bool,
}

/// Stops watching when it is dropped.
pub struct Watch {
    _registration: Leaked<Box<dyn Any + Send + Sync>>,
}

impl Watch {
    /// A watch that ends when `registration` is dropped.
    pub fn new(registration: impl Any + Send + Sync) -> Watch {
        Watch { _registration: Leaked::new(Box::new(registration)) }
    }
}

/// A store of streams, groups and deliveries. Any thread may call any method at any time.
pub trait Backend: Send + Sync + 'static {
    /// What the backend guarantees and how. Static: always the same value.
    fn capabilities(&self) -> Capabilities;

    /// Which operations may wait for something outside this process. Static. Of a backend that does not say, everything.
    fn blocking(&self) -> Blocking {
        Blocking::EVERYTHING
    }

    /// Whether the store answers.
    ///
    /// # Errors
    /// `backend_unavailable`, `timeout`.
    fn ping(&self) -> Result<()>;

    /// Creates what the store needs to work (schema, indexes, scripts). Idempotent.
    ///
    /// # Errors
    /// `backend_unavailable`, `failed`, `version_mismatch`.
    fn ensure_indexes(&self) -> Result<()> {
        Ok(())
    }

    /// The time by which this instance is judged: the manual clock's, else the store's.
    ///
    /// # Errors
    /// `backend_unavailable`, `timeout`.
    fn now(&self) -> Result<Timestamp>;

    /// Moves the manual clock, wakes every waiter, and returns the new time.
    ///
    /// # Errors
    /// `unsupported` unless the backend was opened with a manual clock.
    fn advance_clock(&self, by: Duration) -> Result<Timestamp> {
        let _ = by;
        Err(Error::unsupported("a manual clock"))
    }

    /// Flushes, gives resources up and wakes every waiter, also when it fails. Called once; later calls do not reach
    /// the backend.
    ///
    /// # Errors
    /// `failed`, `ambiguous` when flushing did.
    fn close(&self) -> Result<()>;

    /// Creates a stream.
    ///
    /// # Errors
    /// `already_exists`.
    fn create_stream(&self, stream: StreamRef<'_>, options: &StreamOptions) -> Result<()>;

    /// Deletes a stream with its events and groups; waiters wake and find it gone.
    ///
    /// # Errors
    /// `stream_not_found`.
    fn delete_stream(&self, stream: StreamRef<'_>) -> Result<()>;

    /// What there is to know of a stream.
    ///
    /// # Errors
    /// `stream_not_found`; `unsupported` where the store cannot tell.
    fn stream_info(&self, stream: StreamRef<'_>) -> Result<StreamInfo> {
        let _ = stream;
        Err(Error::unsupported("stream_info"))
    }

    /// The names of the streams, sorted by code point.
    ///
    /// # Errors
    /// `unsupported` where the store cannot tell.
    fn list_streams(&self) -> Result<Vec<String>> {
        Err(Error::unsupported("list_streams"))
    }

    /// Creates a group.
    ///
    /// # Errors
    /// `stream_not_found`, `already_exists`, `invalid_partition`.
    fn create_group(&self, group: GroupRef<'_>, new: &NewGroup) -> Result<()>;

    /// Changes a group's limits.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`.
    fn update_group(&self, group: GroupRef<'_>, update: &GroupUpdate) -> Result<()>;

    /// Deletes a group; waiters wake and find it gone.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`.
    fn delete_group(&self, group: GroupRef<'_>) -> Result<()>;

    /// The names of a stream's groups, sorted by code point.
    ///
    /// # Errors
    /// `stream_not_found`; `unsupported` where the store cannot tell.
    fn list_groups(&self, stream: StreamRef<'_>) -> Result<Vec<String>> {
        let _ = stream;
        Err(Error::unsupported("list_groups"))
    }

    /// Appends events, all or nothing, and then calls `emit` with the event of each item, in order. An explicit
    /// id that the stream holds, or that an earlier item of the batch has, appends nothing and gives the event
    /// that stands, marked as deduplicated. [`Append::route`] finds each item's partition. `emit` only keeps
    /// what it is given, so that it may be called with a lock held, and spares a list where there is one item.
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_partition`; nothing is appended then.
    fn append(&self, stream: StreamRef<'_>, items: &[Append<'_>], emit: &mut dyn FnMut(Event)) -> Result<()>;

    /// The events of a partition after a sequence, ascending.
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_partition`.
    fn read(&self, stream: StreamRef<'_>, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>>;

    /// The event with this id.
    ///
    /// # Errors
    /// `stream_not_found`.
    fn get(&self, stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>>;

    /// The number of partitions of a stream.
    ///
    /// # Errors
    /// `stream_not_found`.
    fn partition_count(&self, stream: StreamRef<'_>) -> Result<u32>;

    /// Visits the events of some partitions in the order of (sequence, partition) until there are no more or the
    /// visitor breaks. What is visited are at least the events that match and that were visible at the call.
    ///
    /// # Errors
    /// `stream_not_found`.
    fn scan(
        &self,
        stream: StreamRef<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Removes old events and returns how many (contract 4.12).
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_partition`.
    fn trim(&self, stream: StreamRef<'_>, trim: &Trim, force: bool) -> Result<u64>;

    /// Claims what is claimable and pushes the leases onto `leases` (empty on entry): lowest sequence first in a
    /// partition, fair across partitions.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`.
    fn fetch(&self, group: GroupRef<'_>, request: &FetchRequest<'_>, leases: &mut Vec<Lease>) -> Result<Fetched>;

    /// Ends claims. `results` has one place per token, `Done` on entry; the backend writes what differs. One that
    /// fails changes nothing for the others; the same token twice succeeds once.
    ///
    /// # Errors
    /// Per token: `stream_not_found`, `group_not_found`, `stale_lease`, `receipt_mismatch`. For the whole call
    /// only what keeps all of it from being done: `backend_unavailable`, `failed`, `ambiguous`, `timeout`.
    fn settle(&self, tokens: &[&LeaseToken], settlement: Settlement<'_>, results: &mut [Result<Settled>])
    -> Result<()>;

    /// Extends claims to `lease_ms` from now (each one's own when missing). `results` has one place per token;
    /// the backend writes the new `expires_at` or the error.
    ///
    /// # Errors
    /// As [`settle`](Backend::settle).
    fn renew(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()>;

    /// Frontier and high watermark of some partitions (all when missing).
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`.
    fn lag(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag>;

    /// What there is to know of a group, over some partitions (all when missing).
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`; `unsupported` where the store cannot tell.
    fn group_info(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        let _ = (group, partitions);
        Err(Error::unsupported("group_info"))
    }

    /// The dead letters, ordered by (partition, sequence). `limit` and `partitions` of the options are as the
    /// facade leaves them: the limit is given, the partitions are sorted and without duplicates.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`, `cursor_not_found`; `unsupported` where the
    /// store cannot tell.
    fn dead_letters(&self, group: GroupRef<'_>, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        let _ = (group, options);
        Err(Error::unsupported("dead_letters"))
    }

    /// Forgets dead letters for good and returns how many.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`; `unsupported` where the store cannot.
    fn discard_dead_letters(&self, group: GroupRef<'_>, which: Discard<'_>) -> Result<u64> {
        let _ = (group, which);
        Err(Error::unsupported("discard_dead_letters"))
    }

    /// Makes deliveries available again and returns how many (contract 4.7).
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`.
    fn replay(&self, group: GroupRef<'_>, what: Replay<'_>, partitions: Option<&[u32]>) -> Result<u64>;

    /// Clears a group's state in a scope and moves its cursor (contract 4.8).
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`.
    fn reset_group(&self, group: GroupRef<'_>, start: &Start) -> Result<()>;

    /// Registers a waker, called (any number of times, also without cause) when something in these partitions (all
    /// when missing) may have become claimable, when the time that `fetch` returned may have moved closer, and
    /// when the group, the stream or the backend is gone.
    ///
    /// What was appended after `watch` returned wakes. What became claimable before is found by a fetch: watch
    /// first, then fetch, then wait.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`; `unsupported` where the store has no
    /// notifications: waiting polls then.
    fn watch(&self, group: GroupRef<'_>, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        let _ = (group, partitions, waker);
        Err(Error::unsupported("watch"))
    }
}
