//! A group, its names resolved once.

use crate::args::{self, Given, Maybe};
use crate::attached::{attached, detached};
use crate::codec::Codec;
use crate::consumer::Plan;
use crate::errors::does_not_pickle;
use crate::handler::handled;
use crate::lease::Batch;
use crate::options::{self, Discard};
use crate::producer::{Options, Producer, consumer_options};
use crate::settle::{self, Settle};
use crate::values;
use crate::wait;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rheo_core::{ConsumerOptions, FetchOptions, Instance, ProducerOptions};

/// A group, its names resolved once: the methods of `Instance` that concern a group, without the names. Made by
/// `Instance.group`.
///
/// Every thread may use it. It settles only its own leases: another group's are `StaleLease`. It does not keep the
/// group from being deleted: then every method raises `GroupNotFound`.
///
/// Example:
///     >>> with rheo.open() as db:
///     ...     db.create_stream("orders")
///     ...     db.create_group("orders", "billing")
///     ...     billing = db.group("orders", "billing")
///     ...     events = db.append_batch("orders", ["a", "b"])
///     ...     billing.fetch().ack()
///     [None, None]
#[pyclass(frozen, module = "rheo", weakref)]
pub struct Group {
    pub group: rheo_core::Group,
    pub instance: Instance,
    pub codec: Codec,
}

impl Group {
    /// A consumer to be started. Who names what is not there hears of it now.
    pub fn plan(&self, py: Python<'_>, options: ConsumerOptions, as_list: bool) -> PyResult<Plan> {
        let partitions = options.producer.partitions.as_deref().unwrap_or(&[]);
        attached(py, || self.group.lag(Some(partitions)))?;
        let (group, instance, codec) = (self.group.clone(), self.instance.clone(), self.codec.clone());
        Ok(Plan { group, instance, codec, options, as_list })
    }

    pub fn start_producer(&self, py: Python<'_>, options: &ProducerOptions) -> PyResult<Producer> {
        let producer = attached(py, || rheo_core::Producer::start(&self.group, options))?;
        Ok(Producer::new(producer, &self.instance, &self.codec, None))
    }
}

#[pymethods]
impl Group {
    /// The stream's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     billing.stream
    ///     'orders'
    #[getter]
    fn stream(&self) -> &str {
        self.group.stream()
    }

    /// The group's name.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     billing.name
    ///     'billing'
    #[getter]
    fn name(&self) -> &str {
        self.group.name()
    }

    #[allow(clippy::unused_self)]
    fn __reduce__(&self) -> PyResult<()> {
        Err(does_not_pickle("a group's handle", "open the store there and send its names"))
    }

    fn __repr__(&self) -> String {
        format!("<rheo.Group {:?} of {:?}>", self.group.name(), self.group.stream())
    }

    /// Takes events, each under a lease. Returns a `Batch`, empty when there was nothing. See `Instance.fetch`.
    ///
    /// Args:
    ///     limit: At most how many leases; by default the instance's `default_max_demand`, 10.
    ///     lease_ms: How long each lasts, in milliseconds; by default the instance's `default_lease_ms`, 30,000.
    ///     consumer_id: Who takes them; by default a text of the instance's own.
    ///     partitions: From which partitions; all.
    ///     wait_ms: How long to wait for work, in milliseconds; 0.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.fetch(limit=1, lease_ms=60_000).payloads()
    ///     ['a']
    #[pyo3(signature = (*, limit=None, lease_ms=None, consumer_id=None, partitions=None, wait_ms=None))]
    fn fetch(
        &self,
        py: Python<'_>,
        limit: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        wait_ms: Maybe<'_, '_>,
    ) -> PyResult<Batch> {
        let options = options::fetch(limit, lease_ms, consumer_id, partitions, wait_ms)?;
        let fetch_now = |options: &FetchOptions<'_>, leases: &mut Vec<_>| self.group.fetch_now_into(options, leases);
        wait::fetch(py, &self.instance, &self.codec, &options, fetch_now, || Ok(self.group.clone()))
    }

    /// What is there now, and in how many seconds time alone may bring more: None when it will not.
    #[pyo3(signature = (*, limit=None, lease_ms=None, consumer_id=None, partitions=None, wait_ms=None))]
    fn _fetch_now(
        &self,
        py: Python<'_>,
        limit: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        wait_ms: Maybe<'_, '_>,
    ) -> PyResult<(Batch, Option<f64>)> {
        let options = options::fetch(limit, lease_ms, consumer_id, partitions, wait_ms)?;
        wait::fetch_now(py, &self.instance, &self.group, &self.codec, &options)
    }

    /// A `Watch` over the group, which tells `bridge`; None where the backend has no notifications.
    #[cfg(unix)]
    #[pyo3(signature = (bridge=None, partitions=None))]
    fn _watch(
        &self,
        py: Python<'_>,
        bridge: Option<&Bound<'_, wait::Bridge>>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Option<wait::Watch>> {
        wait::Watch::new(py, bridge, &self.group, partitions)
    }

    /// Starts a consumer: runs a function for each event of the group. See `Instance.consumer`.
    ///
    /// Args:
    ///     handler: A plain or async function of an event (and a `Context`).
    ///     concurrency: How many handlers run at a time, 1 to 10,000; 1.
    ///     batch_size: The most events that a handler is given at once, 1 to 10,000. When it is given, the handler takes a list.
    ///     batch_timeout_ms: How long a batch may take to fill once it has an event, in milliseconds; 0.
    ///     max_lease_ms: After how long a handler's leases are no longer renewed, in milliseconds; 0 is never.
    ///     max_demand: The most unsettled leases held at once, 1 to 10,000; by default `default_max_demand`, and at least `concurrency` times `batch_size`.
    ///     lease_ms: How long a lease lasts unless it is renewed, in milliseconds; the instance's `default_lease_ms`.
    ///     poll_ms: How often to look for work where the store does not notify, in milliseconds; 200.
    ///     consumer_id: Who takes the leases; by default a text of the instance's own.
    ///     partitions: From which partitions; all.
    ///     on_failure: What becomes of an event whose handler failed: `"retry"` (the default), or `"reject"`.
    ///     retry_delay: How long an event waits for its next attempt, where nobody says, in milliseconds; or
    ///         `"exponential:FIRST_MS:MOST_MS"`, which doubles with each attempt, by default `"exponential:100:5000"`.
    ///
    /// Returns:
    ///     The running `Consumer`; without `handler` a decorator that makes one of a function.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     @billing.consumer(concurrency=8)
    ///     ...     def bill(event: rheo.Event) -> rheo.Outcome | None:
    ///     ...         return rheo.Reject("too little") if event.payload["total"] < 10 else rheo.ACK
    ///     ...     while not db.dead_letters("orders", "billing"):
    ///     ...         pass
    ///     ...     bill.close()
    #[pyo3(signature = (
        handler=None, *, concurrency=None, batch_size=None, batch_timeout_ms=None, max_lease_ms=None,
        max_demand=None, lease_ms=None, poll_ms=None, consumer_id=None, partitions=None, on_failure=None,
        retry_delay=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn consumer<'py>(
        &self,
        py: Python<'py>,
        handler: Maybe<'_, 'py>,
        concurrency: Maybe<'_, '_>,
        batch_size: Maybe<'_, '_>,
        batch_timeout_ms: Maybe<'_, '_>,
        max_lease_ms: Maybe<'_, '_>,
        max_demand: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        poll_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        on_failure: Maybe<'_, '_>,
        retry_delay: Maybe<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let producer = Options { max_demand, lease_ms, poll_ms, consumer_id, partitions, on_failure, retry_delay };
        let numbers = [
            ("concurrency", concurrency),
            ("batch_size", batch_size),
            ("batch_timeout_ms", batch_timeout_ms),
            ("max_lease_ms", max_lease_ms),
        ];
        let options = consumer_options(py, &producer, numbers)?;
        let module = handled(py, handler)?;
        let plan = self.plan(py, options, batch_size.is_some())?;
        module.getattr(intern!(py, "consumer"))?.call1((plan, handler))
    }

    /// A consumer to be started in an event loop.
    #[pyo3(signature = (
        *, concurrency=None, batch_size=None, batch_timeout_ms=None, max_lease_ms=None,
        max_demand=None, lease_ms=None, poll_ms=None, consumer_id=None, partitions=None, on_failure=None,
        retry_delay=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn _plan(
        &self,
        py: Python<'_>,
        concurrency: Maybe<'_, '_>,
        batch_size: Maybe<'_, '_>,
        batch_timeout_ms: Maybe<'_, '_>,
        max_lease_ms: Maybe<'_, '_>,
        max_demand: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        poll_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        on_failure: Maybe<'_, '_>,
        retry_delay: Maybe<'_, '_>,
    ) -> PyResult<Plan> {
        let producer = Options { max_demand, lease_ms, poll_ms, consumer_id, partitions, on_failure, retry_delay };
        let numbers = [
            ("concurrency", concurrency),
            ("batch_size", batch_size),
            ("batch_timeout_ms", batch_timeout_ms),
            ("max_lease_ms", max_lease_ms),
        ];
        let options = consumer_options(py, &producer, numbers)?;
        self.plan(py, options, batch_size.is_some())
    }

    /// Starts a producer: leases as they are asked for. See `Instance.producer`.
    ///
    /// Args:
    ///     max_demand: The most unsettled leases held at once, 1 to 10,000; the instance's `default_max_demand`.
    ///     lease_ms: How long a lease lasts unless it is renewed, in milliseconds; the instance's `default_lease_ms`.
    ///     poll_ms: How often to look for work where the store does not notify, in milliseconds; 200.
    ///     consumer_id: Who takes the leases; by default a text of the instance's own.
    ///     partitions: From which partitions; all.
    ///     on_failure: What becomes of an event whose processing failed: `"retry"` (the default), or `"reject"`.
    ///     retry_delay: How long an event waits for its next attempt, where nobody says, in milliseconds; or
    ///         `"exponential:FIRST_MS:MOST_MS"`, which doubles with each attempt, by default `"exponential:100:5000"`.
    ///
    /// Returns:
    ///     The `Producer`, a context manager and an iterator of leases.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     event = db.append("orders", {"total": 3})
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     with billing.producer(max_demand=50) as producer:
    ///     ...         lease = next(producer)
    ///     ...         producer.ack(lease)
    ///     ...     db.lag("orders", "billing").lag
    ///     0
    #[pyo3(signature = (
        *, max_demand=None, lease_ms=None, poll_ms=None, consumer_id=None, partitions=None, on_failure=None,
        retry_delay=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn producer(
        &self,
        py: Python<'_>,
        max_demand: Maybe<'_, '_>,
        lease_ms: Maybe<'_, '_>,
        poll_ms: Maybe<'_, '_>,
        consumer_id: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
        on_failure: Maybe<'_, '_>,
        retry_delay: Maybe<'_, '_>,
    ) -> PyResult<Producer> {
        let options =
            Options { max_demand, lease_ms, poll_ms, consumer_id, partitions, on_failure, retry_delay }.read(py)?;
        self.start_producer(py, &options)
    }

    /// Settles a lease: the work is done. See `Instance.ack`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.ack(billing.fetch()[0])
    ///     ...     billing.lag().lag
    ///     1
    fn ack(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Ack.one_given(&self.group, lease)
    }

    /// Gives a lease back to be tried again; with the last attempt it becomes a dead letter. See `Instance.retry`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; 0.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.retry(billing.fetch()[0], "later", delay_ms=500)
    ///     ...     billing.info().delayed_count
    ///     1
    #[pyo3(signature = (lease, reason=None, *, delay_ms=None))]
    fn retry(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>, delay_ms: Maybe<'_, '_>) -> PyResult<()> {
        Settle::retry(reason, delay_ms)?.one_given(&self.group, lease)
    }

    /// Makes a dead letter of a lease's delivery. See `Instance.reject`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.reject(billing.fetch()[0], "bad")
    ///     ...     billing.dead_letters()[0].reason
    ///     'bad'
    #[pyo3(signature = (lease, reason=None))]
    fn reject(&self, lease: Given<'_, '_>, reason: Maybe<'_, '_>) -> PyResult<()> {
        Settle::reject(reason)?.one_given(&self.group, lease)
    }

    /// Gives a lease back unworked; the attempt does not count. See `Instance.release`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.release(billing.fetch()[0])
    ///     ...     billing.info().available_count
    ///     1
    fn release(&self, lease: Given<'_, '_>) -> PyResult<()> {
        Settle::Release.one_given(&self.group, lease)
    }

    /// Extends a lease from now on. Gives the lease as it is now, or of a token its `expires_at`. See `Instance.renew`.
    ///
    /// Args:
    ///     lease: A `Lease`, or its token.
    ///     lease_ms: How long it lasts from now on, in milliseconds, 1 or more; by default the lease's own time.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.renew(billing.fetch()[0], 60_000).attempt
    ///     1
    #[pyo3(signature = (lease, lease_ms=None))]
    fn renew<'py>(&self, lease: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        settle::renew_given(&self.group, lease, lease_ms)
    }

    /// Settles many leases. Gives a list: None, or the error of that lease. See `Instance.ack_many`.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.ack_many(list(billing.fetch()))
    ///     [None, None]
    fn ack_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Ack.many_given(&self.group, leases)
    }

    /// Gives many leases back to be tried again. Gives a list: None, or the error of that lease. See
    /// `Instance.retry_many`.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///     delay_ms: How long until it is available again, in milliseconds; 0.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.retry_many(billing.fetch(), "later")
    ///     [None, None]
    #[pyo3(signature = (leases, reason=None, *, delay_ms=None))]
    fn retry_many<'py>(
        &self,
        leases: Given<'_, 'py>,
        reason: Maybe<'_, 'py>,
        delay_ms: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        Settle::retry(reason, delay_ms)?.many_given(&self.group, leases)
    }

    /// Makes dead letters of many leases' deliveries. Gives a list: None, or the error of that lease. See
    /// `Instance.reject_many`.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///     reason: Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.reject_many(billing.fetch(), "bad")
    ///     [None, None]
    #[pyo3(signature = (leases, reason=None))]
    fn reject_many<'py>(&self, leases: Given<'_, 'py>, reason: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::reject(reason)?.many_given(&self.group, leases)
    }

    /// Gives many leases back unworked. Gives a list: None, or the error of that lease. See `Instance.release_many`.
    ///
    /// Args:
    ///     leases: A `Batch`, or an iterable of leases and tokens.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.release_many(billing.fetch())
    ///     [None, None]
    fn release_many<'py>(&self, leases: Given<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        Settle::Release.many_given(&self.group, leases)
    }

    /// Extends many leases from now on. Gives a list: the lease (of a token its `expires_at`), or the error. See
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
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     [lease.attempt for lease in billing.renew_many(billing.fetch())]
    ///     [1, 1]
    #[pyo3(signature = (leases, lease_ms=None))]
    fn renew_many<'py>(&self, leases: Given<'_, 'py>, lease_ms: Maybe<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        settle::renew_many_given(&self.group, leases, lease_ms)
    }

    /// How far the group has come, a `Lag`. See `Instance.lag`.
    ///
    /// Args:
    ///     partitions: Which partitions: an iterable of numbers; all.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.lag().lag
    ///     2
    #[pyo3(signature = (*, partitions=None))]
    pub fn lag<'py>(&self, py: Python<'py>, partitions: Maybe<'_, '_>) -> PyResult<Bound<'py, PyAny>> {
        let partitions = args::partitions(partitions)?;
        values::lag(py, &attached(py, || self.group.lag(partitions.as_deref()))?)
    }

    /// What there is to know of the group, a `GroupInfo`. See `Instance.group_info`.
    ///
    /// Args:
    ///     partitions: Which partitions: an iterable of numbers; all.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     billing.info().max_attempts
    ///     5
    #[pyo3(signature = (*, partitions=None))]
    pub fn info<'py>(&self, py: Python<'py>, partitions: Maybe<'_, '_>) -> PyResult<Bound<'py, PyAny>> {
        let partitions = args::partitions(partitions)?;
        values::group_info(py, &attached(py, || self.group.info(partitions.as_deref()))?)
    }

    /// Its dead letters, a list of `DeadLetter`. See `Instance.dead_letters`.
    ///
    /// Args:
    ///     limit: At most how many; 100.
    ///     after: The event id of the dead letter after which to go on; by default from the first.
    ///     partitions: Which partitions: an iterable of numbers; all.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     results = billing.fetch(limit=1).reject("bad")
    ///     ...     [letter.event.payload for letter in billing.dead_letters()]
    ///     ['a']
    #[pyo3(signature = (*, limit=None, after=None, partitions=None))]
    pub fn dead_letters<'py>(
        &self,
        py: Python<'py>,
        limit: Maybe<'_, '_>,
        after: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let options = options::dead_letters(limit, after, partitions)?;
        let letters = detached(py, || self.group.dead_letters(&options))?;
        letters.into_iter().map(|letter| values::dead_letter(py, letter, &self.codec)).collect()
    }

    /// Forgets dead letters for good. Returns how many. See `Instance.discard_dead_letters`.
    ///
    /// Args:
    ///     event_ids: Which: an iterable of event ids.
    ///     all: True for every one, instead of `event_ids`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     results = billing.fetch().reject("bad")
    ///     ...     billing.discard_dead_letters(all=True)
    ///     2
    #[pyo3(signature = (event_ids=None, *, all=None))]
    pub fn discard_dead_letters(&self, py: Python<'_>, event_ids: Maybe<'_, '_>, all: Maybe<'_, '_>) -> PyResult<u64> {
        let which = Discard::new(py, event_ids, all)?;
        detached(py, || which.with(|which| self.group.discard_dead_letters(which)))
    }

    /// Makes deliveries available again, by exactly one of the four. Returns how many. See `Instance.replay`.
    ///
    /// Args:
    ///     from_sequence: Everything after this sequence; one, or a mapping of partitions to sequences.
    ///     from_: Everything from this time on.
    ///     event_ids: Just these events.
    ///     query: Just what a query finds: a mapping of the arguments of `query`.
    ///     partitions: Which partitions; all.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     results = billing.fetch().ack()
    ///     ...     billing.replay(from_sequence=0)
    ///     2
    #[pyo3(signature = (*, from_sequence=None, from_=None, event_ids=None, query=None, partitions=None))]
    pub fn replay(
        &self,
        py: Python<'_>,
        from_sequence: Maybe<'_, '_>,
        from_: Maybe<'_, '_>,
        event_ids: Maybe<'_, '_>,
        query: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<u64> {
        let options = options::replay(from_sequence, from_, event_ids, query, partitions)?;
        detached(py, || self.group.replay(&options))
    }

    /// Starts the group again; its deliveries, leases and dead letters go. See `Instance.reset_group`.
    ///
    /// Args:
    ///     confirm: Must be `True`.
    ///     start_after: The sequence after which it starts; one, or a mapping of partitions to sequences.
    ///     start_at: The time at which it starts.
    ///     partitions: Which partitions; all.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     events = db.append_batch("orders", ["a", "b"])
    ///     ...     billing.reset(confirm=True, start_after=1)
    ///     ...     billing.fetch().payloads()
    ///     ['b']
    #[pyo3(signature = (*, confirm=None, start_after=None, start_at=None, partitions=None))]
    pub fn reset(
        &self,
        py: Python<'_>,
        confirm: Maybe<'_, '_>,
        start_after: Maybe<'_, '_>,
        start_at: Maybe<'_, '_>,
        partitions: Maybe<'_, '_>,
    ) -> PyResult<()> {
        let options = options::reset(confirm, options::start(start_after, start_at, partitions)?)?;
        detached(py, || self.group.reset(&options))
    }

    /// Changes the group's limits. What is left out stays as it is. See `Instance.update_group`.
    ///
    /// Args:
    ///     max_attempts: With how many attempts a retry makes a dead letter.
    ///     max_deliveries: After how many deliveries an event becomes a dead letter; 0, without limit.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     billing.update(max_deliveries=20)
    ///     ...     billing.info().max_deliveries
    ///     20
    #[pyo3(signature = (*, max_attempts=None, max_deliveries=None))]
    fn update(&self, py: Python<'_>, max_attempts: Maybe<'_, '_>, max_deliveries: Maybe<'_, '_>) -> PyResult<()> {
        let update = options::update(max_attempts, max_deliveries)?;
        detached(py, || self.group.update(&update))
    }

    /// Deletes the group with its progress and dead letters. See `Instance.delete_group`.
    ///
    /// Example:
    ///     >>> with rheo.open() as db:
    ///     ...     db.create_stream("orders")
    ///     ...     db.create_group("orders", "billing")
    ///     ...     billing = db.group("orders", "billing")
    ///     ...     billing.delete()
    ///     ...     db.list_groups("orders")
    ///     []
    fn delete(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.group.delete())
    }
}
