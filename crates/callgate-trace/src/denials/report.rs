//! Reports of `SIGSYS`, by debuggers and by programs.

use callgate_bpf::syscalls::Arch;
use callgate_formats::diagnostics::quote::shorten;

use super::line::Parsed;
use super::model::{Evidence, LoggedCall};
use super::tally::Origin;
use crate::recording::SyscallId;

/// A line as a report; `arch` is the architecture of one that does not name it.
pub(super) fn report(line: &str, arch: Arch) -> Parsed<'_> {
    let found = siginfo(line)
        .or_else(|| android(line))
        .or_else(|| number_after(line, "bad syscall (", arch))
        .or_else(|| number_after(line, "blocked syscall: ", arch))
        .or_else(|| chromium(line, arch));
    match found {
        Some(Ok(syscall)) => {
            let args = chromium_args(line);
            let call = LoggedCall { syscall, args, evidence: Evidence::Filter };
            Parsed::Denial(call, None, Origin::Other)
        }
        Some(Err(why)) => Parsed::Unread(why),
        None if is_signal(line) => Parsed::Signal,
        None => Parsed::Nothing,
    }
}

type Found = Result<SyscallId, String>;

/// Whether a line reports the signal; a table of signals or a name in a text does not.
fn is_signal(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("SIGSYS: ")
        || text.contains("(SIGSYS)")
        || text.contains("signal SIGSYS")
        || text.contains("--- SIGSYS {")
}

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

/// The value of a key that ends in `end`, after an equals sign.
fn value<'t>(line: &'t str, end: &str) -> Option<&'t str> {
    let after = line.match_indices(end).find_map(|(at, _)| {
        let rest = line.get(at + end.len()..)?.trim_start();
        rest.strip_prefix('=').map(str::trim_start)
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

/// `seccomp prevented call to disallowed x86_64 system call 165`.
fn android(line: &str) -> Option<Found> {
    let (_, rest) = line.split_once("seccomp prevented call to disallowed ")?;
    let (arch, rest) = rest.split_once(" system call ")?;
    let name = match arch {
        "arm64" => "aarch64",
        other => other,
    };
    let Some(arch) = Arch::from_name(name) else {
        return Some(Err(format!("unknown architecture \"{}\"", shorten(arch))));
    };
    Some(of_arch(word(rest)?, arch))
}

/// `seccomp-bpf failure in syscall nr=0xa5 arg1=0x0 …`, in old versions `syscall 0165` with a decimal number.
fn chromium(line: &str, arch: Arch) -> Option<Found> {
    let (_, rest) = line.split_once("seccomp-bpf failure in syscall ")?;
    let word = word(rest.strip_prefix("nr=").unwrap_or(rest))?;
    Some(of_arch(word, arch))
}

fn chromium_args(line: &str) -> [Option<u64>; 6] {
    let mut args = [None; 6];
    if !line.contains("seccomp-bpf failure in syscall ") {
        return args;
    }
    for (arg, key) in
        args.iter_mut().zip(["arg1=0x", "arg2=0x", "arg3=0x", "arg4=0x", "arg5=0x", "arg6=0x"])
    {
        let digits = line.split_once(key).and_then(|(_, rest)| word(rest));
        *arg = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    }
    args
}
