//! Demand turned into leases: fetching, holding, renewing, settling, draining. Who asks for leases does the fetching, on its own
//! thread; one of those who wait does it for all of them.

use crate::backend::{Settlement, Watch};
use crate::bound::Group;
use crate::delivery::{FetchOptions, RetryOptions};
use crate::error::{Error, ErrorCode, Result, Retriable, SettleClass};
use crate::fork::Leaked;
use crate::instance::{Operations, reject_settlement, retry_settlement};
use crate::lease::{Lease, LeaseId, LeaseToken};
use crate::limits;
use crate::lock::{Mutex, before_wait};
use crate::options::check_limit;
use crate::runtime::backoff::Backoff;
use crate::runtime::consumer::is_handled_here;
use crate::runtime::inflight::{Held, Inflight, Micros, Repeat, micros};
use crate::runtime::options::{ConsumerOptions, ProducerOptions};
use crate::runtime::outcome::{OnFailure, Outcome};
use crate::runtime::timer::Timer;
use crate::telemetry::TelemetryName;
use crate::wait::Interrupt;
use crate::wakers::{Wakers, wake_all};
use parking_lot::{Condvar, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// How many acks are gathered at most before they are settled together.
const GATHER: usize = 100;
/// For how long an ack is gathered while its consumer has more to do, give or take a tick of the coarse clock. The timer sees to it where a handler takes its time.
const GATHER_AGE: Micros = 1000;
/// When the timer looks.
const GATHER_TIMER: Micros = 10_000;

/// What `next` found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Next {
    /// Leases, at least one.
    Leases(Vec<Lease>),
    /// Nothing before the time was up or the interrupt fired.
    Nothing {
        /// In how long something may be there by time alone, for those who wait by themselves; nothing when only a wake can bring it.
        look_again: Option<Duration>,
    },
    /// Nothing ever again: the producer was drained or closed.
    Stopped,
}

/// Turns demand into leases, renews them until they are settled, and never holds more than `max_demand` of them (contract, section 6).
///
/// Whoever asks for leases fetches them, on its own thread; the leases that are held are renewed on a thread that all producers of an
/// instance share. Clones are handles of the same producer; any thread may use any of them at any time. Dropping the last
/// one closes it without waiting, so that what was not settled is available to others at once.
///
/// ```
/// use rheo_core::{Append, GroupOptions, Next, OpenOptions, Producer, ProducerOptions, StreamOptions};
///
/// let db = rheo_core::open("memory:", OpenOptions::new())?;
/// db.create_stream("orders", StreamOptions::default())?;
/// db.create_group("orders", "billing", &GroupOptions::default())?;
/// db.append("orders", &Append::json("1"))?;
/// let producer = Producer::start(&db.group("orders", "billing")?, &ProducerOptions::new().max_demand(50))?;
/// while let Next::Leases(leases) = producer.next(10, 0, None)? {
///     for lease in leases {
///         producer.ack(&lease)?;
///     }
/// }
/// assert!(producer.drain(1000)?);
/// # Ok::<(), rheo_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Producer(Arc<Handle>);

struct Handle {
    shared: Leaked<Arc<Shared>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.shared.generation().is_past() {
            self.shared.close(Wait::NONE);
        }
    }
}

impl Producer {
    /// Starts taking leases for whoever asks; nothing is fetched before somebody does.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`, `invalid_argument` for an option out of range, `failed` when the
    /// thread that renews cannot be started, `closed`, `forked`.
    pub fn start(group: &Group, options: &ProducerOptions) -> Result<Producer> {
        group.operations().usable()?;
        options.check()?;
        let max_demand = options.max_demand.unwrap_or(group.operations().options().default_max_demand);
        let shared = Shared::start(group, options, Role::Producer, max_demand, 0)?;
        Ok(Producer(Arc::new(Handle { shared: Leaked::new(shared) })))
    }

    /// Starts the producer of a consumer whose handlers run elsewhere, in an event loop: it has a consumer's options, and tells telemetry of a
    /// consumer. Whoever runs the handlers takes leases by [`next_for`](Producer::next_for) and hands outcomes to
    /// [`complete`](Producer::complete).
    ///
    /// # Errors
    /// As [`start`](Producer::start).
    pub fn for_consumer(group: &Group, options: &ConsumerOptions) -> Result<Producer> {
        group.operations().usable()?;
        options.check()?;
        let max_demand = options.max_demand(group.operations().options().default_max_demand);
        let shared = Shared::start(group, &options.producer, Role::Consumer, max_demand, options.max_lease_ms)?;
        Ok(Producer(Arc::new(Handle { shared: Leaked::new(shared) })))
    }

    fn shared(&self) -> Result<&Arc<Shared>> {
        if self.0.shared.generation().is_past() {
            self.0.shared.operations().usable()?;
        }
        Ok(&self.0.shared)
    }

    /// At most `most` leases, at least one; waits up to `timeout_ms` for the first. A timeout of 0 does not wait. Fetches no more than
    /// that, so that the rest is there for others; the producer of a consumer fetches all that it may hold.
    ///
    /// An interrupt ends the wait. Under a manual clock the wait is over when that clock has moved by `timeout_ms`, or when that much
    /// time has really passed. A fetch that fails is reported (`fetch.error`) and repeated after a back-off.
    ///
    /// # Errors
    /// `invalid_argument` for a `most` of 0 or above 10,000 and for a timeout above ten years; `closed`, `poisoned`, `stream_not_found`,
    /// `group_not_found` once the instance, the stream or the group is gone; `forked`.
    pub fn next(&self, most: usize, timeout_ms: u64, interrupt: Option<&Interrupt>) -> Result<Next> {
        self.next_for(most, timeout_ms, interrupt, None)
    }

    /// As [`next`](Producer::next), for a handler: `cancel` fires when one of the leases is lost, and when the producer is closed before
    /// they are settled. One signal may serve many leases.
    ///
    /// # Errors
    /// The same.
    pub fn next_for(
        &self,
        most: usize,
        timeout_ms: u64,
        interrupt: Option<&Interrupt>,
        cancel: Option<&Interrupt>,
    ) -> Result<Next> {
        let mut leases = Vec::new();
        Ok(match self.take(most, timeout_ms, interrupt, cancel, &mut leases)? {
            Taken::Some => Next::Leases(leases),
            Taken::Nothing { look_again } => Next::Nothing { look_again },
            Taken::Stopped => Next::Stopped,
        })
    }

    /// As [`next`](Producer::next), into a vector that is emptied first, whose memory a loop uses again and again. Returns whether the
    /// producer goes on: false once it was drained or closed, with no leases then.
    ///
    /// # Errors
    /// The same.
    pub fn next_into(
        &self,
        most: usize,
        timeout_ms: u64,
        interrupt: Option<&Interrupt>,
        leases: &mut Vec<Lease>,
    ) -> Result<bool> {
        leases.clear();
        Ok(self.take(most, timeout_ms, interrupt, None, leases)? != Taken::Stopped)
    }

    fn take(
        &self,
        most: usize,
        timeout_ms: u64,
        interrupt: Option<&Interrupt>,
        cancel: Option<&Interrupt>,
        leases: &mut Vec<Lease>,
    ) -> Result<Taken> {
        let shared = self.shared()?;
        if most == 0 {
            return Err(Error::invalid("most is 0, so that there is nothing to wait for; it takes 1 to 10,000"));
        }
        check_limit("most", most)?;
        limits::check_duration("timeout_ms", timeout_ms, 0)?;
        shared.take(most, Wait::millis(shared, timeout_ms, interrupt), cancel, leases)
    }

    /// Registers a waker for those who wait in an event loop: watch, then [`next`](Producer::next) without waiting, then wait to be
    /// woken, for `look_again`, or, where the store does not notify, for the time that comes with the watch. Wakers are called on any
    /// thread, any number of times, with no lock held.
    ///
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `closed`, `forked`, `backend_unavailable`.
    pub fn watch(&self, waker: &Waker) -> Result<(Watch, Option<Duration>)> {
        let shared = self.shared()?;
        let own = WatchedProducer { number: shared.watchers.add((), waker.clone()), shared: Arc::clone(shared) };
        match shared.group.watch(shared.partitions.as_deref(), waker) {
            Ok(watch) => Ok((Watch::new((own, watch)), None)),
            Err(error) if error.code() == ErrorCode::Unsupported => Ok((Watch::new(own), Some(until(0, shared.poll)))),
            Err(error) => Err(error),
        }
    }

    /// Acks a lease and frees its slot, whatever came of the ack. See [`Instance::ack`](crate::Instance::ack).
    ///
    /// # Errors
    /// The same. After an error the lease is not renewed any more; unless it was lost it may be settled until it expires.
    pub fn ack(&self, lease: impl AsRef<LeaseToken>) -> Result<()> {
        let token = lease.as_ref();
        self.shared()?.settle_by_hand([token.lease_id()], |group| group.ack(token))
    }

    /// Gives a lease back for another attempt and frees its slot; the producer's `retry_delay` holds where `delay_ms` is missing, for
    /// which a token that came as text counts as a first attempt. See [`Instance::retry`](crate::Instance::retry).
    ///
    /// # Errors
    /// As [`ack`](Producer::ack); `invalid_argument` for a delay above ten years, and then nothing is done.
    pub fn retry(&self, lease: impl AsRef<LeaseToken>, reason: &str, delay_ms: Option<u64>) -> Result<()> {
        let (shared, token) = (self.shared()?, lease.as_ref());
        let delay_ms = delay_ms.unwrap_or_else(|| shared.retry_delay_of(token));
        let options = RetryOptions { reason, delay_ms };
        retry_settlement(options)?;
        shared.settle_by_hand([token.lease_id()], |group| group.retry(token, options))
    }

    /// Makes a lease's delivery a dead letter and frees its slot. See [`Instance::reject`](crate::Instance::reject).
    ///
    /// # Errors
    /// As [`ack`](Producer::ack).
    pub fn reject(&self, lease: impl AsRef<LeaseToken>, reason: &str) -> Result<()> {
        let token = lease.as_ref();
        self.shared()?.settle_by_hand([token.lease_id()], |group| group.reject(token, reason))
    }

    /// Makes a lease's delivery available to others at once and frees its slot. See [`Instance::release`](crate::Instance::release).
    ///
    /// # Errors
    /// As [`ack`](Producer::ack).
    pub fn release(&self, lease: impl AsRef<LeaseToken>) -> Result<()> {
        let token = lease.as_ref();
        self.shared()?.settle_by_hand([token.lease_id()], |group| group.release(token))
    }

    /// Processing failed: does what `on_failure` says.
    ///
    /// # Errors
    /// As [`ack`](Producer::ack).
    pub fn fail(&self, lease: impl AsRef<LeaseToken>, reason: &str) -> Result<()> {
        match self.shared()?.on_failure {
            OnFailure::Retry => self.retry(lease, reason, None),
            OnFailure::Reject => self.reject(lease, reason),
        }
    }

    /// Acks many leases in one call and frees their slots, whatever came of it. See [`Instance::ack_many`](crate::Instance::ack_many).
    ///
    /// # Errors
    /// The same: of the call as a whole, or in a lease's place.
    pub fn ack_many<L: AsRef<LeaseToken>>(&self, leases: &[L]) -> Result<Vec<Result<()>>> {
        let ids = leases.iter().map(|lease| lease.as_ref().lease_id());
        self.shared()?.settle_by_hand(ids, |group| group.ack_many(leases))
    }

    /// Settles leases by what a handler said of each, as a consumer does: errors are reported (`settle.error`), what definitely was not
    /// done is repeated after a back-off, and what was said of a lease that is lost counts for nothing. Acks may be gathered for a
    /// moment while leases wait to be handed out. A missing outcome is a failure.
    ///
    /// # Errors
    /// `forked`.
    pub fn complete<L: AsRef<LeaseToken>>(&self, leases: &[L], outcomes: &[Outcome]) -> Result<()> {
        self.shared()?.complete(leases, outcomes, None);
        Ok(())
    }

    /// Of leases that were taken under a cancel signal, whether each has fired it: it was lost, or given up after `max_lease_ms`, or the
    /// producer was closed before it was settled. For those who take many under one signal and look which of them it was.
    ///
    /// # Errors
    /// `forked`.
    pub fn cancelled<L: AsRef<LeaseToken>>(&self, leases: &[L]) -> Result<Vec<bool>> {
        let state = self.shared()?.state.lock();
        Ok(leases.iter().map(|lease| state.inflight.is_cancelled(lease.as_ref().lease_id())).collect())
    }

    /// For a handler that waited for more after it was given these leases, and begins now: forgets those that were lost meanwhile, and what
    /// the signal said of them. Their time with the handler counts from now on. A signal that serves other leases as well says nothing
    /// of those either then: [`cancelled`](Producer::cancelled) does.
    ///
    /// # Errors
    /// `forked`.
    pub fn begin<L: AsRef<LeaseToken>>(&self, leases: &mut Vec<L>, cancel: &Interrupt) -> Result<()> {
        self.shared()?.begin_under(leases, cancel, None);
        Ok(())
    }

    /// Tells of a handler's failure: `handler.error` goes to the instance's telemetry.
    pub fn handler_failed(&self) {
        if let Ok(shared) = self.shared() {
            shared.tell(TelemetryName::HandlerError, None);
        }
    }

    /// Frees the slots of leases that were settled without this producer. Returns how many it held.
    ///
    /// # Errors
    /// `forked`.
    pub fn confirm(&self, lease_ids: &[LeaseId]) -> Result<usize> {
        Ok(self.shared()?.confirm(lease_ids.iter().copied()))
    }

    /// How many leases it holds that are not settled.
    ///
    /// # Errors
    /// `forked`.
    pub fn inflight_count(&self) -> Result<usize> {
        Ok(self.shared()?.inflight_count())
    }

    /// Gives no more leases, gives back at once what it fetched and handed to nobody, and waits up to so many milliseconds for the rest to
    /// be settled. Returns whether all of it was. Renews meanwhile, and afterwards too.
    ///
    /// # Errors
    /// `already_draining` while another drain is pending; `closed`, `forked`, `invalid_argument` for the timeout.
    pub fn drain(&self, timeout_ms: u64) -> Result<bool> {
        let shared = self.shared()?;
        limits::check_duration("timeout_ms", timeout_ms, 0)?;
        shared.drain(Wait::millis(shared, timeout_ms, None))
    }

    /// The beginning of a drain, for those who wait in an event loop: [`watch`](Producer::watch), then ask whether it is done, then wait to
    /// be woken. The drain is pending until what this returns is dropped.
    ///
    /// # Errors
    /// As [`drain`](Producer::drain).
    pub fn begin_drain(&self) -> Result<Drain> {
        let shared = self.shared()?;
        shared.start_drain()
    }

    /// Drains for up to so many milliseconds, then makes available to others what was not settled, and fires the cancel signals of
    /// those who have it. Idempotent.
    ///
    /// # Errors
    /// `forked`, `invalid_argument` for the timeout.
    pub fn close(&self, timeout_ms: u64) -> Result<()> {
        let shared = self.shared()?;
        limits::check_duration("timeout_ms", timeout_ms, 0)?;
        shared.close(Wait::millis(shared, timeout_ms, None));
        Ok(())
    }

    /// Whether it gives no more leases: it was drained or closed, or ended by itself.
    ///
    /// # Errors
    /// `forked`.
    pub fn is_stopped(&self) -> Result<bool> {
        Ok(self.shared()?.is_stopped())
    }

    /// The group that it takes from.
    pub fn group(&self) -> &Group {
        self.0.shared.group()
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Producer").field(self.group()).finish()
    }
}

/// A drain that is pending until this is dropped.
pub struct Drain(Leaked<Arc<Shared>>);

impl Drain {
    /// Waits up to so many milliseconds until everything is settled. Returns whether it is. For hosts that drain in pieces, to be asked
    /// between them whether to go on. Called by a handler of the consumer that is drained, it does not wait.
    ///
    /// # Errors
    /// `closed`, `forked`, `invalid_argument` for the timeout.
    pub fn wait(&self, timeout_ms: u64) -> Result<bool> {
        limits::check_duration("timeout_ms", timeout_ms, 0)?;
        if self.0.generation().is_past() {
            self.0.operations().usable()?;
        }
        let timeout_ms = if is_handled_here(&self.0) { 0 } else { timeout_ms };
        self.0.wait_settled(Wait::millis(&self.0, timeout_ms, None))
    }

    /// Whether everything is settled.
    ///
    /// # Errors
    /// `closed`, `forked`.
    pub fn is_done(&self) -> Result<bool> {
        if self.0.generation().is_past() || !self.0.state.lock().is_settled() {
            self.0.operations().usable()?;
            return Ok(false);
        }
        Ok(true)
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        if !self.0.generation().is_past() {
            self.0.state.lock().is_draining = false;
        }
    }
}

/// Stops waking when it is dropped.
struct WatchedProducer {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for WatchedProducer {
    fn drop(&mut self) {
        self.shared.watchers.remove(self.number);
    }
}

/// How `take` ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Some,
    Nothing { look_again: Option<Duration> },
    Stopped,
}

/// How long to wait.
#[derive(Clone, Copy)]
pub(super) struct Wait<'a> {
    /// Until when; for ever when missing.
    until: Option<Instant>,
    /// Until which time of a manual clock, too.
    manual_until: Option<Micros>,
    is_none: bool,
    interrupt: Option<&'a Interrupt>,
}

impl<'a> Wait<'a> {
    pub(super) const FOREVER: Wait<'static> = Wait { until: None, manual_until: None, is_none: false, interrupt: None };
    const NONE: Wait<'static> = Wait { until: None, manual_until: None, is_none: true, interrupt: None };

    /// So many milliseconds; none waits not at all.
    pub(super) fn millis(shared: &Shared, millis: u64, interrupt: Option<&'a Interrupt>) -> Wait<'a> {
        if millis == 0 {
            return Wait::NONE;
        }
        let manual_until = shared.timer.clock.is_manual().then(|| shared.now().saturating_add(micros(millis)));
        let until = Instant::now().checked_add(Duration::from_millis(millis));
        Wait { until, manual_until, is_none: false, interrupt }
    }

    fn is_over(&self, shared: &Shared) -> bool {
        self.is_none
            || self.interrupt.is_some_and(Interrupt::is_fired)
            || self.until.is_some_and(|until| Instant::now() >= until)
            || self.manual_until.is_some_and(|until| shared.now() >= until)
    }

    /// The same, but with an end at most so far away.
    fn at_most(self, end: Option<Instant>) -> Option<Instant> {
        match (self.until, end) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// Who takes leases, and is to be told when one is lost.
#[derive(Clone, Copy)]
pub(super) enum Taker<'a> {
    /// Somebody who is told nothing.
    Anybody,
    /// Whoever has this signal, for each lease.
    Signal(&'a Interrupt),
    /// A worker of a consumer, by its number: for all that it has at a time.
    Worker(usize),
}

impl<'a> From<Option<&'a Interrupt>> for Taker<'a> {
    fn from(cancel: Option<&'a Interrupt>) -> Taker<'a> {
        cancel.map_or(Taker::Anybody, Taker::Signal)
    }
}

/// A thread of a consumer.
struct WorkerState {
    cancel: Interrupt,
    /// The leases that its handler has.
    has: Vec<LeaseId>,
    /// Since when.
    since: Micros,
}

impl WorkerState {
    fn takes<L: AsRef<LeaseToken>>(&mut self, leases: &[L], now: Micros) {
        self.has.clear();
        self.has.extend(leases.iter().map(|lease| lease.as_ref().lease_id()));
        self.since = now;
    }
}

/// What handlers said has been noted: the state, locked, and what time it was.
pub(super) struct Noted<'a> {
    state: MutexGuard<'a, State>,
    now: Micros,
}

/// What a producer is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Producer,
    Consumer,
}

/// What a producer and those who work with it share.
pub(super) struct Shared {
    group: Group,
    role: Role,
    max_demand: usize,
    lease_ms: u64,
    poll: Micros,
    consumer_id: Option<String>,
    partitions: Option<Vec<u32>>,
    on_failure: OnFailure,
    retry_delay: super::backoff::RetryDelay,
    pub(super) timer: Arc<Timer>,
    /// By which the timer knows it.
    number: u64,
    this: Weak<Shared>,
    state: Mutex<State>,
    /// Whoever fetches waits here for something to fetch …
    fetcher: Condvar,
    /// … the others for what it finds, and for slots.
    others: Condvar,
    /// Drains wait here.
    settled: Condvar,
    /// Who waits elsewhere, in an event loop.
    watchers: Wakers<()>,
}

struct State {
    /// No leases are given any more.
    stopped: bool,
    /// Telemetry was told of the end.
    told_end: bool,
    /// Why it ended by itself.
    failure: Option<Error>,
    inflight: Inflight,
    workers: Vec<WorkerState>,
    /// Fetched and not handed out yet. All of them are held.
    buffered: VecDeque<Lease>,
    /// Acked by their handlers, to be settled together; not in `inflight`.
    gathered: Vec<Held>,
    gathered_since: Micros,
    /// How many are being settled; neither in `inflight` nor in `gathered`.
    settling: usize,
    is_fetching: bool,
    /// A fetch is under way that may bring leases.
    is_claiming: bool,
    /// Somebody who does not wait found another one fetching.
    refused: bool,
    /// How many threads wait at `others`.
    waiting: usize,
    /// Raised by whatever a wait for work must not miss.
    wakes: u64,
    backoff: Backoff,
    /// Not to fetch before this time: the last fetch failed.
    fetch_at: Micros,
    is_draining: bool,
    /// When the timer calls next.
    scheduled: Micros,
}

impl WorkerState {
    fn cancelled(&mut self) -> Interrupt {
        self.cancel.set();
        self.cancel.clone()
    }
}

impl State {
    fn inflight_count(&self) -> usize {
        self.inflight.len() + self.gathered.len() + self.settling
    }

    /// Takes note that leases are lost: those that nobody has are given to nobody, and the workers that have them are told. Returns the
    /// signals of these, set, to be woken.
    fn lose(&mut self, ids: &[LeaseId]) -> Vec<Interrupt> {
        if ids.is_empty() {
            return Vec::new();
        }
        let inflight = &self.inflight;
        self.buffered.retain(|lease| inflight.holds(lease.lease_id()));
        let has_one = |worker: &&mut WorkerState| worker.has.iter().any(|id| ids.contains(id));
        self.workers.iter_mut().filter(has_one).map(WorkerState::cancelled).collect()
    }

    /// Sets the signals of all workers that have something, and returns them.
    fn cancel_workers(&mut self) -> Vec<Interrupt> {
        self.workers.iter_mut().filter(|worker| !worker.has.is_empty()).map(WorkerState::cancelled).collect()
    }

    /// Whether nothing is held, and nothing about to be.
    fn is_settled(&self) -> bool {
        self.inflight_count() == 0 && !self.is_claiming
    }
}

impl Shared {
    /// # Errors
    /// `stream_not_found`, `group_not_found`, `invalid_partition`; `failed` when there is no thread to be had.
    pub(super) fn start(
        group: &Group,
        options: &ProducerOptions,
        role: Role,
        max_demand: usize,
        max_lease_ms: u64,
    ) -> Result<Arc<Shared>> {
        let operations = group.operations();
        // Who names what is not there hears of it now.
        group.lag(Some(options.partitions.as_deref().unwrap_or(&[])))?;
        let lease_ms = options.lease_ms.unwrap_or(operations.options().default_lease_ms);
        let timer = operations.timer();
        let mut failure = None;
        let shared = Arc::new_cyclic(|weak: &Weak<Shared>| Shared {
            group: group.clone(),
            role,
            max_demand,
            lease_ms,
            poll: micros(options.poll_ms),
            consumer_id: options.consumer_id.clone(),
            partitions: options.partitions.clone(),
            on_failure: options.on_failure,
            retry_delay: options.retry_delay,
            number: timer.register(weak).unwrap_or_else(|error| {
                failure = Some(error);
                u64::MAX
            }),
            timer,
            this: Weak::clone(weak),
            state: Mutex::new(State {
                stopped: false,
                told_end: false,
                failure: None,
                inflight: Inflight::new(lease_ms, max_lease_ms),
                workers: Vec::new(),
                buffered: VecDeque::new(),
                gathered: Vec::new(),
                gathered_since: 0,
                settling: 0,
                is_fetching: false,
                is_claiming: false,
                refused: false,
                waiting: 0,
                wakes: 0,
                backoff: Backoff::default(),
                fetch_at: Micros::MIN,
                is_draining: false,
                scheduled: Micros::MAX,
            }),
            fetcher: Condvar::new(),
            others: Condvar::new(),
            settled: Condvar::new(),
            watchers: Wakers::default(),
        });
        match failure {
            Some(error) => {
                // It never began.
                shared.state.lock().told_end = true;
                Err(error)
            }
            None => {
                let name = match role {
                    Role::Producer => TelemetryName::ProducerStart,
                    Role::Consumer => TelemetryName::ConsumerStart,
                };
                shared.tell(name, None);
                Ok(shared)
            }
        }
    }

    pub(super) fn operations(&self) -> &Operations {
        self.group.operations()
    }

    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    pub(super) fn now(&self) -> Micros {
        self.timer.clock.now(self.operations())
    }

    fn about_now(&self) -> Micros {
        self.timer.clock.about_now(self.operations())
    }

    pub(super) fn tell(&self, name: TelemetryName, error: Option<&Error>) {
        self.operations().tell(name, self.group.stream(), self.group.name(), error.map(Error::code));
    }

    fn tell_end(&self, error: Option<&Error>) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.told_end, true) {
            return;
        }
        // Whoever closes what has ended by itself may be the first to tell.
        let failure = state.failure.clone();
        drop(state);
        let name = match self.role {
            Role::Producer => TelemetryName::ProducerStop,
            Role::Consumer => TelemetryName::ConsumerStop,
        };
        self.tell(name, error.or(failure.as_ref()));
    }

    /// Has the timer call, unless it does so earlier anyway.
    fn schedule(&self, state: &mut State, at: Micros) {
        if at < state.scheduled {
            self.timer.schedule(self.number, state.scheduled, at);
            state.scheduled = at;
        }
    }

    /// Takes leases that are there or can be fetched; waits for the first if there are none.
    ///
    /// # Errors
    /// Why the producer ended by itself, if it did.
    pub(super) fn take<'a>(
        &'a self,
        most: usize,
        wait: Wait<'_>,
        by: impl Into<Taker<'a>>,
        leases: &mut Vec<Lease>,
    ) -> Result<Taken> {
        self.take_on(None, most, wait, by.into(), leases)
    }

    /// Takes a worker in, which has this signal, and gives it its number.
    pub(super) fn add_worker(&self, cancel: &Interrupt) -> usize {
        let mut state = self.state.lock();
        state.workers.push(WorkerState { cancel: cancel.clone(), has: Vec::new(), since: 0 });
        state.workers.len() - 1
    }

    /// The same, going on from a [`complete`](Shared::complete).
    pub(super) fn take_on<'a>(
        &'a self,
        noted: Option<Noted<'a>>,
        most: usize,
        wait: Wait<'_>,
        by: Taker<'_>,
        leases: &mut Vec<Lease>,
    ) -> Result<Taken> {
        let _interrupted = wait.interrupt.map(|interrupt| interrupt.watch(self.waker()));
        let (mut state, mut now) = match noted {
            Some(Noted { state, now }) => (state, Some(now)),
            None => (self.state.lock(), None),
        };
        loop {
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            if state.stopped {
                return Ok(Taken::Stopped);
            }
            if !state.buffered.is_empty() {
                let now = now.take().unwrap_or_else(|| self.about_now());
                self.hand_out(&mut state, most, now, by, leases);
                if state.waiting > 0 && (!state.buffered.is_empty() || !state.is_fetching) {
                    self.others.notify_one();
                }
                if !leases.is_empty() {
                    return Ok(Taken::Some);
                }
                continue;
            }
            now = None;
            if !state.gathered.is_empty() {
                // Nothing to go on with: there is time to settle.
                state = self.settle_gathered(state);
                continue;
            }
            let now = self.now();
            if state.is_fetching || self.room(&state) == 0 || now < state.fetch_at {
                let pause = (now < state.fetch_at).then_some(state.fetch_at);
                if wait.is_over(self) {
                    state.refused |= state.is_fetching;
                    let look_again = pause.filter(|_| !self.timer.clock.is_manual()).map(|at| until(now, at));
                    return Ok(Taken::Nothing { look_again });
                }
                let end = wait.at_most(pause.and_then(|at| self.timer.clock.instant(at)));
                state.waiting += 1;
                self.wait(&self.others, &mut state, end);
                state.waiting -= 1;
                continue;
            }
            // What a producer's user has not asked for is for others; a consumer's handlers ask for all that it may hold.
            let demand = if self.role == Role::Producer { most - leases.len() } else { usize::MAX };
            if let Some(found) = self.fetch(state, demand, wait)? {
                return Ok(found);
            }
            state = self.state.lock();
        }
    }

    /// How many more leases it may hold.
    fn room(&self, state: &State) -> usize {
        self.max_demand.saturating_sub(state.inflight_count())
    }

    fn wait(&self, condition: &Condvar, state: &mut MutexGuard<'_, State>, until: Option<Instant>) {
        before_wait();
        match until {
            Some(until) => drop(condition.wait_until(state, until)),
            None => condition.wait(state),
        }
    }

    fn hand_out(&self, state: &mut State, most: usize, now: Micros, by: Taker<'_>, leases: &mut Vec<Lease>) {
        let cancel = match by {
            Taker::Worker(number) if !state.inflight.must_look(now) => {
                // Nothing is lost or has run out, so there is nothing to look up.
                debug_assert!(state.buffered.iter().all(|lease| state.inflight.holds(lease.lease_id())));
                let count = (most - leases.len()).min(state.buffered.len());
                leases.extend(state.buffered.drain(..count));
                state.workers[number].takes(leases, now);
                return;
            }
            Taker::Worker(number) => Some(state.workers[number].cancel.clone()),
            Taker::Signal(cancel) => Some(cancel.clone()),
            Taker::Anybody => None,
        };
        let now = self.now();
        while leases.len() < most
            && let Some(lease) = state.buffered.pop_front()
        {
            if let Some(due) = state.inflight.hand_out(lease.lease_id(), now, cancel.as_ref()) {
                self.schedule(state, due);
                leases.push(lease);
            }
        }
        if let Taker::Worker(number) = by {
            state.workers[number].takes(leases, now);
        }
    }

    /// Fetches at most `demand` leases into the buffer, for everybody, and waits for something to fetch. Returns nothing when it is worth looking at the
    /// state again.
    fn fetch(&self, mut state: MutexGuard<'_, State>, demand: usize, wait: Wait<'_>) -> Result<Option<Taken>> {
        let mut room = self.room(&state).min(demand);
        (state.is_fetching, state.is_claiming) = (true, true);
        let mut wakes = state.wakes;
        drop(state);
        let _fetching = Fetching(self);
        let mut fetched = Vec::new();
        let mut watch: Option<Watch> = None;
        let mut can_watch = true;
        loop {
            let now = self.now();
            let options = FetchOptions {
                limit: Some(room),
                lease_ms: Some(self.lease_ms),
                consumer_id: self.consumer_id.as_deref(),
                partitions: self.partitions.as_deref(),
                wait_ms: 0,
                interrupt: None,
            };
            let due = match self.group.fetch_now_into(&options, &mut fetched) {
                Ok(due) => due,
                Err(error) => {
                    self.fetch_failed(&error);
                    return Ok(None);
                }
            };
            let mut state = self.state.lock();
            if !fetched.is_empty() || watch.is_some() || !can_watch || wait.is_none {
                // Otherwise watching may fail next.
                state.backoff.reset();
            }
            state.fetch_at = Micros::MIN;
            if !fetched.is_empty() {
                if state.stopped {
                    // A drain waits for this: it counts as being claimed until then.
                    drop(state);
                    self.release(fetched.iter().map(Lease::token));
                    return Ok(None);
                }
                let mut first = Micros::MAX;
                for lease in &fetched {
                    first = first.min(state.inflight.add(lease, now));
                }
                self.schedule(&mut state, first);
                // It was empty, and stays so while somebody fetches.
                state.buffered = VecDeque::from(fetched);
                state.is_claiming = false;
                return Ok(None);
            }
            state.is_claiming = false;
            if state.stopped || state.failure.is_some() {
                return Ok(None);
            }
            if wait.is_none || wait.is_over(self) {
                return Ok(Some(Taken::Nothing { look_again: due.filter(|_| !self.timer.clock.is_manual()) }));
            }
            if watch.is_none() && can_watch {
                state.is_claiming = true;
                drop(state);
                let waker = Waker::from(Arc::new(WakeFetcher(Weak::clone(&self.this))));
                match self.group.watch(self.partitions.as_deref(), &waker) {
                    Ok(registered) => watch = Some(registered),
                    Err(error) if error.code() == ErrorCode::Unsupported => can_watch = false,
                    Err(error) => {
                        self.fetch_failed(&error);
                        return Ok(None);
                    }
                }
                wakes = self.state.lock().wakes;
                // What came before the watch wakes nobody.
                continue;
            }
            let due = due.filter(|_| !self.timer.clock.is_manual());
            let mut end = due.and_then(|due| Instant::now().checked_add(due.max(Duration::from_micros(50))));
            if !can_watch {
                let poll = self.timer.clock.instant(now + self.poll);
                end = end.into_iter().chain(poll).min();
            }
            let end = wait.at_most(end);
            while state.wakes == wakes && end.is_none_or(|end| Instant::now() < end) {
                self.wait(&self.fetcher, &mut state, end);
            }
            wakes = state.wakes;
            // Slots may have come free meanwhile, or gone.
            room = self.room(&state).min(demand);
            if state.stopped || state.failure.is_some() || !state.buffered.is_empty() || room == 0 {
                return Ok(None);
            }
            state.is_claiming = true;
        }
    }

    fn fetch_failed(&self, error: &Error) {
        self.tell(TelemetryName::FetchError, Some(error));
        let ends = error.code().ends_consumer()
            || matches!(error.code(), ErrorCode::StreamNotFound | ErrorCode::GroupNotFound);
        if ends {
            self.fail(error);
        } else {
            let now = self.now();
            let mut state = self.state.lock();
            let delay = state.backoff.failed();
            state.fetch_at = now.saturating_add(micros(delay));
        }
    }

    /// Ends by itself, with an error.
    pub(super) fn fail(&self, error: &Error) {
        // First of all, so that whoever finds it stopped finds why.
        self.state.lock().failure.get_or_insert_with(|| error.clone());
        self.stop();
        self.tell_end(Some(error));
    }

    /// Takes note of what handlers said. What came of a lease that is not held any more counts for nothing. Where nothing is to be
    /// settled now, the state is still locked for who goes on at once.
    pub(super) fn complete<'a, L: AsRef<LeaseToken>>(
        &'a self,
        leases: &[L],
        outcomes: &[Outcome],
        worker: Option<usize>,
    ) -> Option<Noted<'a>> {
        let missing = (outcomes.len() < leases.len()).then(|| {
            Outcome::fail(format!("the handler gave {} outcomes for {} events", outcomes.len(), leases.len()))
        });
        let outcomes = outcomes.iter().chain(std::iter::repeat(missing.as_ref().unwrap_or(&Outcome::Ack)));
        let mut others: Vec<(Held, &Outcome)> = Vec::new();
        let now = self.about_now();
        let mut state = self.state.lock();
        let mut is_slow = self.timer.clock.is_manual();
        if let Some(worker) = worker {
            let worker = &mut state.workers[worker];
            worker.has.clear();
            is_slow |= now - worker.since >= GATHER_AGE;
        }
        for (lease, outcome) in leases.iter().zip(outcomes) {
            let Some(held) = state.inflight.remove(lease.as_ref().lease_id()) else { continue };
            match outcome {
                Outcome::Ack => {
                    is_slow |= held.age(now) >= GATHER_AGE;
                    if state.gathered.is_empty() {
                        state.gathered_since = now;
                    }
                    state.gathered.push(held);
                }
                other => others.push((held, other)),
            }
        }
        if !others.is_empty() {
            let settling = self.settling(state, others.len());
            while let Some((first, outcome)) = others.pop() {
                // Runs of the same outcome go together.
                let mut same = vec![first];
                while let Some((held, _)) =
                    others.pop_if(|(held, other)| *other == outcome && held.attempt == same[0].attempt)
                {
                    same.push(held);
                }
                self.settle(same, outcome);
            }
            drop(settling);
            state = self.state.lock();
        }
        if state.gathered.is_empty() {
            return None;
        }
        let is_old = now - state.gathered_since >= self.gather_at_most(GATHER_AGE);
        let is_enough = state.gathered.len() >= GATHER || state.buffered.is_empty() || state.stopped;
        if is_enough || is_slow || is_old {
            drop(self.settle_gathered(state));
            return None;
        }
        let at = state.gathered_since + self.gather_at_most(GATHER_TIMER);
        self.schedule(&mut state, at);
        Some(Noted { state, now })
    }

    /// What is gathered is not renewed, so it waits for a small part of its lease at most.
    fn gather_at_most(&self, time: Micros) -> Micros {
        time.min(micros(self.lease_ms) / 8)
    }

    /// Settles what was gathered; the state is not locked meanwhile.
    fn settle_gathered<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let gathered = std::mem::take(&mut state.gathered);
        let settling = self.settling(state, gathered.len());
        self.settle(gathered, &Outcome::Ack);
        drop(settling);
        self.state.lock()
    }

    /// Counts leases, which are not held any more, as being settled, until what this returns is dropped.
    fn settling<'a>(&'a self, mut state: MutexGuard<'a, State>, count: usize) -> Settling<'a> {
        state.settling += count;
        Settling { shared: self, count }
    }

    /// Settles leases that count as being settled.
    fn settle(&self, mut all: Vec<Held>, outcome: &Outcome) {
        let attempt = all.first().map_or(1, |held| held.attempt);
        let settlement = match self.settlement(outcome, attempt) {
            Ok(settlement) => settlement,
            // A delay that nobody can wait for: the handler failed.
            Err(error) => return self.settle(all, &Outcome::fail(error.to_string())),
        };
        let results = {
            let tokens: Vec<&LeaseToken> = all.iter().map(|held| &held.token).collect();
            match self.operations().settle_many(&tokens, settlement) {
                Ok(results) => results,
                Err(error) => vec![Err(error); tokens.len()],
            }
        };
        let mut failed =
            results.into_iter().enumerate().filter_map(|(at, result)| Some((at, result.err()?))).peekable();
        if failed.peek().is_some() {
            let failed: Vec<(usize, Error)> = failed.collect();
            self.settle_failed(&mut all, failed, outcome);
        }
    }

    /// Repeats later what definitely was not done and may be done yet (contract, section 6). The rest is left to expire.
    #[cold]
    fn settle_failed(&self, all: &mut Vec<Held>, failed: Vec<(usize, Error)>, outcome: &Outcome) {
        let now = self.now();
        // From the end, so that what is removed leaves the others where they are.
        for (at, error) in failed.into_iter().rev() {
            self.tell(TelemetryName::SettleError, Some(&error));
            let mut held = all.swap_remove(at);
            if error.settle_class() == SettleClass::Definite && error.retriable() == Retriable::Yes {
                let mut backoff = held.repeat.take().map_or_else(Backoff::default, |repeat| repeat.backoff);
                let due = now.saturating_add(micros(backoff.failed()));
                held.repeat = Some(Box::new(Repeat { outcome: outcome.clone(), backoff, due }));
                let mut state = self.state.lock();
                state.inflight.put_back(held);
                self.schedule(&mut state, due);
            }
        }
    }

    fn settlement<'a>(&self, outcome: &'a Outcome, attempt: u32) -> Result<Settlement<'a>> {
        let retry = |reason, delay_ms: Option<u64>| {
            let delay_ms = delay_ms.unwrap_or_else(|| self.retry_delay.after(attempt));
            retry_settlement(RetryOptions { reason, delay_ms })
        };
        match (outcome, self.on_failure) {
            (Outcome::Ack, _) => Ok(Settlement::Ack),
            (Outcome::Release, _) => Ok(Settlement::Release),
            (Outcome::Retry { reason, delay_ms }, _) => retry(reason, *delay_ms),
            (Outcome::Reject { reason }, _) | (Outcome::Fail { reason }, OnFailure::Reject) => {
                Ok(reject_settlement(reason))
            }
            (Outcome::Fail { reason }, OnFailure::Retry) => retry(reason, None),
        }
    }

    /// Lets those who wait for slots, and drains, look again.
    fn freed(&self, state: MutexGuard<'_, State>) {
        let waiting = state.waiting > 0;
        let settled = state.is_draining || state.stopped;
        drop(state);
        if waiting {
            self.others.notify_one();
        }
        if settled {
            self.settled.notify_all();
        }
        self.wake_watchers();
    }

    /// Settles one lease by hand. The slot is free afterwards, whatever came of it.
    fn settle_by_hand<R>(
        &self,
        ids: impl IntoIterator<Item = LeaseId>,
        settle: impl FnOnce(&Group) -> Result<R>,
    ) -> Result<R> {
        let mut state = self.state.lock();
        // Not held while it is settled: a renewal that comes after the settle would take it for lost.
        let count = ids.into_iter().filter(|id| state.inflight.remove(*id).is_some()).count();
        let _settling = self.settling(state, count);
        settle(&self.group)
    }

    fn retry_delay_of(&self, token: &LeaseToken) -> u64 {
        let attempt = self.state.lock().inflight.attempt(token.lease_id());
        self.retry_delay.after(attempt.unwrap_or(1))
    }

    fn confirm(&self, ids: impl IntoIterator<Item = LeaseId>) -> usize {
        let mut state = self.state.lock();
        let count = ids.into_iter().filter(|id| state.inflight.remove(*id).is_some()).count();
        self.freed(state);
        count
    }

    fn release<'a>(&self, tokens: impl IntoIterator<Item = &'a LeaseToken>) {
        let tokens: Vec<&LeaseToken> = tokens.into_iter().collect();
        for some in tokens.chunks(limits::MAX_BATCH_ITEMS) {
            let error = match self.operations().settle_many(some, Settlement::Release) {
                Ok(results) => results.into_iter().find_map(Result::err),
                Err(error) => Some(error),
            };
            // One that is lost is nobody's to release.
            if let Some(error) = error.filter(|error| error.settle_class() != SettleClass::Lost) {
                self.tell(TelemetryName::SettleError, Some(&error));
            }
        }
    }

    /// Gives no more leases, and gives those back that nobody has.
    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        let unstarted = std::mem::take(&mut state.buffered);
        let mut released = Vec::with_capacity(unstarted.len());
        for lease in unstarted {
            released.extend(state.inflight.remove(lease.lease_id()));
        }
        if !state.gathered.is_empty() {
            state = self.settle_gathered(state);
        }
        drop(state);
        self.release(released.iter().map(|held| &held.token));
        self.look_again();
    }

    /// Takes leases back that a worker was given and has not begun with.
    pub(super) fn put_back(&self, leases: &[Lease]) {
        let mut state = self.state.lock();
        let held: Vec<Held> = leases.iter().filter_map(|lease| state.inflight.remove(lease.lease_id())).collect();
        state.settling += held.len();
        drop(state);
        let _settling = Settling { shared: self, count: held.len() };
        self.release(held.iter().map(|held| &held.token));
    }

    /// A worker has waited for more and begins now: forgets those of its leases that were lost meanwhile, and what its signal said.
    pub(super) fn begin(&self, leases: &mut Vec<Lease>, worker: usize) {
        let cancel = self.state.lock().workers[worker].cancel.clone();
        self.begin_under(leases, &cancel, Some(worker));
    }

    fn begin_under<L: AsRef<LeaseToken>>(&self, leases: &mut Vec<L>, cancel: &Interrupt, worker: Option<usize>) {
        let now = self.now();
        let mut state = self.state.lock();
        cancel.reset();
        if state.failure.is_some() {
            // Whoever closed the instance has told it before.
            cancel.set();
        }
        leases.retain(|lease| {
            let due = state.inflight.hand_out(lease.as_ref().lease_id(), now, Some(cancel));
            due.inspect(|due| self.schedule(&mut state, *due)).is_some()
        });
        if let Some(worker) = worker {
            state.workers[worker].takes(leases, now);
        }
    }

    /// Waits until everything is settled. Returns whether it is.
    fn wait_settled(&self, wait: Wait<'_>) -> Result<bool> {
        let _interrupted = wait.interrupt.map(|interrupt| interrupt.watch(self.waker()));
        let mut state = self.state.lock();
        loop {
            if state.is_settled() {
                return Ok(true);
            }
            if wait.is_over(self) {
                return Ok(false);
            }
            self.operations().usable()?;
            self.wait(&self.settled, &mut state, wait.until);
        }
    }

    fn begin_drain(&self) -> Result<()> {
        if std::mem::replace(&mut self.state.lock().is_draining, true) {
            return Err(Error::new(
                ErrorCode::AlreadyDraining,
                format!(
                    "group {:?} of stream {:?} is being drained already; wait for that drain",
                    self.group.name(),
                    self.group.stream()
                ),
            ));
        }
        self.stop();
        Ok(())
    }

    /// Begins a drain that is pending until what this returns is dropped.
    pub(super) fn start_drain(&self) -> Result<Drain> {
        self.begin_drain()?;
        Ok(Drain(Leaked::new(self.this.upgrade().expect("whoever calls has it"))))
    }

    pub(super) fn drain(&self, wait: Wait<'_>) -> Result<bool> {
        // Pending until it is dropped, whatever panics.
        let drain = self.start_drain()?;
        drain.0.wait_settled(wait)
    }

    /// Drains for some time, then gives back what is not settled.
    /// Returns whether all was settled.
    pub(super) fn close(&self, wait: Wait<'_>) -> bool {
        self.stop();
        // An instance that was closed meanwhile leaves nothing to wait for.
        let is_settled = self.wait_settled(wait).unwrap_or(false);
        let mut state = self.state.lock();
        let mut held = state.inflight.take();
        let workers = state.cancel_workers();
        drop(state);
        wake(held.iter_mut().filter_map(Held::cancelled).chain(workers));
        if self.operations().usable().is_ok() {
            self.release(held.iter().map(|held| &held.token));
        }
        self.look_again();
        self.tell_end(None);
        is_settled
    }

    pub(super) fn failure(&self) -> Option<Error> {
        self.state.lock().failure.clone()
    }

    pub(super) fn is_stopped(&self) -> bool {
        let state = self.state.lock();
        state.stopped || state.failure.is_some()
    }

    pub(super) fn inflight_count(&self) -> usize {
        self.state.lock().inflight_count()
    }

    /// Lets everybody who waits look at the state again.
    pub(super) fn look_again(&self) {
        self.state.lock().wakes += 1;
        self.fetcher.notify_all();
        self.others.notify_all();
        self.settled.notify_all();
        self.wake_watchers();
    }

    fn wake_watchers(&self) {
        if !self.watchers.is_empty() {
            wake_all(self.watchers.matching(|()| true));
        }
    }

    /// The instance is about to be closed.
    pub(super) fn instance_closes(&self) {
        let mut state = self.state.lock();
        if state.stopped || state.failure.is_some() {
            return;
        }
        // First of all, so that whoever finds it stopped finds why.
        let error = state.failure.insert(Error::closed()).clone();
        drop(state);
        self.stop();
        self.tell_end(Some(&error));
    }

    /// The instance was closed: what is held is lost.
    pub(super) fn instance_closed(&self) {
        let mut state = self.state.lock();
        let mut cancelled = state.inflight.cancel();
        cancelled.extend(state.cancel_workers());
        drop(state);
        wake(cancelled);
        self.look_again();
    }

    /// Adds what is to be renewed now.
    pub(super) fn add_due(&self, now: Micros, tokens: &mut Vec<LeaseToken>) {
        let mut state = self.state.lock();
        let cancelled = state.inflight.due(now, tokens);
        drop(state);
        wake(cancelled);
    }

    /// Takes note of how renewals ended.
    pub(super) fn renewed(&self, now: Micros, tokens: &[LeaseToken], errors: &[Option<Error>]) {
        let mut state = self.state.lock();
        let before = state.inflight.len();
        let (mut lost, mut ids) = (Vec::new(), Vec::new());
        for (token, error) in tokens.iter().zip(errors) {
            let id = token.lease_id();
            let count = state.inflight.len();
            lost.extend(state.inflight.renewed(id, now, error.as_ref()));
            if state.inflight.len() < count {
                ids.push(id);
            }
        }
        lost.extend(state.lose(&ids));
        if state.inflight.len() < before {
            self.freed(state);
        } else {
            drop(state);
        }
        wake(lost);
    }

    /// Does whatever else is due.
    pub(super) fn tick(&self, now: Micros) {
        let mut state = self.state.lock();
        if !state.gathered.is_empty() && now - state.gathered_since >= self.gather_at_most(GATHER_AGE) {
            state = self.settle_gathered(state);
        }
        let repeats = state.inflight.take_repeats(now);
        let _settling = self.settling(state, repeats.len());
        for held in repeats {
            let outcome = held.repeat.as_ref().map_or(Outcome::Ack, |repeat| repeat.outcome.clone());
            self.settle(vec![held], &outcome);
        }
    }

    /// Has the timer call when something is due next; it has called for all that it was asked to.
    pub(super) fn schedule_next(&self) {
        let mut state = self.state.lock();
        state.scheduled = Micros::MAX;
        let gathered = (!state.gathered.is_empty()).then(|| state.gathered_since + self.gather_at_most(GATHER_TIMER));
        if let Some(next) = state.inflight.next_due().into_iter().chain(gathered).min() {
            self.schedule(&mut state, next);
        }
        // A lease that was given up may have run out.
        self.freed(state);
    }

    /// Wakes everybody who waits.
    fn waker(&self) -> Waker {
        Waker::from(Arc::new(WakeAll(Weak::clone(&self.this))))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.timer.unregister(self.number);
        // Nobody is here to repeat the settles that are left: others may have these at once.
        let held = self.state.get_mut().inflight.take();
        if !held.is_empty() && self.operations().usable().is_ok() {
            self.release(held.iter().map(|held| &held.token));
        }
        self.tell_end(None);
    }
}

fn wake(set: impl IntoIterator<Item = Interrupt>) {
    set.into_iter().for_each(|interrupt| interrupt.wake());
}

fn until(now: Micros, at: Micros) -> Duration {
    Duration::from_micros(u64::try_from(at.saturating_sub(now)).unwrap_or(0))
}

/// Somebody fetches, until this is dropped.
struct Fetching<'a>(&'a Shared);

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        (state.is_fetching, state.is_claiming) = (false, false);
        let refused = std::mem::take(&mut state.refused);
        let (waiting, stopped) = (state.waiting > 0, state.stopped);
        drop(state);
        if waiting {
            self.0.others.notify_one();
        }
        if stopped {
            self.0.settled.notify_all();
        }
        if refused || stopped {
            self.0.wake_watchers();
        }
    }
}

/// So many leases count as being settled, until this is dropped.
struct Settling<'a> {
    shared: &'a Shared,
    count: usize,
}

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.settling -= self.count;
        self.shared.freed(state);
    }
}

struct WakeAll(Weak<Shared>);

impl Wake for WakeAll {
    fn wake(self: Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.look_again();
        }
    }
}

/// Wakes whoever fetches: there may be something to fetch. It has the others do what they can.
struct WakeFetcher(Weak<Shared>);

impl Wake for WakeFetcher {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.state.lock().wakes += 1;
            shared.fetcher.notify_one();
        }
    }
}
