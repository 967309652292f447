//! One immutable event, as a reference to where its bytes lie.

use crate::append::Encoding;
use crate::chunk::{Chunk, ChunkWriter, Record, RecordParts, StoredId};
use crate::timestamp::Timestamp;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use uuid::fmt::Hyphenated;

/// One immutable record of a partition (contract, section 2).
///
/// An event is a counted reference: cloning, leasing and reading copy no payload, and whatever it hands
/// out is valid as long as the event (or a clone) is alive, whatever becomes of the lease, the list or the
/// instance. A held event keeps the chunk of memory around it alive, usually at most 1 MiB.
#[derive(Clone)]
pub struct Event {
    chunk: Arc<Chunk>,
    sequence: u64,
    offset: u32,
    deduplicated: bool,
}

impl Event {
    /// The event whose record lies at `offset`.
    ///
    /// # Safety
    /// The chunk's writer wrote a record at `offset`.
    pub(crate) unsafe fn in_chunk(chunk: &Arc<Chunk>, offset: u32, sequence: u64) -> Event {
        Event { chunk: Arc::clone(chunk), sequence, offset, deduplicated: false }
    }

    /// The same event, marked as the answer to an append that appended nothing.
    #[must_use]
    pub fn into_deduplicated(mut self) -> Event {
        self.deduplicated = true;
        self
    }

    /// Builds the events of one partition from what a store returned; for backends that do not live in this
    /// process's memory. All of them share one allocation.
    ///
    /// # Panics
    /// When an id is empty, or a length is beyond the contract's limits.
    pub fn build(stream: &str, partition: u32, parts: &[EventParts<'_>]) -> Vec<Event> {
        let records: Vec<RecordParts<'_>> = parts.iter().map(EventParts::record).collect();
        let mut writer = ChunkWriter::for_records(Arc::from(stream), partition, &records);
        for record in &records {
            assert!(writer.push(record), "the chunk was made for these records");
        }
        parts.iter().enumerate().map(|(index, parts)| writer.event(index, parts.sequence)).collect()
    }

    pub(crate) fn record(&self) -> Record<'_> {
        // SAFETY: that a record lies there was required when the event was made.
        unsafe { self.chunk.record(self.offset) }
    }

    pub(crate) fn stored_id(&self) -> StoredId<'_> {
        self.record().id()
    }

    /// The event's id: the one given at append, or a generated UUIDv7.
    pub fn id(&self) -> EventId<'_> {
        EventId::from(self.record().id())
    }

    /// The bytes of the id if it was generated: for those who write its text out later, or never.
    pub fn generated_id(&self) -> Option<[u8; 16]> {
        match self.record().id() {
            StoredId::Generated(uuid) => Some(*uuid.as_bytes()),
            StoredId::Explicit(_) => None,
        }
    }

    /// The stream's name.
    pub fn stream(&self) -> &str {
        self.chunk.stream()
    }

    /// The partition, from 0.
    pub fn partition(&self) -> u32 {
        self.chunk.partition()
    }

    /// The position in the partition, from 1, without gaps.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When it happened: as given at append, else the instance's clock then. Timestamps need not ascend.
    pub fn timestamp(&self) -> Timestamp {
        self.record().timestamp()
    }

    /// The key that routed it, if it was given one.
    pub fn key(&self) -> Option<&str> {
        self.record().key()
    }

    /// The type, if it was given one.
    pub fn event_type(&self) -> Option<&str> {
        self.record().event_type()
    }

    /// Headers and lineage: the text of a JSON object, `{}` when none was given.
    pub fn metadata(&self) -> &str {
        self.record().metadata()
    }

    /// The payload, byte for byte as it was appended.
    pub fn payload(&self) -> &[u8] {
        self.record().payload()
    }

    /// How the producer tagged the payload.
    pub fn encoding(&self) -> Encoding {
        self.record().encoding()
    }

    /// Whether this is the answer to an append whose id the stream held already (contract, "Idempotent append").
    pub fn deduplicated(&self) -> bool {
        self.deduplicated
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("id", &self.id().as_str())
            .field("stream", &self.stream())
            .field("partition", &self.partition())
            .field("sequence", &self.sequence())
            .field("timestamp", &self.timestamp())
            .field("key", &self.key())
            .field("type", &self.event_type())
            .field("payload_bytes", &self.payload().len())
            .finish_non_exhaustive()
    }
}

/// Two events are equal when they are the same position with the same content; `deduplicated` does not count.
impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.stream() == other.stream()
            && self.partition() == other.partition()
            && self.sequence == other.sequence
            && self.id() == other.id()
            && self.timestamp() == other.timestamp()
            && self.key() == other.key()
            && self.event_type() == other.event_type()
            && self.metadata() == other.metadata()
            && self.encoding() == other.encoding()
            && self.payload() == other.payload()
    }
}

impl Eq for Event {}

/// What an event is made of, for [`Event::build`]. The values are within the contract's limits; a backend
/// gives back what the facade let it store.
#[derive(Clone, Copy, Debug)]
pub struct EventParts<'a> {
    /// The event's id, 1 to 255 bytes.
    pub id: &'a str,
    /// The position in its partition.
    pub sequence: u64,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The key, if any.
    pub key: Option<&'a str>,
    /// The type, if any.
    pub event_type: Option<&'a str>,
    /// The text of a JSON object; empty stands for `{}`.
    pub metadata: &'a str,
    /// How the payload is tagged.
    pub encoding: Encoding,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> EventParts<'a> {
    fn record(&self) -> RecordParts<'a> {
        RecordParts {
            id: StoredId::Explicit(self.id),
            timestamp: self.timestamp,
            key: self.key,
            event_type: self.event_type,
            metadata: self.metadata,
            encoding: self.encoding,
            payload: self.payload,
        }
    }
}

/// An event's id as text. A generated id is kept as 16 bytes and written out here, so the text may live in
/// this value itself: keep the value as long as the text is used.
#[derive(Clone, Copy)]
pub struct EventId<'a>(IdText<'a>);

#[derive(Clone, Copy)]
enum IdText<'a> {
    Explicit(&'a str),
    Generated([u8; Hyphenated::LENGTH]),
}

impl EventId<'_> {
    /// The text of the id.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            IdText::Explicit(text) => text,
            IdText::Generated(text) => std::str::from_utf8(text).expect("a UUID is ASCII"),
        }
    }
}

impl<'a> From<StoredId<'a>> for EventId<'a> {
    fn from(id: StoredId<'a>) -> EventId<'a> {
        EventId(match id {
            StoredId::Explicit(text) => IdText::Explicit(text),
            StoredId::Generated(uuid) => {
                let mut text = [0; Hyphenated::LENGTH];
                uuid.hyphenated().encode_lower(&mut text);
                IdText::Generated(text)
            }
        })
    }
}

impl Deref for EventId<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for EventId<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for EventId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for EventId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq for EventId<'_> {
    fn eq(&self, other: &EventId<'_>) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for EventId<'_> {}

impl PartialEq<str> for EventId<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for EventId<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(sequence: u64) -> EventParts<'static> {
        EventParts {
            id: "a",
            sequence,
            timestamp: Timestamp::from_micros(-7),
            key: Some("clé"),
            event_type: None,
            metadata: "",
            encoding: Encoding::Json,
            payload: b"{}",
        }
    }

    #[test]
    fn built_events_give_back_what_they_were_built_from() {
        let events = Event::build("s", 3, &[parts(5), EventParts { metadata: r#"{"a":1}"#, payload: b"", ..parts(6) }]);
        assert_eq!(events[0].id(), "a");
        assert_eq!(events[0].generated_id(), None);
        assert_eq!(events[0].stream(), "s");
        assert_eq!(events[0].partition(), 3);
        assert_eq!(events[0].sequence(), 5);
        assert_eq!(events[0].timestamp().as_micros(), -7);
        assert_eq!(events[0].key(), Some("clé"));
        assert_eq!(events[0].event_type(), None);
        assert_eq!(events[0].metadata(), "{}");
        assert_eq!(events[0].payload(), b"{}");
        assert_eq!(events[0].encoding(), Encoding::Json);
        assert_eq!(events[1].metadata(), r#"{"a":1}"#);
        assert_eq!(events[1].payload(), b"");
        let kept = events[1].clone();
        drop(events);
        assert_eq!(kept.key(), Some("clé"));
    }
}
