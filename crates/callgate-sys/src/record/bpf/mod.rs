//! Recording by the kernel itself: small programs at its tracepoints count calls in maps.
//!
//! Nothing is sent to the recorder while the command runs; the maps are read at the end. So nothing is
//! lost when the machine is busy, and a call costs some ten nanoseconds more. What does not fit is
//! counted: calls when there are more than [`MAX_CALLS`] different ones, threads when there are more than
//! [`MAX_THREADS`] at a time.
//!
//! Before the command is executed, its process makes calls that must be found in the maps; otherwise this
//! way does not work here, and the recorder says so.
//!
//! Limits: x86-64; Linux 5.15 with BTF, CAP_BPF and CAP_PERFMON.

mod asm;
mod btf;
mod kernel;
mod programs;

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use callgate::Arch;
use callgate::recording::{Bounds, CallId, Values};

use super::signals::Signals;
use super::start::{Mark, Started};
use super::{Kind, MAX_CALLS, Note, Outcome, RecordError, Tally, tracer};
use crate::command::Command;
use crate::raw::error_text;
use btf::Btf;
use kernel::{Map, MapKind, Program, Refused};
use programs::{ARG_WORDS, CALL_WORDS, Maps, Offsets, SLOTS, counter};

/// How many threads are recorded at a time.
const MAX_THREADS: u32 = 1 << 16;

/// Where the kernel tells about its types.
const BTF_FILE: &str = "/sys/kernel/btf/vmlinux";

/// Programs and maps for one command.
pub(super) struct Recorder {
    cookie: [u64; 2],
    threads: Map,
    calls: Map,
    counters: Map,
    programs: Vec<Program>,
}

impl Recorder {
    /// Loads the programs; they do not run yet.
    pub(super) fn new() -> Result<Recorder, BpfError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(BpfError::Machine);
        }
        let file = std::fs::read(BTF_FILE).map_err(BpfError::NoTypes)?;
        let btf = Btf::new(&file).ok_or(BpfError::NoType("a header"))?;
        let offset = |structure, member: &'static str| {
            btf.offset(structure, member).ok_or(BpfError::NoType(member))
        };
        let offsets = Offsets {
            pid: offset("task_struct", "pid")?,
            tgid: offset("task_struct", "tgid")?,
            status: offset("task_struct", "thread_info")? + offset("thread_info", "status")?,
            exit_code: offset("task_struct", "exit_code")?,
            signal: offset("task_struct", "signal")?,
            signal_flags: offset("signal_struct", "flags")?,
        };
        let processors = possible_processors().map_err(BpfError::Map)?;
        let map = |kind, key, value, entries, copies| {
            Map::new(kind, key, value, entries, copies).map_err(BpfError::Map)
        };
        let (call, most) = (8 * CALL_WORDS as u32, MAX_CALLS as u32);
        let threads = map(MapKind::Hash, 4, 4, MAX_THREADS, 1)?;
        let calls = map(MapKind::PerCpuHash, 8, call, most, processors)?;
        let zero = map(MapKind::Array, 4, call, 1, 1)?;
        let counters = map(MapKind::Array, 4, 8, counter::ALL, 1)?;
        let maps = Maps {
            threads: threads.descriptor(),
            calls: calls.descriptor(),
            zero: zero.descriptor(),
            counters: counters.descriptor(),
        };
        let cookie = kernel::random().map_err(BpfError::Map)?;
        let programs = [
            ("btf_trace_sched_process_fork", programs::fork(maps, offsets)),
            ("btf_trace_sched_process_exec", programs::exec(maps, offsets)),
            ("btf_trace_sched_process_exit", programs::exit(maps, offsets)),
            ("btf_trace_sys_exit", programs::leave(maps, offsets)),
            ("btf_trace_sys_enter", programs::enter(maps, offsets, cookie)),
        ];
        let load = |(name, code): (&'static str, Vec<asm::Insn>)| {
            let target = btf.id(btf::TYPEDEF, name).ok_or(BpfError::NoType(name))?;
            Program::new(&code, target).map_err(|refused| BpfError::Program(name, refused))
        };
        let programs = programs.into_iter().map(load).collect::<Result<_, _>>()?;
        Ok(Recorder { cookie, threads, calls, counters, programs })
    }

    /// Records a command; returns when everything that it started has ended.
    pub(super) fn record(mut self, command: &Command) -> Result<Outcome, RecordError> {
        let started = Started::new(command, Mark::Cookie(self.cookie)).map_err(Kind::Start)?;
        if let Err(why) = self.check(&started) {
            started.kill();
            return Err(Kind::Tracepoint(why).into());
        }
        let signals = Signals::are_for(started.pid);
        let start = Instant::now();
        started.may_execute();
        let status = loop {
            match tracer::wait(started.pid) {
                Ok((_, status)) => break status,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(Kind::Wait(why).into()),
            }
        };
        signals.command_ended();
        if let Some(stopped) = started.stopped() {
            return Err(Kind::of(stopped, command).into());
        }
        let mut notes = Vec::new();
        let read = |why| Kind::Tracepoint(BpfError::Map(why));
        let mut pause = Duration::from_micros(200);
        while let Some(first) = self.threads.next_key(None).map_err(read)? {
            if signals.interrupted() {
                notes.push(Note::LeftOthers(self.count_threads(first).map_err(read)?));
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        let (time, cost) = (start.elapsed(), started.cost());
        let counted = self.read().map_err(read)?;
        Ok(Outcome {
            tally: counted.tally,
            status,
            processes: 1 + counted.processes,
            threads: 1 + counted.threads,
            time,
            cost,
            notes,
        })
    }

    /// Lets the programs run when the child has made its unrecorded calls; finds its recorded calls, and
    /// forgets them.
    fn check(&mut self, started: &Started) -> Result<(), BpfError> {
        let wait_until = |done: fn(&Started) -> bool| {
            let start = Instant::now();
            while !done(started) {
                if start.elapsed() > Duration::from_secs(10) {
                    return Err(BpfError::NotSeen);
                }
                std::thread::sleep(Duration::from_micros(100));
            }
            Ok(())
        };
        wait_until(Started::is_measured)?;
        for program in &mut self.programs {
            program.attach().map_err(BpfError::Map)?;
        }
        started.may_be_recorded();
        wait_until(Started::is_recorded)?;
        let mut seen = false;
        while let Some(key) = self.calls.next_key(None).map_err(BpfError::Map)? {
            seen |= key.get(4..) == Some(&(libc::SYS_getppid as u32).to_ne_bytes());
            self.calls.remove(&key).map_err(BpfError::Map)?;
        }
        if seen { Ok(()) } else { Err(BpfError::NotSeen) }
    }

    fn count_threads(&self, first: Vec<u8>) -> io::Result<usize> {
        let (mut key, mut count) = (first, 1);
        while count < MAX_THREADS as usize {
            match self.threads.next_key(Some(&key))? {
                Some(next) => key = next,
                None => break,
            }
            count += 1;
        }
        Ok(count)
    }

    /// What the maps have.
    fn read(self) -> io::Result<Counted> {
        let mut tally = Tally::default();
        let Recorder { mut programs, calls, counters, .. } = self;
        // Nothing counts from here on.
        programs.iter_mut().for_each(Program::detach);
        for program in &programs {
            tally.lost = tally.lost.saturating_add(program.misses()?);
        }
        let counter = |key: i32| {
            let value = counters.get(&key.to_ne_bytes())?;
            io::Result::Ok(value.and_then(|value| value.first().copied()).unwrap_or(0))
        };
        let mut key = None;
        // Nobody adds keys any more, so each comes once; a bound all the same.
        for _ in 0..MAX_CALLS {
            key = calls.next_key(key.as_deref())?;
            let Some(key) = &key else { break };
            if let Some(values) = calls.get(key)? {
                add(&mut tally, key, &values);
            }
        }
        tally.lost = tally.lost.saturating_add(counter(counter::LOST)?);
        // At least one call each.
        tally.lost = tally.lost.saturating_add(counter(counter::UNSEEN)?);
        Ok(Counted {
            tally,
            processes: counter(counter::PROCESSES)?,
            threads: counter(counter::THREADS)?,
        })
    }
}

struct Counted {
    tally: Tally,
    processes: u64,
    threads: u64,
}

/// Adds what the processors counted of one call.
fn add(tally: &mut Tally, key: &[u8], values: &[u64]) {
    let word = |at: usize| {
        let bytes = key.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let arch = if word(0) == 0 { Arch::X86_64 } else { Arch::X86 };
    let Some(call) = CallId::of(arch.token(), word(4)) else { return };
    for value in values.chunks_exact(CALL_WORDS as usize) {
        let Some((count, args)) = value.split_first() else { continue };
        tally.add(call, *count, args.chunks_exact(ARG_WORDS as usize).map(|arg| seen(*count, arg)));
    }
}

/// What a processor saw of one argument.
fn seen(count: u64, arg: &[u64]) -> Values {
    let &[length, min, max, ever, always, ref values @ ..] = arg else { return Values::default() };
    let first = values.iter().take(length.min(SLOTS as u64) as usize);
    if length <= SLOTS as u64 {
        return Values::few(count, first.copied());
    }
    let others = Bounds { min, max, ever, always };
    Values::many(count, first.fold(others, |all, value| all.unite(Bounds::of(*value))))
}

/// How many processors there may ever be: the kernel keeps a value for each.
fn possible_processors() -> io::Result<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    count_ranges(text.trim()).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The length of a list such as `0-3,8`.
fn count_ranges(text: &str) -> Option<usize> {
    text.split(',').try_fold(0, |sum: usize, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
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
                "record as root (CAP_BPF and CAP_PERFMON), or with --via ptrace"
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
                write!(f, "{BTF_FILE} cannot be read: {}", error_text(why))
            }
            BpfError::NoType(name) => write!(f, "{BTF_FILE} does not have {name}"),
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
    use super::*;

    #[test]
    fn processors_are_counted() {
        for (text, count) in
            [("0", Some(1)), ("0-1", Some(2)), ("0-3,8,10-11", Some(7)), ("", None), ("3-1", None)]
        {
            assert_eq!(count_ranges(text), count, "{text}");
        }
    }

    #[test]
    fn what_processors_saw_becomes_one() {
        let mut first = vec![0; ARG_WORDS as usize];
        first[0] = 2;
        first[5..7].copy_from_slice(&[7, 9]);
        assert_eq!(seen(3, &first), Values::few(3, [7, 9]));
        let mut second = vec![0; ARG_WORDS as usize];
        second[..5].copy_from_slice(&[33, 0x100, 0x900, 0xf00, 0]);
        for (slot, value) in second[5..].iter_mut().zip(1..) {
            *slot = value;
        }
        let bounds = Bounds { min: 1, max: 0x900, ever: 0xf3f, always: 0 };
        assert_eq!(seen(50, &second), Values::many(50, bounds));
    }
}
