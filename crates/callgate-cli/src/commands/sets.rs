//! `callgate intersect`, `union` and `subtract`: combines filters as sets of syscalls.

use std::ffi::OsString;

use callgate::Verdict;
use callgate::sets::{Expression, Operation};
use clap::ValueHint;

use crate::emit::{Figures, Generated};
use crate::generating::GeneratingOptions;
use crate::report::{self, Failure, Result};
use crate::source;
use crate::stopwatch::Stopwatch;
use crate::verdict::parse_denial;
use callgate_requests::json::Json;

/// Combine filters into one that permits what all of them permit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For each syscall, the result has the strictest verdict, in the kernel's order of
actions: KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, USER_NOTIF, TRACE, LOG, ALLOW.
If several filters have this action, the data of the first one apply. This is
what the kernel does with filters on top of each other (see `callgate merge`),
except for the data. The program is proved equal to the combination.

Examples:
  callgate intersect container-default app.json -o both.bpf
  callgate intersect a.json b.json c.json --emit asm

Exit status: 0 success, 2 error.")]
pub(crate) struct IntersectArgs {
    #[command(flatten)]
    given: SetArgs,
}

/// Combine filters into one that permits what any of them permits
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For each syscall, the result has the loosest verdict, in the kernel's order of
actions: KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, USER_NOTIF, TRACE, LOG, ALLOW.
If several filters have this action, the data of the first one apply. The
program is proved equal to the combination.

Examples:
  callgate union app.json helper.json -o both.bpf
  callgate compile 'container-default + ptrace' -o debug.bpf

Exit status: 0 success, 2 error.")]
pub(crate) struct UnionArgs {
    #[command(flatten)]
    given: SetArgs,
}

/// Remove from a filter what others permit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A syscall that one of the other filters permits (ALLOW or LOG) is denied, unless
the first filter has a stricter verdict. All other syscalls keep the verdict of
the first filter. The program is proved equal to the combination.

Examples:
  callgate subtract container-default network.json -o offline.bpf
  callgate subtract app.json risky.json --deny KILL_PROCESS -o app.bpf
  callgate compile 'container-default - userfaultfd' -o without.bpf

Exit status: 0 success, 2 error.")]
pub(crate) struct SubtractArgs {
    #[command(flatten)]
    given: SetArgs,

    /// The verdict of what is removed: KILL_PROCESS, KILL_THREAD, TRAP, or the name or the number of an
    /// error
    #[arg(long, value_name = "VERDICT", default_value = "EPERM", value_parser = parse_denial)]
    deny: Verdict,
}

#[derive(Debug, clap::Args)]
struct SetArgs {
    /// The filters, each a SOURCE (see `callgate --help`)
    #[arg(required = true, num_args = 2.., value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    sources: Vec<OsString>,

    #[command(flatten)]
    generating: GeneratingOptions,
}

pub(crate) fn intersect(args: &IntersectArgs) -> Result<u8> {
    args.given.combine(Operation::Intersect)
}

pub(crate) fn union(args: &UnionArgs) -> Result<u8> {
    args.given.combine(Operation::Union)
}

pub(crate) fn subtract(args: &SubtractArgs) -> Result<u8> {
    args.given.combine(Operation::Subtract { denied: args.deny })
}

impl SetArgs {
    fn combine(&self, operation: Operation) -> Result<u8> {
        let filters = self.generating.read_each(&self.sources)?;
        let arches = source::arches(&filters);
        let mut options = self.generating.compiler(&arches)?;
        let names: Vec<&str> = filters.iter().map(|filter| filter.name.as_str()).collect();
        let mut stopwatch = Stopwatch::start();
        let Some((first, others)) = filters.split_first() else {
            return Err(Failure::new("no source is given"));
        };
        if let Some(weights) =
            first.weights.as_ref().filter(|_| !self.generating.compiling.has_weights())
        {
            options.weights = weights.clone();
        }
        for (_, name, _) in first.flags().each() {
            report::warn_about(
                &first.name,
                format!("SECCOMP_FILTER_FLAG_{name} is not part of a program"),
                "install the resulting program with this flag",
            );
        }
        let mut expression = Expression::new(first.of_stack());
        first.check_values()?;
        for other in others {
            other.check_values()?;
            other.warn_about_lost_flags(first);
            expression = expression.then(operation, other.of_stack()).map_err(|error| {
                Failure::about(&other.name, error.to_string()).help(
                    "choose one machine with --arch, or the byte order of a program with --endian",
                )
            })?;
        }
        let observe = &mut |phase| stopwatch.note(phase);
        let compiled =
            expression.compile_observed(&arches, &options, observe).map_err(|error| {
                Failure::new(error.to_string()).help(error.help().unwrap_or_default()).multiline()
            })?;
        let proof = "the program is equivalent to the combined filters";
        self.generating.emitting.deliver(Generated {
            program: &compiled.program,
            template: None,
            source: ("sources", Json::array(names.iter().copied())),
            arches: &arches,
            endian: expression.endian(),
            flags: first.flags(),
            figures: Figures::of(&compiled.stats, &stopwatch, &names, &arches, proof),
        })
    }
}
