//! What `/proc` tells of a thread (`proc_pid_status(5)`).

use std::fs;
use std::io;

/// Whether a thread has filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Off,
    /// `read`, `write`, `_exit` and `rt_sigreturn` alone.
    Strict,
    Filter,
    /// The kernel does not tell (before Linux 3.8).
    Unknown,
}

/// Facts about a thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) name: String,
    /// The process that it belongs to.
    pub(crate) process: u32,
    /// The process that traces it, 0 for none.
    pub(crate) tracer: u32,
    pub(crate) mode: Mode,
    pub(crate) filters: Option<usize>,
    /// It is a zombie: only its exit status is left.
    pub(crate) has_ended: bool,
    /// It waits in the kernel and takes no signal.
    pub(crate) is_uninterruptible: bool,
    /// It has no memory of its own: a thread of the kernel.
    pub(crate) is_kernel: bool,
}

impl Status {
    /// Of a thread, or of the main thread of a process.
    pub(crate) fn of(tid: u32) -> io::Result<Status> {
        fs::read_to_string(format!("/proc/{tid}/status")).map(|text| Status::parse(&text))
    }

    /// Of this thread; `None` where `/proc` is not there.
    pub(crate) fn of_this_thread() -> Option<Status> {
        let text = fs::read_to_string("/proc/thread-self/status").ok()?;
        Some(Status::parse(&text))
    }

    fn parse(text: &str) -> Status {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let number = |name: &str| field(name).and_then(|value| value.parse().ok());
        let state = field("State").and_then(|state| state.chars().next());
        Status {
            name: field("Name").unwrap_or_default().to_owned(),
            process: number("Tgid").unwrap_or(0),
            tracer: number("TracerPid").unwrap_or(0),
            mode: match field("Seccomp") {
                Some("0") => Mode::Off,
                Some("1") => Mode::Strict,
                Some(_) => Mode::Filter,
                None => Mode::Unknown,
            },
            filters: number("Seccomp_filters").map(|count| count as usize),
            has_ended: matches!(state, Some('Z' | 'X' | 'x')),
            is_uninterruptible: state == Some('D'),
            is_kernel: field("VmSize").is_none() && !matches!(state, Some('Z' | 'X' | 'x')),
        }
    }
}

/// The threads of a process, this one aside, that have another number of filters.
pub(crate) fn other_threads(process: u32, tid: u32, filters: usize) -> Vec<(u32, usize)> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let threads = threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut others: Vec<(u32, usize)> = threads
        .filter(|other| *other != tid)
        .filter_map(|other| Some((other, Status::of(other).ok()?.filters?)))
        .filter(|(_, count)| *count != filters)
        .collect();
    others.sort_unstable();
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_status_are_understood() {
        let user = Status::parse(
            "Name:\ta b\nState:\tD (disk sleep)\nTgid:\t12\nTracerPid:\t7\nVmSize:\t  100 kB\n\
             Seccomp:\t2\nSeccomp_filters:\t3\n",
        );
        assert_eq!((user.name.as_str(), user.process, user.tracer), ("a b", 12, 7));
        assert_eq!((user.mode, user.filters), (Mode::Filter, Some(3)));
        assert!(user.is_uninterruptible && !user.is_kernel && !user.has_ended);
        let kernel = Status::parse("Name:\tkthreadd\nState:\tS (sleeping)\nSeccomp:\t0\n");
        assert!(kernel.is_kernel && kernel.mode == Mode::Off);
        let zombie = Status::parse("Name:\tx\nState:\tZ (zombie)\nSeccomp:\t1\n");
        assert!(zombie.has_ended && !zombie.is_kernel && zombie.mode == Mode::Strict);
        assert_eq!(Status::parse("Name:\tx\n").mode, Mode::Unknown);
    }
}
