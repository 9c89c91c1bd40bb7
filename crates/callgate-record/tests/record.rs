//! All ways of recording count every call of a program that makes them in every way, and so does strace
//! where it is installed. A way that this machine does not permit is not run, and the test's output says so.

use std::ffi::OsString;

use callgate::bpf::{Insn, Op, Program};
use callgate::recording::{Bounds, CallId, MAX_VALUES, Recording, RecordingMethod};
use callgate::{Arch, Verdict};
use callgate_linux::Command;
use callgate_record::{MAX_CALLS, Note, Recorded, Way, exit_status, record};

const SUBJECT: &str = env!("CARGO_BIN_EXE_record-subject");

fn try_record(words: &[&str], way: Way) -> Result<Recorded, String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let command = Command::find(&words).unwrap();
    let texts = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    record(&command, texts, &[way]).map_err(|error| error.to_string())
}

/// Records a command in each way that this machine lets us.
fn in_each_way(words: &[&str], mut check: impl FnMut(Recorded)) {
    for way in Way::ALL {
        match try_record(words, way) {
            Ok(recorded) => check(recorded),
            Err(why) => not_run(way, &why),
        }
    }
}

/// Sandboxes forbid ptrace; the tracepoint needs root, and a kernel that tells its types, and a listener a
/// recent one. Everything else
/// is a mistake: a program that the kernel does not like, for one.
fn not_run(way: Way, why: &str) {
    let machine =
        ["not permitted", "Permission denied", "vmlinux", "x86-64 only", "not implemented"];
    let known = machine.iter().any(|reason| why.contains(reason)) && !why.contains("(");
    assert!(known || why.contains("lets no listener"), "{why}");
    eprintln!("not run by {way:?}: {why}");
}

fn native(name: &str) -> CallId {
    let arch = Arch::native().unwrap();
    CallId::new(arch, arch.number(name).unwrap())
}

fn count(recording: &Recording, call: CallId) -> u64 {
    recording.get(call).map_or(0, |seen| seen.count())
}

/// The calls of each part of the subject, and how often it makes them.
fn expected() -> Vec<(CallId, u64)> {
    let mut calls: Vec<(CallId, u64)> = [
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
    calls.push((CallId::new(native("read").arch, 999), 1));
    if native("read").arch == Arch::X86_64 {
        calls.push((CallId::new(Arch::X32, 0x4000_0000 | 39), 1));
        calls.push((CallId::new(Arch::X86, 20), 7));
    }
    calls
}

#[test]
fn no_call_is_missed() {
    in_each_way(&[SUBJECT], |recorded| {
        let recording = &recorded.recording;
        for (call, expected) in expected() {
            let name = call.name();
            assert_eq!(count(recording, call), expected, "{name:?} {call:?} {:?}", recorded.way);
        }
        let run = &recording.runs()[0];
        assert_eq!((run.lost, run.from_execve, run.status), (0, true, Some(0)));
        // The command, 20 + 5 + 1 + 1 + 1 + 2 + 1 + 1 children; threads: 4, and 1, 1 and 2 in children.
        assert_eq!((run.processes, run.threads), (Some(33), Some(41)), "{:?}", recorded.way);
        assert_eq!(run.command, [SUBJECT]);
        let is_expected = |note: &Note| match recorded.way {
            Way::Tracepoint => matches!(note, Note::Denied(Some(35..))),
            Way::Listener | Way::Stops => *note == Note::Denied(None),
        };
        assert!(recorded.notes.iter().any(is_expected), "{:?}", recorded.notes);
    });
}

/// In a container the recorder has a filter itself, which the command inherits.
#[test]
fn calls_that_the_recorders_own_filter_denies_are_not_missed() {
    let deny_getgid = Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, native("getgid").nr, 0, 1),
        Insn::new(Op::RetK, Verdict::errno(1).0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ]);
    // A filter stays with its thread.
    let filtered = std::thread::spawn(move || {
        callgate_linux::install(&deny_getgid.unwrap(), callgate_linux::FilterFlags::NONE).unwrap();
        in_each_way(&[SUBJECT], |recorded| {
            for (call, expected) in expected() {
                let counted = count(&recorded.recording, call);
                assert_eq!(counted, expected, "{:?} {:?}", call.name(), recorded.way);
            }
        });
    });
    filtered.join().unwrap();
}

#[test]
fn values_are_kept_as_filters_see_them() {
    in_each_way(&[SUBJECT], |recorded| {
        let lseek = recorded.recording.get(native("lseek")).unwrap();
        let [descriptor, offset, whence] = lseek.args() else { panic!("three arguments") };
        assert_eq!(descriptor.all(), Some(&[u64::MAX][..]));
        assert_eq!(whence.all(), Some(&[0, 1, 2][..]));
        assert!(40 > MAX_VALUES && offset.all().is_none());
        let bounds = Bounds { min: 1, max: 39 << 8 | 1, ever: 0x3f01, always: 1 };
        assert_eq!(offset.bounds(), Some(bounds), "{:?}", recorded.way);
        assert!((0..3).all(|arg| lseek.is_known(arg)));
    });
}

#[test]
fn calls_beyond_the_limit_are_counted_as_lost() {
    in_each_way(&[SUBJECT, "numbers"], |recorded| {
        let recording = &recorded.recording;
        assert_eq!(recording.calls().len(), MAX_CALLS, "{:?}", recorded.way);
        let kept = recording.calls().filter(|(call, _)| call.nr >= 10_000).count() as u64;
        let lost = recording.runs()[0].lost;
        // The end of the program comes after them, by a few calls.
        assert!((600..610).contains(&(kept + lost)), "{kept} {lost} {:?}", recorded.way);
        assert_eq!(count(recording, native("execve")), 1);
    });
}

#[test]
fn strace_sees_the_same() {
    let log = std::env::temp_dir().join(format!("callgate-strace-{}", std::process::id()));
    let strace = std::process::Command::new("strace")
        .args(["-f", "-e", "raw=all", "-o"])
        .arg(&log)
        .arg(SUBJECT)
        .status();
    if !strace.is_ok_and(|status| status.success()) {
        eprintln!("not run: strace is not installed, or may not trace");
        return;
    }
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let options =
        callgate::read::ReadOptions { arch: native("read").arch, strict: true, partial: false };
    let strace = callgate::read::read(&text, &options).unwrap().recording;
    in_each_way(&[SUBJECT], |recorded| {
        for (call, expected) in expected() {
            // A file does not say which calls are of another interface.
            if [Arch::X86, Arch::X32].contains(&call.arch) {
                continue;
            }
            assert_eq!(count(&strace, call), expected, "{call:?} by strace");
            assert_eq!(count(&recorded.recording, call), expected, "{call:?}");
        }
        for (call, _) in strace.calls() {
            // Whether these are made at all depends on who waits for whom.
            let timing = ["futex", "restart_syscall", "clock_nanosleep", "pause", "madvise"];
            if !call.name().is_some_and(|name| timing.contains(&name)) {
                let ours = count(&recorded.recording, call);
                assert!(ours > 0, "{:?} {:?}", call.name(), recorded.way);
            }
        }
    });
}

#[test]
fn the_status_of_the_command_is_kept() {
    for (words, status) in
        [(["exit", "3"], 3), (["exit", "255"], 255), (["kill", "15"], 143), (["kill", "9"], 137)]
    {
        in_each_way(&[SUBJECT, words[0], words[1]], |recorded| {
            assert_eq!(exit_status(recorded.status), status, "{words:?} {:?}", recorded.way);
            assert_eq!(recorded.recording.runs()[0].status, Some(status));
            assert_eq!(count(&recorded.recording, native("execve")), 1);
        });
    }
}

#[test]
fn what_the_command_leaves_behind_is_waited_for() {
    in_each_way(&[SUBJECT, "left-behind"], |recorded| {
        assert_eq!(count(&recorded.recording, native("getegid")), 2, "{:?}", recorded.way);
        assert_eq!(count(&recorded.recording, native("setsid")), 1);
    });
}

#[test]
fn processes_that_cannot_be_traced_are_noted() {
    in_each_way(&[SUBJECT, "untraced"], |recorded| {
        let (notes, counted) = match recorded.way {
            Way::Tracepoint | Way::Listener => (vec![], 3),
            Way::Stops => (vec![Note::Untraced(1)], 0),
        };
        assert_eq!(recorded.notes, notes, "{:?}", recorded.way);
        let run = &recorded.recording.runs()[0];
        assert_eq!((run.processes, run.threads), (Some(1 + counted / 3), Some(1 + counted / 3)));
        assert_eq!(count(&recorded.recording, native("getgid")), counted, "{:?}", recorded.way);
    });
}

/// A filter with which a call fails whose argument is this number.
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

/// A filter makes one request of ptrace fail, which is made when the command stops itself.
#[test]
fn what_was_recorded_is_kept_when_tracing_fails() {
    let deny_listen = deny_request("ptrace", 0, libc::PTRACE_LISTEN, libc::EIO);
    let filtered = std::thread::spawn(move || {
        callgate_linux::install(&deny_listen, callgate_linux::FilterFlags::NONE).unwrap();
        Way::PTRACE.map(|way| (way, try_record(&[SUBJECT, "stop"], way)))
    });
    for (way, result) in filtered.join().unwrap() {
        match result {
            Ok(recorded) => {
                let failed = Note::Failed("Input/output error".to_owned());
                assert_eq!(recorded.notes, [failed, Note::Denied(None)], "{way:?}");
                assert_eq!(count(&recorded.recording, native("execve")), 1);
                assert_eq!(count(&recorded.recording, native("kill")), 1);
                assert_eq!(exit_status(recorded.status), 128 + libc::SIGKILL as u8);
            }
            Err(why) => not_run(way, &why),
        }
    }
}

/// A signal that comes while a call waits to be recorded must not end the call.
#[test]
fn calls_are_not_interrupted_by_being_recorded() {
    for what in ["interrupted", "interrupted-under-a-filter"] {
        in_each_way(&[SUBJECT, what], |recorded| {
            assert_eq!(exit_status(recorded.status), 0, "{what} {:?}", recorded.way);
            for name in ["getpgid", "preadv", "waitid"] {
                let count = count(&recorded.recording, native(name));
                assert_eq!(count, 2_000, "{what} {name} {:?}", recorded.way);
            }
            // A hundred of them block.
            assert!(count(&recorded.recording, native("readv")) >= 2_090, "{:?}", recorded.way);
            assert!(count(&recorded.recording, native("rt_sigreturn")) > 20, "{:?}", recorded.way);
        });
    }
}

#[test]
fn a_command_that_gets_no_listener_is_noted() {
    in_each_way(&[SUBJECT, "listener"], |recorded| {
        let listens = recorded.notes.contains(&Note::Listens);
        assert_eq!(listens, recorded.way == Way::Listener, "{:?}", recorded.notes);
        assert_eq!(exit_status(recorded.status), u8::from(listens), "{:?}", recorded.way);
    });
}

/// The first way that works, and the last reason when none does.
#[test]
fn ways_are_tried_in_order() {
    let recorded =
        |ways: &[Way]| record(&Command::find(&["true".into()]).unwrap(), vec!["true".into()], ways);
    assert!(recorded(&[]).unwrap_err().to_string().contains("no way"));
    let (Ok(stops), Ok(listener)) = (recorded(&[Way::Stops]), recorded(&[Way::Listener])) else {
        eprintln!("not run: ptrace is not permitted, or there is no listener");
        return;
    };
    assert_eq!((stops.way, listener.way), (Way::Stops, Way::Listener));
    assert_eq!(recorded(&Way::PTRACE).unwrap().way, Way::Listener);
    // As on a kernel before 6.6.
    let request = libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS as u32;
    let old = deny_request("ioctl", 1, request, libc::EINVAL);
    let chosen = std::thread::spawn(move || {
        callgate_linux::install(&old, callgate_linux::FilterFlags::NONE).unwrap();
        recorded(&Way::PTRACE).unwrap().way
    });
    assert_eq!(chosen.join().unwrap(), Way::Stops);
}

#[test]
fn a_program_whose_interpreter_is_missing_is_not_recorded() {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::temp_dir().join(format!("callgate-bad-{}", std::process::id()));
    std::fs::write(&path, "#!/nonexistent\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    for way in Way::ALL {
        let error = try_record(&[path.to_str().unwrap()], way).unwrap_err();
        if error.contains("its interpreter that is missing") {
            continue;
        }
        not_run(way, &error);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn the_way_is_written_down() {
    in_each_way(&[SUBJECT, "exit", "0"], |recorded| {
        let how = match recorded.way {
            Way::Tracepoint => RecordingMethod::Tracepoint,
            Way::Listener | Way::Stops => RecordingMethod::Ptrace,
        };
        assert_eq!(recorded.recording.runs()[0].method, how);
        // Where somebody else uses the tracepoint at the same time, one recorder more costs next to nothing.
        assert!(recorded.way == Way::Tracepoint || recorded.cost_per_call.as_nanos() > 0);
    });
}
