//! `callgate subset`: whether a filter permits nothing that another one does not.

use callgate::sets::{self, Arguments};
use callgate_core::diagram::DiagramError;
use callgate_requests::ignored::IgnoredBits;

use crate::comparison::{ComparisonArgs, Functions, Remarks};
use crate::differences::Titles;
use crate::report::{self, Failure, Result};

/// Check that a filter allows nothing that another one does not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A is a subset of B if no syscall has a looser action under A than under B. From
strict to loose, the kernel's order of actions is KILL_PROCESS, KILL_THREAD,
TRAP, ERRNO, USER_NOTIF, TRACE, LOG, ALLOW; error numbers and other data do not
count. If A is not a subset, prints the syscalls that are looser, each with an
example. Lines with - are from A, lines with + from B. In
JSON, they are as in `callgate diff`, under witnesses; ignored_bits has a
syscall that B denies and an equal one that B allows, or null.

The kernel reads only 32 bits of an int, such as the family of socket(2), and
filters see 64. So two syscalls may be one for the kernel. By default, A is a
subset if B allows each syscall that A allows, as the kernel reads it: a filter
that compares 32 bits is not looser than one that compares 64. --arguments
filter compares all bits.

Each of --arch, --kernel, --caps, --enosys-above, --base, --systemd and
--minijail-semantics also exists with -a or -b at the end, for filter A or B
only, such as --caps-b none.

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
    let mut functions = args.comparison.functions(&a, &b, Arguments::Kernel)?;
    let failed = |error: DiagramError| Failure::new(error.to_string());
    let Functions { store, a: of_a, b: of_b, .. } = &mut functions;
    let all = sets::not_in_func(store, *of_a, *of_b, usize::MAX).map_err(failed)?;
    let arguments = functions.arguments();
    let ignored = match all.is_empty() && arguments == Arguments::Kernel {
        true => {
            let whole = functions.whole();
            IgnoredBits::find(&mut functions.store, whole).map_err(failed)?
        }
        false => None,
    };
    if let Some(ignored) = ignored.as_ref().filter(|_| !args.comparison.gives_arguments()) {
        let advice = "--arguments filter compares all bits";
        report::warn_all(&a.name, &[ignored.warning([&a.name, &b.name], advice)]);
    }
    let fields = vec![(IgnoredBits::KEY, ignored.map(|one| one.json()).into())];
    let remark = match arguments {
        Arguments::Kernel => "arguments are compared as the kernel reads them (--arguments kernel)",
        Arguments::Filter => "arguments are compared as the filters see them (--arguments filter)",
    };
    let is_subset = ("subset", all.is_empty());
    let witnesses = ("witnesses", all);
    let remarks = Remarks { remark: Some(remark.to_owned()), fields };
    args.comparison.print([&a, &b], &functions, is_subset, witnesses, Titles::Excess, remarks)
}
