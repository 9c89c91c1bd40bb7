//! Messages about programs that the kernel would refuse.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::{ProgramError, SocketProgram};

/// The message about a socket filter where a seccomp filter is needed.
pub const SOCKET_FILTER: &str = "this is a socket filter, which takes packets, not syscalls";

/// Whether a socket filter contains instructions that a seccomp filter may not use.
pub fn is_not_seccomp(program: &SocketProgram) -> bool {
    program.iter().any(|insn| !insn.op.in_seccomp())
}

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
        last.set_help(Advice::Program(hint));
    }
    messages
}
