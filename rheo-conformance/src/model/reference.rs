//! The reference: what the contract says, in the plainest form.
//!
//! A partition is the list of all its events, and a group has one delivery state for each of them. Every answer is
//! worked out by walking these lists; nothing is remembered twice and nothing is clever. Numbers in the comments are
//! those of the contract's rules. An error is only its code; the order of the checks is form, stream, group, range.

mod fetch;

pub(super) use fetch::Claim;

use self::fetch::Walk;
use super::matching;
use rheo_core::{
    Encoding, ErrorCode, GroupOptions, GroupSettings, GroupUpdate, LeaseId, LeaseToken, PartitionLag, Query,
    ReadOptions, ResetOptions, Sequences, StartOptions, Timestamp, TrimOptions, max_attempts_reason, partition,
};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What the contract wants as the answer.
pub(super) type Answer<T> = Result<T, ErrorCode>;

/// An event, as it was confirmed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub id: String,
    pub partition: u32,
    pub sequence: u64,
    pub timestamp: Timestamp,
    pub key: Option<String>,
    pub event_type: Option<String>,
    pub metadata: Option<String>,
    pub encoding: Encoding,
    pub payload: String,
    /// Whether the store made the id.
    pub generated: bool,
}

impl Record {
    /// As `stream_info` and `trim` count them.
    pub(super) fn bytes(&self) -> u64 {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let texts = self.id.len() + optional(&self.key) + optional(&self.event_type) + optional(&self.metadata);
        (texts + self.payload.len()) as u64
    }
}

/// What is to be appended.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub id: Option<String>,
    pub key: Option<String>,
    pub event_type: Option<String>,
    pub metadata: Option<String>,
    pub timestamp: Option<Timestamp>,
    pub partition: Option<u32>,
    pub encoding: Encoding,
    pub payload: String,
}

/// The state of one event for one group.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Delivery {
    NotOffered,
    /// Not offered, or passed over: a fetch over several partitions does not tell how far it looked in each.
    PerhapsPassedOver,
    /// Open, waiting behind its key, never offered so far (4.13).
    PassedOver,
    /// Open, to be had from this time on.
    Available {
        attempt: u32,
        due: Timestamp,
    },
    /// Open and claimed; to be had again from `expires_at` on.
    Leased {
        attempt: u32,
        lease_id: LeaseId,
        receipt: String,
        expires_at: Timestamp,
    },
    /// Terminal: acked, discarded, removed, or before the group's start.
    Settled,
    /// Terminal: rejected.
    Dead {
        attempt: u32,
        reason: String,
        at: Timestamp,
    },
}

impl Delivery {
    fn is_terminal(&self) -> bool {
        matches!(self, Delivery::Settled | Delivery::Dead { .. })
    }

    fn is_offered(&self) -> bool {
        !matches!(self, Delivery::NotOffered | Delivery::PerhapsPassedOver | Delivery::PassedOver)
    }

    fn is_open(&self) -> bool {
        matches!(self, Delivery::PassedOver | Delivery::Available { .. } | Delivery::Leased { .. })
    }

    /// Whether nothing but the order of its key keeps it from being claimed.
    fn is_due(&self, now: Timestamp) -> bool {
        match self {
            Delivery::NotOffered | Delivery::PerhapsPassedOver | Delivery::PassedOver => true,
            Delivery::Available { due, .. } => *due <= now,
            Delivery::Leased { expires_at, .. } => *expires_at <= now,
            Delivery::Settled | Delivery::Dead { .. } => false,
        }
    }

    fn attempt(&self) -> u32 {
        match self {
            Delivery::Available { attempt, .. } | Delivery::Leased { attempt, .. } | Delivery::Dead { attempt, .. } => {
                *attempt
            }
            _ => 0,
        }
    }
}

/// The events of one partition from sequence 1 on; those before `first` are trimmed and kept here only for looking up.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub events: Vec<Record>,
    pub first: u64,
}

impl Partition {
    pub(super) fn high_watermark(&self) -> u64 {
        self.events.len() as u64
    }

    pub(super) fn kept(&self) -> &[Record] {
        &self.events[self.first as usize - 1..]
    }

    pub(super) fn bytes(&self) -> u64 {
        self.kept().iter().map(Record::bytes).sum()
    }

    fn lowest_at_or_after(&self, time: Timestamp) -> Option<u64> {
        self.kept().iter().find(|record| record.timestamp >= time).map(|record| record.sequence)
    }

    /// The state of a group that has everything up to `after` behind it.
    fn deliveries_after(&self, after: u64) -> Vec<Delivery> {
        let behind = |record: &Record| record.sequence < self.first || record.sequence <= after;
        let state = |record| if behind(record) { Delivery::Settled } else { Delivery::NotOffered };
        self.events.iter().map(state).collect()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub settings: GroupSettings,
    /// By partition, one state per event.
    pub deliveries: Vec<Vec<Delivery>>,
    /// By what fetches cover (nothing: they did not say), and then by partition: how many of these fetches have passed
    /// it by, although it had something to give, since it was last served.
    passed_by: BTreeMap<Option<Vec<u32>>, BTreeMap<u32, usize>>,
}

impl Group {
    pub(super) fn delivery(&self, partition: u32, sequence: u64) -> &Delivery {
        &self.deliveries[partition as usize][sequence as usize - 1]
    }

    /// The longest settled prefix (4.6).
    pub(super) fn frontier(&self, partition: u32) -> u64 {
        self.deliveries[partition as usize].iter().take_while(|delivery| delivery.is_terminal()).count() as u64
    }

    /// The dead letters of some partitions, as (partition, sequence), in that order.
    pub(super) fn dead(&self, scope: &[u32]) -> Vec<(u32, u64)> {
        let mut dead = Vec::new();
        for &partition in scope {
            let deliveries = self.deliveries[partition as usize].iter().zip(1..);
            let found = deliveries.filter(|(delivery, _)| matches!(delivery, Delivery::Dead { .. }));
            dead.extend(found.map(|(_, sequence)| (partition, sequence)));
        }
        dead
    }

    /// The lowest sequence of a partition that may not be trimmed, and whether a dead letter is the reason (4.12).
    pub(super) fn needs(&self, partition: u32) -> (u64, bool) {
        let unsettled = self.frontier(partition) + 1;
        match self.dead(&[partition]).first() {
            Some((_, sequence)) if *sequence < unsettled => (*sequence, true),
            _ => (unsettled, false),
        }
    }
}

/// The counts of `group_info`.
#[derive(Debug)]
pub(super) struct Counts {
    pub inflight: u64,
    /// A range, because a delivery may be [`PerhapsPassedOver`](Delivery::PerhapsPassedOver).
    pub available: RangeInclusive<u64>,
    pub delayed: u64,
    pub dead_letters: u64,
    pub oldest_unsettled_at: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub partitions: Vec<Partition>,
    pub groups: BTreeMap<String, Group>,
}

impl Stream {
    pub(super) fn partition_count(&self) -> u32 {
        self.partitions.len() as u32
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = &Record> {
        self.partitions.iter().flat_map(Partition::kept)
    }

    pub(super) fn find(&self, id: &str) -> Option<&Record> {
        self.kept().find(|record| record.id == id)
    }

    pub(super) fn record(&self, partition: u32, sequence: u64) -> &Record {
        &self.partitions[partition as usize].events[sequence as usize - 1]
    }

    fn check(&self, partitions: impl IntoIterator<Item = u32>) -> Answer<()> {
        if partitions.into_iter().all(|partition| partition < self.partition_count()) {
            Ok(())
        } else {
            Err(ErrorCode::InvalidPartition)
        }
    }

    /// The partitions meant by an option: a set, in order; all when missing.
    pub(super) fn scope(&self, partitions: Option<&[u32]>) -> Answer<Vec<u32>> {
        let all: Vec<u32> = (0..self.partition_count()).collect();
        let mut scope = partitions.unwrap_or(&all).to_vec();
        scope.sort_unstable();
        scope.dedup();
        self.check(scope.iter().copied())?;
        Ok(scope)
    }

    fn check_sequences(&self, sequences: &Sequences) -> Answer<()> {
        match sequences {
            Sequences::All(_) => Ok(()),
            Sequences::Map(map) => self.check(map.keys().copied()),
        }
    }

    /// By partition, the last sequence that a start leaves behind; nothing where the start does not apply.
    fn start(&self, start: &StartOptions) -> Answer<Vec<Option<u64>>> {
        if let Some(sequences) = &start.start_after {
            self.check_sequences(sequences)?;
        }
        let scope = self.scope(start.partitions.as_deref())?;
        let resolve = |(number, partition): (u32, &Partition)| {
            if !scope.contains(&number) {
                return None;
            }
            match (&start.start_after, start.start_at) {
                (Some(sequences), _) => sequences.get(number).map(|after| after.min(partition.high_watermark())),
                (None, Some(time)) => match partition.lowest_at_or_after(time) {
                    Some(sequence) => Some(sequence - 1),
                    None => Some(partition.high_watermark()),
                },
                (None, None) => Some(0),
            }
        };
        Ok((0..).zip(&self.partitions).map(resolve).collect())
    }
}

/// Everything there is.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub now: Timestamp,
    pub default_max_attempts: u32,
    pub streams: BTreeMap<String, Stream>,
}

impl Reference {
    pub(super) fn stream(&self, stream: &str) -> Answer<&Stream> {
        self.streams.get(stream).ok_or(ErrorCode::StreamNotFound)
    }

    fn stream_mut(&mut self, stream: &str) -> Answer<&mut Stream> {
        self.streams.get_mut(stream).ok_or(ErrorCode::StreamNotFound)
    }

    pub(super) fn group(&self, stream: &str, group: &str) -> Answer<(&Stream, &Group)> {
        let stream = self.stream(stream)?;
        Ok((stream, stream.groups.get(group).ok_or(ErrorCode::GroupNotFound)?))
    }

    fn group_mut(&mut self, stream: &str, group: &str) -> Answer<&mut Group> {
        self.stream_mut(stream)?.groups.get_mut(group).ok_or(ErrorCode::GroupNotFound)
    }

    /// The store was opened again: a lease ends with the open that granted it (4.2), its attempt counts (4.3). Says
    /// whether there was any.
    pub(super) fn reopened(&mut self) -> bool {
        let mut ended = false;
        for group in self.streams.values_mut().flat_map(|stream| stream.groups.values_mut()) {
            group.passed_by.clear();
            for delivery in group.deliveries.iter_mut().flatten() {
                if let Delivery::Leased { attempt, .. } = *delivery {
                    *delivery = Delivery::Available { attempt, due: self.now };
                    ended = true;
                }
            }
        }
        ended
    }

    pub(super) fn create_stream(&mut self, stream: &str, partition_count: u32) -> Answer<()> {
        if !(1..=partition::MAX_PARTITION_COUNT).contains(&partition_count) {
            return Err(ErrorCode::InvalidPartitionCount);
        }
        if self.streams.contains_key(stream) {
            return Err(ErrorCode::AlreadyExists);
        }
        let partitions = (0..partition_count).map(|_| Partition { events: Vec::new(), first: 1 }).collect();
        self.streams.insert(stream.to_owned(), Stream { partitions, groups: BTreeMap::new() });
        Ok(())
    }

    pub(super) fn delete_stream(&mut self, stream: &str, confirm: bool) -> Answer<()> {
        if !confirm {
            return Err(ErrorCode::ConfirmRequired);
        }
        self.streams.remove(stream).map(drop).ok_or(ErrorCode::StreamNotFound)
    }

    pub(super) fn create_group(&mut self, stream: &str, group: &str, options: &GroupOptions) -> Answer<()> {
        let settings = GroupSettings {
            max_attempts: options.max_attempts.unwrap_or(self.default_max_attempts),
            max_deliveries: options.max_deliveries,
            ordering: options.ordering,
        };
        check_start(&options.start)?;
        if settings.max_attempts == 0 {
            return Err(ErrorCode::InvalidArgument);
        }
        let stream = self.stream_mut(stream)?;
        if stream.groups.contains_key(group) {
            return Err(ErrorCode::AlreadyExists);
        }
        let starts = stream.start(&options.start)?;
        let deliveries = stream.partitions.iter().zip(starts);
        // A partition that the start leaves out begins at the beginning.
        let deliveries = deliveries.map(|(partition, after)| partition.deliveries_after(after.unwrap_or(0))).collect();
        stream.groups.insert(group.to_owned(), Group { settings, deliveries, passed_by: BTreeMap::new() });
        Ok(())
    }

    pub(super) fn update_group(&mut self, stream: &str, group: &str, update: &GroupUpdate) -> Answer<()> {
        if update.max_attempts == Some(0) {
            return Err(ErrorCode::InvalidArgument);
        }
        let settings = &mut self.group_mut(stream, group)?.settings;
        settings.max_attempts = update.max_attempts.unwrap_or(settings.max_attempts);
        settings.max_deliveries = update.max_deliveries.unwrap_or(settings.max_deliveries);
        Ok(())
    }

    pub(super) fn delete_group(&mut self, stream: &str, group: &str) -> Answer<()> {
        self.stream_mut(stream)?.groups.remove(group).map(drop).ok_or(ErrorCode::GroupNotFound)
    }

    /// Appends, and gives each draft's event and whether it stood already. `generated` are the ids that the instance
    /// made, by draft.
    pub(super) fn append(
        &mut self,
        stream: &str,
        drafts: &[Draft],
        generated: &[String],
    ) -> Answer<Vec<(Record, bool)>> {
        let now = self.now;
        let stream = self.stream_mut(stream)?;
        let count = stream.partition_count();
        let route = |draft: &Draft| match (draft.partition, &draft.key) {
            (Some(partition), _) => partition,
            (None, Some(key)) => partition::for_key(key.as_bytes(), count),
            (None, None) => 0,
        };
        stream.check(drafts.iter().map(route))?;
        let mut answers = Vec::new();
        for (index, draft) in drafts.iter().enumerate() {
            if let Some(standing) = draft.id.as_deref().and_then(|id| stream.find(id)) {
                answers.push((standing.clone(), true));
                continue;
            }
            let number = route(draft);
            let partition = &mut stream.partitions[number as usize];
            let record = Record {
                id: draft.id.clone().or_else(|| generated.get(index).cloned()).unwrap_or_default(),
                partition: number,
                sequence: partition.high_watermark() + 1,
                timestamp: draft.timestamp.unwrap_or(now),
                key: draft.key.clone(),
                event_type: draft.event_type.clone(),
                metadata: draft.metadata.clone(),
                encoding: draft.encoding,
                payload: draft.payload.clone(),
                generated: draft.id.is_none(),
            };
            partition.events.push(record.clone());
            for group in stream.groups.values_mut() {
                group.deliveries[number as usize].push(Delivery::NotOffered);
            }
            answers.push((record, false));
        }
        Ok(answers)
    }

    pub(super) fn read(&self, stream: &str, options: ReadOptions) -> Answer<Vec<&Record>> {
        let stream = self.stream(stream)?;
        stream.check([options.partition])?;
        let kept = stream.partitions[options.partition as usize].kept();
        Ok(kept.iter().filter(|record| record.sequence > options.after).take(options.limit).collect())
    }

    pub(super) fn query(&self, stream: &str, query: &Query) -> Answer<Vec<&Record>> {
        if !matching::is_well_formed(query) {
            return Err(ErrorCode::InvalidArgument);
        }
        let mut found = matching::select(query, self.stream(stream)?.kept());
        found.truncate(query.limit.unwrap_or(Query::DEFAULT_LIMIT));
        Ok(found)
    }

    /// All that the pages of a query hold, together.
    pub(super) fn query_pages(&self, stream: &str, query: &Query) -> Answer<Vec<&Record>> {
        if !query.order_by.is_empty() {
            return Err(ErrorCode::InvalidArgument);
        }
        self.query(stream, &Query { limit: Some(usize::MAX), ..query.clone() })
    }

    /// Removes events and says how many (4.12).
    pub(super) fn trim(&mut self, stream: &str, options: &TrimOptions) -> Answer<u64> {
        let TrimOptions { before_sequence, max_len, max_age_ms, max_bytes, force } = options;
        let ways = [before_sequence.is_some(), max_len.is_some(), max_age_ms.is_some(), max_bytes.is_some()];
        if ways.iter().filter(|given| **given).count() != 1 {
            return Err(ErrorCode::InvalidArgument);
        }
        let now = self.now;
        let stream = self.stream_mut(stream)?;
        if let Some(sequences) = before_sequence {
            stream.check_sequences(sequences)?;
        }
        let mut removed = 0;
        for (number, partition) in (0..).zip(&mut stream.partitions) {
            while let Some(oldest) = partition.kept().first() {
                let wanted = before_sequence
                    .as_ref()
                    .and_then(|sequences| sequences.get(number))
                    .is_some_and(|before| oldest.sequence < before)
                    || max_len.is_some_and(|most| partition.kept().len() as u64 > most)
                    || max_age_ms.is_some_and(|most| oldest.timestamp <= now.plus_millis(-(most as i64)))
                    || max_bytes.is_some_and(|most| partition.bytes() > most);
                let needed = stream.groups.values().any(|group| oldest.sequence >= group.needs(number).0);
                if !wanted || (needed && !force) {
                    break;
                }
                for group in stream.groups.values_mut() {
                    group.deliveries[number as usize][oldest.sequence as usize - 1] = Delivery::Settled;
                }
                partition.first += 1;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Whether a token settles (4.2).
    pub(super) fn check_token(&self, token: &LeaseToken) -> Answer<()> {
        let (_, group) = self.group(token.stream(), token.group())?;
        let deliveries = group.deliveries.get(token.partition() as usize);
        let index = (token.sequence() as usize).wrapping_sub(1);
        match deliveries.and_then(|deliveries| deliveries.get(index)) {
            Some(Delivery::Leased { lease_id, receipt, .. }) if *lease_id == token.lease_id() => {
                if *receipt == token.receipt() { Ok(()) } else { Err(ErrorCode::ReceiptMismatch) }
            }
            _ => Err(ErrorCode::StaleLease),
        }
    }

    /// The delivery that a token holds, and the group's settings.
    fn held(&mut self, token: &LeaseToken) -> Answer<(&mut Delivery, GroupSettings)> {
        self.check_token(token)?;
        let group = self.group_mut(token.stream(), token.group())?;
        let delivery = &mut group.deliveries[token.partition() as usize][token.sequence() as usize - 1];
        Ok((delivery, group.settings))
    }

    pub(super) fn ack(&mut self, token: &LeaseToken) -> Answer<()> {
        *self.held(token)?.0 = Delivery::Settled;
        Ok(())
    }

    /// `reason` as far as it is kept (4.11).
    pub(super) fn retry(&mut self, token: &LeaseToken, reason: &str, delay_ms: u64) -> Answer<()> {
        let now = self.now;
        let (delivery, settings) = self.held(token)?;
        let attempt = delivery.attempt();
        *delivery = if attempt >= settings.max_attempts {
            Delivery::Dead { attempt, reason: max_attempts_reason(reason, settings.max_attempts), at: now }
        } else {
            Delivery::Available { attempt, due: now.plus_millis(delay_ms as i64) }
        };
        Ok(())
    }

    /// `reason` as far as it is kept (4.11).
    pub(super) fn reject(&mut self, token: &LeaseToken, reason: &str) -> Answer<()> {
        let now = self.now;
        let (delivery, _) = self.held(token)?;
        *delivery = Delivery::Dead { attempt: delivery.attempt(), reason: reason.to_owned(), at: now };
        Ok(())
    }

    pub(super) fn release(&mut self, token: &LeaseToken) -> Answer<()> {
        let now = self.now;
        let (delivery, _) = self.held(token)?;
        *delivery = Delivery::Available { attempt: delivery.attempt() - 1, due: now };
        Ok(())
    }

    pub(super) fn renew(&mut self, token: &LeaseToken, lease_ms: Option<u64>) -> Answer<Timestamp> {
        if lease_ms == Some(0) {
            return Err(ErrorCode::InvalidArgument);
        }
        let renewed = self.now.plus_millis(lease_ms.unwrap_or(token.lease_ms()) as i64);
        if let (Delivery::Leased { expires_at, .. }, _) = self.held(token)? {
            *expires_at = renewed;
        }
        Ok(renewed)
    }

    pub(super) fn lag(
        &self,
        stream: &str,
        group: &str,
        partitions: Option<&[u32]>,
    ) -> Answer<BTreeMap<u32, PartitionLag>> {
        let (stream, group) = self.group(stream, group)?;
        let lag = |number: u32| PartitionLag {
            frontier: group.frontier(number),
            high_watermark: stream.partitions[number as usize].high_watermark(),
        };
        Ok(stream.scope(partitions)?.into_iter().map(|number| (number, lag(number))).collect())
    }

    pub(super) fn counts(&self, stream: &str, group: &str, partitions: Option<&[u32]>) -> Answer<Counts> {
        let now = self.now;
        let (stream, group) = self.group(stream, group)?;
        let scope = stream.scope(partitions)?;
        let (mut inflight, mut delayed, mut available, mut perhaps) = (0, 0, 0, 0);
        let mut oldest_unsettled_at: Option<Timestamp> = None;
        for &number in &scope {
            let records = &stream.partitions[number as usize].events;
            let deliveries = &group.deliveries[number as usize];
            let mut walk = Walk::new(group.settings, now);
            for (record, delivery) in records.iter().zip(deliveries) {
                let due = delivery.is_due(now);
                let free = walk.key(record).is_none_or(|key| !walk.busy.contains(key));
                inflight += u64::from(!due && matches!(delivery, Delivery::Leased { .. }));
                delayed += u64::from(!due && matches!(delivery, Delivery::Available { .. }));
                available += u64::from(due && free && delivery.is_open());
                perhaps += u64::from(free && *delivery == Delivery::PerhapsPassedOver);
                if delivery.is_open() || *delivery == Delivery::PerhapsPassedOver {
                    walk.busy.extend(walk.key(record));
                }
            }
            if let Some(next) = records.get(group.frontier(number) as usize) {
                oldest_unsettled_at = Some(oldest_unsettled_at.map_or(next.timestamp, |old| old.min(next.timestamp)));
            }
        }
        let dead_letters = group.dead(&scope).len() as u64;
        Ok(Counts { inflight, available: available..=available + perhaps, delayed, dead_letters, oldest_unsettled_at })
    }

    /// The places of the dead letters that are listed.
    pub(super) fn dead_letters(
        &self,
        stream: &str,
        group: &str,
        limit: usize,
        after: Option<&str>,
        partitions: Option<&[u32]>,
    ) -> Answer<Vec<(u32, u64)>> {
        let (stream, group) = self.group(stream, group)?;
        let mut dead = group.dead(&stream.scope(partitions)?);
        if let Some(id) = after {
            let record = stream.find(id).ok_or(ErrorCode::CursorNotFound)?;
            if !matches!(group.delivery(record.partition, record.sequence), Delivery::Dead { .. }) {
                return Err(ErrorCode::CursorNotFound);
            }
            dead.retain(|place| *place > (record.partition, record.sequence));
        }
        dead.truncate(limit);
        Ok(dead)
    }

    /// Forgets the dead letters of these events, or all, and says how many.
    pub(super) fn discard(&mut self, stream: &str, group: &str, ids: Option<&[String]>) -> Answer<u64> {
        self.group(stream, group)?;
        let Stream { partitions, groups } = self.stream_mut(stream)?;
        let group = groups.get_mut(group).ok_or(ErrorCode::GroupNotFound)?;
        let mut discarded = 0;
        for (partition, deliveries) in partitions.iter().zip(&mut group.deliveries) {
            for (record, delivery) in partition.events.iter().zip(deliveries) {
                if matches!(delivery, Delivery::Dead { .. }) && ids.is_none_or(|ids| ids.contains(&record.id)) {
                    *delivery = Delivery::Settled;
                    discarded += 1;
                }
            }
        }
        Ok(discarded)
    }

    /// Replays everything after a sequence and says how many deliveries that made available again (4.7).
    pub(super) fn replay_from_sequence(
        &mut self,
        stream: &str,
        group: &str,
        sequences: &Sequences,
        partitions: Option<&[u32]>,
    ) -> Answer<u64> {
        let (found, _) = self.group(stream, group)?;
        found.check_sequences(sequences)?;
        let scope = found.scope(partitions)?;
        let after = scope.into_iter().filter_map(|number| Some((number, sequences.get(number)?))).collect();
        self.rewind(stream, group, after)
    }

    /// Replays from the lowest sequence on that is not older, and says how many deliveries that made available again.
    pub(super) fn replay_from(
        &mut self,
        stream: &str,
        group: &str,
        time: Timestamp,
        partitions: Option<&[u32]>,
    ) -> Answer<u64> {
        let (found, _) = self.group(stream, group)?;
        let lowest = |number: u32| found.partitions[number as usize].lowest_at_or_after(time);
        let scope = found.scope(partitions)?.into_iter();
        let after = scope.filter_map(|number| Some((number, lowest(number)? - 1))).collect();
        self.rewind(stream, group, after)
    }

    fn rewind(&mut self, stream: &str, group: &str, after: BTreeMap<u32, u64>) -> Answer<u64> {
        let Stream { partitions, groups } = self.stream_mut(stream)?;
        let group = groups.get_mut(group).ok_or(ErrorCode::GroupNotFound)?;
        let mut count = 0;
        for (number, after) in after {
            // Raised to the first kept sequence − 1.
            let after = after.max(partitions[number as usize].first - 1) as usize;
            for delivery in group.deliveries[number as usize].iter_mut().skip(after) {
                count += u64::from(delivery.is_offered());
                *delivery = Delivery::NotOffered;
            }
        }
        Ok(count)
    }

    /// Replays these events and says how many deliveries that made available again (4.7).
    pub(super) fn replay_events(
        &mut self,
        stream: &str,
        group: &str,
        ids: &[String],
        partitions: Option<&[u32]>,
    ) -> Answer<u64> {
        let now = self.now;
        let (found, _) = self.group(stream, group)?;
        let scope = found.scope(partitions)?;
        let Stream { partitions, groups } = self.stream_mut(stream)?;
        let group = groups.get_mut(group).ok_or(ErrorCode::GroupNotFound)?;
        let mut count = 0;
        for number in scope {
            for record in partitions[number as usize].kept().iter().filter(|record| ids.contains(&record.id)) {
                let delivery = &mut group.deliveries[number as usize][record.sequence as usize - 1];
                if delivery.is_offered() {
                    *delivery = Delivery::Available { attempt: 0, due: now };
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    pub(super) fn replay_query(
        &mut self,
        stream: &str,
        group: &str,
        query: &Query,
        partitions: Option<&[u32]>,
    ) -> Answer<u64> {
        if !matching::is_well_formed(query) {
            return Err(ErrorCode::InvalidArgument);
        }
        let (found, _) = self.group(stream, group)?;
        let scope = found.scope(partitions)?;
        // The query's limit counts what lies in these partitions.
        let all = Query { limit: Some(usize::MAX), ..query.clone() };
        let found = self.query(stream, &all)?.into_iter().filter(|record| scope.contains(&record.partition));
        let ids: Vec<String> = found.take(query.limit.unwrap_or(usize::MAX)).map(|record| record.id.clone()).collect();
        self.replay_events(stream, group, &ids, partitions)
    }

    /// Starts over in the scope of the new start (4.8).
    pub(super) fn reset(&mut self, stream: &str, group: &str, options: &ResetOptions) -> Answer<()> {
        check_start(&options.start)?;
        if !options.confirm {
            return Err(ErrorCode::ConfirmRequired);
        }
        let starts = self.group(stream, group)?.0.start(&options.start)?;
        let Stream { partitions, groups } = self.stream_mut(stream)?;
        let group = groups.get_mut(group).ok_or(ErrorCode::GroupNotFound)?;
        for ((partition, deliveries), after) in partitions.iter().zip(&mut group.deliveries).zip(starts) {
            if let Some(after) = after {
                *deliveries = partition.deliveries_after(after);
            }
        }
        Ok(())
    }
}

/// A start says at most one thing.
fn check_start(start: &StartOptions) -> Answer<()> {
    if start.start_after.is_some() && start.start_at.is_some() { Err(ErrorCode::InvalidArgument) } else { Ok(()) }
}
