//! The distributions, and the worst rows.

use crate::table::Table;

/// A rule set for which both libraries have a program.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// The lengths of the programs.
    pub(super) insns: [usize; 2],
    /// The times in microseconds, without that of loading.
    pub(super) times: [f64; 2],
    /// Whether the original's program means what the rules say.
    pub(super) is_right: bool,
}

/// All results. In pairs, ours come first.
#[derive(Default)]
pub(super) struct Report {
    pub(super) rows: Vec<Row>,
    /// The times of loading the libraries, in microseconds.
    pub(super) loading: [f64; 2],
    /// The sets for which the original has no program, with the reason.
    pub(super) only_ours: Vec<String>,
    /// The sets for which this library has none.
    pub(super) only_theirs: Vec<String>,
}

/// The promised ratio of lengths, and the instructions more that are within it.
const LONGER: (f64, f64) = (1.05, 2.0);

/// The promised ratio of times, and the microseconds more that are always within it.
const SLOWER: (f64, f64) = (1.1, 100.0);

/// The shown quantiles.
const QUANTILES: [(&str, f64); 7] = [
    ("least", 0.0),
    ("5 %", 0.05),
    ("25 %", 0.25),
    ("median", 0.5),
    ("75 %", 0.75),
    ("95 %", 0.95),
    ("most", 1.0),
];

impl Row {
    /// Our length, divided by the longest that is promised.
    fn length(&self) -> f64 {
        let [ours, theirs] = self.insns.map(|insns| insns as f64);
        ours / (LONGER.0 * theirs + LONGER.1)
    }

    /// Our time with that of loading, divided by the longest that is promised.
    fn time(&self, loading: [f64; 2]) -> f64 {
        let [ours, theirs] = self.whole(loading);
        ours / (SLOWER.0 * theirs).max(theirs + SLOWER.1)
    }

    fn whole(&self, loading: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|at| self.times[at] + loading[at])
    }
}

impl Report {
    /// The tables in Markdown, and the worst rows.
    pub(super) fn markdown(&self, worst: usize) -> String {
        let loading = self.loading;
        let right: Vec<&Row> = self.rows.iter().filter(|row| row.is_right).collect();
        let head = ["ours / theirs".to_owned(), "sets".to_owned()].into_iter();
        let head = head.chain(QUANTILES.iter().map(|(name, _)| (*name).to_owned()));
        let mut table = Table::new(head.chain(["beyond what is promised".to_owned()]));
        let insns = right.iter().map(|row| row.insns[0] as f64 / row.insns[1] as f64);
        let longer = right.iter().filter(|row| row.length() > 1.0).count();
        table.row(cells("instructions", insns.collect(), longer));
        let times = self.rows.iter().map(|row| {
            let [ours, theirs] = row.whole(loading);
            ours / theirs
        });
        let slower = self.rows.iter().filter(|row| row.time(loading) > 1.0).count();
        table.row(cells("time with loading", times.collect(), slower));
        let made = self.rows.iter().map(|row| row.times[0] / row.times[1]);
        table.row(cells("time without", made.collect(), slower));
        let mut text = table.markdown();
        let [ours, theirs] = loading;
        text += &format!(
            "\nloading the library: {ours:.0} \u{b5}s, the original {theirs:.0} \u{b5}s\n"
        );
        text += &format!(
            "programs of the original that contradict their rules: {}\n",
            self.rows.len() - right.len()
        );
        for (title, sets) in [
            ("sets without a program of the original", &self.only_ours),
            ("sets without a program of this library", &self.only_theirs),
        ] {
            text += &format!("{title}: {}\n", sets.len());
            text.extend(sets.iter().take(worst).map(|line| format!("  {line}\n")));
        }
        text += "\nthe longest programs, compared with the original's:\n";
        text += &listed(right, worst, Row::length, |row| {
            format!("{} instructions, the original {}", row.insns[0], row.insns[1])
        });
        text += "\nthe slowest, with loading:\n";
        let slowest = |row: &Row| row.time(loading);
        text + &listed(self.rows.iter().collect(), worst, slowest, |row| {
            let [ours, theirs] = row.whole(loading);
            format!("{ours:.0} \u{b5}s, the original {theirs:.0} \u{b5}s")
        })
    }
}

/// The rows that are furthest beyond what is promised, or nearest to it.
fn listed(
    mut rows: Vec<&Row>,
    worst: usize,
    share: impl Fn(&Row) -> f64,
    figures: impl Fn(&Row) -> String,
) -> String {
    rows.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let line = |row: &&Row| format!("  {:.2} of it: {}, {}\n", share(row), row.name, figures(row));
    rows.iter().take(worst).map(line).collect()
}

/// A row of quantiles.
fn cells(name: &str, mut values: Vec<f64>, beyond: usize) -> Vec<String> {
    values.sort_by(f64::total_cmp);
    let of = |share: f64| {
        let at = (share * values.len().saturating_sub(1) as f64).round() as usize;
        values.get(at).map_or("\u{2013}".to_owned(), |value| format!("{value:.2}"))
    };
    let shown = QUANTILES.iter().map(|(_, share)| of(*share));
    let before = [name.to_owned(), values.len().to_string()].into_iter();
    before.chain(shown).chain([beyond.to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, insns: [usize; 2], times: [f64; 2], is_right: bool) -> Row {
        Row { name: name.to_owned(), insns, times, is_right }
    }

    #[test]
    fn what_is_promised_has_a_part_that_does_not_depend_on_size() {
        assert!(row("", [23, 20], [0.0; 2], true).length() <= 1.0);
        assert!(row("", [24, 20], [0.0; 2], true).length() > 1.0);
        assert!(row("", [1052, 1000], [0.0; 2], true).length() <= 1.0);
        assert!(row("", [1053, 1000], [0.0; 2], true).length() > 1.0);
        let time = |ours, theirs| row("", [1, 1], [ours, theirs], true).time([150.0, 100.0]);
        assert!(time(249.0, 200.0) <= 1.0 && time(251.0, 200.0) > 1.0);
        assert!(time(10_959.0, 10_000.0) <= 1.0 && time(10_962.0, 10_000.0) > 1.0);
    }

    #[test]
    fn distributions_and_the_worst_rows_are_shown() {
        let report = Report {
            rows: vec![
                row("set 1", [50, 100], [90.0, 100.0], true),
                row("set 2", [110, 100], [900.0, 100.0], true),
                row("set 3", [300, 100], [80.0, 100.0], false),
            ],
            loading: [100.0, 50.0],
            only_ours: vec!["set 4: it takes seconds".to_owned()],
            only_theirs: Vec::new(),
        };
        let text = report.markdown(1);
        for expected in [
            "| instructions      |    2 |  0.50 | 0.50 | 0.50 |   1.10 | 1.10 | 1.10 | 1.10 |                       1 |\n",
            "| time with loading |    3 |  1.20 |",
            "loading the library: 100 \u{b5}s, the original 50 \u{b5}s\n",
            "contradict their rules: 1\n",
            "without a program of the original: 1\n  set 4: it takes seconds\n",
            "  1.03 of it: set 2, 110 instructions, the original 100\n",
            "  4.00 of it: set 2, 1000 \u{b5}s, the original 150 \u{b5}s\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains("set 3"), "{text}");
    }
}
