//! Reads the source and prints its explanation.

use super::args::ExplainArgs;
use super::explained::Explained;
use super::{json, markdown, packets, text};
use crate::options::TextFormat;
use crate::output;
use crate::report::Result;
use crate::source::Source;
use callgate_requests::source::AnyFilter;

pub(crate) fn run(args: &ExplainArgs) -> Result<u8> {
    if args.format == TextFormat::Json {
        args.warn_about_order();
    }
    let source = Source::parse(&args.source)?;
    let read = source.read_any_stack(&args.reading.with_statements())?;
    let stack = match read {
        AnyFilter::Syscalls(stack) => stack,
        AnyFilter::Packets(filter) => return packets::explain(args, &filter),
    };
    let assumed = source.assumed(&stack, &args.reading);
    let explained = Explained::new(&stack, assumed, args)?;
    output::print(&match args.format {
        TextFormat::Text => text::text(&explained),
        TextFormat::Markdown => markdown::text(&explained),
        TextFormat::Json => format!("{}\n", json::json(&explained)),
    })?;
    Ok(0)
}
