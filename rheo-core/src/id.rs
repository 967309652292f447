//! Generated event ids: UUIDv7 that never go back within a partition, and that say where their event is.
//!
//! A version 7 UUID has 48 bits of milliseconds and 74 bits to fill. Here 16 of these hold the partition and 58
//! hold `salt + sequence`, where the salt is 57 random bits drawn for each partition of each stream. So an id is
//! unique as far as the salt is, ascends with the sequence even within a millisecond, and, to somebody who knows
//! the salt, names the position of its event: an append with an explicit id looks a generated one up without any
//! index of generated ids.

use rand::RngCore;
use std::collections::BTreeMap;
use uuid::Uuid;

const SALT_BITS: u32 = 57;
const COUNTER_BITS: u32 = 58;

/// How far ahead of its sequence a generator looks for explicit ids that it might yet make itself.
const LOOK_AHEAD: u64 = 1 << 40;

/// Makes the ids of one partition.
#[derive(Debug)]
pub(crate) struct IdGenerator {
    salt: u64,
    partition: u32,
    last_millis: u64,
    /// Whether the salt is that of ids made in an earlier life.
    recalled: bool,
    /// Explicit ids that look like ones this generator has yet to make, by sequence. Nobody but a forger, who
    /// has seen an id and counts on from it, puts anything here.
    avoided: BTreeMap<u64, Vec<Uuid>>,
}

impl IdGenerator {
    /// A generator with a salt of its own from this source. `partition` is below 65,536.
    pub(crate) fn new(partition: u32, random: &mut impl RngCore) -> IdGenerator {
        let salt = random.next_u64() >> (u64::BITS - SALT_BITS);
        IdGenerator { salt, partition, last_millis: 0, recalled: false, avoided: BTreeMap::new() }
    }

    /// Takes note of an id that a generator of this partition made, in an earlier life, for the event at `sequence`, and says
    /// whether it can be: all of them have one salt.
    pub(crate) fn recall(&mut self, id: Uuid, sequence: u64) -> bool {
        let bits = id.as_u128();
        let salt = (bits as u64 & ((1 << COUNTER_BITS) - 1)).wrapping_sub(sequence);
        let fits = if self.recalled { salt == self.salt } else { salt >> SALT_BITS == 0 };
        if fits {
            (self.salt, self.recalled) = (salt, true);
            self.last_millis = self.last_millis.max((bits >> 80) as u64);
        }
        fits
    }

    /// The id of the event at `sequence`, made at this time. A clock that went back does not take the ids along.
    #[inline]
    pub(crate) fn next(&mut self, micros: i64, sequence: u64) -> Uuid {
        let millis = (micros.max(0) as u64 / 1000).min((1 << 48) - 1);
        self.last_millis = self.last_millis.max(millis);
        let mut id = self.id_of(sequence);
        if !self.avoided.is_empty() {
            let taken = self.avoided.remove(&sequence).unwrap_or_default();
            while taken.contains(&id) {
                self.last_millis += 1;
                id = self.id_of(sequence);
            }
        }
        id
    }

    fn id_of(&self, sequence: u64) -> Uuid {
        let partition = u128::from(self.partition);
        let counter = u128::from((self.salt + sequence) & ((1 << COUNTER_BITS) - 1));
        Uuid::from_u128(
            u128::from(self.last_millis) << 80
                | 0x7 << 76
                | (partition >> 4) << 64
                | 0b10 << 62
                | (partition & 0xf) << COUNTER_BITS
                | counter,
        )
    }

    /// Makes sure that an explicit id is not generated for a sequence from `next` on as well.
    pub(crate) fn avoid(&mut self, id: Uuid, next: u64) {
        let sequence = self.sequence_of(id);
        if !self.avoided.is_empty() {
            self.avoided = self.avoided.split_off(&next);
        }
        if (next..next + LOOK_AHEAD).contains(&sequence) {
            self.avoided.entry(sequence).or_default().push(id);
        }
    }

    /// The sequence that an id would have if this generator had made it.
    pub(crate) fn sequence_of(&self, id: Uuid) -> u64 {
        (id.as_u128() as u64 & ((1 << COUNTER_BITS) - 1)).wrapping_sub(self.salt)
    }
}

/// The partition of an id if it was generated; nothing when it cannot have been. Only the canonical text (lower
/// case, hyphens) is ever a generated id.
pub(crate) fn parse_generated(text: &str) -> Option<(u32, Uuid)> {
    if text.len() != uuid::fmt::Hyphenated::LENGTH || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let id = Uuid::try_parse(text).ok()?;
    let bits = id.as_u128();
    let is_version_7 = (bits >> 76) & 0xf == 7 && (bits >> 62) & 0b11 == 0b10;
    let partition = ((bits >> 64) as u32 & 0xfff) << 4 | (bits >> COUNTER_BITS) as u32 & 0xf;
    is_version_7.then_some((partition, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_place() {
        for partition in [0, 1, 15, 16, 4095, 65_535] {
            let mut generator = IdGenerator::new(partition, &mut rand::rng());
            for sequence in [1, 2, 1 << 40] {
                let id = generator.next(1_700_000_000_000_000, sequence);
                assert_eq!(id.get_version_num(), 7);
                assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
                assert_eq!(parse_generated(&id.to_string()), Some((partition, id)));
                assert_eq!(generator.sequence_of(id), sequence);
            }
        }
    }

    #[test]
    fn ids_ascend_whatever_the_clock_does() {
        let mut generator = IdGenerator::new(3, &mut rand::rng());
        let clock = [5_000_000, 5_000_000, 1_000, -9, i64::MAX, 7_000_000];
        let ids: Vec<Uuid> = clock.into_iter().zip(1..).map(|(micros, n)| generator.next(micros, n)).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_forged_id_is_not_generated_again() {
        let mut generator = IdGenerator::new(3, &mut rand::rng());
        let seen = generator.next(7_000_000, 1);
        let forged = Uuid::from_u128(seen.as_u128() + 1);
        generator.avoid(forged, 2);
        generator.avoid(Uuid::from_u128(seen.as_u128() + 9), 2);
        let next = generator.next(7_000_000, 2);
        assert!(next > forged && generator.sequence_of(next) == 2);
        assert!(generator.next(7_000_000, 3) > next);
    }

    #[test]
    fn ids_go_on_after_a_reopen() {
        let mut before = IdGenerator::new(3, &mut rand::rng());
        let made: Vec<Uuid> = (1..4).map(|sequence| before.next(9_000_000_000, sequence)).collect();
        let mut after = IdGenerator::new(3, &mut rand::rng());
        assert!(made.iter().zip(1..).all(|(id, sequence)| after.recall(*id, sequence)));
        assert!(!after.recall(made[0], 2));
        let next = after.next(0, 4);
        assert!(next > made[2] && after.sequence_of(next) == 4 && after.sequence_of(made[0]) == 1);
    }

    #[test]
    fn other_text_is_not_a_generated_id() {
        for text in ["", "x", "01890A5D-AC96-774B-BCCE-B302099A8057", "01890a5d-ac96-474b-bcce-b302099a8057"] {
            assert_eq!(parse_generated(text), None, "{text}");
        }
    }
}
