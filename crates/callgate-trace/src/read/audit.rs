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

use super::not_of;
use crate::counts::unknown_name;
use crate::recording::{CallId, How, Recording, Run};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{Arch, is_known_name};
use callgate_formats::reader::Reader;
use callgate_formats::tree::shorten;

/// Whether a line is a record that is read here.
pub(super) fn is_record(line: &str) -> bool {
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

pub(super) fn read(text: &str, reader: &mut Reader<'_>, unknown: Severity) -> Recording {
    let mut recording = Recording::of(Run { how: How::Audit, ..Run::default() });
    let mut counts: BTreeMap<CallId, [u64; 2]> = BTreeMap::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if is_record(line)
            && let Some(call) = call(line, start, reader, unknown)
        {
            let [journal, other] = counts.entry(call).or_default();
            *if is_of_journal(line) { journal } else { other } += 1;
        }
        start += line.len();
    }
    for (call, [journal, other]) in counts {
        recording.count(call, journal.max(other));
    }
    recording
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

fn call(line: &str, start: usize, reader: &mut Reader<'_>, unknown: Severity) -> Option<CallId> {
    let (Some((arch_at, arch)), Some((nr_at, nr))) = (field(line, "arch"), field(line, "syscall"))
    else {
        let message = "this record has no whole `arch` and `syscall`, so it is left out";
        reader.report(unknown, start, message).help = "check that the log is complete".to_owned();
        return None;
    };
    // Raw records have the token in hexadecimal.
    let token = u32::from_str_radix(arch, 16).ok();
    let token = token.or_else(|| Arch::from_name(arch).map(Arch::token));
    let Some(arch) = token.and_then(|token| Arch::of_call(token, 0)) else {
        let message =
            format!("the arch \"{}\" is not known; the record is left out", shorten(arch));
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        reader.report(unknown, start + arch_at, message).help =
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
        not_of(reader, unknown, start + nr_at, arch, nr);
        return None;
    }
    unknown_name(reader, unknown, start + nr_at, nr);
    None
}
