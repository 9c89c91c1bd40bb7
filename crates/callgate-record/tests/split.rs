//! Executables are counted apart on demand, by every method and when attached.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_linux::Command;
use callgate_record::{
    AttachTarget, ExecutableRecording, MAX_EXECUTABLES, RecordMethod, Recorded, RunningProcess,
    Save, attach_to, record_to,
};
use callgate_testing::{Skip, TestResult, name_in, needs_root};
use callgate_trace::recording::{Recording, SyscallId};

const SUBJECT: &str = env!("CARGO_BIN_EXE_record-subject");
const SERVER: &str = env!("CARGO_BIN_EXE_attach-subject");

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    type Test = fn(RecordMethod) -> TestResult;
    let tests: [(&str, Test); 3] = [
        (
            "children_execute_what_their_parent_executes",
            children_execute_what_their_parent_executes,
        ),
        ("executables_are_counted_apart", executables_are_counted_apart),
        ("strange_paths_are_kept", strange_paths_are_kept),
    ];
    let mut trials = callgate_testing::trials![
        executables_beyond_the_limit_are_counted_together,
        running_processes_are_split,
        a_process_that_changes_its_path_is_attached_to
    ];
    for (name, test) in tests {
        for method in RecordMethod::ALL {
            let name = name_in(module_path!(), &format!("{name}::{method:?}"));
            trials.push(callgate_testing::test(name, move || test(method)));
        }
    }
    trials
}

/// Wants recordings of executables; reports that a recorder has attached.
struct Split(Option<Sender<u64>>);

impl Save for Split {
    fn wants_executables(&self) -> bool {
        true
    }

    fn attached(&mut self, threads: u64) {
        let _ = self.0.as_ref().map(|sender| sender.send(threads));
    }

    fn whole(&mut self, _: &Recording, _: &[ExecutableRecording]) {}
}

fn record_shell(method: RecordMethod, commands: &str) -> Result<Recorded, Skip> {
    let words: [OsString; 3] = ["/bin/sh".into(), "-c".into(), commands.into()];
    let command = Command::find(&words).unwrap();
    record_to(&command, vec!["sh".to_owned()], &[method], &mut Split(None))
        .map_err(|why| crate::skip::impossible(method, &why))
}

fn paths(recorded: &Recorded) -> Vec<&str> {
    recorded.executables.iter().map(|executable| executable.path.as_str()).collect()
}

fn count(recording: &Recording, name: &str) -> u64 {
    let arch = Arch::native().unwrap();
    let syscall = SyscallId::new(arch, arch.number(name).unwrap());
    recording.get(syscall).map_or(0, |seen| seen.count())
}

/// How often an executable made a syscall.
fn count_of(recorded: &Recorded, path: &str, name: &str) -> u64 {
    let mut all = recorded.executables.iter();
    count(&all.find(|executable| executable.path == path).unwrap().recording, name)
}

/// A directory that is removed with its content.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("callgate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    /// A link to the subject.
    fn link(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.0.join(name);
        std::os::unix::fs::symlink(SUBJECT, &path).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write_script(path: &Path, text: &str) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create_new(true).write(true).mode(0o700).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A shell that forks, and executes a script and programs, of which one executes another.
fn executables_are_counted_apart(method: RecordMethod) -> TestResult {
    let directory = Directory::new(&format!("split-{method:?}"));
    let script = directory.0.join("script");
    write_script(&script, &format!("#!/bin/sh\n(cd /)\ncd /\n{SUBJECT} leaf\ncd /\n"));
    let script = script.to_str().unwrap();
    let commands = format!("(cd /); {SUBJECT} leaf; {script}; exec /usr/bin/env {SUBJECT} leaf");
    let recorded = record_shell(method, &commands)?;
    let mut expected = vec!["/bin/sh", "/usr/bin/env", SUBJECT, script];
    expected.sort_unstable();
    assert_eq!(paths(&recorded), expected);
    let counts = |name| {
        ["/bin/sh", "/usr/bin/env", SUBJECT, script].map(|path| count_of(&recorded, path, name))
    };
    assert_eq!(counts("chdir"), [1, 0, 0, 3]);
    assert_eq!(counts("getegid")[1..3], [0, 9]);
    // The one that started it, and those that it made: one each by env and the script.
    assert_eq!(counts("execve"), [1 + 3, 1 + 1, 3, 1 + 1]);
    // Together, the executables made what was recorded; only each `execve` of an executable counts twice.
    let mut sum = Recording::default();
    recorded.executables.iter().for_each(|it| sum.merge(it.recording.clone()));
    for (syscall, seen) in recorded.recording.syscalls() {
        let twice = if syscall.name() == Some("execve") { 5 } else { 0 };
        assert_eq!(sum.get(syscall).map(|sum| sum.count()), Some(seen.count() + twice));
    }
    assert_eq!(count(&recorded.recording, "execve"), 6);
    assert_eq!(sum.syscalls().len(), recorded.recording.syscalls().len());
    let [run] = recorded.executables[0].recording.runs() else { panic!("several runs") };
    assert_eq!(run.labels.get("executable").map(String::as_str), Some(expected[0]));
    assert_eq!((run.processes, run.lost, run.from_execve), (None, 0, true));
    Ok(())
}

/// Even if their memory says something else.
fn children_execute_what_their_parent_executes(method: RecordMethod) -> TestResult {
    let recorded = record_shell(method, &format!("{SUBJECT} renamed; :"))?;
    assert_eq!(paths(&recorded), ["/bin/sh", SUBJECT]);
    assert_eq!(count_of(&recorded, SUBJECT, "getegid"), 150);
    let of_shell = count_of(&recorded, "/bin/sh", "getgid");
    assert_eq!(count(&recorded.recording, "getgid"), 400 + of_shell);
    assert_eq!(count_of(&recorded, SUBJECT, "getgid"), 400);
    Ok(())
}

fn a_process_that_changes_its_path_is_attached_to() -> TestResult {
    needs_root()?;
    let mut command = std::process::Command::new(SUBJECT);
    let mut subject = command.arg("renames").stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(subject.stdout.take().unwrap()).lines();
    assert_eq!(answers.next().unwrap().unwrap(), "ready");
    let target = AttachTarget::Process(RunningProcess::find(subject.id()).unwrap());
    let start = Instant::now();
    let recorded = attach_to(&target, Some(Duration::ZERO), &mut Split(None));
    let time = start.elapsed();
    let _ = subject.kill();
    let _ = subject.wait();
    let recorded =
        recorded.map_err(|why| crate::skip::impossible(RecordMethod::Tracepoint, &why))?;
    assert!(time < Duration::from_secs(8), "{time:?}");
    let run = &recorded.recording.runs()[0];
    assert_eq!((run.threads, run.lost), (Some(4), 0));
    Ok(())
}

/// Control characters, a path that is too long, and paths that are not UTF-8.
fn strange_paths_are_kept(method: RecordMethod) -> TestResult {
    let directory = Directory::new(&format!("strange-{method:?}"));
    let strange = directory.link("a\u{1b}[31m\nb");
    let below = directory.0.join("d".repeat(200));
    std::fs::create_dir_all(&below).unwrap();
    let long = below.join("e".repeat(200));
    std::os::unix::fs::symlink(SUBJECT, &long).unwrap();
    for bytes in [&b"f\xfe"[..], b"f\xff"] {
        directory.link(OsStr::from_bytes(bytes));
    }
    let all = directory.0.display();
    let commands = format!("{all}/a* leaf; {all}/d*/e* leaf; for p in {all}/f*; do $p leaf; done");
    let recorded = record_shell(method, &commands)?;
    for escaped in [r"f\xfe", r"f\xff"] {
        assert_eq!(count_of(&recorded, &format!("{all}/{escaped}"), "getegid"), 3);
    }
    assert_eq!(count_of(&recorded, strange.to_str().unwrap(), "getegid"), 3);
    assert_eq!(count_of(&recorded, &long.to_str().unwrap()[..239], "getegid"), 3);
    assert_eq!(paths(&recorded).len(), 5);
    Ok(())
}

/// The last program makes a syscall when all counters of single executables are in use.
fn executables_beyond_the_limit_are_counted_together() -> TestResult {
    const MORE: usize = 5;
    let directory = Directory::new("many");
    (0..MAX_EXECUTABLES + MORE).for_each(|number| drop(directory.link(format!("n{number}"))));
    let all = directory.0.display();
    let commands = format!("for p in {all}/n*; do $p many; done; {all}/n0 last; {all}/n0 leaf");
    let recorded = record_shell(RecordMethod::Tracepoint, &commands)?;
    // One of them is the shell, and the empty path has the others.
    assert_eq!(paths(&recorded).len(), MAX_EXECUTABLES + 1);
    assert_eq!(count_of(&recorded, "", "execve"), MORE as u64 + 1);
    let number = |recording: &Recording, nr| {
        recording.get(SyscallId::new(Arch::native().unwrap(), nr)).map_or(0, |seen| seen.count())
    };
    let whole = &recorded.recording;
    for nr in 0..40 {
        assert_eq!(number(whole, 10_000 + nr), (MAX_EXECUTABLES + MORE) as u64);
    }
    assert_eq!((number(whole, 11_000), whole.runs()[0].lost), (1, 0));
    // What executables lack, they have lost.
    let sum = |nr| recorded.executables.iter().map(|it| number(&it.recording, nr)).sum::<u64>();
    let missing: u64 = whole
        .syscalls()
        .filter(|(id, _)| id.name() != Some("execve"))
        .map(|(id, seen)| seen.count() - sum(id.nr))
        .sum();
    assert_eq!(sum(11_000), 0, "the map has room for more, so the test is too small");
    let [run] = recorded.executables[0].recording.runs() else { panic!("several runs") };
    assert!(missing > 0 && run.lost >= missing, "{missing} of {}", run.lost);
    assert!(run.lost - missing <= 2 * MAX_EXECUTABLES as u64, "{missing} of {}", run.lost);
    Ok(())
}

fn running_processes_are_split() -> TestResult {
    const PATIENCE: Duration = Duration::from_secs(60);
    needs_root()?;
    let mut server = std::process::Command::new(SERVER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    assert_eq!(answers.next().unwrap().unwrap(), "ready");
    let mut requests = server.stdin.take().unwrap();
    let target = AttachTarget::Process(RunningProcess::find(server.id()).unwrap());
    let (send, attached) = mpsc::channel();
    let recorded = std::thread::scope(|scope| {
        let target = &target;
        let recorder =
            scope.spawn(move || attach_to(target, Some(PATIENCE), &mut Split(Some(send))));
        if attached.recv_timeout(PATIENCE).is_ok() {
            for request in ["call 10", "program 7"] {
                writeln!(requests, "{request}").unwrap();
                assert_eq!(answers.next().unwrap().unwrap(), "done");
            }
        }
        // It ends with its input.
        let _ = writeln!(requests, "exit");
        recorder.join().unwrap()
    });
    let _ = server.kill();
    let _ = server.wait();
    let recorded =
        recorded.map_err(|why| crate::skip::impossible(RecordMethod::Tracepoint, &why))?;
    let mut expected = vec!["/proc/self/exe", SERVER];
    expected.sort_unstable();
    assert_eq!(paths(&recorded), expected);
    let counts = |name| [SERVER, "/proc/self/exe"].map(|path| count_of(&recorded, path, name));
    assert_eq!(counts("getegid"), [10, 0]);
    assert_eq!(counts("geteuid"), [0, 7]);
    assert_eq!(counts("execve"), [1, 1]);
    Ok(())
}
