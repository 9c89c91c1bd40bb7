//! Reads the log and prints its denials.

use callgate::denials::{DenialReader, Evidence, LoggedCall};

use super::super::args::WhyArgs;
use super::super::patch_file::write_patch;
use super::super::read::Read;
use super::explained::{combine, explain};
use super::search::Relevance;
use super::{json, metrics, text};
use crate::called::one_arch;
use crate::options::{Format, SourceOptions};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::Place;

pub(in super::super) fn run(args: &WhyArgs, read: &Read, options: &SourceOptions) -> Result<u8> {
    let Some(path) = &args.from else {
        return Err(Failure::new("missing syscall or log").help("give a syscall, or --from LOG"));
    };
    let place = Place::of_path(path);
    let arch = one_arch(options, &read.stack.arches())?;
    let mut unrelated = 0_u64;
    let diagram = read.required_diagram()?;
    let mut relevance = Relevance::new(diagram);
    let relevant = |call: &LoggedCall| {
        let found = relevance.of(call);
        let failed = matches!(call.evidence, Evidence::Failed(_));
        unrelated += u64::from(found.is_none() && failed);
        found
    };
    let mut reader = DenialReader::new(arch, relevant);
    place.read_pieces(|piece| reader.push(piece))?;
    let log = reader.finish();
    let format = match args.format.metrics() {
        Ok(_) if args.patch.is_some() => {
            let help = "omit --patch, or use --format text";
            return Err(Failure::new("metrics have no patch").help(help));
        }
        Ok(format) => {
            output::print(&metrics::log(&log, unrelated, read, diagram, format))?;
            return Ok(0);
        }
        Err(format) => format,
    };
    let explained = explain(&log, read, diagram, options);
    let combined = combine(&explained, read, options);
    if let Some(path) = &args.patch {
        write_patch(path, combined.as_ref().map(|combined| combined.patch.as_str()))?;
    }
    let name = place.name();
    output::print(&match format {
        Format::Json => {
            format!("{}\n", json::log(&name, &log, unrelated, &explained, combined.as_ref()))
        }
        Format::Text => text::log(&name, &log, unrelated, &explained, combined.as_ref()),
    })?;
    Ok(0)
}
