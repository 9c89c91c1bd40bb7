//! However a recorder ends, the recording so far is not lost. Each test runs once per method.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use callgate_testing::{Need, Skip, TestResult, name_in};

const METHODS: [&str; 3] = ["tracepoint", "ptrace", "stops"];

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    type Test = fn(&str) -> TestResult;
    let tests: [(&str, Test); 4] = [
        ("no_signal_loses_a_recording", no_signal_loses_a_recording),
        ("a_recorder_that_is_killed_leaves_a_part", a_recorder_that_is_killed_leaves_a_part),
        (
            "a_part_is_removed_when_the_recording_is_complete",
            a_part_is_removed_when_the_recording_is_complete,
        ),
        ("a_device_has_no_part", a_device_has_no_part),
    ];
    let mut trials = callgate_testing::trials![a_recorder_that_is_killed_does_not_affect_others];
    for (name, test) in tests {
        for method in METHODS {
            let name = name_in(module_path!(), &format!("{name}::{method}"));
            trials.push(callgate_testing::test(name, move || test(method)));
        }
    }
    trials
}

/// How long each wait may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A recorder, the process ID of its command, and its directory.
struct Recorder {
    process: Child,
    command: i32,
    directory: PathBuf,
}

impl Recorder {
    /// Records a shell script, which prints its process ID at `$tell`.
    fn start(method: &str, test: &str, script: &str) -> Result<Recorder, Skip> {
        Recorder::start_with_output(method, test, script, "r.json")
    }

    fn start_with_output(
        method: &str,
        test: &str,
        script: &str,
        file: &str,
    ) -> Result<Recorder, Skip> {
        let script = script.replace("$tell", "echo $$; exec >&-");
        let name = format!("callgate-{test}-{method}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_callgate"))
            .args(["record", "--via", method, "-o", file, "--", "sh", "-c"])
            .arg(script)
            .current_dir(&directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(directory.join("report")).unwrap())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let (send, first_line) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(output).read_line(&mut line);
            send.send(line)
        });
        let mut recorder = Recorder { process, command: 0, directory };
        let line = first_line.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|_| panic!("the command did not start in {PATIENCE:?}"));
        if let Ok(command) = line.trim().parse() {
            recorder.command = command;
            return Ok(recorder);
        }
        recorder.wait();
        let report = recorder.read("report").unwrap_or_default();
        // Where the machine does not permit the method; every other error is a defect.
        let reasons =
            ["not permitted", "Permission denied", "vmlinux", "only x86-64", "not implemented"];
        assert!(reasons.iter().any(|reason| report.contains(reason)), "{method}: {report}");
        let need = if method == "tracepoint" { Need::Bpf } else { Need::Ptrace };
        Err(Skip::new(need, report.lines().next().unwrap_or_default()))
    }

    fn send(&self, signal: libc::c_int) {
        // SAFETY: takes numbers; this process was not reaped yet.
        unsafe { libc::kill(self.process.id() as i32, signal) };
    }

    /// Waits until a condition holds.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Recorder) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < PATIENCE, "{what} did not happen in {PATIENCE:?}");
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    fn wait(&mut self) {
        self.until("the end of the recorder", Recorder::has_ended);
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(name)).ok()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Whether the text is a complete recording that contains these words.
fn is_recording(text: &str, words: &str) -> bool {
    text.starts_with("{\n  \"callgate\": \"recording\",\n")
        && text.ends_with("\n  ]\n}\n")
        && text.contains(words)
        && text.contains("\"name\": \"execve\"")
}

/// Signals arrive continuously, from when the command runs until the recorder has ended.
fn no_signal_loses_a_recording(method: &str) -> TestResult {
    const RUNS: usize = 8;
    for run in 0..RUNS {
        // The first signal ends the command, or is ignored and processes outlive the command.
        let script = match run % 2 {
            0 => "$tell; exec sleep 100",
            _ => "trap '' TERM; $tell; sleep 3 & exit 3",
        };
        let mut recorder = Recorder::start(method, "no_signal", script)?;
        recorder.until("the end of the recorder", |recorder| {
            recorder.send(libc::SIGTERM);
            recorder.has_ended()
        });
        let status = if run % 2 == 0 { "\"status\": 143" } else { "\"status\": 3" };
        let text = recorder.read("r.json").unwrap_or_default();
        let report = recorder.read("report");
        assert!(is_recording(&text, status), "{run}: {text} {report:?}");
    }
    Ok(())
}

fn a_recorder_that_is_killed_leaves_a_part(method: &str) -> TestResult {
    let mut recorder = Recorder::start(method, "killed", "$tell; exec sleep 100")?;
    recorder.until("a part", |recorder| recorder.read("r.json.partial").is_some());
    recorder.send(libc::SIGKILL);
    recorder.wait();
    // The tracepoint method leaves the command running; otherwise the kernel has killed it.
    // SAFETY: takes numbers.
    unsafe { libc::kill(recorder.command, libc::SIGKILL) };
    assert_eq!(recorder.read("r.json"), None);
    let text = recorder.read("r.json.partial").unwrap();
    assert!(is_recording(&text, "\"processes\": 1, \"threads\": 1, \"lost\": 1,"), "{text}");
    assert!(!text.contains("\"status\""), "{text}");
    for command in ["generate", "check"] {
        let read = Command::new(env!("CARGO_BIN_EXE_callgate"))
            .args([command, "--partial", "r.json.partial"])
            .current_dir(&recorder.directory)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&read.stderr);
        assert!(matches!(read.status.code(), Some(0 | 1)), "{command:?} {stderr}");
    }
    Ok(())
}

fn a_part_is_removed_when_the_recording_is_complete(method: &str) -> TestResult {
    let script = "$tell; i=0; \
                  while [ ! -e r.json.partial ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done; \
                  [ -e r.json.partial ]";
    let mut recorder = Recorder::start(method, "removed", script)?;
    recorder.wait();
    // Status 0: the command has seen a part.
    let text = recorder.read("r.json").unwrap_or_default();
    assert!(is_recording(&text, "\"lost\": 0, \"status\": 0"), "{text}");
    assert_eq!(recorder.read("r.json.partial"), None);
    Ok(())
}

/// Only recordings in regular files have parts.
fn a_device_has_no_part(method: &str) -> TestResult {
    // The first part is due after a second.
    let script = "$tell; sleep 1.5; [ ! -e /dev/null.partial ]";
    let mut recorder = Recorder::start_with_output(method, "device", script, "/dev/null")?;
    recorder.wait();
    let report = recorder.read("report");
    assert_eq!(recorder.process.wait().unwrap().code(), Some(0), "{report:?}");
    Ok(())
}

/// Recorders share eBPF programs. When the first one is killed, the others continue to count.
fn a_recorder_that_is_killed_does_not_affect_others() -> TestResult {
    let mut first = Recorder::start("tracepoint", "first", "$tell; exec sleep 100")?;
    let script = "$tell; i=0; \
                  while [ ! -e go ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i+1)); done; \
                  exec dd if=/dev/zero of=/dev/null bs=1 count=700 status=none";
    let second = Recorder::start("tracepoint", "second", script)?;
    let third = Recorder::start("tracepoint", "third", script)?;
    first.send(libc::SIGKILL);
    first.wait();
    // SAFETY: takes numbers; the command still sleeps.
    unsafe { libc::kill(first.command, libc::SIGKILL) };
    for mut recorder in [second, third] {
        fs::write(recorder.directory.join("go"), "").unwrap();
        recorder.wait();
        let text = recorder.read("r.json").unwrap_or_default();
        assert!(is_recording(&text, "\"lost\": 0, \"status\": 0"), "{text}");
        let count = text.split("\"name\": \"write\"").nth(1).unwrap();
        let count = count.split("\"count\": ").nth(1).unwrap().split([',', '}']).next().unwrap();
        // The shell writes its process ID.
        assert_eq!(count, "701");
    }
    Ok(())
}
