//! The clocks of the in-process backends: the machine's, or one that moves by hand.

use crate::error::{Error, ErrorCode, Result};
use crate::timestamp::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// How an instance tells the time (contract, section 3, "Clock").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockOption {
    /// The machine's or the store's.
    #[default]
    System,
    /// Stands still, and moves only by `advance_clock`.
    Manual {
        /// Where it starts; the store's time when missing.
        start: Option<Timestamp>,
    },
}

/// A clock. Clones are the same clock.
///
/// Deadlines go by a monotonic reading, which nobody can set back (contract 4.10); event times and what a
/// lease says of itself go by the wall clock. A reading costs one system clock read.
#[derive(Clone)]
pub struct Clock(Arc<Kind>);

enum Kind {
    System {
        /// Wall time − monotonic time, in microseconds, as last looked at …
        offset: AtomicI64,
        /// … at this monotonic time.
        offset_read_at: AtomicI64,
    },
    Manual(AtomicI64),
}

/// For how long a wall time may be derived from the monotonic clock before the wall clock is read again. A step
/// of the wall clock shows in `leased_at` and `expires_at`, which are informational, this much later.
const OFFSET_AGE_MICROS: i64 = 100_000;

/// One reading of a clock.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Monotonic microseconds since some fixed point: what deadlines are made of.
    pub monotonic: i64,
    /// The wall clock.
    pub wall: Timestamp,
}

impl Clock {
    /// The clock that an instance's option asks for.
    pub fn new(option: ClockOption) -> Clock {
        match option {
            ClockOption::System => Clock::system(),
            ClockOption::Manual { start } => Clock::manual(start.unwrap_or_else(|| Clock::system().now())),
        }
    }

    /// The machine's clock.
    pub fn system() -> Clock {
        Clock(Arc::new(Kind::System { offset: AtomicI64::new(0), offset_read_at: AtomicI64::new(i64::MIN / 2) }))
    }

    /// A clock that stands at `start`.
    pub fn manual(start: Timestamp) -> Clock {
        Clock(Arc::new(Kind::Manual(AtomicI64::new(start.as_micros()))))
    }

    /// Whether the clock moves only by hand.
    pub fn is_manual(&self) -> bool {
        matches!(*self.0, Kind::Manual(_))
    }

    /// The wall clock.
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Kind::System { .. } => Timestamp::from_micros(micros_of(ClockId::Realtime)),
            Kind::Manual(micros) => Timestamp::from_micros(micros.load(Ordering::Acquire)),
        }
    }

    /// Monotonic microseconds since some fixed point.
    pub fn monotonic(&self) -> i64 {
        match &*self.0 {
            Kind::System { .. } => micros_of(ClockId::Monotonic),
            Kind::Manual(micros) => micros.load(Ordering::Acquire),
        }
    }

    /// Both.
    pub fn read(&self) -> Reading {
        let monotonic = self.monotonic();
        let wall = match &*self.0 {
            Kind::System { offset, offset_read_at, .. } => {
                if monotonic - offset_read_at.load(Ordering::Acquire) > OFFSET_AGE_MICROS {
                    offset.store(micros_of(ClockId::Realtime) - monotonic, Ordering::Relaxed);
                    offset_read_at.store(monotonic, Ordering::Release);
                }
                Timestamp::from_micros(monotonic + offset.load(Ordering::Relaxed))
            }
            Kind::Manual(_) => Timestamp::from_micros(monotonic),
        };
        Reading { monotonic, wall }
    }

    /// Moves a manual clock and returns its new time.
    ///
    /// # Errors
    /// `unsupported` for the machine's clock.
    pub fn advance(&self, by: Duration) -> Result<Timestamp> {
        match &*self.0 {
            Kind::Manual(micros) => {
                let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
                let moved = |now: i64| Some(now.saturating_add(by));
                let before = micros.fetch_update(Ordering::AcqRel, Ordering::Acquire, moved).expect("always moves");
                Ok(Timestamp::from_micros(before.saturating_add(by)))
            }
            Kind::System { .. } => Err(Error::new(
                ErrorCode::Unsupported,
                "advance_clock moves a manual clock; open the instance with clock = manual",
            )),
        }
    }
}

/// A system clock in microseconds. The standard library's clocks cost a few nanoseconds more: they go by differences.
#[inline]
pub(crate) fn micros_of(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_by_hand_only() {
        let clock = Clock::manual(Timestamp::from_micros(5));
        assert_eq!(clock.now().as_micros(), 5);
        assert_eq!(clock.advance(Duration::from_millis(2)).unwrap().as_micros(), 2005);
        assert_eq!(clock.read().monotonic, 2005);
        assert_eq!(Clock::system().advance(Duration::ZERO).unwrap_err().code(), ErrorCode::Unsupported);
    }

    #[test]
    fn a_reading_is_near_the_wall_clock() {
        let clock = Clock::system();
        let before = clock.now();
        let read = clock.read().wall;
        let after = clock.now();
        // The monotonic and the wall clock are read one after the other: allow what lies between.
        assert!(read.as_micros() >= before.as_micros() - 1000 && read.as_micros() <= after.as_micros() + 1000);
    }
}
