//! Shows the filters of a process, or catches those of a command.

use super::args::DumpArgs;
use super::{caught, process};
use crate::report::Result;

pub(crate) fn run(args: &DumpArgs) -> Result<u8> {
    match args.pid {
        Some(pid) => process::run(args, pid),
        None => caught::run(args, &args.command),
    }
}
