//! Delays that double: between fetches that fail, and between the attempts of a delivery.

use crate::error::{Error, Result};
use crate::limits;
use std::fmt;
use std::str::FromStr;

/// The first delay after a failure, in milliseconds.
const FIRST_MS: u64 = 100;
/// The longest one.
const MOST_MS: u64 = 5000;

/// `first`, doubled for each further failure in a row, at most `most`.
fn doubled(first: u64, most: u64, failures: u32) -> u64 {
    let doublings = failures.saturating_sub(1).min(63);
    first.checked_shl(doublings).filter(|delay| delay >> doublings == first).map_or(most, |delay| delay.min(most))
}

/// Counts failures in a row and says how long to wait after each: 100 ms, doubling to 5 s (contract, section 6).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Takes note of a failure and returns how long to wait, in milliseconds.
    pub(super) fn failed(&mut self) -> u64 {
        self.failures = self.failures.saturating_add(1);
        doubled(FIRST_MS, MOST_MS, self.failures)
    }

    /// Takes note of a success.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// How long a delivery waits before its next attempt, where the handler does not say (contract, section 6).
///
/// Its text form, for the languages without this type, is the number of milliseconds, or `exponential:FIRST_MS:MOST_MS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDelay {
    /// Always so many milliseconds.
    Fixed(u64),
    /// So many milliseconds after the first attempt, doubled after each further one, up to a cap.
    Exponential {
        /// After the first attempt, in milliseconds.
        first_ms: u64,
        /// At most, in milliseconds.
        most_ms: u64,
    },
}

/// 100 ms, doubling to 5 s.
impl Default for RetryDelay {
    fn default() -> RetryDelay {
        RetryDelay::Exponential { first_ms: FIRST_MS, most_ms: MOST_MS }
    }
}

impl RetryDelay {
    /// The delay after this attempt (the first is 1), in milliseconds.
    pub fn after(self, attempt: u32) -> u64 {
        match self {
            RetryDelay::Fixed(millis) => millis,
            RetryDelay::Exponential { first_ms, most_ms } => doubled(first_ms, most_ms, attempt),
        }
    }

    pub(super) fn check(self) -> Result<()> {
        match self {
            RetryDelay::Fixed(millis) => limits::check_duration("retry_delay", millis, 0),
            RetryDelay::Exponential { first_ms, most_ms } => {
                limits::check_duration("retry_delay (the cap)", most_ms, 0)?;
                if first_ms > most_ms {
                    return Err(Error::invalid(format!(
                        "retry_delay begins with {first_ms} ms and is capped at {most_ms} ms; the cap is the larger one"
                    )));
                }
                Ok(())
            }
        }
    }
}

/// # Errors
/// `invalid_argument` when the text has neither form.
impl FromStr for RetryDelay {
    type Err = Error;

    fn from_str(text: &str) -> Result<RetryDelay> {
        let parsed = match text.strip_prefix("exponential:") {
            Some(numbers) => numbers.split_once(':').and_then(|(first, most)| {
                Some(RetryDelay::Exponential { first_ms: first.parse().ok()?, most_ms: most.parse().ok()? })
            }),
            None => text.parse().ok().map(RetryDelay::Fixed),
        };
        parsed.ok_or_else(|| {
            Error::invalid(format!(
                "retry_delay is {text:?}; it takes a number of milliseconds, or exponential:FIRST_MS:MOST_MS"
            ))
        })
    }
}

impl fmt::Display for RetryDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RetryDelay::Fixed(millis) => write!(f, "{millis}"),
            RetryDelay::Exponential { first_ms, most_ms } => write!(f, "exponential:{first_ms}:{most_ms}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_wait_twice_as_long_up_to_five_seconds() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..8).map(|_| backoff.failed()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        backoff.reset();
        assert_eq!(backoff.failed(), 100);
    }

    #[test]
    fn delays_never_overflow() {
        let delay = RetryDelay::Exponential { first_ms: 3, most_ms: u64::MAX };
        assert_eq!([delay.after(0), delay.after(1), delay.after(2)], [3, 3, 6]);
        assert_eq!([delay.after(64), delay.after(u32::MAX)], [u64::MAX; 2]);
        assert_eq!(RetryDelay::Exponential { first_ms: 0, most_ms: 9 }.after(70), 0);
    }

    #[test]
    fn texts() {
        for delay in [RetryDelay::Fixed(0), RetryDelay::Fixed(250), RetryDelay::default()] {
            assert_eq!(delay.to_string().parse::<RetryDelay>().unwrap(), delay);
        }
        for bad in ["", "-1", "1.5", "exponential", "exponential:1", "exponential:1:x", "linear:1:2"] {
            assert!(bad.parse::<RetryDelay>().unwrap_err().message().contains(bad), "{bad}");
        }
        assert!(RetryDelay::Exponential { first_ms: 2, most_ms: 1 }.check().is_err());
        assert!(RetryDelay::Fixed(u64::MAX).check().is_err());
    }
}
