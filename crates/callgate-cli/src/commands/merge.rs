//! `callgate merge`: a stack of filters as one program.

use std::ffi::OsString;

use callgate::compile::Options;
use clap::ValueHint;

use crate::emit::{EmitOptions, Figures, Made};
use crate::json::Json;
use crate::options::{CompileOptions, PROMPT, SourceOptions};
use crate::report::{self, Result};
use crate::source::{self, Source};
use crate::stopwatch::Stopwatch;

/// Merge filters that are installed on top of each other into one program
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The kernel runs every installed filter for a call, the newest first, and takes
the most severe verdict; among equal actions the data of the newest count. The
merged program gives the same verdicts, data included, at the cost of one
filter. This is proved, and each combination of verdicts is tried with a call.

A filter with a listener (listenerPath, SCMP_ACT_NOTIFY) does not merge: its
notifications go to its own listener. SECCOMP_FILTER_FLAG_LOG merges only when
all filters have it, and SECCOMP_FILTER_FLAG_TSYNC only when the newest has it;
then the merged program has to be installed with the flag. A program is taken to
have no flags. A process (pid:N) counts as all its filters.

Examples:
  callgate merge container-default app.json -o one.bpf --stats
  callgate merge oldest.bpf newer.bpf newest.bpf --emit asm
  callgate merge pid:1234 one-more.bpf -o one.bpf
  callgate merge a.bpf b.bpf -o one.bpf --stats --format json")]
pub(crate) struct MergeArgs {
    /// The filters, each a SOURCE (see `callgate --help`), the oldest first
    #[arg(required = true, value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    sources: Vec<OsString>,

    #[command(flatten)]
    emitting: EmitOptions,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
}

pub(crate) fn run(args: &MergeArgs) -> Result<u8> {
    let sources: Vec<Source> =
        args.sources.iter().map(|source| Source::parse(source)).collect::<Result<_>>()?;
    let filters = Source::read_all(&sources, &args.reading, &args.compiling)?;
    let arches = source::arches(&filters);
    let options = Options { budget: PROMPT, ..args.compiling.read(&arches, args.reading.strict)? };
    let mut stopwatch = Stopwatch::start();
    let (merged, stack) = source::merge(&filters, &arches, &options, &mut stopwatch)?;
    if let [only] = filters.as_slice() {
        report::warn_about(
            &only.name,
            "this is the only filter of the stack, so nothing is merged",
            "name all filters, the oldest first",
        );
    }
    let flags: Vec<String> =
        stack.flags().each().map(|(_, name, _)| format!("SECCOMP_FILTER_FLAG_{name}")).collect();
    if !flags.is_empty() {
        report::warn(
            format!("the stack has flags, which a program does not carry: {}", flags.join(", ")),
            "install the merged program with them",
        );
    }
    let names: Vec<&str> = filters.iter().map(|filter| filter.name.as_str()).collect();
    let proof =
        format!("the program means what the stack means; {} calls run both ways", merged.calls_run);
    let stats = &merged.compiled.stats;
    let mut figures = Figures::of(stats, &stopwatch, &names, &arches, &proof);
    figures.json.extend([
        ("filters", filters.len().into()),
        ("calls_run", merged.calls_run.into()),
        ("flags", Json::array(flags)),
    ]);
    args.emitting.deliver(Made {
        program: &merged.compiled.program,
        source: ("sources", Json::array(names)),
        arches: &arches,
        endian: stack.endian(),
        figures,
    })
}
