//! Where a page of `query_page` ended, as opaque text.

use crate::error::{Error, Result};
use crate::lease::checksum;
use crate::limits::truncated;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The first byte of every cursor; another form gets another number.
const VERSION: u8 = 1;

/// One position per partition: the sequence after which the next page begins.
///
/// The text form is URL-safe base64 of the version, a checksum, the number of partitions and the positions, both
/// as LEB128. The checksum tells a damaged cursor from a whole one; it is no signature, and needs none: a forged
/// cursor reads what its holder may read anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageCursor {
    positions: Vec<u64>,
}

impl PageCursor {
    /// A cursor at these positions, by partition.
    pub(crate) fn new(positions: Vec<u64>) -> PageCursor {
        PageCursor { positions }
    }

    /// The text form.
    pub(crate) fn to_text(&self) -> String {
        let mut content = Vec::with_capacity(8 + 4 * self.positions.len());
        put_varint(&mut content, self.positions.len() as u64);
        for position in &self.positions {
            put_varint(&mut content, *position);
        }
        let mut bytes = Vec::with_capacity(5 + content.len());
        bytes.push(VERSION);
        bytes.extend(checksum(&content).to_le_bytes());
        bytes.extend(content);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// `invalid_argument` for text that is no whole cursor.
    pub(crate) fn parse(text: &str) -> Result<PageCursor> {
        let positions = || {
            let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
            let mut content = verified(&bytes)?;
            let count = take_varint(&mut content)?;
            // Each position takes a byte at least, so that a forged count allocates nothing.
            let positions: Vec<u64> = (0..count).map_while(|_| take_varint(&mut content)).collect();
            (positions.len() as u64 == count && content.is_empty()).then_some(positions)
        };
        positions().map(|positions| PageCursor { positions }).ok_or_else(|| {
            let shown = truncated(text, 80);
            Error::invalid(format!("{shown:?} is not a cursor; pass the next_cursor that the last page gave"))
        })
    }

    /// By partition, the sequence after which the next page begins, in a stream of so many partitions.
    ///
    /// # Errors
    /// `invalid_argument` for a cursor over another number of partitions.
    pub(crate) fn over(self, partition_count: u32) -> Result<Vec<u64>> {
        if self.positions.len() == partition_count as usize {
            return Ok(self.positions);
        }
        Err(Error::invalid(format!(
            "the cursor is over {} partitions, the stream has {partition_count}; pass a cursor to the stream it came from",
            self.positions.len()
        )))
    }
}

/// What follows the version and the checksum, if both are right.
fn verified(bytes: &[u8]) -> Option<&[u8]> {
    let (version, rest) = bytes.split_first()?;
    let (sum, content) = rest.split_first_chunk::<4>()?;
    (*version == VERSION && checksum(content) == u32::from_le_bytes(*sum)).then_some(content)
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, partition_count: u32) -> Result<Vec<u64>> {
        PageCursor::parse(text)?.over(partition_count)
    }

    use crate::error::ErrorCode;

    fn text_of(content: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode([&[VERSION], &checksum(content).to_le_bytes()[..], content].concat())
    }

    #[test]
    fn cursors_survive_text() {
        let all: [&[u64]; 4] = [&[0], &[1, 127, 128, 300, u64::from(u32::MAX)], &[u64::MAX; 3], &[7; 65_536]];
        for positions in all {
            let cursor = PageCursor::new(positions.to_vec());
            let read = parse(&cursor.to_text(), positions.len() as u32).unwrap();
            assert_eq!(read, positions);
        }
        assert_eq!(PageCursor::new(vec![1, 300]).to_text(), text_of(&[2, 1, 0xac, 2]));
    }

    #[test]
    fn any_damage_makes_a_cursor_malformed() {
        let text = PageCursor::new(vec![5, 1_000_000, 0]).to_text();
        for cut in 0..text.len() {
            assert_eq!(parse(&text[..cut], 3).unwrap_err().code(), ErrorCode::InvalidArgument);
        }
        for at in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            assert!(parse(std::str::from_utf8(&damaged).unwrap(), 3).is_err(), "damaged at {at}");
        }
        for text in [format!("{text}AAAA"), format!("{text}="), format!(" {text}"), "é".repeat(100)] {
            assert!(parse(&text, 3).is_err(), "{text}");
        }
    }

    #[test]
    fn a_right_checksum_saves_no_wrong_content() {
        let count: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0x0f];
        for content in [&[][..], &[2, 1], &[2, 1, 2, 3], &[2, 1, 0x80], &[&[1][..], &[0xff; 10]].concat(), count] {
            assert!(parse(&text_of(content), 2).is_err(), "{content:?}");
            assert!(parse(&text_of(content), 1).is_err(), "{content:?}");
            assert!(parse(&text_of(content), u32::MAX).is_err(), "{content:?}");
        }
    }

    #[test]
    fn a_cursor_of_another_stream_says_so() {
        let error = parse(&PageCursor::new(vec![1, 2]).to_text(), 4).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().contains("2 partitions") && error.message().contains("has 4"), "{error}");
    }
}
