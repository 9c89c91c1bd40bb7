//! Sources and syscalls in zsh.

use super::words::{A_SOURCE, sources, syscalls};

/// The script of clap, with actions that complete sources and syscalls in place of its own.
pub(super) fn changed(script: &str) -> String {
    let mut text = String::with_capacity(script.len() + 20_000);
    for line in script.lines() {
        let names = |name: &str| line.contains(&format!(":{name} -- "));
        let is_source = line.contains(A_SOURCE);
        let is_syscall = ["call", "calls", "syscalls"].into_iter().any(names)
            || ["]:SYSCALL", "]:CALL,CALL"].iter().any(|name| line.contains(name));
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

#[cfg(test)]
mod tests {
    use super::super::words::Kind;
    use super::*;
    use clap::Command;
    use clap_complete::Shell;

    /// Counts the words of all commands that take arguments of this kind.
    fn count(command: &Command, wanted: Kind) -> usize {
        let own = command.get_arguments().filter(|arg| Kind::of(arg) == wanted);
        let own = own.map(|arg| match arg.is_positional() {
            true => 1,
            false => usize::from(arg.get_long().is_some()) + usize::from(arg.get_short().is_some()),
        });
        own.sum::<usize>() + command.get_subcommands().map(|one| count(one, wanted)).sum::<usize>()
    }

    #[test]
    fn every_source_and_syscall_is_completed() {
        let mut root = crate::cli::command();
        root = root.mut_subcommands(|one| one.mut_args(|arg| arg.hide(false)));
        root.build();
        let mut script = Vec::new();
        clap_complete::generate(Shell::Zsh, &mut root, "callgate", &mut script);
        let text = changed(&String::from_utf8(script).unwrap());
        let actions = |name: &str| text.matches(&format!(":{name}' \\")).count();
        let sources = count(&root, Kind::Source);
        assert!(sources > 20, "{sources}");
        assert_eq!(actions("_callgate_sources"), sources);
        assert_eq!(actions("_callgate_syscalls"), count(&root, Kind::Syscall));
    }
}
