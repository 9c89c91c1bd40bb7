//! Reads the source, and evaluates it for a syscall or for packets.

use super::args::SimulateArgs;
use super::{packets, syscall};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{AnyFilter, Source};
use callgate_requests::source::SOCKET_FILTER;

pub(crate) fn run(args: &SimulateArgs) -> Result<u8> {
    answer(args, &mut output::print)?;
    Ok(0)
}

/// Evaluates the filter and passes the result to `print` in pieces.
pub(crate) fn answer(
    args: &SimulateArgs,
    print: &mut impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let source = Source::parse(&args.source)?;
    let packets = args.subject.packets.are_given();
    match source.read_any(&args.subject)? {
        AnyFilter::Packets(filter) if packets => packets::answer(args, &filter, print),
        AnyFilter::Packets(filter) => Err(Failure::about(filter.name, SOCKET_FILTER)
            .help("give packets with --packet HEX or --packets FILE, and no SYSCALL")),
        AnyFilter::Syscalls(filter) => match &args.call {
            Some(call) => print(&syscall::answer(args, &filter, call)?),
            None => Err(Failure::about(filter.name, "missing syscall")
                .help("give it after the source: callgate simulate SOURCE SYSCALL [ARG]...")),
        },
    }
}
