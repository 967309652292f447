//! No panic crosses a boundary.

use rheo_core::{Error, ErrorCode, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs an operation and turns a panic into the error `internal`, with the panic's text as its cause. Costs next to
/// nothing when there is no panic.
///
/// What the operation was changing may be half done after a panic, but is never invalid memory: locks of the core
/// do not poison, and handles are refilled from empty.
///
/// # Errors
/// What the operation gives, and `internal`.
#[inline]
pub fn guard<T>(operation: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(operation)).unwrap_or_else(|panic| Err(internal(&*panic)))
}

#[cold]
fn internal(panic: &(dyn Any + Send)) -> Error {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "a panic without text",
    };
    Error::new(ErrorCode::Internal, "the library met a bug of its own; please report it with this text")
        .with_cause(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_internal_and_carries_its_text() {
        assert_eq!(guard(|| Ok(7)), Ok(7));
        let value = 3;
        for (panic, cause) in [
            (guard(|| -> Result<()> { panic!("plain") }), "plain"),
            (guard(|| -> Result<()> { panic!("value {value}") }), "value 3"),
            (guard(|| -> Result<()> { std::panic::panic_any(5_u8) }), "a panic without text"),
        ] {
            let error = panic.unwrap_err();
            assert_eq!(error.code(), ErrorCode::Internal);
            assert_eq!(error.cause(), Some(cause));
        }
    }
}
