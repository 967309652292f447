//! Values
//!
//! Statuses, values that cross as integers, and plain views. Views are the only structs that a program sees into;
//! they are returned or filled, and what they point to belongs to the handle that gave them.

/// What a function answers: `RHEO_OK`, or the number of an error (`RHEO_ERROR_...`).
pub type rheo_status = i32;

/// It was done. "There is nothing" is also fine: a count of 0 or a NULL output.
pub const RHEO_OK: rheo_status = 0;

/// What a holder of a lease may conclude from a settle that failed.
pub type rheo_settle_class = i32;

/// The error says nothing of a lease.
pub const RHEO_SETTLE_NONE: rheo_settle_class = 0;
/// The lease is gone: drop it and stop renewing.
pub const RHEO_SETTLE_LOST: rheo_settle_class = 1;
/// Nothing was done: the settle may be tried again.
pub const RHEO_SETTLE_DEFINITE: rheo_settle_class = 2;
/// Whether it was done is not known: leave the lease to expire. Fencing protects a settle that did happen.
pub const RHEO_SETTLE_UNKNOWN: rheo_settle_class = 3;

/// Whether calling again as before can help.
pub type rheo_retriable = i32;

/// Calling again gives the same error.
pub const RHEO_RETRIABLE_NO: rheo_retriable = 0;
/// The call may be repeated as it is.
pub const RHEO_RETRIABLE_YES: rheo_retriable = 1;
/// An append that carries an explicit id may be repeated with that id; it then appends nothing twice.
pub const RHEO_RETRIABLE_WITH_SAME_ID: rheo_retriable = 2;

/// How a payload is tagged. Rheo never alters a payload.
pub type rheo_encoding = i32;

/// Bytes of any kind.
pub const RHEO_ENCODING_BYTES: rheo_encoding = 0;
/// JSON text. Not checked: what does not parse has no fields to query.
pub const RHEO_ENCODING_JSON: rheo_encoding = 1;

/// Whether a group keeps the order of events that share a key.
pub type rheo_ordering = i32;

/// Events of one key may be in flight at the same time.
pub const RHEO_ORDERING_NONE: rheo_ordering = 0;
/// While an event of a key is open, no later event of that key in its partition is offered.
pub const RHEO_ORDERING_KEY: rheo_ordering = 1;

/// How an instance tells the time.
pub type rheo_clock = i32;

/// By the machine's clock, or the store's.
pub const RHEO_CLOCK_SYSTEM: rheo_clock = 0;
/// By a clock that stands still and moves only by `rheo_instance_advance_clock`: for tests.
pub const RHEO_CLOCK_MANUAL: rheo_clock = 1;

/// When a journal syncs what is written: what an answer survives. Every answer survives the end of the process.
pub type rheo_sync = i32;

/// Before an append, or a change of streams, groups or progress by hand, is answered; settles within 50 ms.
pub const RHEO_SYNC_ALWAYS: rheo_sync = 0;
/// Every so often: the end of the machine may cost what was answered since.
pub const RHEO_SYNC_INTERVAL: rheo_sync = 1;
/// When the system sees fit, and when the instance is closed.
pub const RHEO_SYNC_NEVER: rheo_sync = 2;

/// What becomes of a delivery whose handler failed.
pub type rheo_on_failure = i32;

/// Another attempt after the retry delay, unless there have been `max_attempts`.
pub const RHEO_ON_FAILURE_RETRY: rheo_on_failure = 0;
/// A dead letter at once.
pub const RHEO_ON_FAILURE_REJECT: rheo_on_failure = 1;

/// What a query orders by.
pub type rheo_order_field = i32;

/// The position in the partition.
pub const RHEO_ORDER_FIELD_SEQUENCE: rheo_order_field = 0;
/// The event's time.
pub const RHEO_ORDER_FIELD_TIMESTAMP: rheo_order_field = 1;

/// Which way a query orders.
pub type rheo_direction = i32;

/// Lowest first.
pub const RHEO_DIRECTION_ASC: rheo_direction = 0;
/// Highest first.
pub const RHEO_DIRECTION_DESC: rheo_direction = 1;

/// Text or bytes that belong to a handle and live until that handle is freed or refilled. Not NUL-terminated. `data`
/// is NULL where there is nothing (an event without a key); it is not NULL for a text that is there and empty.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rheo_bytes {
    /// The first byte.
    pub data: *const u8,
    /// How many bytes.
    pub len: usize,
}

impl Default for rheo_bytes {
    fn default() -> rheo_bytes {
        rheo_bytes { data: std::ptr::null(), len: 0 }
    }
}

impl From<&[u8]> for rheo_bytes {
    fn from(bytes: &[u8]) -> rheo_bytes {
        rheo_bytes { data: bytes.as_ptr(), len: bytes.len() }
    }
}

impl From<&str> for rheo_bytes {
    fn from(text: &str) -> rheo_bytes {
        rheo_bytes::from(text.as_bytes())
    }
}

impl From<Option<&str>> for rheo_bytes {
    fn from(text: Option<&str>) -> rheo_bytes {
        text.map(rheo_bytes::from).unwrap_or_default()
    }
}

/// Where an appended event lies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rheo_position {
    /// The event's sequence, from 1; 0 in an output that was not written.
    pub sequence: u64,
    /// The event's partition, from 0.
    pub partition: u32,
    /// Whether the stream held an event of this id already, so that nothing was appended.
    pub deduplicated: bool,
}

/// A group's progress in one partition.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rheo_partition_lag {
    /// The lowest open sequence - 1, or the cursor - 1 when nothing is open.
    pub frontier: u64,
    /// The last visible sequence; 0 when the partition never held an event.
    pub high_watermark: u64,
    /// High watermark - frontier, never below 0.
    pub lag: u64,
    /// The partition, from 0.
    pub partition: u32,
}

/// What there is to know of a partition.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct rheo_partition_info {
    /// The first sequence that is kept; high watermark + 1 when none is.
    pub first_sequence: u64,
    /// The last visible sequence; 0 when there never was one.
    pub high_watermark: u64,
    /// Bytes kept: payload, metadata, id, key and type.
    pub bytes: u64,
    /// The group that keeps the lowest kept event from being trimmed without force; `data` is NULL when none does.
    pub held_by: rheo_bytes,
    /// The lowest sequence that the group holds; 0 when none does.
    pub held_sequence: u64,
    /// The partition, from 0.
    pub partition: u32,
    /// Whether what is held is a dead letter of the group; otherwise the group has not passed it.
    pub held_dead_letter: bool,
}
