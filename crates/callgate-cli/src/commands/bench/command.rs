//! The command line of `callgate bench`, and what it selects.

use callgate_measure::MeasurableSyscall;
use callgate_requests::json::Json;
use clap::Subcommand;

use super::{engines, filters, options, process};
use crate::options::Format;
use crate::output;
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
        return print_syscalls(args.format);
    }
    match args.pid {
        Some(pid) => process::measure_process(pid, args),
        None => filters::compare(args),
    }
}

/// Prints the syscalls that can be measured.
fn print_syscalls(format: Format) -> Result<u8> {
    let all = MeasurableSyscall::all();
    let text = match format {
        Format::Text => all.map(|call| format!("{:<38}{}\n", call.show(), call.effect)).collect(),
        Format::Json => {
            let object = |call: MeasurableSyscall| {
                Json::Object(vec![("call", call.show().into()), ("effect", call.effect.into())])
            };
            format!("{}\n", Json::array(all.map(object)))
        }
    };
    output::print(&text)?;
    Ok(0)
}
