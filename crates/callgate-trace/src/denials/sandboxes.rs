//! Reports of Sandbox2, Inspektor Gadget, gVisor, perf trace and sysdig, which name the syscall in forms of their own.
//!
//! Sources: `monitor_ptrace.cc` and `syscall.cc` of Sandboxed API, the gadgets `audit seccomp` and `audit_seccomp`, `pkg/sentry/strace`
//! of gVisor, `builtin-trace.c` of perf, the default output of sysdig.

use std::borrow::Cow;

use callgate_bpf::SyscallTable;
use callgate_core::{Arch, Verdict, errno_number};
use callgate_formats::diagnostics::quote::shorten;
use callgate_formats::syntax::json;
use callgate_formats::syntax::tree::{Node, NodeKind, integer};

use super::line::{Found, Parsed};
use super::model::{Evidence, LoggedCall};
use crate::recording::SyscallId;

/// A line as one of these reports; `arch` is the architecture of those that do not name it.
pub(super) fn report(line: &str, arch: Arch) -> Option<Parsed<'_>> {
    sandbox2(line)
        .or_else(|| gadget(line, arch))
        .or_else(|| gvisor(line, arch))
        .or_else(|| perf_trace(line, arch))
        .or_else(|| sysdig(line, arch))
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

/// A syscall that failed in the output of perf trace: `  0.12 ( 0.004 ms): app/7 unshare(unshare_flags: NEWUSER) = -1 EPERM (Operation
/// not permitted)`.
fn perf_trace(line: &str, arch: Arch) -> Option<Parsed<'_>> {
    let (time, rest) = line.split_once(" ms): ")?;
    let (call, error) = rest.rsplit_once(") = -1 ")?;
    let (call, _) = call.split_once('(')?;
    let (process, name) = call.trim().rsplit_once(' ')?;
    let (program, thread) = process.trim().rsplit_once('/')?;
    let is_time = |c: char| c.is_ascii_digit() || " .(".contains(c);
    let is_of_perf = time.chars().all(is_time) && thread.bytes().all(|byte| byte.is_ascii_digit());
    failed(program, name, error, arch).filter(|_| is_of_perf)
}

/// A syscall that failed in the output of sysdig: `7 10:00:00.123456789 0 app (8) < unshare res=-1(EPERM)`.
fn sysdig(line: &str, arch: Arch) -> Option<Parsed<'_>> {
    let (before, call) = line.split_once(") < ")?;
    let (before, thread) = before.rsplit_once(" (")?;
    let mut words = before.trim().splitn(4, ' ');
    let (number, time, processor) = (words.next()?, words.next()?, words.next()?);
    let program = words.next()?;
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_of_sysdig = [number, processor, thread.split(':').next()?].into_iter().all(is_number)
        && time.contains([':', '.']);
    let (name, rest) = call.split_once(' ')?;
    let (_, result) = rest.split_once("res=-")?;
    let (_, error) = result.split_once('(')?;
    failed(program, name, error, arch).filter(|_| is_of_sysdig)
}

/// A syscall that failed with an error that is given by its name, which another character ends.
fn failed<'l>(program: &'l str, name: &str, error: &str, arch: Arch) -> Option<Parsed<'l>> {
    let end = error.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit());
    let evidence = Evidence::Failed(errno_number(error.get(..end?)?)?);
    let call =
        LoggedCall { evidence, ..LoggedCall::denied(SyscallId::new(arch, arch.number(name)?)) };
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
            (
                "     4.207 ( 0.009 ms): my app/311 unshare(unshare_flags: NEWUSER) = -1 EPERM (Operation not permitted)",
                "x86_64 unshare my app Failed(1) false",
            ),
            (
                "     0.1 ( 0.1 ms): a/1 openat(dfd: CWD, filename: \"x) = -1 EPERM (y\") = -1 ENOENT (No such file or directory)",
                "x86_64 openat a Failed(2) false",
            ),
            (
                "88 10:00:00.000000001 1 my app (311) < unshare res=-1(EPERM) flags=x",
                "x86_64 unshare my app Failed(1) false",
            ),
            (
                "88 10:00:00.1 1 a (311:312) < mount res=-13(EACCES)",
                "x86_64 mount a Failed(13) false",
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
            // Syscalls that succeeded or began, and texts of programs.
            "     0.1 ( 0.1 ms): a/1 unshare(unshare_flags: NEWUSER) = 0",
            "took ( 3 ms): a/1 unshare(x) = -1 EPERM (x)",
            "88 10:00:00.1 1 a (311) < unshare res=0",
            "88 10:00:00.1 1 a (311) > unshare flags=x",
            "user wrote (311) < unshare res=-1(EPERM)",
        ] {
            assert_eq!(read(line), "None", "{line}");
        }
    }
}
