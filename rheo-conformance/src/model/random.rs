//! A small pseudo-random generator, so that a seed gives the same steps in every release of every dependency.

/// SplitMix64: 64 bits of state, good enough to pick test steps with, and no more than that.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; the same seed gives the same numbers.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end` − 1; 0 when `end` is 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        let bits = self.bits();
        if end == 0 { 0 } else { bits % end }
    }

    /// True in `percent` of a hundred cases.
    pub const fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several, which must not be none.
    pub const fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// One of several by weight; the sum of the weights must not be 0.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let mut rest = self.below(choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            if rest < *weight {
                return *choice;
            }
            rest -= weight;
        }
        unreachable!("what is below the sum of the weights is below one of its parts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let mut random = Random::new(1234567);
        assert_eq!([random.bits(), random.bits()], [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn weights_are_kept_to() {
        let mut random = Random::new(1);
        let mut counts = [0; 3];
        for _ in 0..4000 {
            counts[random.weighted(&[(1, 0), (0, 1), (3, 2)])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((900..1100).contains(&counts[0]), "{counts:?}");
    }
}
