//! What a text is read as.

use crate::diagnostic::Diagnostic;
use callgate_core::{Endian, RawInsn};

/// The program of a text.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextProgram {
    /// The instructions, in the encoding of user space.
    pub insns: Vec<RawInsn>,
    /// The byte order of the machine that it is for.
    pub endian: Endian,
    /// Whether the text has the internal opcodes of Linux 3.5 to 3.14, which were translated.
    pub is_of_linux3: bool,
    /// Whether the text has `return REJECT`, as documents about gVisor do, which was read as KILL_PROCESS: the default
    /// action of gVisor (`pkg/seccomp/seccomp.go`, `defaultAction`).
    pub has_reject: bool,
    /// Warnings: values that are too large for their fields, as compilers warn about them.
    pub warnings: Vec<Diagnostic>,
}
