//! Where event bytes live: chunks of memory, shared by reference counts, filled once from the front
//! and never changed afterwards. What is `unsafe` elsewhere is listed in docs/safety.md.
//!
//! A chunk belongs to one partition of one stream and says so, so that an [`Event`](crate::Event) is a
//! reference to its chunk and an offset: reading, leasing and handing out payloads copies nothing.
//! A slice that is held keeps its whole chunk (at most [`MAX_CHUNK`], or one larger record) alive.
//!
//! One record, integers in little-endian order:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | timestamp, microseconds since the epoch |
//! | 4 | payload length |
//! | 4 | metadata length, top bit: the payload is tagged `json` |
//! | 2 | key length, 0: none |
//! | 1 | type length, 0: none |
//! | 1 | id length, 0: a generated id of 16 bytes |
//! | … | id, key, type, metadata, payload |

use crate::append::Encoding;
use crate::event::Event;
use crate::timestamp::Timestamp;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// The first chunk of a partition, so that a stream of many quiet partitions stays small.
const MIN_CHUNK: usize = 4 << 10;
/// The size that chunks double up to.
pub(crate) const MAX_CHUNK: usize = 1 << 20;

const HEADER: usize = 20;
const GENERATED_ID: usize = 16;
const JSON_FLAG: u32 = 1 << 31;

/// An event's id as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredId<'a> {
    /// Made by the store; 16 bytes, written as a UUID where text is wanted.
    Generated(Uuid),
    /// Given by the producer; any text.
    Explicit(&'a str),
}

/// What a record is made of.
#[derive(Clone, Copy)]
pub(crate) struct RecordParts<'a> {
    pub id: StoredId<'a>,
    pub timestamp: Timestamp,
    pub key: Option<&'a str>,
    pub event_type: Option<&'a str>,
    /// The text of a JSON object; empty stands for `{}`.
    pub metadata: &'a str,
    pub encoding: Encoding,
    pub payload: &'a [u8],
}

impl RecordParts<'_> {
    /// Bytes as `stream_info` counts them: payload, metadata, id (as text), key and type.
    pub(crate) fn counted_bytes(&self) -> u64 {
        let generated = if matches!(self.id, StoredId::Generated(_)) { Hyphenated::LENGTH - GENERATED_ID } else { 0 };
        (self.encoded_len() - HEADER + generated) as u64
    }

    /// The parts of the record that bytes begin with, and what is behind it; nothing when they are no record. Trusts
    /// nothing.
    #[inline]
    pub(crate) fn decode(bytes: &[u8]) -> Option<(RecordParts<'_>, &[u8])> {
        fn text(bytes: &[u8]) -> Option<&str> {
            // Most have no key, no type and no metadata.
            if bytes.is_empty() { Some("") } else { str::from_utf8(bytes).ok() }
        }
        let (header, mut rest) = bytes.split_first_chunk::<HEADER>()?;
        let short = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let mut take = |len: usize| {
            let (taken, behind) = rest.split_at_checked(len)?;
            rest = behind;
            Some(taken)
        };
        let id = match header[19] {
            0 => StoredId::Generated(Uuid::from_slice(take(GENERATED_ID)?).ok()?),
            len => StoredId::Explicit(text(take(len.into())?)?),
        };
        let key = text(take(u16::from_le_bytes([header[16], header[17]]).into())?)?;
        let event_type = text(take(header[18].into())?)?;
        let metadata = text(take((short(12) & !JSON_FLAG) as usize)?)?;
        let payload = take(short(8) as usize)?;
        let parts = RecordParts {
            id,
            timestamp: Timestamp::from_micros(i64::from_le_bytes(header[0..8].try_into().expect("eight bytes"))),
            key: Some(key).filter(|key| !key.is_empty()),
            event_type: Some(event_type).filter(|event_type| !event_type.is_empty()),
            metadata,
            encoding: if short(12) & JSON_FLAG != 0 { Encoding::Json } else { Encoding::Bytes },
            payload,
        };
        Some((parts, rest))
    }

    fn encoded_len(&self) -> usize {
        let id = match self.id {
            StoredId::Generated(_) => GENERATED_ID,
            StoredId::Explicit(text) => text.len(),
        };
        HEADER
            + id
            + self.key.map_or(0, str::len)
            + self.event_type.map_or(0, str::len)
            + self.metadata.len()
            + self.payload.len()
    }
}

/// A piece of memory that holds records of one partition.
///
/// On cache lines of its own: every append and every reference to an event changes it, and the next chunk is usually
/// another partition's.
#[repr(align(128))]
pub(crate) struct Chunk {
    stream: Arc<str>,
    partition: u32,
    start: NonNull<MaybeUninit<u8>>,
    capacity: usize,
    /// So many bytes from the start on are whole records. Written by the one writer, after them.
    written: AtomicUsize,
}

// SAFETY: the memory is owned by the chunk. Only the one `ChunkWriter` writes, and only to bytes that
// no `Record` covers yet; a `Record` covers bytes that were written before it was made and that are
// never written again. A record reaches another thread only through something that synchronises (a lock
// or a channel), which also orders the writes before the reads.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn new(stream: Arc<str>, partition: u32, capacity: usize) -> Chunk {
        let memory: Box<[MaybeUninit<u8>]> = Box::new_uninit_slice(capacity);
        let start = NonNull::from(Box::leak(memory)).cast();
        Chunk { stream, partition, start, capacity, written: AtomicUsize::new(0) }
    }

    pub(crate) fn stream(&self) -> &Arc<str> {
        &self.stream
    }

    pub(crate) fn partition(&self) -> u32 {
        self.partition
    }

    /// The record at `offset`.
    ///
    /// # Safety
    /// `ChunkWriter::push` of this chunk's writer wrote a record at `offset`.
    pub(crate) unsafe fn record(&self, offset: u32) -> Record<'_> {
        debug_assert!((offset as usize) + HEADER <= self.capacity);
        // SAFETY: a whole record lies at `offset`, inside the chunk.
        let start = unsafe { self.start.add(offset as usize).cast() };
        Record { start, chunk: PhantomData }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let memory = NonNull::slice_from_raw_parts(self.start, self.capacity);
        // SAFETY: the memory came from a leaked box of this very length, and nobody else refers to it.
        drop(unsafe { Box::from_raw(memory.as_ptr()) });
    }
}

/// The one writer of a chunk, which knows where each record lies.
pub(crate) struct ChunkWriter {
    chunk: Arc<Chunk>,
    /// Bytes written.
    len: usize,
    /// Where each record begins.
    offsets: Vec<u32>,
}

impl ChunkWriter {
    /// A writer of a new chunk that holds at least one record of these parts. `previous` is the capacity of
    /// the partition's chunk before (0 for the first).
    pub(crate) fn new(stream: Arc<str>, partition: u32, previous: usize, parts: &RecordParts<'_>) -> ChunkWriter {
        let usual = (previous * 2).clamp(MIN_CHUNK, MAX_CHUNK);
        ChunkWriter::with_capacity(stream, partition, usual.max(parts.encoded_len()))
    }

    /// A writer of a new chunk of exactly these records' size.
    pub(crate) fn for_records(stream: Arc<str>, partition: u32, records: &[RecordParts<'_>]) -> ChunkWriter {
        ChunkWriter::with_capacity(stream, partition, records.iter().map(RecordParts::encoded_len).sum())
    }

    fn with_capacity(stream: Arc<str>, partition: u32, capacity: usize) -> ChunkWriter {
        ChunkWriter { chunk: Arc::new(Chunk::new(stream, partition, capacity)), len: 0, offsets: Vec::new() }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.chunk.capacity
    }

    /// The number of records.
    pub(crate) fn record_count(&self) -> usize {
        self.offsets.len()
    }

    /// The record of this index. Panics beyond the last, as indexing does.
    pub(crate) fn record(&self, index: usize) -> Record<'_> {
        // SAFETY: the offset was noted by `push`, when a whole record lay there.
        unsafe { self.chunk.record(self.offsets[index]) }
    }

    /// The record of this index as an event with this sequence. Panics beyond the last, as indexing does.
    pub(crate) fn event(&self, index: usize, sequence: u64) -> Event {
        // SAFETY: as above.
        unsafe { Event::in_chunk(&self.chunk, self.offsets[index], sequence) }
    }

    /// A reader that goes on from the record of this index, whose sequence this is.
    pub(crate) fn reader(&self, index: usize, sequence: u64) -> ChunkReader {
        ChunkReader { chunk: Arc::clone(&self.chunk), offset: self.offsets[index], sequence }
    }

    /// Takes back the records from this index on, which nobody has seen, and writes no more: their bytes stay as they
    /// are, for whoever holds one of them.
    pub(crate) fn take_back(&mut self, index: usize) {
        let Some(&offset) = self.offsets.get(index) else { return };
        self.offsets.truncate(index);
        self.len = self.chunk.capacity;
        self.chunk.written.store(offset as usize, Ordering::Release);
    }

    /// Gives back what the list of records has in reserve, once nothing more is written.
    pub(crate) fn shrink(&mut self) {
        self.offsets.shrink_to_fit();
    }

    /// Writes one record and says whether it still fitted.
    ///
    /// Panics when a length is beyond what the header holds, which is above the contract's limits: the facade has
    /// checked these, but a backend may be called without it.
    #[inline]
    pub(crate) fn push(&mut self, parts: &RecordParts<'_>) -> bool {
        let len = parts.encoded_len();
        if self.chunk.capacity - self.len < len {
            return false;
        }
        let short = |len: usize| u8::try_from(len).expect("an id or a type has at most 255 bytes");
        let key = parts.key.unwrap_or("");
        let event_type = parts.event_type.unwrap_or("");
        let json = if parts.encoding == Encoding::Json { JSON_FLAG } else { 0 };
        // With a generated id, the usual case, header and id are written in one piece of a length known here.
        let mut head = [0u8; HEADER + GENERATED_ID];
        head[0..8].copy_from_slice(&parts.timestamp.as_micros().to_le_bytes());
        let payload_len = u32::try_from(parts.payload.len()).expect("a payload has less than 4 GiB");
        let metadata_len = u32::try_from(parts.metadata.len()).expect("metadata has less than 2 GiB");
        assert!(metadata_len & JSON_FLAG == 0, "metadata has less than 2 GiB");
        let key_len = u16::try_from(key.len()).expect("a key has less than 64 KiB");
        let offset = u32::try_from(self.len).expect("a chunk has less than 4 GiB");
        head[8..12].copy_from_slice(&payload_len.to_le_bytes());
        head[12..16].copy_from_slice(&(metadata_len | json).to_le_bytes());
        head[16..18].copy_from_slice(&key_len.to_le_bytes());
        head[18] = short(event_type.len());
        if let StoredId::Explicit(id) = parts.id {
            assert!(!id.is_empty(), "an explicit id has at least one byte");
            head[19] = short(id.len());
        }

        // SAFETY: `len` bytes from `offset` on lie inside the chunk (checked above) and beyond every record
        // pushed so far; `&mut self` is the chunk's one writer. The pieces add up to `len`.
        unsafe {
            let mut at: *mut u8 = self.chunk.start.as_ptr().add(self.len).cast();
            match parts.id {
                StoredId::Generated(id) => {
                    head[HEADER..].copy_from_slice(&id.as_u128().to_be_bytes());
                    put(&mut at, &head);
                }
                StoredId::Explicit(id) => {
                    put(&mut at, &head[..HEADER]);
                    put(&mut at, id.as_bytes());
                }
            }
            for piece in [key.as_bytes(), event_type.as_bytes(), parts.metadata.as_bytes()] {
                if !piece.is_empty() {
                    put(&mut at, piece);
                }
            }
            put(&mut at, parts.payload);
        }
        self.len += len;
        self.chunk.written.store(self.len, Ordering::Release);
        self.offsets.push(offset);
        true
    }
}

/// Reads the records of a chunk one after the other, without a lock, also while more are written.
pub(crate) struct ChunkReader {
    chunk: Arc<Chunk>,
    /// Where the next record begins: an offset of one, or the end of the last.
    offset: u32,
    /// The next record's sequence.
    sequence: u64,
}

impl ChunkReader {
    /// The next event, if it has this sequence and lies in this chunk.
    #[inline]
    pub(crate) fn next(&mut self, sequence: u64) -> Option<Event> {
        let offset = self.offset;
        if self.sequence != sequence || offset as usize >= self.chunk.written.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: records lie back to back, so one begins where another ended; this one was written before `written`
        // went beyond its beginning.
        let (event, record) = unsafe { (Event::in_chunk(&self.chunk, offset, sequence), self.chunk.record(offset)) };
        self.offset += record.encoded_len() as u32;
        self.sequence += 1;
        Some(event)
    }
}

/// Copies a piece and moves on behind it.
///
/// # Safety
/// So many bytes may be written from `at` on.
#[inline]
unsafe fn put(at: &mut *mut u8, piece: &[u8]) {
    // SAFETY: required of the caller; what is read and what is written cannot overlap, since nobody has a reference to
    // what is not written yet.
    unsafe {
        std::ptr::copy_nonoverlapping(piece.as_ptr(), *at, piece.len());
        *at = at.add(piece.len());
    }
}

/// One record in its chunk: written whole, never changed again.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    start: NonNull<u8>,
    chunk: PhantomData<&'a Chunk>,
}

impl<'a> Record<'a> {
    fn header(self) -> &'a [u8; HEADER] {
        // SAFETY: a record begins with its header, and the chunk lives for `'a`.
        unsafe { self.start.cast().as_ref() }
    }

    fn body(self, offset: usize, len: usize) -> &'a [u8] {
        // SAFETY: the header's lengths were written by `push` together with a body of just these lengths,
        // which follows the header in the same chunk and lives as long as it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(HEADER + offset), len) }
    }

    fn text(self, offset: usize, len: usize) -> &'a str {
        // SAFETY: these bytes were copied from a `&str`.
        unsafe { std::str::from_utf8_unchecked(self.body(offset, len)) }
    }

    fn u32_at(self, at: usize) -> u32 {
        u32::from_le_bytes(self.header()[at..at + 4].try_into().expect("four bytes"))
    }

    fn id_len(self) -> usize {
        match self.header()[19] {
            0 => GENERATED_ID,
            len => len as usize,
        }
    }

    fn key_len(self) -> usize {
        u16::from_le_bytes([self.header()[16], self.header()[17]]) as usize
    }

    fn type_len(self) -> usize {
        self.header()[18] as usize
    }

    fn metadata_len(self) -> usize {
        (self.u32_at(12) & !JSON_FLAG) as usize
    }

    fn payload_len(self) -> usize {
        self.u32_at(8) as usize
    }

    pub(crate) fn timestamp(self) -> Timestamp {
        Timestamp::from_micros(i64::from_le_bytes(self.header()[0..8].try_into().expect("eight bytes")))
    }

    pub(crate) fn encoding(self) -> Encoding {
        if self.u32_at(12) & JSON_FLAG != 0 { Encoding::Json } else { Encoding::Bytes }
    }

    pub(crate) fn id(self) -> StoredId<'a> {
        match self.header()[19] {
            0 => StoredId::Generated(Uuid::from_bytes(self.body(0, GENERATED_ID).try_into().expect("sixteen bytes"))),
            len => StoredId::Explicit(self.text(0, len as usize)),
        }
    }

    pub(crate) fn key(self) -> Option<&'a str> {
        let len = self.key_len();
        (len > 0).then(|| self.text(self.id_len(), len))
    }

    pub(crate) fn event_type(self) -> Option<&'a str> {
        let len = self.type_len();
        (len > 0).then(|| self.text(self.id_len() + self.key_len(), len))
    }

    pub(crate) fn metadata(self) -> &'a str {
        match self.metadata_len() {
            0 => "{}",
            len => self.text(self.id_len() + self.key_len() + self.type_len(), len),
        }
    }

    pub(crate) fn payload(self) -> &'a [u8] {
        let before = self.id_len() + self.key_len() + self.type_len() + self.metadata_len();
        self.body(before, self.payload_len())
    }

    /// The whole record, as [`RecordParts::decode`] reads it.
    pub(crate) fn encoded(self) -> &'a [u8] {
        // SAFETY: header and body follow each other in one chunk, as said in `body`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.encoded_len()) }
    }

    fn encoded_len(self) -> usize {
        HEADER + self.id_len() + self.key_len() + self.type_len() + self.metadata_len() + self.payload_len()
    }

    /// As [`RecordParts::counted_bytes`].
    pub(crate) fn counted_bytes(self) -> u64 {
        let id = match self.header()[19] {
            0 => Hyphenated::LENGTH,
            len => len as usize,
        };
        (id + self.key_len() + self.type_len() + self.metadata_len() + self.payload_len()) as u64
    }
}
