//! The totals, and the rows in which a peer is ahead.

use std::collections::BTreeMap;

use super::bout::{Ahead, Bout, SLOW};
use super::kinds::{Kind, Set};
use crate::table::Table;

/// The results of a tournament.
#[derive(Default)]
pub(super) struct Report {
    totals: BTreeMap<Kind, Totals>,
    ahead: Vec<(f64, String)>,
    refused: Vec<String>,
    slow: Vec<String>,
}

/// Numbers of rows.
#[derive(Clone, Copy, Default)]
struct Totals {
    sets: usize,
    rows: usize,
    ahead: [usize; 3],
    /// In size or speed, or both.
    any: usize,
    /// By more than 15 % in size or speed.
    far: usize,
}

impl Totals {
    /// The share of the rows without a peer ahead in size or speed.
    fn share(&self) -> String {
        let share = 1.0 - self.any as f64 / self.rows.max(1) as f64;
        format!("{:.1} %", share * 100.0)
    }
}

/// How far a peer may be ahead.
const FAR: f64 = 1.15;

impl Report {
    pub(super) fn add(&mut self, set: &Set, bouts: &[Bout]) {
        let totals = self.totals.entry(set.kind).or_default();
        totals.sets += 1;
        totals.rows += bouts.len();
        for bout in bouts {
            let name = format!("set {}, {}, {}", set.number, set.kind.name(), bout.peer.name());
            let ahead = bout.ahead();
            totals.any += usize::from(ahead.iter().any(|(what, _)| *what != Ahead::Time));
            for (what, ratio) in ahead {
                totals.ahead[what as usize] += 1;
                totals.far += usize::from(what != Ahead::Time && ratio > FAR);
                if what != Ahead::Time {
                    let row = format!("{name}: {}, {}", what.name(), figures(bout, what));
                    self.ahead.push((ratio, row));
                }
            }
            if let Some(why) = bout.refused() {
                self.refused.push(format!("{name}: {why}"));
            }
            if bout.time() > SLOW {
                self.slow.push(format!("{name}: {:.2} s", bout.time().as_secs_f64()));
            }
        }
    }

    /// The numbers of rows of all kinds.
    fn all(&self) -> Totals {
        let mut all = Totals::default();
        for one in self.totals.values() {
            all.sets += one.sets;
            all.rows += one.rows;
            all.any += one.any;
            all.far += one.far;
            for (sum, count) in all.ahead.iter_mut().zip(one.ahead) {
                *sum += count;
            }
        }
        all
    }

    /// The cells of a seed in the [page](super::page), without the seed.
    pub(super) fn summary(&self) -> Vec<String> {
        let all = self.all();
        let furthest = self.ahead.iter().map(|(ratio, _)| *ratio).max_by(f64::total_cmp);
        let mut cells = vec![all.sets.to_string(), all.rows.to_string(), all.share()];
        cells.extend(all.ahead.iter().chain([&all.far]).map(usize::to_string));
        cells.push(furthest.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")));
        cells.extend([&self.refused, &self.slow].map(|rows| rows.len().to_string()));
        cells
    }

    /// The tables; of rows at most this number.
    pub(super) fn plain(&self, rows: usize) -> String {
        let mut table =
            Table::new(["sets of this kind", "sets", "rows", "size", "speed", "time", "> 15 %"]);
        for (kind, one) in &self.totals {
            table.row(cells(kind.name(), one));
        }
        let all = self.all();
        table.row(cells("all", &all));
        let mut text = format!("rows in which a peer is ahead\n{}", table.plain());
        text += &format!("{} of the rows without a peer ahead in size or speed\n", all.share());
        let mut ahead = self.ahead.clone();
        ahead.sort_by(|a, b| b.0.total_cmp(&a.0));
        let ahead: Vec<String> =
            ahead.into_iter().map(|(ratio, row)| format!("{ratio:.2} times: {row}")).collect();
        for (title, lines) in [
            ("the furthest ahead", &ahead),
            ("refused by Callgate", &self.refused),
            ("longer than half a second", &self.slow),
        ] {
            text += &format!("\n{title}: {}\n", lines.len());
            text.extend(lines.iter().take(rows).map(|line| format!("  {line}\n")));
        }
        text
    }
}

fn cells(name: &str, totals: &Totals) -> Vec<String> {
    let numbers = [totals.sets, totals.rows].into_iter().chain(totals.ahead).chain([totals.far]);
    [name.to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
}

/// What is compared, theirs and ours.
fn figures(bout: &Bout, what: Ahead) -> String {
    let executed = |mean: Option<f64>| mean.map_or("–".to_owned(), |mean| format!("{mean:.2}"));
    let ours = match what {
        Ahead::Size => &bout.size,
        Ahead::Speed | Ahead::Time => &bout.speed,
    };
    let Ok(ours) = ours else { return "refused".to_owned() };
    format!(
        "{} instructions and {} executed, Callgate {} and {}",
        bout.theirs.insns,
        executed(bout.theirs.filtered),
        ours.insns,
        executed(ours.filtered)
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use callgate::{Arch, Verdict};

    use super::*;
    use crate::compare::peers::Peer;
    use crate::compare::rules::Rules;
    use crate::compare::tournament::bout::Figures;

    #[test]
    fn totals_and_the_furthest_rows_are_shown() {
        let figures = |insns, filtered, time| Figures { insns, filtered: Some(filtered), time };
        let (quick, slow) = (Duration::from_micros(10), Duration::from_millis(700));
        let row = |theirs, size, speed| Bout { peer: Peer::LibseccompTree, theirs, size, speed };
        let theirs = figures(100, 10.0, quick);
        let bouts = [
            row(theirs, Ok(figures(150, 9.0, quick)), Ok(figures(150, 10.4, slow))),
            row(theirs, Ok(figures(90, 9.0, quick)), Err("too complex".to_owned())),
        ];
        let rules = Rules::new(Arch::X86_64, Verdict::errno(1), BTreeMap::new());
        let mut report = Report::default();
        report.add(&Set { number: 4, kind: Kind::Masks, rules }, &bouts);
        let text = report.plain(1);
        for expected in [
            "masks                 1     2     1      1     1       1\n",
            "50.0 % of the rows without",
            "the furthest ahead: 2\n  1.50 times: set 4, masks, libseccomp, tree: size, 100 instructions \
             and 10.00 executed, Callgate 150 and 9.00\n\n",
            "refused by Callgate: 1\n  set 4, masks, libseccomp, tree: too complex\n",
            "longer than half a second: 1\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        let summary = ["1", "2", "50.0 %", "1", "1", "1", "1", "1.50", "1", "1"];
        assert_eq!(report.summary(), summary);
    }
}
