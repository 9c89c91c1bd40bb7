//! The interval of Clopper and Pearson for the probability of an event.

use super::estimate::TAIL;

/// The probabilities for which `k` events in `n` trials are not too many and not too few.
pub(super) fn clopper_pearson(k: u64, n: u64) -> (f64, f64) {
    let low = match k.checked_sub(1) {
        // The probability of at least k events grows with p.
        Some(fewer) => bisect(|p| 1.0 - at_most(fewer, n, p) < TAIL),
        None => 0.0,
    };
    let high = if k >= n { 1.0 } else { bisect(|p| at_most(k, n, p) > TAIL) };
    (low, high)
}

/// The largest probability for which a condition holds that holds from 0 up to it.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The probability of at most `k` events in `n` trials.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let odds = (p / (1.0 - p)).ln();
    let mut term = n as f64 * (1.0 - p).ln();
    let mut sum = term.exp();
    for i in 0..k {
        term += ((n - i) as f64 / (i + 1) as f64).ln() + odds;
        sum += term.exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_tables() {
        for (k, n, low, high) in [
            (0, 10, 0.0, 0.3085),
            (3, 12, 0.0549, 0.5719),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (1, 1000, 0.000_025, 0.005_559),
            (4000, 10_000, 0.3904, 0.4097),
        ] {
            let given = clopper_pearson(k, n);
            let near = |a: f64, b: f64| (a - b).abs() < 6e-5;
            assert!(near(given.0, low) && near(given.1, high), "{k} of {n}: {given:?}");
        }
    }
}
