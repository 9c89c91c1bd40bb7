//! What a filter does with a syscall, as text in colours.

use anstyle::{AnsiColor, Style};
pub(crate) use callgate::explain::argument_names;
use callgate::explain::{self, Mark, Outcome};
use callgate::{Arch, Verdict};

/// The verdict, or the verdicts with their conditions; arguments have the names that they have in this syscall.
pub(crate) fn lines(outcome: &Outcome, arch: Arch, syscall: Option<&str>) -> Vec<String> {
    explain::lines(outcome, arch, syscall, paint)
}

/// A verdict, coloured by whether it permits the syscall.
pub(crate) fn colored(verdict: Verdict) -> String {
    explain::painted(verdict, paint)
}

/// Adds the colours of a part of a text.
pub(crate) fn paint(mark: Mark, text: &str) -> String {
    let style: Style = match mark {
        Mark::Heading => Style::new().bold(),
        Mark::Allowed => AnsiColor::Green.on_default(),
        Mark::Unusual => AnsiColor::Yellow.on_default(),
        Mark::Denied => AnsiColor::Red.on_default(),
    };
    format!("{style}{text}{style:#}")
}
