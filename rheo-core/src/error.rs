//! The contract's errors: one code per name, a text that names what failed, and what a holder of a
//! lease may conclude from it (contract, section 5).
//!
//! Nothing else leaves the library: a driver's own error becomes a *cause*, kept as text.

use std::fmt;

/// The result of every fallible operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a holder of a lease may conclude from a failed settle (contract, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SettleClass {
    /// The error says nothing of a lease.
    None,
    /// The lease is gone: stop renewing it.
    Lost,
    /// Nothing was done: the settle may be retried.
    Definite,
    /// The outcome is not known: leave the lease to expire. Fencing protects a settle that did commit.
    Unknown,
}

impl SettleClass {
    /// The class as the contract writes it: `none`, `lost`, `definite` or `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            SettleClass::None => "none",
            SettleClass::Lost => "lost",
            SettleClass::Definite => "definite",
            SettleClass::Unknown => "unknown",
        }
    }
}

/// Whether repeating the same call can help (contract, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retriable {
    /// Repeating the call gives the same error.
    No,
    /// The call may be repeated as it is.
    Yes,
    /// An append may be repeated when it carries the same explicit id; the repeat appends nothing twice.
    WithSameId,
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal, $class:ident, $retriable:ident;)*) => {
        /// The contract's error names. The numbers are stable and never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant = $number,)*
        }

        impl ErrorCode {
            /// Every code, by ascending number.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The number that crosses the C boundary.
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// The contract's name, such as `stale_lease`.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name,)* }
            }

            /// What a holder of a lease may conclude when a settle gives this code.
            pub const fn settle_class(self) -> SettleClass {
                match self { $(ErrorCode::$variant => SettleClass::$class,)* }
            }

            /// Whether repeating the call can help.
            pub const fn retriable(self) -> Retriable {
                match self { $(ErrorCode::$variant => Retriable::$retriable,)* }
            }
        }
    };
}

error_codes! {
    /// The stream does not exist.
    StreamNotFound = 101, "stream_not_found", Lost, No;
    /// The stream exists, the group does not.
    GroupNotFound = 102, "group_not_found", Lost, No;
    /// A stream, a group or an instance of that name exists.
    AlreadyExists = 103, "already_exists", None, No;
    /// The `after` of a page names nothing in the list.
    CursorNotFound = 104, "cursor_not_found", None, No;
    /// The delivery is not leased under this lease id.
    StaleLease = 201, "stale_lease", Lost, No;
    /// The lease id matches, the backend's own receipt does not.
    ReceiptMismatch = 202, "receipt_mismatch", Lost, No;
    /// An argument's form or value is not allowed.
    InvalidArgument = 301, "invalid_argument", Definite, No;
    /// The partition does not exist in the stream.
    InvalidPartition = 302, "invalid_partition", None, No;
    /// A stream has 1 to 65,536 partitions.
    InvalidPartitionCount = 303, "invalid_partition_count", None, No;
    /// Replay takes exactly one way of saying what to replay.
    InvalidReplayOpts = 304, "invalid_replay_opts", None, No;
    /// The operation destroys state and wants `confirm: true`.
    ConfirmRequired = 305, "confirm_required", None, No;
    /// The payload is larger than the instance's `max_payload_bytes`.
    PayloadTooLarge = 306, "payload_too_large", None, No;
    /// This build or this backend cannot do it.
    Unsupported = 307, "unsupported", Definite, No;
    /// The store cannot be reached.
    BackendUnavailable = 401, "backend_unavailable", Unknown, Yes;
    /// Definitely not done; the cause says why.
    Failed = 402, "failed", Definite, Yes;
    /// The outcome is unknown; the cause says why.
    Ambiguous = 403, "ambiguous", Unknown, WithSameId;
    /// The store did not answer in time.
    Timeout = 404, "timeout", Unknown, Yes;
    /// A drain is pending already.
    AlreadyDraining = 405, "already_draining", None, No;
    /// The instance was closed.
    Closed = 501, "closed", Unknown, No;
    /// The instance was opened before this process was forked off.
    Forked = 502, "forked", Unknown, No;
    /// An earlier sync failed; reopen the instance.
    Poisoned = 503, "poisoned", Unknown, No;
    /// Another process holds the journal.
    Locked = 504, "locked", None, Yes;
    /// Stored data fails its check.
    Corrupt = 505, "corrupt", None, No;
    /// The data was stored by a newer format.
    VersionMismatch = 506, "version_mismatch", None, No;
    /// A bug of ours.
    Internal = 901, "internal", Unknown, No;
}

impl ErrorCode {
    /// The code with this number, if there is one.
    pub fn from_number(number: i32) -> Option<ErrorCode> {
        Self::ALL.iter().copied().find(|code| code.number() == number)
    }

    /// The code with this name, if there is one.
    pub fn from_name(name: &str) -> Option<ErrorCode> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// Whether a consumer that meets this code stops for good: `closed`, `forked`, `poisoned`.
    pub const fn ends_consumer(self) -> bool {
        matches!(self, ErrorCode::Closed | ErrorCode::Forked | ErrorCode::Poisoned)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One failure: a code, a text that names what failed and with which value, and the cause where a
/// store or a system call is behind it. One pointer wide, so that a `Result` stays small.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: ErrorCode,
    message: String,
    cause: Option<String>,
}

impl Error {
    /// An error with its text. The text says what failed, with which value, and what to do.
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { code, message: message.into(), cause: None }))
    }

    /// The same error carrying the text of what caused it. `failed` and `ambiguous` always carry one.
    #[cold]
    pub fn with_cause(mut self, cause: impl fmt::Display) -> Error {
        self.0.cause = Some(cause.to_string());
        self
    }

    /// The contract's code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The text, without the code's name and without the cause.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The text of the failure behind this one, if a store or a system call is behind it.
    pub fn cause(&self) -> Option<&str> {
        self.0.cause.as_deref()
    }

    /// Shorthand for `self.code().settle_class()`.
    pub fn settle_class(&self) -> SettleClass {
        self.code().settle_class()
    }

    /// Shorthand for `self.code().retriable()`.
    pub fn retriable(&self) -> Retriable {
        self.code().retriable()
    }

    /// `invalid_argument`. The text says which argument, its value and what it takes.
    #[cold]
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::InvalidArgument, message)
    }

    /// `already_exists`, in the words every backend uses; `what` is the thing with its name.
    #[cold]
    pub fn already_exists(what: &str) -> Error {
        Error::new(ErrorCode::AlreadyExists, format!("{what} exists; use it as it is, or choose another name"))
    }

    /// `stream_not_found`, in the words every backend uses.
    #[cold]
    pub fn stream_not_found(stream: &str) -> Error {
        Error::new(ErrorCode::StreamNotFound, format!("stream {stream:?} does not exist; create it first"))
    }

    /// `group_not_found`, in the words every backend uses.
    #[cold]
    pub fn group_not_found(stream: &str, group: &str) -> Error {
        Error::new(ErrorCode::GroupNotFound, format!("stream {stream:?} has no group {group:?}; create it first"))
    }

    /// `stale_lease`, in the words every backend uses.
    #[cold]
    pub fn stale_lease(token: &crate::LeaseToken) -> Error {
        Error::new(
            ErrorCode::StaleLease,
            format!(
                "the delivery of event {} of partition {} in stream {:?} to group {:?} is not leased under \
                 lease id {}: it was settled, claimed by another holder, replayed, reset or trimmed, or is another store's or group's; drop it",
                token.sequence(),
                token.partition(),
                token.stream(),
                token.group(),
                token.lease_id(),
            ),
        )
    }

    /// `receipt_mismatch`, in the words every backend uses.
    #[cold]
    pub fn receipt_mismatch(token: &crate::LeaseToken) -> Error {
        Error::new(
            ErrorCode::ReceiptMismatch,
            format!(
                "lease {} of event {} of partition {} in stream {:?} carries receipt {:?}, \
                 which is not the one the store holds; drop the lease",
                token.lease_id(),
                token.sequence(),
                token.partition(),
                token.stream(),
                token.receipt(),
            ),
        )
    }

    /// `invalid_partition`, in the words every backend uses.
    #[cold]
    pub fn invalid_partition(stream: &str, partition: u32, partition_count: u32) -> Error {
        Error::new(
            ErrorCode::InvalidPartition,
            format!(
                "partition {partition} of stream {stream:?} does not exist; it has partitions 0 to {}",
                partition_count - 1
            ),
        )
    }

    /// `closed`, in the words every backend uses.
    #[cold]
    pub(crate) fn closed() -> Error {
        Error::new(ErrorCode::Closed, "the instance was closed; open it again")
    }

    /// `unsupported`: `what` is an operation that this backend does not offer.
    #[cold]
    pub fn unsupported(what: &str) -> Error {
        Error::new(ErrorCode::Unsupported, format!("this backend does not support {what}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)?;
        match &self.0.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_found_again() {
        for &code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_number(code.number()), Some(code));
            assert_eq!(ErrorCode::from_name(code.name()), Some(code));
        }
        assert_eq!(ErrorCode::from_number(0), None);
        assert!(ErrorCode::ALL.windows(2).all(|pair| pair[0].number() < pair[1].number()));
    }

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
