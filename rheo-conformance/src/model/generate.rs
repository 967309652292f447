//! Random steps. Most make sense in the state that the run is in; some are wrong on purpose.

use super::compare::Pair;
use super::random::Random;
use super::reference::Record;
use super::step::{Ask, By, EventName, Extras, Item, LeaseName, Replayed, Settle, Step, Target};
use rheo_core::{
    Direction, Encoding, GroupOptions, GroupUpdate, Operator, OrderField, Ordering, Query, ReadOptions, ResetOptions,
    Sequences, StartOptions, Timestamp, TrimOptions,
};
use serde_json::{Value, json};

const STREAMS: [&str; 3] = ["orders", "größe", "s"];
const GROUPS: [&str; 4] = ["billing", "archive", "alerts", "名"];
const KEYS: [&str; 6] = ["k0", "k1", "k2", "clé", "21", "foobar"];
const TYPES: [&str; 3] = ["placed", "paid", "plain"];
const NAMES: [&str; 4] = ["a", "ab", "b", "é"];
/// How many explicit ids there are, so that they repeat.
const IDS: u64 = 400;
/// Few durations, so that deadlines coincide with each other and with the clock.
const MILLIS: [u64; 8] = [1, 2, 10, 50, 100, 500, 1_000, 30_000];
/// Leases among which a live one is looked for.
const RECENT_LEASES: usize = 200;

/// How often a kind of step comes up by the thousand, at least how many quarters of that in every episode, and how to
/// make one.
type Kind<'a> = (u64, u64, fn(&mut Chooser<'a>) -> Step);

/// Makes the steps of one episode. Each has a taste of its own, some kinds of steps often and some never, so that
/// states are reached that an even mixture does not get to.
pub(super) struct Generator {
    random: Random,
    /// By kind of step, in how many quarters of the usual weight it comes.
    taste: [u64; KINDS],
    last: Option<Step>,
    /// How often the last step is still repeated.
    repeats: u64,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Generator {
        let mut random = Random::new(seed);
        let taste = std::array::from_fn(|_| *random.pick(&[0, 1, 4, 4, 4, 12]));
        Generator { random, taste, last: None, repeats: 0 }
    }

    /// The next step, in the state that the two are in; now and then the last one again, and again.
    pub(super) fn step(&mut self, pair: &Pair<'_>) -> Step {
        if let Some(last) = self.last.as_ref().filter(|_| self.repeats > 0) {
            self.repeats -= 1;
            return last.clone();
        }
        let step = self.new_step(pair);
        self.last = Some(step.clone());
        self.repeats = if self.random.chance(8) { 1 + self.random.below(6) } else { 0 };
        step
    }

    fn new_step(&mut self, pair: &Pair<'_>) -> Step {
        let mut chooser = Chooser { random: &mut self.random, pair };
        let mut streams = pair.reference.streams.values();
        if streams.len() == 0 {
            return chooser.create_stream();
        }
        if streams.all(|stream| stream.groups.is_empty()) && chooser.random.chance(30) {
            return chooser.create_group();
        }
        let kinds = Chooser::kinds();
        let weights: [(u64, usize); KINDS] = std::array::from_fn(|kind| {
            let (weight, least, _) = kinds[kind];
            let applies = kind < KINDS - DURABLE_KINDS || pair.is_durable;
            (if applies { weight * self.taste[kind].max(least) } else { 0 }, kind)
        });
        let (.., make) = kinds[chooser.random.weighted(&weights)];
        make(&mut chooser)
    }
}

struct Chooser<'a> {
    random: &'a mut Random,
    pair: &'a Pair<'a>,
}

const KINDS: usize = 25;
/// So many of them, the last, are for durable stores alone.
const DURABLE_KINDS: usize = 3;

impl<'a> Chooser<'a> {
    fn kinds() -> [Kind<'a>; KINDS] {
        [
            (60, 1, Chooser::advance_clock),
            (5, 0, Chooser::create_stream),
            (2, 0, Chooser::delete_stream),
            (14, 2, Chooser::create_group),
            (10, 0, Chooser::update_group),
            (3, 0, Chooser::delete_group),
            (110, 2, Chooser::append),
            (35, 0, Chooser::append_batch),
            (15, 0, Chooser::read),
            (15, 0, Chooser::get),
            (30, 0, Chooser::query),
            (15, 0, Chooser::query_pages),
            (14, 0, Chooser::trim),
            (240, 4, Chooser::fetch),
            (320, 3, Chooser::settle),
            (12, 0, Chooser::lag),
            (12, 0, Chooser::group_info),
            (14, 0, Chooser::dead_letters),
            (6, 0, Chooser::dead_letter_pages),
            (8, 0, Chooser::discard),
            (30, 0, Chooser::replay),
            (7, 0, Chooser::reset),
            (8, 2, |_| Step::Reopen { crash: false }),
            (8, 2, |_| Step::Reopen { crash: true }),
            (24, 2, |_| Step::FailNextWrite),
        ]
    }

    fn advance_clock(&mut self) -> Step {
        let millis = match self.random.below(100) {
            0 => 24 * 60 * 60 * 1000,
            1 => u64::MAX,
            2..10 => 0,
            _ => *self.random.pick(&MILLIS),
        };
        Step::AdvanceClock { millis }
    }

    fn create_stream(&mut self) -> Step {
        let stream = (*self.random.pick(&STREAMS)).to_owned();
        Step::CreateStream { stream, partition_count: *self.random.pick(&[1, 1, 2, 3, 3, 4, 7, 0, 65_537]) }
    }

    fn delete_stream(&mut self) -> Step {
        Step::DeleteStream { stream: self.stream(), confirm: self.random.chance(80) }
    }

    fn create_group(&mut self) -> Step {
        let stream = self.stream();
        let options = GroupOptions {
            max_attempts: self.maybe(60, |it| it.random.below(4) as u32),
            max_deliveries: self.maybe(50, |it| 1 + it.random.below(4) as u32).unwrap_or(0),
            ordering: if self.random.chance(50) { Ordering::Key } else { Ordering::None },
            start: if self.random.chance(50) { self.start(&stream) } else { StartOptions::default() },
        };
        Step::CreateGroup { stream, group: (*self.random.pick(&GROUPS)).to_owned(), options }
    }

    fn update_group(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        let update = GroupUpdate {
            max_attempts: self.maybe(60, |it| it.random.below(5) as u32),
            max_deliveries: self.maybe(60, |it| it.random.below(4) as u32),
        };
        Step::UpdateGroup { stream, group, update }
    }

    fn delete_group(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        Step::DeleteGroup { stream, group }
    }

    fn append(&mut self) -> Step {
        let stream = self.stream();
        Step::Append { item: self.item(&stream), bound: self.random.chance(30), stream }
    }

    fn append_batch(&mut self) -> Step {
        let stream = self.stream();
        let mut items: Vec<Item> = (0..self.random.below(7)).map(|_| self.item(&stream)).collect();
        if items.len() > 1 && self.random.chance(20) {
            // The same id twice in one batch.
            let id = items[0].id.clone();
            items.last_mut().expect("there are several").id = id;
        }
        let shared = if self.random.chance(40) { self.extras(&stream) } else { Extras::default() };
        Step::AppendBatch { stream, items, shared }
    }

    fn read(&mut self) -> Step {
        let stream = self.stream();
        let options = ReadOptions {
            after: self.sequence(&stream),
            limit: *self.random.pick(&[0, 1, 3, 100, usize::MAX]),
            partition: self.partition(&stream),
        };
        Step::Read { stream, options }
    }

    fn get(&mut self) -> Step {
        let stream = self.stream();
        Step::Get { event: self.event(&stream), stream }
    }

    fn query(&mut self) -> Step {
        let stream = self.stream();
        Step::Query { query: self.any_query(&stream), stream }
    }

    fn query_pages(&mut self) -> Step {
        let stream = self.stream();
        let mut query = self.any_query(&stream);
        query.limit = Some(*self.random.pick(&[1, 2, 5, 20, 1_000]));
        if self.random.chance(95) {
            query.order_by.clear();
        }
        Step::QueryPages { stream, query }
    }

    fn trim(&mut self) -> Step {
        let stream = self.stream();
        let mut options = TrimOptions { force: self.random.chance(30), ..TrimOptions::default() };
        let ways = if self.random.chance(96) { 1 } else { 2 * self.random.below(2) };
        for _ in 0..ways {
            match self.random.below(4) {
                0 => options.before_sequence = Some(self.sequences(&stream)),
                1 => options.max_len = Some(self.random.below(60)),
                2 => options.max_age_ms = Some(*self.random.pick(&MILLIS)),
                _ => options.max_bytes = Some(self.bytes(&stream)),
            }
        }
        Step::Trim { stream, options }
    }

    fn fetch(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        let ask = Ask {
            limit: match self.random.below(100) {
                0 => Some(0),
                1 => Some(10_001),
                2 => Some(10_000),
                3..15 => None,
                15..60 => Some(1 + self.random.below(2) as usize),
                _ => Some(1 + self.random.below(12) as usize),
            },
            lease_ms: match self.random.below(100) {
                0 => Some(0),
                1..20 => None,
                _ => Some(*self.random.pick(&MILLIS)),
            },
            consumer_id: self.maybe(30, |it| format!("worker {}", it.random.below(3))),
            partitions: self.partitions(&stream),
        };
        Step::Fetch { stream, group, ask, bound: self.random.chance(30) }
    }

    fn settle(&mut self) -> Step {
        let settle = match self.random.below(100) {
            0..50 => Settle::Ack,
            50..66 => {
                Settle::Retry { reason: self.reason(), delay_ms: *self.random.pick(&[0, 0, 1, 10, 50, 100, 1_000]) }
            }
            66..76 => Settle::Reject { reason: self.reason() },
            76..86 => Settle::Release,
            86 => Settle::Renew { lease_ms: Some(0) },
            _ => Settle::Renew { lease_ms: self.maybe(50, |it| *it.random.pick(&MILLIS)) },
        };
        let many = self.random.chance(40);
        let count = if many { self.random.below(30) } else { 1 };
        let mut targets: Vec<Target> = (0..count).filter_map(|_| self.target()).collect();
        if targets.len() > 1 && self.random.chance(20) {
            targets.push(targets[0].clone());
        }
        Step::Settle { settle, targets, many }
    }

    fn lag(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        Step::Lag { partitions: self.partitions(&stream), stream, group }
    }

    fn group_info(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        Step::GroupInfo { partitions: self.partitions(&stream), stream, group }
    }

    fn dead_letters(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        let partitions = self.partitions(&stream);
        let after = self.maybe(50, |it| it.dead_letter(&stream, &group));
        let limit = *self.random.pick(&[0, 1, 2, 5, 100]);
        Step::DeadLetters { stream, group, limit, after, partitions }
    }

    fn dead_letter_pages(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        Step::DeadLetterPages { stream, group, limit: 1 + self.random.below(4) as usize }
    }

    fn discard(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        let events = self.maybe(70, |it| (0..it.random.below(4)).map(|_| it.dead_letter(&stream, &group)).collect());
        Step::Discard { stream, group, events }
    }

    fn replay(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        let ways = if self.random.chance(97) { 1 } else { 2 * self.random.below(2) };
        let mut what: Vec<Replayed> = Vec::new();
        for _ in 0..ways {
            let way = match self.random.below(6) {
                0 => Replayed::FromSequence(self.sequences(&stream)),
                1 => Replayed::From(self.time(&stream)),
                2 => Replayed::Query(self.any_query(&stream)),
                _ => Replayed::Events((0..self.random.below(5)).map(|_| self.replayed(&stream, &group)).collect()),
            };
            // Two of one kind would be one.
            if what.iter().all(|known| std::mem::discriminant(known) != std::mem::discriminant(&way)) {
                what.push(way);
            }
        }
        Step::Replay { partitions: self.partitions(&stream), stream, group, what }
    }

    /// An event to replay: half of the time a dead letter.
    fn replayed(&mut self, stream: &str, group: &str) -> EventName {
        if self.random.chance(50) { self.dead_letter(stream, group) } else { self.event(stream) }
    }

    fn reset(&mut self) -> Step {
        let (stream, group) = self.stream_and_group();
        let options = ResetOptions { confirm: self.random.chance(90), start: self.start(&stream) };
        Step::Reset { stream, group, options }
    }

    /// Something in `percent` of a hundred cases.
    fn maybe<T>(&mut self, percent: u64, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.random.chance(percent).then(|| make(self))
    }

    fn stream(&mut self) -> String {
        let existing: Vec<&String> = self.pair.reference.streams.keys().collect();
        if existing.is_empty() || self.random.chance(3) {
            return (*self.random.pick(&STREAMS)).to_owned();
        }
        (*self.random.pick(&existing)).clone()
    }

    fn stream_and_group(&mut self) -> (String, String) {
        let stream = self.stream();
        let groups = self.pair.reference.stream(&stream).map(|stream| stream.groups.keys().collect::<Vec<_>>());
        let group = match groups {
            Ok(existing) if !existing.is_empty() && self.random.chance(97) => (*self.random.pick(&existing)).clone(),
            _ => (*self.random.pick(&GROUPS)).to_owned(),
        };
        (stream, group)
    }

    fn partition_count(&self, stream: &str) -> u32 {
        self.pair.reference.stream(stream).map_or(1, |stream| stream.partition_count())
    }

    /// A partition of the stream, rarely one beyond.
    fn partition(&mut self, stream: &str) -> u32 {
        let count = u64::from(self.partition_count(stream));
        (if self.random.chance(2) { count + self.random.below(2) } else { self.random.below(count) }) as u32
    }

    fn partitions(&mut self, stream: &str) -> Option<Vec<u32>> {
        match self.random.below(100) {
            0..50 => None,
            50..65 => Some(vec![self.partition(stream)]),
            65..95 => {
                let all = 0..self.partition_count(stream);
                Some(all.rev().filter(|_| self.random.chance(80)).collect())
            }
            // In any order, and more than once.
            _ => Some((0..self.random.below(5)).map(|_| self.partition(stream)).collect()),
        }
    }

    /// A sequence around those that the stream has.
    fn sequence(&mut self, stream: &str) -> u64 {
        let partitions = self.pair.reference.stream(stream).map_or(&[][..], |stream| &stream.partitions);
        let highest = partitions.iter().map(|partition| partition.high_watermark()).max();
        self.random.below(highest.unwrap_or(0) + 3)
    }

    fn sequences(&mut self, stream: &str) -> Sequences {
        if self.random.chance(60) {
            return Sequences::All(self.sequence(stream));
        }
        let several = 0..self.random.below(4);
        Sequences::Map(several.map(|_| (self.partition(stream), self.sequence(stream))).collect())
    }

    /// A time around now, or that of an event.
    fn time(&mut self, stream: &str) -> Timestamp {
        let count = self.pair.reference.stream(stream).map_or(0, |stream| stream.kept().count());
        if count > 0 && self.random.chance(60) {
            let nth = self.random.below(count as u64) as usize;
            if let Ok(stream) = self.pair.reference.stream(stream) {
                return stream.kept().nth(nth).map_or(self.pair.reference.now, |record| record.timestamp);
            }
        }
        self.pair.reference.now.plus_millis(self.random.below(4_000) as i64 - 3_000)
    }

    /// A number of bytes: any, or just what some of the last events of a partition have.
    fn bytes(&mut self, stream: &str) -> u64 {
        let partition = self.partition(stream);
        let any = self.random.below(6_000);
        let count = self.random.below(30) as usize;
        let known =
            self.pair.reference.stream(stream).ok().and_then(|stream| stream.partitions.get(partition as usize));
        known.map_or(any, |partition| partition.kept().iter().rev().take(count).map(Record::bytes).sum())
    }

    fn start(&mut self, stream: &str) -> StartOptions {
        let mut start = StartOptions { partitions: self.partitions(stream), ..StartOptions::default() };
        match self.random.below(100) {
            0 => {
                start.start_after = Some(self.sequences(stream));
                start.start_at = Some(self.time(stream));
            }
            1..25 => {}
            25..65 => start.start_after = Some(self.sequences(stream)),
            _ => start.start_at = Some(self.time(stream)),
        }
        start
    }

    /// An event that the stream has or had, or an id that may be unknown.
    fn event(&mut self, stream: &str) -> EventName {
        let partition = self.partition(stream);
        let known = self.pair.reference.stream(stream).ok();
        let events = known.and_then(|stream| stream.partitions.get(partition as usize)).map_or(0, |it| it.events.len());
        if events == 0 || self.random.chance(20) {
            return EventName::Id(format!("e{}", self.random.below(IDS)));
        }
        EventName::At { partition, sequence: 1 + self.random.below(events as u64) }
    }

    /// Where the last event of some partition is.
    fn last_event(&mut self, stream: &str) -> Option<(u32, u64)> {
        let partition = self.partition(stream);
        let events = &self.pair.reference.stream(stream).ok()?.partitions.get(partition as usize)?.events;
        Some((partition, events.last()?.sequence))
    }

    /// A dead letter of the group if there is one, mostly; else any event.
    fn dead_letter(&mut self, stream: &str, group: &str) -> EventName {
        if let Ok((found, group)) = self.pair.reference.group(stream, group) {
            let all: Vec<u32> = (0..found.partition_count()).collect();
            let dead = group.dead(&all);
            if !dead.is_empty() && self.random.chance(90) {
                let (partition, sequence) = *self.random.pick(&dead);
                return EventName::At { partition, sequence };
            }
        }
        self.event(stream)
    }

    fn item(&mut self, stream: &str) -> Item {
        let id = match self.random.below(100) {
            0..30 => Some(EventName::Id(format!("e{}", self.random.below(IDS)))),
            30..36 => Some(self.event(stream)),
            36..39 => self.last_event(stream).map(|(partition, sequence)| EventName::CountedOn { partition, sequence }),
            _ => None,
        };
        let encoding = if self.random.chance(90) { Encoding::Json } else { Encoding::Bytes };
        Item { id, extras: self.extras(stream), encoding, payload: self.payload() }
    }

    fn extras(&mut self, stream: &str) -> Extras {
        Extras {
            key: self.maybe(60, |it| (*it.random.pick(&KEYS)).to_owned()),
            event_type: self.maybe(50, |it| (*it.random.pick(&TYPES)).to_owned()),
            metadata: self.maybe(30, |it| match it.random.below(3) {
                0 => "{}".to_owned(),
                1 => json!({"correlation_id": it.name(), "schema_version": it.number()}).to_string(),
                _ => json!({"tenant": it.name(), "nested": {"a": it.number()}}).to_string(),
            }),
            timestamp: self.maybe(30, |it| it.pair.reference.now.plus_millis(it.random.below(4_000) as i64 - 2_500)),
            partition: self.maybe(40, |it| it.partition(stream)),
        }
    }

    fn payload(&mut self) -> String {
        match self.random.below(10) {
            0 => (*self.random.pick(&["", "[1]", "\"text\"", "null", "{\"n\":1", "{\"n\":1}{}", "\u{0}ÿ"])).to_owned(),
            1 => "{\"n\":1,\"n\":2}".to_owned(),
            _ => {
                let mut fields = serde_json::Map::new();
                for field in ["n", "x", "name", "key", "type"] {
                    if self.random.chance(60) {
                        fields.insert(field.to_owned(), self.value());
                    }
                }
                if self.random.chance(50) {
                    fields.insert("nested".to_owned(), json!({"a": self.value(), "b": {"c": self.number()}}));
                }
                Value::Object(fields).to_string()
            }
        }
    }

    fn name(&mut self) -> &'static str {
        self.random.pick::<&str>(&NAMES)
    }

    fn number(&mut self) -> Value {
        match self.random.below(10) {
            0 => json!(9_007_199_254_740_992_i64 + self.random.below(3) as i64),
            1 => json!(self.random.below(5) as f64 + 0.5),
            _ => json!(self.random.below(5)),
        }
    }

    fn value(&mut self) -> Value {
        match self.random.below(10) {
            0 => Value::Null,
            1 => json!(self.random.chance(50)),
            2 => json!([self.random.below(2)]),
            3..6 => json!(self.name()),
            _ => self.number(),
        }
    }

    fn any_query(&mut self, stream: &str) -> Query {
        const FIELDS: [&str; 17] = [
            "id",
            "type",
            "key",
            "partition",
            "correlation_id",
            "schema_version",
            "metadata.tenant",
            "metadata.nested.a",
            "n",
            "x",
            "name",
            "payload.n",
            "payload.key",
            "payload.type",
            "nested.a",
            "nested.b.c",
            "absent",
        ];
        let mut query = Query::new();
        for _ in 0..*self.random.pick(&[0, 0, 1, 1, 1, 2, 3]) {
            let field = *self.random.pick(&FIELDS);
            let operator = *self.random.pick(Operator::ALL);
            let operand = match operator {
                _ if self.random.chance(1) => Value::Null,
                Operator::In => Value::Array((0..self.random.below(4)).map(|_| self.operand(stream, field)).collect()),
                Operator::Exists => json!(self.random.chance(50)),
                Operator::Prefix => json!(*self.random.pick(&["", "a", "p", "pl", "k", "e1", "é"])),
                Operator::Eq | Operator::Ne => self.operand(stream, field),
                _ => match self.operand(stream, field) {
                    operand @ (Value::Number(_) | Value::String(_)) => operand,
                    _ => self.number(),
                },
            };
            query = query.filter(field, operator, operand);
        }
        query.from = self.maybe(15, |it| it.time(stream));
        query.to = self.maybe(15, |it| it.time(stream));
        query.after_sequence = self.maybe(15, |it| it.sequence(stream));
        query.until_sequence = self.maybe(15, |it| it.sequence(stream));
        for _ in 0..*self.random.pick(&[0, 0, 1, 1, 2]) {
            let field = *self.random.pick(&[OrderField::Sequence, OrderField::Timestamp]);
            query = query.order_by(field, *self.random.pick(&[Direction::Ascending, Direction::Descending]));
        }
        query.limit = *self.random.pick(&[None, None, Some(0), Some(1), Some(3), Some(10), Some(usize::MAX)]);
        query
    }

    /// Something that the field may well be equal to.
    fn operand(&mut self, stream: &str, field: &str) -> Value {
        match field {
            _ if self.random.chance(10) => self.value(),
            "id" => json!(format!("e{}", self.random.below(IDS))),
            "type" => json!(*self.random.pick(&TYPES)),
            "key" => json!(*self.random.pick(&KEYS)),
            "partition" => json!(self.partition(stream)),
            "correlation_id" | "metadata.tenant" => json!(self.name()),
            "schema_version" | "metadata.nested.a" | "nested.b.c" => self.number(),
            _ => self.value(),
        }
    }

    fn reason(&mut self) -> String {
        match self.random.below(10) {
            0 => String::new(),
            1 => "long ".repeat(300) + "ü",
            2 => "é".repeat(700),
            3 => "nul \0, \"quotes\" and ünïcode".to_owned(),
            _ => format!("reason {}", self.random.below(100)),
        }
    }

    /// A lease, mostly one that is live.
    fn target(&mut self) -> Option<Target> {
        let leases = &self.pair.leases;
        let recent = &leases[leases.len().saturating_sub(RECENT_LEASES)..];
        let name = |(name, _): &(LeaseName, _)| *name;
        let live: Vec<LeaseName> = recent
            .iter()
            .filter(|(_, lease)| self.pair.reference.check_token(lease.token()).is_ok())
            .map(name)
            .collect();
        let lease = if !live.is_empty() && self.random.chance(80) {
            *self.random.pick(&live)
        } else if !leases.is_empty() {
            name(self.random.pick(leases))
        } else {
            return None;
        };
        let by = match self.random.below(100) {
            0 => By::OtherLeaseId,
            1 => By::OtherReceipt,
            2 => By::OtherSequence,
            3 => By::OtherGroup((*self.random.pick(&GROUPS)).to_owned()),
            4..30 => By::Token,
            _ => By::Lease,
        };
        Some(Target { lease, by })
    }
}
