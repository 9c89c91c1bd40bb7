//! How far an outcome permits a syscall.

use callgate_core::{Action, Verdict};

use super::explanation::{ArchExplanation, Outcome};

/// How far an outcome permits a syscall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// For no arguments.
    Never,
    /// Only if a supervisor or a tracer permits it.
    Delegated,
    /// For some arguments.
    Sometimes,
    /// For all arguments.
    Always,
}

impl Permission {
    /// The permission of a syscall with this outcome. Allowed and logged is allowed.
    pub fn of(outcome: &Outcome) -> Permission {
        let verdicts: Vec<Verdict> = match outcome {
            Outcome::Always(verdict) => vec![*verdict],
            Outcome::Depends { clauses, otherwise } => {
                clauses.iter().map(|clause| clause.verdict).chain([*otherwise]).collect()
            }
            Outcome::Complex { verdicts } => verdicts.clone(),
        };
        let delegates =
            |verdict: &Verdict| matches!(verdict.action(), Action::UserNotif(_) | Action::Trace(_));
        if verdicts.iter().all(|verdict| verdict.permits()) {
            Permission::Always
        } else if verdicts.iter().any(|verdict| verdict.permits()) {
            Permission::Sometimes
        } else if verdicts.iter().any(delegates) {
            Permission::Delegated
        } else {
            Permission::Never
        }
    }
}

impl ArchExplanation {
    /// The number of named syscalls with this permission.
    pub fn count(&self, permission: Permission) -> usize {
        let groups =
            self.groups.iter().filter(|group| Permission::of(&group.outcome) == permission);
        groups.map(|group| group.syscalls.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Clause;

    #[test]
    fn the_permission_is_that_of_all_verdicts() {
        let depends = |verdict, otherwise| Outcome::Depends {
            clauses: vec![Clause { conditions: Vec::new(), verdict }],
            otherwise,
        };
        for (outcome, permission) in [
            (Outcome::Always(Verdict::ALLOW), Permission::Always),
            (Outcome::Always(Verdict::LOG), Permission::Always),
            (Outcome::Always(Verdict::errno(1)), Permission::Never),
            (Outcome::Always(Verdict::trace(1)), Permission::Delegated),
            (depends(Verdict::ALLOW, Verdict::LOG), Permission::Always),
            (depends(Verdict::ALLOW, Verdict::errno(1)), Permission::Sometimes),
            (depends(Verdict::KILL_PROCESS, Verdict::errno(1)), Permission::Never),
            (depends(Verdict::user_notif(0), Verdict::errno(1)), Permission::Delegated),
            (
                Outcome::Complex { verdicts: vec![Verdict::ALLOW, Verdict::trap(0)] },
                Permission::Sometimes,
            ),
        ] {
            assert_eq!(Permission::of(&outcome), permission, "{outcome:?}");
        }
    }
}
