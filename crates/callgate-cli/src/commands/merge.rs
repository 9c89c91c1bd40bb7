//! `callgate merge`: merges a stack of filters into one program.

use std::ffi::OsString;

use clap::ValueHint;

use crate::emit::{Figures, Generated};
use crate::generating::GeneratingOptions;
use crate::report::{self, Result};
use crate::source::SourceStack;
use crate::stopwatch::Stopwatch;
use callgate_bpf::FilterFlags;
use callgate_requests::json::Json;

/// Merge filters that are installed on top of each other into one program
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For each syscall, the kernel runs every installed filter, the newest first, and
takes the action of highest precedence; if several filters return this action,
the data of the newest apply. The merged program returns the same verdicts,
including data, at the cost of one filter. This is proved; in addition, each
combination of verdicts is tested with a syscall.

A filter with a listener (listenerPath, SCMP_ACT_NOTIFY) cannot be merged,
because its notifications go to its own listener. SECCOMP_FILTER_FLAG_LOG can be
merged only if all filters have it, SECCOMP_FILTER_FLAG_TSYNC only if the newest
has it; install the merged program with the same flags. Programs in files are
assumed to have no flags. A process (pid:N) stands for all of its filters.

Examples:
  callgate merge container-default app.json -o one.bpf --stats
  callgate merge oldest.bpf newer.bpf newest.bpf --emit asm
  callgate merge pid:1234 one-more.bpf -o one.bpf
  callgate merge a.bpf b.bpf -o one.bpf --stats --format json

Exit status: 0 success, 2 error.")]
pub(crate) struct MergeArgs {
    /// The filters, each a SOURCE (see `callgate --help`), the oldest first
    #[arg(required = true, value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    sources: Vec<OsString>,

    #[command(flatten)]
    generating: GeneratingOptions,
}

pub(crate) fn run(args: &MergeArgs) -> Result<u8> {
    let stack = SourceStack::of_filters(args.generating.read_all(&args.sources)?);
    let (filters, arches) = (&stack.filters, stack.arches());
    let options = args.generating.compiler(&arches)?;
    let mut stopwatch = Stopwatch::start();
    let merged = stack.merge_observed(&options, &mut |phase| stopwatch.note(phase))?;
    let flags = stack.members().map_or(FilterFlags::NONE, |members| members.flags());
    if let [only] = filters.as_slice() {
        report::warn_about(
            &only.name,
            "nothing to merge: this is the only filter",
            "give all filters of the stack, the oldest first",
        );
    }
    let flags: Vec<String> =
        flags.each().map(|(_, name, _)| format!("SECCOMP_FILTER_FLAG_{name}")).collect();
    if !flags.is_empty() {
        report::warn(
            format!("the filters have flags that are not part of a program: {}", flags.join(", ")),
            "install the merged program with these flags",
        );
    }
    let names: Vec<&str> = filters.iter().map(|filter| filter.name.as_str()).collect();
    let proof = format!(
        "the program is equivalent to the stack; both agree on {} test syscalls",
        merged.syscalls_compared
    );
    let stats = &merged.compiled.stats;
    let mut figures = Figures::of(stats, &stopwatch, &names, &arches, &proof);
    figures.json.extend([
        ("filters", filters.len().into()),
        ("calls_run", merged.syscalls_compared.into()),
        ("flags", Json::array(flags)),
    ]);
    args.generating.deliver(Generated {
        program: &merged.compiled.program,
        template: None,
        source: ("sources", Json::array(names)),
        arches: &arches,
        endian: stack.endian(),
        flags: stack.flags(),
        figures,
    })
}
