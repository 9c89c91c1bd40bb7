//! Fisher's exact test.

/// Logarithms of factorials up to a number.
pub(super) struct ExactTest {
    old: u64,
    new: u64,
    ln_factorials: Vec<f64>,
}

/// Probabilities that differ only by rounding are equal.
const ROUNDING: f64 = 1e-7;

impl ExactTest {
    /// The test for this many old and new runs.
    pub(super) fn new(old: u64, new: u64) -> ExactTest {
        let all = old.saturating_add(new);
        let mut sum = 0.0;
        let logarithms = (1..=all).map(|n| {
            sum += (n as f64).ln();
            sum
        });
        ExactTest { old, new, ln_factorials: std::iter::once(0.0).chain(logarithms).collect() }
    }

    fn ln_factorial(&self, n: u64) -> f64 {
        let known = usize::try_from(n).ok().and_then(|n| self.ln_factorials.get(n));
        known.copied().unwrap_or(f64::INFINITY)
    }

    fn ln_choose(&self, n: u64, k: u64) -> f64 {
        self.ln_factorial(n) - self.ln_factorial(k) - self.ln_factorial(n.saturating_sub(k))
    }

    /// The probability of a difference that is at least as unlikely as `a` of the old runs and `b` of the new ones.
    pub(super) fn chance(&self, a: u64, b: u64) -> f64 {
        let (a, b) = (a.min(self.old), b.min(self.new));
        let seen = a + b;
        let all = self.ln_choose(self.old + self.new, seen);
        let of =
            |a: u64| (self.ln_choose(self.old, a) + self.ln_choose(self.new, seen - a) - all).exp();
        let limit = of(a) * (1.0 + ROUNDING);
        let possible = seen.saturating_sub(self.new)..=seen.min(self.old);
        possible.map(of).filter(|probability| *probability <= limit).sum::<f64>().min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calculated by hand; the decimal fraction is an example of textbooks.
    #[test]
    fn probabilities_are_those_of_the_test() {
        for ((a, n), (b, m), expected) in [
            ((3, 3), (0, 40), 1.0 / 12_341.0),
            ((3, 3), (0, 3), 0.1),
            ((4, 4), (0, 4), 2.0 / 70.0),
            ((0, 1), (1, 1), 1.0),
            ((0, 3), (1, 40), 1.0),
            ((1, 10), (11, 14), 0.002_759),
            ((5, 10), (5, 10), 1.0),
            ((0, 5000), (5000, 5000), 0.0),
        ] {
            let chance = ExactTest::new(n, m).chance(a, b);
            assert!((chance - expected).abs() < 1e-6, "{a}/{n} {b}/{m}: {chance}");
        }
    }
}
