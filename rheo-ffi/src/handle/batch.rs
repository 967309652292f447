//! The events of a batch, collected one after the other, with all their bytes.

use super::invalid;
use rheo_core::{Append, AppendOptions, Error, ErrorCode, Result, limits};

/// How much memory the batch takes at a time. What is larger gets memory of its own.
const BLOCK_BYTES: usize = 64 << 10;

/// Events to append together. Owns copies of their payloads and texts, and keeps its memory when it is cleared (but
/// for payloads above 64 KiB), so that filling it again allocates nothing. Appending it builds nothing: the items lie
/// ready as the core takes them.
#[derive(Default)]
pub struct Batch {
    /// Refers into `blocks` and `large`; `'static` stands for "until they are cleared".
    items: Vec<Append<'static>>,
    /// Filled one after the other; a block never grows.
    blocks: Vec<Vec<u8>>,
    /// The block that is being filled.
    current: usize,
    /// What is larger than a block.
    large: Vec<Box<[u8]>>,
    /// As the limit counts them.
    bytes: usize,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Adds an event, copying its bytes. Names and metadata are checked when the batch is appended.
    ///
    /// # Errors
    /// `payload_too_large` above 16 MiB; `invalid_argument` when the batch would go beyond 10,000 events or 64 MiB.
    /// Nothing is added then.
    pub fn push(&mut self, item: &Append<'_>) -> Result<()> {
        if item.payload.len() > limits::MAX_PAYLOAD_BYTES {
            let (len, most) = (item.payload.len(), limits::MAX_PAYLOAD_BYTES);
            return Err(Error::new(
                ErrorCode::PayloadTooLarge,
                format!("the payload has {len} bytes; it takes at most {most}: store the content elsewhere"),
            ));
        }
        if self.items.len() == limits::MAX_BATCH_ITEMS {
            let (events, most) = (self.items.len() + 1, limits::MAX_BATCH_ITEMS);
            return Err(invalid(format!(
                "the batch would have {events} events; it takes at most {most}: append it first"
            )));
        }
        let bytes = self.bytes + item.counted_bytes();
        if bytes > limits::MAX_BATCH_BYTES {
            let most = limits::MAX_BATCH_BYTES;
            return Err(invalid(format!(
                "the batch would have {bytes} bytes; it takes at most {most}: append it first"
            )));
        }
        self.bytes = bytes;
        let options = item.options;
        let owned = Append {
            payload: self.keep(item.payload),
            encoding: item.encoding,
            options: AppendOptions {
                id: options.id.map(|text| self.keep_text(text)),
                key: options.key.map(|text| self.keep_text(text)),
                event_type: options.event_type.map(|text| self.keep_text(text)),
                metadata: options.metadata.map(|text| self.keep_text(text)),
                timestamp: options.timestamp,
                partition: options.partition,
            },
        };
        self.items.push(owned);
        Ok(())
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.blocks.iter_mut().for_each(Vec::clear);
        self.current = 0;
        self.large.clear();
        self.bytes = 0;
    }

    /// The events, as an append takes them.
    #[inline]
    pub fn items(&self) -> &[Append<'_>] {
        &self.items
    }

    /// Copies bytes to where they stay until the batch is cleared.
    fn keep(&mut self, bytes: &[u8]) -> &'static [u8] {
        let kept: *const [u8] = if bytes.len() > BLOCK_BYTES {
            self.large.push(bytes.into());
            &**self.large.last().expect("just pushed")
        } else {
            if self.blocks.get(self.current).is_some_and(|block| block.capacity() - block.len() < bytes.len()) {
                self.current += 1;
            }
            if self.current == self.blocks.len() {
                self.blocks.push(Vec::with_capacity(BLOCK_BYTES));
            }
            let block = &mut self.blocks[self.current];
            let start = block.len();
            block.extend_from_slice(bytes);
            &block[start..]
        };
        // SAFETY: the bytes lie in memory of this batch. In a block there was room, so this and every later `extend`
        // leaves the block's memory where it is and writes only behind what it holds. The memory is given up or
        // overwritten only by `clear` and drop, and both end the items that refer to it: `items` hands them out only
        // for as long as the batch is borrowed.
        unsafe { &*kept }
    }

    fn keep_text(&mut self, text: &str) -> &'static str {
        let kept = self.keep(text.as_bytes());
        // SAFETY: a copy of a `str`.
        unsafe { str::from_utf8_unchecked(kept) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rheo_core::Timestamp;

    #[test]
    fn a_batch_gives_back_copies_of_what_was_pushed() {
        let mut batch = Batch::new();
        for round in 0..3 {
            let expected: Vec<(String, Vec<u8>)> =
                (0..500).map(|n| (format!("{round}-{n}"), vec![b'a' + (n % 26) as u8; n * 7 % 3000])).collect();
            for (id, payload) in &expected {
                let item = Append::bytes(payload)
                    .id(id)
                    .key("")
                    .event_type(id)
                    .metadata("{}")
                    .timestamp(Timestamp::from_micros(-1))
                    .partition(9);
                batch.push(&item).unwrap();
            }
            assert_eq!(batch.items().len(), 500);
            for ((id, payload), item) in expected.iter().zip(batch.items()) {
                let built = Append::bytes(payload)
                    .id(id)
                    .key("")
                    .event_type(id)
                    .metadata("{}")
                    .timestamp(Timestamp::from_micros(-1))
                    .partition(9);
                assert_eq!(*item, built);
            }
            batch.clear();
            assert!(batch.items().is_empty());
        }
    }

    #[test]
    fn filling_it_again_takes_no_more_memory() {
        let mut batch = Batch::new();
        let large = vec![7; BLOCK_BYTES + 1];
        for _ in 0..3 {
            for _ in 0..100 {
                batch.push(&Append::bytes(&large[..1000])).unwrap();
                batch.push(&Append::bytes(&large)).unwrap();
            }
            assert_eq!((batch.blocks.len(), batch.large.len()), (2, 100));
            batch.clear();
            assert_eq!((batch.blocks.len(), batch.large.len()), (2, 0));
        }
    }

    #[test]
    fn limits_are_kept_and_nothing_is_added_beyond() {
        let mut batch = Batch::new();
        let large = vec![0; limits::MAX_PAYLOAD_BYTES + 1];
        assert_eq!(batch.push(&Append::bytes(&large)).unwrap_err().code(), ErrorCode::PayloadTooLarge);
        let largest = &large[1..];
        for _ in 0..3 {
            batch.push(&Append::bytes(largest)).unwrap();
        }
        assert_eq!(batch.push(&Append::bytes(largest)).unwrap_err().code(), ErrorCode::InvalidArgument);
        assert_eq!(batch.items().len(), 3);
        batch.clear();
        for _ in 0..limits::MAX_BATCH_ITEMS {
            batch.push(&Append::bytes("")).unwrap();
        }
        assert_eq!(batch.push(&Append::bytes("")).unwrap_err().code(), ErrorCode::InvalidArgument);
    }
}
