//! The events of a stream: adding, finding, removing. Knows nothing of groups.

use rheo_core::{Append, Event, EventParts, LeaseId, Result, StartPosition, Timestamp, Trim, check_partitions};
use std::collections::HashMap;

/// A stream's events by partition, and by id where each of them is.
pub struct Log {
    stream: String,
    pub partitions: Vec<Partition>,
    pub places: HashMap<String, (u32, u64)>,
    last_generated: u128,
}

/// The events of a partition, each with its bytes as `stream_info` counts them.
#[derive(Default)]
pub struct Partition {
    /// How many were removed from the front: the event at index 0 has the sequence `trimmed + 1`.
    pub trimmed: u64,
    events: Vec<(Event, u64)>,
}

impl Log {
    pub fn new(stream: &str, partition_count: u32) -> Log {
        let partitions = (0..partition_count).map(|_| Partition::default()).collect();
        Log { stream: stream.to_owned(), partitions, places: HashMap::new(), last_generated: 0 }
    }

    pub fn partition_count(&self) -> u32 {
        self.partitions.len() as u32
    }

    pub fn partition(&self, number: u32) -> Result<&Partition> {
        self.scope(Some(&[number])).map(|_| &self.partitions[number as usize])
    }

    /// The partitions that a call is about: these, if all of them exist, or all.
    pub fn scope(&self, partitions: Option<&[u32]>) -> Result<Vec<u32>> {
        let scope = partitions.map_or_else(|| (0..self.partition_count()).collect(), <[u32]>::to_vec);
        check_partitions(&self.stream, scope.iter().copied(), self.partition_count()).map(|()| scope)
    }

    pub fn find(&self, id: &str) -> Option<Event> {
        let (number, sequence) = self.places.get(id)?;
        self.partitions[*number as usize].event(*sequence).cloned()
    }

    pub fn add(&mut self, number: u32, item: &Append<'_>, now: Timestamp) -> Event {
        let Append { payload, encoding, options } = *item;
        let id = options.id.map_or_else(|| self.generate_id(now), str::to_owned);
        let partition = &mut self.partitions[number as usize];
        let parts = EventParts {
            id: &id,
            sequence: partition.last() + 1,
            timestamp: options.timestamp.unwrap_or(now),
            key: options.key,
            event_type: options.event_type,
            metadata: options.metadata.unwrap_or_default(),
            encoding,
            payload,
        };
        let event = Event::build(&self.stream, number, &[parts]).remove(0);
        partition.events.push((event.clone(), item.counted_bytes() as u64));
        self.places.insert(id, (number, event.sequence()));
        event
    }

    /// A UUIDv7 above all that were generated before, whatever the clock does, and that no event has.
    fn generate_id(&mut self, now: Timestamp) -> String {
        let millis = now.as_micros().max(0) as u128 / 1000;
        let random = u128::from_be_bytes(LeaseId::random().to_bytes()) >> 48 & !(0xf << 76 | 0b11 << 62);
        let mut id = millis << 80 | 0x7 << 76 | 0b10 << 62 | random;
        loop {
            id = id.max(self.last_generated + 1);
            self.last_generated = id;
            let hex = format!("{id:032x}");
            let text = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
            if !self.places.contains_key(&text) {
                return text;
            }
        }
    }

    /// Removes a partition's events before a sequence, at most one past the last, and returns how many there were.
    pub fn remove_before(&mut self, number: u32, sequence: u64) -> u64 {
        let partition = &mut self.partitions[number as usize];
        let count = sequence.saturating_sub(partition.trimmed + 1);
        partition.trimmed += count;
        for (event, _) in partition.events.drain(..count as usize) {
            self.places.remove(event.id().as_str());
        }
        count
    }
}

impl Partition {
    /// The last sequence ever given; 0 when there was none.
    pub fn last(&self) -> u64 {
        self.trimmed + self.events.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.events.iter().map(|(_, bytes)| bytes).sum()
    }

    pub fn event(&self, sequence: u64) -> Option<&Event> {
        let index = sequence.checked_sub(self.trimmed + 1)?;
        self.events.get(index as usize).map(|(event, _)| event)
    }

    pub fn after(&self, sequence: u64) -> impl Iterator<Item = &Event> {
        self.events.iter().skip(sequence.saturating_sub(self.trimmed) as usize).map(|(event, _)| event)
    }

    /// The sequence before the lowest one whose event is of this time or later; the last when there is none.
    pub fn before_time(&self, time: Timestamp) -> u64 {
        let earlier = self.events.iter().position(|(event, _)| event.timestamp() >= time);
        self.trimmed + earlier.unwrap_or(self.events.len()) as u64
    }

    /// The sequence after which a group begins.
    pub fn position(&self, number: u32, start: &StartPosition) -> u64 {
        match start {
            StartPosition::Beginning => self.trimmed,
            StartPosition::After(sequences) => sequences.get(number).unwrap_or(0).clamp(self.trimmed, self.last()),
            StartPosition::At(time) => self.before_time(*time),
        }
    }

    /// The first sequence that a trim would leave, were there no groups; nothing when it leaves the partition alone.
    pub fn first_left_by(&self, trim: &Trim, number: u32, now: Timestamp) -> Option<u64> {
        let first = match trim {
            Trim::BeforeSequence(sequences) => sequences.get(number)?,
            Trim::MaxLen(len) => (self.last() + 1).saturating_sub(*len),
            Trim::MaxAgeMs(age) => {
                let oldest = now.plus_millis(-i64::try_from(*age).unwrap_or(i64::MAX));
                // An event of just this age is not younger.
                self.before_time(Timestamp::from_micros(oldest.as_micros().saturating_add(1))) + 1
            }
            Trim::MaxBytes(most) => {
                let mut kept = self.bytes();
                let is_too_much = |(_, bytes): &&(Event, u64)| {
                    let too_much = kept > *most;
                    kept -= bytes;
                    too_much
                };
                self.trimmed + 1 + self.events.iter().take_while(is_too_much).count() as u64
            }
        };
        Some(first.min(self.last() + 1))
    }
}
