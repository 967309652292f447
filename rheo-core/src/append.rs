//! What a producer hands over: a payload and what goes with it.

use crate::error::{Error, ErrorCode, Result};
use crate::limits;
use crate::partition;
use crate::timestamp::Timestamp;

/// How a payload is tagged. Rheo never alters a payload; the tag says how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// JSON text. Not validated: bytes that do not parse have no fields to query.
    Json,
    /// Bytes of any kind.
    Bytes,
}

impl Encoding {
    /// `json` or `bytes`.
    pub const fn name(self) -> &'static str {
        match self {
            Encoding::Json => "json",
            Encoding::Bytes => "bytes",
        }
    }
}

/// What may go with a payload (contract, section 3, "Log"). All of it is optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppendOptions<'a> {
    /// The event's id, 1 to 255 bytes. An id that the stream holds appends nothing. Generated when missing.
    pub id: Option<&'a str>,
    /// The key, 1 to 1,024 bytes; it routes the event unless `partition` does.
    pub key: Option<&'a str>,
    /// The type, 1 to 255 bytes.
    pub event_type: Option<&'a str>,
    /// The text of a JSON object, at most 64 KiB.
    pub metadata: Option<&'a str>,
    /// When it happened; the instance's clock when missing.
    pub timestamp: Option<Timestamp>,
    /// The partition; by `key` when missing, else 0.
    pub partition: Option<u32>,
}

/// One event to append: a payload, its tag and its options.
///
/// ```
/// use rheo_core::Append;
/// let placed = Append::json(br#"{"total":12.5}"#).event_type("placed").key("customer-7");
/// assert_eq!(placed.options.key, Some("customer-7"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Append<'a> {
    /// The payload, at most the instance's `max_payload_bytes`.
    pub payload: &'a [u8],
    /// How the payload is tagged.
    pub encoding: Encoding,
    /// What goes with it.
    pub options: AppendOptions<'a>,
}

impl<'a> Append<'a> {
    /// A payload of JSON text.
    pub fn json(payload: &'a (impl AsRef<[u8]> + ?Sized)) -> Append<'a> {
        Append { payload: payload.as_ref(), encoding: Encoding::Json, options: AppendOptions::default() }
    }

    /// A payload of any bytes.
    pub fn bytes(payload: &'a (impl AsRef<[u8]> + ?Sized)) -> Append<'a> {
        Append { payload: payload.as_ref(), encoding: Encoding::Bytes, options: AppendOptions::default() }
    }

    /// With this id, 1 to 255 bytes.
    #[must_use]
    pub fn id(mut self, id: &'a str) -> Append<'a> {
        self.options.id = Some(id);
        self
    }

    /// With this key, 1 to 1,024 bytes.
    #[must_use]
    pub fn key(mut self, key: &'a str) -> Append<'a> {
        self.options.key = Some(key);
        self
    }

    /// With this type, 1 to 255 bytes.
    #[must_use]
    pub fn event_type(mut self, event_type: &'a str) -> Append<'a> {
        self.options.event_type = Some(event_type);
        self
    }

    /// With this metadata: the text of a JSON object, at most 64 KiB.
    #[must_use]
    pub fn metadata(mut self, metadata: &'a str) -> Append<'a> {
        self.options.metadata = Some(metadata);
        self
    }

    /// With this time instead of the instance clock's.
    #[must_use]
    pub fn timestamp(mut self, timestamp: Timestamp) -> Append<'a> {
        self.options.timestamp = Some(timestamp);
        self
    }

    /// To this partition, whatever the key.
    #[must_use]
    pub fn partition(mut self, partition: u32) -> Append<'a> {
        self.options.partition = Some(partition);
        self
    }

    /// The partition this event goes to in a stream of `partition_count`: the explicit one, else by key, else 0.
    ///
    /// # Errors
    /// `invalid_partition` when the explicit one is out of range.
    pub fn route(&self, stream: &str, partition_count: u32) -> Result<u32> {
        match (self.options.partition, self.options.key) {
            (Some(partition), _) if partition < partition_count => Ok(partition),
            (Some(partition), _) => Err(Error::invalid_partition(stream, partition, partition_count)),
            (None, Some(key)) => Ok(partition::for_key(key.as_bytes(), partition_count)),
            (None, None) => Ok(0),
        }
    }

    /// Bytes as the batch limit and `stream_info` count them; a generated id counts as 36.
    pub fn counted_bytes(&self) -> usize {
        let options = &self.options;
        self.payload.len()
            + options.metadata.map_or(0, str::len)
            + options.id.map_or(uuid::fmt::Hyphenated::LENGTH, str::len)
            + options.key.map_or(0, str::len)
            + options.event_type.map_or(0, str::len)
    }

    /// This event with what it leaves open taken from `shared`.
    pub(crate) fn or(mut self, shared: &AppendOptions<'a>) -> Append<'a> {
        let own = &mut self.options;
        own.key = own.key.or(shared.key);
        own.event_type = own.event_type.or(shared.event_type);
        own.metadata = own.metadata.or(shared.metadata);
        own.timestamp = own.timestamp.or(shared.timestamp);
        own.partition = own.partition.or(shared.partition);
        self
    }

    /// Checks the form of everything that goes with the payload, and the payload's size.
    pub(crate) fn check(&self, max_payload_bytes: usize) -> Result<()> {
        if self.payload.len() > max_payload_bytes {
            return Err(Error::new(
                ErrorCode::PayloadTooLarge,
                format!(
                    "the payload has {} bytes; max_payload_bytes is {max_payload_bytes}: \
                     store the content elsewhere and append where it is",
                    self.payload.len()
                ),
            ));
        }
        self.options.check()
    }
}

impl AppendOptions<'_> {
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(id) = self.id {
            limits::check_name("id", id)?;
        }
        if let Some(event_type) = self.event_type {
            limits::check_name("type", event_type)?;
        }
        if let Some(key) = self.key {
            limits::check_key(key)?;
        }
        if let Some(metadata) = self.metadata {
            limits::check_metadata(metadata)?;
        }
        Ok(())
    }
}
