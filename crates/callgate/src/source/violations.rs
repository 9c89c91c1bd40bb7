//! Messages about programs that the kernel would refuse.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::{ProgramError, SocketProgram};

/// The message about a socket filter where a seccomp filter is needed.
pub const SOCKET_FILTER: &str = "this is a socket filter, which takes packets, not syscalls";

/// Whether a socket filter contains instructions that a seccomp filter may not use.
pub(super) fn is_not_seccomp(program: &SocketProgram) -> bool {
    program.iter().any(|insn| !insn.op.in_seccomp())
}

/// The messages for a program that the kernel would refuse. `socket_filters` is what takes those that are for packets.
pub fn violations(error: &ProgramError, socket_filters: &str) -> Vec<Diagnostic> {
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
    let of_packets = violations.iter().any(|one| one.rule() == "not-in-seccomp");
    if let Some(last) = messages.last_mut() {
        match error.hint() {
            Some(hint) => last.set_help(Advice::Program(hint)),
            None if of_packets => last.set_help(socket_filters),
            None => {}
        }
    }
    messages
}
