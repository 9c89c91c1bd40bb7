//! How a recorder ends: what was recorded is not lost with it. A way of recording that this machine does not permit
//! is not run, and the test's output says so.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WAYS: [&str; 3] = ["tracepoint", "ptrace", "stops"];

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A recorder, its command's process, and the files.
struct Recorder {
    process: Child,
    command: i32,
    directory: PathBuf,
}

impl Recorder {
    /// Records a shell that does what `script` says, in the middle of which it tells its process (`$tell`);
    /// `None` where this way is not permitted.
    fn start(way: &str, test: &str, script: &str) -> Option<Recorder> {
        let script = script.replace("$tell", "echo $$; exec >&-");
        let name = format!("{test}-{way}-{}", std::process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_callgate"))
            .args(["record", "--via", way, "-o", "r.json", "--", "sh", "-c"])
            .arg(script)
            .current_dir(&directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(directory.join("report")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let recorder = |command| Recorder { process, command, directory };
        match line.trim().parse() {
            Ok(command) => Some(recorder(command)),
            Err(_) => {
                let mut failed = recorder(0);
                failed.wait();
                let report = fs::read_to_string(failed.directory.join("report")).unwrap();
                eprintln!("not run by {way}: {report}");
                None
            }
        }
    }

    fn send(&self, signal: libc::c_int) {
        // SAFETY: takes numbers; nobody has waited for this process as yet.
        unsafe { libc::kill(self.process.id() as i32, signal) };
    }

    /// Waits until something is so.
    fn until(&mut self, mut is_so: impl FnMut(&mut Recorder) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < PATIENCE, "{:?}", self.directory);
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    fn wait(&mut self) {
        self.until(Recorder::has_ended);
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

/// Whether it is whole, and has these words in it.
fn is_recording(text: &str, words: &str) -> bool {
    text.starts_with("{\n  \"callgate\": \"recording\",\n")
        && text.ends_with("\n  ]\n}\n")
        && text.contains(words)
        && text.contains("\"name\": \"execve\"")
}

/// Signals come all the time, from when the command runs until the recorder has ended.
#[test]
fn no_signal_loses_a_recording() {
    const RUNS: usize = 8;
    for way in WAYS {
        for run in 0..RUNS {
            // The first signal may end the command, or be ignored, and what it left behind is waited for.
            let script = match run % 2 {
                0 => "$tell; exec sleep 100",
                _ => "trap '' TERM; $tell; sleep 3 & exit 3",
            };
            let Some(mut recorder) = Recorder::start(way, "no_signal", script) else { break };
            recorder.until(|recorder| {
                recorder.send(libc::SIGTERM);
                recorder.has_ended()
            });
            let status = if run % 2 == 0 { "\"status\": 143" } else { "\"status\": 3" };
            let text = recorder.read("r.json").unwrap_or_default();
            let report = recorder.read("report");
            assert!(is_recording(&text, status), "{way} {run}: {text} {report:?}");
        }
    }
}

#[test]
fn a_recorder_that_is_killed_leaves_a_part() {
    for way in WAYS {
        let Some(mut recorder) = Recorder::start(way, "killed", "$tell; exec sleep 100") else {
            continue;
        };
        recorder.until(|recorder| recorder.read("r.json.partial").is_some());
        recorder.send(libc::SIGKILL);
        recorder.wait();
        // Recorded by the kernel, the command goes on.
        // SAFETY: takes numbers; by ptrace the kernel has ended it just now.
        unsafe { libc::kill(recorder.command, libc::SIGKILL) };
        assert_eq!(recorder.read("r.json"), None, "{way}");
        let text = recorder.read("r.json.partial").unwrap();
        assert!(is_recording(&text, "\"processes\": 1, \"threads\": 1, \"lost\": 1,"), "{text}");
        assert!(!text.contains("\"status\""), "{text}");
        for command in ["generate", "check"] {
            let read = Command::new(env!("CARGO_BIN_EXE_callgate"))
                .args([command, "--partial", "r.json.partial"])
                .current_dir(&recorder.directory)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&read.stderr);
            assert!(matches!(read.status.code(), Some(0 | 1)), "{command:?} {said}");
        }
    }
}

#[test]
fn a_part_is_removed_when_the_recording_is_whole() {
    for way in WAYS {
        let script =
            "i=0; while [ ! -e r.json.partial ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done";
        let Some(mut recorder) = Recorder::start(way, "removed", script) else { continue };
        recorder.wait();
        let text = recorder.read("r.json").unwrap_or_default();
        assert!(is_recording(&text, "\"lost\": 0, \"status\": 0"), "{way}: {text}");
        // The command ended because it was there.
        assert!(!text.contains("\"count\": 600"), "{text}");
        assert_eq!(recorder.read("r.json.partial"), None);
    }
}

/// What is not a regular file has nothing beside it.
#[test]
fn a_device_has_no_part() {
    let script = "sleep 1.5; [ ! -e /dev/null.partial ]";
    let status = Command::new(env!("CARGO_BIN_EXE_callgate"))
        .args(["record", "-o", "/dev/null", "--", "sh", "-c", script])
        .stderr(Stdio::null())
        .status();
    assert_eq!(status.unwrap().code(), Some(0));
}

/// By the kernel, recorders share programs; when the first one is killed, the others go on counting.
#[test]
fn a_recorder_that_is_killed_takes_nothing_from_others() {
    let Some(mut first) = Recorder::start("tracepoint", "first", "$tell; exec sleep 100") else {
        return;
    };
    let script = "$tell; while [ ! -e go ]; do sleep 0.05; done; \
                  exec dd if=/dev/zero of=/dev/null bs=1 count=700 status=none";
    let Some(mut second) = Recorder::start("tracepoint", "second", script) else { return };
    let Some(mut third) = Recorder::start("tracepoint", "third", script) else { return };
    first.send(libc::SIGKILL);
    first.wait();
    // SAFETY: takes numbers; the command sleeps on.
    unsafe { libc::kill(first.command, libc::SIGKILL) };
    for recorder in [&mut second, &mut third] {
        fs::write(recorder.directory.join("go"), "").unwrap();
        recorder.wait();
        let text = recorder.read("r.json").unwrap_or_default();
        assert!(is_recording(&text, "\"lost\": 0, \"status\": 0"), "{text}");
        let count = text.split("\"name\": \"write\"").nth(1).unwrap();
        let count = count.split("\"count\": ").nth(1).unwrap().split([',', '}']).next().unwrap();
        // One by the shell, which tells its process.
        assert_eq!(count, "701");
    }
}
