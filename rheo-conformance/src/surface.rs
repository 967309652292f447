//! The Rust surface as the scenarios see it: an operation's name and arguments become a call, its result JSON.

use crate::consumption::Running;
use crate::runner::Way;
use crate::view;
use rheo_core::{
    Append, AppendOptions, DeadLetterOptions, Discard, Encoding, Error, FetchOptions, Group, GroupOptions, GroupUpdate,
    Instance, Lease, LeaseToken, OpenOptions, Ordering, Query, ReadOptions, ReplayOptions, ResetOptions, RetryOptions,
    Sequences, StartOptions, Stream, StreamOptions, Timestamp, TrimOptions,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Why a call gave no result.
pub(crate) enum Failure {
    /// The library refused.
    Error(Error),
    /// The scenario asks for something that there is not.
    Scenario(String),
    /// The library panicked.
    Panic(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure::Scenario(text)
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Failure {
        Failure::Scenario(text.into())
    }
}

/// The leases that a scenario has seen, by their tokens' text.
pub(crate) type Leases = Arc<Mutex<HashMap<String, Lease>>>;

/// An instance and how it is called.
pub(crate) struct Surface {
    pub(crate) running: Running,
    pub(crate) instance: Instance,
    way: Way,
    leases: Leases,
    streams: Mutex<HashMap<String, Stream>>,
    groups: Mutex<HashMap<(String, String), Group>>,
}

/// A stream, by name or bound.
enum AnyStream<'a> {
    Named(&'a Instance, String),
    Bound(Stream),
}

/// A group, by name or bound.
enum AnyGroup<'a> {
    Named(&'a Instance, String, String),
    Bound(Group),
}

/// Calls what a bound handle has on it, and the same on the instance by name otherwise.
macro_rules! on_stream {
    ($target:expr, $named:ident / $bound:ident ($($arg:expr),*)) => {
        match &$target {
            AnyStream::Named(instance, stream) => instance.$named(stream, $($arg),*),
            AnyStream::Bound(stream) => stream.$bound($($arg),*),
        }
    };
}

macro_rules! on_group {
    ($target:expr, $named:ident / $bound:ident ($($arg:expr),*)) => {
        match &$target {
            AnyGroup::Named(instance, stream, group) => instance.$named(stream, group, $($arg),*),
            AnyGroup::Bound(group) => group.$bound($($arg),*),
        }
    };
}

/// Calls a settle on a group's handle, or on the instance where there is none.
macro_rules! on_settler {
    ($surface:expr, $group:expr, $settle:ident ($($arg:expr),*)) => {
        match &$group {
            Some(group) => group.$settle($($arg),*),
            None => $surface.instance.$settle($($arg),*),
        }
    };
}

impl Surface {
    pub(crate) fn new(instance: Instance, way: Way, leases: Leases) -> Surface {
        let (streams, groups) = (Mutex::default(), Mutex::default());
        Surface { running: Running::default(), instance, way, leases, streams, groups }
    }

    /// Calls an operation; what it starts is kept under a name.
    pub(crate) fn call(&self, op: &str, kept_as: Option<&str>, args: Map<String, Value>) -> Result<Value, Failure> {
        let mut args = Args { op, fields: args };
        let args = &mut args;
        if matches!(op, "start_producer" | "start_consumer") {
            return self.start(op, kept_as, args);
        }
        if let Some(producer) = args.text("producer")? {
            return self.with_producer(op, &producer, args);
        }
        if let Some(consumer) = args.text("consumer")? {
            return self.with_consumer(op, &consumer, args);
        }
        let done = |(): ()| Value::Null;
        let db = &self.instance;
        match op {
            "ping" => args.end(|| db.ping()).map(done),
            "ensure_indexes" => args.end(|| db.ensure_indexes()).map(done),
            "close" => args.end(|| db.close()).map(done),
            "capabilities" => args.end(|| Ok(db.capabilities())).map(view::capabilities),
            "list_streams" => args.end(|| db.list_streams()).map(Value::from),
            "advance_clock" => {
                let ms = args.required_number("ms")?;
                args.end(|| db.advance_clock(ms)).map(|_| Value::Null)
            }
            "inject" => {
                let (fault, operation) = (args.required_text("fault")?, args.required_text("operation")?);
                let count: u64 = args.required_number("count")?;
                let command = format!("flaky!{fault}:{operation}:{count}");
                args.end(|| db.create_stream(&command, StreamOptions::default())).map(done)
            }
            "create_stream" => {
                let stream = args.required_text("stream")?;
                let mut options = StreamOptions::default();
                if let Some(count) = args.number("partition_count")? {
                    options.partition_count = count;
                }
                args.end(|| db.create_stream(&stream, options)).map(done)
            }
            "create_group" => {
                let (stream, group) = (args.required_text("stream")?, args.required_text("group")?);
                let options = GroupOptions {
                    max_attempts: args.number("max_attempts")?,
                    max_deliveries: args.number("max_deliveries")?.unwrap_or_default(),
                    ordering: args.ordering()?,
                    start: args.start()?,
                };
                args.end(|| db.create_group(&stream, &group, &options)).map(done)
            }
            "ack" | "retry" | "reject" | "release" | "renew" => self.settle(op, args),
            "ack_many" | "retry_many" | "reject_many" | "release_many" | "renew_many" => self.settle_many(op, args),
            "update_group"
            | "delete_group"
            | "fetch"
            | "lag"
            | "group_info"
            | "dead_letters"
            | "discard_dead_letters"
            | "replay"
            | "reset_group" => self.group_call(op, args),
            _ => self.stream_call(op, args),
        }
    }

    fn stream_call(&self, op: &str, args: &mut Args<'_>) -> Result<Value, Failure> {
        let name = args.required_text("stream")?;
        let stream = self.stream(&name)?;
        match op {
            "delete_stream" => {
                let confirm = args.flag("confirm")?;
                args.end(|| on_stream!(stream, delete_stream / delete(confirm))).map(|()| Value::Null)
            }
            "stream_info" => args.end(|| on_stream!(stream, stream_info / info())).map(|info| view::stream_info(&info)),
            "list_groups" => args.end(|| on_stream!(stream, list_groups / list_groups())).map(Value::from),
            "append" => {
                let payload = args.required("payload")?;
                let item = Item::new(payload, args)?;
                args.end(|| on_stream!(stream, append / append(&item.append()))).map(|event| view::event(&event))
            }
            "append_batch" => {
                let items = args.required_list("items")?;
                let shared = Extras::take(args)?;
                let items = items.into_iter().map(Item::alone).collect::<Result<Vec<_>, _>>()?;
                let items: Vec<Append<'_>> = items.iter().map(Item::append).collect();
                args.end(|| on_stream!(stream, append_batch / append_batch(&items, &shared.options())))
                    .map(|events| view::events(&events))
            }
            "read" => {
                let default = ReadOptions::default();
                let options = ReadOptions {
                    after: args.number("after")?.unwrap_or(default.after),
                    limit: args.number("limit")?.unwrap_or(default.limit),
                    partition: args.number("partition")?.unwrap_or(default.partition),
                };
                args.end(|| on_stream!(stream, read / read(options))).map(|events| view::events(&events))
            }
            "get" => {
                let id = args.required_text("event_id")?;
                args.end(|| on_stream!(stream, get / get(&id)))
                    .map(|event| event.map_or(Value::Null, |event| view::event(&event)))
            }
            "query" => {
                let query = args.query()?;
                args.end(|| on_stream!(stream, query / query(&query?))).map(|events| view::events(&events))
            }
            "query_page" => {
                let cursor = args.text("cursor")?;
                let query = args.query()?;
                args.end(|| on_stream!(stream, query_page / query_page(&query?, cursor.as_deref())))
                    .map(|page| view::page(&page))
            }
            "query_stream" => {
                let query = args.query()?;
                args.end(|| on_stream!(stream, query_stream / query_stream(&query?))?.collect::<Result<Vec<_>, _>>())
                    .map(|events| view::events(&events))
            }
            "trim" => {
                let options = TrimOptions {
                    before_sequence: args.sequences("before_sequence")?,
                    max_len: args.number("max_len")?,
                    max_age_ms: args.number("max_age_ms")?,
                    max_bytes: args.number("max_bytes")?,
                    force: args.flag("force")?,
                };
                args.end(|| on_stream!(stream, trim / trim(&options))).map(Value::from)
            }
            _ => Err(format!("there is no operation {op:?}").into()),
        }
    }

    fn group_call(&self, op: &str, args: &mut Args<'_>) -> Result<Value, Failure> {
        let (stream, group) = (args.required_text("stream")?, args.required_text("group")?);
        let group = self.group(&stream, &group)?;
        match op {
            "update_group" => {
                let update = GroupUpdate {
                    max_attempts: args.number("max_attempts")?,
                    max_deliveries: args.number("max_deliveries")?,
                };
                args.end(|| on_group!(group, update_group / update(&update))).map(|()| Value::Null)
            }
            "delete_group" => args.end(|| on_group!(group, delete_group / delete())).map(|()| Value::Null),
            "fetch" => {
                let (consumer_id, partitions) = (args.text("consumer_id")?, args.partitions()?);
                let options = FetchOptions {
                    limit: args.number("limit")?,
                    lease_ms: args.number("lease_ms")?,
                    consumer_id: consumer_id.as_deref(),
                    partitions: partitions.as_deref(),
                    wait_ms: args.number("wait_ms")?.unwrap_or_default(),
                    interrupt: None,
                };
                args.end(|| on_group!(group, fetch / fetch(&options))).map(|leases| self.seen(leases))
            }
            "lag" => {
                let partitions = args.partitions()?;
                args.end(|| on_group!(group, lag / lag(partitions.as_deref()))).map(|lag| view::lag(&lag))
            }
            "group_info" => {
                let partitions = args.partitions()?;
                args.end(|| on_group!(group, group_info / info(partitions.as_deref())))
                    .map(|info| view::group_info(&info))
            }
            "dead_letters" => {
                let options = DeadLetterOptions {
                    limit: args.number("limit")?,
                    after: args.text("after")?,
                    partitions: args.partitions()?,
                };
                args.end(|| on_group!(group, dead_letters / dead_letters(&options)))
                    .map(|letters| letters.iter().map(view::dead_letter).collect())
            }
            "discard_dead_letters" => {
                let ids = args.texts("event_ids")?;
                let which: Vec<&str> = ids.iter().flatten().map(String::as_str).collect();
                let which = match (&ids, args.flag("all")?) {
                    (Some(_), false) => Discard::EventIds(&which),
                    (None, true) => Discard::All,
                    _ => return Err("discard_dead_letters takes event_ids, or all: true".into()),
                };
                args.end(|| on_group!(group, discard_dead_letters / discard_dead_letters(which))).map(Value::from)
            }
            "replay" => {
                let partitions = args.partitions()?;
                let query =
                    args.object("query")?.map(|fields| Args { op: "query", fields }.only_query()).transpose()?;
                let (from_sequence, from, event_ids) =
                    (args.sequences("from_sequence")?, args.time("from")?, args.texts("event_ids")?);
                args.end(|| {
                    let options =
                        ReplayOptions { from_sequence, from, event_ids, query: query.transpose()?, partitions };
                    on_group!(group, replay / replay(&options))
                })
                .map(Value::from)
            }
            "reset_group" => {
                let options = ResetOptions { confirm: args.flag("confirm")?, start: args.start()? };
                args.end(|| on_group!(group, reset_group / reset(&options))).map(|()| Value::Null)
            }
            _ => Err(format!("there is no operation {op:?}").into()),
        }
    }

    fn settle(&self, op: &str, args: &mut Args<'_>) -> Result<Value, Failure> {
        let holder = self.holder(&args.required("lease")?)?;
        let through = self.through(args)?;
        let with = SettleArgs::take(op, args)?;
        args.end(|| {
            let holder = holder?;
            let group = self.settling_group(through, std::slice::from_ref(&holder))?;
            if op == "renew" {
                let Holder::Lease(lease) = &holder else {
                    let token = holder.as_ref();
                    return on_settler!(self, group, renew_token(token, with.lease_ms)).map(view::expiry);
                };
                let renewed = on_settler!(self, group, renew(lease, with.lease_ms))?;
                let view = view::lease(&renewed);
                self.leases.lock().expect("no call panicked").insert(renewed.token().to_string(), renewed);
                return Ok(view);
            }
            let settled = match op {
                "ack" => on_settler!(self, group, ack(&holder)),
                "retry" => on_settler!(self, group, retry(&holder, with.retry())),
                "reject" => on_settler!(self, group, reject(&holder, &with.reason)),
                _ => on_settler!(self, group, release(&holder)),
            };
            settled.map(|()| Value::Null)
        })
    }

    fn settle_many(&self, op: &str, args: &mut Args<'_>) -> Result<Value, Failure> {
        let holders = args.required_list("leases")?;
        let holders = holders.iter().map(|holder| self.holder(holder)).collect::<Result<Vec<_>, _>>()?;
        let through = self.through(args)?;
        let with = SettleArgs::take(op, args)?;
        args.end(|| {
            let holders = holders.into_iter().collect::<Result<Vec<_>, _>>()?;
            let group = self.settling_group(through, &holders)?;
            if op == "renew_many" {
                let renewed = on_settler!(self, group, renew_many(&holders, with.lease_ms))?;
                return Ok(view::many(renewed, view::expiry));
            }
            let settled = match op {
                "ack_many" => on_settler!(self, group, ack_many(&holders)),
                "retry_many" => on_settler!(self, group, retry_many(&holders, with.retry())),
                "reject_many" => on_settler!(self, group, reject_many(&holders, &with.reason)),
                _ => on_settler!(self, group, release_many(&holders)),
            };
            Ok(view::many(settled?, |()| Value::Null))
        })
    }

    /// The group whose handle a settle is to go through, where the step says so.
    fn through(&self, args: &mut Args<'_>) -> Result<Option<(String, String)>, Failure> {
        match (args.text("stream")?, args.text("group")?) {
            (None, None) => Ok(None),
            (Some(stream), Some(group)) if self.way.bound => Ok(Some((stream, group))),
            (Some(_), Some(_)) => Err("only a bound handle settles through a group; the scenario needs bound".into()),
            _ => Err("a settle goes through a group: name stream and group, or neither".into()),
        }
    }

    /// The handle that a settle goes through: of the group that is named, else of the leases' own if they have one
    /// in common; nothing by name.
    fn settling_group(&self, through: Option<(String, String)>, holders: &[Holder]) -> Result<Option<Group>, Error> {
        if !self.way.bound {
            return Ok(None);
        }
        let names = |holder: &Holder| (holder.as_ref().stream().to_owned(), holder.as_ref().group().to_owned());
        let in_common = || {
            let first = names(holders.first()?);
            holders.iter().all(|holder| names(holder) == first).then_some(first)
        };
        through.or_else(in_common).map(|(stream, group)| self.bound_group(&stream, &group)).transpose()
    }

    /// Remembers leases for the settles that name them, and shows them.
    pub(crate) fn seen(&self, leases: Vec<Lease>) -> Value {
        let views = leases.iter().map(view::lease).collect();
        let known = leases.into_iter().map(|lease| (lease.token().to_string(), lease));
        self.leases.lock().expect("no call panicked").extend(known);
        views
    }

    /// What a settle is given: the lease that a view stands for, or a token as text. A token that is malformed is
    /// the library's error, not the scenario's.
    pub(crate) fn holder(&self, value: &Value) -> Result<Result<Holder, Error>, Failure> {
        if let Value::String(token) = value {
            return Ok(token.parse().map(Holder::Token));
        }
        let text = value["token"].as_str().ok_or_else(|| format!("{value} is neither a lease nor a token"))?;
        if self.way.by_token {
            return Ok(text.parse().map(Holder::Token));
        }
        let leases = self.leases.lock().expect("no call panicked");
        let lease = leases.get(text).ok_or_else(|| format!("no fetch gave the lease {value}"))?;
        Ok(Ok(Holder::Lease(lease.clone())))
    }

    fn stream(&self, name: &str) -> Result<AnyStream<'_>, Error> {
        if !self.way.bound {
            return Ok(AnyStream::Named(&self.instance, name.to_owned()));
        }
        let mut streams = self.streams.lock().expect("no call panicked");
        let stream = match streams.get(name) {
            Some(stream) => stream.clone(),
            None => streams.entry(name.to_owned()).or_insert(self.instance.stream(name)?).clone(),
        };
        Ok(AnyStream::Bound(stream))
    }

    fn group(&self, stream: &str, group: &str) -> Result<AnyGroup<'_>, Error> {
        Ok(match self.way.bound {
            true => AnyGroup::Bound(self.bound_group(stream, group)?),
            false => AnyGroup::Named(&self.instance, stream.to_owned(), group.to_owned()),
        })
    }

    pub(crate) fn bound_group(&self, stream: &str, group: &str) -> Result<Group, Error> {
        let names = (stream.to_owned(), group.to_owned());
        let mut groups = self.groups.lock().expect("no call panicked");
        Ok(match groups.get(&names) {
            Some(group) => group.clone(),
            None => groups.entry(names).or_insert(self.instance.group(stream, group)?).clone(),
        })
    }
}

/// What a settle is given.
pub(crate) enum Holder {
    Lease(Lease),
    Token(LeaseToken),
}

impl AsRef<LeaseToken> for Holder {
    fn as_ref(&self) -> &LeaseToken {
        match self {
            Holder::Lease(lease) => lease.token(),
            Holder::Token(token) => token,
        }
    }
}

/// What a settle is given beside the leases, as far as it has such arguments.
#[derive(Default)]
struct SettleArgs {
    reason: String,
    delay_ms: u64,
    lease_ms: Option<u64>,
}

impl SettleArgs {
    fn take(op: &str, args: &mut Args<'_>) -> Result<SettleArgs, Failure> {
        let mut with = SettleArgs::default();
        let kind = op.trim_end_matches("_many");
        if matches!(kind, "retry" | "reject") {
            with.reason = args.text("reason")?.unwrap_or_default();
        }
        if kind == "retry" {
            with.delay_ms = args.number("delay_ms")?.unwrap_or_default();
        }
        if kind == "renew" {
            with.lease_ms = args.number("lease_ms")?;
        }
        Ok(with)
    }

    fn retry(&self) -> RetryOptions<'_> {
        RetryOptions { reason: &self.reason, delay_ms: self.delay_ms }
    }
}

/// The options of `open` by their names. Where they say nothing of the clock, it is a manual one.
pub(crate) fn open_options(fields: &Map<String, Value>) -> Result<OpenOptions, Failure> {
    let mut options = OpenOptions::new();
    if !fields.contains_key("clock") {
        options = options.manual_clock(Some(Timestamp::from_micros(crate::value::CLOCK_START)));
    }
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            other => return Err(format!("option {name} is {other}, neither text nor a number").into()),
        };
        options.set(name, &text)?;
    }
    Ok(options)
}

/// The arguments of a call. Each is taken once; what is left at the end is a mistake of the scenario.
pub(crate) struct Args<'a> {
    op: &'a str,
    fields: Map<String, Value>,
}

impl Args<'_> {
    /// Does the call, if every argument was understood.
    pub(crate) fn end<T>(&mut self, call: impl FnOnce() -> Result<T, Error>) -> Result<T, Failure> {
        match self.fields.keys().next() {
            Some(unknown) => Err(format!("{} has no argument {unknown:?}", self.op).into()),
            None => Ok(call()?),
        }
    }

    /// An argument, which is then no longer left.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name)
    }

    pub(crate) fn required(&mut self, name: &str) -> Result<Value, Failure> {
        self.take(name).ok_or_else(|| format!("{} needs the argument {name:?}", self.op).into())
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => self.wrong(name, &other, "text"),
        }
    }

    pub(crate) fn required_text(&mut self, name: &str) -> Result<String, Failure> {
        self.text(name)?.ok_or_else(|| format!("{} needs the argument {name:?}", self.op).into())
    }

    pub(crate) fn number<N: TryFrom<i128>>(&mut self, name: &str) -> Result<Option<N>, Failure> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match integer(&value).and_then(|number| N::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => self.wrong(name, &value, "a number of its type"),
        }
    }

    pub(crate) fn required_number<N: TryFrom<i128>>(&mut self, name: &str) -> Result<N, Failure> {
        self.number(name)?.ok_or_else(|| format!("{} needs the argument {name:?}", self.op).into())
    }

    fn flag(&mut self, name: &str) -> Result<bool, Failure> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => self.wrong(name, &other, "true or false"),
        }
    }

    fn time(&mut self, name: &str) -> Result<Option<Timestamp>, Failure> {
        Ok(self.number(name)?.map(Timestamp::from_micros))
    }

    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => self.wrong(name, &other, "a list"),
        }
    }

    pub(crate) fn required_list(&mut self, name: &str) -> Result<Vec<Value>, Failure> {
        self.list(name)?.ok_or_else(|| format!("{} needs the argument {name:?}", self.op).into())
    }

    fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, Failure> {
        let Some(list) = self.list(name)? else { return Ok(None) };
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            other => self.wrong(name, &other, "text"),
        };
        list.into_iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    fn partitions(&mut self) -> Result<Option<Vec<u32>>, Failure> {
        let Some(list) = self.list("partitions")? else { return Ok(None) };
        let partition = |value: Value| match integer(&value).and_then(|number| u32::try_from(number).ok()) {
            Some(partition) => Ok(partition),
            None => self.wrong("partitions", &value, "a partition"),
        };
        list.into_iter().map(partition).collect::<Result<_, _>>().map(Some)
    }

    fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(other) => self.wrong(name, &other, "an object"),
        }
    }

    /// One sequence for all partitions, or a map by partition.
    fn sequences(&mut self, name: &str) -> Result<Option<Sequences>, Failure> {
        match self.fields.get(name) {
            Some(Value::Object(_)) => {}
            _ => return Ok(self.number(name)?.map(Sequences::All)),
        }
        let map = self.object(name)?.unwrap_or_default();
        let entry = |(partition, sequence): (String, Value)| match (partition.parse(), sequence.as_u64()) {
            (Ok(partition), Some(sequence)) => Ok((partition, sequence)),
            _ => self.wrong(name, &json!({ partition: sequence }), "a sequence of a partition"),
        };
        map.into_iter().map(entry).collect::<Result<BTreeMap<u32, u64>, _>>().map(|map| Some(Sequences::Map(map)))
    }

    fn start(&mut self) -> Result<StartOptions, Failure> {
        Ok(StartOptions {
            start_after: self.sequences("start_after")?,
            start_at: self.time("start_at")?,
            partitions: self.partitions()?,
        })
    }

    fn ordering(&mut self) -> Result<Ordering, Failure> {
        match self.text("ordering")?.as_deref() {
            None | Some("none") => Ok(Ordering::None),
            Some("key") => Ok(Ordering::Key),
            Some(other) => self.wrong("ordering", &json!(other), "an ordering"),
        }
    }

    /// The query that these arguments ask for. A malformed condition or order is the library's to refuse.
    fn query(&mut self) -> Result<Result<Query, Error>, Failure> {
        let conditions = self.object("where")?.map(|fields| Value::Object(fields).to_string());
        let pairs = self.list("order_by")?.unwrap_or_default();
        let mut order_by = Vec::new();
        for pair in &pairs {
            match (pair[0].as_str(), pair[1].as_str()) {
                (Some(field), Some(direction)) => order_by.push((field, direction)),
                _ => return self.wrong("order_by", pair, "a field and a direction"),
            }
        }
        let (from, to) = (self.time("from")?, self.time("to")?);
        let (after_sequence, until_sequence) = (self.number("after_sequence")?, self.number("until_sequence")?);
        let limit = self.number("limit")?;
        let query = || {
            let mut query = conditions.map_or_else(|| Ok(Query::new()), |conditions| Query::from_json(&conditions))?;
            for (field, direction) in order_by {
                query = query.order_by(field.parse()?, direction.parse()?);
            }
            Ok(Query { from, to, after_sequence, until_sequence, limit, ..query })
        };
        Ok(query())
    }

    /// The query when there is nothing else.
    fn only_query(mut self) -> Result<Result<Query, Error>, Failure> {
        let query = self.query()?;
        self.end(|| Ok(query))
    }

    pub(crate) fn wrong<T>(&self, name: &str, value: &Value, wanted: &str) -> Result<T, Failure> {
        Err(format!("{}: {name} is {value}, which this runner cannot pass as {wanted}", self.op).into())
    }
}

fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

/// What goes with a payload, as the scenario gives it.
struct Extras {
    id: Option<String>,
    key: Option<String>,
    event_type: Option<String>,
    metadata: Option<String>,
    timestamp: Option<Timestamp>,
    partition: Option<u32>,
}

impl Extras {
    fn take(args: &mut Args<'_>) -> Result<Extras, Failure> {
        Ok(Extras {
            id: args.text("id")?,
            key: args.text("key")?,
            event_type: args.text("type")?,
            metadata: args.take("metadata").map(|metadata| metadata.to_string()),
            timestamp: args.time("timestamp")?,
            partition: args.number("partition")?,
        })
    }

    fn options(&self) -> AppendOptions<'_> {
        AppendOptions {
            id: self.id.as_deref(),
            key: self.key.as_deref(),
            event_type: self.event_type.as_deref(),
            metadata: self.metadata.as_deref(),
            timestamp: self.timestamp,
            partition: self.partition,
        }
    }
}

/// One event to append, as the scenario gives it.
struct Item {
    payload: Vec<u8>,
    encoding: Encoding,
    extras: Extras,
}

impl Item {
    fn new(payload: Value, args: &mut Args<'_>) -> Result<Item, Failure> {
        let Value::Object(fields) = payload else { return args.wrong("payload", &payload, "a payload") };
        let shown = Value::Object(fields.clone());
        let mut form = Args { op: "payload", fields };
        let tag = match form.text("encoding")?.as_deref() {
            None => None,
            Some("json") => Some(Encoding::Json),
            Some("bytes") => Some(Encoding::Bytes),
            Some(other) => return args.wrong("encoding", &json!(other), "an encoding"),
        };
        let (payload, encoding) = if let Some(value) = form.take("json") {
            (value.to_string().into_bytes(), Encoding::Json)
        } else if let Some(text) = form.text("text")? {
            (text.into_bytes(), Encoding::Json)
        } else if let Some(text) = form.text("bytes_text")? {
            (text.into_bytes(), Encoding::Bytes)
        } else if let Some(bytes) = form.text("bytes_hex")?.and_then(|digits| from_hex(&digits)) {
            (bytes, Encoding::Bytes)
        } else {
            return args.wrong("payload", &shown, "a payload");
        };
        form.end(|| Ok(()))?;
        Ok(Item { payload, encoding: tag.unwrap_or(encoding), extras: Extras::take(args)? })
    }

    /// An item of a batch.
    fn alone(value: Value) -> Result<Item, Failure> {
        let Value::Object(fields) = value else { return Err(format!("{value} is not an item of a batch").into()) };
        let mut args = Args { op: "an item of append_batch", fields };
        let payload = args.required("payload")?;
        let item = Item::new(payload, &mut args)?;
        args.end(|| Ok(item))
    }

    fn append(&self) -> Append<'_> {
        Append { payload: &self.payload, encoding: self.encoding, options: self.extras.options() }
    }
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}
