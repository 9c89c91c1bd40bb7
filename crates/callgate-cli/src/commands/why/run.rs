//! Reads the source and prints the reasons.

use super::answer::Answer;
use super::args::WhyArgs;
use super::change::{Read, advise, permits};
use super::{json, text};
use crate::called::called;
use crate::options::Format;
use crate::output;
use crate::report::{self, Result};
use crate::source::{Filter, Source};

pub(crate) fn run(args: &WhyArgs) -> Result<u8> {
    let reading = args.reading.with_statements();
    let read = Read::new(Source::parse(&args.source)?.load()?, &reading)?;
    let stack = &read.stack;
    stack.filters.iter().try_for_each(Filter::check_values)?;
    let (arch, data) = called(&args.call, &args.args, None, &reading, &stack.arches())?;
    let answer = Answer::new(stack, arch, data);
    let advice =
        (!permits(answer.verdict)).then(|| advise(&read, arch, &data, args.args.len(), &reading));
    if let Some(path) = &args.patch {
        let change = advice.as_ref().and_then(|advice| advice.change.as_ref().ok());
        write_patch(path, change.map(|change| change.patch.as_str()))?;
    }
    output::print(&match args.format {
        Format::Text => {
            let advice = advice.as_ref().map(|advice| text::advice(&answer, advice));
            text::answer(&answer) + &advice.unwrap_or_default()
        }
        Format::Json => format!("{}\n", json::answer(&answer, advice.as_ref())),
    })?;
    Ok(0)
}

/// Writes the patch to a file, if there is one.
pub(super) fn write_patch(path: &std::path::Path, patch: Option<&str>) -> Result<()> {
    match patch {
        Some(patch) => output::write_file(path, patch.as_bytes()),
        None => {
            report::warn("--patch writes no file: there is no patch", "");
            Ok(())
        }
    }
}
