//! The command line, and the script of the chosen shell.

use clap_complete::Shell;

use super::{bash, fish, zsh};
use crate::output;
use crate::report::Result;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Completes subcommands, options and their values, sources and syscalls. Sources
and syscalls are completed in bash, zsh and fish.

Examples:
  source <(callgate completions bash)              # in ~/.bashrc
  callgate completions fish > ~/.config/fish/completions/callgate.fish
  callgate completions zsh > ~/.zfunc/_callgate         # in $fpath

Exit status: 0 success, 2 error.")]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<u8> {
    // Options that the help describes in a sentence are hidden there only.
    command = command.mut_subcommands(|subcommand| subcommand.mut_args(|arg| arg.hide(false)));
    command.build();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "callgate", &mut script);
    let script = String::from_utf8_lossy(&script);
    output::print_bytes(
        match args.shell {
            Shell::Bash => format!("{script}{}", bash::addition(&command)),
            Shell::Fish => format!("{script}{}", fish::addition(&command)),
            Shell::Zsh => zsh::changed(&script),
            _ => script.into_owned(),
        }
        .as_bytes(),
    )?;
    Ok(0)
}
