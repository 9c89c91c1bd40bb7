//! Reads the sources of a page, with their texts.

use super::args::ReportArgs;
use crate::options::SourceOptions;
use crate::report::{self, Result};
use crate::source::{LoadedSource, Source, SourceStack};

/// One or two filters.
pub(super) struct Filters {
    pub(super) stacks: Vec<SourceStack>,
    /// The source of the filter that the page is about.
    pub(super) last: LoadedSource,
}

/// Reads one or two filters. Prints warnings, which findings of lint may repeat.
pub(super) fn read(args: &ReportArgs) -> Result<Filters> {
    let first = Source::parse(&args.source)?;
    let Some(after) = &args.after else {
        let last = first.load()?;
        let stacks = vec![stack(&last, args)?];
        Source::check_each(&stacks, &args.reading);
        return Ok(Filters { stacks, last });
    };
    let after = Source::parse(after)?;
    Source::check_inputs(&first, &after)?;
    let (first, last) = (first.load()?, after.load()?);
    let both = (stack(&first, args)?, stack(&last, args)?);
    let own = SourceOptions::default();
    let (a, b) = Source::check_both(both, &args.reading, [("", &own), ("", &own)])?;
    Ok(Filters { stacks: vec![a, b], last })
}

/// The filters of a source, with its rules and the warnings about them, which are printed as well.
fn stack(source: &LoadedSource, args: &ReportArgs) -> Result<SourceStack> {
    // Only sources with a text keep all of their warnings.
    let options = match source.texts().as_slice() {
        [] => args.reading.with_statements(),
        _ => args.reading.for_lint(),
    };
    let stack = source.read(&options.warning_later())?;
    for filter in &stack.filters {
        if filter.is_profile() {
            report::warn_all(&stack.name, &filter.warnings);
        }
    }
    Ok(stack)
}
