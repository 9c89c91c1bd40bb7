//! The table in lab/results/binaries.md.

use super::measure::Measured;
use crate::machine;
use crate::table::Table;
use callgate_tasks::Result;

const BEGIN: &str = "<!-- Written by `cargo lab binaries --update`. Do not edit. -->\n";
const END: &str = "<!-- End of the written part. -->\n";

/// The figures as Markdown.
pub(super) fn markdown(all: &[Measured], left_out: &[String]) -> String {
    let mut text = String::new();
    for line in machine::lines() {
        text += &format!("- {line}\n");
    }
    text.push('\n');
    let mut means = Table::new(["", "programs", "recall", "precision", "F1", "recorded", "static"]);
    let popular: Vec<&Measured> = all.iter().filter(|one| one.is_popular).collect();
    means.row(mean("all", &all.iter().collect::<Vec<_>>()));
    means.row(mean("servers and databases", &popular));
    text += &means.markdown();
    let complete = all.iter().filter(|one| one.score.only_recorded.is_empty()).count();
    text += &format!(
        "\nOf {} programs, {complete} have a recall of 1: the code has everything that was recorded.\n\n",
        all.len()
    );
    let mut table = Table::new([
        "program",
        "recorded",
        "static",
        "both",
        "recall",
        "precision",
        "F1",
        "unknown",
        "s",
        "MB",
    ]);
    for one in all {
        let score = &one.score;
        table.row([
            one.name.clone(),
            score.recorded().to_string(),
            score.found().to_string(),
            score.both.len().to_string(),
            format!("{:.3}", score.recall()),
            format!("{:.2}", score.precision()),
            format!("{:.2}", score.f1()),
            one.unresolved.to_string(),
            format!("{:.2}", one.time.as_secs_f64()),
            (one.memory >> 20).to_string(),
        ]);
    }
    text += &table.markdown();
    let missed = all.iter().filter(|one| !one.score.only_recorded.is_empty());
    let missed: Vec<String> = missed
        .map(|one| {
            let why = match one.incomplete.is_empty() {
                true => String::new(),
                false => format!(" ({})", one.incomplete.join(", ")),
            };
            format!("- {}: {}{why}\n", one.name, one.score.only_recorded.join(", "))
        })
        .collect();
    if !missed.is_empty() {
        text += &format!("\nRecorded, but not found in the code:\n\n{}", missed.concat());
    }
    if !left_out.is_empty() {
        text += &format!("\nLeft out: {}.\n", left_out.join("; "));
    }
    text
}

fn mean(name: &str, all: &[&Measured]) -> Vec<String> {
    let count = all.len().max(1) as f64;
    let of = |value: fn(&Measured) -> f64| all.iter().map(|one| value(one)).sum::<f64>() / count;
    vec![
        format!("{name}, mean"),
        all.len().to_string(),
        format!("{:.3}", of(|one| one.score.recall())),
        format!("{:.2}", of(|one| one.score.precision())),
        format!("{:.2}", of(|one| one.score.f1())),
        format!("{:.0}", of(|one| one.score.recorded() as f64)),
        format!("{:.0}", of(|one| one.score.found() as f64)),
    ]
}

/// The page with a new table.
pub(super) fn replaced(page: &str, text: &str) -> Result<String> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    match parts {
        Some((before, after)) => Ok(format!("{before}{BEGIN}\n{text}\n{END}{after}")),
        None => Err(format!("lab/results/binaries.md lacks the lines {BEGIN:?} and {END:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_written_part_is_replaced() {
        let page = format!("before\n{BEGIN}old\n{END}after\n");
        let new = replaced(&page, "new\n").unwrap();
        assert!(new.starts_with("before\n") && new.ends_with("after\n"));
        assert!(new.contains("\nnew\n") && !new.contains("old"));
        assert!(replaced("", "new").is_err());
    }
}
