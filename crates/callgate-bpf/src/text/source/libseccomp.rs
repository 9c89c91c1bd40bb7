//! Programs that call libseccomp, and so contain no instructions.

use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};

/// An error for a program that calls libseccomp.
pub(super) fn libseccomp(text: &[Token<'_>]) -> Option<Diagnostic> {
    let call = text.iter().find(|token| {
        token.kind == TokenKind::Word
            && (token.text.starts_with("seccomp_rule_add")
                || matches!(token.text, "seccomp_init" | "SCMP_SYS" | "scmp_filter_ctx"))
    })?;
    let message = "this program builds its filter with libseccomp when it runs";
    Some(Diagnostic::error(Some(call.position), message).help(
        "let it write the filter with seccomp_export_bpf(3), or read the filter of the running process (pid:N)",
    ))
}
