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

/// What the columns are.
const FOOT: &str = "
quiet and loaded, in percent: runs that gave the figure without the remarks
'rough' and 'not resolved', how many of these were within 10 % or 3 ns of the
truth, and runs whose 95 % interval contained the truth
≠: under load, the C loop itself is further than that from its truth, because
processors that share a core, or its power, are slower then. The loaded runs are
compared with the C loop beside the same load.
";

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
    /// What the loaded runs are compared with.
    loaded_truth: Interval,
    quiet: (&'r [Run], Score),
    loaded: (&'r [Run], Score),
}

impl Row<'_> {
    /// Whether the C loop itself had another result under load.
    fn is_slower(&self) -> bool {
        self.loaded_truth != self.truth
    }

    fn verdicts(&self) -> [Verdict; 2] {
        // A wide interval of the truth is enough to see that a run is wrong.
        let of = |truth, score: &Score| match is_known(truth) || score.wrong > 0 {
            true => score.verdict(),
            false => Verdict::Unknown,
        };
        [of(self.truth, &self.quiet.1), of(self.loaded_truth, &self.loaded.1)]
    }

    /// In how many runs the overhead was called resolved and was wrong.
    fn wrong(&self) -> usize {
        self.quiet.1.wrong + self.loaded.1.wrong
    }

    /// What the verdicts come to.
    fn said(&self) -> String {
        let verdicts = self.verdicts();
        match verdicts {
            _ if self.wrong() > 0 => format!("{} wrong", self.wrong()),
            [Verdict::Unknown, _] => "truth unknown".to_owned(),
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
            let loaded_truth = c_loaded.filter(|own| !agree(*own, truth)).unwrap_or(truth);
            let quiet = scored(&self.quiet, at, truth);
            let loaded = scored(&self.loaded, at, loaded_truth);
            Some(Row { subject, truth, c_loaded, loaded_truth, quiet, loaded })
        });
        rows.collect()
    }

    fn table(&self) -> String {
        let head = ["nanoseconds", "truth", "±", "C loaded", "quiet", "loaded", "verdict"];
        let mut table = Table::new(head);
        for row in self.rows() {
            table.row([
                visible(row.subject),
                short(row.truth.median),
                short((row.truth.high - row.truth.low) / 2.0),
                row.c_loaded.map_or_else(String::new, |loaded| {
                    format!("{}{}", if row.is_slower() { "≠ " } else { "" }, short(loaded.median))
                }),
                shares(&row.quiet.1),
                shares(&row.loaded.1),
                row.said(),
            ]);
        }
        table.plain()
    }
}

/// Whether a truth is known well enough to compare estimates with it.
fn is_known(truth: Interval) -> bool {
    (truth.high - truth.low) / 2.0 <= tolerance(truth)
}

/// Whether two results of the C loop may be close to each other.
fn agree(one: Interval, other: Interval) -> bool {
    let tolerance = tolerance(other);
    one.low <= other.high + tolerance && one.high >= other.low - tolerance
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

/// How many runs claimed the figure, how many of these were close, and how many intervals contained the truth, in percent.
fn shares(score: &Score) -> String {
    let share = |count: usize, of: usize| match of {
        0 => "-".to_owned(),
        _ => format!("{:.0}", 100.0 * count as f64 / of as f64),
    };
    let Score { runs, claimed, within, covers, .. } = *score;
    match runs {
        0 => String::new(),
        _ => format!("{}/{}/{}", share(claimed, runs), share(within, claimed), share(covers, runs)),
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
        text + FOOT
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
            ("claimed", score.claimed.into()),
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
        ("truth_is_known", is_known(row.truth).into()),
        ("loaded_truth_ns", interval(row.loaded_truth)),
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
        let loaded = (&[] as &[Run], score(overhead));
        Row { subject: "x", truth, c_loaded: None, loaded_truth: truth, quiet, loaded }
    }

    #[test]
    fn a_row_says_what_both_conditions_come_to() {
        assert_eq!(row(true, 100.0).said(), "holds");
        assert_eq!(row(true, 115.0).said(), "1 wrong");
        assert_eq!(
            row(true, 105.0).said(),
            "fails under load",
            "its interval does not contain 100"
        );
        assert_eq!(row(false, 101.0).said(), "not resolved");
        let truth = Interval { low: 50.0, median: 100.0, high: 150.0 };
        let vague = Row { truth, loaded_truth: truth, ..row(true, 102.0) };
        assert_eq!(vague.said(), "truth unknown");
        assert_eq!(vague.verdicts(), [Verdict::Unknown; 2]);
        let wrong = Row { truth, loaded_truth: truth, ..row(true, 500.0) };
        assert_eq!(wrong.said(), "1 wrong", "it is beyond any value of the truth");
    }

    #[test]
    fn loaded_runs_are_compared_with_a_loop_that_is_slower_too() {
        let quiet = Interval { low: 99.0, median: 100.0, high: 101.0 };
        let slower = Interval { low: 148.0, median: 150.0, high: 152.0 };
        assert!(!agree(slower, quiet));
        assert!(agree(Interval { low: 110.0, median: 150.0, high: 190.0 }, quiet));
        let run = |overhead| Run { overhead, is_resolved: true };
        let rounds = |base: f64, own: f64| vec![vec![base, own]; 10];
        let mut report = CaseReport::new(
            &super::super::cases::CASES[1],
            vec!["none".to_owned(), "x".to_owned()],
        );
        report.truth = CSamples::of(rounds(50.0, 150.0));
        report.c_loaded = CSamples::of(rounds(70.0, 220.0));
        report.quiet = vec![vec![], vec![run(quiet); 10]];
        report.loaded = vec![vec![], vec![run(slower); 10]];
        let [row] = &report.rows()[..] else { panic!() };
        assert!(row.is_slower());
        assert_eq!(row.said(), "holds");
        report.c_loaded = CSamples::of(rounds(70.0, 171.0));
        assert_eq!(report.rows()[0].said(), "10 wrong", "50 % more than a loop that is not slower");
    }

    #[test]
    fn shares_of_close_estimates_are_of_those_that_were_claimed() {
        let score = Score { runs: 10, claimed: 8, within: 6, covers: 9, resolved: 10, wrong: 0 };
        assert_eq!(shares(&score), "80/75/90");
        assert_eq!(shares(&Score { claimed: 0, within: 0, ..score }), "0/-/90");
        assert_eq!(shares(&Score::default()), "");
    }

    #[test]
    fn figures_have_a_decimal_below_a_thousand() {
        assert_eq!([3.25, 999.4, 999.5, -3207.3].map(short), ["3.2", "999.4", "1000", "-3207"]);
    }
}
