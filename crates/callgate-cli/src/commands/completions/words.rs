//! What is completed besides files: sources and syscalls, and where.

use callgate_bpf::syscalls::known_names;
use callgate_formats::{BUILT_INS, PRESETS};
use callgate_requests::source::SourceFormat;
use clap::{Arg, Command};

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Source,
    Syscall,
    Other,
}

/// What the help of each argument says that is a source.
pub(super) const A_SOURCE: &str = "a SOURCE";

impl Kind {
    pub(super) fn of(arg: &Arg) -> Kind {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let is_source = help.contains(A_SOURCE);
        let names = arg.get_value_names().unwrap_or_default();
        match names.first().map(|name| name.as_str()) {
            Some("SYSCALL" | "CALL,CALL") => Kind::Syscall,
            _ if is_source => Kind::Source,
            _ => Kind::Other,
        }
    }
}

/// A subcommand with the kinds of its positional arguments; the last one repeats.
pub(super) struct Place {
    pub(super) command: String,
    pub(super) kinds: Vec<Kind>,
    /// The names of its own subcommands, which may stand in place of the first argument.
    pub(super) inner: Vec<String>,
}

/// The subcommands with sources or syscalls among their positional arguments.
pub(super) fn places(root: &Command) -> Vec<Place> {
    let mut places = Vec::new();
    for command in root.get_subcommands() {
        let kinds: Vec<Kind> = command.get_positionals().map(Kind::of).collect();
        if kinds.iter().any(|kind| *kind != Kind::Other) {
            let inner = command.get_subcommands().map(|inner| inner.get_name().to_owned());
            places.push(Place {
                command: command.get_name().to_owned(),
                kinds,
                inner: inner.collect(),
            });
        }
    }
    places
}

/// The options that take values, as words, with their kinds: `--arch`, `-o`.
pub(super) fn options(root: &Command) -> Vec<(String, Kind)> {
    let mut options: Vec<(String, Kind)> = Vec::new();
    let subcommands =
        root.get_subcommands().flat_map(|one| [one].into_iter().chain(one.get_subcommands()));
    let all = [root].into_iter().chain(subcommands).flat_map(Command::get_arguments);
    for arg in all.filter(|arg| arg.get_action().takes_values() && !arg.is_positional()) {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        for word in long.into_iter().chain(short) {
            if !options.iter().any(|(other, _)| *other == word) {
                options.push((word, Kind::of(arg)));
            }
        }
    }
    options
}

/// The beginnings of sources, and whole ones that are not files.
pub(super) fn sources() -> Vec<String> {
    let presets = PRESETS.iter().map(|name| format!("preset:{name}"));
    let formats = SourceFormat::all().map(SourceFormat::name).chain(["pid"]);
    let formats = formats.map(|name| format!("{name}:"));
    let built_in = BUILT_INS.iter().map(|one| one.name.to_owned());
    built_in.chain(presets).chain(formats).collect()
}

/// All syscalls.
pub(super) fn syscalls() -> Vec<&'static str> {
    let mut names: Vec<&str> = known_names().collect();
    names.sort_unstable();
    names.dedup();
    names
}
