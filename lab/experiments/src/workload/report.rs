//! The report of a workload, as text and as a page.

use callgate_html::{Markup, Page, Section, Warning};

use super::definition::Workload;
use super::results::{Measured, Runs};
use super::rounds::Plan;
use callgate_measure::chart::intervals;
use callgate_measure::page::{row, warnings};
use callgate_measure::stats::Interval;

/// The contents of a report.
pub struct Report<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Facts about the machine and the measurement: label and text.
    pub setting: Vec<(&'static str, String)>,
    /// The variants.
    pub plan: &'a Plan,
    /// The results.
    pub runs: &'a Runs,
    /// Pairs of indices of variants: the reference, and the variant that is compared with it.
    pub pairs: &'a [(usize, usize)],
    /// The shares of CPU time that `callgate bench --pid` gives for variants, if it was asked.
    pub shares: &'a [VariantShare],
    /// Why the requested precision was not reached, if so.
    pub noisy: Option<&'a str>,
}

/// What the filters of a variant take of the CPU time of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantShare {
    /// The index of the variant.
    pub variant: usize,
    /// As `callgate bench --pid` computes it, in percent.
    pub computed: Interval,
}

/// The ratio of a variant to its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain<'a> {
    /// The name of the measure.
    pub measure: &'a str,
    /// The name of the variant.
    pub variant: &'a str,
    /// The name of its reference.
    pub over: &'a str,
    /// The throughput of the variant over that of the reference in the same round.
    pub ratio: Interval,
}

impl Report<'_> {
    /// The title.
    pub fn title(&self) -> String {
        format!("{}: {}", self.workload.name(), self.workload.about())
    }

    /// Each pair in each measure.
    pub fn gains(&self) -> impl Iterator<Item = Gain<'_>> {
        self.runs.measures().iter().enumerate().flat_map(move |(number, measure)| {
            self.pairs.iter().filter_map(move |(reference, own)| {
                Some(Gain {
                    measure: measure.name,
                    variant: &self.plan.variants.get(*own)?.name,
                    over: &self.plan.variants.get(*reference)?.name,
                    ratio: self.runs.ratio(*own, *reference, number)?,
                })
            })
        })
    }

    /// Each share that was computed, with the name of its variant and the share that was measured, in percent: the CPU time for a
    /// request without a filter is less by that.
    pub fn shares(&self) -> impl Iterator<Item = (&str, Interval, Interval)> {
        let processor = self.runs.measures().len().checked_sub(1);
        self.shares.iter().filter_map(move |share| {
            let ratio = self.runs.ratio(share.variant, 0, processor?)?;
            let percent = |ratio: f64| (1.0 - ratio) * 100.0;
            let [median, low, high] = [ratio.median, ratio.high, ratio.low].map(percent);
            let name = &self.plan.variants.get(share.variant)?.name;
            Some((name.as_str(), share.computed, Interval { median, low, high }))
        })
    }

    /// The variants in a measure, each with its name and instructions; the noise comes last, without
    /// instructions.
    pub fn rows(&self, measure: usize) -> Vec<(&str, Option<usize>, Measured)> {
        let variants = self.plan.variants.iter().enumerate().filter_map(|(at, variant)| {
            let own = self.runs.measured(at, measure)?;
            Some((variant.name.as_str(), Some(variant.insns()), own))
        });
        let noise = self.runs.noise(measure);
        variants.chain(noise.map(|noise| ("no filter again (noise)", None, noise))).collect()
    }

    /// A page without scripts, with the warnings that were printed before.
    pub fn page(&self, printed: &[Warning]) -> String {
        let measures = self.runs.measures().iter().enumerate();
        let mut sections: Vec<Section> = measures
            .map(|(number, measure)| {
                let title = format!("{}, {}", measure.name, measure.unit);
                Section::new(format!("measure-{number}"), title.as_str(), |body| {
                    self.measure(body, number, &title);
                })
            })
            .collect();
        sections.push(Section::new("reference", "Relative to the reference", |body| {
            body.table("", &["variant", "over", "measure", "ratio", "95 %"], |table| {
                for gain in self.gains() {
                    let names = [gain.variant, gain.over, gain.measure].map(str::to_owned);
                    row(table, &names.into_iter().chain(cells(gain.ratio)).collect::<Vec<_>>());
                }
            });
        }));
        if !self.shares.is_empty() {
            sections.push(Section::new("shares", SHARES, |body| {
                let titles = ["variant", "computed", "95 %", "measured", "95 %"];
                body.table("", &titles, |table| {
                    for (name, computed, measured) in self.shares() {
                        let cells = [computed, measured]
                            .map(|share| [format!("{:.2} %", share.median), share.bounds(2, "…")]);
                        let name = std::iter::once(name.to_owned());
                        row(table, &name.chain(cells.into_iter().flatten()).collect::<Vec<_>>());
                    }
                });
            }));
        }
        let warnings = warnings(self.noisy, self.runs.interrupted, printed);
        Page { title: self.title(), facts: self.setting.clone(), warnings, sections }.html()
    }

    /// The chart and the table of a measure.
    fn measure(&self, body: &mut Markup, number: usize, title: &str) {
        let rows = self.rows(number);
        let ratios: Vec<(&str, Interval)> =
            rows.iter().skip(1).map(|(name, _, own)| (*name, own.ratio)).collect();
        let unit = "throughput relative to no filter, median and its 95 % confidence interval";
        body.append(&intervals(&format!("Ratio: {title}"), unit, &ratios, 1.0, 3));
        body.table("", &["variant", "instructions", "median", "ratio", "95 %"], |table| {
            for (at, (name, insns, own)) in rows.iter().enumerate() {
                let insns = insns.map_or(String::new(), |insns| insns.to_string());
                let ratio = if at == 0 { Default::default() } else { cells(own.ratio) };
                let first = [(*name).to_owned(), insns, format!("{:.0}", own.throughput)];
                row(table, &first.into_iter().chain(ratio).collect::<Vec<_>>());
            }
        });
    }
}

/// The title of the shares.
pub(super) const SHARES: &str = "Share of the CPU time that the filters take";

fn cells(ratio: Interval) -> [String; 2] {
    [format!("{:.3}", ratio.median), ratio.bounds(3, "…")]
}
