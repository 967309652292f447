//! One thread for all that the producers of an instance must do at some time: renew leases, repeat settles, settle what was gathered.
//!
//! Nothing that a handler or an event loop does can keep it from that. It sleeps until something is due; an instance without
//! producers has none. Under a manual clock there is no thread: whoever moves the clock does what is due then, before the move
//! returns.

use crate::clock::micros_of;
use crate::error::{Error, ErrorCode};
use crate::instance::Operations;
use crate::lease::LeaseToken;
use crate::limits;
use crate::runtime::inflight::Micros;
use crate::runtime::producer::Shared;
use parking_lot::{Condvar, Mutex};
use rustix::time::ClockId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The runtime's clock: the manual one, or one that nobody can set.
pub(super) struct RuntimeClock {
    is_manual: bool,
    /// What the manual clock said last.
    last: AtomicI64,
}

impl RuntimeClock {
    pub(super) fn now(&self, operations: &Operations) -> Micros {
        match self.is_manual {
            false => micros_of(ClockId::Monotonic),
            true => match operations.usable().and_then(|backend| backend.now()) {
                Ok(now) => self.last.fetch_max(now.as_micros(), Ordering::Relaxed).max(now.as_micros()),
                // Whoever uses an instance that cannot tell the time hears of that elsewhere.
                Err(_) => self.last.load(Ordering::Relaxed),
            },
        }
    }

    /// The same, some milliseconds behind at most, for a tenth of the cost: for what is asked for each event.
    #[inline]
    pub(super) fn about_now(&self, operations: &Operations) -> Micros {
        #[cfg(target_os = "linux")]
        if !self.is_manual {
            return micros_of(ClockId::MonotonicCoarse);
        }
        self.now(operations)
    }

    pub(super) fn is_manual(&self) -> bool {
        self.is_manual
    }

    /// The real time of a time of this clock; nothing under a manual one, where waiting does not bring it nearer.
    pub(super) fn instant(&self, at: Micros) -> Option<Instant> {
        if self.is_manual {
            return None;
        }
        let left = at.saturating_sub(micros_of(ClockId::Monotonic));
        Instant::now().checked_add(Duration::from_micros(u64::try_from(left).unwrap_or(0)))
    }
}

pub(crate) struct Timer {
    pub(super) clock: RuntimeClock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stopped: bool,
    has_thread: bool,
    next_number: u64,
    producers: BTreeMap<u64, Weak<Shared>>,
    /// Who is to be called when; a producer at most once.
    due: BTreeSet<(Micros, u64)>,
}

impl Timer {
    pub(crate) fn new(is_manual: bool) -> Arc<Timer> {
        let clock = RuntimeClock { is_manual, last: AtomicI64::new(0) };
        Arc::new(Timer { clock, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Takes a producer in and gives it its number.
    ///
    /// # Errors
    /// `failed` when the system gives no thread.
    pub(super) fn register(self: &Arc<Self>, producer: &Weak<Shared>) -> crate::Result<u64> {
        let mut state = self.state.lock();
        if !self.clock.is_manual() && !state.has_thread {
            let timer = Arc::clone(self);
            std::thread::Builder::new().name("rheo-timer".to_owned()).spawn(move || timer.run()).map_err(|error| {
                Error::new(ErrorCode::Failed, "the thread that renews leases could not be started").with_cause(error)
            })?;
            state.has_thread = true;
        }
        let number = state.next_number;
        state.next_number += 1;
        state.producers.insert(number, Weak::clone(producer));
        Ok(number)
    }

    pub(super) fn unregister(&self, number: u64) {
        let mut state = self.state.lock();
        state.producers.remove(&number);
        state.due.retain(|(_, known)| *known != number);
    }

    /// Has a producer called at a time, or as soon as somebody looks after that, instead of at the one before.
    pub(super) fn schedule(&self, number: u64, before: Micros, at: Micros) {
        let mut state = self.state.lock();
        let is_first = state.due.first().is_none_or(|(first, _)| at < *first);
        state.due.remove(&(before, number));
        state.due.insert((at, number));
        drop(state);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// Does what has become due by a move of the manual clock, and lets all look at the time again.
    pub(crate) fn clock_moved(&self, operations: &Operations) {
        self.do_due(self.clock.now(operations));
        for producer in self.all() {
            producer.look_again();
        }
    }

    /// Ends the thread, and gives back what producers hold and nobody has begun with. For an instance that closes.
    pub(crate) fn stop(&self) {
        let was_stopped = std::mem::replace(&mut self.state.lock().stopped, true);
        if !was_stopped {
            self.changed.notify_all();
            for producer in self.all() {
                producer.instance_closes();
            }
        }
    }

    /// The instance was closed: lets everybody who waits find that.
    pub(crate) fn instance_closed(&self) {
        for producer in self.all() {
            producer.instance_closed();
        }
    }

    fn all(&self) -> Vec<Arc<Shared>> {
        self.state.lock().producers.values().filter_map(Weak::upgrade).collect()
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stopped {
            match state.due.first().map(|(at, _)| self.clock.instant(*at).unwrap_or_else(Instant::now)) {
                None => self.changed.wait(&mut state),
                Some(at) if at > Instant::now() => {
                    self.changed.wait_until(&mut state, at);
                }
                Some(_) => {
                    let now = state.due.first().map_or(0, |(at, _)| *at);
                    drop(state);
                    self.do_due(now);
                    state = self.state.lock();
                }
            }
        }
    }

    /// Calls those who are due: all their renewals go in one.
    fn do_due(&self, at_least: Micros) {
        let mut now = at_least;
        let mut producers: Vec<Arc<Shared>> = Vec::new();
        {
            let mut state = self.state.lock();
            if !self.clock.is_manual {
                now = now.max(micros_of(ClockId::Monotonic));
            }
            let later = state.due.split_off(&(now.saturating_add(1), 0));
            let mut numbers: Vec<u64> = std::mem::replace(&mut state.due, later).into_iter().map(|(_, n)| n).collect();
            numbers.sort_unstable();
            numbers.dedup();
            producers.extend(numbers.iter().filter_map(|number| state.producers.get(number)?.upgrade()));
        }
        // Whatever a backend or a waker does: the leases of the others are still to be renewed, and these the next time.
        let guarded = |work: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(work)).is_ok();
        let mut tokens: Vec<LeaseToken> = Vec::new();
        let mut renewals: Vec<(&Arc<Shared>, Range<usize>)> = Vec::new();
        for producer in &producers {
            let begin = tokens.len();
            guarded(&mut || producer.add_due(now, &mut tokens));
            if tokens.len() > begin {
                renewals.push((producer, begin..tokens.len()));
            }
        }
        if let Some((first, _)) = renewals.first() {
            let operations = first.operations();
            let mut errors: Vec<Option<Error>> = Vec::with_capacity(tokens.len());
            for some in tokens.chunks(limits::MAX_BATCH_ITEMS) {
                let mut renewed = Err(Error::new(ErrorCode::Internal, "renewing panicked"));
                guarded(&mut || renewed = operations.renew_many(some, None));
                match renewed {
                    Ok(renewed) => errors.extend(renewed.into_iter().map(Result::err)),
                    Err(error) => errors.extend(some.iter().map(|_| Some(error.clone()))),
                }
            }
            for (producer, range) in renewals {
                guarded(&mut || producer.renewed(now, &tokens[range.clone()], &errors[range.clone()]));
            }
        }
        for producer in &producers {
            guarded(&mut || producer.tick(now));
            producer.schedule_next();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Append, Consumer, ConsumerOptions, GroupOptions, OpenOptions, Outcome, StreamOptions, open};

    /// Failure case 36: timers that multiply.
    #[test]
    fn a_producer_has_one_time() {
        let db = open("memory:", OpenOptions::new()).unwrap();
        db.create_stream("s", StreamOptions::default()).unwrap();
        db.create_group("s", "g", &GroupOptions::default()).unwrap();
        let group = db.group("s", "g").unwrap();
        let consumers = [0; 3]
            .map(|_| Consumer::start(&group, &ConsumerOptions::new().concurrency(2), |_, _| Outcome::Ack).unwrap());
        let timer = group.operations().timer();
        for _ in 0..20_000 {
            db.append("s", &Append::json("1")).unwrap();
            assert!(timer.state.lock().due.len() <= consumers.len());
        }
    }
}
