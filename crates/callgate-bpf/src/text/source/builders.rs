//! Programs that call a library to build their filter, and so contain no instructions.

use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};

/// An error for a program that calls such a library.
pub(super) fn builder(text: &[Token<'_>]) -> Option<Diagnostic> {
    let (call, library, help) =
        text.iter().filter(|token| token.kind == TokenKind::Word).find_map(|token| {
            let name = token.text;
            let is_libseccomp = name.starts_with("seccomp_rule_add")
                || matches!(
                    name,
                    "seccomp_init" | "SCMP_SYS" | "scmp_filter_ctx" | "ScmpFilterContext"
                );
            let is_seccompiler = matches!(
                name,
                "SeccompFilter"
                    | "SeccompRule"
                    | "SeccompCondition"
                    | "SeccompAction"
                    | "seccompiler"
            );
            match (is_libseccomp, is_seccompiler) {
                (true, _) => Some((token, "libseccomp", EXPORT)),
                (_, true) => Some((token, "the crate seccompiler", PRINT)),
                _ => None,
            }
        })?;
    let message = format!("this program builds its filter with {library} when it runs");
    Some(Diagnostic::error(Some(call.position), message).help(help))
}

const EXPORT: &str = "let it write the filter with seccomp_export_bpf(3), or read the filter of the running process (pid:N)";
const PRINT: &str = "let it print its BpfProgram with `{:?}` and paste that, or read the filter of the running process (pid:N)";
