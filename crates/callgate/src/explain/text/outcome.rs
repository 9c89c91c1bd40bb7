//! What a filter does with a syscall, as text.

use crate::explain::Outcome;
use crate::{Action, Arch, Verdict};

use super::options::{Mark, Paint};

/// The verdict, or the verdicts with their conditions; arguments have the names that they have in this syscall.
pub fn lines(outcome: &Outcome, arch: Arch, syscall: Option<&str>, paint: Paint) -> Vec<String> {
    match outcome {
        Outcome::Always(verdict) => vec![painted(*verdict, paint)],
        Outcome::Depends { clauses, otherwise } => {
            let mut lines: Vec<String> = clauses
                .iter()
                .map(|clause| {
                    let when = clause.describe_on(arch, syscall);
                    format!("{} if {when}", painted(clause.verdict, paint))
                })
                .collect();
            let last = format!("else {}", painted(*otherwise, paint));
            match lines.as_mut_slice() {
                [line] => *line += &format!(", {last}"),
                _ => lines.push(last),
            }
            lines
        }
        Outcome::Complex { verdicts } => vec![complex(verdicts, paint)],
    }
}

/// Verdicts whose conditions cannot be listed.
fn complex(verdicts: &[Verdict], paint: Paint) -> String {
    let list: Vec<String> = verdicts.iter().map(|verdict| painted(*verdict, paint)).collect();
    format!("{}, too complex to list", list.join(" or "))
}

/// The outcome if it does not depend on arguments.
pub fn always(verdict: Verdict, paint: Paint) -> String {
    let what = match verdict.action() {
        _ if verdict == Verdict::ALLOW => return paint(Mark::Allowed, "always allowed"),
        Action::Allow => "always allowed with",
        Action::Log => "always allowed and logged with",
        Action::Trace(_) => "passed to a tracer with",
        Action::UserNotif(_) => "passed to a supervisor with",
        _ => "denied with",
    };
    format!("{what} {}", painted(verdict, paint))
}

/// What happens to numbers without a name.
pub fn unnamed(outcome: &Outcome, paint: Paint) -> String {
    match outcome {
        Outcome::Always(verdict) => painted(*verdict, paint),
        Outcome::Depends { .. } => "depends on arguments".to_owned(),
        Outcome::Complex { verdicts } => complex(verdicts, paint),
    }
}

/// A verdict, marked by whether it permits the syscall.
pub fn painted(verdict: Verdict, paint: Paint) -> String {
    let mark = match verdict {
        Verdict::ALLOW => Mark::Allowed,
        verdict if verdict.permits() => Mark::Unusual,
        _ => Mark::Denied,
    };
    paint(mark, &verdict.to_string())
}
