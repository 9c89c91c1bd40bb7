//! `callgate subset`: whether a filter permits nothing that another one does not.

use callgate::sets;

use crate::comparison::ComparisonArgs;
use crate::differences::Titles;
use crate::report::{Failure, Result};

/// Check that a filter allows nothing that another one does not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A is a subset of B if no syscall has a looser action under A than under B. From
strict to loose, the kernel's order of actions is KILL_PROCESS, KILL_THREAD,
TRAP, ERRNO, USER_NOTIF, TRACE, LOG, ALLOW; error numbers and other data do not
count. If A is a subset, prints nothing; otherwise, prints the syscalls that are
looser, each with an example. Lines with - are from A, lines with + from B. In
JSON, they are as in `callgate diff`, under witnesses.

Each of --arch, --kernel, --caps, --enosys-above, --base and --systemd also
exists with -a or -b at the end, for filter A or B only, such as --caps-b none.

Examples:
  callgate subset app.json container-default && echo app.json only restricts
  callgate subset pid:1234 container-default
  callgate subset docker.json docker.json --caps-a none --caps-b all
  callgate subset --max 100 --format json new.json old.json

Exit status: 0 subset, 1 not a subset, 2 error.")]
pub(crate) struct SubsetArgs {
    #[command(flatten)]
    comparison: ComparisonArgs,
}

pub(crate) fn run(args: &SubsetArgs) -> Result<u8> {
    let (a, b) = args.comparison.read()?;
    let mut functions = args.comparison.functions(&a, &b)?;
    let all = sets::not_in_func(&mut functions.store, functions.a, functions.b, usize::MAX)
        .map_err(|error| Failure::new(error.to_string()))?;
    let is_subset = ("subset", all.is_empty());
    args.comparison.print([&a, &b], &functions, is_subset, ("witnesses", all), Titles::Excess)
}
