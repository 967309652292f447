//! The options of an append, owning their texts.

use rheo_core::{AppendOptions, Timestamp};

/// What may go with a payload, owned. Keeps its memory when cleared, so that filling it again allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedAppendOptions {
    id: Text,
    key: Text,
    event_type: Text,
    metadata: Text,
    /// See [`AppendOptions::timestamp`].
    pub timestamp: Option<Timestamp>,
    /// See [`AppendOptions::partition`].
    pub partition: Option<u32>,
}

/// A text that may be missing, and whose memory stays when it is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Text {
    given: bool,
    text: String,
}

impl Text {
    fn set(&mut self, text: &str) {
        self.given = true;
        self.text.clear();
        self.text.push_str(text);
    }

    #[inline]
    fn get(&self) -> Option<&str> {
        self.given.then_some(&self.text)
    }
}

impl OwnedAppendOptions {
    /// Nothing set.
    pub fn new() -> OwnedAppendOptions {
        OwnedAppendOptions::default()
    }

    /// See [`AppendOptions::id`].
    pub fn set_id(&mut self, id: &str) {
        self.id.set(id);
    }

    /// See [`AppendOptions::key`].
    pub fn set_key(&mut self, key: &str) {
        self.key.set(key);
    }

    /// See [`AppendOptions::event_type`].
    pub fn set_type(&mut self, event_type: &str) {
        self.event_type.set(event_type);
    }

    /// See [`AppendOptions::metadata`].
    pub fn set_metadata(&mut self, metadata: &str) {
        self.metadata.set(metadata);
    }

    /// Back to nothing set.
    pub fn clear(&mut self) {
        for text in [&mut self.id, &mut self.key, &mut self.event_type, &mut self.metadata] {
            text.given = false;
        }
        self.timestamp = None;
        self.partition = None;
    }

    /// The same as the core takes it.
    #[inline]
    pub fn as_options(&self) -> AppendOptions<'_> {
        AppendOptions {
            id: self.id.get(),
            key: self.key.get(),
            event_type: self.event_type.get(),
            metadata: self.metadata.get(),
            timestamp: self.timestamp,
            partition: self.partition,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::Options;

    #[test]
    fn what_is_set_is_handed_on_until_it_is_cleared() {
        let mut options = OwnedAppendOptions::new();
        let given =
            [("id", "i"), ("key", ""), ("type", "t"), ("metadata", "{}"), ("timestamp", "-5"), ("partition", "3")];
        for (name, value) in given {
            options.set(name, value).unwrap();
        }
        let expected = AppendOptions {
            id: Some("i"),
            key: Some(""),
            event_type: Some("t"),
            metadata: Some("{}"),
            timestamp: Some(Timestamp::from_micros(-5)),
            partition: Some(3),
        };
        assert_eq!(options.as_options(), expected);
        options.clear();
        assert_eq!(options.as_options(), AppendOptions::default());
        options.set_id("j");
        assert_eq!(options.as_options(), AppendOptions { id: Some("j"), ..AppendOptions::default() });
    }
}
