//! A running process.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;

use callgate_linux::ThreadStatus;

use super::error::{TargetError, TargetErrorKind};
use super::stat::processes;
use super::thread::Thread;

/// A running process of user space.
#[derive(Clone, Debug)]
pub struct RunningProcess {
    pid: u32,
    name: String,
}

impl RunningProcess {
    /// The process with this ID.
    ///
    /// # Errors
    /// If there is none, or if it is a thread of another process, a kernel thread, a zombie, the machine's init
    /// process or this process.
    pub fn find(pid: u32) -> Result<RunningProcess, TargetError> {
        let status = ThreadStatus::of(pid).map_err(|why| match why.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => TargetErrorKind::NoProcess(pid),
            _ => TargetErrorKind::Process(pid, why),
        })?;
        let wrong = match status {
            _ if pid == 1 => TargetErrorKind::Init,
            ThreadStatus { process, .. } if process == std::process::id() => {
                TargetErrorKind::Own(pid)
            }
            ThreadStatus { has_ended: true, .. } => TargetErrorKind::Ended(pid),
            ThreadStatus { is_kernel: true, name, .. } => {
                TargetErrorKind::KernelThread { pid, name }
            }
            ThreadStatus { process, .. } if process != pid => {
                TargetErrorKind::Thread { thread: pid, process }
            }
            ThreadStatus { name, .. } => return Ok(RunningProcess { pid, name }),
        };
        Err(wrong.into())
    }

    /// The threads of the process and its descendants.
    pub(super) fn threads(&self) -> io::Result<Vec<Thread>> {
        let mut threads = Vec::new();
        for process in descendants(self.pid, &processes()?) {
            // It may end meanwhile.
            let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
            let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
            threads.extend(ids.map(|id| Thread { process, id }));
        }
        Ok(threads)
    }

    /// The path of its executable, or its name if that cannot be read. The first word of its command line may be a title
    /// with arguments.
    pub(super) fn executable(&self) -> String {
        let path = fs::read_link(format!("/proc/{}/exe", self.pid));
        path.map_or_else(|_| self.name.clone(), |path| path.to_string_lossy().into_owned())
    }

    /// Its command line; empty if it has erased it.
    pub(super) fn command(&self) -> Vec<String> {
        let bytes = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let Some(words) = bytes.strip_suffix(b"\0") else { return Vec::new() };
        words
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    }
}

impl fmt::Display for RunningProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// A process and its descendants, from pairs of a process and its parent.
fn descendants(first: u32, all: &[(u32, u32)]) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (pid, parent) in all {
        children.entry(*parent).or_default().push(*pid);
    }
    let mut found = vec![first];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        // Each process has one parent. Removed, so that a number that is used again cannot close a circle.
        let more = children.remove(parent).unwrap_or_default();
        found.extend(more);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_in_any_order() {
        let all = [(9, 5), (5, 2), (3, 1), (2, 1), (4, 9), (6, 3)];
        assert_eq!(descendants(2, &all), [2, 5, 9, 4]);
        assert_eq!(descendants(6, &all), [6]);
        // Numbers were used again while the list was read.
        assert_eq!(descendants(1, &[(2, 1), (1, 2)]), [1, 2, 1]);
    }

    #[test]
    fn processes_that_cannot_be_recorded_are_refused() {
        let why = |pid| RunningProcess::find(pid).unwrap_err().to_string();
        let own = std::process::id();
        assert_eq!(why(own), format!("process {own} is this recorder"));
        assert_eq!(why(1), "process 1 is the machine's init process");
        assert_eq!(why(0), "there is no process 0");
        assert_eq!(why(u32::MAX), format!("there is no process {}", u32::MAX));
    }
}
