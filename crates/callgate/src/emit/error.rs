//! The error for source code that would not compile, or whose installer could not work.

use super::language::Language;
use callgate_bpf::printable::visible;
use callgate_core::Arch;

/// Why there is no source code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmitError(pub(super) EmitErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EmitErrorKind {
    NotAWord { name: String },
    Reserved { name: String, language: Language },
    Notifies,
    WaitKillable,
    NoTarget,
    UnknownTarget { language: Language, target: Arch },
    TargetTwice(Arch),
    OtherVariables { first: Arch, target: Arch },
    OtherWidths { variable: String, first: (Arch, u32), target: (Arch, u32) },
}

impl EmitError {
    /// What to do.
    pub fn help(&self) -> &'static str {
        match &self.0 {
            EmitErrorKind::NotAWord { .. } => {
                "names have letters, digits and _, and do not begin with a digit"
            }
            EmitErrorKind::Reserved { .. } => "give another name",
            EmitErrorKind::Notifies | EmitErrorKind::WaitKillable => {
                "write the array without an installer, and install it with seccomp(2) and \
                 SECCOMP_FILTER_FLAG_NEW_LISTENER, which returns the listener"
            }
            EmitErrorKind::NoTarget
            | EmitErrorKind::UnknownTarget { .. }
            | EmitErrorKind::TargetTwice(_) => "give other targets",
            EmitErrorKind::OtherVariables { .. } => "write a file for each target",
            EmitErrorKind::OtherWidths { .. } => {
                "write a file for each target: a variable has the width of the arguments that are compared with it"
            }
        }
    }
}

impl std::fmt::Display for EmitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            EmitErrorKind::NotAWord { name } => {
                write!(f, "\"{}\" is not a name in source code", visible(name))
            }
            EmitErrorKind::Reserved { name, language } => write!(
                f,
                "`{name}` cannot be a name in the source code: {language} or its libraries use it"
            ),
            EmitErrorKind::Notifies => f.write_str(
                "an installer cannot install this filter: it notifies a listener (USER_NOTIF), and without one the \
                 kernel fails these syscalls with ENOSYS",
            ),
            EmitErrorKind::WaitKillable => f.write_str(
                "an installer cannot install this filter: its flag SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs a \
                 listener",
            ),
            EmitErrorKind::NoTarget => f.write_str("no target is given"),
            EmitErrorKind::UnknownTarget { language, target } => {
                write!(f, "{language} has no target {target}")
            }
            EmitErrorKind::TargetTwice(target) => write!(f, "the target {target} is given twice"),
            EmitErrorKind::OtherVariables { first, target } => {
                write!(f, "the filter for {target} has other variables than that for {first}")
            }
            EmitErrorKind::OtherWidths { variable, first, target } => write!(
                f,
                "the variable `{variable}` has {} bits for {} and {} bits for {}",
                first.1, first.0, target.1, target.0
            ),
        }
    }
}

impl std::error::Error for EmitError {}
