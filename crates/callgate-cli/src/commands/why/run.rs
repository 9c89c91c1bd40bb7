//! Reads the source and prints the reasons.

use super::answer::Answer;
use super::args::WhyArgs;
use super::{json, text};
use crate::called::called;
use crate::options::Format;
use crate::output;
use crate::report::{Failure, Result};
use crate::source::Source;

pub(crate) fn run(args: &WhyArgs) -> Result<u8> {
    let reading = args.reading.with_statements();
    let stack = Source::parse(&args.source)?.read(&reading)?;
    if let Some(filter) = stack.filters.iter().find(|filter| filter.has_variables()) {
        let message = "the filter has variables, whose values are needed here";
        return Err(
            Failure::about(&filter.name, message).help("give their values: --set NAME=VALUE")
        );
    }
    let (arch, data) = called(&args.call, &args.args, None, &reading, &stack.arches())?;
    let answer = Answer::new(&stack, arch, data);
    output::print(&match args.format {
        Format::Text => text::answer(&answer),
        Format::Json => format!("{}\n", json::answer(&answer)),
    })?;
    Ok(0)
}
