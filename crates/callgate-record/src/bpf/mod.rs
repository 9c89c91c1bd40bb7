//! Recording by the kernel itself: small programs at its tracepoints count calls in maps.
//!
//! Nothing is sent to the recorder while the command runs; the maps are read at the end. So nothing is
//! lost when the machine is busy. A recorded call takes some 300 ns more, and because tracepoints are those of the
//! whole machine, so do others, nearly; recorders share programs ([`set`]), so several cost no more than one. What
//! does not fit is counted: calls when there are more than [`MAX_CALLS`] different ones, threads when there are more than
//! [`MAX_THREADS`] at a time.
//!
//! Before the command is executed, its process makes calls that must be found in the maps; otherwise this
//! way does not work here, and the recorder says so.
//!
//! Limits: x86-64; Linux 5.15 with BTF, CAP_BPF and CAP_PERFMON.

mod asm;
mod btf;
mod kernel;
#[cfg(test)]
mod mounted;
mod programs;
mod set;
mod types;

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use callgate::Arch;
use callgate::recording::{ArgValues, Bounds, CallId};

use super::save::Parts;
use super::signals::Signals;
use super::start::{Mark, Started, time_of_a_call};
use super::tick::Tick;
use super::{Kind, MAX_CALLS, Note, Outcome, RecordError, Tally, tracer};
use btf::{Btf, Wanted};
use callgate_linux::Command;
use callgate_linux::error_text;
use kernel::Refused;
use programs::{ARG_WORDS, BEFORE_EXECVE, CALL_WORDS, Offsets, SLOTS, session};
use set::{Plan, Session, Set};
use types::TypesFile;

/// How many threads are recorded at a time.
const MAX_THREADS: u32 = 1 << 16;

/// A thread that executes a program takes the number of the first one of its process: between the end of the
/// one number and the entry of the other, the program is loaded.
const EXECUTES: Duration = Duration::from_millis(300);

/// How long no thread is found among those of other recorders although there are some.
const HIDDEN: Duration = Duration::from_secs(2);

/// Where the programs run; the kernel has a type for each of these.
const TRACEPOINTS: [&str; 5] = [
    "btf_trace_sched_process_fork",
    "btf_trace_sched_process_exec",
    "btf_trace_sched_process_exit",
    "btf_trace_sys_exit",
    "btf_trace_sys_enter",
];

/// Programs and maps for one command.
pub(super) struct Recorder {
    plan: Plan,
    session: Session,
    /// The programs may be those of another recorder.
    is_shared: bool,
    /// What a call took before they ran for this one.
    unrecorded: Duration,
}

impl Recorder {
    /// Takes the programs of another recorder, or loads them. Nothing is recorded yet.
    pub(super) fn new() -> Result<Recorder, BpfError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(BpfError::Machine);
        }
        let unrecorded = time_of_a_call();
        let (offsets, targets) = look_up_types()?;
        let plan = Plan::new(offsets, targets);
        // It fails where there are too many.
        let join = || Set::find(&plan).and_then(|set| Session::new(set, &plan).ok());
        if let Some(session) = join() {
            return Ok(Recorder { plan, session, is_shared: true, unrecorded });
        }
        let own = Set::load(&plan)?;
        match join() {
            Some(session) => Ok(Recorder { plan, session, is_shared: true, unrecorded }),
            None => Recorder::of(own, plan, unrecorded),
        }
    }

    /// With programs of its own.
    fn of(own: Set, plan: Plan, unrecorded: Duration) -> Result<Recorder, BpfError> {
        let session = Session::new(own, &plan).map_err(BpfError::Map)?;
        Ok(Recorder { plan, session, is_shared: false, unrecorded })
    }

    /// Starts the child, and sees that it is recorded.
    fn start(self, command: &Command) -> Result<(Recorder, Started), Kind> {
        let unrecorded = self.unrecorded;
        let mark = Mark::Cookie(self.session.cookie());
        let started = Started::new(command, mark, unrecorded).map_err(Kind::Start)?;
        match self.check(&started) {
            Ok(()) => Ok((self, started)),
            Err(why) => {
                started.kill();
                // Who is recorded in a set already, as this process may be, has no second session there.
                if !self.is_shared {
                    return Err(Kind::Tracepoint(why));
                }
                let own = Set::load(&self.plan).map_err(Kind::Tracepoint)?;
                Recorder::of(own, self.plan, unrecorded).map_err(Kind::Tracepoint)?.start(command)
            }
        }
    }

    /// Records a command; returns when everything that it started has ended.
    pub(super) fn record(
        self,
        command: &Command,
        mut parts: Parts<'_>,
    ) -> Result<Outcome, RecordError> {
        let (recorder, started) = self.start(command)?;
        let session = &recorder.session;
        let signals = Signals::are_for(started.pid);
        let start = Instant::now();
        started.go_on();
        // It ends waits, so that parts are saved.
        let tick = parts.are_wanted().then(Tick::start).flatten();
        let status = loop {
            if parts.is_due() {
                recorder.save(&mut parts);
            }
            match tracer::wait(started.pid) {
                Ok((_, status)) => break Some(status),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                // It is gone, and somebody else knows how; what it called is known.
                Err(why) if why.raw_os_error() == Some(libc::ECHILD) => break None,
                Err(why) => return Err(Kind::Wait(why).into()),
            }
        };
        drop(tick);
        signals.command_ended();
        if let Some(stopped) = started.stopped() {
            return Err(Kind::of(stopped, command).into());
        }
        let mut notes = Vec::new();
        let read = |why| Kind::Tracepoint(BpfError::Map(why));
        let mut pause = Duration::from_micros(200);
        let mut unseen_ends = 0;
        let mut gone: Option<(Option<Vec<u8>>, Instant)> = None;
        loop {
            let living = living(&session.words().map_err(read)?).saturating_sub(unseen_ends);
            if living == 0 {
                break;
            }
            // An entry is removed before its thread is gone: by the program, if that was run.
            let thread = session.thread().map_err(read)?;
            gone = match gone.take().filter(|(before, _)| *before == thread) {
                _ if thread.as_ref().is_some_and(|thread| !is_gone(thread)) => None,
                Some((Some(thread), since)) if since.elapsed() >= EXECUTES => {
                    unseen_ends += u64::from(session.forget(&thread).map_err(read)?);
                    continue;
                }
                Some((None, since)) if since.elapsed() >= HIDDEN => {
                    unseen_ends += living;
                    break;
                }
                known => known.or_else(|| Some((thread, Instant::now()))),
            };
            if signals.interrupted() {
                notes.push(Note::LeftOthers(living as usize));
                break;
            }
            if parts.is_due() {
                recorder.save(&mut parts);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        if unseen_ends > 0 {
            notes.push(Note::UnseenEnds(unseen_ends as usize));
        }
        let (time, cost) = (start.elapsed(), started.cost());
        session.stop().map_err(read)?;
        let counted = recorder.read().map_err(read)?;
        if counted.denied > 0 {
            // A call whose beginning a program missed is taken for one that was denied.
            let exactly = (counted.tally.lost == 0).then_some(counted.denied);
            notes.push(Note::Denied(exactly));
        }
        Ok(Outcome {
            tally: counted.tally,
            status,
            processes: 1 + counted.processes,
            threads: 1 + counted.threads,
            time,
            cost,
            notes,
            signals,
        })
    }

    /// Saves what was counted so far, while it is counted.
    fn save(&self, parts: &mut Parts<'_>) {
        let start = Instant::now();
        match self.read() {
            Ok(Counted { tally, processes, threads, .. }) => {
                parts.save(tally, 1 + processes, 1 + threads);
            }
            // What fails now may be possible at the end.
            Err(_) => parts.saved(start.elapsed()),
        }
    }

    /// Finds the calls of the child up to the one with which it waits, and forgets them.
    fn check(&self, started: &Started) -> Result<(), BpfError> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let key = |nr: libc::c_long| {
            let [a, b, c, d] = 0_u32.to_ne_bytes();
            let [e, f, g, h] = (nr as u32).to_ne_bytes();
            [a, b, c, d, e, f, g, h]
        };
        let count = |nr| {
            let values =
                self.session.calls.get(&key(nr)).map_err(BpfError::Map)?.unwrap_or_default();
            let counts = values.chunks_exact(CALL_WORDS as usize).filter_map(<[u64]>::first);
            Ok(counts.sum::<u64>())
        };
        if !started.wait_until_recorded() || count(libc::SYS_getppid)? == 0 {
            return Err(BpfError::NotSeen);
        }
        let start = Instant::now();
        while count(libc::SYS_futex)? < 2 {
            if start.elapsed() > PATIENCE {
                return Err(BpfError::NotSeen);
            }
            std::thread::yield_now();
        }
        // It waits. What else it may call before its `execve`, because of a signal for one, does not count.
        let child = self.session.thread().map_err(BpfError::Map)?.ok_or(BpfError::NotSeen)?;
        self.session.set_state(&child, BEFORE_EXECVE as u64).map_err(BpfError::Map)?;
        while let Some(key) = self.session.calls.next_key(None).map_err(BpfError::Map)? {
            self.session.calls.remove(&key).map_err(BpfError::Map)?;
        }
        Ok(())
    }

    /// What the maps have. While the programs run, values may be a little older than counts.
    fn read(&self) -> io::Result<Counted> {
        let mut tally = Tally::default();
        let session = &self.session;
        let mut key = None;
        // Nobody removes keys, so each comes once; a bound all the same.
        for _ in 0..MAX_CALLS {
            key = session.calls.next_key(key.as_deref())?;
            let Some(key) = &key else { break };
            if let Some(values) = session.calls.get(key)? {
                add(&mut tally, key, &values, session.key);
            }
        }
        let words = session.words()?;
        let word = |word: i16| words[word as usize];
        // At least one call of each thread that was not seen.
        let lost = [word(session::LOST), word(session::UNSEEN), session.misses()?];
        tally.lost = lost.into_iter().fold(tally.lost, u64::saturating_add);
        Ok(Counted {
            tally,
            denied: word(session::DENIED),
            processes: word(session::PROCESSES),
            threads: word(session::THREADS),
        })
    }
}

/// How many recorded threads there are.
fn living(words: &[u64; session::ALL]) -> u64 {
    let word = |word: i16| words[word as usize];
    let begun = 1 + word(session::THREADS);
    begun.saturating_sub(word(session::UNSEEN)).saturating_sub(word(session::ENDED))
}

/// Where members are in the kernel's structures, and the types of [`TRACEPOINTS`].
fn look_up_types() -> Result<(Offsets, [u32; 5]), BpfError> {
    let [fork, exec, exit, leave, enter] = TRACEPOINTS.map(Wanted::Typedef);
    let wanted = [
        Wanted::Member("task_struct", "pid"),
        Wanted::Member("task_struct", "tgid"),
        Wanted::Member("task_struct", "thread_info"),
        Wanted::Member("thread_info", "status"),
        Wanted::Member("task_struct", "exit_code"),
        Wanted::Member("task_struct", "flags"),
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
    let [pid, tgid, thread_info, status, exit_code, flags, targets @ ..] =
        found.map(Option::unwrap_or_default);
    // An instruction reaches 32 KB.
    let reach =
        |offset: u32| i16::try_from(offset).map_err(|_| BpfError::NoType("task_struct in reach"));
    let offsets = Offsets {
        pid: reach(pid)?,
        tgid: reach(tgid)?,
        status: reach(thread_info.saturating_add(status))?,
        exit_code: reach(exit_code)?,
        flags: reach(flags)?,
    };
    Ok((offsets, targets))
}

/// Whether a recorded thread is gone. Its number is that of the first namespace of processes; in another
/// one it cannot be asked, and then it counts as there.
fn is_gone(key: &[u8]) -> bool {
    let Ok(thread) = key.try_into().map(i32::from_ne_bytes) else { return false };
    in_first_namespace() && !tracer::exists(thread)
}

/// Whether numbers of processes are those that the kernel's programs see (`PROC_PID_INIT_INO` of
/// `include/linux/proc_ns.h`).
fn in_first_namespace() -> bool {
    use std::os::unix::fs::MetadataExt;
    const FIRST: u64 = 0xefff_fffc;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == FIRST)
}

struct Counted {
    tally: Tally,
    denied: u64,
    processes: u64,
    threads: u64,
}

/// Adds what the processors counted of one call.
fn add(tally: &mut Tally, key: &[u8], values: &[u64], values_key: u64) {
    let word = |at: usize| {
        let bytes = key.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let arch = if word(0) == 0 { Arch::X86_64 } else { Arch::X86 };
    let Some(call) = CallId::of(arch.token(), word(4)) else { return };
    for value in values.chunks_exact(CALL_WORDS as usize) {
        let Some((count, args)) = value.split_first() else { continue };
        tally.add(
            call,
            *count,
            args.chunks_exact(ARG_WORDS as usize).map(|arg| seen(*count, arg, values_key)),
        );
    }
}

/// What a processor saw of one argument.
fn seen(count: u64, arg: &[u64], key: u64) -> ArgValues {
    let &[length, min, max, ever, always, ref values @ ..] = arg else {
        return ArgValues::default();
    };
    let first = values.iter().take(length.min(SLOTS as u64) as usize).map(|value| value ^ key);
    if length <= SLOTS as u64 {
        return ArgValues::from_values(count, first);
    }
    // A program that is just running has perhaps not brought them all up to date.
    let others = Bounds { min, max, ever, always }.unite(Bounds::of(min)).unite(Bounds::of(max));
    ArgValues::from_bounds(count, first.fold(others, |all, value| all.unite(Bounds::of(value))))
}

/// Why the kernel cannot count.
pub(super) enum BpfError {
    Machine,
    NoTypes(io::Error),
    NoType(&'static str),
    Map(io::Error),
    Program(&'static str, Refused),
    NotSeen,
}

impl BpfError {
    pub(super) fn help(&self) -> &'static str {
        match self {
            BpfError::Map(why) | BpfError::Program(_, Refused { why, .. })
                if why.raw_os_error() == Some(libc::EPERM) =>
            {
                "record as root (CAP_BPF and CAP_PERFMON) on Linux 5.15 or later, or with --via ptrace"
            }
            _ => "record with --via ptrace",
        }
    }
}

impl fmt::Display for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BpfError::Machine => f.write_str("the tracepoint is read on x86-64 only"),
            BpfError::NoTypes(why) => {
                write!(f, "{} cannot be read: {}", types::PATH, error_text(why))
            }
            BpfError::NoType(name) => write!(f, "{} does not have {name}", types::PATH),
            BpfError::Map(why) => write!(f, "the kernel gives no maps: {}", error_text(why)),
            BpfError::Program(name, Refused { why, log }) => {
                let name = name.trim_start_matches("btf_trace_");
                write!(f, "the kernel takes no program at {name}: {}", error_text(why))?;
                match log.lines().rev().find(|line| !line.starts_with("processed")) {
                    Some(line) => write!(f, " ({line})"),
                    None => Ok(()),
                }
            }
            BpfError::NotSeen => f.write_str("the kernel's tracepoint does not see a test call"),
        }
    }
}

impl fmt::Debug for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::save::{Facts, Nowhere};
    use super::*;

    /// The kernel skips the program that sees ends when that would interrupt itself, which nobody can make
    /// it do: so there is a thread in the map before the command runs.
    #[test]
    fn a_thread_whose_end_was_not_seen_is_not_waited_for() {
        let recorder = match Recorder::new() {
            Ok(recorder) if in_first_namespace() => recorder,
            Ok(_) => return eprintln!("not run: numbers of threads are not the kernel's own"),
            Err(why) => return eprintln!("not run: {why}"),
        };
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let key = (child.id() as i32).to_ne_bytes();
        assert!(!is_gone(&key));
        child.wait().unwrap();
        recorder.session.set_state(&key, 0).unwrap();
        let mut words = recorder.session.words().unwrap();
        words[session::THREADS as usize] += 1;
        recorder.session.set_words(words);
        let command = Command::find(&["true".into()]).unwrap();
        let facts = Facts { way: Way::Tracepoint, command: Vec::new() };
        let outcome = recorder.record(&command, Parts::new(&mut Nowhere, facts)).unwrap();
        assert_eq!(outcome.notes, [Note::UnseenEnds(1)]);
    }

    #[test]
    fn what_processors_saw_becomes_one() {
        let mut first = vec![0; ARG_WORDS as usize];
        first[0] = 2;
        first[5..7].copy_from_slice(&[6, 8]);
        assert_eq!(seen(3, &first, 1), ArgValues::from_values(3, [7, 9]));
        let mut second = vec![0; ARG_WORDS as usize];
        second[..5].copy_from_slice(&[33, 0x100, 0x900, 0xf00, 0]);
        for (slot, value) in second[5..].iter_mut().zip(1..) {
            *slot = value;
        }
        let bounds = Bounds { min: 1, max: 0x900, ever: 0xf3f, always: 0 };
        assert_eq!(seen(50, &second, 0), ArgValues::from_bounds(50, bounds));
    }
}
