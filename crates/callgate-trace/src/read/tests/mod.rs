//! Recordings in JSON, and the basics of each format of logs.

mod limits;
mod log_formats;
mod parts;

use super::*;
use crate::recording::{
    ArgValues, Bounds, Caveat, Effect, Recording, RecordingMethod, Run, RunId, SyscallId,
    SyscallStats,
};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::Arch;

const OPTIONS: ReadOptions = ReadOptions { arch: Arch::X86_64, strict: false, partial: false };

fn x86_64(name: &str) -> SyscallId {
    SyscallId::new(Arch::X86_64, Arch::X86_64.number(name).unwrap())
}

/// Reads a text that causes no messages.
fn quiet(text: &str) -> Recording {
    let read = read(text, &ReadOptions { strict: true, ..OPTIONS }).unwrap();
    assert_eq!(read.warnings, []);
    read.recording
}

fn lines(messages: &[Diagnostic]) -> String {
    messages.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn errors(text: &str) -> String {
    lines(&read(text, &OPTIONS).unwrap_err())
}

/// `name×count` for each syscall.
fn counts(recording: &Recording) -> String {
    let one = |(syscall, seen): (SyscallId, &SyscallStats)| match syscall.name() {
        Some(name) => format!("{name}×{}", seen.count()),
        None => format!("{}×{}", syscall.nr, seen.count()),
    };
    recording.syscalls().map(one).collect::<Vec<_>>().join(" ")
}

/// The values of the arguments of a syscall; `None` if no value is known.
fn values(recording: &Recording, syscall: SyscallId) -> Vec<Option<Vec<u64>>> {
    let all = |values: &ArgValues| values.all().filter(|all| !all.is_empty()).map(<[u64]>::to_vec);
    recording.get(syscall).unwrap().args().iter().map(all).collect()
}

fn full() -> Recording {
    let mut recording = Recording::of(Run {
        method: RecordingMethod::Ptrace,
        command: vec!["sh".into(), "-c".into(), "echo \"é\"\t\u{1b}\u{10ffff}".into()],
        from_execve: true,
        processes: Some(3),
        threads: Some(u64::MAX),
        lost: 7,
        status: Some(130),
        kernel: Some("6.18.44".into()),
        callgate: Some("0.1.0".into()),
        caveats: vec![Caveat {
            id: "denied-calls".into(),
            effect: Effect::Excess,
            count: Some(3),
            text: "filters \"denied\" 3 calls".into(),
        }],
        labels: [("node".into(), "é\n".into())].into(),
        id: Some(RunId::Assigned(5)),
    });
    recording.push_run(Run { id: Some(RunId::Digest(u64::MAX)), ..Run::default() });
    let close = x86_64("close");
    recording.observe(close, &[3; 6]);
    recording.count(close, 5);
    for value in 0..100 {
        recording.observe(x86_64("mmap"), &[0, u64::MAX - value, 3, 34, value << 32, 1]);
    }
    recording.count(x86_64("getpid"), crate::recording::MAX_COUNT);
    for nr in [600, 0x3fff_ffff, 0x4000_0001, 0x7fff_ffff, u32::MAX] {
        recording
            .observe(SyscallId::of(Arch::X86_64.token(), nr).unwrap(), &[1, 2, 3, 4, 5, u64::MAX]);
    }
    recording.observe(SyscallId::new(Arch::X86, 3), &[1, 2, 3, 0, 0, 0xffff_ffff]);
    recording
}

/// Two runs with different syscalls and values.
fn merged() -> Recording {
    let mut recording = full();
    let mut other = Recording::of(Run::default());
    other.observe(x86_64("close"), &[3; 6]);
    other.observe(x86_64("close"), &[4; 6]);
    other.observe(x86_64("ioctl"), &[3, 0x5401, 0, 0, 0, 0]);
    recording.merge(other);
    recording
}

#[test]
fn a_written_recording_is_read_back() {
    for recording in [full(), merged()] {
        let text = recording.to_json();
        assert_eq!(quiet(&text), recording);
        assert_eq!(quiet(&text).to_json(), text);
    }
    let text = full().to_json();
    // Weights ignore numbers without a name.
    let weights = crate::counts::read(&text, Arch::X86_64, false).unwrap();
    assert_eq!((weights.counts.len(), weights.warnings.len()), (5, 4));
}

#[test]
fn json_has_one_line_per_run_and_syscall() {
    let mut recording = Recording::of(Run { command: vec!["a".into()], ..Run::default() });
    recording.observe(x86_64("close"), &[u64::MAX, 0, 0, 0, 0, 0]);
    recording.observe(SyscallId::new(Arch::X86_64, 9999), &[0; 6]);
    recording.count(SyscallId::new(Arch::X86_64, 9999), 1);
    assert_eq!(
        recording.to_json(),
        r#"{
  "callgate": "recording",
  "version": 1,
  "runs": [
    {"how": "unknown", "command": ["a"], "lost": 0}
  ],
  "calls": [
    {"arch": "x86_64", "name": "close", "nr": 3, "count": 1, "args": [{"values": ["0xffffffffffffffff"]}]},
    {"arch": "x86_64", "nr": 9999, "count": 2, "args": [{"values": ["0x0"], "observed": 1}, {"values": ["0x0"], "observed": 1}, {"values": ["0x0"], "observed": 1}, {"values": ["0x0"], "observed": 1}, {"values": ["0x0"], "observed": 1}, {"values": ["0x0"], "observed": 1}]}
  ]
}
"#
    );
}

#[test]
fn numbers_of_runs_are_written_unless_they_are_1() {
    let text = merged().to_json();
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().trim();
    assert_eq!(
        line("\"close\""),
        r#"{"arch": "x86_64", "name": "close", "nr": 3, "count": 8, "runs": 2, "args": [{"values": ["0x3", "0x4"], "seen_in": [2, 1], "only_in": [null, [1]], "observed": 3}]},"#
    );
    assert!(!line("\"ioctl\"").contains("runs") && !line("\"ioctl\"").contains("seen_in"));
}

#[test]
fn caveats_of_a_newer_recorder_are_kept_and_invalid_ones_are_errors() {
    let run = |caveats: &str| {
        format!(
            r#"{{"callgate": "recording", "version": 1, "calls": [{{"arch": "x86_64", "nr": 1, "count": 1}}],
 "runs": [{{"caveats": {caveats}}}]}}"#
        )
    };
    let later = r#"[{"id": "quantum-calls", "effect": "spooky", "text": "they are entangled", "where": [1]}]"#;
    let read = quiet(&run(later));
    let caveat = &read.runs()[0].caveats[0];
    assert_eq!((caveat.id.as_str(), caveat.effect), ("quantum-calls", Effect::Altered));
    assert_eq!(quiet(&read.to_json()), read);
    for (caveats, message) in [
        ("7", "2:23: `caveats` must be a list, but is the number 7"),
        ("[7]", "2:24: each item of `caveats` must be an object, but is the number 7"),
        (r#"[{"text": ""}]"#, "2:24: missing `id` in a caveat"),
        (r#"[{"id": "x"}]"#, "2:24: missing `text` in a caveat"),
    ] {
        assert_eq!(errors(&run(caveats)), message);
    }
}

fn json(syscalls: &str) -> String {
    format!("{{\"callgate\": \"recording\", \"version\": 1,\n \"calls\": [{syscalls}]}}")
}

#[test]
fn values_may_be_written_by_hand() {
    let text = json(
        r#"{"arch": "amd64", "name": "mmap", "count": 9, "args": [null, {"values": [5, "0x5", 18446744073709551615], "observed": 8},
           {"min": 1, "max": "0x3", "ever": 3, "always": "0x1"}]}"#,
    );
    let recording = quiet(&text);
    let args = recording.get(x86_64("mmap")).unwrap().args();
    assert_eq!(args[0], ArgValues::default());
    assert_eq!(args[1], ArgValues::from_values(8, [5, u64::MAX]));
    assert_eq!(args[2], ArgValues::from_bounds(9, Bounds { min: 1, max: 3, ever: 3, always: 1 }));
}

#[test]
fn an_unknown_name_with_a_number_is_kept_by_the_number() {
    let text = json(
        r#"{"arch": "x86_64", "name": "frobnicate", "nr": 999, "count": 1}, {"arch": "x86_64", "name": "frobnicate", "count": 1}"#,
    );
    let read = read(&text, &OPTIONS).unwrap();
    assert_eq!(counts(&read.recording), "999×1");
    assert_eq!(
        lines(&read.warnings),
        "2:104: \"frobnicate\" is not the name of a syscall; ignored"
    );
}

#[test]
fn invalid_values_are_reported_with_their_position() {
    let syscall = |args: &str| {
        errors(&json(&format!(
            r#"{{"arch": "x86_64", "name": "read", "count": 2, "args": {args}}}"#
        )))
    };
    let many = format!("[{{\"values\": [{}]}}]", ["0"; 33].join(","));
    for (args, message) in [
        ("7", "2:67: `args` must be a list, but is the number 7"),
        ("[7]", "2:68: each item of `args` must be an object or null, but is the number 7"),
        (
            "[null,null,null,null,null,null,null]",
            "2:67: `args` has 7 items, but a syscall has at most 6 arguments",
        ),
        (
            r#"[{"values": ["5"]}]"#,
            "2:80: each value must be a 64-bit value such as \"0x1f\", but is the string \"5\"",
        ),
        (
            r#"[{"values": ["0x+5"]}]"#,
            "2:80: each value must be a 64-bit value such as \"0x1f\", but is the string \"0x+5\"",
        ),
        (
            r#"[{"values": [-1]}]"#,
            "2:80: each value is -1, but must be an integer from 0 to 18446744073709551615",
        ),
        (
            r#"[{"values": [1], "observed": 3}]"#,
            "2:96: `observed` is 3, but must be an integer from 0 to 2",
        ),
        (
            r#"[{"values": [1, 2], "seen_in": [1]}]"#,
            "2:98: `seen_in` needs one item per value: expected 2, found 1",
        ),
        (
            r#"[{"values": [1], "seen_in": [2]}]"#,
            "2:96: each item of `seen_in` is 2, but must be an integer from 0 to 1",
        ),
        (
            r#"[{"min": 1, "max": 2, "ever": 3}]"#,
            "2:68: missing `always` in an argument without `values`",
        ),
        (
            r#"[{"min": 2, "max": 1, "ever": 3, "always": 0}]"#,
            "2:68: `min`, `max`, `ever` and `always` contradict each other",
        ),
        (&many, "2:79: `values` has 33 values; the limit is 32"),
    ] {
        assert_eq!(syscall(args), message);
    }
}

#[test]
fn a_truncated_or_newer_recording_is_an_error() {
    let text = full().to_json();
    let text = text.trim_end();
    for (cut, _) in text.char_indices().skip(1) {
        let errors = read(&text[..cut], &OPTIONS).unwrap_err();
        assert!(errors[0].position.is_some(), "{cut}: {errors:?}");
    }
    let newer = text.replace("\"version\": 1", "\"version\": 2");
    assert_eq!(errors(&newer), "3:14: `version` is 2, but only version 1 is supported");
    assert_eq!(errors(&json("")), "1:1: no syscalls in this file");
    assert_eq!(
        errors("{\"defaultAction\": 1}"),
        "1:1: this JSON is not a recording: missing `\"callgate\": \"recording\"`"
    );
    assert_eq!(errors("read 1\0"), "1:7: not text: zero byte");
    let elf = "this is an ELF file, a program or a library, not a recording";
    assert_eq!(errors("\x7fELF\x02\x01\x01\0"), elf);
}

#[test]
fn complete_entries_of_a_truncated_recording_are_read_on_request() {
    let partial = ReadOptions { partial: true, ..OPTIONS };
    let (full, text) = (full(), full().to_json());
    let text = text.trim_end();
    assert_eq!(read(text, &partial).unwrap().recording, full);
    // Each line of a syscall is one entry.
    let end = |at: usize| at + text[at..].lines().next().unwrap().trim_end_matches(',').len();
    let entries: Vec<usize> = text.match_indices("{\"arch\"").map(|(at, _)| end(at)).collect();
    assert_eq!(entries.len(), full.syscalls().len());
    for (cut, _) in text.char_indices().skip(1) {
        let whole = entries.iter().filter(|end| **end <= cut).count();
        let read = match read(&text[..cut], &partial) {
            Ok(read) => read,
            Err(errors) => {
                assert_eq!(whole, 0, "{cut}: {errors:?}");
                continue;
            }
        };
        assert_eq!(read.recording.syscalls().len(), whole, "{cut}");
        for (syscall, seen) in read.recording.syscalls() {
            assert_eq!(Some(seen), full.get(syscall), "{cut}");
        }
        let lost = |recording: &Recording| recording.runs().iter().map(|run| run.lost).max();
        assert_eq!(lost(&read.recording), lost(&full).map(|lost| lost + 1), "{cut}");
        let message = format!("complete entries of `calls` that are used: {whole}");
        assert!(lines(&read.warnings).contains(&message), "{cut}: {:?}", read.warnings);
    }
    let cut = &text[..*entries.last().unwrap() - 10];
    let help = &super::read(cut, &OPTIONS).unwrap_err()[0].help;
    assert!(
        help.contains(&format!("complete entries of `calls` ({})", entries.len() - 1)),
        "{help}"
    );
    // Other errors are reported for truncated recordings too.
    let newer = cut.replace("\"version\": 1", "\"version\": 2");
    assert_eq!(
        lines(&super::read(&newer, &partial).unwrap_err()).lines().next(),
        Some("3:14: `version` is 2, but only version 1 is supported")
    );
}

#[test]
fn tables_are_for_the_given_architecture() {
    let text = "read 5\nclose 2.5\nsocketcall 1\n";
    let all = read(text, &OPTIONS).unwrap();
    assert_eq!(counts(&all.recording), "read×5 close×3");
    assert_eq!(lines(&all.warnings), "3:1: x86_64 has no syscall \"socketcall\"; ignored");
    let all = read(text, &ReadOptions { arch: Arch::X86, strict: true, partial: false }).unwrap();
    assert_eq!(counts(&all.recording), "read×5 close×3 socketcall×1");
}

const LOG: &str = r#"10937 execve("./t", ["./t", "a) = 1, \"b"], 0x7ffc6e66f0b8 /* 39 vars, x) */) = 0
10937 16:48:09.994600 [00007f663ae9fc17] openat(AT_FDCWD</tmp/a,b)>, "/etc/x", O_RDONLY|O_CLOEXEC) = 3</etc/x>
10937<my prog> fchmod(3<TCP:[1.2.3.4:5->6.7.8.9:10]>, 0644) = 0
10937 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>
10938 wait4(-1,  <unfinished ...>
10937 <... clone resumed>, child_tidptr=0x7f78382aca10) = 10939
10939 syscall_0x3e7(0x1, 0x2, 0, 0, 0x7ffeb9d4d7c7, 0) = -1 ENOSYS (Function not implemented) <0.000042>
10939 lseek(3, -5, SEEK_SET) = -1 EINVAL (Invalid argument)
10939 restart_syscall(<... resuming interrupted read ...>) = 0
10939 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---
10939 exit_group(3)                        = ?
10939 +++ exited with 3 +++
10938 <... wait4 resumed>NULL, 0, NULL) = 10939
10940 <... read resumed>"", 10) = 0
10938 read(3,  <unfinished ...>
"#;

#[test]
fn a_log_of_strace_in_a_file() {
    let recording = quiet(LOG);
    assert_eq!(
        counts(&recording),
        "read×2 lseek×1 clone×1 execve×1 wait4×1 fchmod×1 restart_syscall×1 exit_group×1 openat×1 999×1"
    );
    let values = |name| values(&recording, x86_64(name));
    assert_eq!(values("execve"), [None, None, Some(vec![0x7ffc_6e66_f0b8])]);
    assert_eq!(values("openat"), [None, None, None, None]);
    assert_eq!(values("fchmod"), [Some(vec![3]), Some(vec![0o644])]);
    assert_eq!(values("lseek"), [Some(vec![3]), Some(vec![5_u64.wrapping_neg()]), None]);
    // -1 may have 32 or 64 bits set.
    assert_eq!(values("wait4"), [None, Some(vec![0]), Some(vec![0]), Some(vec![0])]);
    assert_eq!(values("clone"), [const { None }; 5]);
    assert_eq!(values("read"), [Some(vec![3]), None, None]);
    assert!(!recording.get(x86_64("read")).unwrap().is_known(0), "only one of two values is known");
    let unknown = super::tests::values(&recording, SyscallId::new(Arch::X86_64, 999));
    assert_eq!(unknown[4], Some(vec![0x7ffe_b9d4_d7c7]));
}

#[test]
fn execve_by_a_thread_is_counted_once() {
    let log = "\
12 execve(\"/bin/true\", [\"true\"], 0x7ffc6e66f0b8 /* 39 vars */ <unfinished ...>
11 pause( <unfinished ...>
11 <... pause resumed>)              = ?
11 +++ superseded by execve in pid 12 +++
11 <... execve resumed>)             = 0
";
    assert_eq!(counts(&quiet(log)), "pause×1 execve×1");
}

#[test]
fn a_log_of_strace_from_a_terminal() {
    let log = "\
clone3({flags=CLONE_VM, exit_signal=0}strace: Process 10950 attached
 <unfinished ...>
[pid 10950] rseq(0x7f3acca28fe0, 0x20, 0, 0x53053053 <unfinished ...>
[pid 10949<a b>] <... clone3 resumed>, 88) = 10950
[pid 10950] <... rseq resumed>)         = 0
strace: [ Process PID=10950 runs in 32 bit mode. ]
[pid 10950] brk(0x1000) = 0
[pid 10950] _llseek(3, 4294967296, [4294967296], SEEK_SET) = 0
 > /usr/lib/x86_64-linux-gnu/libc.so.6(brk+0x7) [0x10]
[pid 10950] connect(3, {sa_family=AF_UNIX}, 110) = 0
hello, world
strace: [ Process PID=10950 runs in 64 bit mode. ]
[pid 10950] getpid() = 1
";
    let read = read(log, &OPTIONS).unwrap();
    assert_eq!(counts(&read.recording), "getpid×1 rseq×1 clone3×1 brk×1 _llseek×1 connect×1");
    assert_eq!(
        lines(&read.warnings),
        "10:13: \"connect\" may have been called through socketcall; strace prints both the same way\n\
         11:1: this line is not a syscall; skipped"
    );
    let x86 = |name| SyscallId::new(Arch::X86, Arch::X86.number(name).unwrap());
    assert_eq!(values(&read.recording, x86("brk"))[0], Some(vec![0x1000]));
    assert_eq!(values(&read.recording, x86("_llseek"))[1], None);
}

#[test]
fn a_table_below_a_log_is_not_counted() {
    let log = "read(0, \"\", 1) = 0\n% time     seconds  usecs/call     calls    errors syscall\n\
               ------ ----------- ----------- --------- --------- ----------------\n\
               100.00    0.000001           1         1           read\n";
    assert_eq!(counts(&quiet(log)), "read×1");
}

#[test]
fn everything_that_is_ignored_in_a_log_of_strace_is_reported() {
    let log = "read(0, \"\", 1) = 0\nreed(0) = 0\nsocketcall(1, 2) = 0\nread(1, \"abc";
    let read = read(log, &OPTIONS).unwrap();
    assert_eq!(counts(&read.recording), "read×2");
    assert_eq!(
        lines(&read.warnings),
        "2:1: \"reed\" is not the name of a syscall; ignored\n\
         3:1: x86_64 has no syscall \"socketcall\"; ignored\n\
         4:1: this line is truncated; the syscall is counted, its values are not known"
    );
    assert_eq!(super::read(log, &ReadOptions { strict: true, ..OPTIONS }).unwrap_err().len(), 3);
}

#[test]
fn the_last_line_of_a_log_may_be_truncated() {
    let log = "1 close(3) = 0\n1 close(4) = 0\n1 lseek(5, 12345, SEEK_SET) = 12345\n";
    let lseek = SyscallId::new(Arch::X86_64, 8);
    for end in [")", ") = 12345", ", SEEK_SET <unfinished ...>"] {
        let log = log.replace(", SEEK_SET) = 12345\n", end);
        assert_eq!(values(&quiet(&log), lseek)[1], Some(vec![12345]), "{end}");
    }
    let read = read(log.split_once("45, SEEK").unwrap().0, &OPTIONS).unwrap();
    assert_eq!(counts(&read.recording), "close×2 lseek×1");
    assert!(values(&read.recording, lseek).iter().all(Option::is_none));
    assert_eq!(
        lines(&read.warnings),
        "3:3: this line is truncated; the syscall is counted, its values are not known"
    );
}

#[test]
fn audit_records_raw_and_interpreted() {
    let log = r#"type=SYSCALL msg=audit(1.2:3): arch=c000003e syscall=0 success=yes
type=SECCOMP msg=audit(1334.123:456): auid=0 uid=0 pid=12 comm="my arch=1" exe="/bin/x" sig=31 arch=c000003e syscall=165 compat=0 ip=0x7f code=0x80000000
node=host type=SECCOMP msg=audit(1334.123:457): auid=0 pid=12 sig=0 arch=40000003 syscall=102 compat=1 ip=0x7f code=0x7ffc0000ARCH=i386 SYSCALL=socketcall
audit: type=1326 audit(1334.1:458): auid=0 sig=0 arch=c000003e syscall=-1 compat=0 ip=0x7f code=0x0
type=SECCOMP msg=audit(11/21/2026 16:46:05.123:459) : auid=root sig=SIGSYS arch=x86_64 syscall=mount compat=0 ip=0x7f code=kill
type=SECCOMP msg=audit(11/21/2026 16:46:05.123:460) : auid=root arch=x86_64 syscall=unknown-syscall(999) compat=0
type=SECCOMP msg=audit(1.2:461): arch=c000003e syscall=1073741824 compat=0
"#;
    let recording = quiet(log);
    assert_eq!(counts(&recording), "mount×2 999×1 4294967295×1 socketcall×1 read×1");
    assert_eq!(recording.runs()[0].method, RecordingMethod::Audit);
    let bad = "type=SECCOMP msg=audit(1.2:1): arch=c000003e sysc\n\
               type=SECCOMP msg=audit(1.2:1): arch=12345678 syscall=1\n\
               type=SECCOMP msg=audit(1.2:1): arch=x86_64 syscall=moumt\n\
               type=SECCOMP msg=audit(1.2:1): arch=x86_64 syscall=getpid\n\
               type=SECCOMP msg=audit(1.2:1): arch=x86_64 syscall=1";
    let read = read(bad, &OPTIONS).unwrap();
    assert_eq!(counts(&read.recording), "getpid×1");
    assert_eq!(
        lines(&read.warnings),
        "1:1: missing or truncated `arch` or `syscall` in this record; ignored\n\
         2:37: unknown architecture \"12345678\" in this record; ignored\n\
         3:52: \"moumt\" is not the name of a syscall; ignored\n\
         5:1: missing or truncated `arch` or `syscall` in this record; ignored"
    );
}

#[test]
fn a_repeated_unknown_name_is_reported_once() {
    let log = "frobnicate(1) = 0\nstat64(1) = 0\nclose(1) = 0\n".repeat(1000);
    let read = read(&log, &OPTIONS).unwrap();
    assert_eq!(counts(&read.recording), "close×1000");
    assert_eq!(
        lines(&read.warnings),
        "1:1: \"frobnicate\" is not the name of a syscall; ignored\n\
         2:1: x86_64 has no syscall \"stat64\"; ignored"
    );
}

/// Two concatenated logs of `strace -C`, each with a table at its end.
#[test]
fn syscalls_after_a_table_are_counted() {
    let table = "% time     seconds  usecs/call     calls    errors syscall\n\
                 ------ ----------- ----------- --------- --------- ----------------\n\
                 100.00    0.000055          55         1           read\n\
                 ------ ----------- ----------- --------- --------- ----------------\n\
                 100.00    0.000055          55         1           total\n";
    let log = format!("read(0, 0x1, 5) = 1\n{table}read(0, 0x1, 5) = 1\nclose(0) = 0\n{table}");
    assert_eq!(counts(&quiet(&log)), "read×2 close×1");
}
