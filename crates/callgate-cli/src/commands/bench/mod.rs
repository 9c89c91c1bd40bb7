//! `callgate bench`: what filters cost. One file per thing that is measured.

mod engines;

use clap::Subcommand;

use crate::report::Result;

/// Measure what filters cost
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Engines(engines::EnginesArgs),
}

pub(crate) fn run(args: &BenchArgs) -> Result<u8> {
    match &args.what {
        What::Engines(args) => engines::run(args),
    }
}
