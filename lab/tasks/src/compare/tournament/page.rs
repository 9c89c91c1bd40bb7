//! The page of totals, a row for each seed.

use super::options::Options;
use super::report::Report;
use crate::table::Table;

const HEAD: [&str; 11] = [
    "seed",
    "sets",
    "rows",
    "no peer ahead in size or speed",
    "ahead in size",
    "in speed",
    "in time",
    "by over 15 %",
    "furthest",
    "refused",
    "over 0.5 s",
];

const ABOUT: &str = "\
# Tournament

Random rule sets of ten kinds, of 1 to 400 rules, compiled by Callgate and by each installed peer: libseccomp (list and tree),
gVisor, seccompiler, go-seccomp-bpf and seacomb. A row is a program of a peer and Callgate's programs for the same function; `cargo
lab tournament --help` says when a peer is ahead. `furthest` is ours over theirs, in the row in which a peer is furthest ahead.
Written by

";

/// The page with the row of this seed, and those of other seeds of the page before.
pub(super) fn page(
    before: &str,
    options: &Options,
    versions: &[String],
    report: &Report,
) -> String {
    let mut rows: Vec<(u64, Vec<String>)> = before.lines().filter_map(row).collect();
    rows.retain(|(seed, _)| *seed != options.seed);
    rows.push((options.seed, report.summary()));
    rows.sort();
    let mut table = Table::new(HEAD);
    let mut text = ABOUT.to_owned();
    for (seed, cells) in rows {
        let sets = cells.first().map_or("", String::as_str);
        text += &format!("    cargo lab tournament --seed {seed} --sets {sets} --update\n");
        table.row([seed.to_string()].into_iter().chain(cells));
    }
    text + "\n" + &table.markdown() + "\nPeers: " + &versions.join("; ") + ".\n"
}

/// A row of a page, with its seed.
fn row(line: &str) -> Option<(u64, Vec<String>)> {
    let cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|');
    let mut cells = cells.map(|cell| cell.trim().to_owned());
    let seed = cells.next()?.parse().ok()?;
    Some((seed, cells.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_one_row_and_others_are_kept() {
        let of = |seed, before: &str| {
            let words = ["--seed".to_owned(), seed];
            let options = Options::parse(&words).unwrap();
            page(before, &options, &["libseccomp 2.5.4".to_owned()], &Report::default())
        };
        let first = of("7".to_owned(), "");
        let both = of("3".to_owned(), &first);
        assert_eq!(of("7".to_owned(), &both), both);
        let seeds: Vec<u64> = both.lines().filter_map(row).map(|(seed, _)| seed).collect();
        assert_eq!(seeds, [3, 7]);
        assert!(both.contains("cargo lab tournament --seed 3 --sets 0 --update\n"), "{both}");
        assert!(both.contains(" 100.0 % |"), "{both}");
    }
}
