//! Reports of Sandbox2, Inspektor Gadget and gVisor, which name the syscall in forms of their own.
//!
//! Sources: `monitor_ptrace.cc` and `syscall.cc` of Sandboxed API, the gadgets `audit seccomp` and `audit_seccomp`, `pkg/sentry/strace`
//! of gVisor.

use std::borrow::Cow;

use callgate_bpf::SyscallTable;
use callgate_core::{Arch, Verdict};
use callgate_formats::diagnostics::quote::shorten;
use callgate_formats::syntax::json;
use callgate_formats::syntax::tree::{Node, NodeKind, integer};

use super::line::{Found, Parsed};
use super::model::{Evidence, LoggedCall};
use crate::recording::SyscallId;

/// A line as one of these reports; `arch` is the architecture of those that do not name it.
pub(super) fn report(line: &str, arch: Arch) -> Option<Parsed<'_>> {
    sandbox2(line).or_else(|| gadget(line, arch)).or_else(|| gvisor(line, arch))
}

/// `SANDBOX VIOLATION : PID: 7, PROG: 'app' : [X86-64] mount [165](…) IP: 0x…, STACK: 0x…`.
fn sandbox2(line: &str) -> Option<Parsed<'_>> {
    let (_, rest) = line.split_once("SANDBOX VIOLATION : PID: ")?;
    // A program may choose its name.
    if rest.matches("' : [").count() > 1 {
        return Some(Parsed::Unread("several syscalls in one line".to_owned()));
    }
    let (_, rest) = rest.split_once(", PROG: '")?;
    let (program, rest) = rest.split_once("' : [")?;
    let (machine, rest) = rest.split_once("] ")?;
    let (_, rest) = rest.split_once(" [")?;
    let (nr, _) = rest.split_once("](")?;
    let arch = match machine {
        "X86-64" => Arch::X86_64,
        "X86-32" => Arch::X86,
        "PPC-64" => Arch::Ppc64le,
        "Arm-64" => Arch::Aarch64,
        "Arm-32" => Arch::Arm,
        other => {
            return Some(Parsed::Unread(format!("unknown architecture \"{}\"", shorten(other))));
        }
    };
    let call = LoggedCall::denied(SyscallId::new(arch, nr.parse().ok()?));
    let program = Some(Cow::Borrowed(program));
    Some(Parsed::Denial(Found { program, has_signal: true, ..Found::of(call) }))
}

/// An event of Inspektor Gadget: `{"comm":"app","syscall":"mount","code":"kill_thread"}`, in new versions
/// `{"code":"SECCOMP_RET_KILL_THREAD","syscall":"SYS_MOUNT","syscall_raw":165}`.
fn gadget(line: &str, arch: Arch) -> Option<Parsed<'static>> {
    let line = line.trim();
    let may_be = line.starts_with('{')
        && line.ends_with('}')
        && ["\"syscall\"", "\"code\""].iter().all(|key| line.contains(key));
    let event = may_be.then(|| json::parse(line).ok())??;
    let code = event.get("code")?.text()?.to_ascii_lowercase();
    let verdict = match code.strip_prefix("seccomp_ret_").unwrap_or(&code) {
        "kill_thread" | "kill" => Verdict::KILL_THREAD,
        "kill_process" => Verdict::KILL_PROCESS,
        "trap" => Verdict::trap(0),
        "errno" => Verdict::errno(0),
        "user_notif" => Verdict::user_notif(0),
        "trace" => Verdict::trace(0),
        "log" => Verdict::LOG,
        "allow" => Verdict::ALLOW,
        _ => return None,
    };
    let name = event.get("syscall")?.text()?.to_ascii_lowercase();
    let name = name.strip_prefix("sys_").unwrap_or(&name);
    let number = |node: &Node<'_>| match &node.kind {
        NodeKind::Number(digits) => u32::try_from(integer(digits)?).ok(),
        _ => None,
    };
    // Other logs have these two keys as well.
    if !["comm", "proc", "pid", "mountnsid", "mntns"].iter().any(|key| event.get(key).is_some()) {
        return None;
    }
    let raw = event.get("syscall_raw").and_then(number);
    let named = arch.number(name);
    if raw.is_some() && named.is_some() && raw != named {
        let why = "its number and its name are of different architectures; give --arch";
        return Some(Parsed::Unread(why.to_owned()));
    }
    let Some(nr) = raw.or(named) else {
        return Some(Parsed::Unread(format!("{arch} has no syscall \"{}\"", shorten(name))));
    };
    let syscall = SyscallId::new(arch, nr);
    if verdict.permits() {
        return Some(Parsed::Logged(syscall));
    }
    let comm = event.get("comm").or_else(|| event.get("proc")?.get("comm"));
    let program = comm.and_then(|comm| comm.text()).map(|comm| Cow::Owned(comm.to_owned()));
    Some(Parsed::Denial(Found {
        program,
        verdict: Some(verdict),
        has_signal: matches!(verdict.0 >> 16, 0 | 3 | 0x8000),
        is_arch_assumed: true,
        ..Found::of(LoggedCall::denied(syscall))
    }))
}

/// A syscall that failed in gVisor's log of syscalls: `[   1:   1] app X mount(0x…) = 0 (0x0) errno=1 (operation not permitted) (1µs)`.
fn gvisor(line: &str, arch: Arch) -> Option<Parsed<'_>> {
    let (call, rest) = line.split_once(" errno=")?;
    let (before, call) = call.split_once(" X ")?;
    let (_, program) = before.rsplit_once("] ")?;
    let (name, _) = call.split_once('(')?;
    let errno: u16 = rest.split(' ').next()?.parse().ok()?;
    let nr = arch.number(name)?;
    let evidence = Evidence::Failed(errno);
    let call = LoggedCall { evidence, ..LoggedCall::denied(SyscallId::new(arch, nr)) };
    Some(Parsed::Denial(Found { program: Some(Cow::Borrowed(program)), ..Found::of(call) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        match report(line, Arch::X86_64) {
            Some(Parsed::Denial(Found { call, program, has_signal, .. })) => {
                let SyscallId { arch, .. } = call.syscall;
                let name = call.syscall.name().unwrap_or("?");
                let (program, how) = (program.unwrap_or_default(), call.evidence);
                format!("{arch} {name} {program} {how:?} {has_signal}")
            }
            Some(Parsed::Logged(syscall)) => format!("logged {}", syscall.name().unwrap_or("?")),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn each_report_names_its_syscall() {
        for (line, expected) in [
            (
                "E0102 10:00:00.000000 7 monitor.cc:9] SANDBOX VIOLATION : PID: 7, PROG: 'app' : [X86-64] mount [165](0 [0], 0x7f) IP: \
                 0x7f, STACK: 0x7f",
                "x86_64 mount app Filter true",
            ),
            (
                "SANDBOX VIOLATION : PID: 7, PROG: 'app' : [Arm-64] UNKNOWN[40/0x28] [40](0) IP: 0x7f, STACK: 0x7f",
                "aarch64 mount app Filter true",
            ),
            (
                "{\"node\":\"n\",\"pod\":\"p\",\"pid\":7,\"comm\":\"app\",\"syscall\":\"unshare\",\"code\":\"kill_thread\"}",
                "x86_64 unshare app Filter true",
            ),
            (
                "{\"code\":\"SECCOMP_RET_ERRNO\",\"code_raw\":327681,\"proc\":{\"comm\":\"app\",\"pid\":7},\"syscall\":\"SYS_MOUNT\",\
                 \"syscall_raw\":165}",
                "x86_64 mount app Filter false",
            ),
            ("{\"comm\":\"app\",\"syscall\":\"mkdir\",\"code\":\"log\"}", "logged mkdir"),
            (
                "I0102 10:00:00.000000       1 strace.go:576] [   1:   1] app X mount(0x7f a, 0x7f b, 0x0, 0x0, 0x0) = 0 (0x0) errno=1 \
                 (operation not permitted) (1.2µs)",
                "x86_64 mount app Failed(1) false",
            ),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
        for line in [
            "{\"code\":\"ENOENT\",\"syscall\":\"open\",\"path\":\"/x\"}",
            "{\"code\":200,\"syscall\":\"open\"}",
            "{\"level\":\"error\",\"code\":\"trap\",\"syscall\":\"open\",\"msg\":\"trap door\"}",
            "{\"msg\":\"stat\",\"code\":\"log\",\"syscall\":\"open\"}",
            "[   1:   1] app X hello(0x7f) = 0 errno=1 (operation not permitted)",
            "SANDBOX VIOLATION : PID: 7, PROG: 'app' : something else",
        ] {
            assert_eq!(read(line), "None", "{line}");
        }
    }
}
