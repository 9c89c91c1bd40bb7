//! Lines of the text.

use std::fmt::Write;

use callgate::{Action, Verdict};

/// Writes a line at a level of indentation. Writing to a string never fails.
pub(super) fn line(out: &mut String, indent: usize, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{:width$}{text}", "", width = 2 * indent);
}

/// Writes a verdict.
pub(super) fn action(out: &mut String, indent: usize, verdict: Verdict) {
    match verdict.action() {
        Action::KillProcess => line(out, indent, format_args!("action KILL_PROCESS;")),
        Action::KillThread => line(out, indent, format_args!("action KILL;")),
        Action::Trap(_) => line(out, indent, format_args!("action TRAP;")),
        Action::Errno(data) => line(out, indent, format_args!("action ERRNO({data});")),
        Action::Trace(data) => line(out, indent, format_args!("action TRACE({data});")),
        Action::Log => line(out, indent, format_args!("action LOG;")),
        Action::Allow => line(out, indent, format_args!("action ALLOW;")),
        _ => line(out, indent, format_args!("action {:#x};", verdict.0)),
    }
}
