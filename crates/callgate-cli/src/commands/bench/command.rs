//! The command line of `callgate bench`, and what it selects.

use clap::Subcommand;

use super::{engines, filters, listing, options, process};
use crate::report::Result;

/// Measure what filters cost
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = options::HELP)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    subcommand: Option<BenchCommand>,

    #[command(flatten)]
    filters: Box<options::FiltersArgs>,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    Engines(engines::EnginesArgs),
}

pub(crate) fn run(args: &BenchArgs) -> Result<u8> {
    if let Some(BenchCommand::Engines(args)) = &args.subcommand {
        return engines::run(args);
    }
    let args = &args.filters;
    if args.list_calls {
        return listing::print_syscalls(args.format);
    }
    match args.pid {
        Some(pid) => process::measure_process(pid, args),
        None => filters::compare(args),
    }
}
