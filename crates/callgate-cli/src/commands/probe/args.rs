//! Options of `callgate probe`.

use crate::options::Format;

/// Tell what the filters of this process do, without root, as from inside a container
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Run it under the filters, such as in a container. It makes syscalls in child
processes. They have no effect, even if the kernel executes them: arguments are
invalid, or request the current state. --list prints the calls,
with what the kernel answers to each. Most syscalls have two calls, which the
kernel answers differently, so that an errno of a filter shows.

allowed: the kernel executes the call, or logs it as well. denied with: the
errno that comes back. killed, trapped: SIGSYS. What cannot be told is unknown,
with the reason: a filter may answer as the kernel does, the kernel may ask for
a privilege or lack the syscall, a supervisor may not answer. The answers of a
supervisor are taken for those of a filter. One that answers each of these calls
as the kernel does is not noticed, nor is what a filter does with other
arguments, or with the syscalls of 32-bit programs.

Then the answers are compared with each version of the profiles that `callgate
sources` lists, for the running kernel and the capabilities of this process, or
those that the engine gives by default. The nearest is printed, and where it
differs.

The kernel logs each call that is killed. As root outside of the container,
`callgate dump PID` reads the filters themselves.

Examples:
  callgate probe
  callgate probe mount clone3
  callgate run -s docker-default -- callgate probe
  docker run --rm -v $(which callgate):/callgate:ro debian /callgate probe

Exit status: 0 success, also without a filter; 2 error.")]
pub(crate) struct ProbeArgs {
    /// Print what was found out about these syscalls only, with each call
    #[arg(value_name = "SYSCALL", conflicts_with = "list")]
    pub(super) syscalls: Vec<String>,

    /// Print the calls that are made, and make none
    #[arg(long)]
    pub(super) list: bool,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
}
