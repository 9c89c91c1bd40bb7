//! Messages about names that are not syscalls, or not syscalls of an architecture.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Position, Severity};
use callgate_bpf::syscalls;
use callgate_core::Arch;
use callgate_formats::diagnostics::messages::{Messages, Report};
use callgate_formats::diagnostics::quote::shorten;

/// How many unknown names get a suggestion, because finding one is slow and a text may have a million names.
pub(crate) const MAX_SUGGESTIONS: usize = 50;

/// How unknown names are reported.
pub(crate) fn unknown_severity(strict: bool) -> Severity {
    if strict { Severity::Error } else { Severity::Warning }
}

/// Appends to a warning that its subject is ignored; an error needs no such note.
pub(crate) fn or_ignored(severity: Severity, mut message: String) -> String {
    if severity == Severity::Warning {
        message += "; ignored";
    }
    message
}

/// Reports a name that no architecture has.
pub(crate) fn unknown_name<R: Report>(reader: &mut R, severity: Severity, at: R::At, name: &str) {
    if reader.leave_out(severity) {
        return;
    }
    let message = format!("\"{}\" is not the name of a syscall", shorten(name));
    let suggest = reader.reported(severity) < MAX_SUGGESTIONS;
    let near = if suggest { syscalls::nearest_name(name) } else { None };
    reader.report(severity, at, or_ignored(severity, message)).help = match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "use a name from the kernel's syscall tables, such as openat or futex".to_owned(),
    };
}

/// Reports a name that this architecture does not have, but another one.
pub(crate) fn not_on_arch(
    messages: &mut Messages,
    severity: Severity,
    at: Position,
    arch: Arch,
    name: &str,
) {
    if messages.leave_out(severity) {
        return;
    }
    let message = format!("{arch} has no syscall \"{name}\"");
    messages.report(severity, at, or_ignored(severity, message)).set_help(Advice::RecordedArch);
}
