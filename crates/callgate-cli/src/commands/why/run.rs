//! Reads the source and prints the reasons.

use super::answer::Answer;
use super::args::WhyArgs;
use super::change::advise;
use super::patch_file::write_patch;
use super::read::Read;
use super::{json, log, text};
use callgate::SeccompData;

use crate::called::called;
use crate::options::Format;
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{Filter, Source};

pub(crate) fn run(args: &WhyArgs) -> Result<u8> {
    let reading = args.reading.with_statements();
    let Some(source) = &args.source else { return log::run_alone(args, &reading) };
    let source = Source::parse(source)?.load()?;
    let Some(call) = &args.call else { return log::run(args, source, &reading) };
    let read = Read::new(source, &reading)?;
    let stack = &read.stack;
    stack.filters.iter().try_for_each(Filter::check_values)?;
    let format = args.format.metrics().err().ok_or_else(|| {
        Failure::new("only the denials of a log can be metrics")
            .help("give --from LOG, or use --format text or json")
    })?;
    let (arch, data) = called(call, &args.args, None, &reading, &stack.arches())?;
    let answer = Answer::new(stack, arch, data);
    let advice = (!answer.verdict.permits())
        .then(|| advise(&read, arch, &data, given(&data, args.args.len()), &reading));
    if let Some(path) = &args.patch {
        let change = advice.as_ref().and_then(|advice| advice.change.as_ref().ok());
        write_patch(path, change.map(|change| change.patch.as_str()))?;
    }
    output::print(&match format {
        Format::Text => {
            let advice = advice.as_ref().map(text::advice);
            text::answer(&answer) + &advice.unwrap_or_default()
        }
        Format::Json => format!("{}\n", json::answer(&answer, advice.as_ref())),
    })?;
    Ok(0)
}

/// The arguments of a syscall that are given on the command line.
fn given(data: &SeccompData, count: usize) -> Vec<(u8, u64)> {
    (0..).zip(data.args).take(count).collect()
}
