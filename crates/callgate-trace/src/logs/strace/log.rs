//! A log of strace, line by line.

use std::collections::{BTreeMap, BTreeSet};

use super::args::{is_closed, values};
use super::line::{Line, UNFINISHED, What};
use super::names::{Name, Names};
use super::processes::Processes;
use crate::counts::unknown_name;
use crate::logs::calls::Calls;
use crate::logs::lines;
use crate::read::not_of;
use crate::recording::{CallId, How, Recording, Run};
use callgate_bpf::diagnostic::{Position, Severity};
use callgate_bpf::syscalls::{self, Arch};
use callgate_formats::messages::Messages;
use memchr::memmem::Finder;

/// How many calls may be unfinished at a time. Each has a thread of its own.
const MAX_UNFINISHED: usize = 100_000;

/// How many bytes of the arguments of unfinished calls are kept, together. Values of calls beyond are not known.
const MAX_KEPT: usize = 64 << 20;

/// How much of a name is kept. The longest one that a kernel has is `sched_rr_get_interval_time64`.
const MAX_NAME: usize = 64;

/// Whether a line tells that a text is a log: a call with its result, or the first half of one.
fn is_call(what: &What<'_>) -> bool {
    match what {
        What::Call(_, rest) => {
            rest.contains(") = ") || rest.contains(")  ") || rest.trim_end().ends_with(UNFINISHED)
        }
        _ => false,
    }
}

impl Log {
    pub(crate) fn new(arch: Arch, unknown: Severity) -> Log {
        Log {
            processes: Processes::new(arch),
            unfinished: BTreeMap::new(),
            kept: 0,
            noticed: false,
            multiplexed: None,
            left_out: BTreeSet::new(),
            calls: Calls::of(Run { how: How::Strace, ..Run::default() }),
            names: Names::default(),
            notice: Finder::new("strace: Process "),
            may_have_notices: false,
            unknown,
            messages: Messages::new(),
            is_log: false,
            in_table: false,
            skipped: None,
        }
    }

    /// Whether some line was a call with its result, or the first half of one. A table of counts may stand
    /// below (`-C`).
    pub(crate) fn is_log(&self) -> bool {
        self.is_log
    }

    /// Whether a line that is no call needs no message any more.
    pub(crate) fn has_skipped(&self) -> bool {
        self.in_table || self.skipped.is_some()
    }

    /// Counts such a line.
    pub(crate) fn skip(&mut self) {
        if let (false, Some((_, skipped))) = (self.in_table, &mut self.skipped) {
            *skipped += 1;
        }
    }

    /// The block that the next lines are of.
    pub(crate) fn begin(&mut self, block: lines::Block<'_>) {
        self.may_have_notices = self.notice.find(block.text.as_bytes()).is_some();
    }

    /// The next line.
    pub(crate) fn line(&mut self, line: lines::Line<'_>) {
        let parsed = Line::of(line.text);
        self.is_log = self.is_log || is_call(&parsed.what);
        if self.in_table {
            self.in_table = line.text.split_whitespace().next_back() != Some("total");
            return;
        }
        let at = || line.position(parsed.at);
        match parsed.what {
            What::Call(name, args) if !line.text.ends_with('\n') && !is_closed(args) => {
                self.messages
                    .warn(at(), "this line is cut off; the call counts, its values do not")
                    .help = "check that the log is complete".to_owned();
                self.call(parsed.process, at, name, "");
            }
            What::Call(name, args) => self.call(parsed.process, at, name, args),
            What::Resumed(name, args) => self.resumed(parsed.process, at, name, args),
            What::Rest(args) if self.noticed => self.rest(args),
            What::Mode(process, mode) => self.processes.changed(process, mode),
            What::Attached(process) => self.processes.attached(process),
            What::Ended => self.processes.ended(parsed.process),
            What::Superseded(by) => self.superseded(parsed.process, by),
            What::Nothing => {}
            // The table of `strace -C` counts the same calls again.
            What::Table => self.in_table = true,
            What::Rest(_) | What::Other => {
                let (_, skipped) = self.skipped.get_or_insert_with(|| (at(), 0));
                *skipped += 1;
            }
        }
    }

    pub(crate) fn finish(mut self) -> (Recording, Messages) {
        for (_, call) in std::mem::take(&mut self.unfinished) {
            self.count(call.arch, || call.at, &call.name, &call.args);
        }
        if let Some((at, skipped)) = self.skipped {
            let lines = if skipped == 1 {
                "1 line is no call".to_owned()
            } else {
                format!("{skipped} lines are no calls, this is the first")
            };
            self.messages.warn(at, format!("{lines}; skipped")).help =
                "strace -o FILE keeps the log apart from what the program prints".to_owned();
        }
        if let Some((at, name, of)) = self.multiplexed {
            let message = format!(
                "\"{name}\" may have been called by way of {of}, as strace shows both alike"
            );
            self.messages.warn(at, message).help =
                "record with `callgate record`, which keeps them apart".to_owned();
        }
        (self.calls.finish(&mut self.messages), self.messages)
    }
}

/// A call whose line is not complete.
struct Unfinished {
    arch: Arch,
    at: Position,
    name: String,
    args: String,
}

/// A log, line by line.
pub(crate) struct Log {
    processes: Processes,
    unfinished: BTreeMap<Option<u32>, Unfinished>,
    /// How many bytes their arguments have.
    kept: usize,
    /// Whether a notice interrupted the last call: the next line may be the rest of it.
    noticed: bool,
    /// The first call that may be one of `socketcall` or `ipc`, and which.
    multiplexed: Option<(Position, String, &'static str)>,
    /// Names that were reported.
    left_out: BTreeSet<(Arch, String)>,
    calls: Calls,
    /// Names that were counted before.
    names: Names,
    /// What a notice on a terminal begins with.
    notice: Finder<'static>,
    may_have_notices: bool,
    unknown: Severity,
    messages: Messages,
    is_log: bool,
    /// The lines are those of a table.
    in_table: bool,
    /// The first line that was skipped, and how many there were.
    skipped: Option<(Position, u64)>,
}

impl Log {
    fn call(&mut self, named: Option<u32>, at: impl Fn() -> Position, name: &str, args: &str) {
        let process = self.processes.of_line(named);
        let arch = self.processes.arch(process);
        // On a terminal, a notice may interrupt a call; the rest of the line is on the next.
        let notice = if self.may_have_notices { self.notice.find(args.as_bytes()) } else { None };
        let notice = notice.and_then(|at| args.split_at_checked(at));
        self.noticed = notice.is_some();
        if let Some((_, notice)) = notice
            && let What::Attached(child) = What::of(notice)
        {
            self.processes.attached(child);
        }
        let before = notice.map(|(args, _)| args);
        let Some(args) = args.trim_end().strip_suffix(UNFINISHED).or(before) else {
            return self.count(arch, at, name, args);
        };
        if let Some(lost) = self.take(&process) {
            self.count(lost.arch, || lost.at, &lost.name, &lost.args);
        } else if self.unfinished.len() >= MAX_UNFINISHED {
            let message = format!(
                "more than {MAX_UNFINISHED} calls are unfinished at a time, the limit; this one is another"
            );
            self.messages.error(at(), message).help =
                "check that the log is complete; a log for each process (strace -ff) has none of them"
                    .to_owned();
            return;
        }
        let args = args.trim_end();
        let args = if self.kept + args.len() <= MAX_KEPT { args.to_owned() } else { String::new() };
        self.kept += args.len();
        let name = shortened(name).to_owned();
        self.unfinished.insert(process, Unfinished { arch, at: at(), name, args });
    }

    fn resumed(&mut self, named: Option<u32>, at: impl Fn() -> Position, name: &str, args: &str) {
        self.noticed = false;
        let process = self.processes.of_line(named);
        match self.take_unfinished(process, name) {
            Some(call) => {
                let args = call.args + args;
                self.count(call.arch, || call.at, &call.name, &args);
            }
            // strace came when the call was under way.
            None => self.count(self.processes.arch(process), at, name, ""),
        }
    }

    /// The first half of a call of this name.
    fn take_unfinished(&mut self, process: Option<u32>, name: &str) -> Option<Unfinished> {
        let is_it = |call: &Unfinished| shortened(name) == call.name;
        // The first process has no number until there is a second, and the last one none after that.
        let mut keys = [process, None].into_iter();
        let of_it = keys.find(|key| self.unfinished.get(key).is_some_and(is_it));
        let of_any = || self.unfinished.iter().find(|(_, call)| is_it(call)).map(|(key, _)| *key);
        let key = of_it.or_else(|| if process.is_none() { of_any() } else { None })?;
        self.take(&key)
    }

    /// The first half of the call of a process.
    fn take(&mut self, process: &Option<u32>) -> Option<Unfinished> {
        let call = self.unfinished.remove(process)?;
        self.kept = self.kept.saturating_sub(call.args.len());
        Some(call)
    }

    /// The rest of a call that a notice interrupted.
    fn rest(&mut self, rest: &str) {
        self.noticed = false;
        if let Some(call) = self.take(&self.processes.last()) {
            self.count(call.arch, || call.at, &call.name, &(call.args + rest));
        }
    }

    fn superseded(&mut self, process: Option<u32>, by: u32) {
        if let Some(call) = self.unfinished.remove(&Some(by))
            && let Some(replaced) = self.unfinished.insert(process, call)
        {
            self.kept = self.kept.saturating_sub(replaced.args.len());
        }
        if let Some(process) = process {
            self.processes.superseded(process, by);
        }
    }

    fn count(&mut self, arch: Arch, at: impl Fn() -> Position, name: &str, args: &str) {
        let found = self.names.get(arch, name).or_else(|| self.find(arch, &at, name));
        if let Some(Name { place, facts }) = found
            && let Some(seen) = self.calls.at(place)
        {
            seen.observe(values(arch, facts, args));
        }
    }

    /// Looks up a name that was not counted before; `None` where it is not counted, and that is said.
    fn find(&mut self, arch: Arch, at: impl Fn() -> Position, name: &str) -> Option<Name> {
        let unnamed = name.strip_prefix("syscall_0x");
        let given = unnamed.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let nr = given.or_else(|| {
            let shared = arch.multiplexed(name);
            if let Some((of, _)) = shared {
                self.multiplexed.get_or_insert_with(|| (at(), name.to_owned(), of));
            }
            arch.number(name).or_else(|| arch.number(shared?.0))
        });
        if let Some(nr) = nr {
            let place = self.calls.place(CallId::new(arch, nr));
            let Some(place) = place else {
                self.calls.lose(at);
                return None;
            };
            let facts = syscalls::facts(name).map(|facts| facts.args).unwrap_or_default();
            let found = Name { place, facts };
            if given.is_none() {
                self.names.insert(arch, name, found);
            }
            return Some(found);
        }
        if self.is_first(arch, name) {
            if syscalls::is_known_name(name) {
                not_of(&mut self.messages, self.unknown, at(), arch, name);
            } else {
                unknown_name(&mut self.messages, self.unknown, at(), name);
            }
        }
        None
    }

    /// Whether a name is left out for the first time: a log may have it a million times.
    fn is_first(&mut self, arch: Arch, name: &str) -> bool {
        /// More than there are messages of a text.
        const MOST: usize = 1000;
        name.len() > MAX_NAME
            || self.left_out.len() >= MOST
            || self.left_out.insert((arch, name.to_owned()))
    }
}

/// As much of a name as is kept.
fn shortened(name: &str) -> &str {
    name.get(..MAX_NAME).unwrap_or(name)
}
