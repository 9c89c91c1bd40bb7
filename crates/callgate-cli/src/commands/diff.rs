//! `callgate diff`: whether two filters are equivalent, and syscalls for which they differ.

use std::ffi::OsString;
use std::fmt::Write;

use callgate::Verdict;
use callgate::codegen::query::{self, Difference};
use callgate::diagram::Store;
use callgate::syscalls::list_syscalls;
use clap::ValueHint;

use crate::json::Json;
use crate::options::{Format, SourceOptions, parse_u32};
use crate::output;
use crate::report::{Failure, Result};
use crate::smt2::Smt2Option;
use crate::source::Source;
use crate::syscall;
use crate::text::printable;

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

    /// The maximum number of differences to print
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = parse_u32,
          allow_negative_numbers = true)]
    max: u32,

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
    if a.is_stdin() && b.is_stdin() {
        return Err(Failure::new("both filters are standard input, which can be read only once")
            .help("write one of them to a file"));
    }
    let (a, b) = Source::read_both(&a, &b, &args.reading)?;
    if a.endian() != b.endian() {
        return Err(Failure::new(format!(
            "{} and {} are for machines with different byte orders, so no syscall reaches both",
            a.name, b.name
        ))
        .help("choose one machine with --arch, or the byte order of a program with --endian"));
    }
    // Before the MTBDDs, which may exceed their budget: the solver does not need them.
    args.smt2.write(a.endian(), &a.side(), &b.side())?;
    let mut store = Store::default();
    let (root_a, root_b) = (a.diagram(&mut store)?, b.diagram(&mut store)?);
    let most = args.max as usize;
    // One more than is printed, to know whether there are more.
    let mut differences = query::differences(&store, root_a, root_b, most.saturating_add(1))
        .map_err(|error| Failure::new(error.to_string()))?;
    let more = differences.len() > most;
    differences.truncate(most);
    let same = root_a == root_b;
    let text = match args.format {
        Format::Json => json(same, more, &differences),
        Format::Text if same => String::new(),
        Format::Text => text(&a.name, &b.name, more, &differences),
    };
    output::print(&text)?;
    Ok(u8::from(!same))
}

fn text(a: &str, b: &str, more: bool, differences: &[Difference]) -> String {
    let mut text = format!("--- {}\n+++ {}\n", printable(a), printable(b));
    for difference in differences {
        let data = &difference.data;
        let arch = syscall::arch_of(data);
        let arch_name = syscall::arch_name(arch, data.arch);
        let _ = writeln!(text, "{arch_name} {}", syscall::show(arch, data));
        let others = list_syscalls(data.arch, &difference.syscalls, Some(data.nr), 8);
        if !others.is_empty() {
            let _ = writeln!(text, "    also: {others}");
        }
        let _ = writeln!(text, "  - {}\n  + {}", difference.left, difference.right);
    }
    if more {
        text.push_str("… and more; use --max to print more\n");
    }
    text
}

fn json(same: bool, more: bool, differences: &[Difference]) -> String {
    let verdict = |verdict: Verdict| {
        Json::Object(vec![("verdict", verdict.to_string().into()), ("value", verdict.0.into())])
    };
    let differences = differences.iter().map(|difference| {
        let data = &difference.data;
        let arch = syscall::arch_of(data);
        let ranges = difference.syscalls.ranges().iter().map(|(a, b)| Json::array([*a, *b]));
        let mut fields = syscall::fields(arch, data);
        fields.extend([
            ("a", verdict(difference.left)),
            ("b", verdict(difference.right)),
            ("alike", Json::Array(ranges.collect())),
        ]);
        Json::Object(fields)
    });
    let value = Json::Object(vec![
        ("same", same.into()),
        ("more", more.into()),
        ("differences", Json::array(differences)),
    ]);
    format!("{value}\n")
}
