//! Status of threads in `/proc` (`proc_pid_status(5)`).
//!
//! The file contains bytes, not text: a thread may set any name (`prctl(PR_SET_NAME)`), and the kernel truncates names to
//! 15 bytes, possibly inside a character. It escapes line breaks and backslashes in names as `\n` and `\\`
//! (`proc_task_name` in `fs/proc/array.c`), so that a name cannot look like another field.

use std::fs;
use std::io;

/// The seccomp mode of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeccompMode {
    /// No filter and not strict mode.
    Off,
    /// Strict mode: only `read`, `write`, `_exit` and `rt_sigreturn`.
    Strict,
    /// At least one filter.
    Filter,
    /// The kernel does not show it (before Linux 3.8).
    Unknown,
}

/// The status of a thread.
#[derive(Debug, PartialEq, Eq)]
pub struct ThreadStatus {
    /// The name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The process ID.
    pub process: u32,
    /// The thread ID of its tracer, 0 for none.
    pub tracer: u32,
    /// The seccomp mode.
    pub mode: SeccompMode,
    /// The number of its filters (`Seccomp_filters`, Linux 5.9).
    pub filters: Option<usize>,
    /// It has ended and waits to be reaped (a zombie).
    pub has_ended: bool,
    /// It waits in the kernel and cannot be interrupted by signals (state D).
    pub is_uninterruptible: bool,
    /// It is a kernel thread: it has no memory of its own.
    pub is_kernel: bool,
    /// Its effective capabilities (`CapEff`), a bit each.
    pub capabilities: Option<u64>,
    /// The capabilities that it can have at most (`CapBnd`).
    pub bounding: Option<u64>,
    /// Whether it cannot gain privileges by `execve` (`NoNewPrivs`, Linux 4.10).
    pub no_new_privs: Option<bool>,
}

impl ThreadStatus {
    /// The status of a thread, or of the main thread of a process.
    ///
    /// # Errors
    /// If `/proc/TID/status` cannot be read, for example because the thread has ended.
    pub fn of(tid: u32) -> io::Result<ThreadStatus> {
        fs::read(format!("/proc/{tid}/status")).map(|bytes| ThreadStatus::parse(&bytes))
    }

    /// The status of the calling thread; `None` without `/proc`.
    pub fn of_this_thread() -> Option<ThreadStatus> {
        fs::read("/proc/thread-self/status").ok().map(|bytes| ThreadStatus::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> ThreadStatus {
        let field = |name: &str| {
            let mut lines = bytes.split(|byte| *byte == b'\n');
            lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b":\t"))
        };
        let number = |name: &str| std::str::from_utf8(field(name)?.trim_ascii()).ok()?.parse().ok();
        let bits = |name: &str| {
            u64::from_str_radix(std::str::from_utf8(field(name)?.trim_ascii()).ok()?, 16).ok()
        };
        let state = field("State").and_then(<[u8]>::first);
        let has_ended = matches!(state, Some(b'Z' | b'X' | b'x'));
        ThreadStatus {
            name: field("Name").map(name).unwrap_or_default(),
            process: number("Tgid").unwrap_or(0),
            tracer: number("TracerPid").unwrap_or(0),
            mode: match field("Seccomp") {
                Some(b"0") => SeccompMode::Off,
                Some(b"1") => SeccompMode::Strict,
                Some(_) => SeccompMode::Filter,
                None => SeccompMode::Unknown,
            },
            filters: number("Seccomp_filters").map(|count| count as usize),
            has_ended,
            is_uninterruptible: state == Some(&b'D'),
            is_kernel: field("VmSize").is_none() && !has_ended,
            capabilities: bits("CapEff"),
            bounding: bits("CapBnd"),
            no_new_privs: number("NoNewPrivs").map(|number| number != 0),
        }
    }
}

/// Undoes the kernel's escapes in a name.
fn name(escaped: &[u8]) -> String {
    let mut name = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    loop {
        rest = match rest {
            [b'\\', b'n', rest @ ..] => {
                name.push(b'\n');
                rest
            }
            [b'\\', b'\\', rest @ ..] => {
                name.push(b'\\');
                rest
            }
            [byte, rest @ ..] => {
                name.push(*byte);
                rest
            }
            [] => return String::from_utf8_lossy(&name).into_owned(),
        };
    }
}

/// The other threads of a process that do not have this number of filters. Threads that end meanwhile are omitted.
pub(crate) fn other_threads(
    process: u32,
    tid: u32,
    filters: usize,
) -> io::Result<Vec<(u32, usize)>> {
    let mut others = Vec::new();
    let Some(threads) = unless_gone(fs::read_dir(format!("/proc/{process}/task")))? else {
        return Ok(others);
    };
    for entry in threads {
        let Some(entry) = unless_gone(entry)? else { break };
        let Some(other) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if other == tid {
            continue;
        }
        let Some(status) = unless_gone(ThreadStatus::of(other))? else { continue };
        others.extend(status.filters.filter(|count| *count != filters).map(|count| (other, count)));
    }
    others.sort_unstable();
    Ok(others)
}

/// `None` if the thread has ended (ENOENT, ESRCH).
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(why) if matches!(why.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn the_fields_of_status_are_parsed() {
        let user = ThreadStatus::parse(
            b"Name:\ta b\nState:\tD (disk sleep)\nTgid:\t12\nTracerPid:\t7\nVmSize:\t  100 kB\n\
              CapEff:\t000001ffffffffff\nCapBnd:\t00000000a80425fb\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n",
        );
        assert_eq!(user.capabilities, Some((1 << 41) - 1));
        assert_eq!((user.bounding, user.no_new_privs), (Some(0xa804_25fb), Some(true)));
        assert_eq!((user.name.as_str(), user.process, user.tracer), ("a b", 12, 7));
        assert_eq!((user.mode, user.filters), (SeccompMode::Filter, Some(3)));
        assert!(user.is_uninterruptible && !user.is_kernel && !user.has_ended);
        let kernel = ThreadStatus::parse(b"Name:\tkthreadd\nState:\tS (sleeping)\nSeccomp:\t0\n");
        assert!(kernel.is_kernel && kernel.mode == SeccompMode::Off);
        let zombie = ThreadStatus::parse(b"Name:\tx\nState:\tZ (zombie)\nSeccomp:\t1\n");
        assert!(zombie.has_ended && !zombie.is_kernel && zombie.mode == SeccompMode::Strict);
        assert_eq!(ThreadStatus::parse(b"Name:\tx\n").mode, SeccompMode::Unknown);
    }

    #[test]
    fn names_are_bytes() {
        let of = |name: &[u8]| {
            let status = ThreadStatus::parse(&[b"Name:\t", name, b"\nSeccomp:\t2\n"].concat());
            assert_eq!(status.mode, SeccompMode::Filter);
            status.name
        };
        assert_eq!(of(b"\xc3\xa9\xc3"), "\u{e9}\u{fffd}");
        assert_eq!(of(br"a\nSeccomp:\\n\"), "a\nSeccomp:\\n\\");
        assert_eq!(of(b" a\t\r "), " a\t\r ");
        assert_eq!(of(b""), "");
    }

    /// Reads back names that this thread sets.
    #[test]
    fn any_name_is_read_back() {
        let named = std::thread::spawn(|| {
            for name in [&b"a\nSeccomp:\t1"[..], b"\\n\\\\", b") R 1 1", b"\xc3\xa9\xc3", b" x "] {
                let name = CString::new(name).unwrap();
                // SAFETY: the kernel reads a string that ends with a zero byte.
                assert_eq!(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }, 0);
                let status = ThreadStatus::of_this_thread().unwrap();
                assert_eq!(status.name, name.to_string_lossy());
                assert_eq!(status.process, std::process::id());
            }
        });
        named.join().unwrap();
    }
}
