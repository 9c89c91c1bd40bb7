//! `callgate subset`: whether a filter permits nothing that another one does not.

use std::ffi::OsString;

use callgate::diagram::Store;
use callgate::sets;
use clap::ValueHint;

use crate::differences::Differences;
use crate::json::Json;
use crate::options::{Format, SourceOptions, parse_u32};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::Source;

/// Check that a filter allows nothing that another one does not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A is a subset of B if no syscall has a looser action under A than under B. From
strict to loose, the kernel's order of actions is KILL_PROCESS, KILL_THREAD,
TRAP, ERRNO, USER_NOTIF, TRACE, LOG, ALLOW; error numbers and other data do not
count. If A is a subset, prints nothing; otherwise, prints the syscalls that are
looser, each with an example. Lines with - are from A, lines with + from B.

Examples:
  callgate subset app.json container-default && echo app.json only restricts
  callgate subset pid:1234 container-default
  callgate subset --max 100 --format json new.json old.json

Exit status: 0 subset, 1 not a subset, 2 error.")]
pub(crate) struct SubsetArgs {
    /// The filter that should allow less, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    a: OsString,

    /// The filter that should allow more, a SOURCE
    #[arg(value_hint = ValueHint::FilePath)]
    b: OsString,

    /// The maximum number of groups of syscalls to print [default: all]
    #[arg(long, value_name = "N", value_parser = parse_u32, allow_negative_numbers = true)]
    max: Option<u32>,

    /// The format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,
}

pub(crate) fn run(args: &SubsetArgs) -> Result<u8> {
    let (a, b) = (Source::parse(&args.a)?, Source::parse(&args.b)?);
    let (a, b) = Source::read_both(&a, &b, &args.reading)?;
    let mut store = Store::default();
    let (root_a, root_b) = (a.diagram(&mut store)?, b.diagram(&mut store)?);
    let all = sets::not_in_func(&mut store, root_a, root_b, usize::MAX)
        .map_err(|error| Failure::new(error.to_string()))?;
    let is_subset = all.is_empty();
    let witnesses = Differences::new(all, args.max);
    let text = match args.format {
        Format::Json => {
            let mut fields = vec![("subset", is_subset.into())];
            fields.extend(witnesses.fields("witnesses"));
            format!("{}\n", Json::Object(fields))
        }
        Format::Text if is_subset => String::new(),
        Format::Text => witnesses.text(&a.name, &b.name),
    };
    output::print(&text)?;
    Ok(u8::from(!is_subset))
}
