//! Compares estimates with the truth.

use callgate_measure::stats::Interval;

/// The difference from the truth that an estimate may have: this share of it, or this number of nanoseconds.
const SHARE: f64 = 0.1;
const NANOSECONDS: f64 = 3.0;

/// The share of runs in which an estimate must hold.
const ENOUGH: f64 = 0.9;

/// A run's estimate of an overhead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) overhead: Interval,
    /// Whether it is called resolved.
    pub(super) is_resolved: bool,
}

impl Run {
    /// Whether reports give the estimate without a remark.
    fn is_claimed(&self) -> bool {
        self.is_resolved && !self.overhead.is_rough()
    }
}

/// In how many runs the estimates of one overhead were right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    pub(super) runs: usize,
    /// The estimate was given without a remark.
    pub(super) claimed: usize,
    /// It was, and it was close to the truth.
    pub(super) within: usize,
    /// The interval contained the truth, or a value that its interval contains.
    pub(super) covers: usize,
    /// It was called resolved.
    pub(super) resolved: usize,
    /// It was called resolved, and no value of its interval was close to the truth.
    pub(super) wrong: usize,
}

/// What a score means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was never measured.
    Unknown,
    /// It was close to the truth when it was claimed, and its interval contains the truth.
    Holds,
    /// The same, but it was not claimed in most runs.
    NotResolved,
    /// One of these is not so, or it was called resolved when it was wrong.
    Fails,
}

impl Verdict {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Verdict::Unknown => "not measured",
            Verdict::Holds => "holds",
            Verdict::NotResolved => "not resolved",
            Verdict::Fails => "fails",
        }
    }
}

impl Score {
    pub(super) fn of(runs: &[Run], truth: Interval) -> Score {
        let count = |is: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| is(run)).count();
        let tolerance = tolerance(truth);
        let overlaps =
            |own: Interval, more: f64| own.low <= truth.high + more && own.high >= truth.low - more;
        Score {
            runs: runs.len(),
            claimed: count(&Run::is_claimed),
            within: count(&|run| {
                run.is_claimed() && (run.overhead.median - truth.median).abs() <= tolerance
            }),
            covers: count(&|run| overlaps(run.overhead, 0.0)),
            resolved: count(&|run| run.is_resolved),
            wrong: count(&|run| run.is_resolved && !overlaps(run.overhead, tolerance)),
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        // Of five runs, one may be the exception; of fewer, none.
        let is_enough = |count: usize, of: usize| match of {
            0..5 => count == of,
            _ => count as f64 >= (ENOUGH * of as f64).floor(),
        };
        match self {
            Score { runs: 0, .. } => Verdict::Unknown,
            Score { wrong: 1.., .. } => Verdict::Fails,
            _ if !is_enough(self.covers, self.runs) => Verdict::Fails,
            Score { claimed, runs, .. } if claimed * 2 < *runs => Verdict::NotResolved,
            _ if is_enough(self.within, self.claimed) => Verdict::Holds,
            _ => Verdict::Fails,
        }
    }
}

/// How far from the truth an estimate may be.
pub(super) fn tolerance(truth: Interval) -> f64 {
    (truth.median.abs() * SHARE).max(NANOSECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, median: f64, high: f64) -> Interval {
        Interval { low, median, high }
    }

    fn run(low: f64, median: f64, high: f64) -> Run {
        Run { overhead: interval(low, median, high), is_resolved: true }
    }

    #[test]
    fn estimates_are_within_ten_percent_or_three_nanoseconds() {
        let within = |truth: f64, estimate: f64| {
            let run = run(estimate, estimate, estimate);
            Score::of(&[run], interval(truth, truth, truth)).within == 1
        };
        assert!(within(3207.0, 3500.0) && within(3207.0, 2900.0));
        assert!(!within(3207.0, 3600.0) && !within(3207.0, 37_485.0));
        assert!(within(5.0, 7.9) && within(-1.0, 1.9));
        assert!(!within(5.0, 8.1) && !within(26.0, 197.0));
    }

    #[test]
    fn intervals_cover_the_truth_up_to_its_own_interval() {
        let truth = interval(98.0, 100.0, 102.0);
        let runs = [
            run(99.0, 101.0, 103.0),
            run(101.9, 103.0, 104.0),
            run(102.1, 103.0, 104.0),
            run(90.0, 95.0, 97.9),
            run(60.0, 95.0, 130.0),
        ];
        let score = Score::of(&runs, truth);
        assert_eq!((score.runs, score.covers), (5, 3));
        assert_eq!((score.claimed, score.within), (4, 4), "the last is rough");
        assert_eq!(score.wrong, 0, "all of them are close");
    }

    #[test]
    fn a_resolved_overhead_is_wrong_if_all_of_its_interval_is_far_from_the_truth() {
        let truth = interval(25.0, 26.0, 27.0);
        let wrong = run(150.0, 197.0, 240.0);
        let wide = run(20.0, 197.0, 400.0);
        let unresolved = Run { is_resolved: false, ..wrong };
        let score = Score::of(&[wrong, wide, unresolved], truth);
        assert_eq!((score.wrong, score.resolved, score.within, score.covers), (1, 2, 0, 1));
        assert_eq!(score.verdict(), Verdict::Fails);
    }

    #[test]
    fn a_figure_holds_in_nine_of_ten_runs() {
        let of = |claimed, within, covers, wrong| {
            Score { runs: 100, claimed, within, covers, resolved: claimed, wrong }.verdict()
        };
        assert_eq!(of(100, 90, 90, 0), Verdict::Holds);
        assert_eq!(of(60, 54, 90, 0), Verdict::Holds);
        assert_eq!(of(100, 89, 100, 0), Verdict::Fails);
        assert_eq!(of(100, 100, 89, 0), Verdict::Fails);
        assert_eq!(of(100, 100, 100, 1), Verdict::Fails);
        assert_eq!(of(49, 10, 100, 0), Verdict::NotResolved);
        assert_eq!(of(49, 10, 100, 1), Verdict::Fails, "noise must not end in a wrong figure");
        let of_five = |covers| Score { runs: 5, claimed: 0, covers, ..Score::default() }.verdict();
        assert_eq!((of_five(4), of_five(3)), (Verdict::NotResolved, Verdict::Fails));
        assert_eq!(Score::default().verdict(), Verdict::Unknown);
    }
}
