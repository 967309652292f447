//! The entries of one partition, as a native stream store keeps them: adding, reading ranges, trimming.
//! Knows nothing of groups.

use crate::{Append, Encoding, Event, EventParts, StartPosition, Timestamp, Trim};
use std::collections::BTreeMap;
use std::ops::Bound;
use uuid::{Builder, Uuid};

/// One entry, with every field that an event needs to come back as it was appended.
pub(super) struct Entry {
    /// The store's own name of the entry: partition, sequence and the stream's number, as in `0-7-1`. Streams
    /// are numbered as they are created, so that an entry of a deleted stream is never taken for another.
    pub(super) native_id: String,
    pub(super) id: String,
    pub(super) timestamp: Timestamp,
    pub(super) key: Option<String>,
    event_type: Option<String>,
    metadata: String,
    encoding: Encoding,
    payload: Vec<u8>,
}

impl Entry {
    fn parts(&self, sequence: u64) -> EventParts<'_> {
        EventParts {
            id: &self.id,
            sequence,
            timestamp: self.timestamp,
            key: self.key.as_deref(),
            event_type: self.event_type.as_deref(),
            metadata: &self.metadata,
            encoding: self.encoding,
            payload: &self.payload,
        }
    }

    fn bytes(&self) -> u64 {
        let text = |field: &Option<String>| field.as_ref().map_or(0, String::len);
        let bytes = self.payload.len() + self.metadata.len() + self.id.len() + text(&self.key) + text(&self.event_type);
        bytes as u64
    }
}

/// The entries of one partition.
pub(super) struct Log {
    stream_number: u64,
    partition: u32,
    entries: BTreeMap<u64, Entry>,
    last: u64,
    ids: IdSource,
}

impl Log {
    pub(super) fn new(stream_number: u64, partition: u32) -> Log {
        Log { stream_number, partition, entries: BTreeMap::new(), last: 0, ids: IdSource::default() }
    }

    pub(super) fn partition(&self) -> u32 {
        self.partition
    }

    /// The first sequence that is kept; one past the last when none is.
    pub(super) fn first(&self) -> u64 {
        self.entries.first_key_value().map_or(self.last + 1, |(sequence, _)| *sequence)
    }

    /// The last sequence that was ever given; 0 when none was.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn bytes(&self) -> u64 {
        self.entries.values().map(Entry::bytes).sum()
    }

    pub(super) fn entry(&self, sequence: u64) -> Option<&Entry> {
        self.entries.get(&sequence)
    }

    /// The entries after a sequence, ascending.
    pub(super) fn after(&self, sequence: u64) -> impl Iterator<Item = (u64, &Entry)> {
        self.entries.range((Bound::Excluded(sequence), Bound::Unbounded)).map(|(sequence, entry)| (*sequence, entry))
    }

    /// Turns entries into events. One call for many: they share one allocation.
    pub(super) fn events(&self, stream: &str, sequences: impl IntoIterator<Item = u64>) -> Vec<Event> {
        let parts: Vec<EventParts<'_>> =
            sequences.into_iter().filter_map(|sequence| Some(self.entry(sequence)?.parts(sequence))).collect();
        Event::build(stream, self.partition, &parts)
    }

    /// An id for an entry that is given none; each is greater than the one before.
    pub(super) fn generate_id(&mut self, now: Timestamp) -> String {
        self.ids.next(now).to_string()
    }

    /// Adds an entry and returns its sequence.
    pub(super) fn add(&mut self, id: &str, item: &Append<'_>, now: Timestamp) -> u64 {
        let sequence = self.last + 1;
        let entry = Entry {
            native_id: format!("{}-{sequence}-{}", self.partition, self.stream_number),
            id: id.to_owned(),
            timestamp: item.options.timestamp.unwrap_or(now),
            key: item.options.key.map(str::to_owned),
            event_type: item.options.event_type.map(str::to_owned),
            metadata: item.options.metadata.unwrap_or("").to_owned(),
            encoding: item.encoding,
            payload: item.payload.to_owned(),
        };
        self.entries.insert(sequence, entry);
        self.last = sequence;
        sequence
    }

    /// The sequence after which a reader begins that starts at this position. Between the entry before the first
    /// and the last, whatever was asked for. A map that says nothing of this partition means the beginning.
    pub(super) fn position(&self, start: &StartPosition) -> u64 {
        let beginning = self.first() - 1;
        match start {
            StartPosition::Beginning => beginning,
            StartPosition::After(sequences) => {
                sequences.get(self.partition).unwrap_or(beginning).clamp(beginning, self.last)
            }
            StartPosition::At(time) => self.before_time(*time),
        }
    }

    /// The sequence before the lowest one whose timestamp is at or after `time`; the last when there is none.
    pub(super) fn before_time(&self, time: Timestamp) -> u64 {
        let found = self.entries.iter().find(|(_, entry)| entry.timestamp >= time);
        found.map_or(self.last, |(sequence, _)| sequence - 1)
    }

    /// The first sequence that this trim keeps, were there no groups; nothing when it leaves the partition alone.
    pub(super) fn trim_point(&self, trim: &Trim, now: Timestamp) -> Option<u64> {
        let point = match trim {
            Trim::BeforeSequence(sequences) => sequences.get(self.partition)?,
            Trim::MaxLen(len) => (self.last + 1).saturating_sub(*len),
            Trim::MaxAgeMs(age) => {
                let age = i64::try_from(*age).unwrap_or(i64::MAX);
                let cutoff = now.plus_millis(-age).as_micros();
                // An event of just this age is not younger.
                self.before_time(Timestamp::from_micros(cutoff.saturating_add(1))) + 1
            }
            Trim::MaxBytes(most) => {
                let mut bytes = self.bytes();
                let mut entries = self.entries.iter();
                loop {
                    match entries.next() {
                        Some((_, entry)) if bytes > *most => bytes -= entry.bytes(),
                        Some((sequence, _)) => break *sequence,
                        None => break self.last + 1,
                    }
                }
            }
        };
        Some(point.min(self.last + 1))
    }

    /// Removes the entries before a sequence and returns them.
    pub(super) fn remove_before(&mut self, sequence: u64) -> BTreeMap<u64, Entry> {
        let kept = self.entries.split_off(&sequence);
        std::mem::replace(&mut self.entries, kept)
    }
}

/// Makes ids that ascend: UUIDv7s with a counter in the 12 bits between the milliseconds and the random part.
#[derive(Default)]
struct IdSource {
    millis: u64,
    counter: u16,
}

impl IdSource {
    const LAST_COUNTER: u16 = (1 << 12) - 1;

    fn next(&mut self, now: Timestamp) -> Uuid {
        let millis = u64::try_from(now.as_micros() / 1000).unwrap_or(0);
        if millis > self.millis {
            (self.millis, self.counter) = (millis, 0);
        } else if self.counter < IdSource::LAST_COUNTER {
            self.counter += 1;
        } else {
            // The clock stands still or went back, and the counter is used up: borrow from the future.
            (self.millis, self.counter) = (self.millis + 1, 0);
        }
        let mut after_millis: [u8; 10] = rand::random();
        after_millis[..2].copy_from_slice(&self.counter.to_be_bytes());
        Builder::from_unix_timestamp_millis(self.millis, &after_millis).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ids_ascend_though_the_clock_stands_or_goes_back() {
        let mut ids = IdSource::default();
        let mut last = ids.next(Timestamp::from_millis(5000));
        assert_eq!(last.get_version_num(), 7);
        for step in 0..10_000 {
            let next = ids.next(Timestamp::from_millis(if step % 2 == 0 { 5000 } else { -7 }));
            assert!(next > last, "{next} after {last}");
            last = next;
        }
        assert!(ids.next(Timestamp::from_millis(9000)) > last);
    }
}
