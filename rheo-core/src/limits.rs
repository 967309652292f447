//! The contract's limits and the checks of an argument's form. The facade applies them before a backend is
//! asked, so that every backend and every language refuses the same things with the same words.

use crate::error::{Error, Result};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// The longest id, type, consumer id, stream or group name, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// The longest metadata, in bytes.
pub const MAX_METADATA_BYTES: usize = 64 << 10;
/// The default and largest `max_payload_bytes`.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 20;
/// The most items in a batch.
pub const MAX_BATCH_ITEMS: usize = 10_000;
/// The most bytes in a batch: payloads, metadata, ids, keys and types.
pub const MAX_BATCH_BYTES: usize = 64 << 20;
/// The most leases one fetch gives.
pub const MAX_FETCH: usize = 10_000;
/// The longest duration, in milliseconds: ten years of 365 days.
pub const MAX_DURATION_MS: u64 = 10 * 365 * 24 * 60 * 60 * 1000;
/// The longest reason that is kept, in bytes.
pub const MAX_REASON_BYTES: usize = 1024;
/// The most passed-over events per group and partition (contract 4.13).
pub const MAX_PASSED_OVER: usize = 10_000;

/// Checks a name: `what` is the argument's name.
///
/// # Errors
/// `invalid_argument` unless it has 1 to 255 bytes and no control character.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    // A control character is below U+0020 or from U+007F to U+009F; the latter begin with 0xC2 in UTF-8.
    let plain = |byte: &u8| matches!(byte, 0x20..=0x7e);
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(Error::invalid(format!(
            "{what} has {} bytes; it takes 1 to {MAX_NAME_BYTES} bytes of UTF-8",
            name.len()
        )));
    }
    if !name.as_bytes().iter().all(plain) && name.chars().any(char::is_control) {
        return Err(Error::invalid(format!("{what} {name:?} holds a control character; remove it")));
    }
    Ok(())
}

/// Checks a key.
///
/// # Errors
/// `invalid_argument` unless it has 1 to 1,024 bytes.
pub fn check_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(Error::invalid(format!(
            "key has {} bytes; it takes 1 to {MAX_KEY_BYTES} bytes of UTF-8, or leave it out",
            key.len()
        )));
    }
    Ok(())
}

/// Checks metadata.
///
/// # Errors
/// `invalid_argument` unless it is the text of a JSON object of at most 64 KiB.
pub fn check_metadata(metadata: &str) -> Result<()> {
    if metadata.len() > MAX_METADATA_BYTES {
        return Err(Error::invalid(format!(
            "metadata has {} bytes; it takes at most {MAX_METADATA_BYTES}",
            metadata.len()
        )));
    }
    match serde_json::from_str::<JsonObject>(metadata) {
        Ok(JsonObject) => Ok(()),
        Err(error) => Err(Error::invalid(format!("metadata is not a JSON object: {error}"))),
    }
}

/// Checks a duration in milliseconds: `what` is the argument's name.
///
/// # Errors
/// `invalid_argument` when it is below `least` or above ten years.
pub fn check_duration(what: &str, millis: u64, least: u64) -> Result<()> {
    if millis < least || millis > MAX_DURATION_MS {
        return Err(Error::invalid(format!(
            "{what} is {millis} ms; it takes {least} to {MAX_DURATION_MS} ms (ten years)"
        )));
    }
    Ok(())
}

/// The part of a reason that is kept: at most 1 KiB, cut at a character boundary (contract 4.11).
pub fn kept_reason(reason: &str) -> &str {
    truncated(reason, MAX_REASON_BYTES)
}

/// `text` cut to at most `bytes` at a character boundary.
pub(crate) fn truncated(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Any JSON object; keeps nothing of it.
struct JsonObject;

impl<'de> serde::Deserialize<'de> for JsonObject {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<JsonObject, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = JsonObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonObject, A::Error> {
                // Keys are decoded, so that what passes here can be read again by any parser.
                while map.next_entry::<std::borrow::Cow<'_, str>, IgnoredAny>()?.is_some() {}
                Ok(JsonObject)
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "Ünïcode 名", &"x".repeat(255)] {
            assert!(check_name("stream", good).is_ok(), "{good}");
        }
        for bad in ["", "a\n", "a\0b", "\u{7f}", "\u{85}", &"x".repeat(256)] {
            assert!(check_name("stream", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn metadata_is_an_object() {
        assert!(check_metadata(r#" {"a": [1, {"b": null}]} "#).is_ok());
        for bad in ["", "[]", "1", "{", r#"{"a":}"#, "{}{}"] {
            assert!(check_metadata(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reasons_are_cut_between_characters() {
        let long = "é".repeat(600);
        assert_eq!(kept_reason(&long).len(), 1024);
        let odd = format!("x{long}");
        assert_eq!(kept_reason(&odd).len(), 1023);
    }
}
