//! The steps of a run, as values: printable, and repeatable on a fresh instance even when others are left out.
//!
//! A step names what earlier steps made by where it came from: a lease by the fetch that gave it, an event by its
//! place. If that step is left out, the name stands for nothing and the step does little or nothing.

use rheo_core::{
    Encoding, GroupOptions, GroupUpdate, Query, ReadOptions, ResetOptions, Sequences, Timestamp, TrimOptions,
};
use std::fmt;

/// One operation with its arguments, or what is done to a durable store. After `FailNextWrite`, the next step that writes
/// is not done; others may come before it.
#[derive(Clone, Debug)]
pub(super) enum Step {
    AdvanceClock { millis: u64 },
    Reopen { crash: bool },
    FailNextWrite,
    CreateStream { stream: String, partition_count: u32 },
    DeleteStream { stream: String, confirm: bool },
    CreateGroup { stream: String, group: String, options: GroupOptions },
    UpdateGroup { stream: String, group: String, update: GroupUpdate },
    DeleteGroup { stream: String, group: String },
    Append { stream: String, item: Item, bound: bool },
    AppendBatch { stream: String, items: Vec<Item>, shared: Extras },
    Read { stream: String, options: ReadOptions },
    Get { stream: String, event: EventName },
    Query { stream: String, query: Query },
    QueryPages { stream: String, query: Query },
    Trim { stream: String, options: TrimOptions },
    Fetch { stream: String, group: String, ask: Ask, bound: bool },
    Settle { settle: Settle, targets: Vec<Target>, many: bool },
    Lag { stream: String, group: String, partitions: Option<Vec<u32>> },
    GroupInfo { stream: String, group: String, partitions: Option<Vec<u32>> },
    DeadLetters { stream: String, group: String, limit: usize, after: Option<EventName>, partitions: Option<Vec<u32>> },
    DeadLetterPages { stream: String, group: String, limit: usize },
    Discard { stream: String, group: String, events: Option<Vec<EventName>> },
    Replay { stream: String, group: String, what: Vec<Replayed>, partitions: Option<Vec<u32>> },
    Reset { stream: String, group: String, options: ResetOptions },
}

impl Step {
    /// What kind of step it is, for counting.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Step::AdvanceClock { .. } => "advance_clock",
            Step::Reopen { crash: false } => "reopen",
            Step::Reopen { crash: true } => "crash",
            Step::FailNextWrite => "fail_next_write",
            Step::CreateStream { .. } => "create_stream",
            Step::DeleteStream { .. } => "delete_stream",
            Step::CreateGroup { .. } => "create_group",
            Step::UpdateGroup { .. } => "update_group",
            Step::DeleteGroup { .. } => "delete_group",
            Step::Append { .. } => "append",
            Step::AppendBatch { .. } => "append_batch",
            Step::Read { .. } => "read",
            Step::Get { .. } => "get",
            Step::Query { .. } => "query",
            Step::QueryPages { .. } => "query_page",
            Step::Trim { .. } => "trim",
            Step::Fetch { .. } => "fetch",
            Step::Settle { settle, many, .. } => match (settle, many) {
                (Settle::Ack, false) => "ack",
                (Settle::Ack, true) => "ack_many",
                (Settle::Retry { .. }, false) => "retry",
                (Settle::Retry { .. }, true) => "retry_many",
                (Settle::Reject { .. }, false) => "reject",
                (Settle::Reject { .. }, true) => "reject_many",
                (Settle::Release, false) => "release",
                (Settle::Release, true) => "release_many",
                (Settle::Renew { .. }, false) => "renew",
                (Settle::Renew { .. }, true) => "renew_many",
            },
            Step::Lag { .. } => "lag",
            Step::GroupInfo { .. } => "group_info",
            Step::DeadLetters { .. } | Step::DeadLetterPages { .. } => "dead_letters",
            Step::Discard { .. } => "discard_dead_letters",
            Step::Replay { .. } => "replay",
            Step::Reset { .. } => "reset_group",
        }
    }

    /// The same step with a little less in it, in every way there is.
    pub(super) fn simpler(&self) -> Vec<Step> {
        match self {
            Step::Append { stream, item, bound } => {
                let simpler = |item| Step::Append { stream: stream.clone(), item, bound: *bound };
                item.simpler().into_iter().map(simpler).collect()
            }
            Step::AppendBatch { stream, items, shared } => {
                let with = |items, shared| Step::AppendBatch { stream: stream.clone(), items, shared };
                let mut all: Vec<Step> = without_one(items).map(|items| with(items, shared.clone())).collect();
                if *shared != Extras::default() {
                    all.push(with(items.clone(), Extras::default()));
                }
                for (index, item) in items.iter().enumerate() {
                    for simpler in item.simpler() {
                        let mut items = items.clone();
                        items[index] = simpler;
                        all.push(with(items, shared.clone()));
                    }
                }
                all
            }
            Step::Settle { settle, targets, many } => {
                let with = |targets| Step::Settle { settle: settle.clone(), targets, many: *many };
                without_one(targets).map(with).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The list without its last element, without the one before, and so on.
fn without_one<T: Clone>(list: &[T]) -> impl Iterator<Item = Vec<T>> {
    (0..list.len()).rev().map(|index| [&list[..index], &list[index + 1..]].concat())
}

/// A lease: the number of the step that fetched it, and its place in what that fetch gave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseName {
    pub step: u64,
    pub index: usize,
}

impl fmt::Debug for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lease {} of step {}", self.index, self.step)
    }
}

/// An event: by the id it was given, or by its place, since a generated id is another one in every run.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum EventName {
    Id(String),
    At {
        partition: u32,
        sequence: u64,
    },
    /// The id there, counted on by one: a forgery of what a store that counts may make next.
    CountedOn {
        partition: u32,
        sequence: u64,
    },
}

impl fmt::Debug for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventName::Id(id) => write!(f, "id {id:?}"),
            EventName::At { partition, sequence } => write!(f, "id of {partition}:{sequence}"),
            EventName::CountedOn { partition, sequence } => write!(f, "id of {partition}:{sequence}, counted on"),
        }
    }
}

/// An event to append.
#[derive(Clone)]
pub(super) struct Item {
    pub id: Option<EventName>,
    pub extras: Extras,
    pub encoding: Encoding,
    pub payload: String,
}

impl Item {
    /// What is printed of an item whose payload does not matter.
    const PLAIN: &str = "{}";

    fn simpler(&self) -> Vec<Item> {
        let mut all = Vec::new();
        if self.payload != Item::PLAIN {
            all.push(Item { payload: Item::PLAIN.to_owned(), ..self.clone() });
        }
        if self.id.is_some() {
            all.push(Item { id: None, ..self.clone() });
        }
        if self.extras != Extras::default() {
            all.push(Item { extras: Extras::default(), ..self.clone() });
            let only = Extras { key: self.extras.key.clone(), partition: self.extras.partition, ..Extras::default() };
            if only != self.extras {
                all.push(Item { extras: only, ..self.clone() });
            }
        }
        all
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut item = f.debug_struct("Item");
        if let Some(id) = &self.id {
            item.field("id", id);
        }
        self.extras.fields(&mut item);
        item.field(self.encoding.name(), &self.payload).finish()
    }
}

/// What goes with a payload, and what a batch may share.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Extras {
    pub key: Option<String>,
    pub event_type: Option<String>,
    pub metadata: Option<String>,
    pub timestamp: Option<Timestamp>,
    pub partition: Option<u32>,
}

impl fmt::Debug for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut extras = f.debug_struct("Extras");
        self.fields(&mut extras);
        extras.finish()
    }
}

impl Extras {
    /// Prints what is there.
    fn fields(&self, f: &mut fmt::DebugStruct<'_, '_>) {
        for (name, text) in [("key", &self.key), ("type", &self.event_type), ("metadata", &self.metadata)] {
            if let Some(text) = text {
                f.field(name, text);
            }
        }
        if let Some(timestamp) = self.timestamp {
            f.field("timestamp", &timestamp);
        }
        if let Some(partition) = self.partition {
            f.field("partition", &partition);
        }
    }

    /// This, with what it leaves open taken from `shared`.
    pub(super) fn or(&self, shared: &Extras) -> Extras {
        Extras {
            key: self.key.clone().or_else(|| shared.key.clone()),
            event_type: self.event_type.clone().or_else(|| shared.event_type.clone()),
            metadata: self.metadata.clone().or_else(|| shared.metadata.clone()),
            timestamp: self.timestamp.or(shared.timestamp),
            partition: self.partition.or(shared.partition),
        }
    }
}

/// What a fetch asks for.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub limit: Option<usize>,
    pub lease_ms: Option<u64>,
    pub consumer_id: Option<String>,
    pub partitions: Option<Vec<u32>>,
}

/// How a claim is ended or extended.
#[derive(Clone, Debug)]
pub(super) enum Settle {
    Ack,
    Retry { reason: String, delay_ms: u64 },
    Reject { reason: String },
    Release,
    Renew { lease_ms: Option<u64> },
}

/// What is settled: a lease, live or stale, shown in some way.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub lease: LeaseName,
    pub by: By,
}

/// How a lease is shown to the instance.
#[derive(Clone, Debug)]
pub(super) enum By {
    /// As it was fetched.
    Lease,
    /// Its token, read back from text.
    Token,
    /// A forged token: another lease id.
    OtherLeaseId,
    /// A forged token: another receipt.
    OtherReceipt,
    /// A forged token: the next sequence.
    OtherSequence,
    /// A forged token: another group.
    OtherGroup(String),
}

/// A way of saying what to replay. A replay takes exactly one.
#[derive(Clone, Debug)]
pub(super) enum Replayed {
    FromSequence(Sequences),
    From(Timestamp),
    Events(Vec<EventName>),
    Query(Query),
}
