//! Results as tables and as JSON.

use std::io::Write;

use callgate_bpf::printable::visible;
use callgate_measure::json::interval;
use callgate_measure::stats::Interval;
use callgate_measure::text::HEADING;
use callgate_requests::json::Json;
use callgate_tasks::Result;

use super::cases::Case;
use super::score::{Run, Score, Verdict, tolerance};
use super::truths::CSamples;
use crate::table::Table;

/// All results.
pub(super) struct Report {
    /// Busy loops per processor.
    pub(super) load: usize,
    /// Where and when.
    pub(super) machine: Vec<String>,
    pub(super) cases: Vec<CaseReport>,
}

/// The results of a case.
pub(super) struct CaseReport {
    case: &'static Case,
    subjects: Vec<String>,
    /// The C loop on the machine as it is.
    pub(super) truth: CSamples,
    /// The same beside busy loops.
    pub(super) c_loaded: CSamples,
    /// The runs of each subject.
    pub(super) quiet: Vec<Vec<Run>>,
    pub(super) loaded: Vec<Vec<Run>>,
}

/// A subject with its scores.
struct Row<'r> {
    subject: &'r str,
    truth: Interval,
    c_loaded: Option<Interval>,
    quiet: (&'r [Run], Score),
    loaded: (&'r [Run], Score),
}

impl Row<'_> {
    fn is_truth_known(&self) -> bool {
        (self.truth.high - self.truth.low) / 2.0 <= tolerance(self.truth)
    }

    fn verdicts(&self) -> [Verdict; 2] {
        match self.is_truth_known() {
            true => [self.quiet.1.verdict(), self.loaded.1.verdict()],
            false => [Verdict::Unknown; 2],
        }
    }

    /// What the verdicts come to.
    fn said(&self) -> String {
        if !self.is_truth_known() {
            return "truth unknown".to_owned();
        }
        let wrong = self.quiet.1.wrong + self.loaded.1.wrong;
        match self.verdicts() {
            _ if wrong > 0 => format!("{wrong} wrong"),
            [quiet, Verdict::Unknown] => quiet.name().to_owned(),
            [quiet, loaded] if quiet == loaded => quiet.name().to_owned(),
            [Verdict::Fails, _] => "fails".to_owned(),
            [_, loaded] => format!("{} under load", loaded.name()),
        }
    }
}

impl CaseReport {
    pub(super) fn new(case: &'static Case, subjects: Vec<String>) -> CaseReport {
        CaseReport {
            case,
            subjects,
            truth: CSamples::default(),
            c_loaded: CSamples::default(),
            quiet: Vec::new(),
            loaded: Vec::new(),
        }
    }

    fn title(&self) -> String {
        format!("{}, {}", self.case.experiment.name(), self.case.what)
    }

    /// A row for each subject whose truth was measured.
    fn rows(&self) -> Vec<Row<'_>> {
        let base = self.case.base;
        let subjects = self.subjects.iter().enumerate().skip(base + 1);
        let rows = subjects.filter_map(|(at, subject)| {
            let truth = self.truth.difference(at, base)?;
            let c_loaded = self.c_loaded.difference(at, base);
            let quiet = scored(&self.quiet, at, truth);
            Some(Row { subject, truth, c_loaded, quiet, loaded: scored(&self.loaded, at, truth) })
        });
        rows.collect()
    }

    fn table(&self) -> String {
        let mut table = Table::new([
            "nanoseconds",
            "truth",
            "±",
            "C loaded",
            "quiet %",
            "loaded %",
            "resolved",
            "verdict",
        ]);
        for row in self.rows() {
            let (quiet, loaded) = (&row.quiet.1, &row.loaded.1);
            table.row([
                visible(row.subject),
                short(row.truth.median),
                short((row.truth.high - row.truth.low) / 2.0),
                row.c_loaded.map_or_else(String::new, |loaded| short(loaded.median)),
                shares(quiet),
                shares(loaded),
                format!("{} {}", share(quiet.resolved, quiet), share(loaded.resolved, loaded)),
                row.said(),
            ]);
        }
        table.plain()
    }
}

/// The runs of a subject with their score.
fn scored(runs: &[Vec<Run>], subject: usize, truth: Interval) -> (&[Run], Score) {
    let runs = runs.get(subject).map_or(&[] as &[Run], Vec::as_slice);
    (runs, Score::of(runs, truth))
}

/// Three digits or a decimal.
fn short(nanoseconds: f64) -> String {
    match nanoseconds.abs() {
        less if less < 999.5 => format!("{nanoseconds:.1}"),
        _ => format!("{nanoseconds:.0}"),
    }
}

/// `within/covered`, in percent.
fn shares(score: &Score) -> String {
    match score.runs {
        0 => String::new(),
        _ => format!("{}/{}", share(score.within, score), share(score.covers, score)),
    }
}

fn share(count: usize, score: &Score) -> String {
    match score.runs {
        0 => String::new(),
        runs => format!("{:.0}", 100.0 * count as f64 / runs as f64),
    }
}

impl Report {
    pub(super) fn print(&self, json: bool) -> Result<()> {
        let text = if json { self.json() } else { self.text() };
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| error.to_string())
    }

    /// The figures that are called resolved and are not true.
    pub(super) fn failures(&self) -> Vec<String> {
        let of = |case: &CaseReport| -> Vec<String> {
            let rows = case.rows();
            let failing = rows.iter().filter(|row| row.verdicts().contains(&Verdict::Fails));
            failing.map(|row| format!("{} ({})", row.subject, case.title())).collect()
        };
        self.cases.iter().flat_map(of).collect()
    }

    fn text(&self) -> String {
        let mut text = self.machine.iter().map(|line| format!("{line}\n")).collect::<String>();
        for case in &self.cases {
            let rounds = (case.truth.rounds(), case.c_loaded.rounds());
            let runs = |all: &[Vec<Run>]| all.first().map_or(0, Vec::len);
            text += &format!("\n{HEADING}{}{HEADING:#}\n", case.title());
            text += &case.table();
            text += &format!(
                "{} runs, {} beside {} busy loops per processor; C loop: {} rounds, {} loaded\n",
                runs(&case.quiet),
                runs(&case.loaded),
                self.load,
                rounds.0,
                rounds.1
            );
        }
        text + "\nquiet and loaded: in how many percent of the runs the estimate was within 10 % or 3 ns of the \
                truth,\nand in how many its 95 % interval contained it; resolved: in how many it was called so\n"
    }

    fn json(&self) -> String {
        let cases = self.cases.iter().map(|case| {
            Json::Object(vec![
                ("experiment", case.case.experiment.name().into()),
                ("what", case.case.what.into()),
                ("rounds", case.truth.rounds().into()),
                ("loaded_rounds", case.c_loaded.rounds().into()),
                ("rows", Json::array(case.rows().iter().map(row_json))),
            ])
        });
        let document = Json::Object(vec![
            ("callgate", "lab truth".into()),
            ("version", 1u32.into()),
            ("machine", Json::array(self.machine.iter().map(|line| Json::from(line.as_str())))),
            ("load", self.load.into()),
            ("cases", Json::array(cases)),
        ]);
        format!("{document}\n")
    }
}

fn row_json(row: &Row<'_>) -> Json {
    let condition = |(runs, score): &(&[Run], Score)| {
        let estimate = |run: &Run| {
            Json::Object(vec![
                ("overhead_ns", interval(run.overhead)),
                ("resolved", run.is_resolved.into()),
            ])
        };
        Json::Object(vec![
            ("runs", score.runs.into()),
            ("within", score.within.into()),
            ("covers", score.covers.into()),
            ("resolved", score.resolved.into()),
            ("wrong", score.wrong.into()),
            ("verdict", score.verdict().name().into()),
            ("estimates", Json::array(runs.iter().map(estimate))),
        ])
    };
    Json::Object(vec![
        ("subject", row.subject.into()),
        ("truth_ns", interval(row.truth)),
        ("truth_is_known", row.is_truth_known().into()),
        ("c_loaded_ns", row.c_loaded.map_or(Json::Null, interval)),
        ("quiet", condition(&row.quiet)),
        ("loaded", condition(&row.loaded)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(resolved: bool, estimate: f64) -> Row<'static> {
        let truth = Interval { low: 99.0, median: 100.0, high: 101.0 };
        let overhead = Interval { low: estimate - 1.0, median: estimate, high: estimate + 1.0 };
        let score = |estimate: Interval| {
            Score::of(&[Run { overhead: estimate, is_resolved: resolved }], truth)
        };
        let quiet = (&[] as &[Run], score(truth));
        Row { subject: "x", truth, c_loaded: None, quiet, loaded: (&[], score(overhead)) }
    }

    #[test]
    fn a_row_says_what_both_conditions_come_to() {
        assert_eq!(row(true, 100.0).said(), "holds");
        assert_eq!(row(true, 105.0).said(), "fails under load");
        assert_eq!(row(true, 500.0).said(), "1 wrong");
        assert_eq!(row(false, 500.0).said(), "not resolved");
        let truth = Interval { low: 50.0, median: 100.0, high: 150.0 };
        let vague = Row { truth, ..row(true, 500.0) };
        assert_eq!(vague.said(), "truth unknown");
        assert_eq!(vague.verdicts(), [Verdict::Unknown; 2]);
    }

    #[test]
    fn figures_have_a_decimal_below_a_thousand() {
        assert_eq!([3.25, 999.4, 999.5, -3207.3].map(short), ["3.2", "999.4", "1000", "-3207"]);
    }
}
