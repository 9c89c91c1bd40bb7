//! A running process, its descendants, threads and CPU time, from `/proc`. `unsafe` code: clocks of processes.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fmt, fs, io};

use callgate_linux::ThreadStatus;

use super::error::{TargetError, TargetErrorKind};
use super::stat::{Stat, processes};

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

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The running descendants of the process.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn descendants(&self) -> io::Result<Vec<u32>> {
        Ok(descendants(self.pid, &processes()?).split_off(1))
    }

    /// The CPU time so far of the process and its descendants, including ended descendants that were waited for.
    ///
    /// The resolution is nanoseconds for running processes, including their ended threads. It is a clock tick of the kernel,
    /// usually 10 ms, for ended processes. The time of an ended descendant is missing if its parent ended before it without
    /// waiting for it.
    ///
    /// # Errors
    /// If the process has ended, or `/proc` cannot be read.
    pub fn cpu_time(&self) -> io::Result<Duration> {
        let mut time = process_clock(self.pid)?;
        let mut ticks = 0;
        let of_children = |pid| Stat::of(pid).map_or(0, |stat| stat.ticks_of_children);
        for pid in self.descendants()? {
            // It may end meanwhile; its parent then has the time.
            ticks += of_children(pid);
            time += process_clock(pid).unwrap_or_default();
        }
        ticks += of_children(self.pid);
        // SAFETY: takes an integer and touches no memory.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let per_second = u64::try_from(per_second).ok().filter(|rate| *rate > 0).unwrap_or(100);
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(per_second);
        Ok(time + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
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

/// The CPU time of a process, with its threads that have ended.
fn process_clock(pid: u32) -> io::Result<Duration> {
    /// `CPUCLOCK_SCHED` of `include/linux/posix-timers_types.h`: user and system time, in nanoseconds.
    const SCHEDULED: libc::clockid_t = 2;
    let pid = i32::try_from(pid).map_err(|_| io::ErrorKind::NotFound)?;
    // As clock_getcpuclockid(3) makes it.
    let clock = (!pid << 3) | SCHEDULED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
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

/// A thread, and the process that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) process: u32,
    pub(crate) id: u32,
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

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

    #[test]
    fn cpu_time_is_that_of_the_children_too() {
        use std::io::Write as _;
        /// A child that is waited for, and one that runs, each after a line; both take several clock ticks.
        const SCRIPT: &str = "busy() { i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; }; \
                              echo; read line; (busy); echo; read line; (busy; echo; read line); :";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", SCRIPT])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = RunningProcess { pid: shell.id(), name: "sh".to_owned() };
        let mut times = Vec::new();
        let mut input = shell.stdin.take().unwrap();
        for _ in 0..3 {
            shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            times.push(process.cpu_time().unwrap().as_secs_f64());
            input.write_all(b"\n").unwrap();
        }
        drop(input);
        shell.wait().unwrap();
        let [start, ended, running] = times.as_slice() else { panic!("{times:?}") };
        assert!(ended - start > 0.02, "of the child that was waited for: {times:?}");
        assert!(running - ended > 0.02, "of the child that runs: {times:?}");
        assert!(process.cpu_time().is_err());
    }
}
