//! Messages about programs that the kernel would refuse.

use callgate::bpf::ProgramError;
use callgate::diagnostic::Diagnostic;

use super::place::Place;
use crate::report::Failure;

/// The commands that take programs for packets.
pub(super) const SOCKET_HELP: &str =
    "`callgate simulate` and `callgate bench engines` take socket filters";

/// The message for a program that the kernel would refuse.
pub(crate) fn not_a_program(place: &Place, error: &ProgramError) -> Failure {
    Failure::of(place.name(), violations(error))
}

pub(super) fn violations(error: &ProgramError) -> Vec<Diagnostic> {
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
    let of_packets = violations.iter().any(|violation| violation.rule() == "not-in-seccomp");
    let hint = error.hint().or(of_packets.then_some(SOCKET_HELP));
    if let (Some(hint), Some(last)) = (hint, messages.last_mut()) {
        last.help = hint.to_owned();
    }
    messages
}
