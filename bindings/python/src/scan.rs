//! Looking for what needs care in the text of a JSON string, eight bytes at a time.

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// How many bytes from the start are neither a quote, nor a backslash, nor a control character.
#[inline]
pub fn plain_len(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = special(u64::from_le_bytes(*word));
        if marks != 0 {
            return index * 8 + (marks.trailing_zeros() / 8) as usize;
        }
    }
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    words.len() * 8 + rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len())
}

/// A high bit in the first byte of the word that is special, and perhaps in some behind it.
#[inline]
fn special(word: u64) -> u64 {
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * u64::from(b'"'));
    let backslash = word ^ (ONES * u64::from(b'\\'));
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    (below_space | zero(quote) | zero(backslash)) & HIGHS
}
