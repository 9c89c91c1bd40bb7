//! Precision and recall of a set of syscalls.

/// How two sets of syscalls overlap.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Score {
    /// Recorded and found in code.
    pub(super) both: Vec<String>,
    /// Only found in code.
    pub(super) only_static: Vec<String>,
    /// Only recorded.
    pub(super) only_recorded: Vec<String>,
}

impl Score {
    pub(super) fn recorded(&self) -> usize {
        self.both.len() + self.only_recorded.len()
    }

    pub(super) fn found(&self) -> usize {
        self.both.len() + self.only_static.len()
    }

    pub(super) fn recall(&self) -> f64 {
        share(self.both.len(), self.recorded())
    }

    pub(super) fn precision(&self) -> f64 {
        share(self.both.len(), self.found())
    }

    /// The harmonic mean of both.
    pub(super) fn f1(&self) -> f64 {
        share(2 * self.both.len(), self.recorded() + self.found())
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_is_the_harmonic_mean() {
        let names = |count: usize| (0..count).map(|number| number.to_string()).collect();
        let score = Score { both: names(30), only_static: names(30), only_recorded: names(10) };
        assert_eq!((score.recall(), score.precision()), (0.75, 0.5));
        assert!((score.f1() - 2.0 * 0.75 * 0.5 / 1.25).abs() < 1e-12);
    }
}
