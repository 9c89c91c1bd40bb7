//! The report of a workload, as text and as a page.

use std::fmt::Write;

use super::definition::Workload;
use super::results::{Measured, Runs};
use super::rounds::Plan;
use crate::chart::{escape, intervals};
use crate::page;
use crate::stats::Interval;

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
    /// Why the requested precision was not reached, if so.
    pub noisy: Option<&'a str>,
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

    /// A page without scripts.
    pub fn page(&self) -> String {
        let mut page = page::start(&self.title(), &self.setting, self.noisy, self.runs.interrupted);
        for (number, measure) in self.runs.measures().iter().enumerate() {
            let rows = self.rows(number);
            let ratios: Vec<(&str, Interval)> =
                rows.iter().skip(1).map(|(name, _, own)| (*name, own.ratio)).collect();
            let unit = "throughput relative to no filter, median and its 95 % confidence interval";
            let title = format!("{}, {}", measure.name, measure.unit);
            let _ = writeln!(page, "<h2>{}</h2>", escape(&title));
            page.push_str(&intervals(&format!("Ratio: {title}"), unit, &ratios, 1.0, 3));
            page.push_str(
                "<div class=\"wide\"><table>\n<tr><th>variant</th><th>instructions</th><th>median</th><th>ratio</th>\
                 <th>95 %</th></tr>\n",
            );
            for (at, (name, insns, own)) in rows.iter().enumerate() {
                let insns = insns.map_or(String::new(), |insns| insns.to_string());
                let ratio = match at {
                    0 => "<td></td><td></td>".to_owned(),
                    _ => cells(own.ratio),
                };
                let _ = writeln!(
                    page,
                    "<tr><td>{}</td><td>{insns}</td><td>{:.0}</td>{ratio}</tr>",
                    escape(name),
                    own.throughput
                );
            }
            page.push_str("</table></div>\n");
        }
        page.push_str(
            "<h2>Relative to the reference</h2>\n<div class=\"wide\"><table>\n<tr><th>variant</th><th>over</th><th></th>\
             <th>ratio</th><th>95 %</th></tr>\n",
        );
        for gain in self.gains() {
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td>{}</td>{}</tr>",
                escape(gain.variant),
                escape(gain.over),
                escape(gain.measure),
                cells(gain.ratio)
            );
        }
        page + "</table></div>\n" + page::END
    }
}

fn cells(ratio: Interval) -> String {
    format!("<td>{:.3}</td><td>{:.3} … {:.3}</td>", ratio.median, ratio.low, ratio.high)
}
