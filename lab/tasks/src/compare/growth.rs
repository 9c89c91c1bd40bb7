//! How compilation grows with the number of rules: from 10 to 4,000, in three families.

use std::time::Duration;

use callgate::compile::{Options, compile};
use callgate_codegen::Model;

use super::chart::{self, Line, Panel, Quantity};
use super::families::{FAMILIES, Family, SIZES, name};
use super::measure::{LIMIT, repeated};
use super::own;
use super::peers::{Missing, Peer, Peers};
use super::rules::Rules;
use crate::table::{Table, count, time};
use callgate_tasks::Result;

/// For how long each case is repeated to compute its median.
const REPEAT: Duration = Duration::from_millis(150);
/// Growth is fitted from this size on: below, the fixed cost of a compilation dominates.
const FITTED_FROM: u32 = 100;
/// The most instructions that the kernel accepts.
const MAX_INSNS: usize = 4096;

/// The compilers that accept syscall numbers without a name.
const PEERS: [Peer; 5] = [
    Peer::LibseccompLinear,
    Peer::LibseccompTree,
    Peer::GvisorOptimized,
    Peer::GvisorPlain,
    Peer::Seccompiler,
];

/// One compiler on one set of rules.
struct Point {
    rules: u32,
    outcome: Result<Grown, Missing>,
}

/// The result of a compilation.
struct Grown {
    time: Duration,
    /// The maximum resident memory, in bytes, of a process that compiles once.
    memory: u64,
    insns: usize,
    /// Nodes of the MTBDD; `None` for other compilers.
    nodes: Option<usize>,
}

/// The points of one compiler in one family.
struct Series {
    name: &'static str,
    points: Vec<Point>,
}

/// All measurements.
pub(super) struct Growth(Vec<(&'static Family, Vec<Series>)>);

/// Measures all families; calls `progress` before each step.
pub(super) fn measure(peers: &Peers, progress: impl Fn(&str)) -> Result<Growth> {
    let mut families = Vec::new();
    for family in &FAMILIES {
        let mut all = Vec::new();
        progress(&format!("growth: {}, Callgate", family.name));
        let points = SIZES.into_iter().map(|size| own(family, size));
        all.push(Series { name: "Callgate", points: points.collect::<Result<_>>()? });
        for peer in PEERS {
            progress(&format!("growth: {}, {}", family.name, peer.name()));
            all.push(Series { name: peer.name(), points: other(peer, family, peers) });
        }
        families.push((family, all));
    }
    Ok(Growth(families))
}

fn own(family: &Family, size: u32) -> Result<Point> {
    let policy = (family.rules)(size).to_policy()?;
    let memory = own::peak(&name(family, size))?;
    let options = Options { model: Model::Uncached, ..Options::default() };
    let (compiled, time) = repeated(REPEAT, || compile(&policy, &options));
    let outcome = match compiled {
        Ok(compiled) => {
            let (insns, nodes) = (compiled.stats.insns, Some(compiled.stats.nodes));
            Ok(Grown { time, memory, insns, nodes })
        }
        Err(error) => match error.insns_needed() {
            Some(insns) => Ok(Grown { time, memory, insns, nodes: None }),
            None => Err(Missing::Failed(error.to_string())),
        },
    };
    Ok(Point { rules: size, outcome })
}

/// Measures the sizes in ascending order, and stops after one that took too long.
fn other(peer: Peer, family: &Family, peers: &Peers) -> Vec<Point> {
    let mut points = Vec::new();
    let mut gave_up = None;
    for size in SIZES {
        let outcome = match &gave_up {
            Some(missing) => Err(Missing::clone(missing)),
            None => grown(peer, &(family.rules)(size), peers),
        };
        if let Err(missing @ (Missing::TookLonger(_) | Missing::NotMeasured(_))) = &outcome {
            gave_up = Some(missing.clone());
        }
        points.push(Point { rules: size, outcome });
    }
    points
}

/// Compiles rules with another compiler repeatedly, and once more for its memory.
fn grown(peer: Peer, rules: &Rules, peers: &Peers) -> Result<Grown, Missing> {
    let compiled = peers.compile(peer, rules, REPEAT, LIMIT)?;
    let once = peers.compile(peer, rules, Duration::ZERO, LIMIT)?;
    let insns = compiled.bytes.len() / 8;
    Ok(Grown { time: compiled.time, memory: once.memory, insns, nodes: None })
}

impl Series {
    /// Rules and what `of` returns for them, for programs with at most `most` instructions.
    fn points(&self, most: usize, of: fn(&Grown) -> Option<f64>) -> Vec<(f64, f64)> {
        let point = |point: &Point| {
            let grown = point.outcome.as_ref().ok().filter(|grown| grown.insns <= most)?;
            Some((f64::from(point.rules), of(grown)?))
        };
        self.points.iter().filter_map(point).collect()
    }

    /// Rules and seconds for programs that the kernel accepts: longer ones are not proved.
    fn accepted(&self) -> Vec<(f64, f64)> {
        self.points(MAX_INSNS, Quantity::Time.of())
    }

    fn exponent(&self) -> Option<f64> {
        let from = f64::from(FITTED_FROM);
        let mut fitted = self.accepted();
        fitted.retain(|(rules, _)| *rules >= from);
        exponent(&fitted)
    }
}

/// The largest slope between two neighbouring points.
fn steepest(points: &[(f64, f64)]) -> Option<f64> {
    let slopes = points.windows(2).map(|pair| (pair[1].1 / pair[0].1).log(pair[1].0 / pair[0].0));
    slopes.max_by(f64::total_cmp)
}

/// The slope of the least-squares line through the logarithms; `None` for fewer than three points.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 3 {
        return None;
    }
    let logs = || points.iter().map(|(x, y)| (x.ln(), y.ln()));
    let n = points.len() as f64;
    let (mean_x, mean_y) = logs().fold((0.0, 0.0), |(sx, sy), (x, y)| (sx + x / n, sy + y / n));
    let (above, below) = logs().fold((0.0, 0.0), |(above, below), (x, y)| {
        (above + (x - mean_x) * (y - mean_y), below + (x - mean_x) * (x - mean_x))
    });
    Some(above / below)
}

impl Growth {
    /// The caption and the table of each family.
    pub(super) fn tables(&self) -> Vec<(String, Table)> {
        self.0.iter().map(|(family, all)| (caption(family), table(all))).collect()
    }

    /// A sentence with Callgate's exponent for each family.
    pub(super) fn summary(&self) -> String {
        let exponents = self.0.iter().filter_map(|(family, all)| {
            let own = all.first()?;
            let steepest = steepest(&own.accepted())?;
            let (name, fitted) = (family.name, own.exponent()?);
            Some(format!("{name} n^{fitted:.2} (its steepest step n^{steepest:.2})"))
        });
        let exponents: Vec<String> = exponents.collect();
        format!(
            "Callgate's time, including the proof, grows with the number n of rules as: {}.",
            exponents.join(", ")
        )
    }

    /// Times, nodes and memory as a chart, a row for each.
    pub(super) fn chart(&self) -> String {
        let rows = Quantity::ALL.map(|quantity| {
            let panel = |(family, all): &(&Family, Vec<Series>)| Panel {
                title: format!("{}: {}", family.name, quantity.name()),
                quantity,
                lines: all
                    .iter()
                    .map(|series| (series.name, series.points(usize::MAX, quantity.of())))
                    .filter(|(_, points)| !points.is_empty())
                    .map(|(name, points)| Line { name, points })
                    .collect(),
            };
            self.0.iter().map(panel).collect()
        });
        chart::draw(&rows)
    }
}

impl Quantity {
    /// The value of a point, in the unit of the axis.
    fn of(self) -> fn(&Grown) -> Option<f64> {
        match self {
            Quantity::Time => |grown| Some(grown.time.as_secs_f64()),
            Quantity::Nodes => |grown| grown.nodes.map(|nodes| nodes as f64),
            Quantity::Memory => |grown| Some(grown.memory as f64),
        }
    }
}

fn caption(family: &Family) -> String {
    format!("{}: {}", family.name, family.about)
}

fn table(all: &[Series]) -> Table {
    let others = all.iter().skip(1).map(|series| series.name);
    let mut table =
        Table::new(["rules", "Callgate", "insns", "nodes", "memory"].into_iter().chain(others));
    for (index, size) in SIZES.iter().enumerate() {
        let mut cells = vec![count(*size as usize)];
        for (which, series) in all.iter().enumerate() {
            let outcome = series.points.get(index).map(|point| &point.outcome);
            match outcome {
                Some(Ok(grown)) if which == 0 => {
                    let nodes = grown.nodes.map_or_else(|| "–".to_owned(), count);
                    cells.extend([time(grown.time), insns(grown.insns), nodes, mega(grown.memory)]);
                }
                Some(Ok(grown)) => {
                    let (time, insns) = (time(grown.time), insns(grown.insns));
                    cells.push(format!("{time}, {insns}, {}", mega(grown.memory)));
                }
                Some(Err(missing)) => {
                    let short = match missing {
                        Missing::TookLonger(limit) => format!("> {} s", limit.as_secs()),
                        Missing::NotMeasured(_) => "not measured".to_owned(),
                        Missing::CannotExpress(_) => "cannot".to_owned(),
                        Missing::Failed(_) => "fails".to_owned(),
                    };
                    cells.push(short);
                    if which == 0 {
                        cells.extend(["–".to_owned(), "–".to_owned(), "–".to_owned()]);
                    }
                }
                None => cells.push(String::new()),
            }
        }
        table.row(cells);
    }
    let exponent = |series: &Series| {
        series.exponent().map_or_else(|| "–".to_owned(), |slope| format!("n^{slope:.2}"))
    };
    let mut cells = vec!["growth".to_owned()];
    for (which, series) in all.iter().enumerate() {
        cells.push(exponent(series));
        if which == 0 {
            cells.extend([String::new(), String::new(), String::new()]);
        }
    }
    table.row(cells);
    table
}

/// A size in MB.
fn mega(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// A number of instructions, with a mark if the kernel accepts fewer.
fn insns(insns: usize) -> String {
    format!("{}{}", count(insns), if insns > MAX_INSNS { "!" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_those_of_powers() {
        let powers = |power: f64| {
            SIZES.map(|size| (f64::from(size), 3e-6 * f64::from(size).powf(power))).to_vec()
        };
        for power in [0.5, 1.0, 2.0] {
            assert!((exponent(&powers(power)).unwrap() - power).abs() < 1e-9);
        }
        assert_eq!(exponent(&powers(1.0)[..2]), None);
        let step = [(10.0, 1.0), (20.0, 1.0), (40.0, 4.0), (80.0, 8.0)];
        assert!((steepest(&step).unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_table_has_a_row_for_each_size_and_one_for_the_growth() {
        let point = |rules| Point {
            rules,
            outcome: Ok(Grown {
                // The last one is too long for the kernel, which is detected at once.
                time: Duration::from_micros(if rules == 4000 { 1 } else { u64::from(rules) }),
                memory: 2_500_000,
                insns: 2 * rules as usize,
                nodes: Some(7),
            }),
        };
        let late = |rules| Point { rules, outcome: Err(Missing::TookLonger(LIMIT)) };
        let ours = Series { name: "Callgate", points: SIZES.map(point).into() };
        let theirs = Series { name: "other", points: SIZES.map(late).into() };
        let text = table(&[ours, theirs]).plain();
        assert_eq!(text.lines().count(), SIZES.len() + 2, "{text}");
        assert!(text.contains("4,000    1.00 µs  8,000!      7  2.5 MB  > 10 s"), "{text}");
        assert!(text.contains("growth    n^1.00"), "{text}");
    }
}
