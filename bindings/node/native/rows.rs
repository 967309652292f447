//! Events and leases as JavaScript gets them: one text with all payloads, and a row of words for each.
//!
//! Making an object for each event here would cost more than everything else together. So a list of events is
//!
//! - a text: the payloads as one JSON list (as they are where it is only one), then the other texts one after the other;
//! - words: a row for each event, see `WORDS` and `src/rows.ts`;
//! - the payloads that are not in the text: bytes, what is large, and what would break the list.

use crate::home::{COUNT, Home, SCRATCH_ROWS};
use crate::js::{Js, Outcome, Value};
use rheo_core::{Encoding, Event, Lease, LeaseContext, LeaseId, LeaseToken};
use std::rc::Rc;
use std::sync::Arc;

/// How many words a row has …
pub(crate) const WORDS: usize = 29;
/// … of which the first so many are what a settle needs.
pub(crate) const TOKEN_WORDS: usize = 9;

const PARTITION: usize = 0;
const SEQUENCE: usize = 1;
const LEASE_ID: usize = 3;
const LEASE_MS: usize = 7;
const FLAGS: usize = 9;
const TIMESTAMP: usize = 10;
const EVENT_ID: usize = 12;
const ATTEMPT: usize = 16;
const LEASED_AT: usize = 17;
const EXPIRES_AT: usize = 19;
/// Where the payload begins in the text, or its place among those that are apart.
const PAYLOAD: usize = 21;
const PAYLOAD_LENGTH: usize = 22;
/// Where the other texts begin; their lengths follow: id, key, type, metadata, receipt.
const TEXTS: usize = 23;
const LENGTHS: usize = 24;

const IS_JSON: i32 = 1;
const IS_APART: i32 = 2;
const HAS_ID: i32 = 4;
const HAS_KEY: i32 = 8;
const HAS_TYPE: i32 = 16;
const HAS_METADATA: i32 = 32;
const HAS_RECEIPT: i32 = 64;
const IS_DEDUPLICATED: i32 = 128;

/// From how many bytes on a payload is lent as it is instead of being copied: below, a copy costs less than a loan.
const LENT_BYTES: usize = 16 << 10;

/// What is kept of the memory that rows are built in.
const KEPT_BYTES: usize = 1 << 20;

/// An event, and the lease that it came under.
pub(crate) type Row<'a> = (&'a Event, Option<&'a Lease>);

/// Memory to build in.
#[derive(Default)]
pub(crate) struct Encoder {
    text: Vec<u8>,
    /// The other texts, which come behind the payloads.
    texts: Vec<u8>,
    apart: Vec<Event>,
}

fn put_long(row: &mut [i32], at: usize, long: u64) {
    row[at] = long as i32;
    row[at + 1] = (long >> 32) as i32;
}

fn long(row: &[i32], at: usize) -> u64 {
    u64::from(row[at] as u32) | (u64::from(row[at + 1] as u32) << 32)
}

fn put_bytes(row: &mut [i32], at: usize, bytes: [u8; 16]) {
    for (word, bytes) in row[at..at + 4].iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = i32::from_be_bytes(*bytes);
    }
}

/// How long a text of UTF-8 is for JavaScript.
pub(crate) fn utf16_len(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.iter().map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(*byte >= 0xf0)).sum()
}

/// Writes what an event says of itself without texts. False when its id is no UUID, and so has to be a text.
#[inline]
pub(crate) fn put_position(row: &mut [i32], event: &Event) -> bool {
    let row = &mut row[..WORDS];
    row[PARTITION] = event.partition() as i32;
    put_long(row, SEQUENCE, event.sequence());
    put_long(row, TIMESTAMP, event.timestamp().as_micros() as u64);
    row[FLAGS] = IS_JSON;
    match event.generated_id().or_else(|| uuid_bytes(&event.id())) {
        Some(bytes) => put_bytes(row, EVENT_ID, bytes),
        None => return false,
    }
    true
}

/// The bytes of a text that is a UUID as we write it: 36 characters, lower case.
fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut digits = text.iter().enumerate().filter(|(at, _)| !matches!(at, 8 | 13 | 18 | 23)).map(|(_, byte)| byte);
    let mut digit = || match digits.next()? {
        byte @ b'0'..=b'9' => Some(byte - b'0'),
        byte @ b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = (digit()? << 4) | digit()?;
    }
    [8, 13, 18, 23].iter().all(|at| text[*at] == b'-').then_some(bytes)
}

/// Writes where the payload of a row lies in a text that JavaScript has.
pub(crate) fn put_payload(row: &mut [i32], start: usize, length: usize) {
    row[PAYLOAD] = start as i32;
    row[PAYLOAD_LENGTH] = length as i32;
    row[TEXTS] = 0;
}

/// The token that a row speaks of.
#[inline]
pub(crate) fn token(row: &[i32], context: &Arc<LeaseContext>) -> LeaseToken {
    let mut id = [0; 16];
    for (bytes, word) in id.as_chunks_mut::<4>().0.iter_mut().zip(&row[LEASE_ID..LEASE_ID + 4]) {
        *bytes = word.to_be_bytes();
    }
    let (partition, sequence, lease_ms) = (row[PARTITION] as u32, long(row, SEQUENCE), long(row, LEASE_MS));
    LeaseToken::new(Arc::clone(context), partition, sequence, LeaseId::from_bytes(id), None, lease_ms)
}

impl Encoder {
    fn encode<'a>(&mut self, rows: impl ExactSizeIterator<Item = Row<'a>>, words: &mut [i32]) {
        self.text.clear();
        self.texts.clear();
        self.apart.clear();
        let is_list = rows.len() > 1;
        // Positions are JavaScript's: UTF-16. As long as all is ASCII, bytes are the same.
        let (mut position, mut texts_position) = (0, 0);
        if is_list {
            self.text.push(b'[');
            position += 1;
        }
        for (index, ((event, lease), row)) in rows.zip(words.chunks_exact_mut(WORDS)).enumerate() {
            if is_list && index > 0 {
                self.text.push(b',');
                position += 1;
            }
            let mut flags = 0;
            if !put_position(row, event) {
                flags |= HAS_ID;
            }
            let payload = event.payload();
            let is_json = event.encoding() == Encoding::Json;
            if is_json {
                flags |= IS_JSON;
            }
            let fits = is_json
                && payload.len() < LENT_BYTES
                && (!is_list || crate::scan::stands_for_one(payload))
                && (payload.is_ascii() || std::str::from_utf8(payload).is_ok());
            if fits {
                let length = utf16_len(payload);
                put_payload(row, position, length);
                self.text.extend_from_slice(payload);
                position += length;
            } else {
                flags |= IS_APART;
                put_payload(row, self.apart.len(), payload.len());
                self.apart.push(event.clone());
                if is_list {
                    self.text.push(b'0');
                    position += 1;
                }
            }
            row[TEXTS] = texts_position as i32;
            row[LENGTHS..].fill(0);
            let id = (flags & HAS_ID != 0).then(|| event.id());
            let metadata = Some(event.metadata()).filter(|metadata| *metadata != "{}");
            let texts = [(HAS_KEY, event.key()), (HAS_TYPE, event.event_type()), (HAS_METADATA, metadata)];
            if let Some(id) = &id {
                texts_position += self.put_text(row, 0, id.as_str());
            }
            for (at, (flag, text)) in texts.into_iter().enumerate() {
                if let Some(text) = text {
                    flags |= flag;
                    texts_position += self.put_text(row, at + 1, text);
                }
            }
            if event.deduplicated() {
                flags |= IS_DEDUPLICATED;
            }
            if let Some(lease) = lease {
                put_bytes(row, LEASE_ID, lease.lease_id().to_bytes());
                put_long(row, LEASE_MS, lease.lease_ms());
                row[ATTEMPT] = lease.attempt() as i32;
                put_long(row, LEASED_AT, lease.leased_at().as_micros() as u64);
                put_long(row, EXPIRES_AT, lease.expires_at().as_micros() as u64);
                if let Some(receipt) = lease.token().own_receipt() {
                    flags |= HAS_RECEIPT;
                    texts_position += self.put_text(row, 4, receipt);
                }
            } else {
                row[LEASE_ID..FLAGS].fill(0);
                row[ATTEMPT..PAYLOAD].fill(0);
            }
            row[FLAGS] = flags;
        }
        if is_list {
            self.text.push(b']');
            position += 1;
        }
        if texts_position > 0 {
            for row in words.chunks_exact_mut(WORDS) {
                row[TEXTS] += position as i32;
            }
            self.text.extend_from_slice(&self.texts);
        }
    }

    /// Appends a text and gives its length in JavaScript.
    fn put_text(&mut self, row: &mut [i32], at: usize, text: &str) -> usize {
        let length = utf16_len(text.as_bytes());
        row[LENGTHS + at] = length as i32;
        self.texts.extend_from_slice(text.as_bytes());
        length
    }

    fn text(&self, js: Js) -> Outcome<Value> {
        // SAFETY: everything put there was checked to be UTF-8, or was a `str`.
        js.string(unsafe { std::str::from_utf8_unchecked(&self.text) })
    }

    fn apart(&mut self, js: Js) -> Outcome<Value> {
        if self.apart.is_empty() {
            return js.undefined();
        }
        let buffer = |event: &Event| {
            let payload = event.payload();
            if payload.len() < LENT_BYTES { js.buffer_copy(payload) } else { js.buffer_of(event) }
        };
        let buffers = self.apart.iter().map(buffer).collect::<Outcome<Vec<Value>>>()?;
        self.apart.clear();
        js.array(&buffers)
    }

    fn tidy(&mut self) {
        self.text.shrink_to(KEPT_BYTES);
        self.texts.shrink_to(KEPT_BYTES);
    }
}

/// Rows for at once: their words in the scratch memory, and the text; or, where they do not fit there, as `to_list`.
pub(crate) fn to_scratch<'a>(home: &Rc<Home>, js: Js, rows: impl ExactSizeIterator<Item = Row<'a>>) -> Outcome<Value> {
    let count = rows.len();
    if count > SCRATCH_ROWS {
        return to_list(home, js, rows, None);
    }
    let mut encoder = home.encoder.borrow_mut();
    home.with_scratch(|words| encoder.encode(rows, &mut words[..count * WORDS]));
    home.set_head(COUNT, count as i32);
    let text = encoder.text(js)?;
    if encoder.apart.is_empty() {
        encoder.tidy();
        return Ok(text);
    }
    let undefined = js.undefined()?;
    let list = js.array(&[text, undefined, encoder.apart(js)?]);
    encoder.tidy();
    list
}

/// Rows to keep: a list of the text, memory with the words, the payloads apart, and another text.
pub(crate) fn to_list<'a>(
    home: &Rc<Home>,
    js: Js,
    rows: impl ExactSizeIterator<Item = Row<'a>>,
    other: Option<&str>,
) -> Outcome<Value> {
    let words = rows.len() * WORDS;
    let (memory, start) = js.array_buffer(words * size_of::<i32>())?;
    let mut encoder = home.encoder.borrow_mut();
    if words > 0 {
        // SAFETY: the memory is new, so nobody else uses it, and has so many words.
        encoder.encode(rows, unsafe { std::slice::from_raw_parts_mut(start, words) });
    } else {
        encoder.text.clear();
        encoder.apart.clear();
    }
    let other = match other {
        Some(other) => js.string(other)?,
        None => js.undefined()?,
    };
    let list = js.array(&[encoder.text(js)?, memory, encoder.apart(js)?, other]);
    encoder.tidy();
    list
}
