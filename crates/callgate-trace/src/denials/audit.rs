//! Audit records of denials.

use callgate_core::{Action, Verdict};
use callgate_formats::diagnostics::quote::shorten;

use super::line::{Found, Parsed};
use super::model::LoggedCall;
use super::tally::Origin;
use crate::logs::audit::{Record, Unreadable};
use crate::logs::audit_fields::{fields, program};

/// A line as an audit record of seccomp; `None` for other lines.
pub(super) fn record(line: &str) -> Option<Parsed<'_>> {
    let record = Record::parse(line)?;
    let syscall = match record.syscall() {
        Ok(syscall) => syscall,
        Err(why) => {
            return Some(Parsed::Unread(match why {
                Unreadable::Missing => "missing or truncated arch or syscall".to_owned(),
                Unreadable::Arch(_, arch) => format!("unknown architecture \"{}\"", shorten(arch)),
                Unreadable::NotOnArch(_, arch, name) => {
                    format!("{arch} has no syscall \"{}\"", shorten(name))
                }
                Unreadable::Syscall(_, name) => format!("unknown syscall \"{}\"", shorten(name)),
            }));
        }
    };
    // The last one counts: the name of the program precedes it, which `ausearch -i` prints without escapes.
    let verdict = fields(line, "code").last().and_then(verdict);
    if verdict.is_some_and(Verdict::permits) {
        return Some(Parsed::Logged(syscall));
    }
    let has_signal = fields(line, "sig").any(|sig| matches!(sig, "31" | "SIGSYS"))
        || verdict.is_some_and(sends_signal);
    let program = program(line, record.is_raw());
    let origin = if record.is_of_journal { Origin::Journal } else { Origin::Other };
    // ABIs with wide registers have no kernels of 32 bits. x32 runs in compatibility mode, too.
    let is_of_narrow_kernel =
        !syscall.arch.has_wide_registers() && fields(line, "compat").last() == Some("0");
    let call = LoggedCall { is_of_narrow_kernel, ..LoggedCall::denied(syscall) };
    let process = fields(line, "pid").next().and_then(|pid| pid.parse().ok());
    Some(Parsed::Denial(Found { program, origin, verdict, has_signal, process, ..Found::of(call) }))
}

/// Whether an action sends `SIGSYS`.
fn sends_signal(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::KillProcess | Action::KillThread | Action::Trap(_))
}

/// The verdict of a record, in hexadecimal or as `ausearch -i` prints it.
fn verdict(code: &str) -> Option<Verdict> {
    match code {
        "allow" => Some(Verdict::ALLOW),
        "log" => Some(Verdict::LOG),
        "kill" | "kill-thread" => Some(Verdict::KILL_THREAD),
        "kill-process" => Some(Verdict::KILL_PROCESS),
        "trap" => Some(Verdict::trap(0)),
        code => {
            // Copies of enriched records lack the separator before the next field.
            let digits = code.split_once("AUID=").map_or(code, |(digits, _)| digits);
            let digits = digits.strip_prefix("0x")?;
            let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            u32::from_str_radix(digits.get(..end)?, 16).ok().map(Verdict)
        }
    }
}
