//! Records of the audit log about calls that a filter logged or denied.
//!
//! Raw (`type=SECCOMP` of auditd, `type=1326` of the kernel's own log), enriched, or interpreted by
//! `ausearch -i`, which writes names instead of numbers; or in the journal's form, whose messages are the
//! name of the type and the fields (`SECCOMP auid=…`). Only the arch and the number of the call are
//! read. A record without them, perhaps cut off, is a warning; lines of other types are skipped.
//!
//! Without auditd, the kernel writes records to its log and sends them to journald's socket, too, and
//! journald reads both: what is there in both forms is counted once. The journal's form has no serial number,
//! so for each call the larger count is taken.
//!
//! Sources: `audit_seccomp` in `kernel/auditsc.c`, `kauditd_printk_skb` in `kernel/audit.c`; `print_arch` and
//! `print_syscall` in auparse's `interpret.c`; `process_audit_string` in systemd's `journald-audit.c`.

use std::collections::BTreeMap;

use super::calls::{Calls, MAX_CALLS};
use super::lines::{Block, Line};
use crate::counts::unknown_name;
use crate::read::not_of;
use crate::recording::{CallId, How, Recording, Run};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{Arch, is_known_name};
use callgate_formats::messages::{Messages, Report};
use callgate_formats::tree::shorten;
use memchr::memmem::Finder;

/// Each record that is read here has one of these: `type=SECCOMP `, `type=1326 `, and what is written
/// [in the journal](is_of_journal).
const MARKS: [&str; 2] = ["SECCOMP ", "1326 "];

/// Whether a line is a record that is read here.
fn is_record(line: &str) -> bool {
    line.contains("type=SECCOMP ") || line.contains("type=1326 ") || is_of_journal(line)
}

/// Whether it is one in the form of journald, which names the types that it knows.
fn is_of_journal(line: &str) -> bool {
    ["SECCOMP auid=", "AUDIT1326 auid="].iter().any(|start| {
        line.find(start)
            .and_then(|at| line.get(..at))
            .is_some_and(|before| before.is_empty() || before.ends_with(": "))
    })
}

/// The records of a log.
pub(crate) struct Log {
    unknown: Severity,
    messages: Messages,
    /// How often each call is in the form of the journal, and in another.
    counts: BTreeMap<CallId, [u64; 2]>,
    calls: Calls,
    is_log: bool,
    marks: [Finder<'static>; 2],
}

impl Log {
    pub(crate) fn new(unknown: Severity) -> Log {
        Log {
            unknown,
            messages: Messages::new(),
            counts: BTreeMap::new(),
            calls: Calls::of(Run { how: How::Audit, ..Run::default() }),
            is_log: false,
            marks: MARKS.map(Finder::new),
        }
    }

    /// Whether one of the lines may be a record. Searching all of them at once is fast, and most logs have none.
    pub(crate) fn may_have_records(&self, block: Block<'_>) -> bool {
        self.marks.iter().any(|mark| mark.find(block.text.as_bytes()).is_some())
    }

    /// Whether there was a record.
    pub(crate) fn is_log(&self) -> bool {
        self.is_log
    }

    /// The next line.
    pub(crate) fn line(&mut self, line: Line<'_>) {
        if !is_record(line.text) {
            return;
        }
        self.is_log = true;
        if let Some(call) = call(line, &mut self.messages, self.unknown) {
            if !self.counts.contains_key(&call) && self.counts.len() >= MAX_CALLS {
                return self.calls.lose(|| line.position(0));
            }
            let [journal, other] = self.counts.entry(call).or_default();
            *if is_of_journal(line.text) { journal } else { other } += 1;
        }
    }

    pub(crate) fn finish(mut self) -> (Recording, Messages) {
        for (call, [journal, other]) in self.counts {
            if let Some(place) = self.calls.place(call)
                && let Some(seen) = self.calls.at(place)
            {
                seen.add(journal.max(other));
            }
        }
        (self.calls.finish(&mut self.messages), self.messages)
    }
}

/// The value of a field, and its byte offset in the line.
fn field<'t>(line: &'t str, key: &str) -> Option<(usize, &'t str)> {
    // The last one: before it stands the name of the program, which `ausearch -i` prints as it is. What
    // an enriched record adds behind has keys in capitals.
    let at = line.rmatch_indices(key).find_map(|(at, _)| {
        let before = line.get(..at)?;
        let value = line.get(at + key.len()..)?.strip_prefix('=')?;
        let starts = before.is_empty() || before.ends_with(char::is_whitespace);
        starts.then_some(line.len() - value.len())
    })?;
    let rest = line.get(at..)?;
    // A value that nothing ends may be cut off.
    let end = rest.find([' ', '\n', '\r', '\u{1d}'])?;
    Some((at, rest.get(..end)?))
}

fn call(line: Line<'_>, messages: &mut Messages, unknown: Severity) -> Option<CallId> {
    let field = |key| field(line.text, key);
    let (Some((arch_at, arch)), Some((nr_at, nr))) = (field("arch"), field("syscall")) else {
        let message = "this record has no whole `arch` and `syscall`, so it is left out";
        messages.report(unknown, line.position(0), message).help =
            "check that the log is complete".to_owned();
        return None;
    };
    // Raw records have the token in hexadecimal.
    let token = u32::from_str_radix(arch, 16).ok();
    let token = token.or_else(|| Arch::from_name(arch).map(Arch::token));
    let Some(arch) = token.and_then(|token| Arch::of_call(token, 0)) else {
        let message =
            format!("the arch \"{}\" is not known; the record is left out", shorten(arch));
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        messages.report(unknown, line.position(arch_at), message).help =
            format!("known are {}", names.join(", "));
        return None;
    };
    // `ausearch -i` writes unknown-syscall(4000).
    let digits = nr.strip_prefix("unknown-syscall(").map_or(nr, |rest| rest.trim_end_matches(')'));
    if let Ok(nr) = digits.parse::<i64>() {
        let narrow = u32::try_from(nr).ok().or_else(|| i32::try_from(nr).ok().map(|nr| nr as u32));
        if let Some(call) = narrow.and_then(|nr| CallId::of(arch.token(), nr)) {
            return Some(call);
        }
    } else if let Some(number) = arch.number(nr) {
        return Some(CallId::new(arch, number));
    } else if is_known_name(nr) {
        not_of(messages, unknown, line.position(nr_at), arch, nr);
        return None;
    }
    unknown_name(messages, unknown, line.position(nr_at), nr);
    None
}
