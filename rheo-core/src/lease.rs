//! A fenced claim on one delivery, and the token by which it travels.

use crate::backend::Binding;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::limits;
use crate::timestamp::Timestamp;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The 128 random bits that fence a claim. A new one at each claim, kept by renew. Its text is 32
/// hexadecimal digits.
///
/// Two words rather than sixteen bytes: it is moved and compared on the hottest paths.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct LeaseId([u64; 2]);

impl LeaseId {
    /// The length of the text form, in bytes.
    pub const TEXT_LEN: usize = 32;

    /// A new random id.
    pub fn random() -> LeaseId {
        LeaseId::from_source(&mut SmallRng::from_os_rng())
    }

    /// A new id from a source of random bits.
    #[inline]
    pub(crate) fn from_source(source: &mut impl rand::Rng) -> LeaseId {
        LeaseId([source.next_u64(), source.next_u64()])
    }

    /// The id of these 16 bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> LeaseId {
        let bits = u128::from_be_bytes(bytes);
        LeaseId([(bits >> 64) as u64, bits as u64])
    }

    /// The 16 bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        (((self.0[0] as u128) << 64) | self.0[1] as u128).to_be_bytes()
    }

    /// The text form, as ASCII bytes.
    pub fn to_text(self) -> [u8; LeaseId::TEXT_LEN] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; LeaseId::TEXT_LEN];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.to_bytes()) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        text
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.to_text()).expect("hexadecimal digits are ASCII"))
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// # Errors
/// `invalid_argument` for what is not 32 hexadecimal digits.
impl FromStr for LeaseId {
    type Err = Error;

    fn from_str(text: &str) -> Result<LeaseId> {
        let is_hexadecimal = text.len() == LeaseId::TEXT_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(text, 16)
            .ok()
            .filter(|_| is_hexadecimal)
            .map(|bits| LeaseId::from_bytes(bits.to_be_bytes()))
            .ok_or_else(|| {
                let shown: String = text.chars().take(80).collect();
                Error::invalid(format!("{shown:?} is no lease id; it has 32 hexadecimal digits"))
            })
    }
}

/// What the leases of one fetch have in common: whose they are. Shared, so that a lease costs one reference
/// count instead of three.
pub struct LeaseContext {
    stream: Arc<str>,
    group: Arc<str>,
    consumer_id: Arc<str>,
    binding: Binding,
}

impl LeaseContext {
    /// The context of leases that `consumer_id` holds. `binding` is what the backend wants to find again at
    /// settle without looking names up; `Binding::default()` where it wants nothing.
    pub fn new(stream: Arc<str>, group: Arc<str>, consumer_id: Arc<str>, binding: Binding) -> Arc<LeaseContext> {
        Arc::new(LeaseContext { stream, group, consumer_id, binding })
    }

    /// The stream's name.
    pub fn stream(&self) -> &Arc<str> {
        &self.stream
    }

    /// The group's name.
    pub fn group(&self) -> &Arc<str> {
        &self.group
    }

    /// Who holds the leases; empty for a token that was read from text.
    pub fn consumer_id(&self) -> &Arc<str> {
        &self.consumer_id
    }

    /// The backend's own note, given at `new`.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }
}

/// All that a settle needs to know of a lease: where the delivery is and the fence. Its text form travels to
/// other threads, processes and languages; whoever reaches the same store can settle by it (contract,
/// section 2).
///
/// The text form is `rheo1.` and URL-safe base64; it carries a checksum, so that a damaged one is told from
/// one that is no longer valid. It is not a secret and not a signature.
#[derive(Clone)]
pub struct LeaseToken {
    context: Arc<LeaseContext>,
    lease_id: LeaseId,
    sequence: u64,
    lease_ms: u64,
    receipt: Option<Box<str>>,
    partition: u32,
}

impl LeaseToken {
    /// A token; for backends. `receipt` is the store's own identity of the claim, nothing where it has none.
    pub fn new(
        context: Arc<LeaseContext>,
        partition: u32,
        sequence: u64,
        lease_id: LeaseId,
        receipt: Option<Box<str>>,
        lease_ms: u64,
    ) -> LeaseToken {
        LeaseToken { context, lease_id, sequence, lease_ms, receipt, partition }
    }

    /// What this lease shares with the others of its fetch.
    pub fn context(&self) -> &Arc<LeaseContext> {
        &self.context
    }

    /// The stream's name.
    pub fn stream(&self) -> &str {
        &self.context.stream
    }

    /// The group's name.
    pub fn group(&self) -> &str {
        &self.context.group
    }

    /// The event's partition.
    pub fn partition(&self) -> u32 {
        self.partition
    }

    /// The event's sequence.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The fence.
    pub fn lease_id(&self) -> LeaseId {
        self.lease_id
    }

    /// The store's own identity of the claim; nothing where it equals the lease id.
    pub fn own_receipt(&self) -> Option<&str> {
        self.receipt.as_deref()
    }

    /// The receipt as text: the store's own, else the text of the lease id.
    pub fn receipt(&self) -> String {
        self.receipt.as_deref().map_or_else(|| self.lease_id.to_string(), str::to_owned)
    }

    /// The duration asked for at fetch, in milliseconds; what `renew` uses when not told otherwise.
    pub fn lease_ms(&self) -> u64 {
        self.lease_ms
    }

    fn encode(&self) -> Vec<u8> {
        let receipt = self.receipt.as_deref().unwrap_or("");
        let mut bytes = Vec::with_capacity(64 + self.stream().len() + self.group().len() + receipt.len());
        bytes.extend(self.partition.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.lease_ms.to_le_bytes());
        bytes.extend(self.lease_id.to_bytes());
        for text in [self.stream(), self.group()] {
            bytes.push(text.len() as u8);
            bytes.extend(text.as_bytes());
        }
        bytes.extend(receipt.as_bytes());
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    fn decode(text: &str) -> Option<LeaseToken> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let (content, sum) = bytes.split_last_chunk::<4>()?;
        if checksum(content) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (partition, content) = content.split_first_chunk::<4>()?;
        let (sequence, content) = content.split_first_chunk::<8>()?;
        let (lease_ms, content) = content.split_first_chunk::<8>()?;
        let (lease_id, content) = content.split_first_chunk::<16>()?;
        let (stream, content) = short_text(content)?;
        let (group, receipt) = short_text(content)?;
        let receipt = std::str::from_utf8(receipt).ok()?;
        limits::check_name("stream", stream).ok()?;
        limits::check_name("group", group).ok()?;
        let lease_ms = u64::from_le_bytes(*lease_ms);
        limits::check_duration("lease_ms", lease_ms, 1).ok()?;
        Some(LeaseToken {
            context: LeaseContext::new(stream.into(), group.into(), "".into(), Binding::default()),
            lease_id: LeaseId::from_bytes(*lease_id),
            sequence: u64::from_le_bytes(*sequence),
            lease_ms,
            receipt: (!receipt.is_empty()).then(|| receipt.into()),
            partition: u32::from_le_bytes(*partition),
        })
    }
}

const PREFIX: &str = "rheo1.";

fn short_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*len))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// FNV-1a: enough to tell a mistyped or cut token from a whole one.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&URL_SAFE_NO_PAD.encode(self.encode()))
    }
}

impl fmt::Debug for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseToken")
            .field("stream", &self.stream())
            .field("group", &self.group())
            .field("partition", &self.partition)
            .field("sequence", &self.sequence)
            .field("lease_id", &self.lease_id)
            .field("receipt", &self.receipt())
            .field("lease_ms", &self.lease_ms)
            .finish()
    }
}

/// # Errors
/// `invalid_argument` when the text is not a whole token.
impl FromStr for LeaseToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<LeaseToken> {
        LeaseToken::decode(text).ok_or_else(|| {
            let shown = limits::truncated(text, 80);
            Error::invalid(format!("{shown:?} is not a lease token; pass the text that the lease's token gave"))
        })
    }
}

impl AsRef<LeaseToken> for LeaseToken {
    fn as_ref(&self) -> &LeaseToken {
        self
    }
}

/// A claim on one delivery until `expires_at`, fenced by its lease id (contract, section 2).
///
/// A plain value: dropping it settles nothing; the claim ends by a settle or by expiry.
#[derive(Clone)]
pub struct Lease {
    token: LeaseToken,
    event: Event,
    leased_at: Timestamp,
    expires_at: Timestamp,
    attempt: u32,
}

impl Lease {
    /// A lease; for backends.
    pub fn new(token: LeaseToken, event: Event, attempt: u32, leased_at: Timestamp, expires_at: Timestamp) -> Lease {
        Lease { token, event, leased_at, expires_at, attempt }
    }

    /// The token: what travels, and what every settle takes.
    pub fn token(&self) -> &LeaseToken {
        &self.token
    }

    /// The event that is claimed.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The fence.
    pub fn lease_id(&self) -> LeaseId {
        self.token.lease_id
    }

    /// The store's own identity of the claim, as text; equal to the lease id where it has none.
    pub fn receipt(&self) -> String {
        self.token.receipt()
    }

    /// The stream's name.
    pub fn stream(&self) -> &str {
        self.token.stream()
    }

    /// The group's name.
    pub fn group(&self) -> &str {
        self.token.group()
    }

    /// Who holds it.
    pub fn consumer_id(&self) -> &str {
        &self.token.context.consumer_id
    }

    /// Which delivery of the event to the group this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The duration asked for, in milliseconds.
    pub fn lease_ms(&self) -> u64 {
        self.token.lease_ms
    }

    /// When it was claimed, by the instance's clock.
    pub fn leased_at(&self) -> Timestamp {
        self.leased_at
    }

    /// When it expires. Informational: the store's own deadline counts.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// The same lease with another `expires_at`: what `renew` makes of it, for those who renewed its token.
    #[must_use]
    pub fn renewed(&self, expires_at: Timestamp) -> Lease {
        Lease { expires_at, ..self.clone() }
    }
}

impl AsRef<LeaseToken> for Lease {
    fn as_ref(&self) -> &LeaseToken {
        &self.token
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("token", &self.token)
            .field("attempt", &self.attempt)
            .field("consumer_id", &self.consumer_id())
            .field("leased_at", &self.leased_at)
            .field("expires_at", &self.expires_at)
            .field("event", &self.event)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(receipt: Option<&str>) -> LeaseToken {
        let context = LeaseContext::new("orders".into(), "bïlling".into(), "c".into(), Binding::default());
        LeaseToken::new(context, 7, u64::MAX, LeaseId::random(), receipt.map(Into::into), 30_000)
    }

    #[test]
    fn tokens_survive_text() {
        for receipt in [None, Some("7-0")] {
            let token = token(receipt);
            let read: LeaseToken = token.to_string().parse().unwrap();
            assert_eq!(read.stream(), "orders");
            assert_eq!(read.group(), "bïlling");
            assert_eq!(read.partition(), 7);
            assert_eq!(read.sequence(), u64::MAX);
            assert_eq!(read.lease_id(), token.lease_id());
            assert_eq!(read.receipt(), token.receipt());
            assert_eq!(read.lease_ms(), 30_000);
        }
    }

    #[test]
    fn ids_survive_text() {
        let id = LeaseId::random();
        assert_eq!(id.to_string().parse::<LeaseId>().unwrap(), id);
        assert_eq!(id.to_string().to_uppercase().parse::<LeaseId>().unwrap(), id);
        for bad in ["", "+00000000000000000000000000000001", "0000000000000000000000000000000g", "00", &"0".repeat(33)]
        {
            assert!(bad.parse::<LeaseId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn any_damage_makes_a_token_malformed() {
        let text = token(None).to_string();
        for cut in 0..text.len() {
            assert!(text[..cut].parse::<LeaseToken>().is_err(), "cut at {cut}");
        }
        for at in PREFIX.len()..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            assert!(String::from_utf8(damaged).unwrap().parse::<LeaseToken>().is_err(), "damaged at {at}");
        }
    }
}
