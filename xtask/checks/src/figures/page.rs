//! The page with all figures.

use std::fmt::Write;

use super::registry::{FILE, Registry};

/// The page, relative to the root.
pub(super) const PAGE: &str = "lab/results/figures.md";

/// The text of the page.
pub(super) fn text(registry: &Registry) -> String {
    let mut text = format!(
        "# Measured values that these documents quote\n\n\
         <!-- Written by `cargo xtask figures` from {FILE}. Do not edit. -->\n\n\
         Each value is once in [figures.json](../../docs/figures.json), with the phrases that quote it; `cargo xtask structure` compares \
         them.\n\
         *Older* says that the measured code has changed since then, so that the same command may measure something else now.\n"
    );
    for run in &registry.runs {
        let machine = registry.machines.get(&run.machine).map_or("", String::as_str);
        let age = if run.is_older() { " **Older** than its code." } else { "" };
        let _ = write!(
            text,
            "\n## {}\n\n    {}\n\n{}, {machine}. Spread: {}.{age}\n\n| figure | value | unit |\n|---|--:|---|\n",
            run.name, run.command, run.date, run.spread
        );
        for figure in &run.figures {
            let _ = writeln!(text, "| {} | {} | {} |", figure.what, figure.value, figure.unit);
        }
        let places: Vec<&str> = run.quotes.keys().map(String::as_str).collect();
        let _ = writeln!(text, "\nQuoted in {}.", places.join(", "));
    }
    text
}
