//! Chao's lower bound of the number of unseen syscalls.

use super::estimate::{Estimate, Z};

/// The number of syscalls that were made by no run, if `once` were made by one run, `twice` by two, and `seen` by any of
/// `runs`. `None` if too few were made once.
pub(super) fn chao2(runs: u64, seen: u64, once: u64, twice: u64) -> Option<Estimate> {
    let [runs, seen, once, twice] = [runs, seen, once, twice].map(|count| count as f64);
    let a = (runs - 1.0) / runs;
    let (value, variance) = if twice > 0.0 {
        let ratio = once / twice;
        let terms = a * ratio.powi(2) / 2.0 + a * a * ratio.powi(3) + a * a * ratio.powi(4) / 4.0;
        (a * once * once / (2.0 * twice), twice * terms)
    } else {
        let value = a * once * (once - 1.0) / 2.0;
        let squares = once * (2.0 * once - 1.0).powi(2) - once.powi(4) / (seen + value);
        (value, value + a * a * squares / 4.0)
    };
    if value <= 0.0 {
        return None;
    }
    // The logarithm of the estimate is approximately normal.
    let factor = (Z * (1.0 + variance / (value * value)).ln().sqrt()).exp();
    Some(Estimate { value, low: value / factor, high: value * factor })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calculated by hand from the formulas of the paper.
    #[test]
    fn estimates_are_those_of_the_formulas() {
        // A = 0.9: 0.9 · 16 / 4 = 3.6; variance 2 (1.8 + 6.48 + 3.24) = 23.04; ln(1 + 1.7778) = 1.02165.
        let estimate = chao2(10, 50, 4, 2).unwrap();
        let factor = (Z * 1.021_651_247_5_f64.sqrt()).exp();
        assert!((estimate.value - 3.6).abs() < 1e-12);
        assert!((estimate.low - 3.6 / factor).abs() < 1e-6, "{estimate:?}");
        assert!((estimate.high - 3.6 * factor).abs() < 1e-4, "{estimate:?}");
        // Without syscalls of two runs: 0.9 · 3 = 2.7; variance 2.7 + 0.81 (75 − 81 / 52.7) / 4.
        let estimate = chao2(10, 50, 3, 0).unwrap();
        let variance: f64 = 2.7 + 0.81 * (75.0 - 81.0 / 52.7) / 4.0;
        let factor = (Z * (1.0 + variance / 7.29).ln().sqrt()).exp();
        assert!((estimate.value - 2.7).abs() < 1e-12);
        assert!((estimate.high - 2.7 * factor).abs() < 1e-9);
        assert_eq!(chao2(10, 50, 0, 3), None);
        assert_eq!(chao2(10, 50, 1, 0), None);
        assert!(chao2(10, 50, 1, 1).is_some());
    }
}
