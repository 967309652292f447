//! The open deliveries of a partition, by sequence: a map in blocks of neighbouring sequences.
//!
//! Sequences come in runs, so a block serves many. A block is found by hashing and its order kept apart: with a hundred
//! thousand deliveries open and settled at random, a search tree costs several mispredicted branches each time, a
//! hash none. A block that is empty goes, but the highest, which the next claim is likely to need.

use super::progress::Delivery;
use super::stream::shrink;
use crate::lease::LeaseId;
use hashbrown::HashMap;
use std::collections::BTreeSet;

const BLOCK: u64 = 32;

#[derive(Default)]
pub(super) struct Open {
    /// By sequence / `BLOCK`. Only the highest may be empty.
    blocks: HashMap<u64, Block>,
    /// The numbers of the blocks.
    order: BTreeSet<u64>,
    /// An empty block, kept for the next one that is needed.
    spare: Option<Block>,
}

struct Block {
    /// A bit for each place that holds a delivery. It lies in the map, so that settling touches one line of memory
    /// outside of it.
    occupied: u32,
    places: Box<Places>,
}

/// The fences lie together: an ack reads nothing else, and a line of memory holds four of them.
#[derive(Default)]
struct Places {
    /// Whose claim it is; `NOBODY` where a delivery is not held.
    fences: [LeaseId; BLOCK as usize],
    deliveries: [Delivery; BLOCK as usize],
}

const NOBODY: LeaseId = LeaseId::from_bytes([0; 16]);

impl Block {
    fn holds(&self, place: usize) -> bool {
        self.occupied & (1 << place) != 0
    }
}

fn place_of(sequence: u64) -> usize {
    (sequence % BLOCK) as usize
}

impl Open {
    pub(super) fn get(&self, sequence: u64) -> Option<&Delivery> {
        let block = self.blocks.get(&(sequence / BLOCK))?;
        let place = place_of(sequence);
        block.holds(place).then(|| &block.places.deliveries[place])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, sequence: u64) -> Option<&mut Delivery> {
        let block = self.blocks.get_mut(&(sequence / BLOCK))?;
        let place = place_of(sequence);
        block.holds(place).then(|| &mut block.places.deliveries[place])
    }

    /// Whether a delivery is held under this lease id.
    pub(super) fn is_held(&self, sequence: u64, lease_id: LeaseId) -> bool {
        let Some(block) = self.blocks.get(&(sequence / BLOCK)) else { return false };
        let place = place_of(sequence);
        lease_id != NOBODY && block.holds(place) && block.places.fences[place] == lease_id
    }

    /// The lease id under which a delivery is held; that of nobody when it is not.
    pub(super) fn fence(&self, sequence: u64) -> LeaseId {
        let block = self.blocks.get(&(sequence / BLOCK)).filter(|block| block.holds(place_of(sequence)));
        block.map_or(NOBODY, |block| block.places.fences[place_of(sequence)])
    }

    /// Ends the hold on a delivery.
    pub(super) fn let_go(&mut self, sequence: u64) {
        if let Some(block) = self.blocks.get_mut(&(sequence / BLOCK)) {
            block.places.fences[place_of(sequence)] = NOBODY;
        }
    }

    /// Adds a delivery that is held under this lease id.
    #[inline]
    pub(super) fn insert_held(&mut self, sequence: u64, lease_id: LeaseId, delivery: Delivery) {
        let number = sequence / BLOCK;
        let place = place_of(sequence);
        let block = match self.blocks.get_mut(&number) {
            Some(block) => block,
            None => self.add_block(number),
        };
        block.occupied |= 1 << place;
        block.places.fences[place] = lease_id;
        block.places.deliveries[place] = delivery;
    }

    /// Adds a delivery that nobody holds.
    pub(super) fn insert(&mut self, sequence: u64, delivery: Delivery) {
        self.insert_held(sequence, NOBODY, delivery);
    }

    #[cold]
    fn add_block(&mut self, number: u64) -> &mut Block {
        // The block that is the highest so far is no longer exempt from going.
        if let Some(highest) = self.order.last().copied()
            && self.blocks.get(&highest).is_some_and(|block| block.occupied == 0)
        {
            self.remove_block(highest);
        }
        let block = self.spare.take().unwrap_or_else(|| Block { occupied: 0, places: Box::default() });
        self.order.insert(number);
        self.blocks.entry(number).or_insert(block)
    }

    fn remove_block(&mut self, number: u64) {
        self.order.remove(&number);
        self.spare = self.blocks.remove(&number);
        shrink(&mut self.blocks);
    }

    /// Removes a delivery if it is held under this lease id, and says whether it did. Reads no more than the fence.
    #[inline]
    pub(super) fn remove_held(&mut self, sequence: u64, lease_id: LeaseId) -> bool {
        let number = sequence / BLOCK;
        let Some(block) = self.blocks.get_mut(&number) else { return false };
        let place = place_of(sequence);
        if lease_id == NOBODY || !block.holds(place) || block.places.fences[place] != lease_id {
            return false;
        }
        block.occupied &= !(1 << place);
        if block.occupied == 0 {
            self.emptied(number);
        }
        true
    }

    /// Removes a delivery.
    pub(super) fn remove(&mut self, sequence: u64) -> Option<Delivery> {
        let number = sequence / BLOCK;
        let block = self.blocks.get_mut(&number)?;
        let place = place_of(sequence);
        if !block.holds(place) {
            return None;
        }
        block.occupied &= !(1 << place);
        let delivery = block.places.deliveries[place];
        if block.occupied == 0 {
            self.emptied(number);
        }
        Some(delivery)
    }

    fn emptied(&mut self, number: u64) {
        if self.order.last() != Some(&number) {
            self.remove_block(number);
        }
    }

    /// The lowest sequence.
    pub(super) fn first(&self) -> Option<u64> {
        let number = self.order.first()?;
        let block = &self.blocks[number];
        (block.occupied != 0).then(|| number * BLOCK + u64::from(block.occupied.trailing_zeros()))
    }

    /// Removes what lies below a sequence, and returns it in order.
    pub(super) fn take_below(&mut self, sequence: u64) -> Vec<(u64, Delivery)> {
        let mut taken = Vec::new();
        while let Some(first) = self.first().filter(|first| *first < sequence) {
            taken.extend(self.remove(first).map(|delivery| (first, delivery)));
        }
        taken
    }

    /// What lies at a sequence and above, in order.
    pub(super) fn from(&self, sequence: u64) -> impl Iterator<Item = (u64, Delivery)> {
        let in_block = |number: &u64| {
            let (number, block) = (*number, &self.blocks[number]);
            let held = (0..BLOCK as usize).filter(|place| block.holds(*place));
            held.map(move |place| (number * BLOCK + place as u64, block.places.deliveries[place]))
        };
        self.order.range(sequence / BLOCK..).flat_map(in_block).filter(move |(found, _)| *found >= sequence)
    }

    /// Removes what lies at a sequence and above, and returns it in order.
    pub(super) fn take_from(&mut self, sequence: u64) -> Vec<(u64, Delivery)> {
        let taken: Vec<(u64, Delivery)> = self.from(sequence).collect();
        for (sequence, _) in &taken {
            self.remove(*sequence);
        }
        taken
    }

    pub(super) fn clear(&mut self) {
        *self = Open::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    fn attempt(attempt: u32) -> Delivery {
        let mut delivery = Delivery::default();
        delivery.attempt = attempt;
        delivery
    }

    #[test]
    fn behaves_as_an_ordered_map() {
        let mut random = SmallRng::seed_from_u64(7);
        let mut open = Open::default();
        let mut model = BTreeMap::new();
        for step in 0..20_000_u32 {
            let sequence = random.random_range(1..400);
            match random.random_range(0..20) {
                0..9 => {
                    let fence = LeaseId::random();
                    open.insert_held(sequence, fence, attempt(step));
                    model.insert(sequence, step);
                    assert!(open.is_held(sequence, fence) && !open.is_held(sequence + 400, fence));
                    assert!(!open.is_held(sequence, LeaseId::random()) && !open.remove_held(sequence, NOBODY));
                    if step % 3 == 0 {
                        open.let_go(sequence);
                        assert!(!open.remove_held(sequence, fence) && !open.is_held(sequence, NOBODY));
                    } else if step % 3 == 1 {
                        assert!(open.remove_held(sequence, fence) && !open.remove_held(sequence, fence));
                        model.remove(&sequence);
                    }
                }
                9..18 => {
                    let removed = open.remove(sequence).map(|delivery| delivery.attempt);
                    assert_eq!(removed, model.remove(&sequence));
                }
                18 => {
                    let kept = model.split_off(&sequence);
                    let taken: Vec<_> = std::mem::replace(&mut model, kept).into_iter().collect();
                    let below = open.take_below(sequence);
                    assert_eq!(below.iter().map(|(at, found)| (*at, found.attempt)).collect::<Vec<_>>(), taken);
                }
                _ => {
                    let taken: Vec<_> = model.split_off(&sequence).into_iter().collect();
                    let above = open.take_from(sequence);
                    assert_eq!(above.iter().map(|(at, found)| (*at, found.attempt)).collect::<Vec<_>>(), taken);
                }
            }
            assert_eq!(open.first(), model.first_key_value().map(|(first, _)| *first));
            assert_eq!(open.get(sequence).map(|delivery| delivery.attempt), model.get(&sequence).copied());
            let empty = open.blocks.values().filter(|block| block.occupied == 0).count();
            assert!(empty <= 1 && open.order.iter().rev().skip(1).all(|number| open.blocks[number].occupied != 0));
            assert!(open.order.iter().eq(open.blocks.keys().collect::<BTreeSet<_>>()));
        }
    }
}
