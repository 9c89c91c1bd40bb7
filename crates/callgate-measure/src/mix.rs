//! Random mix of syscalls: a sequence that is drawn once, with weights and a fixed seed.
//!
//! A loop of one syscall is the best case of the branch predictor: each turn takes the same branches of the kernel and of the
//! filter. In a mix, the next syscall is another one as often as in the program that is modelled. The sequence is drawn
//! before anything is measured, so that all subjects execute the same one, and drawing costs no time while measuring.
//!
//! Each iteration makes the next syscall of the sequence, and the first one follows the last one. A batch whose number of
//! iterations is the length of the sequence makes each of its syscalls once, wherever it starts.

use callgate_bpf::random::Rng;

use crate::syscalls::MeasurableSyscall;

/// A sequence of syscalls.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    pub(crate) calls: Vec<MeasurableSyscall>,
    /// Indices of `calls`.
    pub(crate) order: Vec<usize>,
}

impl Mix {
    /// Draws a sequence of this length. A syscall whose weight is not positive is never drawn; `None` if that is so for all
    /// of them.
    ///
    /// ```
    /// use callgate_measure::{MeasurableSyscall, Mix};
    ///
    /// let find = |name| MeasurableSyscall::find(name).ok_or("not on this machine");
    /// let calls = [(find("futex")?, 0.75), (find("getpid")?, 0.25)];
    /// let mix = Mix::draw(&calls, 1024, 1).ok_or("no weight")?;
    /// let (call, share) = mix.shares().next().ok_or("empty")?;
    /// assert!(call.name == "futex" && (0.7..0.8).contains(&share));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draw(calls: &[(MeasurableSyscall, f64)], length: usize, seed: u64) -> Option<Mix> {
        let weights: Vec<f64> = calls.iter().map(|(_, weight)| *weight).collect();
        let order = draw_indices(&weights, length, seed);
        let calls = calls.iter().map(|(call, _)| *call).collect();
        (!order.is_empty()).then_some(Mix { calls, order })
    }

    /// The number of syscalls in the sequence.
    pub fn length(&self) -> usize {
        self.order.len()
    }

    /// The syscalls that were drawn, each with its share of the sequence.
    pub fn shares(&self) -> impl Iterator<Item = (MeasurableSyscall, f64)> {
        let length = self.order.len().max(1) as f64;
        self.calls.iter().enumerate().filter_map(move |(at, call)| {
            let count = self.order.iter().filter(|drawn| **drawn == at).count();
            (count > 0).then_some((*call, count as f64 / length))
        })
    }

    /// Whether a syscall has chosen arguments, so that the process must have no descriptors.
    pub(crate) fn needs_no_descriptors(&self) -> bool {
        self.calls.iter().any(MeasurableSyscall::is_chosen)
    }
}

/// Draws this number of indices of `weights`, each with the probability that its weight has in their sum; none if no weight
/// is positive. The same seed gives the same indices.
pub fn draw_indices(weights: &[f64], length: usize, seed: u64) -> Vec<usize> {
    let mut sum = 0.0;
    // An index is drawn by the numbers below its sum that are not below the one before it.
    let sums: Vec<f64> = weights
        .iter()
        .map(|weight| {
            sum += weight.max(0.0);
            sum
        })
        .collect();
    let last = weights.iter().rposition(|weight| *weight > 0.0);
    let Some(last) = last.filter(|_| sum.is_finite()) else { return Vec::new() };
    let mut rng = Rng::new(seed);
    let mut one = || {
        // 53 random bits: a number from 0 to 1, without 1.
        let share = (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
        // The product may be rounded to the sum.
        sums.partition_point(|below| *below <= share * sum).min(last)
    };
    (0..length).map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_drawn_with_their_weights() {
        let drawn = draw_indices(&[3.0, 0.0, 1.0, -1.0], 40_000, 7);
        let count = |index| drawn.iter().filter(|drawn| **drawn == index).count();
        // Five standard deviations, of 87 each.
        assert!(count(0).abs_diff(30_000) < 450, "{}", count(0));
        assert_eq!((count(0) + count(2), count(1), count(3)), (40_000, 0, 0));
        // A syscall follows another one as often as anywhere.
        let pairs = drawn.windows(2).filter(|pair| pair == &[0, 2]).count();
        assert!(pairs.abs_diff(7500) < 450, "{pairs}");
    }

    #[test]
    fn a_seed_gives_the_same_sequence() {
        let weights = [1.0, 2.0, 3.0];
        assert_eq!(draw_indices(&weights, 100, 1), draw_indices(&weights, 100, 1));
        assert_ne!(draw_indices(&weights, 100, 1), draw_indices(&weights, 100, 2));
        assert!(
            draw_indices(&[0.0, -1.0], 100, 1).is_empty() && draw_indices(&[], 100, 1).is_empty()
        );
        assert!(draw_indices(&[f64::INFINITY], 100, 1).is_empty());
    }

    #[test]
    fn a_sequence_has_the_shares_that_were_drawn() {
        let calls =
            ["getpid", "gettid", "getuid"].map(|name| MeasurableSyscall::find(name).unwrap());
        let weighted = [(calls[0], 0.6), (calls[1], 0.0), (calls[2], 0.4)];
        let mix = Mix::draw(&weighted, 1000, 1).unwrap();
        let shares: Vec<(&str, f64)> =
            mix.shares().map(|(call, share)| (call.name, share)).collect();
        assert_eq!(shares.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["getpid", "getuid"]);
        assert!((shares[0].1 + shares[1].1 - 1.0).abs() < 1e-9 && shares[0].1 > 0.5, "{shares:?}");
        assert_eq!(Mix::draw(&[(calls[0], 0.0)], 1000, 1), None);
    }
}
