//! An instance and the reference side by side: every step is done to both, their answers are compared, and so is all
//! that they know afterwards.

use super::Store;
use super::promises::Promises;
use super::reference::{Answer, Claim, Delivery, Draft, Group, Record, Reference};
use super::step::{Ask, By, EventName, Extras, Item, LeaseName, Replayed, Settle, Step, Target};
use rheo_core::backend::Binding;
use rheo_core::{
    Append, AppendOptions, DeadLetter, DeadLetterOptions, Discard, ErrorCode, Event, FetchOptions, Instance, Lease,
    LeaseContext, LeaseId, LeaseToken, OpenOptions, Query, ReadOptions, ReplayOptions, Result, RetryOptions,
    StreamOptions, Timestamp, TrimOptions, limits,
};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug};

/// Where the manual clock of every run starts: 2026-01-01.
const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

type Verdict<T = ()> = std::result::Result<T, Wrong>;

/// What is wrong, in words.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The instance says that it did not do what the contract says can be done, which is right when a write failed.
    NotDone(String),
    /// Anything else, which is never right.
    Differs(String),
}

impl From<String> for Wrong {
    fn from(what: String) -> Wrong {
        Wrong::Differs(what)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Wrong::NotDone(what) | Wrong::Differs(what)) = self;
        f.write_str(what)
    }
}

fn differs<T>(what: String) -> Verdict<T> {
    Err(Wrong::Differs(what))
}

pub(super) struct Pair<'a> {
    store: Box<dyn Store + 'a>,
    pub(super) is_durable: bool,
    /// Whether the next write is to fail.
    fails_next: bool,
    /// How many did.
    pub(super) failed_writes: u64,
    instance: Instance,
    pub(super) reference: Reference,
    /// Every lease that was given, oldest first.
    pub(super) leases: Vec<(LeaseName, Lease)>,
    promises: Promises,
    /// Bound handles, kept while what they are bound to is deleted and created anew.
    streams: BTreeMap<String, rheo_core::Stream>,
    groups: BTreeMap<(String, String), rheo_core::Group>,
    /// Who leases go to when a fetch does not say.
    own_consumer_id: Option<String>,
}

impl<'a> Pair<'a> {
    pub(super) fn open(mut store: Box<dyn Store + 'a>) -> Verdict<Pair<'a>> {
        let options = OpenOptions::new().manual_clock(Some(START));
        let default_max_attempts = options.default_max_attempts;
        Ok(Pair {
            instance: store.open(options).map_err(|error| format!("open gave {error}"))?,
            is_durable: store.durable().is_some(),
            fails_next: false,
            failed_writes: 0,
            store,
            reference: Reference { now: START, default_max_attempts, streams: BTreeMap::new() },
            leases: Vec::new(),
            promises: Promises::default(),
            streams: BTreeMap::new(),
            groups: BTreeMap::new(),
            own_consumer_id: None,
        })
    }

    /// Does a step to both and compares. Says whether the step changed or gave something, as it may rightly not.
    pub(super) fn take(&mut self, number: u64, step: &Step) -> Verdict<bool> {
        let before = self.fails_next.then(|| (self.reference.clone(), self.promises.clone()));
        let effective = match (self.step(number, step), before) {
            // As if the step had never been taken.
            (Err(Wrong::NotDone(_)), Some(before)) if self.write_failed() => {
                (self.reference, self.promises) = before;
                self.count_failed_write();
                false
            }
            (done, _) => done?,
        };
        if self.write_failed() {
            return differs("a write failed, and the answer does not tell of it".to_owned());
        }
        match step {
            Step::AdvanceClock { .. } => {
                for stream in self.reference.streams.keys() {
                    self.check_groups(stream)?;
                }
            }
            Step::Reopen { .. } => {
                equal(self.instance.list_streams(), Ok(self.reference.streams.keys().cloned().collect()))?;
                for stream in self.reference.streams.keys() {
                    self.check_stream(stream)?;
                }
            }
            Step::FailNextWrite => {}
            Step::CreateStream { stream, .. }
            | Step::DeleteStream { stream, .. }
            | Step::CreateGroup { stream, .. }
            | Step::UpdateGroup { stream, .. }
            | Step::DeleteGroup { stream, .. }
            | Step::Append { stream, .. }
            | Step::AppendBatch { stream, .. }
            | Step::Read { stream, .. }
            | Step::Get { stream, .. }
            | Step::Query { stream, .. }
            | Step::QueryPages { stream, .. }
            | Step::Trim { stream, .. }
            | Step::Fetch { stream, .. }
            | Step::Lag { stream, .. }
            | Step::GroupInfo { stream, .. }
            | Step::DeadLetters { stream, .. }
            | Step::DeadLetterPages { stream, .. }
            | Step::Discard { stream, .. }
            | Step::Replay { stream, .. }
            | Step::Reset { stream, .. } => self.check_stream(stream)?,
            Step::Settle { targets, .. } => {
                let leases = targets.iter().filter_map(|target| self.lease(target));
                let streams: BTreeSet<&str> = leases.map(Lease::stream).collect();
                for stream in streams {
                    self.check_stream(stream)?;
                }
            }
        }
        Ok(effective)
    }

    fn step(&mut self, number: u64, step: &Step) -> Verdict<bool> {
        match step {
            Step::AdvanceClock { millis } => self.advance_clock(*millis),
            Step::Reopen { crash } => self.reopen(*crash),
            Step::FailNextWrite => {
                self.fail_next_write(true);
                Ok(false)
            }
            Step::CreateStream { stream, partition_count } => {
                let got = self.instance.create_stream(stream, StreamOptions::partitions(*partition_count));
                equal(got, self.reference.create_stream(stream, *partition_count))
            }
            Step::DeleteStream { stream, confirm } => {
                let got = self.instance.delete_stream(stream, *confirm);
                let done = equal(got, self.reference.delete_stream(stream, *confirm))?;
                self.forget(done, stream, None);
                Ok(done)
            }
            Step::CreateGroup { stream, group, options } => {
                let got = self.instance.create_group(stream, group, options);
                equal(got, self.reference.create_group(stream, group, options))
            }
            Step::UpdateGroup { stream, group, update } => {
                let got = self.instance.update_group(stream, group, update);
                equal(got, self.reference.update_group(stream, group, update))
            }
            Step::DeleteGroup { stream, group } => {
                let got = self.instance.delete_group(stream, group);
                let done = equal(got, self.reference.delete_group(stream, group))?;
                self.forget(done, stream, Some(group));
                Ok(done)
            }
            Step::Append { stream, item, bound } => {
                let drafts = [self.draft(stream, item, &Extras::default())];
                let id = drafts[0].id.as_deref();
                let append = Append { options: AppendOptions { id, ..extras(&item.extras) }, ..payload(item) };
                let got = if *bound {
                    self.bound_stream(stream)?.append(&append)
                } else {
                    self.instance.append(stream, &append)
                };
                self.appended(stream, &drafts, got.map(|event| vec![event]))
            }
            Step::AppendBatch { stream, items, shared } => {
                let drafts: Vec<Draft> = items.iter().map(|item| self.draft(stream, item, shared)).collect();
                let appends = items.iter().zip(&drafts).map(|(item, draft)| Append {
                    options: AppendOptions { id: draft.id.as_deref(), ..extras(&item.extras) },
                    ..payload(item)
                });
                let got = self.instance.append_batch(stream, &appends.collect::<Vec<_>>(), &extras(shared));
                self.appended(stream, &drafts, got)
            }
            Step::Read { stream, options } => {
                let both = agree(self.instance.read(stream, *options), self.reference.read(stream, *options))?;
                same_events(stream, both)
            }
            Step::Get { stream, event } => {
                let id = self.id(stream, event);
                let expected = self.reference.stream(stream).map(|stream| Vec::from_iter(stream.find(&id)));
                let got = self.instance.get(stream, &id).map(Vec::from_iter);
                same_events(stream, agree(got, expected)?)
            }
            Step::Query { stream, query } => {
                let both = agree(self.instance.query(stream, query), self.reference.query(stream, query))?;
                same_events(stream, both)
            }
            Step::QueryPages { stream, query } => {
                let got = self.query_pages(stream, query)?;
                same_events(stream, agree(got, self.reference.query_pages(stream, query))?)?;
                let streamed = self.instance.query_stream(stream, query).and_then(Iterator::collect);
                same_events(stream, agree(streamed, self.reference.query_pages(stream, query))?)
            }
            Step::Trim { stream, options } => self.trim(stream, options),
            Step::Fetch { stream, group, ask, bound } => self.fetch(number, stream, group, ask, *bound),
            Step::Settle { settle, targets, many } => self.settle(settle, targets, *many),
            Step::Lag { stream, group, partitions } => {
                let got = self.instance.lag(stream, group, partitions.as_deref()).map(|lag| lag.partitions);
                equal(got, self.reference.lag(stream, group, partitions.as_deref()))
            }
            Step::GroupInfo { stream, group, partitions } => self.check_info(stream, group, partitions.as_deref()),
            Step::DeadLetters { stream, group, limit, after, partitions } => {
                let after = after.as_ref().map(|event| self.id(stream, event));
                self.check_dead_letters(stream, group, *limit, after, partitions.clone())
            }
            Step::DeadLetterPages { stream, group, limit } => self.dead_letter_pages(stream, group, *limit),
            Step::Discard { stream, group, events } => {
                let ids = events.as_ref().map(|events| self.ids(stream, events));
                let texts: Vec<&str> = ids.iter().flatten().map(String::as_str).collect();
                let which = if ids.is_some() { Discard::EventIds(&texts) } else { Discard::All };
                let got = self.instance.discard_dead_letters(stream, group, which);
                equal_count(got, self.reference.discard(stream, group, ids.as_deref()))
            }
            Step::Replay { stream, group, what, partitions } => self.replay(stream, group, what, partitions.as_deref()),
            Step::Reset { stream, group, options } => {
                let got = self.instance.reset_group(stream, group, options);
                let done = equal(got, self.reference.reset(stream, group, options))?;
                self.forget(done, stream, Some(group));
                Ok(done)
            }
        }
    }

    fn fail_next_write(&mut self, fails: bool) {
        if let Some(durable) = self.store.durable() {
            durable.fail_next_write(fails);
            self.fails_next = fails;
        }
    }

    /// Whether the write that was to fail has, which no answer has told of yet.
    fn write_failed(&mut self) -> bool {
        self.fails_next && self.store.durable().is_some_and(|durable| durable.write_failed())
    }

    /// An answer told of the write that failed.
    fn count_failed_write(&mut self) {
        self.fail_next_write(false);
        self.failed_writes += 1;
    }

    /// Closes the store, or lets its process end, and opens it again. Says whether that ended a lease.
    fn reopen(&mut self, crash: bool) -> Verdict<bool> {
        self.fail_next_write(false);
        let Some(durable) = self.store.durable() else { return Ok(false) };
        if crash {
            durable.crash();
        } else {
            self.instance.close().map_err(|error| format!("close gave {error}"))?;
        }
        let options = OpenOptions::new().manual_clock(Some(self.reference.now));
        self.instance = self.store.open(options).map_err(|error| format!("opening it again gave {error}"))?;
        self.streams.clear();
        self.groups.clear();
        self.own_consumer_id = None;
        self.promises.reopened();
        Ok(self.reference.reopened())
    }

    fn forget(&mut self, done: bool, stream: &str, group: Option<&str>) {
        if done {
            self.promises.forget(stream, group);
        }
    }

    fn advance_clock(&mut self, millis: u64) -> Verdict<bool> {
        let expected = if millis > limits::MAX_DURATION_MS {
            Err(ErrorCode::InvalidArgument)
        } else {
            self.reference.now = self.reference.now.plus_millis(millis as i64);
            Ok(self.reference.now)
        };
        let done = equal(self.instance.advance_clock(millis), expected)?;
        equal(self.instance.now(), Ok(self.reference.now))?;
        Ok(done)
    }

    fn bound_stream(&mut self, stream: &str) -> Verdict<&rheo_core::Stream> {
        if !self.streams.contains_key(stream) {
            let bound = self.instance.stream(stream).map_err(|error| format!("binding {stream:?} gave {error}"))?;
            self.streams.insert(stream.to_owned(), bound);
        }
        Ok(&self.streams[stream])
    }

    fn bound_group(&mut self, stream: &str, group: &str) -> Verdict<&rheo_core::Group> {
        let names = (stream.to_owned(), group.to_owned());
        if !self.groups.contains_key(&names) {
            let bound =
                self.instance.group(stream, group).map_err(|error| format!("binding {names:?} gave {error}"))?;
            self.groups.insert(names.clone(), bound);
        }
        Ok(&self.groups[&names])
    }

    /// The id that an event's name stands for in this run.
    fn id(&self, stream: &str, event: &EventName) -> String {
        match event {
            EventName::Id(id) => id.clone(),
            EventName::At { partition, sequence } => self.id_at(stream, *partition, *sequence),
            EventName::CountedOn { partition, sequence } => {
                let mut id = self.id_at(stream, *partition, *sequence);
                let last = id.pop().and_then(|digit| digit.to_digit(16)).unwrap_or_default();
                id.extend(char::from_digit((last + 1) % 16, 16));
                id
            }
        }
    }

    fn id_at(&self, stream: &str, partition: u32, sequence: u64) -> String {
        let stream = self.reference.stream(stream).ok();
        let events = stream.and_then(|stream| stream.partitions.get(partition as usize)).map(|it| &it.events);
        let record = events.and_then(|events| events.get((sequence as usize).wrapping_sub(1)));
        record.map_or_else(|| "no such event".to_owned(), |record| record.id.clone())
    }

    fn ids(&self, stream: &str, events: &[EventName]) -> Vec<String> {
        events.iter().map(|event| self.id(stream, event)).collect()
    }

    fn draft(&self, stream: &str, item: &Item, shared: &Extras) -> Draft {
        let Extras { key, event_type, metadata, timestamp, partition } = item.extras.or(shared);
        let id = item.id.as_ref().map(|event| self.id(stream, event));
        let (encoding, payload) = (item.encoding, item.payload.clone());
        Draft { id, key, event_type, metadata, timestamp, partition, encoding, payload }
    }

    fn appended(&mut self, stream: &str, drafts: &[Draft], got: Result<Vec<Event>>) -> Verdict<bool> {
        let generated = got.iter().flatten().map(|event| event.id().to_string()).collect::<Vec<_>>();
        let Some((events, answers)) = agree(got, self.reference.append(stream, drafts, &generated))? else {
            return Ok(false);
        };
        if events.len() != answers.len() {
            return differs(format!("{} items were appended, {} events came back", answers.len(), events.len()));
        }
        for (event, (record, stood)) in events.iter().zip(&answers) {
            if event.deduplicated() != *stood || !is_same_event(stream, event, record) {
                return differs(format!(
                    "append gave {}; the contract wants {record:?}, deduplicated: {stood}",
                    shown(event)
                ));
            }
            if record.generated && !stood {
                self.check_generated_id(stream, record)?;
            }
        }
        Ok(true)
    }

    /// A generated id is a UUIDv7, never given before, and above the last one of its partition.
    fn check_generated_id(&self, stream: &str, record: &Record) -> Verdict {
        let is_uuid_v7 = record.id.len() == 36 && record.id.as_bytes()[14] == b'7';
        let Ok(stream) = self.reference.stream(stream) else { return Ok(()) };
        let mut others = stream.partitions.iter().flat_map(|partition| &partition.events);
        let place = (record.partition, record.sequence);
        let repeats = others.any(|other| other.id == record.id && (other.partition, other.sequence) != place);
        let earlier = stream.partitions[record.partition as usize].events.iter().take(record.sequence as usize - 1);
        let goes_back = earlier.filter(|other| other.generated).any(|other| other.id >= record.id);
        if is_uuid_v7 && !repeats && !goes_back {
            return Ok(());
        }
        differs(format!(
            "{record:?}: is a UUIDv7: {is_uuid_v7}, given before: {repeats}, not above the last: {goes_back}"
        ))
    }

    /// All pages, one after the other.
    fn query_pages(&self, stream: &str, query: &Query) -> Verdict<Result<Vec<Event>>> {
        let limit = query.limit.unwrap_or(Query::DEFAULT_LIMIT);
        let most = self.reference.stream(stream).map_or(0, |stream| stream.kept().count());
        let mut events = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = match self.instance.query_page(stream, query, cursor.as_deref()) {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            let ends = page.next_cursor.is_none();
            if page.events.len() > limit || (!ends && page.events.is_empty()) {
                return differs(format!("a page of at most {limit} has {} events and ends: {ends}", page.events.len()));
            }
            events.extend(page.events);
            cursor = page.next_cursor;
            if events.len() > most {
                return differs(format!("the pages so far have {} events; the stream has {most}", events.len()));
            }
            if ends {
                return Ok(Ok(events));
            }
        }
    }

    fn trim(&mut self, stream: &str, options: &TrimOptions) -> Verdict<bool> {
        let done = equal_count(self.instance.trim(stream, options), self.reference.trim(stream, options))?;
        self.forget(done, stream, None);
        Ok(done)
    }

    fn fetch(&mut self, number: u64, stream: &str, group: &str, ask: &Ask, bound: bool) -> Verdict<bool> {
        let options = FetchOptions {
            limit: ask.limit,
            lease_ms: ask.lease_ms,
            consumer_id: ask.consumer_id.as_deref(),
            partitions: ask.partitions.as_deref(),
            ..FetchOptions::new()
        };
        let got = if bound {
            self.bound_group(stream, group)?.fetch(&options)
        } else {
            self.instance.fetch(stream, group, &options)
        };
        let limit = ask.limit.unwrap_or(self.instance.options().default_max_demand);
        let lease_ms = ask.lease_ms.unwrap_or(self.instance.options().default_lease_ms);
        let expected = if limit > limits::MAX_FETCH || lease_ms == 0 {
            Err(ErrorCode::InvalidArgument)
        } else {
            self.reference.group(stream, group).and_then(|(stream, _)| stream.scope(ask.partitions.as_deref()))
        };
        let Some((leases, scope)) = agree(got, expected)? else { return Ok(false) };
        let mut claims = Vec::new();
        for lease in &leases {
            self.check_lease(stream, group, lease, ask, lease_ms)?;
            self.promises.claimed(lease, self.reference.now)?;
            claims.push(Claim {
                partition: lease.event().partition(),
                sequence: lease.event().sequence(),
                attempt: lease.attempt(),
                lease_id: lease.lease_id(),
                receipt: lease.receipt(),
                expires_at: lease.expires_at(),
            });
        }
        self.leases
            .extend(leases.into_iter().enumerate().map(|(index, lease)| (LeaseName { step: number, index }, lease)));
        if limit == 0 || scope.is_empty() {
            return if claims.is_empty() {
                Ok(false)
            } else {
                differs(format!("nothing was asked for, {claims:?} came"))
            };
        }
        let all = DeadLetterOptions { limit: Some(usize::MAX), ..DeadLetterOptions::default() };
        let dead = self.instance.dead_letters(stream, group, &all);
        let dead = dead.map_err(|error| format!("dead_letters gave {error}"))?;
        let listed = |partition, sequence| {
            dead.iter().any(|letter| (letter.event.partition(), letter.event.sequence()) == (partition, sequence))
        };
        self.reference.fetch((stream, group), ask.partitions.as_deref(), limit, &claims, &listed)?;
        Ok(!claims.is_empty())
    }

    /// Whether a lease says of itself what it must.
    fn check_lease(&mut self, stream: &str, group: &str, lease: &Lease, ask: &Ask, lease_ms: u64) -> Verdict {
        let now = self.reference.now;
        let consumer_id = match &ask.consumer_id {
            Some(consumer_id) => consumer_id,
            None => self.own_consumer_id.get_or_insert_with(|| lease.consumer_id().to_owned()),
        };
        let event = lease.event();
        let kept =
            self.reference.stream(stream).ok().and_then(|stream| stream.partitions.get(event.partition() as usize));
        let record = kept.and_then(|it| it.kept().iter().find(|record| record.sequence == event.sequence()));
        let right = lease.stream() == stream
            && lease.group() == group
            && lease.consumer_id() == consumer_id
            && lease.lease_ms() == lease_ms
            && lease.leased_at() == now
            && lease.expires_at() == now.plus_millis(lease_ms as i64)
            && (lease.token().partition(), lease.token().sequence()) == (event.partition(), event.sequence())
            && !event.deduplicated()
            && record.is_some_and(|record| is_same_event(stream, event, record));
        if right { Ok(()) } else { differs(format!("at {now} fetch gave {lease:?}; the log has {record:?} there")) }
    }

    fn lease(&self, target: &Target) -> Option<&Lease> {
        self.leases.iter().find(|(name, _)| *name == target.lease).map(|(_, lease)| lease)
    }

    fn settle(&mut self, settle: &Settle, targets: &[Target], many: bool) -> Verdict<bool> {
        let mut shown = Vec::new();
        let mut tokens = Vec::new();
        for target in targets {
            let Some(lease) = self.lease(target) else { continue };
            shown.push(matches!(target.by, By::Lease).then_some(lease));
            tokens.push(shown_token(lease, &target.by));
        }
        let got = if many {
            settle_many(&self.instance, settle, &tokens)
        } else {
            let each = shown.iter().zip(&tokens);
            each.map(|(lease, token)| settle_one(&self.instance, settle, *lease, token)).collect()
        };
        if got.len() != tokens.len() {
            return differs(format!("{} leases were settled, {} results came back", tokens.len(), got.len()));
        }
        let write_failed = self.write_failed();
        let (mut done, mut not_done) = (false, false);
        for (token, got) in tokens.iter().zip(got) {
            // A call over several streams is several writes, and only one of them fails: others of its leases are settled.
            let before = (write_failed && got.is_err()).then(|| self.reference.clone());
            let expected = settle_in(&mut self.reference, settle, token);
            match (equal(got, expected), before) {
                (Err(Wrong::NotDone(_)), Some(before)) => {
                    self.reference = before;
                    not_done = true;
                }
                (Err(wrong), _) => return differs(format!("for {token:?}: {wrong}")),
                (Ok(false), _) => {}
                (Ok(true), _) => {
                    done = true;
                    match expected.ok().flatten() {
                        Some(until) => self.promises.renewed(token, until),
                        None => self.promises.settled(token, matches!(settle, Settle::Release)),
                    }
                }
            }
        }
        if not_done {
            self.count_failed_write();
        }
        Ok(done)
    }

    fn replay(&mut self, stream: &str, group: &str, what: &[Replayed], partitions: Option<&[u32]>) -> Verdict<bool> {
        let mut options = ReplayOptions { partitions: partitions.map(<[u32]>::to_vec), ..ReplayOptions::default() };
        for way in what {
            match way {
                Replayed::FromSequence(sequences) => options.from_sequence = Some(sequences.clone()),
                Replayed::From(time) => options.from = Some(*time),
                Replayed::Events(events) => options.event_ids = Some(self.ids(stream, events)),
                Replayed::Query(query) => options.query = Some(query.clone()),
            }
        }
        let got = self.instance.replay(stream, group, &options);
        let reference = &mut self.reference;
        let expected = match what {
            [Replayed::FromSequence(sequences)] => reference.replay_from_sequence(stream, group, sequences, partitions),
            [Replayed::From(time)] => reference.replay_from(stream, group, *time, partitions),
            [Replayed::Events(_)] => {
                reference.replay_events(stream, group, options.event_ids.as_deref().unwrap_or(&[]), partitions)
            }
            [Replayed::Query(query)] => reference.replay_query(stream, group, query, partitions),
            _ => Err(ErrorCode::InvalidReplayOpts),
        };
        let done = equal_count(got, expected)?;
        self.forget(done, stream, Some(group));
        Ok(done)
    }

    fn dead_letter_pages(&self, stream: &str, group: &str, limit: usize) -> Verdict<bool> {
        let mut after = None;
        let mut pages = 0;
        while self.check_dead_letters(stream, group, limit, after.clone(), None)? {
            pages += 1;
            let page = self.reference.dead_letters(stream, group, limit, after.as_deref(), None);
            let last = page.ok().and_then(|page| page.last().copied());
            after = last.map(|(partition, sequence)| self.id_at(stream, partition, sequence));
        }
        Ok(pages > 0)
    }

    /// Compares all that is known of a stream and its groups.
    fn check_stream(&self, stream: &str) -> Verdict {
        let streams: Vec<String> = self.reference.streams.keys().cloned().collect();
        equal(self.instance.list_streams(), Ok(streams))?;
        let groups = self.reference.stream(stream).map(|stream| stream.groups.keys().cloned().collect());
        if !equal(self.instance.list_groups(stream), groups)? {
            return Ok(());
        }
        self.check_log(stream)?;
        self.check_groups(stream)
    }

    /// Nothing confirmed is lost, altered or out of place.
    fn check_log(&self, stream: &str) -> Verdict {
        let Ok(known) = self.reference.stream(stream) else { return Ok(()) };
        let info = self.instance.stream_info(stream).map_err(|error| format!("stream_info gave {error}"))?;
        if info.stream != stream || info.partitions.len() != known.partitions.len() {
            return differs(format!("stream_info gave {info:?}; the stream has {} partitions", known.partitions.len()));
        }
        for (number, (partition, info)) in (0..).zip(known.partitions.iter().zip(&info.partitions)) {
            let all = ReadOptions { after: 0, limit: usize::MAX, partition: number };
            same_events(stream, agree(self.instance.read(stream, all), self.reference.read(stream, all))?)?;
            let expected = (number, partition.first, partition.high_watermark(), partition.bytes());
            if (info.partition, info.first_sequence, info.high_watermark, info.bytes) != expected {
                return differs(format!(
                    "stream_info gave {info:?}; it should be partition, first, high watermark, bytes: {expected:?}"
                ));
            }
            let needs = |group: &Group| Some(group.needs(number)).filter(|it| it.0 <= partition.high_watermark());
            let lowest = known.groups.values().filter_map(needs).map(|(sequence, _)| sequence).min();
            let right = match &info.held_by {
                None => lowest.is_none(),
                Some(hold) => {
                    Some(hold.sequence) == lowest
                        && known.groups.get(&hold.group).and_then(needs) == Some((hold.sequence, hold.dead_letter))
                }
            };
            if !right {
                return differs(format!("stream_info gave {info:?}; the lowest needed sequence is {lowest:?}"));
            }
        }
        Ok(())
    }

    /// Frontiers, lag, counts and dead letters are right in every group of a stream.
    fn check_groups(&self, stream: &str) -> Verdict {
        let Ok(known) = self.reference.stream(stream) else { return Ok(()) };
        for group in known.groups.keys() {
            let about = |wrong: Wrong| format!("of stream {stream:?} and group {group:?}, {wrong}");
            self.check_info(stream, group, None).map_err(about)?;
            self.check_dead_letters(stream, group, usize::MAX, None, None).map_err(about)?;
        }
        Ok(())
    }

    fn check_info(&self, stream: &str, group: &str, partitions: Option<&[u32]>) -> Verdict<bool> {
        let expected = self.reference.counts(stream, group, partitions);
        let Some((info, counts)) = agree(self.instance.group_info(stream, group, partitions), expected)? else {
            return Ok(false);
        };
        let lag = self.reference.lag(stream, group, partitions).unwrap_or_default();
        let behind: u64 = lag.values().map(|it| it.high_watermark - it.frontier).sum();
        let settings = self.reference.group(stream, group).map(|(_, group)| group.settings);
        let right = (info.lag.stream.as_str(), info.lag.group.as_str()) == (stream, group)
            && info.lag.partitions == lag
            && info.lag.lag() == behind
            && info.inflight_count == counts.inflight
            && counts.available.contains(&info.available_count)
            && info.delayed_count == counts.delayed
            && info.dead_letter_count == counts.dead_letters
            && info.oldest_unsettled_at == counts.oldest_unsettled_at
            && Ok(info.settings) == settings;
        if right {
            return Ok(true);
        }
        differs(format!("group_info gave {info:?}; it should be {counts:?}, {lag:?}, lag {behind}, {settings:?}"))
    }

    fn check_dead_letters(
        &self,
        stream: &str,
        group: &str,
        limit: usize,
        after: Option<String>,
        partitions: Option<Vec<u32>>,
    ) -> Verdict<bool> {
        let expected = self.reference.dead_letters(stream, group, limit, after.as_deref(), partitions.as_deref());
        let options = DeadLetterOptions { limit: Some(limit), after, partitions };
        let Some((letters, expected)) = agree(self.instance.dead_letters(stream, group, &options), expected)? else {
            return Ok(false);
        };
        let Ok((known, in_group)) = self.reference.group(stream, group) else { return Ok(false) };
        let is_right = |(letter, &(partition, sequence)): (&DeadLetter, &(u32, u64))| {
            let listed =
                Delivery::Dead { attempt: letter.attempt, reason: letter.reason.clone(), at: letter.dead_lettered_at };
            letter.group == group
                && listed == *in_group.delivery(partition, sequence)
                && is_same_event(stream, &letter.event, known.record(partition, sequence))
        };
        if letters.len() == expected.len() && letters.iter().zip(&expected).all(is_right) {
            return Ok(!letters.is_empty());
        }
        let known = expected.iter().map(|&(partition, sequence)| in_group.delivery(partition, sequence));
        let wanted: Vec<_> = expected.iter().zip(known).collect();
        differs(format!("dead_letters gave {letters:?}; the contract wants {wanted:?}"))
    }
}

/// Both answers when both are good; nothing when both are the same error.
fn agree<T: Debug, U: Debug>(got: Result<T>, expected: Answer<U>) -> Verdict<Option<(T, U)>> {
    match (got, expected) {
        (Ok(got), Ok(expected)) => Ok(Some((got, expected))),
        (Err(error), Err(code)) if error.code() == code => Ok(None),
        (got, expected) => {
            let not_done = expected.is_ok() && got.as_ref().is_err_and(|error| error.code() == ErrorCode::Failed);
            let what = format!("the instance answered {got:?}; the contract wants {expected:?}");
            Err(if not_done { Wrong::NotDone(what) } else { Wrong::Differs(what) })
        }
    }
}

/// Whether both answers are good; that they are the same.
fn equal<T: Debug + PartialEq>(got: Result<T>, expected: Answer<T>) -> Verdict<bool> {
    match agree(got, expected)? {
        Some((got, expected)) if got != expected => {
            differs(format!("the instance answered {got:?}; the contract wants {expected:?}"))
        }
        both => Ok(both.is_some()),
    }
}

/// Whether both answers are good and count something; that they are the same.
fn equal_count(got: Result<u64>, expected: Answer<u64>) -> Verdict<bool> {
    let some = expected.is_ok_and(|count| count > 0);
    Ok(equal(got, expected)? && some)
}

fn same_events<R: Borrow<Record> + Debug>(stream: &str, both: Option<(Vec<Event>, Vec<R>)>) -> Verdict<bool> {
    let Some((events, records)) = both else { return Ok(false) };
    let is_same =
        |(event, record): (&Event, &R)| !event.deduplicated() && is_same_event(stream, event, record.borrow());
    if events.len() == records.len() && events.iter().zip(&records).all(is_same) {
        return Ok(!events.is_empty());
    }
    let got: Vec<String> = events.iter().map(shown).collect();
    let places = records.iter().map(|record| (record.borrow().partition, record.borrow().sequence));
    let differing = events.iter().zip(&records).find(|pair| !is_same(*pair)).map(|(_, record)| record.borrow());
    differs(format!(
        "the instance answered {got:?}; the contract wants {:?}; the first that differs is {differing:?}",
        places.collect::<Vec<_>>()
    ))
}

fn is_same_event(stream: &str, event: &Event, record: &Record) -> bool {
    event.stream() == stream
        && event.id() == record.id.as_str()
        && (event.partition(), event.sequence()) == (record.partition, record.sequence)
        && event.timestamp() == record.timestamp
        && event.key() == record.key.as_deref()
        && event.event_type() == record.event_type.as_deref()
        && is_same_json(event.metadata(), record.metadata.as_deref().unwrap_or("{}"))
        && event.encoding() == record.encoding
        && event.payload() == record.payload.as_bytes()
}

/// Metadata is an object, and no store need keep its text to the letter.
fn is_same_json(a: &str, b: &str) -> bool {
    let read = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    a == b || (read(a).is_some() && read(a) == read(b))
}

fn shown(event: &Event) -> String {
    format!("{event:?} {} {:?}", event.metadata(), String::from_utf8_lossy(event.payload()))
}

fn extras(extras: &Extras) -> AppendOptions<'_> {
    AppendOptions {
        id: None,
        key: extras.key.as_deref(),
        event_type: extras.event_type.as_deref(),
        metadata: extras.metadata.as_deref(),
        timestamp: extras.timestamp,
        partition: extras.partition,
    }
}

fn payload(item: &Item) -> Append<'_> {
    Append { payload: item.payload.as_bytes(), encoding: item.encoding, options: AppendOptions::default() }
}

/// The token by which a lease is shown.
fn shown_token(lease: &Lease, by: &By) -> LeaseToken {
    let token = lease.token();
    let forged = |context, sequence, lease_id, receipt: Option<&str>| {
        LeaseToken::new(context, token.partition(), sequence, lease_id, receipt.map(Into::into), token.lease_ms())
    };
    let context = || token.context().clone();
    match by {
        By::Lease => token.clone(),
        By::Token => token.to_string().parse().expect("a token reads back from its text"),
        By::OtherLeaseId => forged(context(), token.sequence(), LeaseId::random(), token.own_receipt()),
        By::OtherReceipt => forged(context(), token.sequence(), token.lease_id(), Some("forged")),
        By::OtherSequence => forged(context(), token.sequence() + 1, token.lease_id(), token.own_receipt()),
        By::OtherGroup(group) => {
            let consumer_id = token.context().consumer_id().clone();
            let stream = token.context().stream().clone();
            let context = LeaseContext::new(stream, group.as_str().into(), consumer_id, Binding::default());
            forged(context, token.sequence(), token.lease_id(), token.own_receipt())
        }
    }
}

/// Settles one, by its lease where that is given. Renewing gives the new `expires_at`.
fn settle_one(
    instance: &Instance,
    settle: &Settle,
    lease: Option<&Lease>,
    token: &LeaseToken,
) -> Result<Option<Timestamp>> {
    match (settle, lease) {
        (Settle::Ack, _) => instance.ack(token)?,
        (Settle::Retry { reason, delay_ms }, _) => {
            instance.retry(token, RetryOptions::reason(reason).delay_ms(*delay_ms))?;
        }
        (Settle::Reject { reason }, _) => instance.reject(token, reason)?,
        (Settle::Release, _) => instance.release(token)?,
        (Settle::Renew { lease_ms }, None) => return instance.renew_token(token, *lease_ms).map(Some),
        (Settle::Renew { lease_ms }, Some(lease)) => {
            let renewed = instance.renew(lease, *lease_ms)?;
            let kept = renewed.token().to_string() == token.to_string() && renewed.attempt() == lease.attempt();
            return Ok(kept.then(|| renewed.expires_at()));
        }
    }
    Ok(None)
}

/// Settles many. An error of the whole call is every lease's.
/// What the reference does for a token, and until when a lease that is renewed is held.
fn settle_in(reference: &mut Reference, settle: &Settle, token: &LeaseToken) -> Answer<Option<Timestamp>> {
    match settle {
        Settle::Ack => reference.ack(token).map(|()| None),
        Settle::Retry { reason, delay_ms } => {
            reference.retry(token, limits::kept_reason(reason), *delay_ms).map(|()| None)
        }
        Settle::Reject { reason } => reference.reject(token, limits::kept_reason(reason)).map(|()| None),
        Settle::Release => reference.release(token).map(|()| None),
        Settle::Renew { lease_ms } => reference.renew(token, *lease_ms).map(Some),
    }
}

fn settle_many(instance: &Instance, settle: &Settle, tokens: &[LeaseToken]) -> Vec<Result<Option<Timestamp>>> {
    let ended = |results: Vec<Result<()>>| results.into_iter().map(|result| result.map(|()| None)).collect();
    let results: Result<Vec<Result<Option<Timestamp>>>> = match settle {
        Settle::Ack => instance.ack_many(tokens).map(ended),
        Settle::Retry { reason, delay_ms } => {
            instance.retry_many(tokens, RetryOptions::reason(reason).delay_ms(*delay_ms)).map(ended)
        }
        Settle::Reject { reason } => instance.reject_many(tokens, reason).map(ended),
        Settle::Release => instance.release_many(tokens).map(ended),
        Settle::Renew { lease_ms } => instance
            .renew_many(tokens, *lease_ms)
            .map(|results| results.into_iter().map(|result| result.map(Some)).collect()),
    };
    results.unwrap_or_else(|error| vec![Err(error); tokens.len()])
}
