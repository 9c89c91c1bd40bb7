//! Audit records of syscalls that a filter logged or denied.
//!
//! Records are raw (`type=SECCOMP` of auditd, `type=1326` of the kernel log), enriched, interpreted by `ausearch -i`,
//! which prints names instead of numbers, or in the format of the journal, which starts a message with the name of the
//! type (`SECCOMP auid=…`). Only the architecture and the syscall number are read. A record without them, for example
//! a truncated one, causes a warning; records of other types are skipped.
//!
//! Without auditd, the kernel writes records to its log and also sends them to journald's socket. journald reads both,
//! so a record may occur in both formats, and is counted once. The format of the journal has no serial number;
//! therefore the count of a syscall is the larger of the counts in the two formats.
//!
//! Sources: `audit_seccomp` in `kernel/auditsc.c`, `kauditd_printk_skb` in `kernel/audit.c`; `print_arch` and
//! `print_syscall` in auparse's `interpret.c`; `process_audit_string` in systemd's `journald-audit.c`.

use std::collections::BTreeMap;

use super::calls::BoundedCalls;
use super::lines::{Block, Line};
use crate::names::{not_on_arch, or_ignored, unknown_name};
use crate::recording::limits::MAX_CALLS;
use crate::recording::{CallId, Recording, RecordingMethod, Run};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{Arch, is_known_name};
use callgate_formats::diagnostics::messages::{Messages, Report};
use callgate_formats::diagnostics::quote::shorten;
use memchr::memmem::Finder;

/// Each record contains one of these, in `type=SECCOMP `, `type=1326 ` or the
/// [format of the journal](is_journal_record).
const MARKS: [&str; 2] = ["SECCOMP ", "1326 "];

/// Whether a line is a seccomp record.
fn is_record(line: &str) -> bool {
    line.contains("type=SECCOMP ") || line.contains("type=1326 ") || is_journal_record(line)
}

/// Whether a line is a seccomp record in the format of the journal.
fn is_journal_record(line: &str) -> bool {
    ["SECCOMP auid=", "AUDIT1326 auid="].iter().any(|start| {
        line.find(start)
            .and_then(|at| line.get(..at))
            .is_some_and(|before| before.is_empty() || before.ends_with(": "))
    })
}

/// Reads the seccomp records of a log.
pub(crate) struct AuditLog {
    unknown: Severity,
    messages: Messages,
    /// How often each syscall occurs in the format of the journal, and in other formats.
    counts: BTreeMap<CallId, [u64; 2]>,
    calls: BoundedCalls,
    is_detected: bool,
    marks: [Finder<'static>; 2],
}

impl AuditLog {
    pub(crate) fn new(unknown: Severity) -> AuditLog {
        AuditLog {
            unknown,
            messages: Messages::new(),
            counts: BTreeMap::new(),
            calls: BoundedCalls::of(Run { method: RecordingMethod::Audit, ..Run::default() }),
            is_detected: false,
            marks: MARKS.map(Finder::new),
        }
    }

    /// Whether a line of the block may be a record. Searching the block at once is fast, and most logs have no record.
    pub(crate) fn may_have_records(&self, block: Block<'_>) -> bool {
        self.marks.iter().any(|mark| mark.find(block.text.as_bytes()).is_some())
    }

    /// Whether a line was a record.
    pub(crate) fn is_detected(&self) -> bool {
        self.is_detected
    }

    /// Reads the next line.
    pub(crate) fn line(&mut self, line: Line<'_>) {
        if !is_record(line.text) {
            return;
        }
        self.is_detected = true;
        if let Some(call) = call(line, &mut self.messages, self.unknown) {
            if !self.counts.contains_key(&call) && self.counts.len() >= MAX_CALLS {
                return self.calls.lose(|| line.position(0));
            }
            let [journal, other] = self.counts.entry(call).or_default();
            *if is_journal_record(line.text) { journal } else { other } += 1;
        }
    }

    /// The recording, and messages about the log.
    pub(crate) fn finish(mut self) -> (Recording, Messages) {
        for (call, [journal, other]) in self.counts {
            let Some(index) = self.calls.index(call) else { break };
            if let Some(stats) = self.calls.get_mut(index) {
                stats.add(journal.max(other));
            }
        }
        (self.calls.finish(&mut self.messages), self.messages)
    }
}

/// The value of a field, and its byte offset in the line.
fn field<'t>(line: &'t str, key: &str) -> Option<(usize, &'t str)> {
    // The last match: `ausearch -i` prints the name of the program, which precedes these fields, without escapes. The
    // keys that an enriched record appends are in capitals.
    let at = line.rmatch_indices(key).find_map(|(at, _)| {
        let before = line.get(..at)?;
        let value = line.get(at + key.len()..)?.strip_prefix('=')?;
        let starts = before.is_empty() || before.ends_with(char::is_whitespace);
        starts.then_some(line.len() - value.len())
    })?;
    let rest = line.get(at..)?;
    // A value without a delimiter after it may be truncated.
    let end = rest.find([' ', '\n', '\r', '\u{1d}'])?;
    Some((at, rest.get(..end)?))
}

/// The syscall of a record; reports why there is none.
fn call(line: Line<'_>, messages: &mut Messages, unknown: Severity) -> Option<CallId> {
    let field = |key| field(line.text, key);
    let (Some((arch_at, arch)), Some((nr_at, nr))) = (field("arch"), field("syscall")) else {
        if messages.leave_out(unknown) {
            return None;
        }
        let message = "missing or truncated `arch` or `syscall` in this record".to_owned();
        messages.report(unknown, line.position(0), or_ignored(unknown, message)).help =
            "check that the log is complete".to_owned();
        return None;
    };
    // Raw records contain the token in hexadecimal.
    let token = u32::from_str_radix(arch, 16).ok();
    let token = token.or_else(|| Arch::from_name(arch).map(Arch::token));
    let Some(arch) = token.and_then(|token| Arch::of_call(token, 0)) else {
        if messages.leave_out(unknown) {
            return None;
        }
        let message = format!("unknown architecture \"{}\" in this record", shorten(arch));
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        messages.report(unknown, line.position(arch_at), or_ignored(unknown, message)).help =
            format!("known architectures: {}", names.join(", "));
        return None;
    };
    // `ausearch -i` prints unknown-syscall(4000).
    let digits = nr.strip_prefix("unknown-syscall(").map_or(nr, |rest| rest.trim_end_matches(')'));
    if let Ok(nr) = digits.parse::<i64>() {
        let narrow = u32::try_from(nr).ok().or_else(|| i32::try_from(nr).ok().map(|nr| nr as u32));
        if let Some(call) = narrow.and_then(|nr| CallId::of(arch.token(), nr)) {
            return Some(call);
        }
    } else if let Some(number) = arch.number(nr) {
        return Some(CallId::new(arch, number));
    } else if is_known_name(nr) {
        not_on_arch(messages, unknown, line.position(nr_at), arch, nr);
        return None;
    }
    unknown_name(messages, unknown, line.position(nr_at), nr);
    None
}
