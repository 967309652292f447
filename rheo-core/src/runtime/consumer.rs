//! A producer with a pool of handlers, each on a thread of its own.

use crate::bound::Group;
use crate::error::{Error, ErrorCode, Result};
use crate::event::Event;
use crate::fork::Leaked;
use crate::lease::Lease;
use crate::limits;
use crate::lock::before_wait;
use crate::runtime::options::ConsumerOptions;
use crate::runtime::outcome::Outcome;
use crate::runtime::producer::{Drain, Noted, Role, Shared, Taken, Taker, Wait};
use crate::telemetry::TelemetryName;
use crate::wait::Interrupt;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a handler is given: some leases, and a signal.
pub struct Work<'a> {
    leases: &'a [Lease],
    cancel: &'a Interrupt,
}

impl<'a> Work<'a> {
    /// The leases, at least one.
    pub fn leases(&self) -> &'a [Lease] {
        self.leases
    }

    /// Their events.
    pub fn events(&self) -> impl ExactSizeIterator<Item = &'a Event> {
        self.leases.iter().map(Lease::event)
    }

    /// Fires when one of the leases is lost, so that what the handler says of it counts for nothing; when the handler has had them for
    /// `max_lease_ms`; and when the consumer or its instance is closed before the handler returns. It is for this work alone: once the handler
    /// has returned it is used again.
    pub fn cancel(&self) -> &'a Interrupt {
        self.cancel
    }

    /// Whether it is in vain to go on: [`cancel`](Work::cancel) has fired.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_fired()
    }
}

/// Handles some work: pushes an outcome for each lease, in order.
type Handler = Box<dyn Fn(&Work<'_>, &mut Vec<Outcome>) + Send + Sync>;

/// Runs a handler for the events of a group, on threads of its own (contract, section 6).
///
/// Clones are handles of the same consumer; any thread may use any of them at any time. Dropping the last one lets the
/// handlers that run finish, on their threads, and starts no more; [`close`](Consumer::close) waits for them.
///
/// Two consumers on one group compete for its events: do that only on purpose.
///
/// ```
/// use rheo_core::{Append, Consumer, ConsumerOptions, GroupOptions, OpenOptions, Outcome, StreamOptions};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// static SUM: AtomicU64 = AtomicU64::new(0);
///
/// let db = rheo_core::open("memory:", OpenOptions::new())?;
/// db.create_stream("orders", StreamOptions::default())?;
/// db.create_group("orders", "billing", &GroupOptions::default())?;
/// for total in 1..=100 {
///     db.append("orders", &Append::json(&total.to_string()))?;
/// }
/// let options = ConsumerOptions::new().concurrency(4);
/// let consumer = Consumer::start(&db.group("orders", "billing")?, &options, |lease, _cancel| {
///     match std::str::from_utf8(lease.event().payload()).unwrap_or("").parse::<u64>() {
///         Ok(total) => SUM.fetch_add(total, Ordering::Relaxed),
///         Err(error) => return Outcome::reject(error.to_string()),
///     };
///     Outcome::Ack
/// })?;
/// while db.lag("orders", "billing", None)?.lag() > 0 {
///     std::thread::yield_now();
/// }
/// consumer.close(30_000)?;
/// assert_eq!(SUM.load(Ordering::Relaxed), 5050);
/// # Ok::<(), rheo_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Consumer(Arc<Handle>);

struct Handle {
    pool: Leaked<Arc<Pool>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.pool.generation().is_past() {
            self.pool.shared.stop();
        }
    }
}

struct Pool {
    shared: Arc<Shared>,
    batch_size: usize,
    batch_timeout_ms: u64,
    /// Dropped by the last worker.
    handler: Handler,
    workers: Mutex<usize>,
    ended: Condvar,
}

thread_local! {
    /// The consumer whose handler runs on this thread.
    static RUNNING: Cell<Option<*const Shared>> = const { Cell::new(None) };
}

/// Whether a handler of this consumer runs on this thread.
pub(super) fn is_handled_here(shared: &Shared) -> bool {
    RUNNING.get() == Some(std::ptr::from_ref(shared))
}

impl Consumer {
    /// Starts a consumer whose handler gets one event at a time, with its lease, and a signal: see [`Work::cancel`].
    ///
    /// The handler runs on up to `concurrency` threads at once. One that panics has failed; the consumer goes on.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`, `invalid_argument` for an option out of range or a `batch_size` above 1,
    /// `failed` when a thread cannot be started, `closed`, `forked`.
    pub fn start<R: Into<Outcome>>(
        group: &Group,
        options: &ConsumerOptions,
        handler: impl Fn(&Lease, &Interrupt) -> R + Send + Sync + 'static,
    ) -> Result<Consumer> {
        if options.batch_size > 1 {
            let batch_size = options.batch_size;
            return Err(Error::invalid(format!(
                "batch_size is {batch_size} and the handler takes one event; use a handler of batches"
            )));
        }
        Consumer::start_batches(group, options, move |work, outcomes| {
            outcomes.extend(work.leases.iter().map(|lease| handler(lease, work.cancel).into()));
        })
    }

    /// Starts a consumer whose handler gets up to `batch_size` events at a time and pushes an outcome for each, in order.
    ///
    /// A handler that pushes fewer has failed those that it left out. One that panics has failed all of them.
    ///
    /// # Errors
    /// As [`start`](Consumer::start).
    pub fn start_batches(
        group: &Group,
        options: &ConsumerOptions,
        handler: impl Fn(&Work<'_>, &mut Vec<Outcome>) + Send + Sync + 'static,
    ) -> Result<Consumer> {
        group.operations().usable()?;
        options.check()?;
        let max_demand = options.max_demand(group.operations().options().default_max_demand);
        let shared = Shared::start(group, &options.producer, Role::Consumer, max_demand, options.max_lease_ms)?;
        let pool = Arc::new(Pool {
            shared,
            batch_size: options.batch_size,
            batch_timeout_ms: options.batch_timeout_ms,
            handler: Box::new(handler),
            workers: Mutex::new(0),
            ended: Condvar::new(),
        });
        let consumer = Consumer(Arc::new(Handle { pool: Leaked::new(Arc::clone(&pool)) }));
        for _ in 0..options.concurrency {
            *pool.workers.lock() += 1;
            let worker = Worker(Arc::clone(&pool));
            std::thread::Builder::new().name("rheo-consumer".to_owned()).spawn(move || worker.run()).map_err(
                |error| {
                    Error::new(ErrorCode::Failed, "a thread of a consumer could not be started: lower its concurrency")
                        .with_cause(error)
                },
            )?;
        }
        Ok(consumer)
    }

    fn pool(&self) -> Result<&Arc<Pool>> {
        if self.0.pool.generation().is_past() {
            self.0.pool.shared.operations().usable()?;
        }
        Ok(&self.0.pool)
    }

    /// Starts no more handlers, gives back at once what no handler has begun with, and waits up to so many milliseconds for the
    /// handlers that run and their settles. Returns whether all is settled. Renews meanwhile.
    ///
    /// Called by a handler of this consumer it does not wait, since that could not end.
    ///
    /// # Errors
    /// `already_draining` while another drain is pending; `closed`, `forked`, `invalid_argument` for the timeout.
    pub fn drain(&self, timeout_ms: u64) -> Result<bool> {
        let pool = self.pool()?;
        limits::check_duration("timeout_ms", timeout_ms, 0)?;
        pool.shared.drain(pool.wait(timeout_ms))
    }

    /// The beginning of a drain, for those who wait by themselves: see [`Drain`]. It is pending until what this returns is dropped.
    ///
    /// # Errors
    /// As [`drain`](Consumer::drain).
    pub fn begin_drain(&self) -> Result<Drain> {
        self.pool()?.shared.start_drain()
    }

    /// Whether it is a handler of this consumer that asks.
    pub fn is_called_by_handler(&self) -> bool {
        self.0.pool.is_running_here()
    }

    /// Drains for up to so many milliseconds, then fires the cancel signals of the handlers that still run and makes their events available
    /// to others: what they say counts for nothing then. Idempotent.
    ///
    /// Called by a handler of this consumer it waits for nobody and takes nothing away: handlers that run finish.
    ///
    /// # Errors
    /// `forked`, `invalid_argument` for the timeout.
    pub fn close(&self, timeout_ms: u64) -> Result<()> {
        let pool = self.pool()?;
        limits::check_duration("timeout_ms", timeout_ms, 0)?;
        if pool.is_running_here() {
            pool.shared.stop();
            return Ok(());
        }
        let is_settled = pool.shared.close(pool.wait(timeout_ms));
        // Handlers whose events are settled are about to return; for the others the time is up.
        let left = if is_settled { Duration::from_millis(timeout_ms.max(1)) } else { Duration::from_millis(1) };
        pool.wait_ended(Instant::now().checked_add(left));
        Ok(())
    }

    /// Waits up to so many milliseconds until it has ended: it was drained or closed, or met an error that ends it. Returns whether it
    /// has; nothing of it runs then.
    ///
    /// Called by a handler of this consumer it does not wait, since that could not end.
    ///
    /// # Errors
    /// What ended it by itself: `closed`, `poisoned`, `stream_not_found`, `group_not_found`; `forked`.
    pub fn wait(&self, timeout_ms: u64) -> Result<bool> {
        let pool = self.pool()?;
        limits::check_duration("timeout_ms", timeout_ms, 0)?;
        let timeout_ms = if pool.is_running_here() { 0 } else { timeout_ms };
        let ended = pool.wait_ended(Instant::now().checked_add(Duration::from_millis(timeout_ms)));
        match pool.shared.failure() {
            Some(error) if ended => Err(error),
            _ => Ok(ended),
        }
    }

    /// How many leases it holds that are not settled.
    ///
    /// # Errors
    /// `forked`.
    pub fn inflight_count(&self) -> Result<usize> {
        Ok(self.pool()?.shared.inflight_count())
    }

    /// Whether it takes events: it was neither drained nor closed, and met no error that ends it.
    ///
    /// # Errors
    /// `forked`.
    pub fn is_running(&self) -> Result<bool> {
        Ok(!self.pool()?.shared.is_stopped())
    }

    /// What ended it by itself, if something did.
    ///
    /// # Errors
    /// `forked`.
    pub fn failure(&self) -> Result<Option<Error>> {
        Ok(self.pool()?.shared.failure())
    }

    /// The group whose events it takes.
    pub fn group(&self) -> &Group {
        self.0.pool.shared.group()
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Consumer").field(self.group()).finish()
    }
}

impl Pool {
    fn is_running_here(&self) -> bool {
        is_handled_here(&self.shared)
    }

    fn wait(&self, timeout_ms: u64) -> Wait<'static> {
        let timeout_ms = if self.is_running_here() { 0 } else { timeout_ms };
        Wait::millis(&self.shared, timeout_ms, None)
    }

    fn wait_ended(&self, until: Option<Instant>) -> bool {
        let mut workers = self.workers.lock();
        while *workers > 0 {
            before_wait();
            match until {
                Some(until) if self.ended.wait_until(&mut workers, until).timed_out() => break,
                Some(_) => {}
                None => self.ended.wait(&mut workers),
            }
        }
        *workers == 0
    }

    /// Takes the next batch. Returns whether there is one.
    fn take<'a>(&'a self, noted: Option<Noted<'a>>, worker: usize, leases: &mut Vec<Lease>) -> bool {
        let shared = &self.shared;
        let by = Taker::Worker(worker);
        if shared.take_on(noted, self.batch_size, Wait::FOREVER, by, leases) != Ok(Taken::Some) {
            return false;
        }
        if leases.len() < self.batch_size && self.batch_timeout_ms > 0 {
            let wait = Wait::millis(shared, self.batch_timeout_ms, None);
            while leases.len() < self.batch_size {
                match shared.take(self.batch_size, wait, by, leases) {
                    Ok(Taken::Some) => {}
                    Ok(Taken::Nothing { .. }) => break,
                    Ok(Taken::Stopped) | Err(_) => {
                        shared.put_back(leases);
                        return false;
                    }
                }
            }
            shared.begin(leases, worker);
        }
        true
    }

    fn handle<'a>(
        &'a self,
        worker: usize,
        leases: &[Lease],
        cancel: &Interrupt,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<Noted<'a>> {
        outcomes.clear();
        RUNNING.set(Some(Arc::as_ptr(&self.shared)));
        let work = Work { leases, cancel };
        let handled = catch_unwind(AssertUnwindSafe(|| (self.handler)(&work, outcomes)));
        RUNNING.set(None);
        if let Err(panic) = handled {
            let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(|s| &**s));
            let reason = format!("the handler panicked: {}", text.unwrap_or("with something that is no text"));
            self.shared.tell(TelemetryName::WorkerCrash, None);
            outcomes.clear();
            outcomes.resize(leases.len(), Outcome::fail(reason));
        } else if outcomes.len() < leases.len()
            || outcomes.iter().any(|outcome| matches!(outcome, Outcome::Fail { .. }))
        {
            self.shared.tell(TelemetryName::HandlerError, None);
        }
        self.shared.complete(leases, outcomes, Some(worker))
    }
}

/// One thread of a consumer.
struct Worker(Arc<Pool>);

impl Worker {
    fn run(self) {
        if catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            let error = Error::new(ErrorCode::Internal, "a worker of the consumer panicked outside its handler");
            // Giving back what it holds may panic as well: that runs out, then.
            let _ = catch_unwind(AssertUnwindSafe(|| self.0.shared.fail(&error)));
        }
    }

    fn work(&self) {
        let cancel = Interrupt::new();
        let number = self.0.shared.add_worker(&cancel);
        let mut leases = Vec::with_capacity(self.0.batch_size.min(1024));
        let mut outcomes = Vec::new();
        // Freed when no lock is held.
        let mut done = Vec::new();
        let mut noted = None;
        while self.0.take(noted.take(), number, &mut leases) {
            done.clear();
            if leases.is_empty() {
                continue;
            }
            noted = self.0.handle(number, &leases, &cancel, &mut outcomes);
            if cancel.is_fired() {
                cancel.reset();
            }
            std::mem::swap(&mut leases, &mut done);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Also when it never ran.
        let mut workers = self.0.workers.lock();
        *workers -= 1;
        if *workers == 0 {
            self.0.ended.notify_all();
        }
    }
}
