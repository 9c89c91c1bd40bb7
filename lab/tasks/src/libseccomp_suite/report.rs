//! Prints the results.

use std::collections::BTreeMap;

use super::batch::Batch;
use super::outcome::{Case, Outcome, Tally};
use crate::table::{Table, count};

/// The number of failures of a table of tests that are printed.
const PRINTED: usize = 5;

/// The cases of each line of a table.
pub(super) struct Results<'a> {
    pub(super) batch: &'a Batch,
    pub(super) cases: Vec<Vec<Case>>,
}

/// Prints what failed, the results of each table, and the sums; returns the sums.
pub(super) fn print(all: &[Results], verbose: bool) -> Tally {
    for results in all {
        print_failures(results, if verbose { usize::MAX } else { PRINTED });
    }
    let mut table = Table::new(["test", "passed", "failed", "errored", "skipped"]);
    let mut sums = Tally::default();
    for results in all {
        let tally = Tally::of(results.cases.iter().flatten());
        let cells = [tally.passed, tally.failed, tally.errored, tally.skipped].map(count);
        table.row(std::iter::once(results.batch.name.clone()).chain(cells));
        sums += tally;
    }
    println!("{}", table.plain());
    for (why, number) in reasons(all) {
        println!("{} skipped: {why}", count(number));
    }
    println!("{}", summary(sums));
    sums
}

/// The sums, in the terms of the original's summary.
fn summary(sums: Tally) -> String {
    let run = sums.passed + sums.failed + sums.errored;
    format!(
        "{} tests run: {} passed, {} failed, {} errored; {} skipped",
        count(run),
        count(sums.passed),
        count(sums.failed),
        count(sums.errored),
        count(sums.skipped)
    )
}

fn print_failures(results: &Results, most: usize) {
    let mut failures = 0;
    for (line, cases) in results.batch.lines.iter().zip(&results.cases) {
        for case in cases {
            let (how, why) = match &case.outcome {
                Outcome::Failed(why) => ("FAILED", why),
                Outcome::Errored(why) => ("ERRORED", why),
                Outcome::Passed | Outcome::Skipped(_) => continue,
            };
            failures += 1;
            if failures <= most {
                // The notation of the original.
                let name = format!("{}%%{:03}-{:05}", results.batch.name, line.number, case.number);
                let what = [line.kind.name(), &case.what].join(" ");
                println!("{how:<8}{name} {}: {why}", what.trim_end());
            }
        }
    }
    if failures > most {
        println!("        {}: {} more", results.batch.name, count(failures - most));
    }
}

/// The reasons for which cases were skipped, with their numbers.
fn reasons<'a>(all: &'a [Results]) -> BTreeMap<&'a str, usize> {
    let mut reasons = BTreeMap::new();
    for case in all.iter().flat_map(|results| results.cases.iter().flatten()) {
        if let Outcome::Skipped(why) = &case.outcome {
            *reasons.entry(why.as_str()).or_default() += 1;
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_by_outcome_and_reason() {
        let case = |outcome| Case::single(outcome);
        let why = |text: &str| text.to_owned();
        let cases = vec![
            vec![case(Outcome::Passed), case(Outcome::Failed(why("x"))), case(Outcome::Passed)],
            vec![case(Outcome::Skipped(why("b"))), case(Outcome::Skipped(why("a")))],
            vec![case(Outcome::Errored(why("y"))), case(Outcome::Skipped(why("b")))],
        ];
        let batch = Batch { name: why("99-own"), lines: Vec::new() };
        let all = [Results { batch: &batch, cases }];
        let tally = Tally::of(all[0].cases.iter().flatten());
        let expected = "4 tests run: 2 passed, 1 failed, 1 errored; 3 skipped";
        assert_eq!(summary(tally), expected);
        assert_eq!(reasons(&all), BTreeMap::from([("a", 1), ("b", 2)]));
    }
}
