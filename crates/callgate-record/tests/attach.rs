//! Running processes are recorded from the moment of attaching on, and do not notice it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_record::{
    AttachTarget, Cgroup, ExecutableRecording, Note, RecordError, RecordMethod, Recorded,
    RunningProcess, Save, attach_to,
};
use callgate_testing::{Need, Skip, TestResult, needs_root};
use callgate_trace::recording::{Effect, Recording, SyscallId};

const SUBJECT: &str = env!("CARGO_BIN_EXE_attach-subject");

/// How long each wait may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        every_syscall_after_attaching_is_counted,
        syscalls_in_which_threads_wait_are_counted,
        the_target_continues_and_can_be_recorded_again,
        no_thread_is_missed_while_threads_start_each_other,
        a_process_that_has_ended_is_not_recorded,
        threads_and_kernel_threads_are_not_processes,
        a_cgroup_is_recorded_with_those_below,
        processes_that_enter_a_cgroup_count_from_their_execve,
        a_starting_container_is_recorded_from_its_execve,
        an_empty_cgroup_is_waited_for_where_a_container_starts,
        processes_that_ran_where_a_container_starts_are_a_caveat,
        an_empty_cgroup_is_an_error,
    ]
}

/// A running subject.
struct Subject {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl Subject {
    /// Starts it; it is ready when this returns.
    fn start() -> Subject {
        Subject::start_by(Command::new(SUBJECT))
    }

    /// Starts it in a cgroup.
    fn start_in(cgroup: &Path) -> Subject {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$1\" && exec \"$2\"", "sh"]);
        command.arg(cgroup.join("cgroup.procs")).arg(SUBJECT);
        Subject::start_by(command)
    }

    fn start_by(mut command: Command) -> Subject {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let requests = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (send, answers) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        let subject = Subject { process, requests, answers };
        assert_eq!(subject.answer(), "ready");
        subject
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("the subject answers")
    }

    /// Sends a request and waits for the answer.
    fn ask(&mut self, request: &str) -> String {
        writeln!(self.requests, "{request}").unwrap();
        self.answer()
    }

    fn exit(&mut self) {
        writeln!(self.requests, "exit").unwrap();
        self.process.wait().unwrap();
    }

    fn target(&self) -> AttachTarget {
        AttachTarget::Process(RunningProcess::find(self.process.id()).unwrap())
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reports the start of a recording.
struct ReportsAttaching(Sender<u64>);

impl Save for ReportsAttaching {
    fn attached(&mut self, threads: u64) {
        let _ = self.0.send(threads);
    }

    fn whole(&mut self, _: &Recording, _: &[ExecutableRecording]) {}
}

fn skip(why: RecordError) -> Skip {
    crate::skip::impossible(RecordMethod::Tracepoint, &why)
}

/// Attaches, does something, and returns the recording, which the end of the target or a signal must end.
fn while_recorded(target: &AttachTarget, does: impl FnOnce(u64)) -> Result<Recorded, Skip> {
    let (send, attached) = mpsc::channel();
    std::thread::scope(|scope| {
        let recorder =
            scope.spawn(move || attach_to(target, Some(PATIENCE), &mut ReportsAttaching(send)));
        // The sender is dropped when the recorder cannot start.
        if let Ok(threads) = attached.recv_timeout(PATIENCE) {
            does(threads);
        }
        let recorded = recorder.join().unwrap().map_err(skip)?;
        assert!(recorded.time < PATIENCE, "the recording was not ended");
        Ok(recorded)
    })
}

fn count(recording: &Recording, name: &str) -> u64 {
    let arch = Arch::native().unwrap();
    let syscall = SyscallId::new(arch, arch.number(name).unwrap());
    recording.get(syscall).map_or(0, |seen| seen.count())
}

fn every_syscall_after_attaching_is_counted() -> TestResult {
    let mut subject = Subject::start();
    for request in ["call 7", "work 7", "thread 7", "child 7", "program 7"] {
        subject.ask(request);
    }
    let target = subject.target();
    let recorded = while_recorded(&target, |threads| {
        assert_eq!(threads, 4);
        for request in ["call 100", "work 50", "thread 30", "child 20", "program 10"] {
            assert_eq!(subject.ask(request), "done");
        }
        subject.exit();
    })?;
    let recording = &recorded.recording;
    for (name, expected) in [
        ("getegid", 100),
        ("munlockall", 150),
        ("getgid", 30),
        ("getuid", 20),
        ("geteuid", 10),
        ("execve", 1),
    ] {
        assert_eq!(count(recording, name), expected, "{name}");
    }
    let run = &recording.runs()[0];
    assert_eq!((run.processes, run.threads, run.lost), (Some(3), Some(7), 0));
    assert_eq!((run.from_execve, run.status), (false, None));
    assert_eq!(run.command, [SUBJECT]);
    let [caveat] = &run.caveats[..] else { panic!("{:?}", run.caveats) };
    assert_eq!((caveat.id.as_str(), caveat.effect), ("attached", Effect::Excerpt));
    let pid = subject.process.id();
    assert!(caveat.text.starts_with(&format!("process {pid} (attach-subject) ")), "{caveat:?}");
    assert_eq!(recorded.notes, []);
    Ok(())
}

/// The subject waits for a request, and its threads wait for work.
fn syscalls_in_which_threads_wait_are_counted() -> TestResult {
    let subject = Subject::start();
    let pid = subject.process.id();
    until("the threads wait", || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let syscalls = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("syscall")));
        let nrs = syscalls.map(|text| text.unwrap().split(' ').next().unwrap().to_owned());
        let mut nrs: Vec<String> = nrs.collect();
        nrs.sort();
        let name = |name: &str| Arch::native().unwrap().number(name).unwrap().to_string();
        nrs == [name("read"), name("futex"), name("futex"), name("futex")]
    })?;
    let mut save = ReportsAttaching(mpsc::channel().0);
    let recorded = attach_to(&subject.target(), Some(Duration::ZERO), &mut save).map_err(skip)?;
    let all: Vec<_> = recorded.recording.syscalls().collect();
    let counts: Vec<_> = all.iter().map(|(id, seen)| (id.name(), seen.count())).collect();
    assert_eq!(counts, [(Some("read"), 1), (Some("futex"), 3)]);
    assert_eq!(all[0].1.args()[0].all(), Some(&[0][..]), "the descriptor");
    Ok(())
}

/// Waits until a condition holds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) -> TestResult {
    callgate_testing::needs_root()?;
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn the_target_continues_and_can_be_recorded_again() -> TestResult {
    let mut subject = Subject::start();
    for calls in [20, 30] {
        let target = subject.target();
        let recorded = while_recorded(&target, |_| {
            subject.ask(&format!("call {calls}"));
            subject.ask(&format!("work {calls}"));
            // SAFETY: takes numbers; the recorder of this process handles the signal.
            unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        })?;
        assert_eq!(count(&recorded.recording, "getegid"), calls);
        assert_eq!(count(&recorded.recording, "munlockall"), 3 * calls);
        // The signal came long before the time was over.
        assert!(
            matches!(recorded.notes.as_slice(), [Note::CutShort { .. }]),
            "{:?}",
            recorded.notes
        );
        assert_eq!(subject.ask("call 1000"), "done");
    }
    Ok(())
}

/// Threads that start and end at any time: from the moment of attaching on, each of their syscalls is counted.
fn no_thread_is_missed_while_threads_start_each_other() -> TestResult {
    let mut subject = Subject::start();
    subject.ask("relay 100");
    let target = subject.target();
    let (mut first, mut last) = (0, 0);
    let recorded = while_recorded(&target, |_| {
        let made = |subject: &mut Subject| subject.ask("made").parse::<u64>().unwrap();
        first = made(&mut subject);
        subject.ask("relay 2000");
        last = made(&mut subject);
        subject.exit();
    })?;
    let counted = count(&recorded.recording, "getpgid");
    assert!(counted >= last - first, "{counted} of at least {last} - {first}");
    assert_eq!(recorded.recording.runs()[0].lost, 0);
    Ok(())
}

fn a_process_that_has_ended_is_not_recorded() -> TestResult {
    let mut subject = Subject::start();
    let (target, pid) = (subject.target(), subject.process.id());
    subject.exit();
    let why = attach_to(&target, None, &mut ReportsAttaching(mpsc::channel().0)).unwrap_err();
    let text = format!("process {pid} (attach-subject) has no running processes");
    if why.to_string() != text {
        return Err(skip(why));
    }
    let error = RunningProcess::find(pid).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no process {pid}"));
    Ok(())
}

fn threads_and_kernel_threads_are_not_processes() -> TestResult {
    let subject = Subject::start();
    let pid = subject.process.id();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let ids = tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse::<u32>().unwrap());
    let thread = ids.max().unwrap();
    let error = RunningProcess::find(thread).unwrap_err();
    let expected = format!("{thread} is a thread of process {pid}, not a process");
    assert_eq!(error.to_string(), expected);
    assert!(error.help().contains(&pid.to_string()));
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        let error = RunningProcess::find(2).unwrap_err();
        assert_eq!(error.to_string(), "2 (kthreadd) is a kernel thread");
    }
    Ok(())
}

/// A cgroup with one above and one below, removed at the end.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Result<Group, Skip> {
        needs_root()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
        let mount = mount.and_then(|line| line.split(' ').nth(4));
        let none = || Skip::new(Need::Kernel, "no cgroup v2 hierarchy is mounted");
        let name = format!("callgate-test-{name}-{}", std::process::id());
        let path = Path::new(mount.ok_or_else(none)?).join(name).join("group");
        fs::create_dir_all(path.join("below")).map_err(|why| {
            Skip::new(Need::Kernel, format!("{} cannot be created: {why}", path.display()))
        })?;
        Ok(Group(path))
    }

    fn target(&self) -> AttachTarget {
        AttachTarget::Cgroup(Cgroup::open(&self.0).unwrap())
    }

    fn starting(&self, first_process: Option<u32>) -> AttachTarget {
        AttachTarget::Starting { cgroup: Cgroup::open(&self.0).unwrap(), first_process }
    }

    /// Runs another program of the subject, which enters this cgroup or the one below.
    fn run(&self, how: &str, file: &str, calls: &str) {
        let status = Command::new(SUBJECT).arg(how).arg(self.0.join(file)).arg(calls).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel removes processes from a cgroup shortly after they were reaped.
        for directory in self.0.join("below").ancestors().take(3) {
            let start = std::time::Instant::now();
            while fs::remove_dir(directory).is_err() && start.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn a_cgroup_is_recorded_with_those_below() -> TestResult {
    let group = Group::new("below")?;
    let mut here = Subject::start_in(&group.0);
    let mut below = Subject::start_in(&group.0.join("below"));
    let mut outside = Subject::start();
    let recorded = while_recorded(&group.target(), |threads| {
        assert_eq!(threads, 8);
        here.ask("call 5");
        below.ask("call 6");
        below.ask("program 9");
        outside.ask("call 100");
        here.exit();
        below.ask("work 2");
        below.exit();
    })?;
    let recording = &recorded.recording;
    assert_eq!(count(recording, "getegid"), 11);
    assert_eq!(count(recording, "geteuid"), 9);
    assert_eq!(count(recording, "munlockall"), 6);
    let run = &recording.runs()[0];
    assert_eq!((run.processes, run.threads, run.lost), (Some(3), Some(9), 0));
    assert_eq!(run.command, [""; 0]);
    assert!(run.caveats[0].text.starts_with("cgroup /callgate-test-below-"), "{:?}", run.caveats);
    Ok(())
}

/// Like those of `docker exec`: the syscalls of the runtime, which enters the cgroup and executes the program, do not
/// count.
fn processes_that_enter_a_cgroup_count_from_their_execve() -> TestResult {
    let group = Group::new("enter")?;
    let mut subject = Subject::start_in(&group.0);
    let recorded = while_recorded(&group.target(), |_| {
        group.run("join", "cgroup.procs", "3");
        group.run("join", "below/cgroup.procs", "4");
        // Its `execve` fails.
        group.run("stay", "cgroup.procs", "5");
        subject.exit();
    })?;
    let recording = &recorded.recording;
    assert_eq!(count(recording, "geteuid"), 7);
    assert_eq!(count(recording, "setsid"), 0, "syscalls before the execve");
    assert_eq!(count(recording, "execve"), 3);
    let run = &recording.runs()[0];
    assert_eq!((run.processes, run.threads, run.lost), (Some(3), Some(6), 0));
    Ok(())
}

/// What runs in the cgroup already is the container's runtime.
fn a_starting_container_is_recorded_from_its_execve() -> TestResult {
    let group = Group::new("starting")?;
    let mut runtime = Subject::start_in(&group.0);
    let recorded = while_recorded(&group.starting(Some(runtime.process.id())), |threads| {
        assert_eq!(threads, 0);
        runtime.ask("call 8");
        runtime.ask("thread 8");
        // A hook of the runtime; the container's program comes later.
        group.run("join", "cgroup.procs", "2");
        std::thread::sleep(Duration::from_millis(300));
        group.run("join", "cgroup.procs", "3");
        runtime.exit();
    })?;
    let recording = &recorded.recording;
    assert_eq!(count(recording, "geteuid"), 5);
    assert_eq!(count(recording, "execve"), 2);
    for of_the_runtime in ["getegid", "getgid", "setsid"] {
        assert_eq!(count(recording, of_the_runtime), 0, "{of_the_runtime}");
    }
    let run = &recording.runs()[0];
    assert_eq!((run.processes, run.threads, run.lost), (Some(2), Some(2), 0));
    assert!(run.from_execve && run.caveats.is_empty(), "{run:?}");
    Ok(())
}

/// The cgroup of a container may still be empty, and the runtime may create it long before the container starts.
fn an_empty_cgroup_is_waited_for_where_a_container_starts() -> TestResult {
    let group = Group::new("waits")?;
    let recorded = while_recorded(&group.starting(None), |threads| {
        assert_eq!(threads, 0);
        std::thread::sleep(Duration::from_millis(300));
        group.run("join", "cgroup.procs", "3");
    })?;
    assert_eq!(count(&recorded.recording, "geteuid"), 3);
    assert_eq!(recorded.notes, []);
    let mut save = ReportsAttaching(mpsc::channel().0);
    let limit = Some(Duration::from_millis(200));
    let recorded = attach_to(&group.starting(None), limit, &mut save).map_err(skip)?;
    assert!(recorded.time >= Duration::from_millis(200), "{:?}", recorded.time);
    assert_eq!(recorded.notes, [Note::NothingExecuted]);
    Ok(())
}

/// What runs there already and is not the first process of the container is missing, and the recording says that.
fn processes_that_ran_where_a_container_starts_are_a_caveat() -> TestResult {
    let group = Group::new("others")?;
    let mut other = Subject::start_in(&group.0);
    let mut first = Subject::start_in(&group.0.join("below"));
    let recorded = while_recorded(&group.starting(Some(first.process.id())), |_| {
        other.ask("call 4");
        group.run("join", "cgroup.procs", "3");
        first.exit();
        other.exit();
    })?;
    assert_eq!(recorded.notes, [Note::RanBefore(1)]);
    let caveats = &recorded.recording.runs()[0].caveats;
    assert_eq!((caveats[0].id.as_str(), caveats[0].effect), ("ran-before", Effect::Excerpt));
    Ok(())
}

fn an_empty_cgroup_is_an_error() -> TestResult {
    let group = Group::new("empty")?;
    let why =
        attach_to(&group.target(), None, &mut ReportsAttaching(mpsc::channel().0)).unwrap_err();
    let above = group.0.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let name = format!("{above}/group");
    if why.to_string() != format!("cgroup /{name} has no running processes") {
        return Err(skip(why));
    }
    let found = Cgroup::open(Path::new(&name)).unwrap();
    assert_eq!(found.to_string(), format!("cgroup /{name}"));
    for (path, expected) in [
        ("/", "is the root cgroup, which has all processes"),
        ("/nonexistent/cgroup", "/nonexistent/cgroup: there is no such cgroup"),
        ("/proc", "/proc is not a cgroup"),
    ] {
        let why = Cgroup::open(Path::new(path)).unwrap_err().to_string();
        assert!(why.ends_with(expected), "{path}: {why}");
    }
    Ok(())
}
