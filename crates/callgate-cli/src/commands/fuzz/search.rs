//! Compares the forms of a filter, syscall by syscall.

use std::ffi::OsStr;
use std::time::Instant;

use callgate::fuzz::{self, Input};

use super::args::FuzzArgs;
use super::forms::forms;
use super::kernel;
use super::limits::{options, teller};
use super::outcome::FuzzOutcome;
use super::pair;
use crate::options::KernelArg;
use crate::progress::Progress;
use crate::report::{Failure, Result};
use crate::source::{BUILT_IN, Source};

pub(super) fn search(args: &FuzzArgs) -> Result<FuzzOutcome> {
    let start = Instant::now();
    let source = source(args)?;
    if let Some(other) = other(args)? {
        return pair::search(args, source, other, start);
    }
    let filter = Source::parse(source)?.read_to_compile(&args.reading.0)?;
    filter.check_values()?;
    let asks_kernel =
        matches!(args.reading.0.kernel, Some(KernelArg::Running | KernelArg::Source(_)));
    if asks_kernel {
        kernel::check(&filter)?;
    }
    let mut omissions = Vec::new();
    let (mut forms, programs) = forms(&filter, &args.compiling.0, &mut omissions)?;
    let (policy, arches) = (filter.policy(), &filter.arches);
    let input = Input { policy, programs: &programs, arches, endian: filter.endian() };
    let mut progress = Progress::new(start);
    let mut report = fuzz::fuzz(&input, &options(args), &mut teller(args, start, &mut progress));
    if asks_kernel {
        kernel::ask(&input, &mut forms, &mut report, &mut omissions);
    }
    progress.clear();
    let mut source_arguments = vec![source.to_string_lossy().into_owned()];
    source_arguments.extend(args.reading.0.arguments());
    Ok(FuzzOutcome {
        source: filter.name,
        other: None,
        forms,
        report,
        omissions,
        elapsed: start.elapsed(),
        source_arguments,
        own_arguments: args.own_arguments(),
    })
}

/// The second source. With `--kernel SOURCE OTHER`, clap takes it for the first one.
fn other(args: &FuzzArgs) -> Result<Option<&OsStr>> {
    match (&args.other, &args.reading.0.kernel) {
        (Some(_), Some(KernelArg::Running | KernelArg::Source(_))) => Err(Failure::new(
            "--kernel without a version is for the forms of one filter",
        )
        .help("omit it, or give one filter; a process (pid:N) shows what the kernel runs there")),
        (other, _) => Ok(other.as_deref()),
    }
}

/// The source. If it follows `--kernel`, clap takes it for a version.
pub(super) fn source(args: &FuzzArgs) -> Result<&OsStr> {
    match (&args.source, &args.reading.0.kernel) {
        (Some(_), Some(KernelArg::Source(odd))) => {
            Err(Failure::new(format!("\"{}\" is not a kernel version", odd.display())).help(
                "write --kernel X.Y; --kernel without a version also tests the running kernel",
            ))
        }
        (None, Some(KernelArg::Source(source))) => Ok(source),
        (Some(source), _) => Ok(source),
        (None, _) => Ok(OsStr::new(BUILT_IN)),
    }
}
