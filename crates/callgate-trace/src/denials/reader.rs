//! Reads the denials of a log.

use std::borrow::Cow;
use std::collections::BTreeMap;

use callgate_core::Arch;
use memchr::memmem::Finder;

use super::error_hints::{Unnamed, may_be_hint};
use super::error_sentences::NO_NAMESPACE;
use super::go_traceback;
use super::jvm;
use super::line::{Dump, Found, Parsed};
use super::model::{DenialLog, Evidence, LoggedCall, MAX_DENIALS, MAX_UNREAD, UnreadLine, kept};
use super::other_records::OtherRecords;
use super::recognized::is_of_kernel;
use super::report::Settings;
use super::signals::{Death, Deaths, Denied, PendingSignals};
use super::tally::Tally;
use super::tombstone;
use super::translations::in_english;
use super::wrapped::{Pieces, Wrapped};
use super::{audit, report, stack, strace};
use crate::logs::audit::WITHOUT_TYPE;
use crate::logs::audit_fields::journal_message;
use crate::logs::lines::{AnyOf, MAX_LINE};
use crate::logs::lost::LostRecords;
use crate::logs::markers::{KILLED, Marker, is_other_record, reported, stems};
use crate::logs::selection::Selection;
use crate::logs::strace::{LogLine, LoggedSyscall, SyscallLog};
use crate::recording::SyscallId;

/// Every line that is read contains one of these or a marker, except those of strace.
const MARKS: [&str; 12] = [
    "SECCOMP",
    "1326",
    "_syscall",
    WITHOUT_TYPE,
    "\"syscall\"",
    " errno=",
    " res=-",
    "SANDBOX VIOLATION",
    "ot permitted",
    "ermission denied",
    "ot implemented",
    NO_NAMESPACE,
];

/// In this many lines at the start of a text, messages in other languages than English are read, too, and errors that name no syscall
/// get a reason.
const MAX_TRANSLATED: u64 = 1000;

/// Which arguments of a call matter, a bit for each; `None` if the call is not a denial of the filter.
type Relevant<'a> = dyn FnMut(&LoggedCall) -> Option<u8> + 'a;

/// Reads the denials of a log that arrives in pieces.
///
/// ```
/// use callgate_core::Arch;
/// use callgate_trace::denials::DenialReader;
///
/// let log = "type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 comm=\"app\" exe=\"/app\" sig=0 arch=c000003e syscall=165 \
///            compat=0 ip=0x1 code=0x50001\n";
/// let mut reader = DenialReader::new(Arch::X86_64, |_| Some(0));
/// reader.push(log.as_bytes());
/// let log = reader.finish();
/// assert_eq!(log.denials[0].call.syscall.name(), Some("mount"));
/// assert_eq!(log.denials[0].programs, [("app".to_owned(), 1)]);
/// ```
pub struct DenialReader<'a> {
    settings: Settings,
    selection: Selection,
    /// Whether the line that is read says that it is of what is selected.
    is_line_selected: bool,
    relevant: Box<Relevant<'a>>,
    pieces: Pieces,
    marks: AnyOf,
    markers: AnyOf,
    syscalls: SyscallLog,
    deaths: Deaths,
    signals: PendingSignals,
    dump: Option<Dump>,
    /// The architecture of the register that the command in the line before prints.
    asked: Option<Arch>,
    begins_report: Finder<'static>,
    begins_record: AnyOf,
    wrapped: Option<Wrapped>,
    tally: Tally,
    logged: BTreeMap<SyscallId, u64>,
    /// The first error of a syscall that is not known, or the first about whose kind more is known.
    unnamed: Option<(u64, Unnamed, String)>,
    other: OtherRecords,
    lost_records: LostRecords,
    /// What is known so far, without what the fields above count.
    log: DenialLog,
}

impl<'a> DenialReader<'a> {
    /// A reader. `arch` is the architecture of reports that do not name one. `relevant` says for each call whether it is a
    /// denial of the filter, and which of its arguments matter.
    pub fn new(
        arch: Arch,
        relevant: impl FnMut(&LoggedCall) -> Option<u8> + 'a,
    ) -> DenialReader<'a> {
        DenialReader {
            settings: Settings {
                arch,
                is_given: false,
                is_arch_given: false,
                is_hint_wanted: true,
            },
            selection: Selection::default(),
            is_line_selected: false,
            relevant: Box::new(relevant),
            pieces: Pieces::default(),
            marks: AnyOf::new(&MARKS),
            markers: stems(),
            syscalls: SyscallLog::new(arch),
            deaths: Deaths::default(),
            signals: PendingSignals::default(),
            dump: None,
            asked: None,
            begins_report: Finder::new(Wrapped::START),
            begins_record: AnyOf::new(&["SECCOMP", "1326"]),
            wrapped: None,
            tally: Tally::default(),
            logged: BTreeMap::new(),
            unnamed: None,
            other: OtherRecords::new(),
            lost_records: LostRecords::default(),
            log: DenialLog::default(),
        }
    }

    /// The text is not a log, but what somebody gives as a report of a denial: lines in words of their own are read, too.
    #[must_use]
    pub fn given(mut self) -> DenialReader<'a> {
        self.settings.is_given = true;
        self
    }

    /// Only denials of some programs, processes, units or containers count; others, and those of which the log does not say whose
    /// they are, are counted as [unselected](DenialLog::unselected).
    #[must_use]
    pub fn selecting(mut self, selection: Selection) -> DenialReader<'a> {
        self.selection = selection;
        self
    }

    /// The architecture is one that somebody gave. Otherwise some reports that do not name it are not read, such as those of
    /// Android, which are rarely from this machine.
    #[must_use]
    pub fn of_given_arch(mut self) -> DenialReader<'a> {
        self.settings.is_arch_given = true;
        self
    }

    /// Adds a piece of the text.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.push(bytes, &mut |line| self.line(line));
        self.pieces = pieces;
    }

    /// The denials in the complete text.
    pub fn finish(mut self) -> DenialLog {
        std::mem::take(&mut self.pieces).finish(&mut |line| self.line(line));
        if let Some(Wrapped { first, text, .. }) = self.wrapped.take() {
            self.text(first, &text);
        }
        self.settle_dump();
        let death = self.deaths.settled();
        self.settle_death(death);
        self.settle_signals(u64::MAX);
        if let Some((number, Unnamed { why, .. }, text)) = self.unnamed.take() {
            let log = &self.log;
            let is_of_others = log.is_of_kernel && !self.settings.is_given;
            let is_known = log.is_recognized || log.unread.count > 0 || log.not_installed.is_some();
            if !is_known && !is_of_others {
                self.unread(number, why.to_owned(), &text);
            }
        }
        let (denials, lost) = self.tally.finish();
        let (other, failed) = self.other.finish();
        let is_recognized = self.log.is_recognized || self.log.is_of_kernel;
        let lost_records = self.lost_records.caveat();
        let mut logged_calls: Vec<(SyscallId, u64)> = self.logged.into_iter().collect();
        logged_calls.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        DenialLog {
            denials,
            logged_calls,
            is_recognized,
            other,
            failed,
            lost_records,
            lost,
            ..self.log
        }
    }

    /// Reads the next line; `None` for one that is too long.
    fn line(&mut self, line: Option<&[u8]>) {
        self.log.lines += 1;
        let number = self.log.lines;
        let Some(line) = line else {
            let why = format!("a line longer than {} MiB", MAX_LINE >> 20);
            return self.unread(number, why, "");
        };
        let text = String::from_utf8_lossy(line);
        // The rest of the report is missing if a line reports something by itself.
        if let Some(Wrapped { first, text: cut, .. }) =
            self.wrapped.take_if(|wrapped| wrapped.ends_before(&text))
        {
            self.text(first, &cut);
        }
        if let Some(wrapped) = &mut self.wrapped {
            let is_whole = wrapped.add(&text);
            if let Some(Wrapped { first, text, .. }) = self.wrapped.take_if(|_| is_whole) {
                self.text(first, &text);
            }
            return;
        }
        if self.begins_report.find(line).is_some() {
            self.wrapped = Wrapped::begin(&text, number);
        } else if self.begins_record.is_in(line) {
            self.wrapped = Wrapped::begin_record(&text, number);
        }
        if self.wrapped.is_none() {
            self.text(number, &text);
        }
    }

    /// Reads a line, which may be joined from several.
    fn text(&mut self, number: u64, text: &str) {
        self.is_line_selected = false;
        if self.dump.as_mut().is_some_and(|dump| !dump.line(text, number)) {
            self.settle_dump();
        }
        match self.syscalls.line(text) {
            LogLine::Syscall(syscall) => {
                self.log.is_recognized = true;
                self.syscall(number, text, &syscall);
            }
            LogLine::End { process, by_sigsys } => {
                self.log.is_recognized = true;
                if by_sigsys {
                    self.deaths.end(process, number, text);
                } else {
                    let death = self.deaths.other(process);
                    self.settle_death(death);
                }
            }
            LogLine::Part | LogLine::Notice => {}
            LogLine::Other => {
                let death = self.deaths.settled();
                self.settle_death(death);
                self.other(number, text);
            }
        }
    }

    /// Reads a syscall of strace.
    fn syscall(&mut self, number: u64, text: &str, syscall: &LoggedSyscall<'_>) {
        let process = syscall.process;
        let parsed = strace::denial(syscall).unwrap_or(Parsed::Nothing);
        match parsed {
            Parsed::Denial(found) if found.call.evidence == Evidence::NoReturn => {
                self.settle_signals(number);
                let call = found.call;
                let is_counted = self.denial(number, found);
                self.deaths.without_result(process, call, is_counted);
            }
            parsed => {
                let death = self.deaths.other(process);
                self.settle_death(death);
                self.add(number, text, parsed);
            }
        }
    }

    /// Counts the syscall that ended processes, unless another line reports it.
    fn settle_death(&mut self, death: Option<Death>) {
        let Some(death) = death else { return };
        let Death { line, text, is_counted, .. } = &death;
        self.settle_signals(*line);
        let may_be = |syscall| death.may_be_in(syscall);
        if self.signals.explains_end(*line, may_be) || *is_counted {
            return;
        }
        match death.denied() {
            Denied::Call(call) => {
                self.denial(*line, Found { has_signal: true, ..Found::of(call) });
                self.signals.explains_end(*line, may_be);
            }
            Denied::Unknown(why) => self.signals.add(*line, Marker { why, ..KILLED }, text),
        }
    }

    /// Reads a line that is not one of strace.
    fn other(&mut self, number: u64, text: &str) {
        self.log.is_of_kernel = self.log.is_of_kernel || is_of_kernel(text);
        if self.other.line(number, text) {
            self.log.is_of_kernel = true;
            return;
        }
        // What somebody copied from a terminal is short.
        let is_short = self.settings.is_given || number <= MAX_TRANSLATED;
        let english = if is_short { in_english(text) } else { Cow::Borrowed(text) };
        let text = &*english;
        let bytes = text.as_bytes();
        if self.signals.await_stack() {
            if let Some(function) = stack::innermost(text) {
                return self.signals.innermost(number, function);
            }
            let asked = std::mem::replace(&mut self.asked, stack::asked(text));
            let answer = || stack::answer(text, asked?);
            if let Some(syscall) = stack::register(text).or_else(answer) {
                return self.signals.register(number, syscall);
            }
        }
        let may_be_lost = self.lost_records.may_be_in(bytes);
        let may_be_denial = self.settings.is_given
            || self.markers.is_in(bytes)
            || self.marks.is_in(bytes)
            || is_short && may_be_hint(text);
        if !(may_be_lost || may_be_denial) {
            return;
        }
        if !self.selection.is_empty() {
            self.is_line_selected = self.selection.has_line(text, true);
        }
        // Other fields of an entry in JSON have texts of programs.
        let message = journal_message(text);
        let text = message.as_deref().unwrap_or(text);
        // Bold text, where somebody shows a record to others.
        let plain = ["**syscall=", "**arch="]
            .iter()
            .any(|bold| text.contains(bold))
            .then(|| text.replace("**", ""));
        let text = plain.as_deref().unwrap_or(text);
        let of_snap = record_of_snappy(text);
        let text = of_snap.as_deref().unwrap_or(text);
        if is_other_record(text) {
            return;
        }
        if may_be_lost && self.lost_records.line(text) {
            self.log.is_recognized = true;
            return;
        }
        if may_be_denial && self.log.not_installed.is_none() && is_installation(text) {
            let why = "a container runtime could not install its filter".to_owned();
            let failed = UnreadLine { line: number, why, text: kept(text) };
            self.log.not_installed = Some(failed);
            return;
        }
        let parsed = match audit::record(text) {
            Some(record) => record,
            None => match tombstone::sentence(text, number) {
                Some(Ok(tombstone)) => Parsed::Dump(Dump::Tombstone(tombstone)),
                Some(Err(why)) => Parsed::Unread(why),
                None => match go_traceback::header(text, number) {
                    Some(traceback) => Parsed::Dump(Dump::Go(traceback)),
                    None => match jvm::header(text, number) {
                        Some(log) => Parsed::Dump(Dump::Jvm(log)),
                        None => report::report(
                            text,
                            &Settings { is_hint_wanted: is_short, ..self.settings },
                        ),
                    },
                },
            },
        };
        self.add(number, text, parsed);
    }

    fn add(&mut self, number: u64, text: &str, parsed: Parsed<'_>) {
        self.settle_signals(number);
        match parsed {
            Parsed::Nothing => {}
            Parsed::Logged(syscall) => {
                self.log.is_recognized = true;
                if !self.selection.is_empty() && !self.is_line_selected {
                    self.log.unselected += 1;
                    return;
                }
                self.log.logged += 1;
                // The heading of snappy-debug is about the line "Log:" below it.
                if text.trim_start().starts_with(OF_SNAPPY) {
                    self.signals.explain(number, None, Some(syscall));
                }
                if self.logged.len() < MAX_DENIALS || self.logged.contains_key(&syscall) {
                    *self.logged.entry(syscall).or_default() += 1;
                }
            }
            // Of another program, it is of no interest.
            Parsed::Unread(_) if !self.is_line_selected && self.selection.says_whose(text) => {
                self.log.unselected += 1;
            }
            Parsed::Unread(why) => self.unread(number, why, text),
            Parsed::Unnamed(found) => {
                let is_better = |(_, known, _): &(u64, Unnamed, String)| {
                    found.is_specific && !known.is_specific
                };
                if self.unnamed.as_ref().is_none_or(is_better) {
                    self.unnamed = Some((number, found, kept(text)));
                }
            }
            Parsed::Signal(found) => {
                self.signals.add(number, found, text);
                if let Some(function) = stack::in_title(text) {
                    self.signals.innermost(number, function);
                }
            }
            // The header and the line `siginfo:` of one log.
            Parsed::Dump(Dump::Jvm(_)) if matches!(self.dump, Some(Dump::Jvm(_))) => {}
            Parsed::Dump(dump) => {
                self.settle_dump();
                self.dump = Some(dump);
            }
            Parsed::Denial(found) => {
                self.denial(number, found);
            }
        }
    }

    /// Counts a denial; returns whether it is one.
    fn denial(&mut self, number: u64, found: Found<'_>) -> bool {
        self.log.is_recognized = true;
        let Found { mut call, program, origin, verdict, has_signal, is_arch_assumed, process } =
            found;
        if call.evidence == Evidence::Filter {
            self.signals.explain(number, process, Some(call.syscall));
            self.log.assumed_arch += u64::from(is_arch_assumed);
        }
        let is_selected = self.selection.is_empty()
            || self.is_line_selected
            || program.as_ref().is_some_and(|program| self.selection.has_program(program))
            || process.is_some_and(|process| self.selection.has_process(process));
        if !is_selected {
            self.log.unselected += u64::from(call.evidence == Evidence::Filter);
            return false;
        }
        let Some(mask) = (self.relevant)(&call) else { return false };
        if call.evidence == Evidence::NoReturn {
            self.signals.explain(number, process, Some(call.syscall));
        }
        for (index, arg) in call.args.iter_mut().enumerate() {
            *arg = arg.filter(|_| mask >> index & 1 == 1);
        }
        self.tally.add(call, program.as_deref(), verdict, has_signal, origin);
        true
    }

    /// Adds the crash dump whose registers were read, or do not follow.
    fn settle_dump(&mut self) {
        let Some(dump) = self.dump.take() else { return };
        let (line, text) = dump.start();
        self.log.is_of_android |= matches!(dump, Dump::Tombstone(_));
        match (dump.syscall(self.settings.arch), &dump) {
            (Ok((syscall, is_arch_assumed)), _) => {
                // The kernel may have written a record of it, too.
                if !self.signals.has_record(line, syscall) {
                    let call = LoggedCall::denied(syscall);
                    self.denial(
                        line,
                        Found { has_signal: true, is_arch_assumed, ..Found::of(call) },
                    );
                }
            }
            (Err(_), Dump::Go(_) | Dump::Jvm(_)) => {
                if let Some(found) = reported(text) {
                    self.signals.add(line, found, text);
                }
            }
            (Err(why), Dump::Tombstone(_)) => {
                // The line about the signal is of the same dump.
                self.signals.explain(line, None, None);
                self.unread(line, why, text);
            }
        }
    }

    /// Counts the reports of signals that no line from this one on can explain.
    fn settle_signals(&mut self, line: u64) {
        for signal in self.signals.unexplained(line) {
            if let Some(syscall) = signal.register {
                let call = LoggedCall::denied(syscall);
                self.denial(signal.line, Found { has_signal: true, ..Found::of(call) });
                continue;
            }
            let arch = self.settings.arch;
            let found = signal.function.as_deref().map(|name| stack::syscall(name, arch));
            match found {
                Some(Ok(nr)) => {
                    let call = LoggedCall::denied(SyscallId::new(arch, nr));
                    let found =
                        Found { has_signal: true, is_arch_assumed: true, ..Found::of(call) };
                    self.log.from_stacks += u64::from(self.denial(signal.line, found));
                }
                Some(Err(why)) => self.unread(signal.line, why, &signal.text),
                None => self.unread(signal.line, signal.found.why.to_owned(), &signal.text),
            }
        }
    }

    fn unread(&mut self, line: u64, why: String, text: &str) {
        self.log.unread.count += 1;
        let lines = &mut self.log.unread.lines;
        // Those of signals are known later.
        let at = lines.partition_point(|known| known.line < line);
        if at < MAX_UNREAD {
            let text = kept(text);
            lines.insert(at, UnreadLine { line, why, text });
            lines.truncate(MAX_UNREAD);
        }
    }
}

/// How a record begins in the output of snappy-debug.
const OF_SNAPPY: &str = "Log: auid=";

/// A record as snappy-debug prints it: `Log: auid=… arch=c000003e 165(mount) compat=0 …`, with the key of the syscall.
fn record_of_snappy(text: &str) -> Option<String> {
    let (before, rest) = text.contains(OF_SNAPPY).then(|| text.split_once(" arch="))??;
    let (arch, rest) = rest.split_once(' ')?;
    let (syscall, rest) = rest.split_once(' ')?;
    let (number, name) = syscall.split_once('(')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && name.ends_with(')'))
        .then(|| format!("{before} arch={arch} syscall={number} {rest}"))
}

/// Whether a line says that runc or crun could not install a filter, as libseccomp did not take a rule of it.
fn is_installation(text: &str) -> bool {
    [
        "adding seccomp filter rule for",
        "add seccomp filter rule for",
        "seccomp_rule_add",
        "invalid seccomp syscall",
    ]
    .iter()
    .any(|part| text.contains(part))
}
