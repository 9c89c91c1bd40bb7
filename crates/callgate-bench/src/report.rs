//! What a measurement says, ready to be printed.

use crate::measure::{Estimate, Plan, Samples};
use crate::stats::{Interval, MAX_DISTURBED};
use crate::subject::Treatment;

/// What was measured, in sections.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it is about, in a few words.
    pub title: String,
    /// Facts about the machine and the measurement: label and text.
    pub setting: Vec<(&'static str, String)>,
    /// What each body cost.
    pub sections: Vec<Section>,
    /// What follows from it.
    pub findings: Vec<Finding>,
    /// Why the machine was too noisy for what was asked, if it was.
    pub noisy: Option<String>,
    /// Whether it was ended before its time.
    pub interrupted: bool,
}

/// What one body, or a mean over them, cost.
#[derive(Clone, Debug)]
pub struct Section {
    /// The call or the loop.
    pub title: String,
    /// A row per subject.
    pub rows: Vec<Row>,
    /// How far identical subjects differ.
    pub noise: Interval,
}

/// What it cost under one subject.
#[derive(Clone, Debug)]
pub struct Row {
    /// The subject.
    pub name: String,
    /// Filters installed.
    pub filters: usize,
    /// Instructions of all filters.
    pub insns: usize,
    /// What happens to the call, where the section is about one.
    pub treatment: Option<Treatment>,
    /// What was measured.
    pub estimate: Estimate,
}

/// A number that follows from a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// A stable name.
    pub key: &'static str,
    /// What it is.
    pub text: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// A body as a report shows it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The call or the loop.
    pub title: String,
    /// What happens to it under each subject, where it is a call.
    pub treatments: Vec<Treatment>,
}

/// The sections of a measurement; with weights, the mean over all bodies comes first. Empty when no round
/// is whole.
pub fn sections(
    plan: &Plan,
    samples: &Samples,
    bodies: &[Shown],
    weights: Option<(&str, &[f64])>,
) -> Vec<Section> {
    let row = |at: usize, estimate: Option<Estimate>, treatment| {
        let subject = &plan.subjects[at];
        Some(Row {
            name: subject.name.clone(),
            filters: subject.programs().len(),
            insns: subject.insns(),
            treatment,
            estimate: estimate?,
        })
    };
    let subjects = || 0..plan.subjects.len();
    let mean = weights.and_then(|(title, weights)| {
        let rows = subjects().filter_map(|at| row(at, samples.weighted(at, weights), None));
        let noise = samples.weighted_noise(weights)?;
        Some(Section { title: title.to_owned(), rows: rows.collect(), noise })
    });
    let each = bodies.iter().enumerate().filter_map(|(body, shown)| {
        let rows = subjects().filter_map(|at| {
            row(at, samples.estimate(at, body), shown.treatments.get(at).copied())
        });
        let noise = samples.noise(body)?;
        Some(Section { title: shown.title.clone(), rows: rows.collect(), noise })
    });
    mean.into_iter().chain(each).collect()
}

/// Why overheads are not known to the share that was asked for: something else ran on the processor; or, of the rows that `is_claimed`, by number,
/// the one that is known worst. An overhead is known when its interval is no wider than the share of it,
/// and identical subjects differ by less; [`RESOLUTION`](crate::stats::RESOLUTION) is always enough.
pub fn noisy(
    sections: &[Section],
    disturbed: f64,
    precision: f64,
    is_claimed: impl Fn(usize) -> bool,
) -> Option<String> {
    if disturbed > MAX_DISTURBED {
        return Some(format!(
            "something else disturbed {:.0} % of the batches without filter, and more than {:.0} % \
             makes results differ from run to run",
            disturbed * 100.0,
            MAX_DISTURBED * 100.0
        ));
    }
    let mut worst: Option<(f64, String)> = None;
    for section in sections {
        for (_, row) in section.rows.iter().enumerate().filter(|(at, _)| is_claimed(*at)) {
            let overhead = row.estimate.overhead;
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
                    "{} under {}: the overhead of {:.1} ns {what}, and {:.0} % of it is {tolerance:.1} \
                     ns",
                    section.title,
                    row.name,
                    overhead.median,
                    precision * 100.0
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
        let estimate = Estimate { minimum: 1.0, median: 1.0, overhead, spread };
        let row = Row { name: "x".to_owned(), filters: 1, insns: 1, treatment: None, estimate };
        Section { title: "getpid()".to_owned(), rows: vec![row], noise: interval(noise, 0.1) }
    }

    #[test]
    fn noise_is_told_when_it_is_more_than_was_asked_for() {
        let of = |section| noisy(&[section], 0.0, 0.03, |_| true);
        assert_eq!(of(section(100.0, 2.9, 2.9)), None);
        assert!(of(section(100.0, 3.1, 0.0)).unwrap().contains("within 3.1 ns only"));
        assert!(of(section(100.0, 1.0, -3.2)).unwrap().contains("differed by 3.2 ns"));
        assert_eq!(of(section(1.0, 0.4, 0.4)), None, "below the resolution");
        assert_eq!(noisy(&[section(100.0, 50.0, 0.0)], 0.0, 0.03, |_| false), None);
        assert!(noisy(&[], 0.12, 0.03, |_| true).unwrap().contains("disturbed 12 %"));
    }
}
