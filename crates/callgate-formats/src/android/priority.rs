//! The list of frequent syscalls: a name per line.

use std::collections::BTreeSet;

use super::line::trimmed_lines;
use super::names::{is_known, kernel_name, report_unknown};
use crate::diagnostics::quote::shorten;
use crate::files::{At, Report};
use callgate_bpf::diagnostic::Severity;

/// A frequent syscall.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priority {
    /// Its name in the kernel's tables.
    pub(super) name: &'static str,
    pub(super) at: At,
}

/// Adds the names of a list, each once. genseccomp.py ignores lines that are not a name, so they are warnings.
pub(super) fn priorities(
    report: &mut Report<'_>,
    text: &str,
    file: usize,
    priorities: &mut Vec<Priority>,
) {
    let mut known: BTreeSet<&str> = priorities.iter().map(|one| one.name).collect();
    for (offset, line) in trimmed_lines(text) {
        let at = At { file, offset };
        if !is_name(line) {
            if !report.leave_out(Severity::Warning, at) {
                let message = format!("`{}` is ignored: it is not a name", shorten(line));
                report.warn(at, message).help =
                    "write one name per line; comments have a line of their own".to_owned();
            }
            continue;
        }
        match kernel_name(line).filter(|_| is_known(line)) {
            None => report_unknown(report, Severity::Warning, line, at),
            Some(name) if !known.insert(name) => {
                if !report.leave_out(Severity::Warning, at) {
                    let message = format!("`{name}` is ignored: an earlier line has it");
                    report.warn(at, message).help = "remove it".to_owned();
                }
            }
            Some(name) => priorities.push(Priority { name, at }),
        }
    }
}

/// Whether genseccomp.py takes a line as a name: at least two letters, digits and underscores, first not a digit.
fn is_name(line: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    line.len() > 1
        && line.bytes().all(is_of_name)
        && !line.starts_with(|c: char| c.is_ascii_digit())
}
