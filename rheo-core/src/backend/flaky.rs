//! A backend that fails on command: it wraps another one, hands every call on to it, and makes chosen calls fail
//! in chosen ways. To test what callers do with definite, ambiguous and unavailable.
//!
//! It is commanded through the trait itself, so that every language can: creating a stream whose name has the form
//! `flaky!FAULT:OPERATION:COUNT` creates nothing; it arms the fault for the next COUNT calls of that operation.
//! FAULT is the name of a [`Fault`]; OPERATION the name of a method of [`Backend`], such as `append` or `settle`, or
//! `any`. What is armed hits in the order in which it was armed. Creating such a "stream" is never hit itself.

use crate::backend::{
    Backend, Blocking, FetchRequest, Fetched, GroupRef, NewGroup, Scan, Settled, Settlement, StreamRef, Watch,
};
use crate::{
    Append, Capabilities, DeadLetter, DeadLetterOptions, Discard, Error, ErrorCode, Event, GroupInfo, GroupUpdate, Lag,
    Lease, LeaseToken, Replay, Result, Start, StreamInfo, StreamOptions, Timestamp, Trim,
};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// What a stream's name begins with when it is a command.
const COMMAND: &str = "flaky!";

/// The operations that can be made to fail: the trait's methods, but for `capabilities`, which cannot fail.
const OPERATIONS: [&str; 29] = [
    "ping",
    "ensure_indexes",
    "now",
    "advance_clock",
    "close",
    "create_stream",
    "delete_stream",
    "stream_info",
    "list_streams",
    "create_group",
    "update_group",
    "delete_group",
    "list_groups",
    "append",
    "read",
    "get",
    "partition_count",
    "scan",
    "trim",
    "fetch",
    "settle",
    "renew",
    "lag",
    "group_info",
    "dead_letters",
    "discard_dead_letters",
    "replay",
    "reset_group",
    "watch",
];

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nothing is done; the error is `failed`.
    Failed,
    /// The operation is done and its answer lost; the error is `ambiguous`.
    Ambiguous,
    /// Nothing is done; the error is `ambiguous` all the same.
    AmbiguousUndone,
    /// Nothing is done; the error is `backend_unavailable`.
    Unavailable,
    /// Nothing is done; the error is `timeout`.
    Timeout,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 5] =
        [Fault::Failed, Fault::Ambiguous, Fault::AmbiguousUndone, Fault::Unavailable, Fault::Timeout];

    /// The name that a command uses: `failed`, `ambiguous`, `ambiguous-undone`, `unavailable` or `timeout`.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::Failed => "failed",
            Fault::Ambiguous => "ambiguous",
            Fault::AmbiguousUndone => "ambiguous-undone",
            Fault::Unavailable => "unavailable",
            Fault::Timeout => "timeout",
        }
    }

    /// The fault with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.name() == name)
    }

    fn error(self, operation: &str) -> Error {
        let (code, text) = match self {
            Fault::Failed => (ErrorCode::Failed, "was not done; repeat it"),
            Fault::Ambiguous | Fault::AmbiguousUndone => {
                (ErrorCode::Ambiguous, "may have been done; look before repeating it")
            }
            Fault::Unavailable => (ErrorCode::BackendUnavailable, "did not reach the store; repeat it later"),
            Fault::Timeout => (ErrorCode::Timeout, "was not answered in time; repeat it later"),
        };
        Error::new(code, format!("{operation} {text}"))
            .with_cause(format!("the fault {:?} was armed for it", self.name()))
    }
}

/// A fault that waits for its calls.
struct Armed {
    fault: Fault,
    /// Nothing: any operation.
    operation: Option<&'static str>,
    left: u64,
}

/// A backend that fails on command and otherwise does what the one inside does.
pub struct Flaky {
    inner: Arc<dyn Backend>,
    armed: Mutex<Vec<Armed>>,
}

impl Flaky {
    /// Wraps a backend. Nothing is armed.
    pub fn new(inner: Arc<dyn Backend>) -> Flaky {
        Flaky { inner, armed: Mutex::default() }
    }

    /// Makes the next `count` calls of an operation fail that nothing armed earlier hits. `operation` is the name of
    /// a method of [`Backend`], or `any`. A fault of `settle` or `renew` is the whole call's. `close` always closes
    /// what is inside, whatever it answers.
    ///
    /// # Errors
    /// `invalid_argument` for an unknown operation and for a count of 0.
    pub fn arm(&self, fault: Fault, operation: &str, count: u64) -> Result<()> {
        let known = OPERATIONS.into_iter().find(|known| *known == operation);
        if known.is_none() && operation != "any" {
            return Err(Error::invalid(format!(
                "{operation:?} is not an operation that can fail; there are any, {}",
                OPERATIONS.join(", ")
            )));
        }
        if count == 0 {
            return Err(Error::invalid(format!("the count of calls of {operation:?} is 0; it takes at least 1")));
        }
        self.armed.lock().push(Armed { fault, operation: known, left: count });
        Ok(())
    }

    /// Obeys a command, if a stream's name is one.
    fn obey(&self, name: &str) -> Option<Result<()>> {
        let command = name.strip_prefix(COMMAND)?;
        let mut parts = command.split(':');
        let fault = parts.next().and_then(Fault::from_name);
        let operation = parts.next();
        let count = parts.next().and_then(|count| count.parse().ok());
        Some(match (fault, operation, count, parts.next()) {
            (Some(fault), Some(operation), Some(count), None) => self.arm(fault, operation, count),
            _ => Err(Error::invalid(format!(
                "{name:?} is not a command; the form is {COMMAND}FAULT:OPERATION:COUNT with the FAULT {}",
                Fault::ALL.map(Fault::name).join(", ")
            ))),
        })
    }

    /// The fault that hits this call, if one does. That uses it up by one.
    fn hit(&self, operation: &'static str) -> Option<Fault> {
        let mut armed = self.armed.lock();
        let at = armed.iter().position(|armed| armed.operation.is_none_or(|meant| meant == operation))?;
        armed[at].left -= 1;
        let fault = armed[at].fault;
        if armed[at].left == 0 {
            armed.remove(at);
        }
        Some(fault)
    }

    fn call<T>(&self, operation: &'static str, act: impl FnOnce(&dyn Backend) -> Result<T>) -> Result<T> {
        let Some(fault) = self.hit(operation) else {
            return act(&*self.inner);
        };
        if fault == Fault::Ambiguous {
            // Whatever came of it, the caller does not learn.
            let _ = act(&*self.inner);
        }
        Err(fault.error(operation))
    }
}

impl Backend for Flaky {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn blocking(&self) -> Blocking {
        self.inner.blocking()
    }

    fn ping(&self) -> Result<()> {
        self.call("ping", |inner| inner.ping())
    }

    fn ensure_indexes(&self) -> Result<()> {
        self.call("ensure_indexes", |inner| inner.ensure_indexes())
    }

    fn now(&self) -> Result<Timestamp> {
        self.call("now", |inner| inner.now())
    }

    fn advance_clock(&self, by: Duration) -> Result<Timestamp> {
        self.call("advance_clock", |inner| inner.advance_clock(by))
    }

    fn close(&self) -> Result<()> {
        // A close that could not flush closes all the same: waiters have to wake.
        let closed = self.inner.close();
        self.hit("close").map_or(closed, |fault| Err(fault.error("close")))
    }

    fn create_stream(&self, stream: StreamRef<'_>, options: &StreamOptions) -> Result<()> {
        self.obey(stream.name)
            .unwrap_or_else(|| self.call("create_stream", |inner| inner.create_stream(stream, options)))
    }

    fn delete_stream(&self, stream: StreamRef<'_>) -> Result<()> {
        self.call("delete_stream", |inner| inner.delete_stream(stream))
    }

    fn stream_info(&self, stream: StreamRef<'_>) -> Result<StreamInfo> {
        self.call("stream_info", |inner| inner.stream_info(stream))
    }

    fn list_streams(&self) -> Result<Vec<String>> {
        self.call("list_streams", |inner| inner.list_streams())
    }

    fn create_group(&self, group: GroupRef<'_>, new: &NewGroup) -> Result<()> {
        self.call("create_group", |inner| inner.create_group(group, new))
    }

    fn update_group(&self, group: GroupRef<'_>, update: &GroupUpdate) -> Result<()> {
        self.call("update_group", |inner| inner.update_group(group, update))
    }

    fn delete_group(&self, group: GroupRef<'_>) -> Result<()> {
        self.call("delete_group", |inner| inner.delete_group(group))
    }

    fn list_groups(&self, stream: StreamRef<'_>) -> Result<Vec<String>> {
        self.call("list_groups", |inner| inner.list_groups(stream))
    }

    fn append(&self, stream: StreamRef<'_>, items: &[Append<'_>], emit: &mut dyn FnMut(Event)) -> Result<()> {
        // Kept until the outcome is known: a call that fails emits nothing.
        let mut events = Vec::with_capacity(items.len());
        self.call("append", |inner| inner.append(stream, items, &mut |event| events.push(event)))?;
        events.into_iter().for_each(emit);
        Ok(())
    }

    fn read(&self, stream: StreamRef<'_>, partition: u32, after: u64, limit: usize) -> Result<Vec<Event>> {
        self.call("read", |inner| inner.read(stream, partition, after, limit))
    }

    fn get(&self, stream: StreamRef<'_>, event_id: &str) -> Result<Option<Event>> {
        self.call("get", |inner| inner.get(stream, event_id))
    }

    fn partition_count(&self, stream: StreamRef<'_>) -> Result<u32> {
        self.call("partition_count", |inner| inner.partition_count(stream))
    }

    fn scan(
        &self,
        stream: StreamRef<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<()> {
        self.call("scan", |inner| inner.scan(stream, scan, visit))
    }

    fn trim(&self, stream: StreamRef<'_>, trim: &Trim, force: bool) -> Result<u64> {
        self.call("trim", |inner| inner.trim(stream, trim, force))
    }

    fn fetch(&self, group: GroupRef<'_>, request: &FetchRequest<'_>, leases: &mut Vec<Lease>) -> Result<Fetched> {
        let answer = self.call("fetch", |inner| inner.fetch(group, request, leases));
        if answer.is_err() {
            // What was claimed and not answered is nobody's until it expires.
            leases.clear();
        }
        answer
    }

    fn settle(
        &self,
        tokens: &[&LeaseToken],
        settlement: Settlement<'_>,
        results: &mut [Result<Settled>],
    ) -> Result<()> {
        self.call("settle", |inner| inner.settle(tokens, settlement, results))
    }

    fn renew(&self, tokens: &[&LeaseToken], lease_ms: Option<u64>, results: &mut [Result<Timestamp>]) -> Result<()> {
        self.call("renew", |inner| inner.renew(tokens, lease_ms, results))
    }

    fn lag(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<Lag> {
        self.call("lag", |inner| inner.lag(group, partitions))
    }

    fn group_info(&self, group: GroupRef<'_>, partitions: Option<&[u32]>) -> Result<GroupInfo> {
        self.call("group_info", |inner| inner.group_info(group, partitions))
    }

    fn dead_letters(&self, group: GroupRef<'_>, options: &DeadLetterOptions) -> Result<Vec<DeadLetter>> {
        self.call("dead_letters", |inner| inner.dead_letters(group, options))
    }

    fn discard_dead_letters(&self, group: GroupRef<'_>, which: Discard<'_>) -> Result<u64> {
        self.call("discard_dead_letters", |inner| inner.discard_dead_letters(group, which))
    }

    fn replay(&self, group: GroupRef<'_>, what: Replay<'_>, partitions: Option<&[u32]>) -> Result<u64> {
        self.call("replay", |inner| inner.replay(group, what, partitions))
    }

    fn reset_group(&self, group: GroupRef<'_>, start: &Start) -> Result<()> {
        self.call("reset_group", |inner| inner.reset_group(group, start))
    }

    fn watch(&self, group: GroupRef<'_>, partitions: Option<&[u32]>, waker: &Waker) -> Result<Watch> {
        self.call("watch", |inner| inner.watch(group, partitions, waker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::native_stream_double::NativeStreamDouble;
    use crate::{Clock, FetchOptions, GroupOptions, Instance, OpenOptions};
    use std::task::Wake;

    /// An instance on a flaky backend, with a stream `s` that has a group `g`.
    fn open() -> (Instance, Arc<Flaky>) {
        let clock = Clock::manual(Timestamp::from_millis(1_000_000));
        let flaky = Arc::new(Flaky::new(Arc::new(NativeStreamDouble::new(clock))));
        let backend: Arc<dyn Backend> = Arc::<Flaky>::clone(&flaky);
        let db = Instance::with_backend(backend, OpenOptions::new().manual_clock(None)).unwrap();
        db.create_stream("s", StreamOptions::default()).unwrap();
        db.create_group("s", "g", &GroupOptions::default()).unwrap();
        (db, flaky)
    }

    fn command(db: &Instance, command: &str) -> Result<()> {
        db.create_stream(&format!("flaky!{command}"), StreamOptions::default())
    }

    fn append(db: &Instance, id: &str) -> Result<Event> {
        db.append("s", &Append::bytes("x").id(id))
    }

    fn code<T>(result: Result<T>) -> Option<ErrorCode> {
        result.err().map(|error| error.code())
    }

    #[test]
    fn each_fault_gives_its_error_and_does_or_does_not_do_the_operation() {
        for (fault, expected, done) in [
            (Fault::Failed, ErrorCode::Failed, false),
            (Fault::Ambiguous, ErrorCode::Ambiguous, true),
            (Fault::AmbiguousUndone, ErrorCode::Ambiguous, false),
            (Fault::Unavailable, ErrorCode::BackendUnavailable, false),
            (Fault::Timeout, ErrorCode::Timeout, false),
        ] {
            let (db, _) = open();
            command(&db, &format!("{}:append:1", fault.name())).unwrap();
            let error = append(&db, "a").unwrap_err();
            assert_eq!(error.code(), expected);
            assert!(error.cause().is_some_and(|cause| cause.contains(fault.name())), "{error}");
            assert_eq!(db.get("s", "a").unwrap().is_some(), done, "{fault:?}");
            assert_eq!(append(&db, "a").unwrap().deduplicated(), done, "{fault:?}");
        }
    }

    #[test]
    fn faults_hit_in_the_order_in_which_they_were_armed() {
        let (db, flaky) = open();
        command(&db, "failed:append:2").unwrap();
        flaky.arm(Fault::Timeout, "any", 1).unwrap();
        command(&db, "unavailable:append:1").unwrap();
        assert_eq!(code(append(&db, "a")), Some(ErrorCode::Failed));
        assert_eq!(code(db.ping()), Some(ErrorCode::Timeout));
        assert_eq!(code(append(&db, "a")), Some(ErrorCode::Failed));
        assert_eq!(code(db.ping()), None);
        assert_eq!(code(append(&db, "a")), Some(ErrorCode::BackendUnavailable));
        assert_eq!(code(append(&db, "a")), None);
        assert_eq!(db.list_streams().unwrap(), ["s"]);
    }

    #[test]
    fn a_malformed_command_is_refused_with_its_form() {
        let (db, _) = open();
        for bad in ["", "failed", "failed:append", "failed:append:0", "failed:append:x", "failed:append:1:1"] {
            let error = command(&db, bad).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{bad}");
        }
        assert!(command(&db, "broken:append:1").unwrap_err().message().contains("flaky!FAULT:OPERATION:COUNT"));
        assert!(command(&db, "failed:aqpend:1").unwrap_err().message().contains("append"));
        assert_eq!(code(append(&db, "a")), None);
    }

    #[test]
    fn a_claim_whose_answer_is_lost_comes_again_when_it_expires() {
        let (db, _) = open();
        append(&db, "a").unwrap();
        command(&db, "ambiguous:fetch:1").unwrap();
        let options = FetchOptions::new().lease_ms(1000);
        let mut leases = Vec::new();
        assert_eq!(code(db.fetch_into("s", "g", &options, &mut leases)), Some(ErrorCode::Ambiguous));
        assert!(leases.is_empty());
        assert!(db.fetch("s", "g", &options).unwrap().is_empty());
        db.advance_clock(1000).unwrap();
        assert_eq!(db.fetch("s", "g", &options).unwrap()[0].attempt(), 2);
    }

    #[test]
    fn a_fault_of_settle_is_the_whole_calls() {
        let (db, _) = open();
        append(&db, "a").unwrap();
        let leases = db.fetch("s", "g", &FetchOptions::new()).unwrap();
        command(&db, "failed:settle:1").unwrap();
        assert_eq!(code(db.ack_many(&leases)), Some(ErrorCode::Failed));
        command(&db, "ambiguous:settle:1").unwrap();
        assert_eq!(code(db.ack_many(&leases)), Some(ErrorCode::Ambiguous));
        assert_eq!(code(db.ack(&leases[0])), Some(ErrorCode::StaleLease));
    }

    #[test]
    fn every_operation_can_be_made_to_fail() {
        let (db, flaky) = open();
        let (stream, group) =
            (StreamRef { name: "s", binding: None }, GroupRef { stream: "s", name: "g", binding: None });
        append(&db, "a").unwrap();
        let lease = db.fetch("s", "g", &FetchOptions::new()).unwrap().remove(0);
        let tokens = [lease.token()];
        let consumer_id = Arc::from("c");
        let request = FetchRequest { limit: 1, lease_ms: 1, consumer_id: &consumer_id, partitions: None };
        let new = NewGroup { settings: db.group_info("s", "g", None).unwrap().settings, start: Start::default() };
        let query = crate::Query::default();
        let scan = Scan { query: &query, positions: &[(0, 0)], descending: false };
        let calls: [(&str, &dyn Fn() -> Result<()>); OPERATIONS.len()] = [
            ("ping", &|| flaky.ping()),
            ("ensure_indexes", &|| flaky.ensure_indexes()),
            ("now", &|| flaky.now().map(drop)),
            ("advance_clock", &|| flaky.advance_clock(Duration::ZERO).map(drop)),
            ("close", &|| flaky.close()),
            ("create_stream", &|| flaky.create_stream(stream, &StreamOptions::default())),
            ("delete_stream", &|| flaky.delete_stream(stream)),
            ("stream_info", &|| flaky.stream_info(stream).map(drop)),
            ("list_streams", &|| flaky.list_streams().map(drop)),
            ("create_group", &|| flaky.create_group(group, &new)),
            ("update_group", &|| flaky.update_group(group, &GroupUpdate::default())),
            ("delete_group", &|| flaky.delete_group(group)),
            ("list_groups", &|| flaky.list_groups(stream).map(drop)),
            ("append", &|| flaky.append(stream, &[], &mut |_| {})),
            ("read", &|| flaky.read(stream, 0, 0, 1).map(drop)),
            ("get", &|| flaky.get(stream, "a").map(drop)),
            ("partition_count", &|| flaky.partition_count(stream).map(drop)),
            ("scan", &|| flaky.scan(stream, &scan, &mut |_| ControlFlow::Continue(()))),
            ("trim", &|| flaky.trim(stream, &Trim::MaxLen(9), false).map(drop)),
            ("fetch", &|| flaky.fetch(group, &request, &mut Vec::new()).map(drop)),
            ("settle", &|| flaky.settle(&tokens, Settlement::Ack, &mut [Ok(Settled::Done)])),
            ("renew", &|| flaky.renew(&tokens, None, &mut [Ok(Timestamp::default())])),
            ("lag", &|| flaky.lag(group, None).map(drop)),
            ("group_info", &|| flaky.group_info(group, None).map(drop)),
            ("dead_letters", &|| flaky.dead_letters(group, &DeadLetterOptions::default()).map(drop)),
            ("discard_dead_letters", &|| flaky.discard_dead_letters(group, Discard::All).map(drop)),
            ("replay", &|| flaky.replay(group, Replay::EventIds(&[]), None).map(drop)),
            ("reset_group", &|| flaky.reset_group(group, &Start::default())),
            ("watch", &|| flaky.watch(group, None, Waker::noop()).map(drop)),
        ];
        assert_eq!(calls.map(|(operation, _)| operation), OPERATIONS);
        for (operation, call) in calls {
            flaky.arm(Fault::Failed, operation, 1).unwrap();
            let error = call().unwrap_err();
            assert_eq!(error.code(), ErrorCode::Failed, "{operation}");
            assert!(error.message().starts_with(operation), "{error}");
        }
        assert_eq!(db.lag("s", "g", None).unwrap().lag(), 1);
    }

    #[test]
    fn close_wakes_waiters_whatever_it_answers() {
        struct Flag(std::sync::atomic::AtomicBool);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let (db, flaky) = open();
        let flag = Arc::new(Flag(false.into()));
        let _watch = db.watch("s", "g", None, &Waker::from(Arc::clone(&flag))).unwrap();
        flaky.arm(Fault::Failed, "close", 1).unwrap();
        assert_eq!(code(db.close()), Some(ErrorCode::Failed));
        assert!(flag.0.load(std::sync::atomic::Ordering::SeqCst));
        assert_eq!(code(db.ping()), Some(ErrorCode::Closed));
    }
}
