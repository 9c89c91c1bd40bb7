//! `callgate intersect`, `union` and `subtract`: combines filters as sets of syscalls, as the signs `^`, `+` and `-` between
//! sources do.

use std::ffi::OsString;

use callgate::Verdict;
use callgate::sets::Operation;
use callgate_formats::languages::LanguageId;
use callgate_requests::source::parse_denial;
use clap::ValueHint;

use super::convert::{Writing, target_parser};
use crate::emit::{Figures, Generated, PolicyOutput};
use crate::generating::GeneratingOptions;
use crate::report::{self, Result};
use crate::source::Source;
use crate::stopwatch::Stopwatch;
use callgate_requests::json::Json;

/// Combine filters into one that permits what all of them permit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For each syscall, the result has the strictest verdict, in the kernel's order of
actions: KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, USER_NOTIF, TRACE, LOG, ALLOW.
If several filters have this action, the data of the first one apply. This is
what the kernel does with filters on top of each other (see `callgate merge`),
except for the data. The program is proved equal to the combination. The same
as a source: 'A ^ B'.

Examples:
  callgate intersect container-default app.json -o both.bpf
  callgate compile 'container-default ^ preset:no-sockets' -o offline.bpf
  callgate intersect a.json b.json c.json --emit asm
  callgate intersect container-default app.json --to docker -o both.json

With --to, the policy is equal to the combination without the rule of a runtime
that newer syscalls fail with ENOSYS, and without the conditions of a profile on
capabilities and the kernel; warnings say where this makes a difference.

Exit status: 0 success, 1 --to cannot express it, 2 error.")]
pub(crate) struct IntersectArgs {
    #[command(flatten)]
    given: SetArgs,
}

/// Combine filters into one that permits what any of them permits
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first filter decides about what no other one permits (ALLOW or LOG). Where
several permit a syscall, the loosest verdict applies. Filters that allow what
they do not name, such as presets, are refused: with one, the result would
allow everything. To restrict a filter, use `callgate intersect`. All but the
first may be names of syscalls. The program is proved equal to the combination.
The same as a source: 'A + B'.

Examples:
  callgate union app.json helper.json -o both.bpf
  callgate union app.json helper.json --to docker -o both.json
  callgate compile 'container-default + ptrace' -o debug.bpf

With --to, the policy is equal to the combination without the rule of a runtime
that newer syscalls fail with ENOSYS, and without the conditions of a profile on
capabilities and the kernel; warnings say where this makes a difference.

Exit status: 0 success, 1 --to cannot express it, 2 error.")]
pub(crate) struct UnionArgs {
    #[command(flatten)]
    given: SetArgs,
}

/// Remove from a filter what others permit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A syscall that one of the other filters permits (ALLOW or LOG) is denied, unless
the first filter has a stricter verdict. It gets the verdict that the first
filter has by default, or EPERM if that one allows by default. All other
syscalls keep the verdict of the first filter. All but the first may be names of
syscalls, with a verdict as in ptrace:ENOSYS or ptrace:kill. The program is
proved equal to the combination. The same as a source: 'A - B'.

Examples:
  callgate subtract container-default network.json -o offline.bpf
  callgate subtract app.json risky.json --deny KILL_PROCESS -o app.bpf
  callgate compile 'container-default - userfaultfd' -o without.bpf
  callgate subtract docker-default ptrace --to docker -o no-ptrace.json
  callgate compile 'app.json - ptrace:EPERM - bpf:kill' -o app.bpf

With --to, the policy is equal to the combination without the rule of a runtime
that newer syscalls fail with ENOSYS, and without the conditions of a profile on
capabilities and the kernel; warnings say where this makes a difference.

Exit status: 0 success, 1 --to cannot express it, 2 error.")]
pub(crate) struct SubtractArgs {
    #[command(flatten)]
    given: SetArgs,

    /// The verdict of what is removed: KILL_PROCESS, KILL_THREAD, TRAP, or the name or the number of an
    /// error [default: that of the first filter for what it does not name]
    #[arg(long, value_name = "VERDICT", value_parser = parse_denial)]
    deny: Option<Verdict>,
}

#[derive(Debug, clap::Args)]
struct SetArgs {
    /// The filters, each a SOURCE (see `callgate --help`); after the first one, also names of syscalls
    #[arg(required = true, num_args = 2.., value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    sources: Vec<OsString>,

    /// Write a policy in this language instead of a program, proved equal to the combination without the rules that a
    /// runtime adds; with --closest, as `callgate convert` does
    #[arg(long, value_name = "LANGUAGE", value_parser = target_parser())]
    to: Option<LanguageId>,

    /// With --to: write the nearest stricter policy if the language cannot express the combination, and print what is
    /// lost
    #[arg(long, requires = "to")]
    closest: bool,

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
        if let Some(to) = self.to {
            return self.write(operation, to);
        }
        let combination = self.generating.combine(operation, &self.sources)?;
        let mut options = self.generating.compiler(combination.arches())?;
        let mut stopwatch = Stopwatch::start();
        let first = combination.first();
        if let Some(weights) =
            first.weights.as_ref().filter(|_| !self.generating.compiling().has_weights())
        {
            options.weights = weights.clone();
        }
        for (_, name, _) in first.flags.each() {
            report::warn_about(
                &first.name,
                format!("SECCOMP_FILTER_FLAG_{name} is not part of a program"),
                "install the resulting program with this flag",
            );
        }
        let observe = &mut |phase| stopwatch.note(phase);
        let compiled =
            report::warning(|warnings| combination.compile(&options, observe, warnings))?;
        let (names, arches) = (combination.names(), combination.arches());
        let proof = "the program is equivalent to the combined filters";
        self.generating.deliver(Generated {
            program: &compiled.program,
            template: None,
            source: ("sources", Json::array(names.iter().copied())),
            arches,
            endian: combination.endian(),
            flags: first.flags,
            figures: Figures::of(&compiled.stats, &stopwatch, &names, arches, proof),
        })
    }

    /// Writes the combination as a policy. It is made of what the profiles mean without the rules that a runtime adds.
    fn write(&self, operation: Operation, to: LanguageId) -> Result<u8> {
        let PolicyOutput { output, name, format } = self.generating.emitting.of_policy()?;
        let reading = &self.generating.reading;
        let stack = Source::combine_to_convert(operation, &self.sources, reading, to)?;
        let closest = self.closest;
        Writing { to, closest, list: None, name, output, format, reading }.write(&stack)
    }
}
