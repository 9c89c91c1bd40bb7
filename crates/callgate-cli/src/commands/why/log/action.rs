//! The actions of verdicts, as records of the kernel contain them.

use callgate::{Action, Verdict};

/// The action of a verdict, without its data.
pub(super) fn action(verdict: Verdict) -> &'static str {
    match verdict.action() {
        Action::KillProcess => "KILL_PROCESS",
        Action::KillThread => "KILL_THREAD",
        Action::Trap(_) => "TRAP",
        Action::Errno(_) => "ERRNO",
        Action::UserNotif(_) => "USER_NOTIF",
        Action::Trace(_) => "TRACE",
        Action::Log => "LOG",
        Action::Allow => "ALLOW",
        _ => "UNKNOWN",
    }
}
