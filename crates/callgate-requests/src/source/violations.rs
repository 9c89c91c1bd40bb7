//! Messages about programs that the kernel would refuse.

use callgate::bpf::ProgramError;
use callgate::diagnostic::Diagnostic;

/// The messages for a program that the kernel would refuse.
pub fn violations(error: &ProgramError) -> Vec<Diagnostic> {
    /// One error in a program often causes many more.
    const SHOWN: usize = 5;
    let violations = error.violations();
    let mut messages: Vec<Diagnostic> = violations
        .iter()
        .take(SHOWN)
        .map(|violation| Diagnostic::error(None, violation.to_string()))
        .collect();
    if let Some(more @ 1..) = violations.len().checked_sub(SHOWN) {
        let plural = if more == 1 { "" } else { "s" };
        messages.push(Diagnostic::error(None, format!("and {more} more violation{plural}")));
    }
    if let (Some(hint), Some(last)) = (error.hint(), messages.last_mut()) {
        last.help = hint.to_owned();
    }
    messages
}
