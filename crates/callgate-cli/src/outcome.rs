//! What a filter does with a syscall, as text.

use anstyle::{AnsiColor, Style};
use callgate::explain::Outcome;
pub(crate) use callgate::explain::argument_names;
use callgate::{Arch, Verdict};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const UNUSUAL: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// The verdict, or the verdicts with their conditions; arguments have the names that they have in this syscall.
pub(crate) fn lines(outcome: &Outcome, arch: Arch, syscall: Option<&str>) -> Vec<String> {
    match outcome {
        Outcome::Always(verdict) => vec![colored(*verdict)],
        Outcome::Depends { clauses, otherwise } => {
            let mut lines: Vec<String> = clauses
                .iter()
                .map(|clause| {
                    let when = clause.describe_on(arch, syscall);
                    format!("{} if {when}", colored(clause.verdict))
                })
                .collect();
            match lines.as_mut_slice() {
                [line] => *line += &format!(", else {}", colored(*otherwise)),
                _ => lines.push(format!("else {}", colored(*otherwise))),
            }
            lines
        }
        Outcome::Complex { verdicts } => vec![complex(verdicts)],
    }
}

/// Verdicts whose conditions cannot be listed.
pub(crate) fn complex(verdicts: &[Verdict]) -> String {
    let list: Vec<String> = verdicts.iter().copied().map(colored).collect();
    format!("{}, too complex to list", list.join(" or "))
}

/// A verdict, coloured by whether it permits the syscall.
pub(crate) fn colored(verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::ALLOW => GOOD,
        verdict if verdict.permits() => UNUSUAL,
        _ => BAD,
    };
    format!("{style}{verdict}{style:#}")
}
