//! Audit records of syscalls that a filter logged or denied.
//!
//! Records are raw (`type=SECCOMP` of auditd, `type=1326` of the kernel log), enriched, interpreted by `ausearch -i`,
//! which prints names instead of numbers, or in the format of the journal, which starts a message with the name of the
//! type (`SECCOMP auid=…`), also behind the name of the field `MESSAGE`; or copied without their type. Only the architecture and the syscall number are read. A record without them, for example
//! a truncated one, causes a warning; records of other types are skipped.
//!
//! Without auditd, the kernel writes records to its log and also sends them to journald's socket. journald reads both,
//! so a record may occur in both formats, and is counted once. The format of the journal has no serial number;
//! therefore the count of a syscall is the larger of the counts in the two formats.
//!
//! Sources: `audit_seccomp` in `kernel/auditsc.c`, `kauditd_printk_skb` in `kernel/audit.c`; `print_arch` and
//! `print_syscall` in auparse's `interpret.c`; `process_audit_string` in systemd's `journald-audit.c`.

use super::lines::{AnyOf, Block, Line, MAX_REJECTED_LINES, rejected_lines, too_many_rejected};
use super::lost::LostRecords;
use super::markers::{Marker, Reported, reported, stems_of_denials};
use super::programs::{LogPrograms, ProgramCounts};
use super::selection::Selection;
use super::syscalls::BoundedSyscalls;
use crate::names::{not_on_arch, or_ignored, unknown_name};
use crate::recording::{Caveat, Recording, RecordingMethod, Run, SyscallId};
use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_bpf::syscalls::is_known_name;
use callgate_core::Arch;
use callgate_formats::diagnostics::messages::{Messages, Report};
use callgate_formats::diagnostics::quote::shorten;
use memchr::memchr_iter;

/// Each record contains one of these, in `type=SECCOMP `, `type=1326 ` or the format of the journal: `SECCOMP auid=` or
/// `AUDIT1326 auid=` at the start of a message.
const MARKS: [&str; 4] = ["SECCOMP ", "1326 ", "1326] ", WITHOUT_TYPE];

/// A field that records of seccomp have, and those of other types do not: people copy records without their type.
pub(crate) const WITHOUT_TYPE: &str = " compat=";

/// The type of a record, which old versions of the audit daemon do not know.
const TYPES: [&[u8]; 3] = [b"=SECCOMP ", b"=1326 ", b"=UNKNOWN[1326] "];

/// What precedes a message: the program in lines of text, and the name of the field in other formats of the journal.
const STARTS: [&[u8]; 4] = [b": ", b"MESSAGE=", b"\"MESSAGE\" : \"", b"\"MESSAGE\":\""];

/// Reads the seccomp records of a log.
pub(crate) struct AuditLog {
    unknown: Severity,
    /// The records that are read.
    selection: Selection,
    messages: Messages,
    syscalls: BoundedSyscalls,
    /// How often each of them occurs in the format of the journal, and in other formats.
    counts: Vec<[u64; 2]>,
    is_detected: bool,
    /// Whether [`MAX_REJECTED_LINES`] was exceeded, so that no further record is read.
    is_given_up: bool,
    marks: AnyOf,
    lost: LostRecords,
    markers: AnyOf,
    /// The number of lines that look like denials but are not records, and the first of them.
    unread: (u64, u64),
    /// The programs of the records that are read, and of those that are not selected.
    programs: [ProgramCounts; 2],
}

impl AuditLog {
    pub(crate) fn new(unknown: Severity) -> AuditLog {
        AuditLog {
            unknown,
            selection: Selection::default(),
            messages: Messages::new(),
            syscalls: BoundedSyscalls::of(Run { method: RecordingMethod::Audit, ..Run::default() }),
            counts: Vec::new(),
            is_detected: false,
            is_given_up: false,
            marks: AnyOf::new(&MARKS),
            lost: LostRecords::default(),
            markers: stems_of_denials(),
            unread: (0, 0),
            programs: [ProgramCounts::default(), ProgramCounts::default()],
        }
    }

    /// Reads only these records.
    pub(crate) fn select(&mut self, selection: Selection) {
        self.selection = selection;
    }

    /// Whether a line of the block may be a record, or else, if `with_messages`, a message about records or another report of a
    /// denial. Searching the block at once is fast, and most logs have none.
    pub(crate) fn may_have_records(&self, block: Block<'_>, with_messages: bool) -> bool {
        let bytes = block.text.as_bytes();
        self.marks.is_in(bytes)
            || with_messages && (self.lost.may_be_in(bytes) || self.markers.is_in(bytes))
    }

    /// Whether a line was a record.
    pub(crate) fn is_detected(&self) -> bool {
        self.is_detected
    }

    /// Reads the next line.
    pub(crate) fn line(&mut self, line: Line<'_>) {
        if self.is_given_up {
            return;
        }
        let Some(record) = Record::parse(line.text) else { return self.other(line) };
        self.is_detected = true;
        let is_selected =
            self.selection.is_empty() || self.selection.has_line(line.text, record.is_raw());
        let [read, others] = &mut self.programs;
        let programs = if is_selected { read } else { others };
        programs.add(line.text, record.is_raw(), record.is_of_journal);
        if !is_selected {
            return;
        }
        if rejected_lines(&self.messages) > MAX_REJECTED_LINES {
            self.is_given_up = true;
            self.messages.add(too_many_rejected(line.position(0)));
            return;
        }
        let Some(syscall) = syscall(line, &record, &mut self.messages, self.unknown) else {
            return;
        };
        let Some(index) = self.syscalls.index(syscall) else {
            return self.syscalls.lose(|| line.position(0));
        };
        if index >= self.counts.len() {
            self.counts.resize(index + 1, [0; 2]);
        }
        if let Some([journal, other]) = self.counts.get_mut(index) {
            *if record.is_of_journal { journal } else { other } += 1;
        }
    }

    /// Reads a line that is not a record.
    fn other(&mut self, line: Line<'_>) {
        let bytes = line.text.as_bytes();
        if self.lost.may_be_in(bytes) && self.lost.line(line.text) {
            return;
        }
        // The ends of processes are not syscalls that a recording lacks.
        let is_denial = |found: Marker| found.reported == Reported::Denial;
        if self.markers.is_in(bytes) && reported(line.text).is_some_and(is_denial) {
            let (count, first) = &mut self.unread;
            *first = if *count == 0 { line.number.into() } else { *first };
            *count = count.saturating_add(1);
        }
    }

    /// The programs of the records so far.
    pub(crate) fn take_programs(&mut self) -> LogPrograms {
        let [read, others] = std::mem::take(&mut self.programs).map(ProgramCounts::finish);
        LogPrograms { read, others }
    }

    /// The error that lines which look like denials could not be read.
    pub(crate) fn unread(&self) -> Option<Diagnostic> {
        let (count, first) = self.unread;
        let message = match count {
            0 => return None,
            1 => "this line looks like a denial, but could not be read".to_owned(),
            count => {
                format!("{count} lines look like denials, but could not be read; this is the first")
            }
        };
        let line = u32::try_from(first).unwrap_or(u32::MAX);
        Some(
            Diagnostic::error(Some(Position { line, column: 1 }), message)
                .help(Advice::AddKernelRecords),
        )
    }

    /// The recording, and messages about the log.
    pub(crate) fn finish(mut self) -> (Recording, Messages) {
        let (unread, first) = self.unread;
        let unread = (unread > 0).then(|| Caveat::unread_denials(unread, first));
        self.syscalls.add_caveats(self.lost.caveat().into_iter().chain(unread));
        for (stats, [journal, other]) in self.syscalls.all_mut().zip(self.counts) {
            stats.add(journal.max(other));
        }
        (self.syscalls.finish(&mut self.messages), self.messages)
    }
}

/// A seccomp record.
pub(crate) struct Record<'t> {
    /// Whether it has the format of the journal.
    pub(crate) is_of_journal: bool,
    /// The values that are read, each with its byte offset in the line.
    arch: Option<(usize, &'t str)>,
    syscall: Option<(usize, &'t str)>,
}

impl<'t> Record<'t> {
    /// Finds the fields of a record by their equals signs; `None` for other lines.
    pub(crate) fn parse(line: &'t str) -> Option<Record<'t>> {
        let bytes = line.as_bytes();
        // What programs write is behind the first field of the kernel.
        let fields = line.find("auid=").unwrap_or(line.len());
        let (mut is_record, mut has_type, mut arch, mut syscall) = (false, false, None, None);
        // Whether the first `SECCOMP auid=` and the first `AUDIT1326 auid=` start a message.
        let (mut is_seccomp, mut is_1326) = (None, None);
        for at in memchr_iter(b'=', bytes) {
            let (before, value) = bytes.split_at_checked(at)?;
            match before {
                [.., b't', b'y', b'p', b'e'] => {
                    has_type |= at < fields;
                    is_record |= TYPES.iter().any(|name| value.starts_with(name));
                }
                [before @ .., b' ', b'a', b'u', b'i', b'd'] => {
                    let is_start = |before: &[u8]| {
                        before.is_empty() || STARTS.iter().any(|start| before.ends_with(start))
                    };
                    if let Some(before) = before.strip_suffix(b"SECCOMP") {
                        is_seccomp = is_seccomp.or(Some(is_start(before)));
                    } else if let Some(before) = before.strip_suffix(b"AUDIT1326") {
                        is_1326 = is_1326.or(Some(is_start(before)));
                    }
                }
                // The last field of a name counts: `ausearch -i` prints the name of the program, which precedes these
                // fields, without escapes. The keys that an enriched record appends are in capitals.
                [before @ .., b'a', b'r', b'c', b'h'] if may_start_key(line, before.len()) => {
                    arch = Some(at + 1);
                }
                [before @ .., b's', b'y', b's', b'c', b'a', b'l', b'l']
                    if may_start_key(line, before.len()) =>
                {
                    syscall = Some(at + 1);
                }
                _ => {}
            }
        }
        let is_of_journal = is_seccomp == Some(true) || is_1326 == Some(true);
        let has_no_type = !has_type && is_seccomp.is_none() && is_1326.is_none();
        let is_record = is_record
            || has_no_type && arch.is_some() && syscall.is_some() && is_without_type(line);
        let value = |at: Option<usize>| at.and_then(|at| Some((at, value_at(line, at)?)));
        (is_record || is_of_journal).then(|| Record {
            is_of_journal,
            arch: value(arch),
            syscall: value(syscall),
        })
    }
}

/// Whether a line without a type has the fields of a record from the start of a message on.
fn is_without_type(line: &str) -> bool {
    let start = [line.find("audit("), line.find("auid=")].into_iter().flatten().min();
    let before = start.and_then(|at| line.get(..at));
    let starts = |before: &str| {
        let before = before.trim_start();
        before.is_empty() || [": ", "] ", "MESSAGE="].iter().any(|end| before.ends_with(end))
    };
    before.is_some_and(starts) && line.contains(WITHOUT_TYPE) && line.contains(" code=0x")
}

/// Whether a key may start at this offset of a line.
fn may_start_key(line: &str, at: usize) -> bool {
    at == 0 || line.get(..at).is_some_and(|before| before.ends_with(char::is_whitespace))
}

/// The value at this offset of a line; `None` without a delimiter after it, because it may be truncated.
fn value_at(line: &str, at: usize) -> Option<&str> {
    let rest = line.get(at..)?;
    let end = rest.bytes().position(|byte| matches!(byte, b' ' | b'\n' | b'\r' | 0x1d))?;
    rest.get(..end)
}

/// Why the syscall of a record is not known.
pub(crate) enum Unreadable<'t> {
    Missing,
    /// An unknown architecture, and its byte offset in the line.
    Arch(usize, &'t str),
    /// A syscall of other architectures.
    NotOnArch(usize, Arch, &'t str),
    /// An unknown name or number.
    Syscall(usize, &'t str),
}

impl<'t> Record<'t> {
    /// Whether the values are those of the kernel, and not interpreted by `ausearch -i`.
    pub(crate) fn is_raw(&self) -> bool {
        self.arch.is_some_and(|(_, token)| u32::from_str_radix(token, 16).is_ok())
    }

    /// The syscall.
    pub(crate) fn syscall(&self) -> Result<SyscallId, Unreadable<'t>> {
        let (Some((arch_at, arch_text)), Some((nr_at, nr))) = (self.arch, self.syscall) else {
            return Err(Unreadable::Missing);
        };
        // Raw records contain the token in hexadecimal.
        let token = u32::from_str_radix(arch_text, 16).ok();
        let token = token.or_else(|| Arch::from_name(arch_text).map(Arch::token));
        let arch = token.and_then(|token| Arch::of_syscall(token, 0));
        let arch = arch.ok_or(Unreadable::Arch(arch_at, arch_text))?;
        // `ausearch -i` prints unknown-syscall(4000).
        let digits =
            nr.strip_prefix("unknown-syscall(").map_or(nr, |rest| rest.trim_end_matches(')'));
        if let Ok(nr) = digits.parse::<i64>() {
            let signed = || i32::try_from(nr).ok().map(|nr| nr as u32);
            let narrow = u32::try_from(nr).ok().or_else(signed);
            if let Some(syscall) = narrow.and_then(|nr| SyscallId::of(arch.token(), nr)) {
                return Ok(syscall);
            }
        } else if let Some(number) = arch.number(nr) {
            return Ok(SyscallId::new(arch, number));
        } else if is_known_name(nr) {
            return Err(Unreadable::NotOnArch(nr_at, arch, nr));
        }
        Err(Unreadable::Syscall(nr_at, nr))
    }
}

/// The syscall of a record; reports why there is none.
fn syscall(
    line: Line<'_>,
    record: &Record<'_>,
    messages: &mut Messages,
    unknown: Severity,
) -> Option<SyscallId> {
    match record.syscall() {
        Ok(syscall) => return Some(syscall),
        Err(Unreadable::NotOnArch(at, arch, name)) => {
            not_on_arch(messages, unknown, line.position(at), arch, name);
        }
        Err(Unreadable::Syscall(at, name)) => {
            unknown_name(messages, unknown, line.position(at), name);
        }
        Err(Unreadable::Missing | Unreadable::Arch(..)) if messages.leave_out(unknown) => {}
        Err(Unreadable::Missing) => {
            let message = "missing or truncated `arch` or `syscall` in this record".to_owned();
            messages.report(unknown, line.position(0), or_ignored(unknown, message)).help =
                "check that the log is complete".to_owned();
        }
        Err(Unreadable::Arch(at, arch)) => {
            let message = format!("unknown architecture \"{}\" in this record", shorten(arch));
            let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
            messages.report(unknown, line.position(at), or_ignored(unknown, message)).help =
                format!("known architectures: {}", names.join(", "));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The last value of a key, found by searching for the key.
    fn field<'t>(line: &'t str, key: &str) -> Option<(usize, &'t str)> {
        let at = line.rmatch_indices(key).find_map(|(at, _)| {
            let before = &line[..at];
            let value = line[at + key.len()..].strip_prefix('=')?;
            let starts = before.is_empty() || before.ends_with(char::is_whitespace);
            starts.then_some(line.len() - value.len())
        })?;
        let end = line[at..].find([' ', '\n', '\r', '\u{1d}'])?;
        Some((at, &line[at..at + end]))
    }

    fn is_journal_record(line: &str) -> bool {
        ["SECCOMP auid=", "AUDIT1326 auid="].iter().any(|start| {
            let ends = |before: &str| {
                ["", ": ", "MESSAGE="].iter().any(|end| match *end {
                    "" => before.is_empty(),
                    end => before.ends_with(end),
                })
            };
            line.find(start).is_some_and(|at| ends(&line[..at]))
        })
    }

    proptest! {
        #[test]
        fn fields_are_those_that_a_search_finds(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "type=", "SECCOMP ", "1326 ", "UNKNOWN[1326] ", "AUDIT1326 ", "auid=", "arch=", "syscall=", "1", "c000003e", " ",
                    "\u{a0}", ": ", "é", "=", "arch", "\u{1d}", "\n", "x", "MESSAGE=",
                ]),
                0..24,
            ),
        ) {
            let line = parts.concat();
            let is_of_journal = is_journal_record(&line);
            let is_record = ["type=SECCOMP ", "type=1326 ", "type=UNKNOWN[1326] "]
                .iter()
                .any(|name| line.contains(name));
            let record = Record::parse(&line);
            prop_assert_eq!(record.is_some(), is_record || is_of_journal);
            if let Some(record) = record {
                prop_assert_eq!(record.is_of_journal, is_of_journal);
                prop_assert_eq!(record.arch, field(&line, "arch"));
                prop_assert_eq!(record.syscall, field(&line, "syscall"));
            }
        }
    }
}
