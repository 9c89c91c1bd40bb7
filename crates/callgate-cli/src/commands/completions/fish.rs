//! Sources and syscalls in fish.

use std::fmt::Write;

use clap::Command;

use super::words::{Kind, options, places, sources, syscalls};

/// What follows clap's script.
pub(super) fn addition(root: &Command) -> String {
    let with = |kind: Kind| -> String {
        let places = places(root).into_iter().filter(|place| place.kinds.contains(&kind));
        places.map(|place| place.command).collect::<Vec<_>>().join(" ")
    };
    let mut text = format!(
        "\nset -g __callgate_sources {}\nset -g __callgate_syscalls {}\n",
        sources().join(" "),
        syscalls().join(" ")
    );
    let seen = "__fish_seen_subcommand_from";
    let _ = writeln!(
        text,
        "complete -c callgate -n \"{seen} {}\" -a \"$__callgate_sources\" -d source",
        with(Kind::Source)
    );
    let _ = writeln!(
        text,
        "complete -c callgate -n \"{seen} {}\" -a \"$__callgate_syscalls\" -d syscall",
        with(Kind::Syscall)
    );
    for (option, kind) in options(root) {
        let words = match kind {
            Kind::Source => "$__callgate_sources",
            Kind::Syscall => "$__callgate_syscalls",
            Kind::Other => continue,
        };
        let name = match option.strip_prefix("--") {
            Some(long) => format!("-l {long}"),
            None => format!("-s {}", option.trim_start_matches('-')),
        };
        let _ = writeln!(text, "complete -c callgate {name} -r -a \"{words}\"");
    }
    text
}
