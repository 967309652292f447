//! What an instance tells of its work: named events with measurements and labels, never payloads (contract, section 6).
//!
//! An instance has at most one hook. Without one an operation pays a branch; with one, the hook's own cost and, if it
//! asks for durations, two readings of a clock. The hook is called after the operation, on its thread, with no lock
//! held; it may call back in. A hook that panics harms nobody: the panic ends there.

use crate::backend::Settled;
use crate::error::{ErrorCode, Result};
use crate::lease::LeaseToken;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs the programs of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/telemetry.md")]
struct Guide;

macro_rules! names {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal;)*) => {
        /// What happened. The text of each is the contract's; the number is what crosses to other languages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum TelemetryName {
            $($(#[$doc])* $variant = $number,)*
        }

        impl TelemetryName {
            /// Every name.
            pub const ALL: &'static [TelemetryName] = &[$(TelemetryName::$variant,)*];

            /// The contract's name, such as `append` or `stream.create`.
            pub const fn name(self) -> &'static str {
                match self { $(TelemetryName::$variant => $name,)* }
            }

            /// Its number, from 1; never used for something else.
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// The name with this number.
            pub fn from_number(number: i32) -> Option<TelemetryName> {
                TelemetryName::ALL.iter().copied().find(|name| name.number() == number)
            }
        }
    };
}

names! {
    /// A span: one append. `count`: 1 when it was done.
    Append = 1, "append";
    /// A span: one batch. `count`: its items.
    AppendBatch = 2, "append_batch";
    /// A span: a query or a page of one. `count`: the events found.
    Query = 3, "query";
    /// A span: a fetch, waiting included. `count`: the leases given.
    Fetch = 4, "fetch";
    /// A span: renewing leases of one group. `count` and `failed`: how many were renewed and were not.
    Renew = 5, "renew";
    /// A span: acking leases of one group. `count` and `failed`: how many were acked and were not.
    Ack = 6, "ack";
    /// A span: retrying leases of one group. `count` and `failed`: how many were given back (or buried) and were not.
    Retry = 7, "retry";
    /// A span: rejecting leases of one group. `count` and `failed`: how many were rejected and were not.
    Reject = 8, "reject";
    /// A span: releasing leases of one group. `count` and `failed`: how many were given back and were not.
    Release = 9, "release";
    /// A counter: a stream was created.
    StreamCreate = 10, "stream.create";
    /// A counter: a group was created.
    GroupCreate = 11, "group.create";
    /// A counter: `count` leases were given.
    Lease = 12, "lease";
    /// A counter: `count` of the leases given were not the first of their event.
    Redelivery = 13, "redelivery";
    /// A counter: `count` deliveries became dead letters, by reject or by a limit.
    DeadLetter = 14, "dead_letter";
    /// A gauge: `count` is the frontier of `partition`, as `lag` and `group_info` find it.
    GroupFrontier = 15, "group.frontier";
    /// A counter: a replay made `count` deliveries available again.
    GroupReplay = 16, "group.replay";
    /// A counter: a group was reset.
    GroupReset = 17, "group.reset";
    /// A consumer was started.
    ConsumerStart = 18, "consumer.start";
    /// A consumer ended: it was closed, or `error` ended it.
    ConsumerStop = 19, "consumer.stop";
    /// A producer was started.
    ProducerStart = 20, "producer.start";
    /// A producer ended: it was closed, or `error` ended it.
    ProducerStop = 21, "producer.stop";
    /// A fetch of a consumer or producer failed. It is repeated after a back-off, unless `error` ends it.
    FetchError = 22, "fetch.error";
    /// A settle of a consumer failed. It is repeated when `error` is definite.
    SettleError = 23, "settle.error";
    /// A handler failed, by an error, an exception or what it returned.
    HandlerError = 24, "handler.error";
    /// A handler panicked; its worker goes on.
    WorkerCrash = 25, "worker.crash";
}

/// One thing that happened. Borrowed: copy what is to outlive the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TelemetryEvent<'a> {
    /// What happened.
    pub name: TelemetryName,
    /// The stream's name.
    pub stream: &'a str,
    /// The group's name, where it is about a group.
    pub group: Option<&'a str>,
    /// The partition, where it is about one.
    pub partition: Option<u32>,
    /// The measurement that the name says.
    pub count: u64,
    /// How many leases of a settle or renewal failed.
    pub failed: u64,
    /// How long a span took; nothing for counters and where the hook does not ask for durations.
    pub duration: Option<Duration>,
    /// Why a span's call, or its first failed lease, failed; nothing when all went well.
    pub error: Option<ErrorCode>,
}

/// The hook of an instance.
#[derive(Clone)]
pub struct Telemetry {
    hook: Arc<dyn Fn(&TelemetryEvent<'_>) + Send + Sync>,
    durations: bool,
}

impl Telemetry {
    /// A hook that gets every event, with durations.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use rheo_core::{Append, OpenOptions, StreamOptions, Telemetry, TelemetryName, open};
    /// static APPENDED: AtomicU64 = AtomicU64::new(0);
    /// let telemetry = Telemetry::new(|event| {
    ///     if event.name == TelemetryName::Append {
    ///         APPENDED.fetch_add(event.count, Ordering::Relaxed);
    ///     }
    /// });
    /// let db = open("memory:", OpenOptions::new().telemetry(telemetry))?;
    /// db.create_stream("orders", StreamOptions::default())?;
    /// db.append("orders", &Append::json("1"))?;
    /// assert_eq!(APPENDED.load(Ordering::Relaxed), 1);
    /// # Ok::<(), rheo_core::Error>(())
    /// ```
    pub fn new(hook: impl Fn(&TelemetryEvent<'_>) + Send + Sync + 'static) -> Telemetry {
        Telemetry { hook: Arc::new(hook), durations: true }
    }

    /// The same without durations: for a hook that only counts, since a clock costs more than a count.
    #[must_use]
    pub fn without_durations(mut self) -> Telemetry {
        self.durations = false;
        self
    }

    /// A hook that makes a `tracing` event of each, at debug level, with target `rheo`.
    #[cfg(feature = "tracing")]
    pub fn tracing() -> Telemetry {
        Telemetry::new(|event| {
            tracing::debug!(
                target: "rheo",
                name = event.name.name(),
                stream = event.stream,
                group = event.group,
                partition = event.partition,
                count = event.count,
                failed = event.failed,
                duration_us = event.duration.map(|duration| duration.as_micros() as u64),
                error = event.error.map(ErrorCode::name),
            );
        })
    }

    fn tell(&self, event: &TelemetryEvent<'_>) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.hook)(event)));
    }

    fn started(&self) -> Option<Instant> {
        self.durations.then(Instant::now)
    }

    /// Tells of something counted.
    pub(crate) fn count(&self, name: TelemetryName, at: At<'_>, count: u64) {
        if count > 0 {
            self.tell(&at.event(name, count));
        }
    }

    /// Tells of something in the runtime.
    pub(crate) fn runtime(&self, name: TelemetryName, at: At<'_>, error: Option<ErrorCode>) {
        self.tell(&TelemetryEvent { error, ..at.event(name, 1) });
    }

    /// Tells of a partition's frontier.
    pub(crate) fn frontier(&self, at: At<'_>, partition: u32, frontier: u64) {
        let partition = Some(partition);
        self.tell(&TelemetryEvent { partition, ..at.event(TelemetryName::GroupFrontier, frontier) });
    }

    /// Does some work and tells of it; `count` says how much of it was done.
    pub(crate) fn span<R>(
        &self,
        name: TelemetryName,
        at: At<'_>,
        work: impl FnOnce() -> Result<R>,
        count: impl FnOnce(&R) -> u64,
    ) -> Result<R> {
        let started = self.started();
        let result = work();
        let duration = started.map(|started| started.elapsed());
        let error = result.as_ref().err().map(crate::Error::code);
        let count = result.as_ref().map_or(0, count);
        self.tell(&TelemetryEvent { duration, error, ..at.event(name, count) });
        result
    }

    /// Settles or renews leases and tells of it, once for each run of leases of one group.
    pub(crate) fn settle_span<T: Outcome>(
        &self,
        name: TelemetryName,
        tokens: &[&LeaseToken],
        results: &mut [Result<T>],
        work: impl FnOnce(&mut [Result<T>]) -> Result<()>,
    ) -> Result<()> {
        let started = self.started();
        let result = work(results);
        let duration = started.map(|started| started.elapsed());
        let whole = result.as_ref().err().map(crate::Error::code);
        let mut rest = &*results;
        for run in tokens.chunk_by(|a, b| a.stream() == b.stream() && a.group() == b.group()) {
            let (these, others) = rest.split_at(run.len());
            rest = others;
            let at = At { stream: run[0].stream(), group: Some(run[0].group()) };
            let (mut failed, mut dead, mut error) = (0, 0, whole);
            for result in these {
                match result {
                    Ok(outcome) => dead += u64::from(outcome.is_dead_letter()),
                    Err(reason) => {
                        failed += 1;
                        error = error.or(Some(reason.code()));
                    }
                }
            }
            if whole.is_some() {
                (failed, dead) = (these.len() as u64, 0);
            }
            let done = these.len() as u64 - failed;
            self.tell(&TelemetryEvent { failed, duration, error, ..at.event(name, done) });
            self.count(TelemetryName::DeadLetter, at, dead);
        }
        result
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("durations", &self.durations).finish_non_exhaustive()
    }
}

/// The same hook.
impl PartialEq for Telemetry {
    fn eq(&self, other: &Telemetry) -> bool {
        Arc::ptr_eq(&self.hook, &other.hook) && self.durations == other.durations
    }
}

impl Eq for Telemetry {}

/// What an event is about.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) stream: &'a str,
    pub(crate) group: Option<&'a str>,
}

impl<'a> At<'a> {
    fn event(self, name: TelemetryName, count: u64) -> TelemetryEvent<'a> {
        let At { stream, group } = self;
        TelemetryEvent { name, stream, group, partition: None, count, failed: 0, duration: None, error: None }
    }
}

/// What came of one lease.
pub(crate) trait Outcome {
    /// Whether it became a dead letter.
    fn is_dead_letter(&self) -> bool;
}

impl Outcome for Settled {
    fn is_dead_letter(&self) -> bool {
        *self == Settled::DeadLettered
    }
}

impl Outcome for crate::Timestamp {
    fn is_dead_letter(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Append, AppendOptions, FetchOptions, GroupOptions, OpenOptions, Query, ReplayOptions, ResetOptions,
        RetryOptions, StreamOptions, open,
    };
    use parking_lot::Mutex;

    type Told = (&'static str, u64, u64, Option<&'static str>);

    #[test]
    fn a_hook_hears_of_everything() {
        let told: Arc<Mutex<Vec<Told>>> = Arc::default();
        let telemetry = Telemetry::new({
            let told = Arc::clone(&told);
            move |event| {
                assert_eq!(event.stream, "s");
                assert!(event.group.is_none_or(|group| group == "g"));
                let error = event.error.map(ErrorCode::name);
                told.lock().push((event.name.name(), event.count, event.failed, error));
                // What a hook does to itself is its own affair.
                assert_ne!(event.name, TelemetryName::GroupReset);
            }
        });
        let db = open("memory:", OpenOptions::new().telemetry(telemetry)).unwrap();
        let expect = |expected: &[Told]| assert_eq!(std::mem::take(&mut *told.lock()), expected);

        db.create_stream("s", StreamOptions::default()).unwrap();
        db.create_group("s", "g", &GroupOptions { max_attempts: Some(2), ..GroupOptions::default() }).unwrap();
        expect(&[("stream.create", 1, 0, None), ("group.create", 1, 0, None)]);
        db.append("s", &Append::json("1")).unwrap();
        db.append_batch("s", &[Append::json("2"), Append::json("3")], &AppendOptions::default()).unwrap();
        assert!(db.append("s", &Append::json("4").partition(9)).is_err());
        expect(&[("append", 1, 0, None), ("append_batch", 2, 0, None), ("append", 0, 0, Some("invalid_partition"))]);
        db.query("s", &Query::new()).unwrap();
        let leases = db.fetch("s", "g", &FetchOptions::new()).unwrap();
        expect(&[("query", 3, 0, None), ("fetch", 3, 0, None), ("lease", 3, 0, None)]);
        db.renew(&leases[0], None).unwrap();
        db.ack_many(&[&leases[0], &leases[0]]).unwrap();
        db.reject(&leases[1], "no").unwrap();
        db.retry(&leases[2], RetryOptions::default()).unwrap();
        expect(&[
            ("renew", 1, 0, None),
            ("ack", 1, 1, Some("stale_lease")),
            ("reject", 1, 0, None),
            ("dead_letter", 1, 0, None),
            ("retry", 1, 0, None),
        ]);
        let again = db.fetch("s", "g", &FetchOptions::new()).unwrap();
        db.retry(&again[0], RetryOptions::default()).unwrap();
        expect(&[
            ("fetch", 1, 0, None),
            ("lease", 1, 0, None),
            ("redelivery", 1, 0, None),
            ("retry", 1, 0, None),
            ("dead_letter", 1, 0, None),
        ]);
        db.lag("s", "g", None).unwrap();
        db.replay("s", "g", &ReplayOptions { from_sequence: Some(1.into()), ..ReplayOptions::default() }).unwrap();
        db.update_group("s", "g", &crate::GroupUpdate { max_attempts: None, max_deliveries: Some(1) }).unwrap();
        let leases = db.fetch("s", "g", &FetchOptions::new().limit(1)).unwrap();
        db.release(&leases[0]).unwrap();
        db.reset_group("s", "g", &ResetOptions { confirm: true, ..ResetOptions::default() }).unwrap();
        expect(&[
            ("group.frontier", 3, 0, None),
            ("group.replay", 2, 0, None),
            ("fetch", 1, 0, None),
            ("lease", 1, 0, None),
            ("release", 1, 0, None),
            ("group.reset", 1, 0, None),
        ]);
    }

    #[test]
    fn a_limit_met_by_a_fetch_is_told() {
        let dead = Arc::new(Mutex::new(0));
        let telemetry = Telemetry::new({
            let dead = Arc::clone(&dead);
            move |event| {
                assert_eq!(event.duration, None);
                if event.name == TelemetryName::DeadLetter {
                    *dead.lock() += event.count;
                }
            }
        });
        let options = OpenOptions::new().telemetry(telemetry.without_durations()).manual_clock(None);
        let db = open("memory:", options).unwrap();
        db.create_stream("s", StreamOptions::default()).unwrap();
        db.create_group("s", "g", &GroupOptions { max_deliveries: 1, ..GroupOptions::default() }).unwrap();
        db.append("s", &Append::json("1")).unwrap();
        assert_eq!(db.fetch("s", "g", &FetchOptions::new().lease_ms(1)).unwrap().len(), 1);
        db.advance_clock(1).unwrap();
        assert_eq!(db.fetch("s", "g", &FetchOptions::new()).unwrap().len(), 0);
        assert_eq!(*dead.lock(), 1);
    }

    #[cfg(feature = "tracing")]
    #[test]
    fn tracing_gets_every_label() {
        use std::fmt::{Debug, Write as _};
        use tracing::field::{Field, Visit};
        use tracing::span::{Attributes, Id, Record};
        use tracing::{Event, Metadata, Subscriber};

        #[derive(Clone, Default)]
        struct Lines(Arc<Mutex<Vec<String>>>);

        struct Line(String);

        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                write!(self.0, " {}={value:?}", field.name()).unwrap();
            }
        }

        impl Subscriber for Lines {
            fn enabled(&self, metadata: &Metadata<'_>) -> bool {
                metadata.target() == "rheo"
            }
            fn new_span(&self, _: &Attributes<'_>) -> Id {
                Id::from_u64(1)
            }
            fn record(&self, _: &Id, _: &Record<'_>) {}
            fn record_follows_from(&self, _: &Id, _: &Id) {}
            fn event(&self, event: &Event<'_>) {
                let mut line = Line(event.metadata().level().to_string());
                event.record(&mut line);
                self.0.lock().push(line.0);
            }
            fn enter(&self, _: &Id) {}
            fn exit(&self, _: &Id) {}
        }

        let lines = Lines::default();
        tracing::subscriber::with_default(lines.clone(), || {
            let telemetry = Telemetry::tracing().without_durations();
            let db = open("memory:", OpenOptions::new().telemetry(telemetry)).unwrap();
            db.create_stream("s", StreamOptions::default()).unwrap();
            assert!(db.append("s", &Append::json("1").partition(1)).is_err());
            db.create_group("s", "g", &GroupOptions::default()).unwrap();
            db.lag("s", "g", None).unwrap();
        });
        let expected = [
            r#"DEBUG name="stream.create" stream="s" count=1 failed=0"#,
            r#"DEBUG name="append" stream="s" count=0 failed=0 error="invalid_partition""#,
            r#"DEBUG name="group.create" stream="s" group="g" count=1 failed=0"#,
            r#"DEBUG name="group.frontier" stream="s" group="g" partition=0 count=0 failed=0"#,
        ];
        assert_eq!(*lines.0.lock(), expected);
    }
}
