//! A rejected delivery.

use crate::error::{Error, Result};
use crate::event::Event;
use crate::limits;
use crate::timestamp::Timestamp;

/// A delivery that was rejected, or that ran into a limit; it is not fetched again until replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The group's name. The stream, partition, sequence and id are the event's.
    pub group: String,
    /// The event.
    pub event: Event,
    /// How often it had been delivered.
    pub attempt: u32,
    /// Why, at most 1 KiB.
    pub reason: String,
    /// When, by the instance's clock.
    pub dead_lettered_at: Timestamp,
}

/// How to list dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetterOptions {
    /// The most to list; 100 when missing.
    pub limit: Option<usize>,
    /// The id of the event after which to go on; the list's last one gives the next page.
    pub after: Option<String>,
    /// Only these partitions; all when missing.
    pub partitions: Option<Vec<u32>>,
}

impl DeadLetterOptions {
    pub(crate) fn check(&self) -> Result<()> {
        match &self.after {
            Some(after) => limits::check_name("after", after),
            None => Ok(()),
        }
    }
}

/// Which dead letters to forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard<'a> {
    /// Every dead letter of the group.
    All,
    /// Those of these events; ids that are not in the list are passed over.
    EventIds(&'a [&'a str]),
}

impl Discard<'_> {
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Discard::All => Ok(()),
            Discard::EventIds(ids) => ids.iter().try_for_each(|id| limits::check_name("event id", id)),
        }
    }
}

/// The reason of a delivery that ran into `max_attempts` at a retry: the holder's own and the limit's.
pub fn max_attempts_reason(reason: &str, max_attempts: u32) -> String {
    limit_reason(reason, &format!("max_attempts {max_attempts} reached"))
}

/// The reason of a delivery that a fetch found leased `max_deliveries` times already.
pub fn max_deliveries_reason(max_deliveries: u32) -> String {
    limit_reason("", &format!("max_deliveries {max_deliveries} reached"))
}

fn limit_reason(reason: &str, limit: &str) -> String {
    if reason.is_empty() {
        return limit.to_owned();
    }
    let room = limits::MAX_REASON_BYTES - limit.len() - 2;
    format!("{}; {limit}", limits::truncated(reason, room))
}

/// `cursor_not_found`, in the words every backend uses.
pub fn cursor_not_found(after: &str, stream: &str, group: &str) -> Error {
    Error::new(
        crate::ErrorCode::CursorNotFound,
        format!(
            "no dead letter of group {group:?} of stream {stream:?} has the event id {after:?}; list from the start"
        ),
    )
}
