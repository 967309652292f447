//! Rheo keeps append-only event streams with partitions, and lets groups of consumers take events under *fenced
//! leases*: fetch, renew, ack, retry, reject, dead letters, replay, exact frontier and lag. Delivery is
//! at-least-once, never silently lost; order holds within a partition.
//!
//! ```
//! use rheo_core::{Append, FetchOptions, GroupOptions, OpenOptions, StreamOptions};
//!
//! let db = rheo_core::open("memory:", OpenOptions::new())?;
//! db.create_stream("orders", StreamOptions::partitions(4))?;
//! db.create_group("orders", "billing", &GroupOptions::default())?;
//! db.append("orders", &Append::json(r#"{"total":12.5}"#).key("customer-7"))?;
//! for lease in db.fetch("orders", "billing", &FetchOptions::new().limit(100))? {
//!     println!("{}", String::from_utf8_lossy(lease.event().payload()));
//!     db.ack(&lease)?;
//! }
//! assert_eq!(db.lag("orders", "billing", None)?.lag(), 0);
//! # Ok::<(), rheo_core::Error>(())
//! ```
//!
//! [`open`] gives an [`Instance`], the handle of everything. Stores implement [`backend::Backend`].
//!
//! # Lock order
//!
//! In one place, for all of the library but the runtime, whose locks come before; a thread takes locks only in this order, top to bottom:
//!
//! 1. the registry of named instances
//! 2. the administration of a backend (streams come and go)
//! 3. the administration of a stream (groups come and go, and are moved by hand)
//! 4. the streams of a backend
//! 5. the groups of a stream
//! 6. the groups of all streams, by both names
//! 7. a group's progress in a partition (of several groups, by name, in one partition; or of several partitions,
//!    ascending, in one group; never both)
//! 8. a journal's log file
//! 9. the explicit ids of a stream (several shards: ascending)
//! 10. a partition's log (several: ascending)
//! 11. the queue of a journal's log
//! 12. the wakers of a stream
//!
//! Nobody waits for a sync while holding 4 to 6 or 8 to 12; a change by hand does so with 2, 3 or 7.
//!
//! Wakers and visitors are called when none of these is held.

mod append;
pub mod backend;
mod bound;
mod capabilities;
mod chunk;
mod clock;
mod dead_letter;
mod delivery;
mod error;
mod event;
mod fork;
mod group;
mod id;
mod instance;
mod lag;
mod lease;
pub mod limits;
mod lock;
mod named;
mod options;
pub mod partition;
mod query;
mod replay;
mod runtime;
mod stream;
mod telemetry;
mod timestamp;
mod wait;
mod wakers;

pub use append::{Append, AppendOptions, Encoding};
pub use backend::journal::SyncPolicy;
pub use bound::{Group, Stream};
pub use capabilities::{Capabilities, GUARANTEES, MECHANISMS};
pub use clock::{Clock, ClockOption, Reading};
pub use dead_letter::{
    DeadLetter, DeadLetterOptions, Discard, cursor_not_found, max_attempts_reason, max_deliveries_reason,
};
pub use delivery::{FetchOptions, ReadOptions, RetryOptions};
pub use error::{Error, ErrorCode, Result, Retriable, SettleClass};
pub use event::{Event, EventId, EventParts};
pub use group::{
    GroupInfo, GroupOptions, GroupSettings, GroupUpdate, Ordering, Sequences, Start, StartOptions, StartPosition,
    check_partitions,
};
pub use instance::{Instance, WeakInstance, get, open};
pub use lag::{Lag, PartitionLag};
pub use lease::{Lease, LeaseContext, LeaseId, LeaseToken};
pub use lock::set_before_wait;
pub use options::{HostData, JournalOptions, OpenOptions};
pub use query::run::{EventStream, Page};
pub use query::{Condition, Direction, Matcher, Operator, OrderField, Query};
pub use replay::{Replay, ReplayOptions, ResetOptions};
pub use runtime::{
    Consumer, ConsumerOptions, Drain, MAX_CONCURRENCY, Next, OnFailure, Outcome, Producer, ProducerOptions, RetryDelay,
    Work,
};
pub use serde_json::Value;
pub use stream::{PartitionInfo, RetentionHold, StreamInfo, StreamOptions, Trim, TrimOptions};
pub use telemetry::{Telemetry, TelemetryEvent, TelemetryName};
pub use timestamp::Timestamp;
pub use wait::{Interrupt, InterruptWatch};
