//! A partition's log: events in chunks, found by sequence.

use crate::chunk::{ChunkReader, ChunkWriter, Record, RecordParts, StoredId};
use crate::event::Event;
use crate::id::IdGenerator;
use crate::timestamp::Timestamp;
use rand::rngs::SmallRng;
use std::collections::VecDeque;
use std::sync::Arc;
use uuid::Uuid;

/// The events of one partition. Finding one takes a binary search over the chunks, of which there is one per MiB.
pub(super) struct Log {
    stream: Arc<str>,
    partition: u32,
    ids: IdGenerator,
    /// In order of sequence; only the last one is still written to.
    segments: VecDeque<Segment>,
    /// The first kept sequence.
    first: u64,
    /// The sequence that the next event gets.
    next: u64,
    /// The first sequence that is not visible: `next`, but while events wait to be stored.
    end: u64,
    bytes: u64,
}

/// One chunk and where its records lie.
struct Segment {
    writer: ChunkWriter,
    /// The sequence of the first record.
    first: u64,
    latest: Timestamp,
}

impl Segment {
    fn end(&self) -> u64 {
        self.first + self.writer.record_count() as u64
    }

    fn event(&self, sequence: u64) -> Event {
        self.writer.event((sequence - self.first) as usize, sequence)
    }

    fn record(&self, sequence: u64) -> Record<'_> {
        self.writer.record((sequence - self.first) as usize)
    }
}

impl Log {
    pub(super) fn new(stream: Arc<str>, partition: u32, random: &mut SmallRng) -> Log {
        Log {
            stream,
            partition,
            ids: IdGenerator::new(partition, random),
            segments: VecDeque::new(),
            first: 1,
            next: 1,
            end: 1,
            bytes: 0,
        }
    }

    /// Gives up every event, for good.
    pub(super) fn clear(&mut self) {
        self.segments.clear();
        (self.first, self.next, self.end, self.bytes) = (1, 1, 1, 0);
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The last visible sequence.
    pub(super) fn high_watermark(&self) -> u64 {
        self.end - 1
    }

    /// The sequence that the next event gets.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Makes the events up to this sequence visible.
    #[inline]
    pub(super) fn publish(&mut self, last: u64) {
        // A stream that was deleted meanwhile has none.
        self.end = self.end.max(last.saturating_add(1).min(self.next));
    }

    /// Takes back the events from this sequence on, none of which is visible.
    pub(super) fn take_back(&mut self, from: u64) {
        let from = from.max(self.end);
        for sequence in from..self.next {
            self.bytes -= self.record(sequence).map_or(0, Record::counted_bytes);
        }
        while let Some(segment) = self.segments.back_mut()
            && segment.end() > from
        {
            if segment.first >= from {
                self.segments.pop_back();
            } else {
                segment.writer.take_back((from - segment.first) as usize);
            }
        }
        self.next = self.next.min(from);
    }

    /// Appends an event of an earlier life, visible at once; says whether its id can be one of this log.
    pub(super) fn restore(&mut self, parts: &RecordParts<'_>) -> bool {
        let fits = match parts.id {
            StoredId::Generated(id) => self.ids.recall(id, self.next),
            StoredId::Explicit(_) => true,
        };
        self.write(parts);
        self.end = self.next;
        fits
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The id that the next event gets if it is given none.
    pub(super) fn next_id(&mut self, now: Timestamp) -> Uuid {
        self.ids.next(now.as_micros(), self.next)
    }

    /// Takes note of an explicit id, so that it is never generated as well.
    pub(super) fn note_explicit_id(&mut self, id: Uuid) {
        self.ids.avoid(id, self.next);
    }

    /// Appends one event, which `publish` makes visible.
    #[inline]
    pub(super) fn push(&mut self, parts: &RecordParts<'_>) -> Event {
        let sequence = self.next;
        self.write(parts).event(sequence)
    }

    /// Appends one event and returns the segment that it is in.
    #[inline]
    fn write(&mut self, parts: &RecordParts<'_>) -> &Segment {
        if !self.segments.back_mut().is_some_and(|segment| segment.writer.push(parts)) {
            self.open_segment(parts);
        }
        let segment = self.segments.back_mut().expect("the record was just written to it");
        segment.latest = segment.latest.max(parts.timestamp);
        self.next += 1;
        self.bytes += parts.counted_bytes();
        segment
    }

    /// Opens a new segment with this record in it.
    #[cold]
    fn open_segment(&mut self, parts: &RecordParts<'_>) {
        let previous = self.segments.back_mut().map_or(0, |segment| {
            segment.writer.shrink();
            segment.writer.capacity()
        });
        let mut writer = ChunkWriter::new(Arc::clone(&self.stream), self.partition, previous, parts);
        assert!(writer.push(parts), "the chunk was made for this record");
        self.segments.push_back(Segment { writer, first: self.next, latest: parts.timestamp });
    }

    /// The segment of an event, visible or not.
    fn segment_of(&self, sequence: u64) -> Option<&Segment> {
        if sequence < self.first || sequence >= self.next {
            return None;
        }
        let last = self.segments.back().filter(|last| last.first <= sequence);
        last.or_else(|| {
            let after = self.segments.partition_point(|segment| segment.first <= sequence);
            self.segments.get(after - 1)
        })
    }

    /// The event at a sequence, visible or not, unless it is trimmed or not there yet.
    pub(super) fn get(&self, sequence: u64) -> Option<Event> {
        self.segment_of(sequence).map(|segment| segment.event(sequence))
    }

    /// A reader that goes on from this sequence.
    pub(super) fn reader(&self, sequence: u64) -> Option<ChunkReader> {
        self.segment_of(sequence).map(|segment| segment.writer.reader((sequence - segment.first) as usize, sequence))
    }

    /// What the event at a sequence holds.
    pub(super) fn record(&self, sequence: u64) -> Option<Record<'_>> {
        self.segment_of(sequence).map(|segment| segment.record(sequence))
    }

    /// The events of a range of sequences (both inclusive, cut to what is kept), at most `limit`, ascending.
    pub(super) fn range(&self, from: u64, to: u64, limit: usize) -> Vec<Event> {
        let from = from.max(self.first);
        let end = to.saturating_add(1).min(self.end).min(from.saturating_add(limit as u64));
        let mut events = Vec::with_capacity(end.saturating_sub(from) as usize);
        let mut sequence = from;
        while sequence < end {
            let segment = self.segment_of(sequence).expect("the range is cut to what is kept");
            let stop = segment.end().min(end);
            events.extend((sequence..stop).map(|sequence| segment.event(sequence)));
            sequence = stop;
        }
        events
    }

    /// The event with this generated id, visible or not, if this log made it and keeps it.
    pub(super) fn find_generated(&self, id: Uuid) -> Option<Event> {
        let event = self.get(self.ids.sequence_of(id))?;
        (event.stored_id() == StoredId::Generated(id)).then_some(event)
    }

    /// The lowest kept sequence whose timestamp is at or after `time`; the one after the last when there is none. Passes
    /// over whole segments that are older.
    pub(super) fn first_at_or_after(&self, time: Timestamp) -> u64 {
        for segment in self.segments.iter().filter(|segment| segment.latest >= time) {
            for sequence in segment.first.max(self.first)..segment.end().min(self.end) {
                if segment.record(sequence).timestamp() >= time {
                    return sequence;
                }
            }
        }
        self.end
    }

    /// The first sequence that stays when all before the first event younger than this time is removed.
    pub(super) fn first_not_older(&self, cutoff: Timestamp) -> u64 {
        self.kept_from(|record| record.timestamp() > cutoff)
    }

    /// The first sequence that stays when at most `max_bytes` are kept.
    pub(super) fn first_within(&self, max_bytes: u64) -> u64 {
        let mut rest = self.bytes;
        self.kept_from(|record| {
            let fits = rest <= max_bytes;
            rest -= record.counted_bytes();
            fits
        })
    }

    fn kept_from(&self, mut stays: impl FnMut(Record<'_>) -> bool) -> u64 {
        for segment in &self.segments {
            for sequence in segment.first.max(self.first)..segment.end().min(self.end) {
                if stays(segment.record(sequence)) {
                    return sequence;
                }
            }
        }
        self.end
    }

    /// Removes every event before `first` (at most the one after the last visible), calling `removed` with each one's position and
    /// id. Memory comes back chunk by chunk.
    pub(super) fn trim(&mut self, first: u64, mut removed: impl FnMut(u64, StoredId<'_>)) {
        while self.first < first {
            let segment = self.segments.front().expect("there are events up to `next`");
            let stop = segment.end().min(first);
            for sequence in self.first..stop {
                let record = segment.record(sequence);
                self.bytes -= record.counted_bytes();
                removed(sequence, record.id());
            }
            self.first = stop;
            if stop == segment.end() {
                self.segments.pop_front();
            }
        }
    }
}
