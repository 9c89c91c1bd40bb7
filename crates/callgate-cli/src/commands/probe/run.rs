//! Makes the calls, and prints what they say.

use callgate_bpf::syscalls::nearest_name;
use callgate_linux::{SeccompMode, ThreadStatus};
use callgate_measure::own_filters::{Machine, probe_calls, probe_filters};

use super::args::ProbeArgs;
use super::found::Report;
use super::nearest::nearest;
use super::{json, text};
use crate::options::Format;
use crate::output;
use crate::report::{Failure, Result};
use crate::text::printable;

pub(crate) fn run(args: &ProbeArgs) -> Result<u8> {
    if args.list {
        let calls = probe_calls();
        output::print(&match args.format {
            Format::Text => text::list(&calls),
            Format::Json => format!("{}\n", json::list(&calls)),
        })?;
        return Ok(0);
    }
    check_names(&args.syscalls)?;
    let report = probe()?;
    output::print(&match args.format {
        Format::Text if args.syscalls.is_empty() => text::report(&report),
        Format::Text => text::calls(&report, &args.syscalls),
        Format::Json => format!("{}\n", json::report(&report, &args.syscalls)),
    })?;
    Ok(0)
}

/// Refuses names of syscalls that are not on the list.
fn check_names(names: &[String]) -> Result<()> {
    let calls = probe_calls();
    for name in names {
        if !calls.iter().any(|call| call.syscall == name) {
            let failure = Failure::new(format!("no call of {} is made", printable(name)));
            let near = nearest_name(name).filter(|near| near != name);
            return Err(failure.help(match near {
                Some(near) => format!("did you mean \"{near}\"? --list prints the calls"),
                None => "--list prints the calls; those of other syscalls have an effect, or do \
                         not tell what a filter does"
                    .to_owned(),
            }));
        }
    }
    Ok(())
}

fn probe() -> Result<Report> {
    let status = ThreadStatus::of_this_thread();
    if status.as_ref().is_some_and(|status| status.mode == SeccompMode::Off) {
        return Ok(Report { status, calls: Vec::new(), nearest: None });
    }
    let machine = status.as_ref().map(Machine::of_this_process).unwrap_or_default();
    let calls = probe_filters(&machine)
        .map_err(|error| Failure::new(error.to_string()).help(error.help()))?;
    let nearest = nearest(&calls, status.as_ref())?;
    Ok(Report { status, calls, nearest })
}
