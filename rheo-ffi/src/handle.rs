//! What every foreign surface shares: C today, Python and Node by the same handles.
//!
//! The operations themselves are [`rheo_core::Instance`]'s, [`rheo_core::Stream`]'s and [`rheo_core::Group`]'s,
//! which already refuse to work in a forked child. Here is what a boundary adds to them:
//!
//! - [`guard`]: a panic never crosses; it becomes the error `internal`;
//! - [`Options`]: options set by name, with values as text, for languages that have no struct to fill;
//! - [`OwnedAppendOptions`], [`OwnedFetchOptions`]: options that own their texts, and
//! - [`Batch`], which owns the events of a batch, because the caller's memory is not ours to keep;
//! - [`settle_tokens`]: many leases settled by the texts of their tokens;
//! - [`json`]: the conversions from JSON that the options are made of;
//! - [`wait::fetch`]: a wait that asks the host, again and again, whether to go on (Python's Ctrl-C). For an end
//!   that another thread calls for there is [`rheo_core::Interrupt`].
//!
//! Nothing here knows C types, pointers or any language.

mod append;
mod batch;
mod fetch;
mod guard;
pub mod json;
mod options;
mod tokens;
pub mod wait;

pub use append::OwnedAppendOptions;
pub use batch::Batch;
pub use fetch::OwnedFetchOptions;
pub use guard::guard;
pub use options::{Options, partition_count};
pub use tokens::settle_tokens;

use rheo_core::{Error, ErrorCode};

/// The features that a build may have or lack, and whether this one has them: `memory` and `journal` (always) and the further
/// backends, each by the name that `unsupported` gives when it is missing.
pub const FEATURES: [(&str, bool); 3] =
    [("memory", true), ("journal", true), ("test-backends", cfg!(feature = "test-backends"))];

/// `invalid_argument` with this text.
#[cold]
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, message)
}

/// As much of a text as belongs into a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

/// A whole number in the range of a narrower or unsigned type: `what` is the argument's name.
///
/// # Errors
/// `invalid_argument` names the argument and the value.
pub fn number<N: TryFrom<i64>>(what: &str, value: i64) -> Result<N, Error> {
    N::try_from(value).map_err(|_| {
        let why = if value < 0 { "it takes 0 or more" } else { "that is too large" };
        invalid(format!("{what} is {value}; {why}"))
    })
}
