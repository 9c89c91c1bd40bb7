//! Logs of strace: one line for each call, `name(arguments) = result`.
//!
//! In front of the name there may be the process (`1234`, `1234<comm>`, `[pid 1234]`), a time, how much later
//! that is (`-t -r`), and brackets (`-n`, `-i`). A call during which another process is logged has two lines, which belong
//! together by the process:
//!
//! ```text
//! 12 wait4(-1,  <unfinished ...>
//! 13 exit_group(0)     = ?
//! 12 <... wait4 resumed>NULL, 0, NULL) = 13
//! ```
//!
//! A call counts when it starts, so one that never ends counts too. Lines about signals and the end of
//! processes, stack frames (`-k`) and strace's own notices are skipped; how many others there were is
//! said. Memory is bounded by the number of processes.
//!
//! Sources: strace(1), and the output of strace 6.1.

mod args;
mod line;
mod processes;

use std::collections::{BTreeMap, BTreeSet};

use self::args::{is_closed, values};
use self::line::{Line, UNFINISHED, What};
use self::processes::Processes;
use super::not_of;
use crate::counts::unknown_name;
use crate::recording::{CallId, How, Recording, Run};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{self, Arch};
use callgate_formats::reader::Reader;

/// Whether a text is a log: some line is a call with its result, or the first half of one. A table of
/// counts may stand below (`-C`).
pub(super) fn is_log(text: &str) -> bool {
    text.lines().any(|line| match Line::of(line).what {
        What::Call(_, rest) => {
            rest.contains(") = ") || rest.contains(")  ") || rest.trim_end().ends_with(UNFINISHED)
        }
        _ => false,
    })
}

pub(super) fn read(
    text: &str,
    reader: &mut Reader<'_>,
    arch: Arch,
    unknown: Severity,
) -> Recording {
    let recording = Recording::of(Run { how: How::Strace, ..Run::default() });
    let mut log = Log {
        processes: Processes::new(arch),
        unfinished: BTreeMap::new(),
        noticed: false,
        multiplexed: None,
        left_out: BTreeSet::new(),
        recording,
        unknown,
    };
    let (mut skipped, mut first) = (0_u64, None);
    let mut start = 0;
    let mut in_table = false;
    for line in text.split_inclusive('\n') {
        if in_table {
            in_table = line.split_whitespace().next_back() != Some("total");
            start += line.len();
            continue;
        }
        let parsed = Line::of(line);
        let at = start + parsed.at;
        match parsed.what {
            What::Call(name, args) if !line.ends_with('\n') && !is_closed(args) => {
                reader.warn(at, "this line is cut off; the call counts, its values do not").help =
                    "check that the log is complete".to_owned();
                log.call(reader, parsed.process, at, name, "");
            }
            What::Call(name, args) => log.call(reader, parsed.process, at, name, args),
            What::Resumed(name, args) => log.resumed(reader, parsed.process, at, name, args),
            What::Rest(args) if log.noticed => log.rest(reader, args),
            What::Mode(process, mode) => log.processes.changed(process, mode),
            What::Attached(process) => log.processes.attached(process),
            What::Ended => log.processes.ended(parsed.process),
            What::Superseded(by) => log.superseded(parsed.process, by),
            What::Nothing => {}
            // The table of `strace -C` counts the same calls again.
            What::Table => in_table = true,
            What::Rest(_) | What::Other => {
                skipped += 1;
                first = first.or(Some(at));
            }
        }
        start += line.len();
    }
    for (_, call) in std::mem::take(&mut log.unfinished) {
        log.count(reader, call.arch, call.at, &call.name, &call.args);
    }
    if let Some(at) = first {
        let lines = if skipped == 1 {
            "1 line is no call".to_owned()
        } else {
            format!("{skipped} lines are no calls, this is the first")
        };
        reader.warn(at, format!("{lines}; skipped")).help =
            "strace -o FILE keeps the log apart from what the program prints".to_owned();
    }
    if let Some((at, name, of)) = log.multiplexed {
        let message =
            format!("\"{name}\" may have been called by way of {of}, as strace shows both alike");
        reader.warn(at, message).help =
            "record with `callgate record`, which keeps them apart".to_owned();
    }
    log.recording
}

/// A call whose line is not complete.
struct Unfinished {
    arch: Arch,
    at: usize,
    name: String,
    args: String,
}

struct Log {
    processes: Processes,
    unfinished: BTreeMap<Option<u32>, Unfinished>,
    /// Whether a notice interrupted the last call: the next line may be the rest of it.
    noticed: bool,
    /// The first call that may be one of `socketcall` or `ipc`, and which.
    multiplexed: Option<(usize, String, &'static str)>,
    /// Names that were reported.
    left_out: BTreeSet<(Arch, String)>,
    recording: Recording,
    unknown: Severity,
}

impl Log {
    fn call(
        &mut self,
        reader: &mut Reader<'_>,
        named: Option<u32>,
        at: usize,
        name: &str,
        args: &str,
    ) {
        let process = self.processes.of_line(named);
        let arch = self.processes.arch(process);
        // On a terminal, a notice may interrupt a call; the rest of the line is on the next.
        let notice = args.find("strace: Process ").and_then(|at| args.split_at_checked(at));
        self.noticed = notice.is_some();
        if let Some((_, notice)) = notice
            && let What::Attached(child) = What::of(notice)
        {
            self.processes.attached(child);
        }
        let before = notice.map(|(args, _)| args);
        let Some(args) = args.trim_end().strip_suffix(UNFINISHED).or(before) else {
            return self.count(reader, arch, at, name, args);
        };
        let call = Unfinished { arch, at, name: name.to_owned(), args: args.trim_end().to_owned() };
        if let Some(lost) = self.unfinished.insert(process, call) {
            self.count(reader, lost.arch, lost.at, &lost.name, &lost.args);
        }
    }

    fn resumed(
        &mut self,
        reader: &mut Reader<'_>,
        named: Option<u32>,
        at: usize,
        name: &str,
        args: &str,
    ) {
        self.noticed = false;
        let process = self.processes.of_line(named);
        match self.take_unfinished(process, name) {
            Some(call) => {
                let args = call.args + args;
                self.count(reader, call.arch, call.at, &call.name, &args);
            }
            // strace came when the call was under way.
            None => self.count(reader, self.processes.arch(process), at, name, ""),
        }
    }

    /// The first half of a call of this name.
    fn take_unfinished(&mut self, process: Option<u32>, name: &str) -> Option<Unfinished> {
        let is_it = |call: &Unfinished| call.name == name;
        // The first process has no number until there is a second, and the last one none after that.
        let mut keys = [process, None].into_iter();
        let of_it = keys.find(|key| self.unfinished.get(key).is_some_and(is_it));
        let of_any = || self.unfinished.iter().find(|(_, call)| is_it(call)).map(|(key, _)| *key);
        let key = of_it.or_else(|| if process.is_none() { of_any() } else { None })?;
        self.unfinished.remove(&key)
    }

    /// The rest of a call that a notice interrupted.
    fn rest(&mut self, reader: &mut Reader<'_>, rest: &str) {
        self.noticed = false;
        if let Some(call) = self.unfinished.remove(&self.processes.last()) {
            self.count(reader, call.arch, call.at, &call.name, &(call.args + rest));
        }
    }

    fn superseded(&mut self, process: Option<u32>, by: u32) {
        if let Some(call) = self.unfinished.remove(&Some(by)) {
            self.unfinished.insert(process, call);
        }
        if let Some(process) = process {
            self.processes.superseded(process, by);
        }
    }

    fn count(&mut self, reader: &mut Reader<'_>, arch: Arch, at: usize, name: &str, args: &str) {
        let unnamed = name.strip_prefix("syscall_0x");
        let nr = match unnamed.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(nr) => Some(nr),
            None => {
                let shared = arch.multiplexed(name);
                if let Some((of, _)) = shared {
                    self.multiplexed.get_or_insert_with(|| (at, name.to_owned(), of));
                }
                arch.number(name).or_else(|| arch.number(shared?.0))
            }
        };
        match nr {
            Some(nr) => self.recording.add(CallId::new(arch, nr), 1, values(arch, name, args)),
            None if !self.is_first(arch, name) => {}
            None if syscalls::is_known_name(name) => {
                not_of(reader, self.unknown, at, arch, name);
            }
            None => unknown_name(reader, self.unknown, at, name),
        }
    }

    /// Whether a name is left out for the first time: a log may have it a million times.
    fn is_first(&mut self, arch: Arch, name: &str) -> bool {
        /// More than there are messages of a text.
        const MOST: usize = 1000;
        self.left_out.len() >= MOST || self.left_out.insert((arch, name.to_owned()))
    }
}
