//! Programs that call a library to build their filter, and so contain no instructions.

use crate::diagnostic::{Diagnostic, error};
use crate::lexer::Token;

/// An error for a program that calls such a library.
pub(in super::super) fn builder(text: &[Token<'_>]) -> Option<Diagnostic> {
    let named = |token: &Token<'_>| Some((token.position, library(token)?));
    let (position, (library, help)) = text.iter().find_map(named)?;
    let message = format!("this program builds its filter with {library} when it runs");
    Some(error(position, message).help(help))
}

/// The library that a name is of, and what to do instead of reading its calls.
fn library(token: &Token<'_>) -> Option<(&'static str, &'static str)> {
    let name = token.text;
    let is_libseccomp = name.starts_with("seccomp_rule_add")
        || matches!(name, "seccomp_init" | "SCMP_SYS" | "scmp_filter_ctx" | "ScmpFilterContext");
    match name {
        _ if !token.is_name() => None,
        _ if is_libseccomp => Some(("libseccomp", EXPORT)),
        "SeccompFilter" | "SeccompRule" | "SeccompCondition" | "SeccompAction" | "seccompiler" => {
            Some(("the crate seccompiler", PRINT))
        }
        _ => None,
    }
}

const EXPORT: &str = "let it write the filter with seccomp_export_bpf(3), or read the filter of the running process (pid:N)";
const PRINT: &str = "let it print its BpfProgram with `{:?}` and paste that, or read the filter of the running process (pid:N)";
