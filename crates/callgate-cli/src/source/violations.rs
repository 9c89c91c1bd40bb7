//! Messages about programs that the kernel would refuse.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::ProgramError;
use callgate_requests::source;

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
    let mut messages = source::violations(error);
    let of_packets = error.violations().iter().any(|one| one.rule() == "not-in-seccomp");
    if let Some(last) = messages.last_mut().filter(|last| of_packets && last.help.is_empty()) {
        last.help = SOCKET_HELP.to_owned();
    }
    messages
}
