//! Reads the source, and evaluates it for a syscall or for packets.

use super::args::SimulateArgs;
use super::{expect, packets, syscall};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{AnyFilter, Source};
use callgate_requests::source::SOCKET_FILTER;

pub(crate) fn run(args: &SimulateArgs) -> Result<u8> {
    answer(args, &mut output::print)
}

/// Evaluates the filter and passes the result to `print` in pieces; returns the exit status.
pub(crate) fn answer(
    args: &SimulateArgs,
    print: &mut impl FnMut(&str) -> Result<()>,
) -> Result<u8> {
    let source = Source::parse(&args.source)?;
    let packets = args.subject.packets.are_given();
    match source.read_any(&args.subject)? {
        AnyFilter::Packets(filter) if packets => packets::answer(args, &filter, print)?,
        AnyFilter::Packets(filter) => {
            return Err(Failure::about(filter.name, SOCKET_FILTER)
                .help("give packets with --packet HEX or --packets FILE, and no SYSCALL"));
        }
        AnyFilter::Syscalls(filter) => match (&args.call, &args.expect) {
            (Some(call), _) => print(&syscall::answer(args, &filter, call)?)?,
            (None, Some(file)) => {
                let (report, is_met) = expect::answer(&filter, file, args.format)?;
                print(&report)?;
                return Ok(u8::from(!is_met));
            }
            (None, None) => {
                return Err(Failure::about(filter.name, "missing syscall")
                    .help("give it after the source: callgate simulate SOURCE SYSCALL [ARG]..."));
            }
        },
    }
    Ok(0)
}
