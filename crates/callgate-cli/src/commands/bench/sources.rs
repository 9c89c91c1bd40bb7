//! The sources that are measured.

use super::options::FiltersArgs;
use crate::options::{SourceOptions, native_arch};
use crate::report::{Failure, Result};
use crate::source::{BUILT_IN, Source, SourceStack};

/// Reads the sources, or the built-in profile.
pub(super) fn read(args: &FiltersArgs, reading: &SourceOptions) -> Result<Vec<SourceStack>> {
    let mut sources: Vec<Source> =
        args.sources.iter().map(|source| Source::parse(source)).collect::<Result<_>>()?;
    if sources.is_empty() {
        sources.push(Source::parse(BUILT_IN.as_ref())?);
    }
    let stacks = Source::read_each(&sources, reading)?;
    let native = native_arch()?;
    for stack in &stacks {
        let arches = stack.arches();
        if !arches.iter().any(|arch| arch.token() == native.token()) {
            let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
            return Err(Failure::about(
                &stack.name,
                format!("this filter is for {}, not for this machine ({native})", names.join(", ")),
            )
            .help("--arch selects the architecture that a source is read for"));
        }
    }
    Ok(stacks)
}
