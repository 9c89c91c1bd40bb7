//! The list of the calls of this machine.

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_core::errno_name;

use super::calls::{
    Call, LISTED, OWN_GROUP, OWN_PROCESS, OWN_USER, PIPE, PIPE_END, ROWS, SCRATCH, VALUE,
};
use crate::syscalls::{BAD_TIME, EMPTY, MeasurableSyscall, NO};

/// A call that is made to learn what a filter does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeCall {
    /// The syscall.
    pub syscall: &'static str,
    /// The call as text, without trailing zeros.
    pub shown: String,
    /// What the kernel can answer, as text: `EBADF or 0`.
    pub answers: String,
    pub(super) nr: u32,
    /// Arguments, some of which stand for others.
    pub(super) args: [u64; 6],
    pub(super) kernel: &'static [i32],
}

/// The architectures for which the answers of the kernel are known.
pub(super) const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

/// All calls on this machine, in the order in which they are made; none for an architecture whose answers are not known.
pub fn probe_calls() -> Vec<ProbeCall> {
    let Some(arch) = Arch::native().filter(|arch| ARCHES.contains(arch)) else { return Vec::new() };
    let each = ROWS.iter().flat_map(|(calls, names)| names.iter().map(move |name| (name, calls)));
    let each = each.filter_map(|(name, calls)| Some((*name, arch.number(name)?, *calls)));
    each.flat_map(|(name, nr, calls)| calls.iter().map(move |call| of(name, nr, call))).collect()
}

fn of(syscall: &'static str, nr: u32, (given, kernel): &'static Call) -> ProbeCall {
    let given = match *given {
        LISTED => MeasurableSyscall::listed(syscall).unwrap_or_default(),
        given => given,
    };
    let mut args = [0; 6];
    args.iter_mut().zip(given).for_each(|(slot, arg)| *slot = *arg);
    let last = args.iter().rposition(|arg| *arg != 0).map_or(0, |last| last + 1);
    let shown: Vec<String> = args.iter().take(last).map(|arg| show(*arg)).collect();
    let answers: Vec<String> = kernel.iter().map(|answer| show_answer(*answer)).collect();
    let shown = format!("{syscall}({})", shown.join(", "));
    ProbeCall { syscall, shown, answers: answers.join(" or "), nr, args, kernel }
}

fn show(arg: u64) -> String {
    let name = match arg {
        NO => "-1",
        EMPTY => "\"\"",
        BAD_TIME => "{-1, -1}",
        PIPE => "PIPE",
        PIPE_END => "PIPE_END",
        SCRATCH => "BUFFER",
        OWN_PROCESS => "PID",
        OWN_USER => "UID",
        OWN_GROUP => "GID",
        arg if arg < 10 => return arg.to_string(),
        arg => return format!("{arg:#x}"),
    };
    name.to_owned()
}

fn show_answer(answer: i32) -> String {
    let name = u16::try_from(answer).ok().and_then(errno_name);
    match answer {
        VALUE => "a number".to_owned(),
        answer => name.map_or_else(|| answer.to_string(), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_syscall_stands_once_and_every_measured_one_is_asked() {
        let mut seen = HashSet::new();
        for (_, names) in ROWS {
            for name in *names {
                let is_new = seen.insert(*name);
                assert!(is_new || ["socket", "clone"].contains(name), "{name} stands twice");
                assert!(callgate_bpf::syscalls::is_known_name(name), "{name} is not a syscall");
            }
        }
        for call in MeasurableSyscall::all().filter(|call| call.name != "rt_sigreturn") {
            assert!(seen.contains(call.name), "{}", call.name);
        }
        for never in ["fork", "vfork", "exit", "exit_group", "pause", "sync", "vhangup"] {
            assert!(!seen.contains(never), "{never}");
        }
    }

    #[test]
    fn listed_arguments_are_those_of_the_measured_table() {
        let mut seen = HashSet::new();
        for (calls, names) in ROWS {
            for name in names.iter().filter(|name| seen.insert(**name)) {
                let is_listed = calls.iter().any(|(args, _)| *args == LISTED);
                assert_eq!(is_listed, MeasurableSyscall::listed(name).is_some(), "{name}");
            }
        }
    }
}
