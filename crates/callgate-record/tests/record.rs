//! Every method of recording counts every syscall of a program that makes them in all kinds of situations, and so does
//! strace. Each test runs once per method.

use std::ffi::OsString;
use std::time::Duration;

use callgate::{Arch, Verdict};
use callgate_bpf::FilterFlags;
use callgate_bpf::SyscallTable;
use callgate_core::{Insn, Op, Program};
use callgate_linux::Command;
use callgate_record::{
    Caught, CaughtFilter, MAX_SYSCALLS, Note, RecordError, RecordMethod, Recorded, catch, ended_by,
    exit_status, record,
};
use callgate_testing::{Need, Skip, TestResult, name_in, needs_program};
use callgate_trace::recording::{Bounds, MAX_VALUES, Recording, RecordingMethod, SyscallId};

const SUBJECT: &str = env!("CARGO_BIN_EXE_record-subject");

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    type Test = fn(RecordMethod) -> TestResult;
    let tests: [(&str, Test); 14] = [
        ("no_syscall_is_missed", no_syscall_is_missed),
        (
            "syscalls_that_the_recorders_own_filter_denies_are_counted",
            syscalls_that_the_recorders_own_filter_denies_are_counted,
        ),
        ("values_are_kept_as_filters_see_them", values_are_kept_as_filters_see_them),
        ("syscalls_beyond_the_limit_count_as_lost", syscalls_beyond_the_limit_count_as_lost),
        ("strace_counts_the_same", strace_counts_the_same),
        ("the_status_of_the_command_is_kept", the_status_of_the_command_is_kept),
        (
            "processes_that_outlive_the_command_are_waited_for",
            processes_that_outlive_the_command_are_waited_for,
        ),
        ("processes_that_cannot_be_traced_are_noted", processes_that_cannot_be_traced_are_noted),
        (
            "the_recording_so_far_is_kept_when_tracing_fails",
            the_recording_so_far_is_kept_when_tracing_fails,
        ),
        ("recording_does_not_interrupt_syscalls", recording_does_not_interrupt_syscalls),
        (
            "recording_interrupts_no_syscall_under_another_filter",
            recording_interrupts_no_syscall_under_another_filter,
        ),
        ("a_command_that_gets_no_listener_is_noted", a_command_that_gets_no_listener_is_noted),
        (
            "a_program_whose_interpreter_is_missing_is_not_recorded",
            a_program_whose_interpreter_is_missing_is_not_recorded,
        ),
        ("the_recording_names_the_method", the_recording_names_the_method),
    ];
    let mut trials = callgate_testing::trials![
        methods_are_tried_in_order,
        filters_are_caught_in_every_way_of_installing_them,
        a_command_is_ended_when_its_time_is_over,
    ];
    for (name, test) in tests {
        for method in RecordMethod::ALL {
            // The tracepoint method does not trace.
            if name.ends_with("tracing_fails") && method == RecordMethod::Tracepoint {
                continue;
            }
            let name = name_in(module_path!(), &format!("{name}::{method:?}"));
            trials.push(callgate_testing::test(name, move || test(method)));
        }
    }
    trials
}

fn try_record(method: RecordMethod, words: &[&str]) -> Result<Recorded, RecordError> {
    let command: Vec<OsString> = words.iter().map(OsString::from).collect();
    let command = Command::find(&command).unwrap();
    let words = words.iter().copied().map(str::to_owned).collect();
    record(&command, words, &[method])
}

fn record_by(method: RecordMethod, words: &[&str]) -> Result<Recorded, Skip> {
    try_record(method, words).map_err(|why| crate::skip::impossible(method, &why))
}

fn catch_in(words: &[&str], limit: Option<Duration>) -> Result<Caught, Skip> {
    let command: Vec<OsString> = words.iter().map(OsString::from).collect();
    let command = Command::find(&command).unwrap();
    catch(&command, limit).map_err(|why| crate::skip::impossible(RecordMethod::Stops, &why))
}

fn filters_are_caught_in_every_way_of_installing_them() -> TestResult {
    let caught = catch_in(&[SUBJECT, "installs"], None)?;
    assert_eq!((caught.more, caught.unread, caught.was_ended), (0, 0, false));
    assert_eq!(exit_status(caught.status), 0);
    let native = Arch::native().unwrap();
    let mut expected = vec![
        (9_001, native, FilterFlags::NONE),
        (9_003, native, FilterFlags::TSYNC),
        (9_004, native, FilterFlags::NONE),
    ];
    if native == Arch::X86_64 {
        expected.push((9_005, Arch::X86, FilterFlags::NONE));
    }
    let number = |filter: &CaughtFilter| filter.program.iter().nth(1).unwrap().k;
    let found: Vec<_> =
        caught.filters.iter().map(|one| (number(one), one.arch, one.flags)).collect();
    assert_eq!(found, expected);
    let process = caught.filters[0].process;
    let others: Vec<bool> = caught.filters.iter().map(|one| one.process != process).collect();
    // The child alone has another process.
    assert_eq!(others.iter().filter(|other| **other).count(), 1);
    assert!(others[2]);
    Ok(())
}

fn a_command_is_ended_when_its_time_is_over() -> TestResult {
    let caught = catch_in(&[SUBJECT, "sleep"], Some(Duration::from_millis(200)))?;
    assert!(caught.was_ended && caught.filters.is_empty());
    assert_eq!(ended_by(caught.status), Some(libc::SIGKILL));
    Ok(())
}

fn native(name: &str) -> SyscallId {
    let arch = Arch::native().unwrap();
    SyscallId::new(arch, arch.number(name).unwrap())
}

fn count(recording: &Recording, syscall: SyscallId) -> u64 {
    recording.get(syscall).map_or(0, |seen| seen.count())
}

/// The syscalls of each part of the subject, and how often it makes them.
fn expected() -> Vec<(SyscallId, u64)> {
    let mut syscalls: Vec<(SyscallId, u64)> = [
        ("getppid", 400),
        ("rt_sigreturn", 50),
        ("getuid", 50),
        ("getgid", 200),
        // Five by vfork and one by a thread.
        ("getegid", 6 * 3),
        // Once for the command, and six leaves.
        ("execve", 7),
        ("getsid", 1),
        ("lseek", 40),
        // Denied by a filter of the program itself, 30 by its child.
        ("geteuid", 35),
        ("munlockall", 20),
        ("sched_get_priority_max", 1),
        ("sched_get_priority_min", 1),
    ]
    .map(|(name, count)| (native(name), count))
    .to_vec();
    syscalls.push((SyscallId::new(native("read").arch, 999), 1));
    if native("read").arch == Arch::X86_64 {
        syscalls.push((SyscallId::new(Arch::X32, 0x4000_0000 | 39), 1));
        syscalls.push((SyscallId::new(Arch::X86, 20), 7));
    }
    syscalls
}

fn no_syscall_is_missed(method: RecordMethod) -> TestResult {
    let recorded = record_by(method, &[SUBJECT])?;
    let recording = &recorded.recording;
    for (syscall, expected) in expected() {
        let name = syscall.name();
        assert_eq!(
            count(recording, syscall),
            expected,
            "{name:?} {syscall:?} {:?}",
            recorded.method
        );
    }
    let run = &recording.runs()[0];
    assert_eq!((run.lost, run.from_execve, run.status), (0, true, Some(0)));
    // The command, 20 + 5 + 1 + 1 + 1 + 2 + 1 + 1 children; threads: 4, and 1, 1 and 2 in children.
    assert_eq!((run.processes, run.threads), (Some(33), Some(41)), "{:?}", recorded.method);
    assert_eq!(run.command, [SUBJECT]);
    let is_expected = |note: &Note| match recorded.method {
        RecordMethod::Tracepoint => matches!(note, Note::Denied(Some(35..))),
        RecordMethod::Listener | RecordMethod::Stops => *note == Note::Denied(None),
    };
    assert!(recorded.notes.iter().any(is_expected), "{:?}", recorded.notes);
    Ok(())
}

/// In a container the recorder itself runs under a filter, which the command inherits.
fn syscalls_that_the_recorders_own_filter_denies_are_counted(method: RecordMethod) -> TestResult {
    let deny_getgid = Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, native("getgid").nr, 0, 1),
        Insn::new(Op::RetK, Verdict::errno(1).0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ]);
    // Each test has a thread of its own, and only this one gets the filter.
    callgate_linux::install_unproved(&deny_getgid.unwrap(), callgate_linux::FilterFlags::NONE)
        .unwrap();
    let recorded = record_by(method, &[SUBJECT])?;
    for (syscall, expected) in expected() {
        assert_eq!(count(&recorded.recording, syscall), expected, "{:?}", syscall.name());
    }
    Ok(())
}

fn values_are_kept_as_filters_see_them(method: RecordMethod) -> TestResult {
    let recorded = record_by(method, &[SUBJECT])?;
    let lseek = recorded.recording.get(native("lseek")).unwrap();
    let [descriptor, offset, whence] = lseek.args() else { panic!("three arguments") };
    assert_eq!(descriptor.all(), Some(&[u64::MAX][..]));
    assert_eq!(whence.all(), Some(&[0, 1, 2][..]));
    assert!(40 > MAX_VALUES && offset.all().is_none());
    let bounds = Bounds { min: 1, max: 39 << 8 | 1, ever: 0x3f01, always: 1 };
    assert_eq!(offset.bounds(), Some(bounds), "{:?}", recorded.method);
    assert!((0..3).all(|arg| lseek.is_known(arg)));
    Ok(())
}

fn syscalls_beyond_the_limit_count_as_lost(method: RecordMethod) -> TestResult {
    let recorded = record_by(method, &[SUBJECT, "numbers"])?;
    let recording = &recorded.recording;
    assert_eq!(recording.syscalls().len(), MAX_SYSCALLS, "{:?}", recorded.method);
    let kept = recording.syscalls().filter(|(syscall, _)| syscall.nr >= 10_000).count() as u64;
    let lost = recording.runs()[0].lost;
    // The end of the program adds a few syscalls.
    assert!((600..610).contains(&(kept + lost)), "{kept} {lost} {:?}", recorded.method);
    assert_eq!(count(recording, native("execve")), 1);
    Ok(())
}

fn strace_counts_the_same(method: RecordMethod) -> TestResult {
    needs_program(Need::Strace, "strace")?;
    let name = format!("callgate-strace-{}-{method:?}", std::process::id());
    let log = std::env::temp_dir().join(name);
    let strace = std::process::Command::new("timeout")
        .args(["100", "strace", "-f", "-e", "raw=all", "-o"])
        .arg(&log)
        .arg(SUBJECT)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(&log);
    if !strace.status.success() {
        let why = String::from_utf8_lossy(&strace.stderr).trim().to_owned();
        assert!(why.contains("not permitted"), "{}: {why}", strace.status);
        return Err(Skip::new(Need::Ptrace, why));
    }
    let options = callgate_trace::read::ReadOptions {
        arch: native("read").arch,
        strict: true,
        partial: false,
    };
    let strace = callgate_trace::read::read(&text, &options).unwrap().recording;
    let recorded = record_by(method, &[SUBJECT])?;
    for (syscall, expected) in expected() {
        // The log does not tell ABIs apart.
        if [Arch::X86, Arch::X32].contains(&syscall.arch) {
            continue;
        }
        assert_eq!(count(&strace, syscall), expected, "{syscall:?} by strace");
        assert_eq!(count(&recorded.recording, syscall), expected, "{syscall:?}");
    }
    for (syscall, _) in strace.syscalls() {
        // The scheduler decides whether these are made at all.
        let timing =
            ["futex", "restart_syscall", "clock_nanosleep", "pause", "madvise", "sched_yield"];
        if !syscall.name().is_some_and(|name| timing.contains(&name)) {
            assert!(count(&recorded.recording, syscall) > 0, "{:?}", syscall.name());
        }
    }
    Ok(())
}

fn the_status_of_the_command_is_kept(method: RecordMethod) -> TestResult {
    for (words, status) in
        [(["exit", "3"], 3), (["exit", "255"], 255), (["kill", "15"], 143), (["kill", "9"], 137)]
    {
        let recorded = record_by(method, &[SUBJECT, words[0], words[1]])?;
        assert_eq!(exit_status(recorded.status), status, "{words:?}");
        assert_eq!(recorded.recording.runs()[0].status, Some(status));
        assert_eq!(count(&recorded.recording, native("execve")), 1);
    }
    Ok(())
}

fn processes_that_outlive_the_command_are_waited_for(method: RecordMethod) -> TestResult {
    let recorded = record_by(method, &[SUBJECT, "left-behind"])?;
    assert_eq!(count(&recorded.recording, native("getegid")), 2, "{:?}", recorded.method);
    assert_eq!(count(&recorded.recording, native("setsid")), 1);
    Ok(())
}

fn processes_that_cannot_be_traced_are_noted(method: RecordMethod) -> TestResult {
    let recorded = record_by(method, &[SUBJECT, "untraced"])?;
    let (notes, counted) = match recorded.method {
        RecordMethod::Tracepoint | RecordMethod::Listener => (vec![], 3),
        RecordMethod::Stops => (vec![Note::Untraced(1)], 0),
    };
    assert_eq!(recorded.notes, notes, "{:?}", recorded.method);
    let run = &recorded.recording.runs()[0];
    assert_eq!((run.processes, run.threads), (Some(1 + counted / 3), Some(1 + counted / 3)));
    assert_eq!(count(&recorded.recording, native("getgid")), counted, "{:?}", recorded.method);
    Ok(())
}

/// A filter that denies a syscall with this number as an argument.
fn deny_request(name: &str, arg: u32, number: u32, errno: i32) -> Program {
    let low = if cfg!(target_endian = "little") { 0 } else { 4 };
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, native(name).nr, 0, 3),
        Insn::new(Op::LdWordAbs, 16 + 8 * arg + low),
        Insn::branch(Op::JeqK, number, 0, 1),
        Insn::new(Op::RetK, Verdict::errno(errno as u16).0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

/// A filter makes one ptrace request fail, which is used when the command stops itself.
fn the_recording_so_far_is_kept_when_tracing_fails(method: RecordMethod) -> TestResult {
    let deny_listen = deny_request("ptrace", 0, libc::PTRACE_LISTEN, libc::EIO);
    callgate_linux::install_unproved(&deny_listen, callgate_linux::FilterFlags::NONE).unwrap();
    let recorded = record_by(method, &[SUBJECT, "stop"])?;
    let failed = Note::Failed("Input/output error".to_owned());
    assert_eq!(recorded.notes, [failed, Note::Denied(None)]);
    assert_eq!(count(&recorded.recording, native("execve")), 1);
    assert_eq!(count(&recorded.recording, native("kill")), 1);
    assert_eq!(exit_status(recorded.status), 128 + libc::SIGKILL as u8);
    Ok(())
}

/// A signal that arrives while a syscall waits to be recorded must not end the syscall.
fn recording_does_not_interrupt_syscalls(method: RecordMethod) -> TestResult {
    no_syscall_is_interrupted(method, "interrupted")
}

fn recording_interrupts_no_syscall_under_another_filter(method: RecordMethod) -> TestResult {
    no_syscall_is_interrupted(method, "interrupted-under-a-filter")
}

fn no_syscall_is_interrupted(method: RecordMethod, what: &str) -> TestResult {
    let recorded = record_by(method, &[SUBJECT, what])?;
    assert_eq!(exit_status(recorded.status), 0);
    let recording = &recorded.recording;
    for name in ["getpgid", "preadv", "waitid"] {
        assert_eq!(count(recording, native(name)), 2_000, "{name}");
    }
    // Another hundred block until a signal arrives. The recorder may miss some of those, and the kernel may begin a blocked
    // one again, where no signal is left to be delivered.
    let blocked = count(recording, native("readv"));
    assert!(blocked >= 2_000, "{blocked}");
    assert!(count(recording, native("rt_sigreturn")) > 0);
    Ok(())
}

fn a_command_that_gets_no_listener_is_noted(method: RecordMethod) -> TestResult {
    let recorded = record_by(method, &[SUBJECT, "listener"])?;
    let listens = recorded.notes.contains(&Note::Listens);
    assert_eq!(listens, recorded.method == RecordMethod::Listener, "{:?}", recorded.notes);
    assert_eq!(exit_status(recorded.status), u8::from(listens), "{:?}", recorded.method);
    Ok(())
}

fn methods_are_tried_in_order() -> TestResult {
    let recorded = |methods: &[RecordMethod]| {
        record(&Command::find(&["true".into()]).unwrap(), vec!["true".into()], methods)
    };
    assert!(recorded(&[]).unwrap_err().to_string().contains("list of methods is empty"));
    for method in RecordMethod::PTRACE {
        let recorded = recorded(&[method]).map_err(|why| crate::skip::impossible(method, &why))?;
        assert_eq!(recorded.method, method);
    }
    assert_eq!(recorded(&RecordMethod::PTRACE).unwrap().method, RecordMethod::Listener);
    // As on a kernel before 6.6.
    let request = libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS as u32;
    let old = deny_request("ioctl", 1, request, libc::EINVAL);
    callgate_linux::install_unproved(&old, callgate_linux::FilterFlags::NONE).unwrap();
    assert_eq!(recorded(&RecordMethod::PTRACE).unwrap().method, RecordMethod::Stops);
    Ok(())
}

fn a_program_whose_interpreter_is_missing_is_not_recorded(method: RecordMethod) -> TestResult {
    use std::os::unix::fs::PermissionsExt;
    // Beside the test: a temporary directory may be mounted without permission to execute.
    let name = format!("callgate-bad-{}-{method:?}", std::process::id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if let Err(why) = std::fs::write(&path, "#!/nonexistent\n") {
        return Err(Skip::new(Need::Tool, format!("{}: {why}", path.display())));
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = try_record(method, &[path.to_str().unwrap()]).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    if error.to_string().contains("interpreter does not exist") {
        return Ok(());
    }
    Err(crate::skip::impossible(method, &error))
}

fn the_recording_names_the_method(method: RecordMethod) -> TestResult {
    let recorded = record_by(method, &[SUBJECT, "exit", "0"])?;
    assert_eq!(recorded.method, method);
    let how = match method {
        RecordMethod::Tracepoint => RecordingMethod::Tracepoint,
        RecordMethod::Listener | RecordMethod::Stops => RecordingMethod::Ptrace,
    };
    assert_eq!(recorded.recording.runs()[0].method, how);
    Ok(())
}
