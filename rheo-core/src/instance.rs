//! The handle: opening, naming and closing instances, and the facade that checks the form of every argument
//! and then asks the backend.
//!
//! Every operation is written once, in [`Operations`], over a name or a bound handle alike. [`Instance`],
//! [`Stream`](crate::Stream) and [`Group`](crate::Group) only say which of the two.

use crate::append::{Append, AppendOptions};
use crate::backend::journal::files::SystemFiles;
use crate::backend::memory::MemoryBackend;
use crate::backend::{
    Backend, Blocking, FetchRequest, Fetched, GroupRef, NewGroup, Settled, Settlement, StreamRef, Watch,
};
use crate::bound::{Group, Stream};
use crate::capabilities::Capabilities;
use crate::clock::{Clock, ClockOption};
use crate::dead_letter::{DeadLetter, DeadLetterOptions, Discard};
use crate::delivery::{FetchOptions, ReadOptions, RetryOptions};
use crate::error::{Error, ErrorCode, Result};
use crate::event::Event;
use crate::fork::Leaked;
use crate::group::{GroupInfo, GroupOptions, GroupSettings, GroupUpdate, check_max_attempts, partition_set};
use crate::lag::Lag;
use crate::lease::{Lease, LeaseId, LeaseToken};
use crate::limits;
use crate::named;
use crate::options::OpenOptions;
use crate::query::Query;
use crate::query::run::{self, EventStream, Page};
use crate::replay::{Replay, ReplayOptions, ResetOptions, confirm_required};
use crate::runtime::Timer;
use crate::stream::{StreamInfo, StreamOptions, TrimOptions};
use crate::telemetry::{At, Telemetry, TelemetryName};
use crate::timestamp::Timestamp;
use crate::wait::Parker;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

/// How often a wait looks again where the backend cannot notify.
const POLL: Duration = Duration::from_millis(200);

/// Opens an instance. `url` is `memory:` or `journal:PATH` (other schemes come with other builds).
///
/// A journal is a directory, made if it is not there. Behind a `?` may come options by name, as [`OpenOptions::set`] takes
/// them, joined by `&`; they win over `options`. `mode=ro` opens a journal that nobody else has open to be read, without
/// changing a byte.
///
/// # Errors
/// `invalid_argument` for a malformed URL or option, `unsupported` for a scheme that this build lacks,
/// `already_exists` when an instance of that name is open; of a journal `locked` when it is open elsewhere, `corrupt`,
/// `version_mismatch`, and `failed` with the system's words.
///
/// ```
/// let db = rheo_core::open("memory:", rheo_core::OpenOptions::new())?;
/// db.create_stream("orders", rheo_core::StreamOptions::partitions(4))?;
/// # Ok::<(), rheo_core::Error>(())
/// ```
pub fn open(url: &str, mut options: OpenOptions) -> Result<Instance> {
    let backend = open_backend(url, &mut options)?;
    Instance::with_backend(backend, options)
}

fn open_backend(url: &str, options: &mut OpenOptions) -> Result<Arc<dyn Backend>> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(Error::invalid(format!("{url:?} is not a backend's URL; memory: and journal:PATH are")));
    };
    if scheme == "journal" {
        return open_journal(url, rest, options);
    }
    options.check()?;
    if scheme != "flaky"
        && let Some(name) = options.journal.given()
    {
        return Err(Error::invalid(format!("{name} is an option of a journal; {url:?} is none")));
    }
    match scheme {
        "memory" if rest.is_empty() => Ok(Arc::new(MemoryBackend::new(Clock::new(options.clock)))),
        "memory" => Err(Error::invalid(format!("{url:?}: memory: takes nothing after the colon"))),
        #[cfg(feature = "test-backends")]
        "native-stream-double" if rest.is_empty() => {
            use crate::backend::native_stream_double::NativeStreamDouble;
            Ok(Arc::new(NativeStreamDouble::new(Clock::new(options.clock))))
        }
        #[cfg(feature = "test-backends")]
        "native-stream-double" => Err(Error::invalid(format!("{url:?}: it takes nothing after the colon"))),
        #[cfg(feature = "test-backends")]
        "flaky" => Ok(Arc::new(crate::backend::flaky::Flaky::new(open_backend(rest, options)?))),
        #[cfg(not(feature = "test-backends"))]
        "native-stream-double" | "flaky" => Err(lacking(scheme, "test-backends")),
        "sqlite" => Err(lacking(scheme, scheme)),
        "redis" | "rediss" => Err(lacking(scheme, "redis")),
        "postgres" | "postgresql" => Err(lacking(scheme, "postgres")),
        _ => Err(Error::invalid(format!("{scheme:?} is not the scheme of a backend; memory and journal are two"))),
    }
}

/// Opens `journal:PATH`, or `journal:PATH?name=value&…`.
fn open_journal(url: &str, rest: &str, options: &mut OpenOptions) -> Result<Arc<dyn Backend>> {
    let (path, given) = rest.split_once('?').unwrap_or((rest, ""));
    if path.is_empty() {
        return Err(Error::invalid(format!("{url:?} has no path; it is journal:PATH")));
    }
    let mut is_read_only = false;
    for option in given.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("mode", "ro")) => is_read_only = true,
            Some(("mode", "rw")) => is_read_only = false,
            Some(("mode", mode)) => return Err(Error::invalid(format!("mode is {mode:?}; it takes rw or ro"))),
            Some((name, value)) => options.set(name, value)?,
            None => return Err(Error::invalid(format!("{option:?} in {url:?} has no value; it is name=value"))),
        }
    }
    options.check()?;
    let journal = options.journal.with_defaults(is_read_only);
    let clock = Clock::new(options.clock);
    // Files are opened by it later, too, when the process may have gone elsewhere.
    let path = std::path::absolute(path)
        .map_err(|error| Error::invalid(format!("{path:?} is no path: {error}; give an absolute one")))?;
    Ok(Arc::new(MemoryBackend::open_journal(Arc::new(SystemFiles), &path, journal, clock)?))
}

fn lacking(scheme: &str, feature: &str) -> Error {
    Error::new(
        ErrorCode::Unsupported,
        format!("this build cannot open {scheme}: URLs; use one with the feature {feature:?}"),
    )
}

/// The open instance of this name; nothing when there is none.
///
/// An instance is found until it is closed or its last handle is dropped.
pub fn get(name: &str) -> Option<Instance> {
    named::find(name).map(|operations| Instance { operations })
}

/// One opened backend. Clones are handles of the same instance; any thread may use any of them at any time.
///
/// Dropping the last handle closes the instance; [`close`](Instance::close) says whether that went well.
#[derive(Clone)]
pub struct Instance {
    operations: Arc<Operations>,
}

/// A handle that keeps nothing open: for lists of what is open.
#[derive(Clone)]
pub struct WeakInstance {
    operations: Weak<Operations>,
}

impl WeakInstance {
    /// The instance, unless its last handle was dropped.
    pub fn upgrade(&self) -> Option<Instance> {
        self.operations.upgrade().map(|operations| Instance { operations })
    }
}

/// Every operation, with the checks of form that all backends share.
pub(crate) struct Operations {
    backend: Leaked<Arc<dyn Backend>>,
    options: OpenOptions,
    consumer_id: Arc<str>,
    closed: AtomicBool,
    /// Made by the first producer or consumer.
    timer: OnceLock<Arc<Timer>>,
}

impl Instance {
    /// Opens an instance on a backend of the caller's own. `options.clock` says whether that backend was
    /// opened with a manual clock.
    ///
    /// # Errors
    /// `invalid_argument` for an option out of range, `already_exists` when an instance of that name is open.
    pub fn with_backend(backend: Arc<dyn Backend>, options: OpenOptions) -> Result<Instance> {
        options.check()?;
        let operations = Arc::new(Operations {
            backend: Leaked::new(backend),
            consumer_id: format!("rheo-{}", LeaseId::random()).into(),
            closed: AtomicBool::new(false),
            timer: OnceLock::new(),
            options,
        });
        if let Some(name) = &operations.options.name
            && !named::add(name, &operations)
        {
            // Not opened: the caller's backend is left as it is.
            operations.closed.store(true, Ordering::Release);
            return Err(Error::already_exists(&format!("an open instance named {name:?}")));
        }
        Ok(Instance { operations })
    }

    /// The name it was opened with.
    pub fn name(&self) -> Option<&str> {
        self.operations.options.name.as_deref()
    }

    /// The options it was opened with.
    pub fn options(&self) -> &OpenOptions {
        &self.operations.options
    }

    /// The backend, for those who wrap one in another.
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.operations.backend)
    }

    /// A handle that does not keep the instance open.
    pub fn downgrade(&self) -> WeakInstance {
        WeakInstance { operations: Arc::downgrade(&self.operations) }
    }

    /// What the backend guarantees and how. Static, and answered after `close` too.
    pub fn capabilities(&self) -> Capabilities {
        self.operations.backend.capabilities()
    }

    /// Which operations may wait for something outside this process. Static, and answered after `close` too.
    pub fn blocking(&self) -> Blocking {
        self.operations.backend.blocking()
    }

    /// Flushes and closes. Idempotent; every later call of any handle gives `closed`, and threads that wait
    /// return promptly.
    ///
    /// # Errors
    /// `failed` or `ambiguous` when flushing did; the instance is closed all the same.
    pub fn close(&self) -> Result<()> {
        self.operations.close()
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.operations.closed.load(Ordering::Acquire)
    }

    /// Whether this handle may be used, here and now. Asks nobody.
    ///
    /// # Errors
    /// `closed`, `forked`.
    pub fn check(&self) -> Result<()> {
        self.operations.usable().map(drop)
    }

    /// Whether the store answers.
    ///
    /// # Errors
    /// `backend_unavailable`, `timeout`, `closed`, `forked`.
    pub fn ping(&self) -> Result<()> {
        self.operations.usable()?.ping()
    }

    /// Creates what the store needs (schema, indexes). Idempotent; nothing to do in memory.
    ///
    /// # Errors
    /// `backend_unavailable`, `failed`, `version_mismatch`, `closed`, `forked`.
    pub fn ensure_indexes(&self) -> Result<()> {
        self.operations.usable()?.ensure_indexes()
    }

    /// The time by which this instance is judged.
    ///
    /// # Errors
    /// `backend_unavailable`, `timeout`, `closed`, `forked`.
    pub fn now(&self) -> Result<Timestamp> {
        self.operations.usable()?.now()
    }

    /// Moves the manual clock by so many milliseconds, wakes every waiter, and returns the new time. What consumers and producers of
    /// this instance have to do by then, such as renewing, is done before it returns.
    ///
    /// # Errors
    /// `unsupported` unless the instance was opened with a manual clock; `invalid_argument` above ten years.
    pub fn advance_clock(&self, millis: u64) -> Result<Timestamp> {
        limits::check_duration("ms", millis, 0)?;
        let now = self.operations.usable()?.advance_clock(Duration::from_millis(millis))?;
        if let Some(timer) = self.operations.timer.get() {
            timer.clock_moved(&self.operations);
        }
        Ok(now)
    }

    /// A stream, its name resolved once: the same operations without the name, and faster. Whether the stream
    /// exists shows at the first use.
    ///
    /// # Errors
    /// `invalid_argument` for a name that no stream can have.
    pub fn stream(&self, stream: &str) -> Result<Stream> {
        self.operations.usable()?;
        limits::check_name("stream", stream)?;
        Ok(Stream::new(Arc::clone(&self.operations), stream))
    }

    /// A group, its names resolved once: the same operations without the names, and faster. Whether the group
    /// exists shows at the first use.
    ///
    /// # Errors
    /// `invalid_argument` for a name that no stream or group can have.
    pub fn group(&self, stream: &str, group: &str) -> Result<Group> {
        self.operations.usable()?;
        limits::check_name("stream", stream)?;
        limits::check_name("group", group)?;
        Ok(Group::new(Arc::clone(&self.operations), stream, group))
    }

    /// Creates a stream.
    ///
    /// # Errors
    /// `already_exists`, `invalid_partition_count`, `invalid_argument` for the name.
    pub fn create_stream(&self, stream: &str, options: StreamOptions) -> Result<()> {
        self.operations.create_stream(by_name(stream), options)
    }

    /// Deletes a stream with its events and groups. Holders of leases then get `stream_not_found`, waiters too.
    ///
    /// # Errors
    /// `confirm_required` unless `confirm`; `stream_not_found`.
    pub fn delete_stream(&self, stream: &str, confirm: bool) -> Result<()> {
        self.operations.delete_stream(by_name(stream), confirm)
    }

    /// What there is to know of a stream, per partition. Looks at every group's progress.
    ///
    /// # Errors
    /// `stream_not_found`, `unsupported`.
    pub fn stream_info(&self, stream: &str) -> Result<StreamInfo> {
        self.operations.stream_info(by_name(stream))
    }

    /// The names of the streams, sorted by code point.
    ///
    /// # Errors
    /// `unsupported`.
    pub fn list_streams(&self) -> Result<Vec<String>> {
        self.operations.usable()?.list_streams()
    }

    /// Creates a group.
    ///
    /// # Errors
    /// `stream_not_found`, `already_exists`, `invalid_partition`, `invalid_argument`.
    pub fn create_group(&self, stream: &str, group: &str, options: &GroupOptions) -> Result<()> {
        self.operations.create_group(group_by_name(stream, group), options)
    }

    /// Changes a group's limits.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_argument`.
    pub fn update_group(&self, stream: &str, group: &str, update: &GroupUpdate) -> Result<()> {
        self.operations.update_group(group_by_name(stream, group), update)
    }

    /// Deletes a group. Holders of leases then get `group_not_found`, waiters too.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`.
    pub fn delete_group(&self, stream: &str, group: &str) -> Result<()> {
        self.operations.delete_group(group_by_name(stream, group))
    }

    /// The names of a stream's groups, sorted by code point.
    ///
    /// # Errors
    /// `stream_not_found`, `unsupported`.
    pub fn list_groups(&self, stream: &str) -> Result<Vec<String>> {
        self.operations.list_groups(by_name(stream))
    }

    /// Appends one event and returns it. An explicit id that the stream holds appends nothing and returns the
    /// event that stands, marked as deduplicated.
    ///
    /// In memory: one lock, one clock read, one copy of the bytes; no allocation but for a new chunk. With an explicit
    /// id also the lock of the stream's ids, a look-up and an entry in their index.
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_partition`, `payload_too_large`, `invalid_argument`.
    pub fn append(&self, stream: &str, item: &Append<'_>) -> Result<Event> {
        self.operations.append(by_name(stream), item)
    }

    /// Appends events, all or nothing, and returns the event of each item, in order. What an item leaves open
    /// comes from `shared`.
    ///
    /// # Errors
    /// As [`append`](Instance::append); `invalid_argument` also above 10,000 items or 64 MiB, and for a shared id.
    pub fn append_batch(&self, stream: &str, items: &[Append<'_>], shared: &AppendOptions<'_>) -> Result<Vec<Event>> {
        self.operations.append_batch(by_name(stream), items, shared)
    }

    /// Events of a partition after a sequence, ascending. Touches no group.
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_partition`.
    pub fn read(&self, stream: &str, options: ReadOptions) -> Result<Vec<Event>> {
        self.operations.read(by_name(stream), options)
    }

    /// The event with this id; nothing when the stream does not hold it.
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_argument` for an id that no event can have.
    pub fn get(&self, stream: &str, event_id: &str) -> Result<Option<Event>> {
        self.operations.get(by_name(stream), event_id)
    }

    /// The events that match, at most `query.limit` (100 when missing).
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_argument`.
    pub fn query(&self, stream: &str, query: &Query) -> Result<Vec<Event>> {
        self.operations.query(by_name(stream), query)
    }

    /// One page of the events that match, in (sequence, partition) order. `cursor` is the `next_cursor` of the page
    /// before.
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_argument`, also for a query with `order_by` and for a malformed cursor.
    pub fn query_page(&self, stream: &str, query: &Query, cursor: Option<&str>) -> Result<Page> {
        self.operations.query_page(by_name(stream), query, cursor)
    }

    /// All events that match, in (sequence, partition) order, a page at a time as they are asked for.
    ///
    /// # Errors
    /// `invalid_argument` at once; others as the iterator's items.
    pub fn query_stream(&self, stream: &str, query: &Query) -> Result<EventStream> {
        EventStream::new(self.stream(stream)?, query)
    }

    /// Removes old events and returns how many (contract 4.12).
    ///
    /// # Errors
    /// `stream_not_found`, `invalid_partition`, `invalid_argument` unless exactly one way is given.
    pub fn trim(&self, stream: &str, options: &TrimOptions) -> Result<u64> {
        self.operations.trim(by_name(stream), options)
    }

    /// Claims what is claimable; an empty list when there is nothing. Waits up to `wait_ms` for work.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`, `invalid_argument`; `closed` also while waiting.
    pub fn fetch(&self, stream: &str, group: &str, options: &FetchOptions<'_>) -> Result<Vec<Lease>> {
        self.operations.fetch(group_by_name(stream, group), options)
    }

    /// The same into a list that is cleared first and can be used again, so that a loop allocates nothing.
    ///
    /// # Errors
    /// As [`fetch`](Instance::fetch).
    pub fn fetch_into(
        &self,
        stream: &str,
        group: &str,
        options: &FetchOptions<'_>,
        leases: &mut Vec<Lease>,
    ) -> Result<()> {
        self.operations.fetch_into(group_by_name(stream, group), options, leases)
    }

    /// As [`fetch_into`](Instance::fetch_into) without waiting, whatever `wait_ms` says: for an event loop, which waits by
    /// [`watch`](Instance::watch). Returns in how long time alone may make something claimable: look again then, if nobody
    /// woke you. Nothing when the fetch gave something, or when that is not known.
    ///
    /// # Errors
    /// As [`fetch`](Instance::fetch).
    pub fn fetch_now_into(
        &self,
        stream: &str,
        group: &str,
        options: &FetchOptions<'_>,
        leases: &mut Vec<Lease>,
    ) -> Result<Option<Duration>> {
        self.operations.fetch_now_into(group_by_name(stream, group), options, leases)
    }

    /// Registers a waker for when something may have become claimable; see
    /// [`Backend::watch`](crate::backend::Backend::watch).
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`, `unsupported`.
    pub fn watch(&self, stream: &str, group: &str, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        self.operations.watch(group_by_name(stream, group), partitions, waker)
    }

    /// Frontier, high watermark and lag of some partitions (all when missing). Walks no events.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`.
    pub fn lag(&self, stream: &str, group: &str, partitions: Option<&[u32]>) -> Result<Lag> {
        self.operations.lag(group_by_name(stream, group), partitions)
    }

    /// What there is to know of a group over some partitions (all when missing). Walks no events.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`, `unsupported`.
    pub fn group_info(&self, stream: &str, group: &str, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        self.operations.group_info(group_by_name(stream, group), partitions)
    }

    /// The dead letters of a group, ordered by (partition, sequence).
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`, `cursor_not_found`, `unsupported`.
    pub fn dead_letters(&self, stream: &str, group: &str, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        self.operations.dead_letters(group_by_name(stream, group), options)
    }

    /// Forgets dead letters for good and returns how many.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `unsupported`.
    pub fn discard_dead_letters(&self, stream: &str, group: &str, which: Discard<'_>) -> Result<u64> {
        self.operations.discard_dead_letters(group_by_name(stream, group), which)
    }

    /// Makes deliveries available again and returns how many (contract 4.7).
    ///
    /// # Errors
    /// `invalid_replay_opts`, `stream_not_found`, `group_not_found`, `invalid_partition`, `invalid_argument`.
    pub fn replay(&self, stream: &str, group: &str, options: &ReplayOptions) -> Result<u64> {
        self.operations.replay(group_by_name(stream, group), options)
    }

    /// Clears a group's deliveries and dead letters in a scope and moves its cursor (contract 4.8).
    ///
    /// # Errors
    /// `confirm_required`, `stream_not_found`, `group_not_found`, `invalid_partition`, `invalid_argument`.
    pub fn reset_group(&self, stream: &str, group: &str, options: &ResetOptions) -> Result<()> {
        self.operations.reset_group(group_by_name(stream, group), options)
    }

    /// Ends a claim: the work is done.
    ///
    /// # Errors
    /// `stale_lease`, `receipt_mismatch`, `stream_not_found`, `group_not_found`; see
    /// [`SettleClass`](crate::SettleClass) for what to conclude.
    pub fn ack(&self, lease: impl AsRef<LeaseToken>) -> Result<()> {
        self.operations.settle_one(lease.as_ref(), Settlement::Ack)
    }

    /// Gives a delivery back for another attempt after a delay; dead-letters it at `max_attempts` (contract 4.4).
    ///
    /// # Errors
    /// As [`ack`](Instance::ack); `invalid_argument` for a delay above ten years.
    pub fn retry(&self, lease: impl AsRef<LeaseToken>, options: RetryOptions<'_>) -> Result<()> {
        self.operations.usable()?;
        self.operations.settle_one(lease.as_ref(), retry_settlement(options)?)
    }

    /// Dead-letters a delivery. At most 1 KiB of the reason is kept.
    ///
    /// # Errors
    /// As [`ack`](Instance::ack).
    pub fn reject(&self, lease: impl AsRef<LeaseToken>, reason: &str) -> Result<()> {
        self.operations.settle_one(lease.as_ref(), reject_settlement(reason))
    }

    /// Gives a delivery back unworked: available at once, and the attempt does not count.
    ///
    /// # Errors
    /// As [`ack`](Instance::ack).
    pub fn release(&self, lease: impl AsRef<LeaseToken>) -> Result<()> {
        self.operations.settle_one(lease.as_ref(), Settlement::Release)
    }

    /// Extends a claim to `lease_ms` milliseconds from now (the lease's own when missing).
    ///
    /// # Errors
    /// As [`ack`](Instance::ack); `invalid_argument` for a duration below 1 ms or above ten years.
    pub fn renew(&self, lease: &Lease, lease_ms: Option<u64>) -> Result<Lease> {
        self.renew_token(lease.token(), lease_ms).map(|expires_at| lease.renewed(expires_at))
    }

    /// The same by token; returns the new `expires_at`.
    ///
    /// # Errors
    /// As [`renew`](Instance::renew).
    pub fn renew_token(&self, token: &LeaseToken, lease_ms: Option<u64>) -> Result<Timestamp> {
        self.operations.renew_one(token, lease_ms)
    }

    /// Acks many: one result per lease, in order; one that fails changes nothing for the others.
    ///
    /// # Errors
    /// Per lease as [`ack`](Instance::ack). For the whole call: `invalid_argument` above 10,000 leases, and what
    /// keeps all of it from being done.
    pub fn ack_many<L: AsRef<LeaseToken>>(&self, leases: &[L]) -> Result<Vec<Result<()>>> {
        self.operations.settle_many(leases, Settlement::Ack)
    }

    /// Retries many, with one reason and one delay for all.
    ///
    /// # Errors
    /// As [`ack_many`](Instance::ack_many); `invalid_argument` for a delay above ten years.
    pub fn retry_many<L: AsRef<LeaseToken>>(&self, leases: &[L], options: RetryOptions<'_>) -> Result<Vec<Result<()>>> {
        self.operations.usable()?;
        self.operations.settle_many(leases, retry_settlement(options)?)
    }

    /// Rejects many, with one reason for all.
    ///
    /// # Errors
    /// As [`ack_many`](Instance::ack_many).
    pub fn reject_many<L: AsRef<LeaseToken>>(&self, leases: &[L], reason: &str) -> Result<Vec<Result<()>>> {
        self.operations.settle_many(leases, reject_settlement(reason))
    }

    /// Releases many.
    ///
    /// # Errors
    /// As [`ack_many`](Instance::ack_many).
    pub fn release_many<L: AsRef<LeaseToken>>(&self, leases: &[L]) -> Result<Vec<Result<()>>> {
        self.operations.settle_many(leases, Settlement::Release)
    }

    /// Renews many; each result is the new `expires_at`.
    ///
    /// # Errors
    /// As [`ack_many`](Instance::ack_many) and [`renew`](Instance::renew).
    pub fn renew_many<L: AsRef<LeaseToken>>(
        &self,
        leases: &[L],
        lease_ms: Option<u64>,
    ) -> Result<Vec<Result<Timestamp>>> {
        self.operations.renew_many(leases, lease_ms)
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("name", &self.name())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

pub(crate) fn by_name(stream: &str) -> StreamRef<'_> {
    StreamRef { name: stream, binding: None }
}

fn group_by_name<'a>(stream: &'a str, group: &'a str) -> GroupRef<'a> {
    GroupRef { stream, name: group, binding: None }
}

fn at_stream(stream: StreamRef<'_>) -> At<'_> {
    At { stream: stream.name, group: None }
}

fn at_group(group: GroupRef<'_>) -> At<'_> {
    At { stream: group.stream, group: Some(group.name) }
}

pub(crate) fn retry_settlement(options: RetryOptions<'_>) -> Result<Settlement<'_>> {
    limits::check_duration("delay_ms", options.delay_ms, 0)?;
    Ok(Settlement::Retry { reason: limits::kept_reason(options.reason), delay_ms: options.delay_ms })
}

pub(crate) fn reject_settlement(reason: &str) -> Settlement<'_> {
    Settlement::Reject { reason: limits::kept_reason(reason) }
}

fn tokens<L: AsRef<LeaseToken>>(leases: &[L]) -> Result<Vec<&LeaseToken>> {
    if leases.len() > limits::MAX_BATCH_ITEMS {
        return Err(Error::invalid(format!(
            "{} leases are given; a call takes at most {}",
            leases.len(),
            limits::MAX_BATCH_ITEMS
        )));
    }
    Ok(leases.iter().map(AsRef::as_ref).collect())
}

/// On the hottest paths a name's form is checked only when nothing of that name was found: what exists has a
/// well-formed name.
#[cold]
fn or_malformed(error: Error, check: impl FnOnce() -> Result<()>) -> Error {
    match error.code() {
        ErrorCode::StreamNotFound | ErrorCode::GroupNotFound => check().err().unwrap_or(error),
        _ => error,
    }
}

impl StreamRef<'_> {
    /// A bound handle's name was checked when it was made.
    fn check(&self) -> Result<()> {
        if self.binding.is_some() { Ok(()) } else { limits::check_name("stream", self.name) }
    }
}

impl GroupRef<'_> {
    fn check(&self) -> Result<()> {
        if self.binding.is_some() {
            return Ok(());
        }
        limits::check_name("stream", self.stream)?;
        limits::check_name("group", self.name)
    }
}

impl Operations {
    /// The backend, if this instance may be used here and now.
    #[inline]
    pub(crate) fn usable(&self) -> Result<&dyn Backend> {
        if self.backend.generation().is_past() {
            return Err(Error::new(
                ErrorCode::Forked,
                "the instance was opened before this process was forked off; open one of its own here",
            ));
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        Ok(&**self.backend)
    }

    /// Whether the instance is open, and was opened by this process.
    pub(crate) fn is_open_here(&self) -> bool {
        !self.closed.load(Ordering::Acquire) && !self.backend.generation().is_past()
    }

    fn close(&self) -> Result<()> {
        if self.backend.generation().is_past() || self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(timer) = self.timer.get() {
            timer.stop();
        }
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if let Some(name) = &self.options.name {
            named::remove(name, self);
        }
        let result = self.backend.close();
        if let Some(timer) = self.timer.get() {
            timer.instance_closed();
        }
        result
    }

    /// The options of the instance.
    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// What does things at some time for the producers and consumers of this instance.
    pub(crate) fn timer(&self) -> Arc<Timer> {
        let is_manual = matches!(self.options.clock, ClockOption::Manual { .. });
        Arc::clone(self.timer.get_or_init(|| Timer::new(is_manual)))
    }

    /// Tells of something that happened in a producer or consumer.
    pub(crate) fn tell(&self, name: TelemetryName, stream: &str, group: &str, error: Option<ErrorCode>) {
        if let Some(telemetry) = &self.options.telemetry {
            telemetry.runtime(name, At { stream, group: Some(group) }, error);
        }
    }

    #[inline]
    fn span<R>(
        &self,
        name: TelemetryName,
        at: At<'_>,
        work: impl FnOnce() -> Result<R>,
        count: impl FnOnce(&R) -> u64,
    ) -> Result<R> {
        match &self.options.telemetry {
            Some(telemetry) => telemetry.span(name, at, work, count),
            None => work(),
        }
    }

    fn count(&self, name: TelemetryName, at: At<'_>, count: u64) {
        if let Some(telemetry) = &self.options.telemetry {
            telemetry.count(name, at, count);
        }
    }

    fn tell_frontiers(&self, group: GroupRef<'_>, lag: &Lag) {
        if let Some(telemetry) = &self.options.telemetry {
            for (partition, lag) in &lag.partitions {
                telemetry.frontier(at_group(group), *partition, lag.frontier);
            }
        }
    }

    fn create_stream(&self, stream: StreamRef<'_>, options: StreamOptions) -> Result<()> {
        let backend = self.usable()?;
        stream.check()?;
        options.check()?;
        backend.create_stream(stream, &options)?;
        self.count(TelemetryName::StreamCreate, at_stream(stream), 1);
        Ok(())
    }

    pub(crate) fn delete_stream(&self, stream: StreamRef<'_>, confirm: bool) -> Result<()> {
        let backend = self.usable()?;
        stream.check()?;
        if !confirm {
            return Err(confirm_required("delete_stream deletes the stream's events and groups"));
        }
        backend.delete_stream(stream)
    }

    pub(crate) fn stream_info(&self, stream: StreamRef<'_>) -> Result<StreamInfo> {
        let backend = self.usable()?;
        stream.check()?;
        backend.stream_info(stream)
    }

    fn create_group(&self, group: GroupRef<'_>, options: &GroupOptions) -> Result<()> {
        let backend = self.usable()?;
        group.check()?;
        check_max_attempts("max_attempts", options.max_attempts)?;
        let settings = GroupSettings {
            max_attempts: options.max_attempts.unwrap_or(self.options.default_max_attempts),
            max_deliveries: options.max_deliveries,
            ordering: options.ordering,
        };
        backend.create_group(group, &NewGroup { settings, start: options.start.check()? })?;
        self.count(TelemetryName::GroupCreate, at_group(group), 1);
        Ok(())
    }

    pub(crate) fn update_group(&self, group: GroupRef<'_>, update: &GroupUpdate) -> Result<()> {
        let backend = self.usable()?;
        group.check()?;
        check_max_attempts("max_attempts", update.max_attempts)?;
        backend.update_group(group, update)
    }

    pub(crate) fn delete_group(&self, group: GroupRef<'_>) -> Result<()> {
        let backend = self.usable()?;
        group.check()?;
        backend.delete_group(group)
    }

    pub(crate) fn list_groups(&self, stream: StreamRef<'_>) -> Result<Vec<String>> {
        let backend = self.usable()?;
        stream.check()?;
        backend.list_groups(stream)
    }

    #[inline]
    pub(crate) fn append(&self, stream: StreamRef<'_>, item: &Append<'_>) -> Result<Event> {
        // Not by way of `span`, whose closure would copy the reference on this hottest of paths.
        match &self.options.telemetry {
            Some(telemetry) => {
                let work = || self.append_one(stream, item);
                telemetry.span(TelemetryName::Append, at_stream(stream), work, |_| 1)
            }
            None => self.append_one(stream, item),
        }
    }

    #[inline]
    fn append_one(&self, stream: StreamRef<'_>, item: &Append<'_>) -> Result<Event> {
        let backend = self.usable()?;
        item.check(self.options.max_payload_bytes)?;
        let StreamRef { name, binding } = stream;
        let mut appended = None;
        backend
            .append(stream, std::slice::from_ref(item), &mut |event| appended = Some(event))
            .map_err(|error| or_malformed(error, || StreamRef { name, binding }.check()))?;
        appended.ok_or_else(|| internal("append gave no event"))
    }

    pub(crate) fn append_batch(
        &self,
        stream: StreamRef<'_>,
        items: &[Append<'_>],
        shared: &AppendOptions<'_>,
    ) -> Result<Vec<Event>> {
        let work = || self.append_all(stream, items, shared);
        self.span(TelemetryName::AppendBatch, at_stream(stream), work, |events| events.len() as u64)
    }

    fn append_all(
        &self,
        stream: StreamRef<'_>,
        items: &[Append<'_>],
        shared: &AppendOptions<'_>,
    ) -> Result<Vec<Event>> {
        let backend = self.usable()?;
        stream.check()?;
        if items.len() > limits::MAX_BATCH_ITEMS {
            let (len, most) = (items.len(), limits::MAX_BATCH_ITEMS);
            return Err(Error::invalid(format!("the batch has {len} items; it takes at most {most}: split it")));
        }
        if shared.id.is_some() {
            return Err(Error::invalid("id is given for the whole batch; give each item its own"));
        }
        shared.check()?;
        let mut bytes = 0;
        for (index, item) in items.iter().enumerate() {
            item.check(self.options.max_payload_bytes)
                .map_err(|error| Error::new(error.code(), format!("item {index}: {}", error.message())))?;
            bytes += item.counted_bytes();
        }
        let inherited = |own: fn(&AppendOptions<'_>) -> Option<usize>| {
            own(shared).map_or(0, |len| len * items.iter().filter(|item| own(&item.options).is_none()).count())
        };
        bytes += inherited(|options| options.metadata.map(str::len))
            + inherited(|options| options.key.map(str::len))
            + inherited(|options| options.event_type.map(str::len));
        if bytes > limits::MAX_BATCH_BYTES {
            let most = limits::MAX_BATCH_BYTES;
            return Err(Error::invalid(format!("the batch has {bytes} bytes; it takes at most {most}: split it")));
        }
        let mut events = Vec::with_capacity(items.len());
        if *shared == AppendOptions::default() {
            backend.append(stream, items, &mut |event| events.push(event))?;
        } else {
            let items: Vec<Append<'_>> = items.iter().map(|item| item.or(shared)).collect();
            backend.append(stream, &items, &mut |event| events.push(event))?;
        }
        if events.len() == items.len() { Ok(events) } else { Err(internal("append gave too few events")) }
    }

    pub(crate) fn read(&self, stream: StreamRef<'_>, options: ReadOptions) -> Result<Vec<Event>> {
        let backend = self.usable()?;
        stream.check()?;
        backend.read(stream, options.partition, options.after, options.limit)
    }

    pub(crate) fn get(&self, stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>> {
        let backend = self.usable()?;
        stream.check()?;
        limits::check_name("event id", event_id)?;
        backend.get(stream, event_id)
    }

    pub(crate) fn query(&self, stream: StreamRef<'_>, query: &Query) -> Result<Vec<Event>> {
        let work = || {
            let backend = self.usable()?;
            stream.check()?;
            query.check()?;
            run::query(backend, stream, query)
        };
        self.span(TelemetryName::Query, at_stream(stream), work, |events| events.len() as u64)
    }

    pub(crate) fn query_page(&self, stream: StreamRef<'_>, query: &Query, cursor: Option<&str>) -> Result<Page> {
        let work = || {
            let backend = self.usable()?;
            stream.check()?;
            query.check()?;
            run::query_page(backend, stream, query, cursor)
        };
        self.span(TelemetryName::Query, at_stream(stream), work, |page| page.events.len() as u64)
    }

    pub(crate) fn trim(&self, stream: StreamRef<'_>, options: &TrimOptions) -> Result<u64> {
        let backend = self.usable()?;
        stream.check()?;
        backend.trim(stream, &options.check()?, options.force)
    }

    pub(crate) fn fetch(&self, group: GroupRef<'_>, options: &FetchOptions<'_>) -> Result<Vec<Lease>> {
        let mut leases = Vec::new();
        self.fetch_into(group, options, &mut leases)?;
        Ok(leases)
    }

    #[inline]
    pub(crate) fn fetch_into(
        &self,
        group: GroupRef<'_>,
        options: &FetchOptions<'_>,
        leases: &mut Vec<Lease>,
    ) -> Result<()> {
        leases.clear();
        match &self.options.telemetry {
            Some(telemetry) => self.fetch_and_tell(telemetry, group, options, leases).map(drop),
            None => self.claim_into(group, options, leases).map(drop),
        }
    }

    pub(crate) fn fetch_now_into(
        &self,
        group: GroupRef<'_>,
        options: &FetchOptions<'_>,
        leases: &mut Vec<Lease>,
    ) -> Result<Option<Duration>> {
        leases.clear();
        options.check()?;
        let options = FetchOptions { wait_ms: 0, ..*options };
        let fetched = match &self.options.telemetry {
            Some(telemetry) => self.fetch_and_tell(telemetry, group, &options, leases),
            None => self.claim_into(group, &options, leases),
        };
        Ok(fetched?.next_due.filter(|_| leases.is_empty()))
    }

    #[inline(never)]
    fn fetch_and_tell(
        &self,
        telemetry: &Telemetry,
        group: GroupRef<'_>,
        options: &FetchOptions<'_>,
        leases: &mut Vec<Lease>,
    ) -> Result<Fetched> {
        let at = at_group(group);
        let work = || self.claim_into(group, options, leases).map(|fetched| (fetched, leases.len() as u64));
        let (fetched, given) = telemetry.span(TelemetryName::Fetch, at, work, |(_, given)| *given)?;
        let again = leases.iter().filter(|lease| lease.attempt() > 1).count() as u64;
        telemetry.count(TelemetryName::Lease, at, given);
        telemetry.count(TelemetryName::Redelivery, at, again);
        telemetry.count(TelemetryName::DeadLetter, at, fetched.dead_letters);
        Ok(fetched)
    }

    /// Fetches into an empty list.
    #[inline]
    fn claim_into(&self, group: GroupRef<'_>, options: &FetchOptions<'_>, leases: &mut Vec<Lease>) -> Result<Fetched> {
        let backend = self.usable()?;
        options.check()?;
        let set = options.partitions.map(partition_set);
        let own;
        let request = FetchRequest {
            limit: options.limit.unwrap_or(self.options.default_max_demand),
            lease_ms: options.lease_ms.unwrap_or(self.options.default_lease_ms),
            consumer_id: match options.consumer_id {
                Some(consumer_id) => {
                    own = Arc::from(consumer_id);
                    &own
                }
                None => &self.consumer_id,
            },
            partitions: set.as_deref(),
        };
        if options.asks_for_nothing() {
            // Nothing is asked for, but a missing stream or group still shows.
            group.check()?;
            return backend.lag(group, Some(set.as_deref().unwrap_or(&[]))).map(|_| Fetched::default());
        }
        let mut fetched =
            backend.fetch(group, &request, leases).map_err(|error| or_malformed(error, || group.check()))?;
        if leases.is_empty() && options.wait_ms > 0 {
            fetched.dead_letters += self.wait_and_fetch(group, &request, options, leases)?;
        }
        Ok(fetched)
    }

    /// Waits for work: watch, then fetch, then sleep until woken, until time alone may have made something
    /// claimable, or until the wait is over. Under a manual clock the wait is over when that clock has moved by
    /// `wait_ms`, or when that much time has really passed.
    #[cold]
    fn wait_and_fetch(
        &self,
        group: GroupRef<'_>,
        request: &FetchRequest<'_>,
        options: &FetchOptions<'_>,
        leases: &mut Vec<Lease>,
    ) -> Result<u64> {
        let started = Instant::now();
        let deadline = started + Duration::from_millis(options.wait_ms);
        let manual = matches!(self.options.clock, ClockOption::Manual { .. });
        let manual_deadline = if manual {
            Some(self.usable()?.now()?.plus_millis(i64::try_from(options.wait_ms).unwrap_or(i64::MAX)))
        } else {
            None
        };
        let parker = Arc::new(Parker::default());
        let waker = Waker::from(Arc::clone(&parker));
        let _interrupted = options.interrupt.map(|interrupt| interrupt.watch(waker.clone()));
        let watch = match self.usable()?.watch(group, request.partitions, &waker) {
            Ok(watch) => Some(watch),
            Err(error) if error.code() == ErrorCode::Unsupported => None,
            Err(error) => return Err(error),
        };
        let mut dead_letters = 0;
        loop {
            let fetched = self.usable()?.fetch(group, request, leases)?;
            dead_letters += fetched.dead_letters;
            let now = Instant::now();
            let over = now >= deadline
                || options.interrupt.is_some_and(crate::Interrupt::is_fired)
                || match manual_deadline {
                    Some(end) => self.usable()?.now()? >= end,
                    None => false,
                };
            if !leases.is_empty() || over {
                return Ok(dead_letters);
            }
            let mut until = deadline;
            if let Some(due) = fetched.next_due.filter(|_| !manual) {
                until = until.min(now + due.max(Duration::from_micros(50)));
            }
            if watch.is_none() {
                until = until.min(now + POLL);
            }
            parker.wait_until(until);
        }
    }

    pub(crate) fn watch(&self, group: GroupRef<'_>, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        let backend = self.usable()?;
        group.check()?;
        backend.watch(group, partitions.map(partition_set).as_deref(), waker)
    }

    #[inline]
    pub(crate) fn settle_one(&self, token: &LeaseToken, settlement: Settlement<'_>) -> Result<()> {
        let mut results = [Ok(Settled::Done)];
        self.settle(&[token], settlement, &mut results)?;
        let [result] = results;
        result.map(drop)
    }

    pub(crate) fn settle_many<L: AsRef<LeaseToken>>(
        &self,
        leases: &[L],
        settlement: Settlement<'_>,
    ) -> Result<Vec<Result<()>>> {
        let tokens = tokens(leases)?;
        let mut results = vec![Ok(Settled::Done); tokens.len()];
        self.settle(&tokens, settlement, &mut results)?;
        Ok(results.into_iter().map(|result| result.map(drop)).collect())
    }

    #[inline]
    fn settle(
        &self,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) -> Result<()> {
        match &self.options.telemetry {
            Some(telemetry) => self.settle_and_tell(telemetry, tokens, settlement, results),
            None => self.usable()?.settle(tokens, settlement, results),
        }
    }

    /// Apart from `settle`, so that the usual path moves nothing about.
    #[inline(never)]
    fn settle_and_tell(
        &self,
        telemetry: &Telemetry,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) -> Result<()> {
        let name = match settlement {
            Settlement::Ack => TelemetryName::Ack,
            Settlement::Retry { .. } => TelemetryName::Retry,
            Settlement::Reject { .. } => TelemetryName::Reject,
            Settlement::Release => TelemetryName::Release,
        };
        telemetry.settle_span(name, tokens, results, |results| self.usable()?.settle(tokens, settlement, results))
    }

    pub(crate) fn renew_one(&self, token: &LeaseToken, lease_ms: Option<u64>) -> Result<Timestamp> {
        let mut results = [Ok(Timestamp::default())];
        self.renew(&[token], lease_ms, &mut results)?;
        let [result] = results;
        result
    }

    pub(crate) fn renew_many<L: AsRef<LeaseToken>>(
        &self,
        leases: &[L],
        lease_ms: Option<u64>,
    ) -> Result<Vec<Result<Timestamp>>> {
        let tokens = tokens(leases)?;
        let mut results = vec![Ok(Timestamp::default()); leases.len()];
        self.renew(&tokens, lease_ms, &mut results)?;
        Ok(results)
    }

    fn renew(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()> {
        let work = |results: &mut [Result<Timestamp>]| {
            let backend = self.usable()?;
            if let Some(lease_ms) = lease_ms {
                limits::check_duration("lease_ms", lease_ms, 1)?;
            }
            backend.renew(tokens, lease_ms, results)
        };
        match &self.options.telemetry {
            Some(telemetry) => telemetry.settle_span(TelemetryName::Renew, tokens, results, work),
            None => work(results),
        }
    }

    pub(crate) fn lag(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag> {
        let backend = self.usable()?;
        group.check()?;
        let lag = backend.lag(group, partitions.map(partition_set).as_deref())?;
        self.tell_frontiers(group, &lag);
        Ok(lag)
    }

    pub(crate) fn group_info(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        let backend = self.usable()?;
        group.check()?;
        let info = backend.group_info(group, partitions.map(partition_set).as_deref())?;
        self.tell_frontiers(group, &info.lag);
        Ok(info)
    }

    pub(crate) fn dead_letters(&self, group: GroupRef<'_>, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        let backend = self.usable()?;
        group.check()?;
        options.check()?;
        let checked = DeadLetterOptions {
            limit: Some(options.limit.unwrap_or(100)),
            after: options.after.clone(),
            partitions: options.partitions.as_deref().map(partition_set),
        };
        backend.dead_letters(group, &checked)
    }

    pub(crate) fn discard_dead_letters(&self, group: GroupRef<'_>, which: Discard<'_>) -> Result<u64> {
        let backend = self.usable()?;
        group.check()?;
        which.check()?;
        backend.discard_dead_letters(group, which)
    }

    pub(crate) fn replay(&self, group: GroupRef<'_>, options: &ReplayOptions) -> Result<u64> {
        let count = self.reopen(group, options)?;
        self.count(TelemetryName::GroupReplay, at_group(group), count);
        Ok(count)
    }

    fn reopen(&self, group: GroupRef<'_>, options: &ReplayOptions) -> Result<u64> {
        let backend = self.usable()?;
        group.check()?;
        options.check()?;
        let partitions = options.partitions.as_deref().map(partition_set);
        let partitions = partitions.as_deref();
        if let Some(sequences) = &options.from_sequence {
            return backend.replay(group, Replay::FromSequence(sequences), partitions);
        }
        if let Some(time) = options.from {
            return backend.replay(group, Replay::From(time), partitions);
        }
        let found;
        let ids: Vec<&str> = match (&options.event_ids, &options.query) {
            (Some(ids), _) => ids.iter().map(String::as_str).collect(),
            (None, Some(query)) => {
                // Group and partitions come before a walk over the stream.
                backend.lag(group, Some(partitions.unwrap_or(&[])))?;
                found = run::matching_ids(backend, by_name(group.stream), query, partitions)?;
                found.iter().map(String::as_str).collect()
            }
            (None, None) => Vec::new(),
        };
        backend.replay(group, Replay::EventIds(&ids), partitions)
    }

    pub(crate) fn reset_group(&self, group: GroupRef<'_>, options: &ResetOptions) -> Result<()> {
        let backend = self.usable()?;
        group.check()?;
        backend.reset_group(group, &options.check()?)?;
        self.count(TelemetryName::GroupReset, at_group(group), 1);
        Ok(())
    }
}

impl Drop for Operations {
    fn drop(&mut self) {
        // Whoever wants to know whether closing went well calls `close`.
        let _ = self.close();
    }
}

#[cold]
fn internal(what: &str) -> Error {
    Error::new(ErrorCode::Internal, format!("{what}; this is a bug of the backend, please report it"))
}
