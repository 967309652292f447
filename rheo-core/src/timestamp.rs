//! A point in time: microseconds since the Unix epoch, UTC.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch, UTC; negative before it (contract, section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A timestamp from microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }

    /// A timestamp from milliseconds since the Unix epoch; saturates at the ends of the range.
    pub const fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis.saturating_mul(1000))
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This time moved by so many milliseconds; saturates at the ends of the range.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(millis.saturating_mul(1000)))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Timestamp(i64::try_from(after.as_micros()).unwrap_or(i64::MAX)),
            Err(before) => Timestamp(i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |m| -m)),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs", self.0)
    }
}
