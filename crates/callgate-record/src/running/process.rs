//! A running process, its threads, its CPU time, and what it executes, from `/proc`. `unsafe` code: clocks of processes.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;
use std::{fmt, fs};

use callgate_linux::ThreadStatus;

use super::error::{TargetError, TargetErrorKind};
use crate::tally::MAX_PATH;

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

    /// The processes that it has started, and those that these have started, as far as they run.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn descendants(&self) -> io::Result<Vec<u32>> {
        Ok(descendants(self.pid, &processes()?).split_off(1))
    }

    /// The CPU time so far of the process, of its descendants, and of descendants that have ended and were waited for.
    ///
    /// The time of those that run has nanoseconds, also if some of their threads have ended; that of others has the
    /// kernel's clock ticks, usually 10 ms. The time of a descendant that its parent neither waits for nor outlives is
    /// missing after its end.
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

/// `PF_EXITING` of `include/linux/sched.h`.
const EXITING: u64 = 4;

/// The part of the file that is used here (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    is_ending: bool,
    /// The CPU time of children that have ended and were waited for, and of their descendants, in clock ticks.
    ticks_of_children: u64,
    /// The processor that it ran on last.
    processor: Option<usize>,
}

impl Stat {
    /// That of a process or thread.
    fn of(id: u32) -> Option<Stat> {
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

/// The path by which a process executed its program; for a script, that of the script. If it cannot be read, the path of
/// the file that is executed. `None` if the process has ended.
pub(crate) fn executed_path(process: u32) -> Option<Vec<u8>> {
    let given = given_path(process).ok().filter(|path| !path.is_empty());
    let mut path = given.or_else(|| {
        let link = fs::read_link(format!("/proc/{process}/exe")).ok()?;
        Some(link.into_os_string().into_vec())
    })?;
    path.truncate(MAX_PATH);
    Some(path)
}

/// Identifies what a process executes: another `execve` changes it, as a rule, because the kernel chooses new addresses. Unlike
/// the string at one of them, the process cannot change it without checkpoint/restore (`PR_SET_MM`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// The kernel's copy of the auxiliary vector.
    auxv: Vec<u8>,
    /// Device and inode of the file.
    file: Option<(u64, u64)>,
}

impl Image {
    pub(crate) fn of(process: u32) -> Image {
        let auxv = fs::read(format!("/proc/{process}/auxv")).unwrap_or_default();
        let file = fs::metadata(format!("/proc/{process}/exe")).ok();
        Image { auxv, file: file.map(|file| (file.dev(), file.ino())) }
    }
}

/// The string that `AT_EXECFN` points to (getauxval(3)): the kernel stores it at the top of the stack.
fn given_path(process: u32) -> io::Result<Vec<u8>> {
    let mut memory = fs::File::open(format!("/proc/{process}/mem"))?;
    memory.seek(SeekFrom::Start(address_of_path(process)?))?;
    let mut bytes = Vec::new();
    // The end of the stack follows after the string.
    let _ = memory.take(MAX_PATH as u64 + 1).read_to_end(&mut bytes);
    Ok(bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_owned())
}

fn address_of_path(process: u32) -> io::Result<u64> {
    const WORD: usize = size_of::<usize>();
    let auxv = fs::read(format!("/proc/{process}/auxv"))?;
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, usize::from_ne_bytes) as u64;
    let mut entries = auxv.chunks_exact(2 * WORD).map(|entry| entry.split_at(WORD));
    let found = entries.find(|(key, _)| word(key) == libc::AT_EXECFN);
    let (_, address) = found.ok_or(io::ErrorKind::NotFound)?;
    Ok(word(address))
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

    #[test]
    fn a_process_has_the_path_that_it_was_executed_by() {
        let own = executed_path(std::process::id()).unwrap();
        let first = std::env::args_os().next().unwrap().into_vec();
        assert_eq!(String::from_utf8_lossy(&own), String::from_utf8_lossy(&first));
        assert_eq!(executed_path(u32::MAX), None);
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

    #[test]
    fn an_image_does_not_depend_on_memory_that_the_process_writes() {
        use std::os::unix::fs::FileExt as _;
        let mut child = std::process::Command::new("sh")
            .args(["-c", "echo; read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = child.id();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let (image, path) = (Image::of(process), executed_path(process));
        let memory = fs::OpenOptions::new().write(true).open(format!("/proc/{process}/mem"));
        memory.unwrap().write_all_at(b"X", address_of_path(process).unwrap()).unwrap();
        assert_ne!(executed_path(process), path);
        assert_eq!(Image::of(process), image);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_image_changes_with_each_execve() {
        use std::io::Write as _;
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "echo; read line; exec sh -c 'read line'"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = shell.id();
        // `spawn` returns while the kernel still loads the shell.
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let before = Image::of(process);
        assert_eq!(before, Image::of(process));
        let mut input = shell.stdin.take().unwrap();
        input.write_all(b"\n").unwrap();
        let start = std::time::Instant::now();
        while Image::of(process) == before {
            assert!(start.elapsed().as_secs() < 60, "the image does not change");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(input);
        shell.wait().unwrap();
    }
}
