//! Sources and syscalls in zsh.

use super::words::{sources, syscalls};

/// The script of clap, with actions that complete sources and syscalls in place of its own.
pub(super) fn changed(script: &str) -> String {
    let mut text = String::with_capacity(script.len() + 20_000);
    for line in script.lines() {
        let names = |name: &str| line.contains(&format!(":{name} -- "));
        let is_source =
            ["source", "sources", "a", "b"].into_iter().any(names) || line.contains("]:SOURCE:");
        let is_syscall = ["call", "calls"].into_iter().any(names) || line.contains("]:SYSCALL");
        let changed = match line.rsplit_once(":_") {
            Some((start, "files' \\")) if is_source => format!("{start}:_callgate_sources' \\"),
            Some((start, "default' \\")) if is_syscall => format!("{start}:_callgate_syscalls' \\"),
            _ => line.to_owned(),
        };
        text.push_str(&changed);
        text.push('\n');
        if line.starts_with("#compdef") {
            text.push_str(&functions());
        }
    }
    text
}

fn functions() -> String {
    let (formats, whole): (Vec<String>, Vec<String>) =
        sources().into_iter().partition(|word| word.ends_with(':'));
    format!(
        "
_callgate_sources() {{
    compadd -- {}
    compadd -S '' -- {}
    _files
}}

_callgate_syscalls() {{
    compadd -- {}
}}

",
        whole.join(" "),
        formats.join(" "),
        syscalls().join(" ")
    )
}
