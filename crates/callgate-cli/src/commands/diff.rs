//! `callgate diff`: whether two filters are equivalent, and syscalls for which they differ.

use std::ffi::OsString;

use callgate::codegen::query;
use callgate::diagram::Store;
use clap::ValueHint;

use crate::differences::Differences;
use crate::json::Json;
use crate::options::{Format, SourceOptions, parse_u32};
use crate::output;
use crate::report::{Failure, Result};
use crate::smt2::Smt2Option;
use crate::source::Source;

/// Compare two filters and print syscalls on which they differ
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two filters are equivalent if they return the same verdict for all syscall
numbers, arguments and instruction pointers of every architecture. If they are
equivalent, prints nothing; otherwise, prints differences, each with a syscall
that shows it. Lines with - are from the first filter, lines with + from the
second.

Examples:
  callgate diff profile.json filter.bpf
  callgate diff --max 100 --format json old.json new.json
  callgate diff profile.json filter.bpf --smt2 check.smt2; z3 check.smt2

Exit status: 0 equivalent, 1 different, 2 error.")]
pub(crate) struct DiffArgs {
    /// The first filter, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    a: OsString,

    /// The second filter, a SOURCE
    #[arg(value_hint = ValueHint::FilePath)]
    b: OsString,

    /// The maximum number of differences to print [default: all]
    #[arg(long, value_name = "N", value_parser = parse_u32, allow_negative_numbers = true)]
    max: Option<u32>,

    /// The format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    smt2: Smt2Option,

    #[command(flatten)]
    reading: SourceOptions,
}

pub(crate) fn run(args: &DiffArgs) -> Result<u8> {
    let (a, b) = (Source::parse(&args.a)?, Source::parse(&args.b)?);
    let (a, b) = Source::read_both(&a, &b, &args.reading)?;
    // Before the MTBDDs, which may exceed their budget: the solver does not need them.
    args.smt2.write(a.endian(), &a.side(), &b.side())?;
    let mut store = Store::default();
    let (root_a, root_b) = (a.diagram(&mut store)?, b.diagram(&mut store)?);
    let all = query::differences(&store, root_a, root_b, usize::MAX)
        .map_err(|error| Failure::new(error.to_string()))?;
    let differences = Differences::new(all, args.max);
    let same = root_a == root_b;
    let text = match args.format {
        Format::Json => {
            let mut fields = vec![("same", same.into())];
            fields.extend(differences.fields("differences"));
            format!("{}\n", Json::Object(fields))
        }
        Format::Text if same => String::new(),
        Format::Text => differences.text(&a.name, &b.name),
    };
    output::print(&text)?;
    Ok(u8::from(!same))
}
