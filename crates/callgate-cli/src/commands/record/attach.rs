//! `--pid`, `--cgroup`, `--unit`, `--container`: records processes that run already.

use callgate_record::{AttachTarget, Cgroup, Recorded, RunningProcess, attach_to};

use super::args::{MethodArg, RecordArgs};
use super::container::{self, failure};
use super::saving::Saving;
use crate::options::Format;
use crate::report::{Failure, Result};

/// What the options select; `None` if they select a command.
pub(super) fn target(args: &RecordArgs) -> Result<Option<AttachTarget>> {
    let target = if let Some(pid) = args.pid {
        AttachTarget::Process(RunningProcess::find(pid).map_err(|error| failure(&error))?)
    } else if let Some(path) = &args.cgroup {
        let cgroup = Cgroup::open(path).map_err(|error| failure(&error))?;
        match args.starting {
            true => AttachTarget::Starting { cgroup, first_process: args.first_process },
            false => AttachTarget::Cgroup(cgroup),
        }
    } else if let Some(name) = &args.unit {
        AttachTarget::Cgroup(Cgroup::of_unit(name).map_err(|error| failure(&error))?)
    } else if let Some(name) = &args.container {
        AttachTarget::Cgroup(container::find(name)?)
    } else {
        return Ok(None);
    };
    check_method(args.via)?;
    Ok(Some(target))
}

/// Only eBPF programs can attach without stopping a process.
pub(super) fn check_method(method: MethodArg) -> Result<()> {
    let method = match method {
        MethodArg::Auto | MethodArg::Tracepoint => return Ok(()),
        MethodArg::Ptrace => "ptrace",
        MethodArg::Stops => "stops",
    };
    Err(Failure::new(format!("--via {method} cannot record running processes"))
        .help("omit --via: the method tracepoint records them"))
}

/// Records until the time is over, a signal arrives, or the last process has ended.
pub(super) fn record(
    target: &AttachTarget,
    args: &RecordArgs,
    saving: &mut Saving,
) -> Result<Recorded> {
    let is_silent = args.format == Format::Json;
    saving.announce(target.to_string(), args.time, is_silent);
    let recorded = attach_to(target, args.time, saving);
    saving.end_progress();
    recorded.map_err(|error| Failure::new(error.to_string()).help(error.help()))
}
