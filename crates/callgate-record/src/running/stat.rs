//! What `/proc/PID/stat` says about a process or thread (`proc_pid_stat(5)`).

use std::{fs, io};

/// `PF_EXITING` of `include/linux/sched.h`.
const EXITING: u64 = 4;

/// The fields of the file that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    parent: u32,
    is_ending: bool,
    /// The CPU time of children that have ended and were waited for, and of their descendants, in clock ticks.
    pub(super) ticks_of_children: u64,
    /// The processor that it ran on last.
    processor: Option<usize>,
}

impl Stat {
    /// The status of a process or thread.
    pub(super) fn of(id: u32) -> Option<Stat> {
        Stat::parse(&fs::read(format!("/proc/{id}/stat")).ok()?)
    }

    /// The name of the program is in parentheses and may contain any byte.
    fn parse(bytes: &[u8]) -> Option<Stat> {
        let end = bytes.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(bytes.get(end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let flags: u64 = fields.nth(4)?.parse().ok()?;
        let is_ending = matches!(state, "Z" | "X" | "x") || flags & EXITING != 0;
        // Fields 16 and 17.
        let ticks = |field: Option<&str>| field.and_then(|field| field.parse::<u64>().ok());
        let user = ticks(fields.nth(6)).unwrap_or(0);
        let ticks_of_children = user.saturating_add(ticks(fields.next()).unwrap_or(0));
        // Field 39.
        let processor = fields.nth(21).and_then(|field| field.parse().ok());
        Some(Stat { parent, is_ending, ticks_of_children, processor })
    }
}

/// Whether a thread has ended, or ends now: the kernel sets this before the tracepoint `sched_process_exit`.
pub(crate) fn is_ending(thread: u32) -> bool {
    let stat = fs::read(format!("/proc/{thread}/task/{thread}/stat"));
    stat.ok().and_then(|bytes| Stat::parse(&bytes)).is_none_or(|stat| stat.is_ending)
}

/// The parent of a process, or of the process of a thread.
pub(crate) fn parent_of(thread: u32) -> Option<u32> {
    Stat::of(thread).map(|stat| stat.parent)
}

/// The processor that a thread ran on last.
pub(crate) fn processor_of(thread: u32) -> Option<usize> {
    Stat::of(thread)?.processor
}

/// All processes that have not ended, with their parents.
pub(super) fn processes() -> io::Result<Vec<(u32, u32)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // It may end meanwhile.
        let stat = Stat::of(pid).filter(|stat| !stat.is_ending);
        all.extend(stat.map(|stat| (pid, stat.parent)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_look_like_a_field() {
        let stat = |text: &str| Stat::parse(text.as_bytes());
        let expected = Stat { parent: 7, is_ending: false, ticks_of_children: 0, processor: None };
        assert_eq!(stat("12 (a) R 1) S 7 12 12 0 -1 4194560 1 2\n"), Some(expected));
        let ending = Stat { is_ending: true, ..expected };
        assert_eq!(stat("12 (a) S 7 12 12 0 -1 4194564 1 2\n"), Some(ending));
        assert_eq!(stat("12 (a) Z 7 12 12 0 -1 4194560 1 2\n"), Some(ending));
        let all = "12 (a) S 7 12 12 0 -1 4194560 1 2 3 4 50 60 70 8 20 0 1 0 9 10 11 12 13 14 15 16 17 18 19 20 21 22 \
                   23 24 17 5 0";
        let expected = Stat { ticks_of_children: 78, processor: Some(5), ..expected };
        assert_eq!(stat(all), Some(expected));
        assert_eq!(stat("12 (a) S 7 12"), None);
        assert_eq!(stat(""), None);
    }

    #[test]
    fn this_thread_runs_and_a_zombie_does_not() {
        // SAFETY: takes nothing.
        let thread = unsafe { libc::gettid() } as u32;
        assert!(!is_ending(thread));
        let own = std::process::id();
        let parent = std::os::unix::process::parent_id();
        assert!(processes().unwrap().contains(&(own, parent)));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        crate::tracer::wait_for_end(child.id() as i32).unwrap();
        assert!(is_ending(child.id()));
        assert_eq!(parent_of(child.id()), Some(own));
        assert!(processes().unwrap().iter().all(|(pid, _)| *pid != child.id()));
        child.wait().unwrap();
        assert!(is_ending(child.id()));
    }
}
