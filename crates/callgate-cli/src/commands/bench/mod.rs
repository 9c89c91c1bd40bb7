//! `callgate bench`: what filters cost. One file per thing that is measured.

mod engines;
mod filters;
mod options;
mod report;
mod throughput;
mod workload;

use clap::Subcommand;

use crate::report::Result;

/// Measure what filters cost
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = options::HELP)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: Option<What>,

    #[command(flatten)]
    filters: Box<options::FiltersArgs>,
}

#[derive(Debug, Subcommand)]
enum What {
    Engines(engines::EnginesArgs),
}

pub(crate) fn run(args: &BenchArgs) -> Result<u8> {
    match &args.what {
        Some(What::Engines(args)) => engines::run(args),
        None => filters::run(&args.filters),
    }
}
