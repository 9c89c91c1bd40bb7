//! The heading of options that several subcommands have.

use clap::Command;

const OUTPUT: &str = "Output";

/// The heading of options with which others check a program.
pub(crate) const CHECKING: &str = "Checking";

/// The options about results: where they are written, and how they look.
const OF_OUTPUT: &[&str] = &[
    "order",
    "complete",
    "context",
    "csv",
    "dialect",
    "emit",
    "format",
    "html",
    "installer",
    "level",
    "max",
    "name",
    "output",
    "package",
    "patch",
    "stats",
    "target",
    "to",
    "trace",
    "why",
];

/// The command with each option under a heading: these under "Output", others where their definition says or under
/// "Options".
pub(crate) fn with_headings(command: Command) -> Command {
    command.mut_subcommands(|subcommand| {
        with_headings(subcommand.mut_args(|arg| {
            let is_free = arg.get_help_heading().is_none() && !arg.is_positional();
            let is_output = arg.get_long().is_some_and(|long| OF_OUTPUT.contains(&long));
            match is_free && is_output {
                true => arg.help_heading(OUTPUT),
                false => arg,
            }
        }))
    })
}
