//! `callgate diff`: whether two filters are equivalent, and syscalls for which they differ.

use callgate::sets::Arguments;
use callgate_codegen::query;
use callgate_core::diagram::DiagramError;

use crate::comparison::{ComparisonArgs, Remarks};
use crate::differences::Titles;
use crate::help::CHECKING;
use crate::report::{Failure, Result};
use crate::smt2::{Smt2Option, side};
use crate::socket_filters;
use crate::source::AnyBoth;
use crate::verified;

/// Compare two filters and print syscalls on which they differ
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two filters are equivalent if they return the same verdict for all syscall
numbers, arguments and instruction pointers of every architecture. Otherwise,
two sentences say what B allows more and less than A, and all differences
follow, each with a syscall that shows it; what B allows more than A comes
first, marked as DANGER with the reason if it is dangerous. Lines with - are
from A, lines with + from B: the verdict for this syscall, and the conditions if
it depends on arguments.

In JSON, a and b contain the verdict, and as outcome what the filter does with
any arguments, in the form of `callgate explain --format json`; outcome is null
for an architecture without a table, and if it is not the same for all syscalls
of alike.

All 64 bits of arguments count, also those that the kernel ignores: of an int,
it reads only 32. --arguments kernel compares what the filters allow as the
kernel reads it. If --arch restricts a profile, and the other filter is a
program that also decides about other ABIs, one sentence says so.

Socket filters, which take packets, are equivalent if they return the same value
for every packet; otherwise, one packet shows the difference.

Each of --arch, --kernel, --caps, --enosys-above, --base, --systemd and
--minijail-semantics also exists with -a or -b at the end, for filter A or B
only, such as --caps-b none.

Examples:
  callgate diff profile.json filter.bpf
  callgate diff docker.json docker.json --caps-b docker,CAP_SYS_ADMIN
  callgate diff old.json new.json clone clone3
  callgate diff old.json new.json --context 3
  callgate diff old.json new.json --format markdown > comment.md
  callgate diff --max 100 --format json old.json new.json
  callgate diff profile.json filter.bpf --smt2 check.smt2; z3 check.smt2
  callgate diff profile.json filter.bpf --verify

Exit status: 0 equivalent, 1 different, 2 error.")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    comparison: ComparisonArgs,

    #[command(flatten)]
    smt2: Smt2Option,

    /// Also ask callgate-check, the checker that is proved in Coq; one of both must be a policy, the other a program
    #[arg(long, help_heading = CHECKING)]
    verify: bool,
}

pub(crate) fn run(args: &DiffArgs) -> Result<u8> {
    let (a, b) = match args.comparison.read_any()? {
        AnyBoth::Syscalls(both) => *both,
        AnyBoth::Packets(both) => {
            if args.verify {
                return Err(Failure::new(
                    "--verify is for seccomp filters, and these take packets",
                )
                .help("omit --verify"));
            }
            if args.smt2.is_given() {
                return Err(Failure::new(
                    "--smt2 compares seccomp filters, and these take packets",
                )
                .help("omit --smt2"));
            }
            return socket_filters::diff(&args.comparison, &both);
        }
    };
    if args.verify && args.comparison.is_about_some() {
        return Err(Failure::new("--verify compares whole filters, but syscalls are given")
            .help("omit the syscalls or --verify"));
    }
    if args.smt2.is_given() && args.comparison.is_about_some() {
        return Err(Failure::new("--smt2 compares whole filters, but syscalls are given")
            .help("omit the syscalls or --smt2"));
    }
    // Before the MTBDDs, which may exceed their budget: the solver does not need them.
    args.smt2.write(a.endian(), &side(&a.name, &a.filters), &side(&b.name, &b.filters))?;
    let mut functions = args.comparison.functions(&a, &b, Arguments::Filter)?;
    let all = query::differences(&functions.store, functions.a, functions.b, usize::MAX).map_err(
        |error| match error {
            DiagramError::UNDECIDED => Failure::new(error.to_string())
                .help("--smt2 FILE writes the question for an SMT solver"),
            _ => Failure::new(error.to_string()),
        },
    )?;
    let is_same = functions.a == functions.b;
    if args.verify {
        let [whole_a, whole_b] = functions.whole();
        verified::compare([&a, &b], &args.comparison.conditions(), whole_a == whole_b)?;
    }
    let remark = match functions.arguments() {
        Arguments::Kernel => {
            Some("arguments are compared as the kernel reads them (--arguments kernel)")
        }
        // The answer of the other comparison, if it is another one.
        Arguments::Filter => functions
            .as_the_kernel_reads()
            .filter(|[a, b]| a == b && !is_same)
            .map(|_| "arguments differ only in bits that the kernel ignores (--arguments kernel)"),
    };
    let (same, differences) = (("same", is_same), ("differences", all));
    let remark = remark.map(str::to_owned);
    let remarks = Remarks { remark, ..Remarks::default() };
    args.comparison.print([&a, &b], &functions, same, differences, Titles::Changes, remarks)
}
