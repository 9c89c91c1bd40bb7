//! `callgate completions`: prints completion scripts for shells.

use crate::output;
use crate::report::Result;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(callgate completions bash)              # in ~/.bashrc
  callgate completions fish > ~/.config/fish/completions/callgate.fish
  callgate completions zsh > ~/.zfunc/_callgate         # in $fpath

Exit status: 0 success, 2 error.")]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<u8> {
    // Options that the help describes in a sentence are hidden there only.
    command = command.mut_subcommands(|subcommand| subcommand.mut_args(|arg| arg.hide(false)));
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "callgate", &mut script);
    output::print_bytes(&script)?;
    Ok(0)
}
