//! The tracepoints, and what the programs must know of the kernel's types.

use super::btf::{Btf, Wanted};
use super::error::BpfError;
use super::layout::Offsets;
use super::types::TypesFile;

/// The tracepoints, by the names of their types in the kernel.
pub(super) const TRACEPOINTS: [&str; 5] = [
    "btf_trace_sched_process_fork",
    "btf_trace_sched_process_exec",
    "btf_trace_sched_process_exit",
    "btf_trace_sys_exit",
    "btf_trace_sys_enter",
];

/// Looks up the offsets of structure members, and the types of [`TRACEPOINTS`].
pub(super) fn look_up_types() -> Result<(Offsets, [u32; 5]), BpfError> {
    let [fork, exec, exit, leave, enter] = TRACEPOINTS.map(Wanted::Typedef);
    let wanted = [
        Wanted::Member("task_struct", "pid"),
        Wanted::Member("task_struct", "tgid"),
        Wanted::Member("task_struct", "thread_info"),
        Wanted::Member("thread_info", "status"),
        Wanted::Member("task_struct", "exit_code"),
        Wanted::Member("task_struct", "flags"),
        Wanted::Member("linux_binprm", "filename"),
        fork,
        exec,
        exit,
        leave,
        enter,
    ];
    let file = TypesFile::open().map_err(BpfError::NoTypes)?;
    let found = Btf::new(&file).ok_or(BpfError::NoType("a header"))?.find(wanted);
    if let Some((_, missing)) = found.iter().zip(wanted).find(|(found, _)| found.is_none()) {
        return Err(BpfError::NoType(missing.name()));
    }
    let [pid, tgid, thread_info, status, exit_code, flags, filename, targets @ ..] =
        found.map(Option::unwrap_or_default);
    // The offset of a load is a signed 16-bit number.
    let reach =
        |offset: u32| i16::try_from(offset).map_err(|_| BpfError::NoType("members in reach"));
    let offsets = Offsets {
        pid: reach(pid)?,
        tgid: reach(tgid)?,
        status: reach(thread_info.saturating_add(status))?,
        exit_code: reach(exit_code)?,
        flags: reach(flags)?,
        filename: reach(filename)?,
    };
    Ok((offsets, targets))
}
