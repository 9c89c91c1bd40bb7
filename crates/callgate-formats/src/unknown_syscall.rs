//! Reports names of syscalls that no architecture has, which most tools skip.

use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::known_names;

/// Reports an unknown name: as a warning that says who skips it (`by`, such as "LXC skips it"), or as an error. `help`
/// replaces the suggestion of a similar name or of one of the other words.
pub(crate) fn report_unknown_syscall(
    reader: &mut Reader<'_>,
    name: &str,
    at: usize,
    is_strict: bool,
    by: &str,
    words: &[&'static str],
    help: Option<&str>,
) {
    let severity = if is_strict { Severity::Error } else { Severity::Warning };
    if reader.is_full(severity) {
        reader.report(severity, at, "");
        return;
    }
    let near = reader.nearest(name, known_names().chain(words.iter().copied()));
    let skipped = if is_strict { String::new() } else { format!("; {by}") };
    let message = format!("no architecture has a syscall `{}`{skipped}", shorten(name));
    reader.report(severity, at, message).help = match (help, near) {
        (Some(help), _) => help.to_owned(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "check the spelling against syscalls(2)".to_owned(),
    };
}
