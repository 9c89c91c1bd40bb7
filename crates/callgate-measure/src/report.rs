//! The report of a measurement.

use callgate::SeccompData;

use crate::body::Body;
use crate::measure::{Estimate, Mean, Plan, Samples};
use crate::stats::Interval;
use crate::subject::Treatment;

/// The results of a measurement, in sections.
#[derive(Clone, Debug)]
pub struct Report {
    /// The title.
    pub title: String,
    /// Facts about the machine and the measurement: label and text.
    pub setting: Vec<(&'static str, String)>,
    /// A section per body.
    pub sections: Vec<Section>,
    /// Comparisons of the mean overheads.
    pub aggregates: Vec<Aggregate>,
    /// Why the requested precision was not reached, if so.
    pub noisy: Option<String>,
    /// Whether the measurement was stopped early.
    pub interrupted: bool,
}

/// The cost of one body, or of a mean over bodies.
#[derive(Clone, Debug)]
pub struct Section {
    /// The syscall or the loop.
    pub title: String,
    /// A row per subject.
    pub rows: Vec<Row>,
    /// The noise floor.
    pub noise: Interval,
    /// Whether its overheads must reach the precision: with a mean, only those of the mean.
    pub is_claimed: bool,
}

/// The cost under one subject.
#[derive(Clone, Debug)]
pub struct Row {
    /// The subject.
    pub name: String,
    /// The number of filters.
    pub filters: usize,
    /// The number of instructions of all filters.
    pub insns: usize,
    /// How the filters decide the syscall, if the body is a syscall.
    pub treatment: Option<Treatment>,
    /// The number of executed instructions, if the body is a syscall; of a mean, their mean.
    pub executed: Option<Executed>,
    /// The estimate.
    pub estimate: Estimate,
}

impl Row {
    /// Whether the filters deny the syscall, so that the kernel skips it: its time is not an overhead.
    pub fn is_denied(&self) -> bool {
        self.treatment == Some(Treatment::Denied)
    }

    /// What is said beside its overhead, for this noise floor: `denied`, `not resolved`, `rough`, or nothing.
    pub fn remark(&self, noise: Interval) -> &'static str {
        match self.is_denied() {
            true => "denied",
            false => self.estimate.overhead.remark(noise),
        }
    }
}

/// The number of executed instructions of filters, as the interpreter counts them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Executed {
    /// If the filters always run.
    pub uncached: f64,
    /// 0 if the kernel's constant-action cache answers the syscall.
    pub cached: f64,
}

/// A comparison of the mean overheads of two subjects.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The subject.
    pub after: String,
    /// The subject that it replaces.
    pub before: String,
    /// The subject over which the overhead is.
    pub base: String,
    /// The change of the overhead: -0.29 if 29 % of it are removed. `None` if `before` was not measured to cost more than
    /// `base`.
    pub change: Option<Interval>,
    /// The change of the number of executed instructions, with the kernel's cache; `None` if there were none before.
    pub executed: Option<f64>,
    /// The same without the cache.
    pub executed_uncached: Option<f64>,
}

/// The description of a body in a report.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The syscall or the loop.
    pub title: String,
    /// How each subject decides it, if it is a syscall.
    pub treatments: Vec<Treatment>,
    /// Whether its overheads must reach the precision.
    pub is_claimed: bool,
}

/// The sections of a measurement; the mean over the bodies comes first if the plan has one. Empty without a complete
/// round.
pub fn sections(plan: &Plan, samples: &Samples, bodies: &[Shown]) -> Vec<Section> {
    let row = |at: usize, estimate: Option<Estimate>, treatment, executed| {
        let subject = &plan.subjects[at];
        Some(Row {
            name: subject.name.clone(),
            filters: subject.filters(),
            insns: subject.insns(),
            treatment,
            executed,
            estimate: estimate?,
        })
    };
    let subjects = || 0..plan.subjects.len();
    let mean = plan.mean.as_ref().and_then(|Mean { title, weights }| {
        let rows = subjects().filter_map(|at| {
            row(at, samples.weighted(at, weights), None, mean_executed(plan, at, weights))
        });
        let noise = samples.weighted_noise(weights)?;
        Some(Section { title: title.clone(), rows: rows.collect(), noise, is_claimed: true })
    });
    let each = bodies.iter().enumerate().filter_map(|(body, shown)| {
        let rows = subjects().filter_map(|at| {
            let treatment = shown.treatments.get(at).copied();
            row(at, samples.estimate(at, body), treatment, executed(plan, at, body))
        });
        let noise = samples.noise(body)?;
        let is_claimed = shown.is_claimed && plan.mean.is_none();
        Some(Section { title: shown.title.clone(), rows: rows.collect(), noise, is_claimed })
    });
    mean.into_iter().chain(each).collect()
}

/// The number of instructions that a subject executes for a body; of a mix, the mean over its sequence.
fn executed(plan: &Plan, subject: usize, body: usize) -> Option<Executed> {
    let subject = plan.subjects.get(subject)?;
    let of = |data: &SeccompData| {
        let uncached = subject.executed(data) as f64;
        let is_cached = subject.treatment(data) == Treatment::Cached;
        Executed { uncached, cached: if is_cached { 0.0 } else { uncached } }
    };
    match plan.bodies.get(body)? {
        Body::Mix(mix) => Some(mix.shares().fold(
            Executed { uncached: 0.0, cached: 0.0 },
            |sum, (call, share)| {
                let one = of(&call.data());
                Executed {
                    uncached: sum.uncached + one.uncached * share,
                    cached: sum.cached + one.cached * share,
                }
            },
        )),
        body => body.data().map(|data| of(&data)),
    }
}

/// The mean over bodies.
fn mean_executed(plan: &Plan, subject: usize, weights: &[f64]) -> Option<Executed> {
    let (mut mean, sum) = (Executed { uncached: 0.0, cached: 0.0 }, weights.iter().sum::<f64>());
    for (body, weight) in weights.iter().enumerate() {
        let Executed { uncached, cached } = executed(plan, subject, body)?;
        mean.uncached += uncached * weight / sum;
        mean.cached += cached * weight / sum;
    }
    Some(mean)
}

/// The subjects that are compared, before and after, of `count` from `first` on: all pairs of up to three, else each with the
/// first.
pub fn pairs(first: usize, count: usize) -> Vec<(usize, usize)> {
    let befores = if count.saturating_sub(first) > 3 { first..first + 1 } else { first..count };
    befores.flat_map(|before| (before + 1..count).map(move |after| (before, after))).collect()
}

/// Compares the mean overheads of the [pairs] of subjects from `first` on. The overheads are over no filter, and over the smallest filter if it is measured.
pub fn aggregates(plan: &Plan, samples: &Samples, first: usize) -> Vec<Aggregate> {
    let Some(Mean { weights, .. }) = &plan.mean else { return Vec::new() };
    let pairs = pairs(first, plan.subjects.len()).into_iter();
    let aggregate = |(before, after), base: usize| {
        let name = |at: usize| plan.subjects.get(at).map(|subject| subject.name.clone());
        let (old, new) =
            (mean_executed(plan, before, weights)?, mean_executed(plan, after, weights)?);
        let ratio = |old: f64, new: f64| (old > 0.0).then(|| new / old - 1.0);
        Some(Aggregate {
            after: name(after)?,
            before: name(before)?,
            base: name(base)?,
            change: samples.change((before, after), base, weights),
            executed: ratio(old.cached, new.cached),
            executed_uncached: ratio(old.uncached, new.uncached),
        })
    };
    pairs.flat_map(|pair| (0..first).filter_map(move |base| aggregate(pair, base))).collect()
}

/// Why the requested precision was not reached: the least precise of the rows that `is_claimed` selects, in sections that
/// are claimed, without denied syscalls. An overhead is precise if the confidence interval that the rounds show and the noise
/// floor are at most the requested share of it, or at most [`RESOLUTION`](crate::stats::RESOLUTION).
pub fn noisy(
    sections: &[Section],
    precision: f64,
    is_claimed: impl Fn(usize) -> bool,
) -> Option<String> {
    let mut worst: Option<(f64, String)> = None;
    for section in sections.iter().filter(|section| section.is_claimed) {
        let rows = section.rows.iter().enumerate();
        for (_, row) in rows.filter(|(at, row)| is_claimed(*at) && !row.is_denied()) {
            let overhead = row.estimate.in_rounds;
            let tolerance = overhead.tolerance(precision);
            let (width, noise) = (overhead.width(), section.noise.median.abs());
            let excess = overhead.excess(precision, section.noise);
            if excess > 1.0 && worst.as_ref().is_none_or(|(other, _)| excess > *other) {
                let what = if width >= noise {
                    format!("is known to within {width:.1} ns only")
                } else {
                    format!("was measured while identical children differed by {noise:.1} ns")
                };
                let text = format!(
                    "{} under {}: the overhead of {:.1} ns {what}, more than the {tolerance:.1} ns that \
                     --precision permits",
                    section.title, row.name, overhead.median
                );
                worst = Some((excess, text));
            }
        }
    }
    worst.map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Summary;

    fn section(overhead: f64, width: f64, noise: f64) -> Section {
        let interval = |median: f64, width: f64| Interval {
            median,
            low: median - width / 2.0,
            high: median + width / 2.0,
        };
        let spread = Summary { minimum: 1.0, lower: 1.0, median: 1.0, upper: 1.0, high: 1.0 };
        let overhead = interval(overhead, width);
        // What another state of the machine adds does not count: no measurement here makes it narrower.
        let in_rounds = overhead;
        let overhead = in_rounds.widened(100.0);
        let estimate = Estimate { minimum: 1.0, median: 1.0, overhead, in_rounds, spread };
        let row = Row {
            name: "x".to_owned(),
            filters: 1,
            insns: 1,
            treatment: None,
            executed: None,
            estimate,
        };
        Section {
            title: "getpid()".to_owned(),
            rows: vec![row],
            noise: interval(noise, 0.1),
            is_claimed: true,
        }
    }

    #[test]
    fn noise_is_told_when_it_is_more_than_was_asked_for() {
        let of = |section| noisy(&[section], 0.03, |_| true);
        assert_eq!(of(section(100.0, 2.9, 2.9)), None);
        assert!(of(section(100.0, 3.1, 0.0)).unwrap().contains("within 3.1 ns only"));
        assert!(of(section(100.0, 1.0, -3.2)).unwrap().contains("differed by 3.2 ns"));
        assert_eq!(of(section(1.0, 0.4, 0.4)), None, "below the resolution");
        assert_eq!(noisy(&[section(100.0, 50.0, 0.0)], 0.03, |_| false), None);
        assert_eq!(of(Section { is_claimed: false, ..section(100.0, 50.0, 0.0) }), None);
        let mut denied = section(100.0, 50.0, 0.0);
        denied.rows[0].treatment = Some(Treatment::Denied);
        assert_eq!(of(denied), None);
    }
}
