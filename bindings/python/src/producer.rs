//! Producers: demand turned into leases, for threads that wait and for event loops.

use crate::args::{self, Given, Maybe};
use crate::attached::attached;
use crate::codec::Codec;
use crate::errors::{does_not_pickle, raised};
use crate::handler::{self, Cancel, Home};
use crate::lease::{Batch, Lease};
use crate::settle::{self, Settle};
use crate::wait::{self, Bridge, Signal, Watch};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rheo_core::{ConsumerOptions, Instance, Interrupt, Next, Outcome, ProducerOptions};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// The options that producers have.
pub struct Options<'a, 'py> {
    pub max_demand: Maybe<'a, 'py>,
    pub lease_ms: Maybe<'a, 'py>,
    pub poll_ms: Maybe<'a, 'py>,
    pub consumer_id: Maybe<'a, 'py>,
    pub partitions: Maybe<'a, 'py>,
    pub on_failure: Maybe<'a, 'py>,
    pub retry_delay: Maybe<'a, 'py>,
}

impl Options<'_, '_> {
    pub fn read(&self, py: Python<'_>) -> PyResult<ProducerOptions> {
        let mut options = ProducerOptions::new();
        let mut set = |what: &str, text: &str| options.set(what, text).map_err(|error| raised(py, &error));
        for (what, given) in [("max_demand", self.max_demand), ("lease_ms", self.lease_ms), ("poll_ms", self.poll_ms)] {
            if let Some(number) = args::optional_number::<u64>(what, given)? {
                set(what, &number.to_string())?;
            }
        }
        if let Some(on_failure) = args::optional_text("on_failure", self.on_failure)? {
            set("on_failure", on_failure)?;
        }
        if let Some(given) = self.retry_delay {
            if given.is_instance_of::<PyString>() {
                set("retry_delay", args::text("retry_delay", given)?)?;
            } else {
                set("retry_delay", &args::number::<u64>("retry_delay", given)?.to_string())?;
            }
        }
        options.consumer_id = args::optional_text("consumer_id", self.consumer_id)?.map(str::to_owned);
        options.partitions = args::partitions(self.partitions)?;
        Ok(options)
    }
}

/// The options that consumers have beside those of producers.
pub fn consumer_options(
    py: Python<'_>,
    producer: &Options<'_, '_>,
    numbers: [(&str, Maybe<'_, '_>); 4],
) -> PyResult<ConsumerOptions> {
    let mut options = ConsumerOptions::new().producer(producer.read(py)?);
    for (what, given) in numbers {
        if let Some(number) = args::optional_number::<u64>(what, given)? {
            options.set(what, &number.to_string()).map_err(|error| raised(py, &error))?;
        }
    }
    // Before the handler is known, which may be later.
    options.check().map_err(|error| raised(py, &error))?;
    Ok(options)
}

/// Takes leases as they are asked for, renews them until they are settled, and never holds more than `max_demand` of them.
/// Made by `Instance.producer`.
///
/// For pipelines that bring their own concurrency: whoever is ready for more asks for more. Its leases are settled through it:
/// `producer.ack(lease)`, `lease.ack()` and `Batch.ack()` do the same, and each frees the slot, whatever came of the settle.
///
/// It is a context manager that closes itself, which makes available to others at once what was not settled. Iterating
/// gives leases one by one and waits for more, until the producer is drained or closed. Every thread may use it.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     db.create_group("orders", "billing")
///     ...     events = db.append_batch("orders", ["a", "b", "c"])
///     ...     with db.producer("orders", "billing", max_demand=50) as producer:
///     ...         for lease in producer:
///     ...             print(lease.event.payload)
///     ...             producer.ack(lease)
///     ...             if lease.event.payload == "b":
///     ...                 break
///     a
///     b
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Producer {
    producer: rheo_core::Producer,
    home: Home,
    /// Of a consumer in an event loop: how many events a handler gets at most, and whether in a list.
    handler: Option<(usize, bool)>,
}

impl Producer {
    pub fn new(
        producer: rheo_core::Producer,
        instance: &Instance,
        codec: &Codec,
        handler: Option<(usize, bool)>,
    ) -> Producer {
        Producer { producer, home: Home { instance: instance.clone(), codec: codec.clone() }, handler }
    }

    fn batch(&self, leases: Vec<rheo_core::Lease>) -> Batch {
        Batch::produced(leases, &self.producer, &self.home.instance, &self.home.codec)
    }

    /// Leases; none when there was nothing in time; nothing once it gives none any more.
    fn take(&self, py: Python<'_>, most: usize, timeout_ms: Option<u64>) -> PyResult<Option<Vec<rheo_core::Lease>>> {
        match attached(py, || self.producer.next(most, 0, None))? {
            Next::Leases(leases) => return Ok(Some(leases)),
            Next::Stopped => return Ok(None),
            _ if timeout_ms == Some(0) => return Ok(Some(Vec::new())),
            _ => {}
        }
        let piece = |ms, interrupt: &Interrupt| {
            Ok(match self.producer.next(most, ms, Some(interrupt))? {
                Next::Leases(leases) => Some(Some(leases)),
                Next::Stopped => Some(None),
                _ => None,
            })
        };
        Ok(wait::in_pieces(py, &self.home.instance, timeout_ms, true, piece)?.unwrap_or_else(|| Some(Vec::new())))
    }
}

#[pymethods]
impl Producer {
    /// The stream's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.stream
    ///     'orders'
    #[getter]
    fn stream(&self) -> &str {
        self.producer.group().stream()
    }

    /// The group's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.group
    ///     'billing'
    #[getter]
    fn group(&self) -> &str {
        self.producer.group().name()
    }

    /// How many leases it holds that are not settled.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         lease = next(producer)
    ///     ...         before = producer.inflight_count
    ///     ...         lease.ack()
    ///     ...         before > producer.inflight_count
    ///     True
    #[getter]
    fn inflight_count(&self, py: Python<'_>) -> PyResult<usize> {
        attached(py, || self.producer.inflight_count())
    }

    /// Whether it gives no more leases: it was drained or closed, or its group is gone.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.is_stopped
    ///     False
    #[getter]
    fn is_stopped(&self, py: Python<'_>) -> PyResult<bool> {
        attached(py, || self.producer.is_stopped())
    }

    /// Leases, at least one; waits for them.
    ///
    /// Args:
    ///     most: At most how many; 1.
    ///     timeout_ms: How long to wait for the first, in milliseconds; 0. On the main thread the wait notices Ctrl-C.
    ///
    /// Returns:
    ///     A `Batch`, empty when there was nothing in time; None once the producer gives no more.
    ///
    /// Raises:
    ///     Closed: The instance was closed.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.next(10, timeout_ms=1_000).payloads()
    ///     ['a', 'b']
    #[pyo3(signature = (most=None, *, timeout_ms=None))]
    fn next(&self, py: Python<'_>, most: Maybe<'_, '_>, timeout_ms: Maybe<'_, '_>) -> PyResult<Option<Batch>> {
        let most = args::optional_number("most", most)?.unwrap_or(1);
        let timeout_ms = wait::timeout("timeout_ms", timeout_ms)?.unwrap_or(0);
        Ok(self.take(py, most, Some(timeout_ms))?.map(|leases| self.batch(leases)))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Lease>> {
        let leases = self.take(py, 1, None)?;
        Ok(leases.filter(|leases| !leases.is_empty()).map(|leases| self.batch(leases).at(0)))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Given<'_, '_>,
        _error: Given<'_, '_>,
        _traceback: Given<'_, '_>,
    ) -> PyResult<()> {
        self.close(py, None)
    }

    /// Settles a lease and frees its slot: the work is done. See `Instance.ack`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.ack(next(producer))
    fn ack(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Ack.one_given(&self.producer, lease)
    }

    /// Gives a lease back to be tried again and frees its slot. See `Instance.retry`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; the producer's `retry_delay`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.retry(next(producer), "later")
    ///     ...         db.group_info("orders", "billing").delayed_count
    ///     1
    #[pyo3(signature = (lease, reason=None, *, delay_ms=None))]
    fn retry(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<()> {
        Settle::retry(reason, delay_ms)?.one_given(&self.producer, lease)
    }

    /// Makes a dead letter of a lease's delivery and frees its slot. See `Instance.reject`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.reject(next(producer), "bad")
    #[pyo3(signature = (lease, reason=None))]
    fn reject(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        Settle::reject(reason)?.one_given(&self.producer, lease)
    }

    /// Gives a lease back unworked and frees its slot; the attempt does not count. See `Instance.release`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.release(next(producer))
    fn release(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Release.one_given(&self.producer, lease)
    }

    /// What was done with a lease failed: does what `on_failure` says, a retry or a reject, and frees its slot.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.fail(next(producer), "the bank is closed")
    #[pyo3(signature = (lease, reason=None))]
    fn fail(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        let reason = settle::text_of(reason);
        settle::with_token(lease, |token| self.producer.fail(token, &reason))
    }

    /// Extends a lease from now on. The producer renews by itself: this is for those who want more at once. See `Instance.renew`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     lease_ms: How long it lasts from now on, in milliseconds, 1 or more; by default the lease's own time.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.renew(next(producer), 60_000).attempt
    ///     1
    #[pyo3(signature = (lease, lease_ms=None))]
    fn renew<'py>(&self, lease: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        settle::renew_given(&self.producer, lease, lease_ms)
    }

    /// Settles many leases and frees their slots. Gives a list: None, or the error of that lease. See `Instance.ack_many`.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.ack_many(producer.next(2))
    ///     [None, None]
    fn ack_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Ack.many_given(&self.producer, leases)
    }

    /// Gives many leases back to be tried again and frees their slots. Gives a list: None, or the error of that lease.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; the producer's `retry_delay`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.retry_many(producer.next(2), "later")
    ///     [None, None]
    #[pyo3(signature = (leases, reason=None, *, delay_ms=None))]
    fn retry_many<'py>(
        &self,
        leases: Given<'_, 'py>,
        reason: Maybe<'_, 'py>,
        delay_ms: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        Settle::retry(reason, delay_ms)?.many_given(&self.producer, leases)
    }

    /// Makes dead letters of many leases' deliveries and frees their slots. Gives a list: None, or the error of that lease.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.reject_many(producer.next(2), "bad")
    ///     [None, None]
    #[pyo3(signature = (leases, reason=None))]
    fn reject_many<'py>(&self, leases: Given<'_, 'py>, reason: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::reject(reason)?.many_given(&self.producer, leases)
    }

    /// Gives many leases back unworked and frees their slots. Gives a list: None, or the error of that lease.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.release_many(producer.next(2))
    ///     [None, None]
    fn release_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Release.many_given(&self.producer, leases)
    }

    /// Extends many leases from now on. Gives a list: the lease, of a token its `expires_at`, or the error. See
    /// `Instance.renew_many`.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     lease_ms: How long it lasts from now on, in milliseconds, 1 or more; by default the lease's own time.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         [lease.attempt for lease in producer.renew_many(producer.next(2))]
    ///     [1, 1]
    #[pyo3(signature = (leases, lease_ms=None))]
    fn renew_many<'py>(&self, leases: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        settle::renew_many_given(&self.producer, leases, lease_ms)
    }

    /// Frees the slots of leases that were settled without this producer: in another process, by their tokens.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///
    /// Returns:
    ///     How many of them it held.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         batch = producer.next(2)
    ///     ...         elsewhere = db.ack_many(batch.tokens())
    ///     ...         producer.confirm(batch), producer.inflight_count
    ///     (2, 0)
    fn confirm(&self, py: Python<'_>, leases: Given<'_, '_>) -> PyResult<usize> {
        let ids = settle::lease_ids(leases)?;
        attached(py, || self.producer.confirm(&ids))
    }

    /// Gives no more leases, gives back what nobody has, and waits until the rest is settled, renewing it meanwhile.
    ///
    /// Args:
    ///     timeout_ms: How long at most, in milliseconds; 30,000.
    ///
    /// Returns:
    ///     Whether everything is settled.
    ///
    /// Raises:
    ///     AlreadyDraining: Another drain is pending.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         producer.ack_many(producer.next(2))
    ///     ...         producer.drain()
    ///     [None, None]
    ///     True
    #[pyo3(signature = (timeout_ms=None))]
    fn drain(&self, py: Python<'_>, timeout_ms: Maybe<'_, '_>) -> PyResult<bool> {
        let timeout_ms = wait::timeout("timeout_ms", timeout_ms)?.unwrap_or(DRAIN_MS);
        wait::drain(py, &self.home.instance, Some(timeout_ms), false, || self.producer.begin_drain())
    }

    /// Drains, then makes available to others at once what was not settled. A second call does nothing.
    ///
    /// Args:
    ///     timeout_ms: How long to drain at most, in milliseconds; 0.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     with db.producer("orders", "billing") as producer:
    ///     ...         batch = producer.next(1)
    ///     ...         producer.close()
    ///     ...         producer.next(1), db.group_info("orders", "billing").available_count
    ///     (None, 1)
    #[pyo3(signature = (timeout_ms=None))]
    fn close(&self, py: Python<'_>, timeout_ms: Maybe<'_, '_>) -> PyResult<()> {
        let timeout_ms = wait::timeout("timeout_ms", timeout_ms)?.unwrap_or(0);
        let begin = || self.producer.begin_drain();
        wait::close(py, &self.home.instance, Some(timeout_ms), false, begin, |ms| self.producer.close(ms))
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("a producer", "start one there"))
    }

    fn __repr__(&self) -> String {
        let group = self.producer.group();
        format!("<rheo.Producer of {:?} for {:?}>", group.stream(), group.name())
    }

    /// What is there now: None once it gives none any more; and in how many seconds to look again, if time alone brings more.
    fn _next_now(&self, py: Python<'_>, most: usize) -> PyResult<(Option<Batch>, Option<f64>)> {
        Ok(match attached(py, || self.producer.next(most, 0, None))? {
            Next::Leases(leases) => (Some(self.batch(leases)), None),
            Next::Nothing { look_again } => (Some(self.batch(Vec::new())), look_again.map(|due| due.as_secs_f64())),
            _ => (None, None),
        })
    }

    /// A watch that tells `bridge` when there may be something, and how often to look where the store does not say, in seconds.
    #[cfg(unix)]
    #[pyo3(signature = (bridge=None))]
    fn _watch(&self, py: Python<'_>, bridge: Option<&Bound<'_, Bridge>>) -> PyResult<(Watch, Option<f64>)> {
        let signal = Arc::new(Signal::new(bridge));
        let waker = Waker::from(Arc::clone(&signal));
        let (watch, poll) = attached(py, || self.producer.watch(&waker))?;
        Ok((Watch::of(signal, watch), poll.map(|poll| poll.as_secs_f64())))
    }

    /// Begins a drain.
    fn _begin_drain(&self, py: Python<'_>) -> PyResult<Drain> {
        Ok(Drain(Mutex::new(Some(attached(py, || self.producer.begin_drain())?))))
    }

    /// For one handler of a consumer's at a time, which is this function.
    fn _hand(&self, handler: Py<PyAny>) -> Hand {
        let (batch_size, as_list) = self.handler.unwrap_or((1, false));
        Hand {
            producer: self.producer.clone(),
            home: Home { instance: self.home.instance.clone(), codec: self.home.codec.clone() },
            handler,
            batch_size,
            as_list,
            cancel: Interrupt::new(),
            state: Mutex::default(),
        }
    }
}

/// How long a drain lasts that is not told, in milliseconds.
const DRAIN_MS: u64 = 30_000;

/// A drain that is pending until it is ended.
#[pyclass(frozen)]
pub struct Drain(Mutex<Option<rheo_core::Drain>>);

#[pymethods]
impl Drain {
    /// Whether everything is settled.
    fn is_done(&self, py: Python<'_>) -> PyResult<bool> {
        let drain = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        attached(py, || drain.as_ref().map_or(Ok(false), rheo_core::Drain::is_done))
    }

    /// Ends it.
    fn end(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What a handler in an event loop has, one piece of work after the other. Used by one thread at a time.
#[pyclass(frozen)]
pub struct Hand {
    producer: rheo_core::Producer,
    home: Home,
    handler: Py<PyAny>,
    batch_size: usize,
    as_list: bool,
    cancel: Interrupt,
    state: Mutex<HandState>,
}

#[derive(Default)]
struct HandState {
    /// What the handler has.
    leases: Vec<rheo_core::Lease>,
    /// What became of it.
    outcomes: Vec<Outcome>,
    is_stopped: bool,
    look_again: Option<f64>,
}

impl Hand {
    fn state(&self) -> MutexGuard<'_, HandState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complete(&self, py: Python<'_>, state: &mut HandState) -> PyResult<()> {
        let HandState { leases, outcomes, .. } = state;
        let completed = attached(py, || self.producer.complete(leases, outcomes));
        leases.clear();
        outcomes.clear();
        if self.cancel.is_fired() {
            self.cancel.reset();
        }
        completed
    }

    fn fetch(&self, py: Python<'_>, state: &mut HandState) -> PyResult<()> {
        let most = self.batch_size - state.leases.len();
        match attached(py, || self.producer.next_for(most, 0, None, Some(&self.cancel)))? {
            Next::Leases(leases) if state.leases.is_empty() => state.leases = leases,
            Next::Leases(leases) => state.leases.extend(leases),
            Next::Nothing { look_again } => state.look_again = look_again.map(|due| due.as_secs_f64()),
            _ => state.is_stopped = true,
        }
        Ok(())
    }

    fn fail(&self, py: Python<'_>, raised: Option<&PyErr>, wrong: &str) {
        self.producer.handler_failed();
        handler::log(py, self.handler.bind(py), self.producer.group(), raised, wrong);
    }

    fn argument<'py>(&self, py: Python<'py>, state: &HandState) -> PyResult<Option<Bound<'py, PyAny>>> {
        if state.leases.is_empty() {
            return Ok(None);
        }
        handler::argument(py, &self.home, &state.leases, self.as_list).map(Some)
    }
}

#[pymethods]
impl Hand {
    /// Settles what the handler had, unless it failed by what it returned, and takes more. Gives what the handler is given: the event, or
    /// a list of events; None when there is nothing.
    fn step<'py>(&self, py: Python<'py>, returned: Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut state = self.state();
        if !state.leases.is_empty() {
            if state.outcomes.is_empty() {
                let HandState { leases, outcomes, .. } = &mut *state;
                if let Some(wrong) = handler::outcomes(returned, leases.len(), self.as_list, outcomes) {
                    self.fail(py, None, &wrong);
                }
            }
            self.complete(py, &mut state)?;
        }
        self.fetch(py, &mut state)?;
        self.argument(py, &state)
    }

    /// Takes note of what the handler raised.
    fn failed(&self, py: Python<'_>, error: Given<'_, '_>) {
        let error = PyErr::from_value(error.clone());
        let reason = handler::reason_of(py, &error);
        let mut state = self.state();
        state.outcomes = vec![Outcome::fail(reason.clone()); state.leases.len()];
        drop(state);
        self.fail(py, Some(&error), &reason);
    }

    /// Whether the batch has all the events that it may have.
    #[getter]
    fn is_full(&self) -> bool {
        self.state().leases.len() == self.batch_size
    }

    /// Takes more into the batch, and gives the list anew.
    fn more<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut state = self.state();
        self.fetch(py, &mut state)?;
        self.argument(py, &state)
    }

    /// Forgets what was lost while the batch was filled, and gives the list anew; None when nothing is left.
    fn begin<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut state = self.state();
        let leases = &mut state.leases;
        attached(py, || self.producer.begin(leases, &self.cancel))?;
        self.argument(py, &state)
    }

    /// The leases.
    fn leases(&self) -> Batch {
        Batch::new(self.state().leases.clone(), &self.home.instance, &self.home.codec)
    }

    /// The signal to stop.
    fn cancel(&self) -> Cancel {
        Cancel::new(self.cancel.clone())
    }

    /// Gives back what the handler has, as if it had not been taken; what it failed with stays a failure.
    fn give_back(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state();
        if state.outcomes.is_empty() {
            state.outcomes = vec![Outcome::Release; state.leases.len()];
        }
        self.complete(py, &mut state)
    }

    /// Whether there will never be more.
    #[getter]
    fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// In how many seconds to look again, if time alone brings more.
    #[getter]
    fn look_again(&self) -> Option<f64> {
        self.state().look_again
    }
}
