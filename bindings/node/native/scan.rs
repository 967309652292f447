//! Where one value of a JSON text ends, without decoding it.

const PLAIN: u8 = 0;
const QUOTE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;
const COMMA: u8 = 4;

static KINDS: [u8; 256] = {
    let mut kinds = [PLAIN; 256];
    kinds[b'"' as usize] = QUOTE;
    kinds[b'{' as usize] = OPEN;
    kinds[b'[' as usize] = OPEN;
    kinds[b'}' as usize] = CLOSE;
    kinds[b']' as usize] = CLOSE;
    kinds[b',' as usize] = COMMA;
    kinds
};

/// Where the value that begins at `start` ends: at a comma or a closing bracket of what is around it, or at the end of
/// the text. Nothing when the text ends within the value.
#[inline]
pub(crate) fn end_of_value(text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_u32);
    while let Some(&byte) = text.get(at) {
        match KINDS[byte as usize] {
            PLAIN => {}
            QUOTE => at = end_of_string(text, at + 1)?,
            OPEN => depth += 1,
            CLOSE if depth == 0 => return Some(at),
            CLOSE => depth -= 1,
            _ if depth == 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
    (depth == 0).then_some(at)
}

/// Where the quotation mark is that ends the string.
#[inline]
fn end_of_string(text: &[u8], mut at: usize) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    loop {
        // Eight bytes at a time, up to the first quotation mark or backslash.
        while let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*bytes);
            let found = has_zero(word ^ (LOW * b'"' as u64)) | has_zero(word ^ (LOW * b'\\' as u64));
            if found != 0 {
                at += found.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match *text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Whether a text, put between two commas of a JSON list, is there for one element if the list parses at all: it cannot
/// be told apart from several, or take in its neighbours.
#[inline]
pub(crate) fn stands_for_one(text: &[u8]) -> bool {
    !text.is_empty() && end_of_value(text, 0) == Some(text.len())
}
