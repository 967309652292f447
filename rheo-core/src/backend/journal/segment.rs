//! A segment: one file of a log. It begins with a header; the rest is records, one after the other.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | version of the format |
//! | 4 | CRC-32C of the other fields |
//! | 16 | the log's id |
//! | 8 | base: the position of the first record |
//! | 24 | zero |
//!
//! A segment is named after its base. What lies before its base was synced before it was made.

use super::record::LogId;

/// Begins every segment.
const MAGIC: [u8; 8] = *b"RHEOLOG\n";
/// The version that this release writes, and the newest that it reads.
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER: usize = 64;
const SUFFIX: &str = ".log";

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) log: LogId,
    pub(super) base: u64,
}

/// Why a header cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadHeader {
    /// It is not one of ours, or damaged.
    Damaged,
    /// A newer release wrote it.
    Newer(u32),
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.log.bytes());
        bytes[32..40].copy_from_slice(&self.base.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<SegmentHeader, BadHeader> {
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or(BadHeader::Damaged)?;
        let mut unchecked = *header;
        unchecked[12..16].fill(0);
        if header[0..8] != MAGIC || crc32c::crc32c(&unchecked).to_le_bytes() != header[12..16] {
            return Err(BadHeader::Damaged);
        }
        match u32::from_le_bytes(header[8..12].try_into().expect("four bytes")) {
            VERSION => Ok(SegmentHeader {
                log: LogId::new(header[16..32].try_into().expect("sixteen bytes")),
                base: u64::from_le_bytes(header[32..40].try_into().expect("eight bytes")),
            }),
            version => Err(BadHeader::Newer(version)),
        }
    }
}

/// The name of the segment that begins at this position; names sort as positions do.
pub(super) fn name(base: u64) -> String {
    format!("{base:020}{SUFFIX}")
}

/// The position in a segment's name; nothing for other names.
pub(super) fn base_of(file_name: &str) -> Option<u64> {
    let digits = file_name.strip_suffix(SUFFIX)?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}
