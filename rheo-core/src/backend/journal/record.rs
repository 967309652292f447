//! A record: the frame around what one operation changed. docs/journal-format.md is the reader's side of this.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | magic |
//! | 4 | CRC-32C of the log's id and of everything behind this field |
//! | 4 | length of the body |
//! | 1 | kind |
//! | 3 | zero |
//! | 8 | position: how many bytes of records lie before this one in the log |
//! | 8 | up to which position the log was synced when this was written |
//! | … | body |
//!
//! Integers are little-endian. The log's id in the checksum keeps the blocks of a file that is gone from passing for
//! records of this one.

/// Begins a record. Not text, and not bytes that numbers or UTF-8 often have in a row.
const MAGIC: [u8; 4] = [0xf7, b'R', 0xe0, 0x01];
pub(super) const HEADER: usize = 32;
/// No record is longer: the largest batch and what surrounds it.
const MAX_BODY: u32 = 256 << 20;

/// Tells the records of a log from those of any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogId {
    bytes: [u8; 16],
    /// With what the checksum of a record begins.
    seed: u32,
}

impl LogId {
    pub(super) fn new(bytes: [u8; 16]) -> LogId {
        LogId { bytes, seed: crc32c::crc32c(&bytes) }
    }

    pub(super) fn bytes(self) -> [u8; 16] {
        self.bytes
    }
}

/// A record as it lies in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) kind: u8,
    pub(super) position: u64,
    pub(super) synced: u64,
    pub(super) body: &'a [u8],
}

impl Record<'_> {
    /// Header and body.
    pub(super) fn len(&self) -> u64 {
        (HEADER + self.body.len()) as u64
    }
}

/// Appends a record to a buffer: room for the header, the body, and then the header.
pub(super) fn push(
    buffer: &mut Vec<u8>,
    log: LogId,
    kind: u8,
    position: u64,
    synced: u64,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = buffer.len();
    buffer.resize(start + HEADER, 0);
    body(buffer);
    let record = &mut buffer[start..];
    let len = u32::try_from(record.len() - HEADER).expect("a record is limited by what an operation may hold");
    record[0..4].copy_from_slice(&MAGIC);
    record[8..12].copy_from_slice(&len.to_le_bytes());
    record[12] = kind;
    record[16..24].copy_from_slice(&position.to_le_bytes());
    record[24..32].copy_from_slice(&synced.to_le_bytes());
    let checksum = crc32c::crc32c_append(log.seed, &record[8..]);
    record[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// How long the record is that a header announces, header included; nothing when it is none.
#[inline]
pub(super) fn announced_len(header: &[u8; HEADER]) -> Option<usize> {
    let len = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
    (header[0..4] == MAGIC && len <= MAX_BODY && header[13..16] == [0; 3]).then_some(HEADER + len as usize)
}

/// The record that a buffer begins with, if it is whole and says of itself that it is this log's.
#[inline]
pub(super) fn read(bytes: &[u8], log: LogId) -> Option<Record<'_>> {
    let header: &[u8; HEADER] = bytes.first_chunk()?;
    let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let record = bytes.get(..announced_len(header)?)?;
    (crc32c::crc32c_append(log.seed, &record[8..]).to_le_bytes() == header[4..8]).then(|| Record {
        kind: header[12],
        position: number(16),
        synced: number(24),
        body: &record[HEADER..],
    })
}

/// Where the next magic may be, from an offset on.
pub(super) fn find_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let found = bytes.get(from..)?.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    Some(from + found)
}
