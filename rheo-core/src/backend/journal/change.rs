//! What an operation changed, as bytes: the bodies of records. Numbers are LEB128 unless said otherwise, texts have their
//! length before them.
//!
//! The engine writes these while it holds the locks under which it decided, so writing is appending to a buffer and
//! nothing else. Reading trusts nothing: what is odd gives nothing, and whoever reads says where.

use crate::chunk::RecordParts;
use crate::event::Event;
use crate::group::{GroupSettings, Ordering};
use crate::timestamp::Timestamp;

/// What a record's body is. A number is never used for something else.
pub(crate) mod kind {
    /// Registry: a stream was created.
    pub(crate) const STREAM_CREATED: u8 = 1;
    /// Registry: a stream was deleted.
    pub(crate) const STREAM_DELETED: u8 = 2;
    /// Events were appended.
    pub(crate) const APPENDED: u8 = 16;
    /// Events were removed from the front of partitions.
    pub(crate) const TRIMMED: u8 = 17;
    /// A group was created.
    pub(crate) const GROUP_CREATED: u8 = 18;
    /// A group's options changed.
    pub(crate) const GROUP_UPDATED: u8 = 19;
    /// A group was deleted.
    pub(crate) const GROUP_DELETED: u8 = 20;
    /// A group's progress changed.
    pub(crate) const PROGRESS: u8 = 21;
    /// Nothing: the log was closed, with everything before this synced.
    pub(crate) const CLOSED: u8 = 32;
}

mod tag {
    pub(super) const CLAIMED: u8 = 1;
    pub(super) const ACKED: u8 = 2;
    pub(super) const DELAYED: u8 = 3;
    pub(super) const RELEASED: u8 = 4;
    pub(super) const DEAD: u8 = 5;
    pub(super) const DISCARDED: u8 = 6;
    pub(super) const REWOUND: u8 = 7;
    pub(super) const REOPENED: u8 = 8;
    pub(super) const RESET: u8 = 9;
    pub(super) const PASSED_OVER: u8 = 10;
}

/// A stream, as the registry has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamCreated {
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) partition_count: u32,
}

/// A group as it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupCreated {
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) settings: GroupSettings,
    /// The cursor of each partition.
    pub(crate) cursors: Vec<u64>,
}

/// What happened to deliveries of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progressed<'a> {
    /// A run of deliveries was claimed, each for the `attempt`th time.
    Claimed { first: u64, count: u64, attempt: u32 },
    /// A run of deliveries was acked.
    Acked { first: u64, count: u64 },
    /// A delivery waits for its retry.
    Delayed { sequence: u64, due: Timestamp, delay_ms: u64 },
    /// A delivery was given back; it counts as delivered so often.
    Released { sequence: u64, attempt: u32 },
    /// A delivery became a dead letter.
    Dead { sequence: u64, attempt: u32, at: Timestamp, reason: &'a str },
    /// A dead letter was forgotten.
    Discarded { sequence: u64 },
    /// The cursor went back.
    Rewound { cursor: u64 },
    /// A delivery was made available anew.
    Reopened { sequence: u64 },
    /// Everything was forgotten, and begins at a cursor.
    Reset { cursor: u64 },
    /// The cursor went on to here; what it passed and was not claimed is open.
    PassedOver { cursor: u64 },
}

/// Appends a number.
pub(crate) fn put(buffer: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        buffer.push(number as u8 | 0x80);
        number >>= 7;
    }
    buffer.push(number as u8);
}

fn put_bytes(buffer: &mut Vec<u8>, bytes: &[u8]) {
    put(buffer, bytes.len() as u64);
    buffer.extend_from_slice(bytes);
}

fn put_time(buffer: &mut Vec<u8>, time: Timestamp) {
    buffer.extend_from_slice(&time.as_micros().to_le_bytes());
}

fn put_settings(buffer: &mut Vec<u8>, settings: &GroupSettings) {
    put(buffer, settings.max_attempts.into());
    put(buffer, settings.max_deliveries.into());
    buffer.push(u8::from(settings.ordering == Ordering::Key));
}

impl StreamCreated {
    pub(crate) fn write(&self, buffer: &mut Vec<u8>) {
        put(buffer, self.number);
        put(buffer, self.partition_count.into());
        put_bytes(buffer, self.name.as_bytes());
    }

    pub(crate) fn read(body: &[u8]) -> Option<StreamCreated> {
        let mut body = Reader(body);
        let (number, partition_count) = (body.number()?, body.short()?);
        let name = body.text()?.to_owned();
        body.end()?;
        (1..=crate::partition::MAX_PARTITION_COUNT).contains(&partition_count).then_some(StreamCreated {
            number,
            name,
            partition_count,
        })
    }
}

impl GroupCreated {
    pub(crate) fn write(&self, buffer: &mut Vec<u8>) {
        put(buffer, self.number);
        put_settings(buffer, &self.settings);
        put_bytes(buffer, self.name.as_bytes());
        self.cursors.iter().for_each(|cursor| put(buffer, *cursor));
    }

    pub(crate) fn read(body: &[u8], partition_count: u32) -> Option<GroupCreated> {
        let mut body = Reader(body);
        let number = body.number()?;
        let settings = body.settings()?;
        let name = body.text()?.to_owned();
        let cursors = (0..partition_count).map(|_| body.number()).collect::<Option<_>>()?;
        body.end()?;
        Some(GroupCreated { number, name, settings, cursors })
    }
}

/// Writes that a group's options are these from now on.
pub(crate) fn write_group_updated(buffer: &mut Vec<u8>, group: u64, settings: &GroupSettings) {
    put(buffer, group);
    put_settings(buffer, settings);
}

pub(crate) fn read_group_updated(body: &[u8]) -> Option<(u64, GroupSettings)> {
    let mut body = Reader(body);
    let updated = (body.number()?, body.settings()?);
    body.end()?;
    Some(updated)
}

/// One number and nothing else: a stream or a group that was deleted.
pub(crate) fn read_number(body: &[u8]) -> Option<u64> {
    let mut body = Reader(body);
    let number = body.number()?;
    body.end()?;
    Some(number)
}

/// Writes from where on partitions are kept.
pub(crate) fn write_trimmed(buffer: &mut Vec<u8>, firsts: &[(u32, u64)]) {
    for (partition, first) in firsts {
        put(buffer, (*partition).into());
        put(buffer, *first);
    }
}

pub(crate) fn read_trimmed(body: &[u8]) -> impl Iterator<Item = Option<(u32, u64)>> {
    let mut body = Reader(body);
    std::iter::from_fn(move || (!body.0.is_empty()).then(|| body.partition_and_sequence()))
}

/// Writes an event that was appended. Its parts come as they lie in memory, in one piece.
#[inline]
pub(crate) fn write_event(buffer: &mut Vec<u8>, event: &Event) {
    put(buffer, event.partition().into());
    put(buffer, event.sequence());
    buffer.extend_from_slice(event.record().encoded());
}

/// Calls `visit` with each event of a record: its partition, its sequence and its parts. Returns whether all went well:
/// nothing in it is odd, and `visit` never said no.
#[inline]
pub(crate) fn read_events(body: &[u8], mut visit: impl FnMut(u32, u64, &RecordParts<'_>) -> bool) -> bool {
    let mut body = Reader(body);
    while !body.0.is_empty() {
        let Some((partition, sequence)) = body.partition_and_sequence() else { return false };
        let Some((parts, rest)) = RecordParts::decode(body.0) else { return false };
        if !visit(partition, sequence, &parts) {
            return false;
        }
        body.0 = rest;
    }
    true
}

/// Writes a group's progress: its number, and then what happened, in order.
pub(crate) struct ProgressWriter<'a>(&'a mut Vec<u8>);

impl<'a> ProgressWriter<'a> {
    pub(crate) fn new(buffer: &'a mut Vec<u8>, group: u64) -> ProgressWriter<'a> {
        put(buffer, group);
        ProgressWriter(buffer)
    }

    #[inline]
    pub(crate) fn put(&mut self, partition: u32, progressed: &Progressed<'_>) {
        let buffer = &mut *self.0;
        let mut begin = |tag: u8, first: u64| {
            buffer.push(tag);
            put(buffer, partition.into());
            put(buffer, first);
        };
        match *progressed {
            Progressed::Claimed { first, count, attempt } => {
                begin(tag::CLAIMED, first);
                put(buffer, count);
                put(buffer, attempt.into());
            }
            Progressed::Acked { first, count } => {
                begin(tag::ACKED, first);
                put(buffer, count);
            }
            Progressed::Delayed { sequence, due, delay_ms } => {
                begin(tag::DELAYED, sequence);
                put_time(buffer, due);
                put(buffer, delay_ms);
            }
            Progressed::Released { sequence, attempt } => {
                begin(tag::RELEASED, sequence);
                put(buffer, attempt.into());
            }
            Progressed::Dead { sequence, attempt, at, reason } => {
                begin(tag::DEAD, sequence);
                put(buffer, attempt.into());
                put_time(buffer, at);
                put_bytes(buffer, reason.as_bytes());
            }
            Progressed::Discarded { sequence } => begin(tag::DISCARDED, sequence),
            Progressed::Rewound { cursor } => begin(tag::REWOUND, cursor),
            Progressed::Reopened { sequence } => begin(tag::REOPENED, sequence),
            Progressed::Reset { cursor } => begin(tag::RESET, cursor),
            Progressed::PassedOver { cursor } => begin(tag::PASSED_OVER, cursor),
        }
    }
}

/// The group of a progress record, and what happened to it, one after the other; nothing instead of what is odd, and then
/// no more.
pub(crate) fn read_progress(body: &[u8]) -> Option<(u64, impl Iterator<Item = Option<(u32, Progressed<'_>)>>)> {
    let mut body = Reader(body);
    let group = body.number()?;
    Some((group, std::iter::from_fn(move || (!body.0.is_empty()).then(|| body.progressed()))))
}

/// Reads from the front. What is odd empties it.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                // The tenth byte has one bit to give.
                return (shift < 63 || *byte <= 1).then_some(number);
            }
        }
        None
    }

    fn short(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = usize::try_from(self.number()?).ok()?;
        str::from_utf8(self.take(len)?).ok()
    }

    fn time(&mut self) -> Option<Timestamp> {
        Some(Timestamp::from_micros(i64::from_le_bytes(self.take(8)?.try_into().ok()?)))
    }

    fn settings(&mut self) -> Option<GroupSettings> {
        let (max_attempts, max_deliveries) = (self.short()?, self.short()?);
        let ordering = match self.byte()? {
            0 => Ordering::None,
            1 => Ordering::Key,
            _ => return None,
        };
        Some(GroupSettings { max_attempts, max_deliveries, ordering })
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }

    #[inline]
    fn partition_and_sequence(&mut self) -> Option<(u32, u64)> {
        let found = self.short().zip(self.number());
        if found.is_none() {
            self.0 = &[];
        }
        found
    }

    fn progressed(&mut self) -> Option<(u32, Progressed<'a>)> {
        let tag = self.byte()?;
        let (partition, first) = self.partition_and_sequence()?;
        let progressed = match tag {
            tag::CLAIMED => {
                self.number().zip(self.short()).map(|(count, attempt)| Progressed::Claimed { first, count, attempt })
            }
            tag::ACKED => self.number().map(|count| Progressed::Acked { first, count }),
            tag::DELAYED => self.time().zip(self.number()).map(|(due, delay_ms)| Progressed::Delayed {
                sequence: first,
                due,
                delay_ms,
            }),
            tag::RELEASED => self.short().map(|attempt| Progressed::Released { sequence: first, attempt }),
            tag::DEAD => self
                .short()
                .zip(self.time())
                .zip(self.text())
                .map(|((attempt, at), reason)| Progressed::Dead { sequence: first, attempt, at, reason }),
            tag::DISCARDED => Some(Progressed::Discarded { sequence: first }),
            tag::REWOUND => Some(Progressed::Rewound { cursor: first }),
            tag::REOPENED => Some(Progressed::Reopened { sequence: first }),
            tag::RESET => Some(Progressed::Reset { cursor: first }),
            tag::PASSED_OVER => Some(Progressed::PassedOver { cursor: first }),
            _ => None,
        };
        if progressed.is_none() {
            self.0 = &[];
        }
        progressed.map(|progressed| (partition, progressed))
    }
}
