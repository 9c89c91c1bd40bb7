//! What is found out about the filters of a thread is what they do: each finding is compared with the program.

use std::thread;
use std::time::Duration;

use callgate::compile::Options;
use callgate::source::{Reading, SourceContent, SourceFormat, SourceText, read};
use callgate::{Action, Arch, Endian, Verdict};
use callgate_core::Proved;
use callgate_formats::CapSet;
use callgate_linux::{Installer, SeccompMode, ThreadStatus, kernel};
use callgate_measure::own_filters::{Doubt, Finding, Machine, ProbedCall, probe_filters};
use callgate_testing::{Need, Skip, TestResult};

/// Needs a kernel with seccomp, and a process without a filter, which would answer as well.
fn needs_no_filter() -> TestResult {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err(Skip::new(Need::Kernel, "the answers are known for x86_64 and aarch64"));
    }
    match ThreadStatus::of_this_thread().map(|status| status.mode) {
        Some(SeccompMode::Off) => Ok(()),
        _ => Err(Skip::new(Need::Kernel, "this process has a filter, or the kernel none at all")),
    }
}

fn native() -> Arch {
    Arch::native().unwrap()
}

fn compiled(content: SourceContent, format: Option<&str>) -> Proved {
    let kernel = kernel::release().unwrap().parse().unwrap();
    let reading = Reading {
        arches: vec![native()],
        kernel: Some(kernel),
        caps: Some(CapSet::docker()),
        ..Reading::new(native())
    };
    let format = format.map(|name| SourceFormat::from_name(name).unwrap());
    let source = SourceText { format, ..SourceText::new(content, reading) };
    let stack = read(&source, &mut Vec::new()).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let compiled = stack.compile(&Options::default());
    compiled.unwrap_or_else(|errors| panic!("{}", errors[0])).program
}

/// The program of rules in the language of Kafel, which allow everything else.
fn kafel(rules: &str) -> Proved {
    let text = format!("POLICY p {{ {rules} }} USE p DEFAULT ALLOW");
    compiled(SourceContent::Text(text), Some("kafel"))
}

/// The findings in a thread, after `install`. The facts are read before: a filter may deny to open files.
fn found_after(install: impl FnOnce() + Send + 'static) -> Vec<ProbedCall> {
    let found = thread::spawn(move || {
        let status = ThreadStatus::of_this_thread().unwrap();
        let machine = Machine::of_this_process(&status);
        install();
        probe_filters(&machine).unwrap()
    });
    found.join().unwrap()
}

/// Whether a finding about a call is what a verdict does, where neither a tracer nor a supervisor answers.
fn is_right(verdict: Verdict, finding: &Finding) -> bool {
    match (verdict.action(), finding) {
        (Action::Allow | Action::Log, Finding::Allowed) => true,
        (Action::Errno(errno), Finding::Denied(found)) => errno == *found,
        (Action::Trace(_), Finding::Denied(found)) => i32::from(*found) == libc::ENOSYS,
        (Action::KillProcess | Action::KillThread, Finding::Killed)
        | (Action::Trap(_), Finding::Trapped) => true,
        (_, Finding::Unknown(doubt)) => !matches!(doubt, Doubt::NoAnswer | Doubt::Ended(_)),
        _ => false,
    }
}

/// Installs a program, and compares each finding with its verdict. At most this number of syscalls may be unknown.
#[track_caller]
fn compare(program: Proved, most_unknown: usize) {
    let own = program.clone();
    let found = found_after(move || Installer::new().install(&own).unwrap());
    let mut unknown = Vec::new();
    for call in &found {
        let verdict = program.run(&call.data, Endian::Little).verdict;
        assert!(is_right(verdict, &call.finding), "{}: {verdict}, {call:?}", call.call.shown);
        if matches!(call.finding, Finding::Unknown(_)) {
            unknown.push(call.call.syscall);
        }
    }
    unknown.dedup();
    assert!(unknown.len() <= most_unknown, "{} unknown: {unknown:?}", unknown.len());
}

/// The answers of the kernel are those of the table, and few of them could be those of a filter.
fn without_a_filter_everything_is_allowed() -> TestResult {
    needs_no_filter()?;
    let found = found_after(|| ());
    let mut unknown = Vec::new();
    for call in &found {
        let is_fine = match &call.finding {
            Finding::Allowed => true,
            Finding::Unknown(doubt) => {
                unknown.push(call.call.syscall);
                !matches!(doubt, Doubt::NoAnswer | Doubt::Ended(_) | Doubt::OddValue(_))
            }
            _ => false,
        };
        assert!(is_fine, "{}: {call:?}", call.call.shown);
        assert!(call.may_be_allowed, "{}: not an answer of this kernel: {call:?}", call.call.shown);
    }
    unknown.dedup();
    assert!(unknown.len() < 60, "{unknown:?}");
    Ok(())
}

fn profiles_of_engines_are_recognized() -> TestResult {
    needs_no_filter()?;
    for name in ["docker-default", "podman-default", "containerd-default@1.5.0"] {
        compare(compiled(SourceContent::Preset(name.to_owned()), None), 80);
    }
    let unit = "[Service]\nSystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM\n";
    compare(compiled(SourceContent::Text(unit.to_owned()), Some("systemd")), 80);
    Ok(())
}

/// Errors that the kernel gives to the same calls are not taken for its answers, nor its answers for errors of a filter.
fn errors_like_those_of_the_kernel_are_not_confused() -> TestResult {
    needs_no_filter()?;
    compare(kafel("ERRNO(9) { read, close, pread64, dup, connect, inotify_rm_watch }"), 80);
    compare(kafel("ERRNO(14) { execveat, mkdirat, clone3, uname, prctl, statx }"), 80);
    compare(kafel("ERRNO(2) { openat, mkdirat, fchownat, mount }, ERRNO(22) { keyctl, bpf }"), 80);
    compare(kafel("ERRNO(0) { fchown, fchownat, setuid, fsync, unshare, getrandom }"), 80);
    compare(kafel("ERRNO(38) { keyctl, io_uring_setup, close }, ERRNO(1) { swapon }"), 80);
    compare(kafel("ERRNO(97) { socket(family) { family != 1 } }"), 80);
    Ok(())
}

fn arguments_decide() -> TestResult {
    needs_no_filter()?;
    compare(
        kafel(
            "ERRNO(1) { mount, ptrace(request) { request == 16 }, prctl(option) { option == 15 }, \
             clone(flags) { (flags & 0x10000) != 0 } }",
        ),
        80,
    );
    compare(kafel("ERRNO(22) { prctl(option) { option == 15 } }, ERRNO(1) { acct }"), 80);
    Ok(())
}

fn kills_and_traps_are_told_apart() -> TestResult {
    needs_no_filter()?;
    compare(
        kafel(
            "KILL_PROCESS { keyctl, mount, personality, getpgid }, KILL { add_key, umask }, \
             TRAP(7) { bpf, swapon, statfs }, LOG { fsync, chdir }, TRACE(3) { sethostname, chroot }",
        ),
        80,
    );
    Ok(())
}

/// Processes that cannot be ended would be left behind.
fn a_filter_that_keeps_children_alive_is_refused() -> TestResult {
    needs_no_filter()?;
    for rules in ["ERRNO(0) { kill }", "ERRNO(1) { wait4 }", "ERRNO(38) { kill, wait4 }"] {
        let program = kafel(rules);
        let refused = thread::spawn(move || {
            Installer::new().install(&program).unwrap();
            probe_filters(&Machine::default()).map(|_| ()).unwrap_err().to_string()
        });
        let message = refused.join().unwrap();
        assert!(message.contains("wait for its children or end them"), "{rules}: {message}");
    }
    Ok(())
}

/// A supervisor that does not answer, and one that answers as filters do.
fn supervisors_are_waited_for_and_believed() -> TestResult {
    needs_no_filter()?;
    let program = kafel("USER_NOTIF { keyctl, mount, add_key }");
    let (send, receive) = std::sync::mpsc::channel();
    let of = move |program: Proved| {
        let listener = Installer::new().install_with_listener(&program);
        send.send(listener).unwrap();
    };
    let found = thread::spawn(move || found_after(move || of(program)));
    let Ok(listener) = receive.recv().unwrap() else {
        return Err(Skip::new(Need::Listener, "the kernel has no listeners"));
    };
    let number = |name| callgate_bpf::SyscallTable::number(native(), name);
    // Answers until nothing has the filter any more.
    while let Some(notification) = listener.receive().unwrap() {
        let nr = notification.data().nr;
        if Some(nr) == number("keyctl") {
            let _ = listener.fail(&notification, libc::EPERM);
        } else if Some(nr) == number("add_key") {
            let _ = listener.continue_syscall(&notification);
        } else {
            thread::sleep(Duration::from_millis(10));
        }
    }
    let found = found.join().unwrap();
    let of = |name: &str| {
        let calls = found.iter().filter(|call| call.call.syscall == name);
        calls.map(|call| call.finding.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("keyctl"), [Finding::Denied(1), Finding::Denied(1)]);
    assert_eq!(of("add_key"), [Finding::Allowed, Finding::Allowed]);
    assert_eq!(of("mount"), [const { Finding::Unknown(Doubt::NoAnswer) }; 2]);
    assert_eq!(of("read"), [Finding::Allowed, Finding::Allowed]);
    Ok(())
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        without_a_filter_everything_is_allowed,
        profiles_of_engines_are_recognized,
        errors_like_those_of_the_kernel_are_not_confused,
        arguments_decide,
        kills_and_traps_are_told_apart,
        supervisors_are_waited_for_and_believed,
        a_filter_that_keeps_children_alive_is_refused,
    ]
}
