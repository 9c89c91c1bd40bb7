//! Reproducible pseudo-random numbers: a seed determines the sequence on every machine.

/// A pseudo-random number generator (splitmix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // The bias of the remainder is negligible for tests.
        (self.next() % limit.max(1) as u64) as usize
    }

    /// True with the probability 1/`n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the elements; `None` if there is none.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).cloned()
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    /// The first numbers of `splitmix64.c` (Vigna 2015) with the seed 1234567.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let mut rng = Rng::new(1_234_567);
        for expected in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!(rng.next(), expected);
        }
    }

    #[test]
    fn every_element_is_picked() {
        let mut rng = Rng::new(7);
        let mut picked: Vec<_> = (0..100).map(|_| rng.pick(&[2, 3, 5])).collect();
        picked.sort_unstable();
        picked.dedup();
        assert_eq!(picked, [Some(2), Some(3), Some(5)]);
        assert_eq!((rng.pick::<u8>(&[]), rng.below(0)), (None, 0));
    }

    #[test]
    fn shuffling_is_a_uniform_permutation() {
        let mut rng = Rng::new(7);
        let mut first = [0; 4];
        for _ in 0..400 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            first[items[0]] += 1;
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3]);
        }
        assert!(first.iter().all(|count| (60..140).contains(count)), "{first:?}");
    }
}
