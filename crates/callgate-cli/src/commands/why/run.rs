//! Reads the source and prints the reasons.

use super::answer::Answer;
use super::args::WhyArgs;
use super::{json, text};
use crate::called::called;
use crate::options::Format;
use crate::output;
use crate::report::Result;
use crate::source::{Filter, Source};

pub(crate) fn run(args: &WhyArgs) -> Result<u8> {
    let reading = args.reading.with_statements();
    let stack = Source::parse(&args.source)?.read(&reading)?;
    stack.filters.iter().try_for_each(Filter::check_values)?;
    let (arch, data) = called(&args.call, &args.args, None, &reading, &stack.arches())?;
    let answer = Answer::new(&stack, arch, data);
    output::print(&match args.format {
        Format::Text => text::answer(&answer),
        Format::Json => format!("{}\n", json::answer(&answer)),
    })?;
    Ok(0)
}
