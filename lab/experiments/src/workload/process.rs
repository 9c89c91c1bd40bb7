//! Starting and ending a workload's processes.
//!
//! A process is pinned, ends with this process (PR_SET_PDEATHSIG), leads its own process group, so that Ctrl-C at the
//! terminal reaches only this process, and installs its filters directly before `execve`. Its output goes to a file. A
//! [`Process`] that is dropped is killed with its group; descendants that have left the group are adopted and killed by
//! [`Family`].

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callgate_core::Program;

use super::error::{Run, WorkloadError};
use super::place::Place;
use super::recipe::Step;
use callgate_measure::interrupt;
use callgate_measure::raw;

/// The interval at which the state of a process is polled.
const PAUSE: Duration = Duration::from_millis(5);

/// The time that a process has to end after a signal, before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// The maximum number of bytes that are read from the end of an output.
const MOST_OUTPUT: u64 = 1 << 20;

/// The conditions under which a process runs.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) place: &'a Place,
    /// The processor to run on, if any.
    pub(super) cpu: Option<usize>,
    /// The filters, the oldest first.
    pub(super) programs: &'a [Program],
    /// The name of its output file in the place.
    pub(super) log: &'static str,
}

/// A process that is killed when dropped.
pub(super) struct Process {
    child: Child,
    /// Its output; the file position belongs to the process.
    log: File,
    run: Run,
}

impl Process {
    pub(super) fn start(
        step: &Step,
        run: Run,
        around: Around<'_>,
    ) -> Result<Process, WorkloadError> {
        let mut command = Command::new(&step.program);
        command.args(&step.args).current_dir(around.place.path()).process_group(0);
        command.env("HOME", around.place.path()).env("TMPDIR", around.place.path());
        command.env("LC_ALL", "C").stdin(Stdio::null());
        if let Some((user, group)) = around.place.user {
            command.uid(user).gid(group);
        }
        let (cpu, programs, parent) = (around.cpu, around.programs.to_vec(), std::process::id());
        // SAFETY: the closure runs between fork and exec of a process with one thread; it makes system
        // syscalls, and allocates, which glibc and musl keep usable in a child.
        unsafe {
            command.pre_exec(move || {
                end_with(parent)?;
                cpu.map_or(Ok(()), raw::pin)?;
                callgate_linux::install_unproved_stack(&programs).map_err(|(_, why)| why)
            });
        }
        let started = around.place.create(around.log).and_then(|log| {
            command.stdout(log.try_clone()?).stderr(log.try_clone()?);
            Ok((command.spawn()?, log))
        });
        match started {
            Ok((child, log)) => Ok(Process { child, log, run }),
            Err(why) => Err(WorkloadError::not_started(run, why)),
        }
    }

    /// Its process ID.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its status, if it has ended.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        // It is our child and nothing else waits for it, so this cannot fail.
        self.child.try_wait().ok().flatten()
    }

    /// Waits until it ends with status 0, as long as `watch` returns no error.
    pub(super) fn finish(
        &mut self,
        limit: Duration,
        mut watch: impl FnMut() -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        let start = Instant::now();
        loop {
            // If a client fails because its server has ended, the error is that of the server.
            let status = self.status();
            watch()?;
            match status {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(WorkloadError::ended(self.run.clone(), status, self.said()));
                }
                None if interrupt::is_requested() => return Err(WorkloadError::interrupted()),
                None if start.elapsed() > limit => {
                    return Err(WorkloadError::late(self.run.clone(), limit, self.said()));
                }
                None => thread::sleep(PAUSE),
            }
        }
    }

    /// Waits until `is_ready` while the process runs.
    pub(super) fn await_ready(
        &mut self,
        limit: Duration,
        mut is_ready: impl FnMut() -> Result<bool, WorkloadError>,
    ) -> Result<(), WorkloadError> {
        let start = Instant::now();
        loop {
            self.must_run()?;
            if is_ready()? {
                return Ok(());
            }
            if interrupt::is_requested() {
                return Err(WorkloadError::interrupted());
            }
            if start.elapsed() > limit {
                return Err(WorkloadError::not_ready(self.run.clone(), limit, self.said()));
            }
            thread::sleep(PAUSE);
        }
    }

    /// An error if it has ended, because a server must not end.
    pub(super) fn must_run(&mut self) -> Result<(), WorkloadError> {
        match self.status() {
            Some(status) => Err(WorkloadError::ended(self.run.clone(), status, self.said())),
            None => Ok(()),
        }
    }

    /// Its output; only the end if it is long.
    pub(super) fn said(&self) -> String {
        let read = || -> io::Result<Vec<u8>> {
            let length = self.log.metadata()?.len();
            let mut bytes = vec![0; length.min(MOST_OUTPUT) as usize];
            self.log.read_exact_at(&mut bytes, length.saturating_sub(MOST_OUTPUT))?;
            Ok(bytes)
        };
        String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
    }

    /// The CPU time so far of the process and its descendants.
    pub(super) fn cpu_time(&self) -> Duration {
        let all: Vec<Stat> = stats().collect();
        let mut family = HashSet::from([self.child.id()]);
        // Each iteration finds the children of the known processes.
        loop {
            let known = family.len();
            let children = all.iter().filter(|one| family.contains(&one.parent));
            let children: Vec<u32> = children.map(|one| one.id).collect();
            family.extend(children);
            if family.len() == known {
                break;
            }
        }
        let ticks = all.iter().filter(|one| family.contains(&one.id)).map(|one| one.ticks);
        // SAFETY: a syscall without pointers.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
        Duration::from_secs_f64(ticks.sum::<u64>() as f64 / per_second as f64)
    }

    /// Sends it a signal to end, and kills it if it does not.
    pub(super) fn stop(mut self, signal: libc::c_int) {
        if self.status().is_none() {
            // SAFETY: a syscall without pointers; the child is not waited for yet, so its id is its
            // own.
            unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        }
        let start = Instant::now();
        while self.status().is_none() && start.elapsed() < GRACE {
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // When the leader has been waited for, its number may be another's; what it left is adopted.
        if self.status().is_none() {
            // SAFETY: a syscall without pointers; the leader is not waited for yet, so the number
            // of the group is its own.
            unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

/// Makes the kernel kill this process when its parent ends.
fn end_with(parent: u32) -> io::Result<()> {
    // SAFETY: a syscall without pointers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before.
    match std::os::unix::process::parent_id() == parent {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

/// Adopts orphaned descendants (PR_SET_CHILD_SUBREAPER) and kills them.
///
/// A child counts as adopted if it is in another process group: children that this process starts by other means are in its
/// own.
pub(super) struct Family {
    /// Children that existed before.
    before: HashSet<libc::pid_t>,
}

impl Family {
    pub(super) fn new() -> Family {
        set_subreaper(true);
        Family { before: children().into_iter().collect() }
    }

    /// Kills all children that did not exist before, and their descendants. Called when no [`Process`] is left.
    pub(super) fn clear(&self) {
        let start = Instant::now();
        loop {
            let left: Vec<_> =
                children().into_iter().filter(|child| !self.before.contains(child)).collect();
            if left.is_empty() || start.elapsed() > GRACE {
                return;
            }
            for child in left {
                // SAFETY: syscalls on a child of this process that was not waited for, so its
                // id is its own; the status is not asked for.
                unsafe {
                    libc::kill(child, libc::SIGKILL);
                    libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG);
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.clear();
        set_subreaper(false);
    }
}

fn set_subreaper(on: bool) {
    // Without it (before Linux 3.4), what is left behind goes to init.
    // SAFETY: a syscall without pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(on)) };
}

/// The children of this process in other process groups, including zombies.
fn children() -> Vec<libc::pid_t> {
    let own = std::process::id();
    let Some(group) = stats().find(|one| one.id == own).map(|one| one.group) else {
        return Vec::new();
    };
    let children = stats().filter(|one| one.parent == own && one.group != group);
    children.filter_map(|one| libc::pid_t::try_from(one.id).ok()).collect()
}

/// The fields of `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    id: u32,
    parent: u32,
    group: u32,
    /// The CPU time of the process and of the children that it has waited for, in clock ticks.
    ticks: u64,
}

/// All processes of the machine.
fn stats() -> impl Iterator<Item = Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read(entry.path().join("stat")).ok()?;
        stat_of(id, &String::from_utf8_lossy(&stat))
    })
}

/// The name before the fields may contain any characters.
fn stat_of(id: u32, stat: &str) -> Option<Stat> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let ids = |at: usize| number(at)?.try_into().ok();
    // utime, stime, cutime, cstime.
    let ticks = (11..=14).map(number).sum::<Option<u64>>()?;
    Some(Stat { id, parent: ids(1)?, group: ids(2)?, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_behind_any_name() {
        let stat = "12 (a) S 1) S 77 13 12 0 -1 64 1 2 3 4 100 20 3 4 20 0 1";
        assert_eq!(stat_of(12, stat), Some(Stat { id: 12, parent: 77, group: 13, ticks: 127 }));
        assert_eq!(stat_of(12, "12 (a"), None);
        assert_eq!(stat_of(12, "12 (a) S 77 13"), None);
    }

    #[test]
    fn processor_time_is_that_of_the_children_too() {
        let place = Place::new().unwrap();
        let around = Around { place: &place, cpu: None, programs: &[], log: "log" };
        let run = Run { program: "sh".into(), under: None, server: None };
        let count = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
        let script = format!("sh -c '{count}'; echo one; sh -c '{count}; echo two; sleep 100'");
        let step = Step::new(std::path::Path::new("/bin/sh"), ["-c", &script]);
        let mut process = Process::start(&step, run, around).unwrap();
        let mut until = |word: &str| {
            let mut is_there = false;
            while !is_there {
                process.must_run().unwrap();
                is_there = process.said().contains(word);
                thread::sleep(PAUSE);
            }
            process.cpu_time().as_secs_f64()
        };
        let (one, two) = (until("one"), until("two"));
        assert!(one > 0.02, "the child that was waited for: {one}");
        assert!(two > 1.3 * one, "and the one that runs: {two} after {one}");
    }
}
