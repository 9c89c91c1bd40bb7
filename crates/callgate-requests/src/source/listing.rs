//! Warnings about programs as text.

use callgate::bpf::text::TextProgram;
use callgate::diagnostic::Diagnostic;

/// Warnings about what reading changed in a program.
pub fn listing_warnings(program: &TextProgram) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if program.is_of_linux3 {
        warnings.push(linux3_warning());
    }
    if program.has_reject {
        let message = "REJECT is read as KILL_PROCESS, gVisor's default action";
        warnings.push(Diagnostic::warning(None, message).help("write the action that is meant"));
    }
    warnings
}

/// The warning about a program that was copied from the memory of Linux 3.
pub fn linux3_warning() -> Diagnostic {
    let message = "this program has the internal opcodes of Linux 3.5 to 3.14, and was translated";
    Diagnostic::warning(None, message)
}
