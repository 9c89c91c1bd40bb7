//! The other process, as the tests see it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// What the other process does.
pub(super) const ROLE: &str = "CALLGATE_TEST_ROLE";

/// How long anything may take. A machine with nothing else to do needs milliseconds.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

pub(super) struct Other {
    pub(super) process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    pub(super) thread: u32,
}

impl Other {
    pub(super) fn start(role: &str) -> Other {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        let mut other = Other { process, input, lines, thread: 0 };
        other.thread = other.answer("thread ").parse().unwrap();
        other
    }

    /// The rest of the next line, which begins with `key`.
    pub(super) fn answer(&self, key: &str) -> String {
        self.answer_within(key, LIMIT)
            .unwrap_or_else(|| panic!("no line \"{key}…\" within {LIMIT:?}"))
    }

    /// `None` if there is no line within this time.
    pub(super) fn answer_within(&self, key: &str, time: Duration) -> Option<String> {
        match self.lines.recv_timeout(time) {
            Ok(line) => {
                let value = line.strip_prefix(key);
                Some(value.unwrap_or_else(|| panic!("{line}; expected {key}")).to_owned())
            }
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("it ended; expected {key}"),
        }
    }

    /// Tells it to end, which it must do successfully. Returns how many signals it handled.
    pub(super) fn finish(mut self) -> u32 {
        self.tell_to_end();
        self.finished()
    }

    pub(super) fn tell_to_end(&mut self) {
        self.input.write_all(b"end\n").unwrap();
    }

    pub(super) fn finished(mut self) -> u32 {
        let signals = self.answer("signals ").parse().unwrap();
        let start = Instant::now();
        loop {
            match self.process.try_wait().unwrap() {
                Some(status) => {
                    assert!(status.success(), "{status}");
                    return signals;
                }
                None => assert!(start.elapsed() < LIMIT, "it did not end within {LIMIT:?}"),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn send(&self, signal: libc::c_int) -> bool {
        send(self.process.id(), self.thread, signal)
    }

    pub(super) fn state(&self) -> char {
        let status = std::fs::read(format!("/proc/{}/status", self.thread)).unwrap();
        let status = String::from_utf8_lossy(&status);
        let state = status.lines().find_map(|line| line.strip_prefix("State:\t"));
        state.unwrap().chars().next().unwrap()
    }

    pub(super) fn await_state(&self, state: char) {
        let start = Instant::now();
        while self.state() != state {
            let now = self.state();
            assert!(start.elapsed() < LIMIT, "state {now} instead of {state} for {LIMIT:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Sends a signal to a thread of a child process that was not waited for.
pub(super) fn send(process: u32, thread: u32, signal: libc::c_int) -> bool {
    // SAFETY: takes numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) == 0 }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
