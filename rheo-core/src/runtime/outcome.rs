//! What a handler says of an event.

/// What becomes of a delivery that a handler has had (contract, section 6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Done: the delivery is terminal.
    #[default]
    Ack,
    /// Another attempt, unless there have been `max_attempts`.
    Retry {
        /// Why; at most 1 KiB is kept.
        reason: String,
        /// When, in milliseconds from now; the consumer's `retry_delay` when missing.
        delay_ms: Option<u64>,
    },
    /// A dead letter.
    Reject {
        /// Why; at most 1 KiB is kept.
        reason: String,
    },
    /// The handler failed: what `on_failure` says.
    Fail {
        /// With what; at most 1 KiB is kept.
        reason: String,
    },
    /// Available to others at once; the attempt does not count.
    Release,
}

impl Outcome {
    /// Another attempt, after the consumer's `retry_delay`.
    pub fn retry(reason: impl Into<String>) -> Outcome {
        Outcome::Retry { reason: reason.into(), delay_ms: None }
    }

    /// Another attempt, after so many milliseconds.
    pub fn retry_after(reason: impl Into<String>, delay_ms: u64) -> Outcome {
        Outcome::Retry { reason: reason.into(), delay_ms: Some(delay_ms) }
    }

    /// A dead letter.
    pub fn reject(reason: impl Into<String>) -> Outcome {
        Outcome::Reject { reason: reason.into() }
    }

    /// The handler failed.
    pub fn fail(reason: impl Into<String>) -> Outcome {
        Outcome::Fail { reason: reason.into() }
    }
}

/// An error is a failure with the error's text as reason.
impl<E: std::fmt::Display> From<Result<(), E>> for Outcome {
    fn from(result: Result<(), E>) -> Outcome {
        match result {
            Ok(()) => Outcome::Ack,
            Err(error) => Outcome::fail(error.to_string()),
        }
    }
}

/// What becomes of a delivery whose handler failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Another attempt after `retry_delay`, unless there have been `max_attempts`.
    #[default]
    Retry,
    /// A dead letter at once.
    Reject,
}
