//! What a filter does with a syscall, as text.

use crate::explain::Outcome;
use crate::{Action, Arch, Verdict};

use super::options::{Mark, Paint};

/// The verdicts of an outcome that depends on arguments, in order, each with the text of its condition: `if cmd == TIOCSTI`,
/// `for any family except AF_ALG and AF_VSOCK`. The last has none. Empty for other outcomes.
///
/// Arguments have the names that they have in this syscall.
pub fn cases(
    outcome: &Outcome,
    arch: Arch,
    syscall: Option<&str>,
) -> Vec<(Verdict, Option<String>)> {
    let Outcome::Depends { clauses, otherwise } = outcome else { return Vec::new() };
    // What is allowed reads better than what is denied, if it is as short.
    if let [denied] = clauses.as_slice() {
        if otherwise.permits() && !denied.verdict.permits() {
            if let Some(when) = denied.unless_on(arch, syscall) {
                return vec![(*otherwise, Some(when)), (denied.verdict, None)];
            }
        }
    }
    let conditions =
        clauses.iter().map(|clause| (clause.verdict, Some(clause.when_on(arch, syscall))));
    conditions.chain([(*otherwise, None)]).collect()
}

/// The verdict, or the verdicts with their conditions; arguments have the names that they have in this syscall.
pub fn lines(outcome: &Outcome, arch: Arch, syscall: Option<&str>, paint: Paint) -> Vec<String> {
    match outcome {
        Outcome::Always(verdict) => vec![painted(*verdict, paint)],
        Outcome::Depends { .. } => {
            let case = |(verdict, when): (Verdict, Option<String>)| match when {
                Some(when) => format!("{} {when}", painted(verdict, paint)),
                None => format!("else {}", painted(verdict, paint)),
            };
            let mut lines: Vec<String> =
                cases(outcome, arch, syscall).into_iter().map(case).collect();
            if let [first, last] = lines.as_slice() {
                lines = vec![format!("{first}, {last}")];
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
