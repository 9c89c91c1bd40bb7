//! Reports of `SIGSYS`, by debuggers and by programs.

use std::borrow::Cow;

use callgate_bpf::SyscallTable;
use callgate_core::Arch;
use callgate_formats::diagnostics::quote::shorten;

use super::error_hints::unnamed;
use super::error_message::{self, Message};
use super::error_text::Errno;
use super::free_text::{self, Trust};
use super::line::{self, Parsed};
use super::model::{Evidence, LoggedCall};
use super::sandboxes;
use crate::logs::markers::{ANDROID, Marker, Reported, reported};
use crate::recording::SyscallId;

/// How reports are read.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    /// The architecture of a report that does not name it.
    pub(super) arch: Arch,
    /// Whether the line is given by itself, so that it may have any form.
    pub(super) is_given: bool,
    /// Whether the architecture is one that somebody gave, and not that of this machine.
    pub(super) is_arch_given: bool,
    /// Whether to say why an error names no syscall, which takes longer than to read it.
    pub(super) is_hint_wanted: bool,
}

/// A line as a report.
pub(super) fn report<'l>(line: &'l str, settings: &Settings) -> Parsed<'l> {
    let arch = settings.arch;
    const BEFORE: [&str; 4] = [
        "bad syscall (",
        "blocked syscall: ",
        "Disallowed syscall \"",
        "Caught a bad syscall attempt (syscall ",
    ];
    let with_arch = [siginfo, openssh, apt, disallowed_access].iter().find_map(|read| read(line));
    if let Some(found) = with_arch {
        return parsed(found, Facts { has_signal: true, ..Facts::default() });
    }
    if let Some(report) = sandboxes::report(line, arch) {
        return report;
    }
    let found = BEFORE.iter().find_map(|before| number_after(line, before, arch));
    let found = found.or_else(|| siginfo_alone(line, arch));
    match found.or_else(|| firefox(line, arch)).or_else(|| chromium(line, arch)) {
        Some(found) => {
            let args = args(line);
            parsed(found, Facts { args, has_signal: true, is_arch_assumed: true })
        }
        None => match marked(line, settings) {
            Parsed::Nothing => failed(line, settings),
            other => other,
        },
    }
}

/// An error message of a program.
fn failed<'l>(line: &'l str, settings: &Settings) -> Parsed<'l> {
    let Settings { arch, is_given, is_hint_wanted, .. } = *settings;
    let Some(Message { syscall, errno, program, flags }) = error_message::message(line, is_given)
    else {
        let why = is_hint_wanted.then(|| unnamed(line, is_given)).flatten();
        return why.map_or(Parsed::Nothing, Parsed::Unnamed);
    };
    let Some(nr) = arch.number(syscall) else {
        let why = format!("{arch} has no syscall \"{syscall}\"");
        return if is_given { Parsed::Unread(why) } else { Parsed::Nothing };
    };
    let errno = match errno {
        Errno::Perm => 1,
        Errno::Access => 13,
        Errno::NoSys => arch.enosys(),
    };
    let mut args = [None; 6];
    // Of `clone`, s390 has the stack first.
    let at = usize::from(matches!(arch, Arch::S390 | Arch::S390x));
    if let Some(slot) = args.get_mut(at) {
        *slot = flags;
    }
    let evidence = Evidence::Failed(errno);
    let call = LoggedCall { args, evidence, ..LoggedCall::denied(SyscallId::new(arch, nr)) };
    let program = program.map(Cow::Borrowed);
    Parsed::Denial(line::Found { program, ..line::Found::of(call) })
}

/// What a line says besides the syscall.
#[derive(Default)]
struct Facts {
    args: [Option<u64>; 6],
    has_signal: bool,
    is_arch_assumed: bool,
}

fn parsed(found: Found, facts: Facts) -> Parsed<'static> {
    let Facts { args, has_signal, is_arch_assumed } = facts;
    match found {
        Ok(syscall) => {
            let call = LoggedCall { args, ..LoggedCall::denied(syscall) };
            Parsed::Denial(line::Found { has_signal, is_arch_assumed, ..line::Found::of(call) })
        }
        Err(why) => Parsed::Unread(why),
    }
}

/// A line without a known form.
fn marked<'l>(line: &'l str, settings: &Settings) -> Parsed<'l> {
    let Settings { arch, is_given, is_arch_given, .. } = *settings;
    let marker = reported(line);
    let trust = match marker {
        _ if is_given => Some(Trust::Given),
        Some(Marker { reported: Reported::Denial, .. }) => Some(Trust::Marked),
        _ => None,
    };
    let trust = trust.filter(|_| marker.is_none_or(Marker::names_syscall));
    match trust.and_then(|trust| free_text::report(line, arch, trust)) {
        Some(Ok(free_text::Reported { is_arch_assumed: true, .. }))
            if !is_arch_given && is_of_android(line) =>
        {
            return Parsed::Signal(ANDROID);
        }
        Some(Ok(free_text::Reported { syscall, is_arch_assumed })) => {
            let has_signal = has_signal(line);
            return parsed(Ok(syscall), Facts { has_signal, is_arch_assumed, ..Facts::default() });
        }
        Some(Err(why)) => return Parsed::Unread(why),
        None => {}
    }
    match marker {
        Some(Marker { reported: Reported::Denial, why, .. }) => Parsed::Unread(why.to_owned()),
        Some(found) => Parsed::Signal(found),
        None => Parsed::Nothing,
    }
}

/// Whether a line is one of Android's C library about a signal. Phones rarely have the architecture of this machine.
fn is_of_android(line: &str) -> bool {
    line.contains("Fatal signal 31 (SIGSYS)")
}

/// Whether a line in words of its own says that the process got `SIGSYS`.
fn has_signal(line: &str) -> bool {
    ["SIGSYS", "ad system call", "signal 31", "sig=31"].iter().any(|text| line.contains(text))
}

type Found = Result<SyscallId, String>;

/// `si_syscall=__NR_mount, si_arch=AUDIT_ARCH_X86_64` of strace, `_syscall = 165, _arch = 3221225534` of gdb.
fn siginfo(line: &str) -> Option<Found> {
    let nr = value(line, "_syscall")?;
    let token = value(line, "_arch")?;
    let named = Arch::ALL.iter().find(|arch| arch.audit_name() == token);
    let token = named.map(|arch| arch.token()).or_else(|| number(token));
    let Some(token) = token else {
        return Some(Err("unknown architecture in a report of SIGSYS".to_owned()));
    };
    let name = nr.strip_prefix("__NR_").unwrap_or(nr);
    // Of the ABIs of a token, the one that has the name, or that has the number.
    let by_name = Arch::with_token(token)
        .find_map(|arch| arch.number(name).map(|nr| SyscallId::new(arch, nr)));
    let found = by_name.or_else(|| SyscallId::of(token, number(name)?));
    Some(found.ok_or_else(|| format!("unknown syscall \"{}\"", shorten(nr))))
}

/// `si_syscall=__NR_mount` without the architecture, as people copy it.
fn siginfo_alone(line: &str, arch: Arch) -> Option<Found> {
    let (_, rest) = line.split_once("si_syscall=__NR_")?;
    // The rest of a line that was wrapped may be missing.
    let is_cut = line.contains("{si_signo") && !line.contains('}');
    let is_alone = !line.contains("si_arch") && !is_cut;
    word(rest).filter(|_| is_alone).map(|name| of_arch(name, arch))
}

/// The value of a key, with or without `si` before it, after an equals sign.
fn value<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    let after = line.match_indices(key).find_map(|(at, _)| {
        let before = line.get(..at)?;
        let before = before.strip_suffix("si").unwrap_or(before);
        let is_key = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let rest = line.get(at + key.len()..)?.trim_start();
        rest.strip_prefix('=').map(str::trim_start).filter(|_| is_key)
    })?;
    word(after)
}

fn word(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    text.get(..end.unwrap_or(text.len())).filter(|word| !word.is_empty())
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The name or number after a text.
fn number_after(line: &str, before: &str, arch: Arch) -> Option<Found> {
    let (_, rest) = line.split_once(before)?;
    let word = word(rest)?;
    Some(of_arch(word, arch))
}

fn of_arch(word: &str, arch: Arch) -> Found {
    let nr = arch.number(word).or_else(|| number(word));
    nr.and_then(|nr| SyscallId::of(arch.token(), nr))
        .ok_or_else(|| format!("{arch} has no syscall \"{}\"", shorten(word)))
}

fn of_token(token: u32, nr: u32) -> Found {
    SyscallId::of(token, nr).ok_or_else(|| format!("unknown architecture {token:#x}"))
}

/// `ssh_sandbox_violation: unexpected system call (arch:0xc000003e,syscall:41 @ 0x7f…)`.
fn openssh(line: &str) -> Option<Found> {
    let (_, rest) = line.split_once("unexpected system call (arch:")?;
    let (token, rest) = rest.split_once(",syscall:")?;
    let (token, nr) = number(token).zip(word(rest).and_then(number))?;
    Some(of_token(token, nr))
}

/// `Seccomp prevented execution of syscall 0000000016 on architecture amd64`.
fn apt(line: &str) -> Option<Found> {
    let (_, rest) = line.split_once("eccomp prevented execution of syscall ")?;
    let (nr, arch) = rest.split_once(" on architecture ")?;
    let (nr, name) = (word(nr)?, word(arch)?);
    let unknown = || format!("unknown architecture \"{}\"", shorten(name));
    Some(Arch::from_name(name).ok_or_else(unknown).and_then(|arch| of_arch(nr, arch)))
}

/// `disallowed syscall access (21), architecture 0xc000003e`.
fn disallowed_access(line: &str) -> Option<Found> {
    let (_, rest) = line.split_once("isallowed syscall ")?;
    let (_, rest) = rest.split_once(" (").or_else(|| rest.split_once('('))?;
    let (nr, rest) = rest.split_once("), architecture ")?;
    let (nr, token) = number(nr).zip(word(rest).and_then(number))?;
    Some(of_token(token, nr))
}

/// `seccomp sandbox violation: pid 12, tid 12, syscall 41, args 2 1 0 0 0 0.`
fn firefox(line: &str, arch: Arch) -> Option<Found> {
    let (_, rest) = line.split_once("seccomp sandbox violation: ")?;
    number_after(rest, "syscall ", arch)
}

/// `seccomp-bpf failure in syscall nr=0xa5 arg1=0x0 …`, in old versions `syscall 0165` with four decimal digits, which are
/// zeros for all numbers from 1024.
fn chromium(line: &str, arch: Arch) -> Option<Found> {
    let (_, rest) = line.split_once("seccomp-bpf failure in syscall ")?;
    let word = word(rest.strip_prefix("nr=").unwrap_or(rest))?;
    if word == "0000" {
        return Some(Err("the number 0000 stands for all numbers from 1024, too".to_owned()));
    }
    Some(of_arch(word, arch))
}

/// The arguments in reports of Chromium and Firefox.
fn args(line: &str) -> [Option<u64>; 6] {
    let mut args = [None; 6];
    if line.contains("seccomp-bpf failure in syscall ") {
        for (arg, number) in args.iter_mut().zip(1..) {
            let digits = line.split_once(&format!("arg{number}=0x"));
            let digits = digits.and_then(|(_, rest)| word(rest));
            *arg = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        }
    } else if let Some((_, rest)) = line
        .split_once("seccomp sandbox violation: ")
        .and_then(|(_, rest)| rest.split_once(", args "))
    {
        for (arg, value) in args.iter_mut().zip(rest.split([' ', '.', '\n'])) {
            *arg = value.parse().ok();
        }
    }
    args
}
