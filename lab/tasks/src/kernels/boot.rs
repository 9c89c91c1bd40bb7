//! Boots a guest and reads its console.
//!
//! Software emulation with one guest instruction per nanosecond (`-icount shift=0`) and without waiting while the
//! guest idles (`sleep=off`): the same kernel and initrd give the same figures on any machine, however busy. A
//! guest that prints nothing for a while, or does not end in time, is killed and booted again.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::guests::Machine;
use callgate_tasks::Result;

/// The prefix of the lines of the guest's program; the kernel may print other lines.
const PREFIX: &str = "callgate: ";
/// Its last line.
const DONE: &str = "done";
/// The maximum number of attempts to boot a guest.
const TRIES: usize = 4;
/// The number of lines of the console in an error.
const SHOWN: usize = 5;
/// The maximum length of a line.
const MAX_LINE: usize = 500;

/// The time limits of a guest.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// In total.
    pub(super) whole: Duration,
    /// Without output.
    pub(super) silence: Duration,
}

/// Kernels print nothing for some seconds while they boot; the longest list of syscalls takes half a minute on a
/// busy machine.
pub(super) const LIMITS: Limits =
    Limits { whole: Duration::from_secs(30 * 60), silence: Duration::from_secs(150) };

/// Boots a guest until it ends; returns the lines of its program.
pub(super) fn boot(
    machine: &Machine,
    kernel: &Path,
    initrd: &Path,
    limits: Limits,
    progress: &dyn Fn(&str),
) -> Result<Vec<String>> {
    let mut command = emulator(machine, kernel, initrd);
    let mut reason = String::new();
    for number in 1..=TRIES {
        match listen(&mut command, limits) {
            Ok(lines) => return Ok(lines),
            Err(Failure::NotStarted(why)) => return Err(why),
            Err(Failure::Lost(why)) => {
                progress(&format!("boot {number} of {TRIES} failed: {why}"));
                reason = why;
            }
        }
    }
    Err(format!("{TRIES} boots failed, the last: {reason}"))
}

fn emulator(machine: &Machine, kernel: &Path, initrd: &Path) -> Command {
    let mut command = Command::new(machine.emulator);
    command.args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-m", "512"]);
    // The same clock and random numbers each time.
    command.args(["-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]);
    command.args(["-nodefaults", "-display", "none", "-no-reboot"]);
    command.args(machine.options).arg("-kernel").arg(kernel).arg("-initrd").arg(initrd);
    let line = format!("{} loglevel=1 panic=-1 nokaslr", machine.command_line);
    command.arg("-append").arg(line.trim_start());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Why a boot failed.
#[derive(Debug)]
enum Failure {
    /// The emulator does not start; another attempt would fail too.
    NotStarted(String),
    /// The guest did not reach its end.
    Lost(String),
}

/// A child process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The child may have ended already; other errors cannot be handled here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends the lines of a stream until the receiver is dropped.
fn forward(stream: impl Read + Send + 'static, to: Sender<String>) {
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).split(b'\n').map_while(std::result::Result::ok);
        for line in lines {
            if to.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
}

/// Runs the command until the guest's program reports that it is done.
fn listen(command: &mut Command, limits: Limits) -> Result<Vec<String>, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn();
    let child = child.map_err(|error| Failure::NotStarted(format!("{program}: {error}")))?;
    let mut running = Running(child);
    let (sender, receiver) = mpsc::channel();
    if let Some(stream) = running.0.stdout.take() {
        forward(stream, sender.clone());
    }
    if let Some(stream) = running.0.stderr.take() {
        forward(stream, sender.clone());
    }
    drop(sender);

    let start = Instant::now();
    let (mut lines, mut console) = (Vec::new(), Vec::new());
    let lost = |why: String, console: &[String]| {
        let last = console[console.len().saturating_sub(SHOWN)..].join(" | ");
        let last = if last.is_empty() { "it said nothing".to_owned() } else { last };
        Failure::Lost(format!("{why} ({last})"))
    };
    loop {
        let left = limits.whole.saturating_sub(start.elapsed());
        match receiver.recv_timeout(left.min(limits.silence)) {
            Ok(line) => {
                // The firmware's first line has no line end.
                let said = line.find(PREFIX).map(|at| line[at + PREFIX.len()..].trim_end());
                match said {
                    Some(DONE) => return Ok(lines),
                    Some(said) => lines.push(said.to_owned()),
                    None => console.push(line.trim_end().chars().take(MAX_LINE).collect()),
                }
            }
            Err(RecvTimeoutError::Timeout) if left <= limits.silence => {
                let limit = limits.whole.as_secs();
                return Err(lost(format!("not done in {limit} seconds"), &console));
            }
            Err(RecvTimeoutError::Timeout) => {
                let limit = limits.silence.as_secs();
                return Err(lost(format!("no output for {limit} seconds"), &console));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = running.0.wait().ok().and_then(|status| status.code());
                let why = match status {
                    // An invalid option, or an unreadable file.
                    Some(1) if lines.is_empty() => {
                        let why = console.join(" | ");
                        return Err(Failure::NotStarted(format!("{program}: {why}")));
                    }
                    _ => "the guest ended too early".to_owned(),
                };
                return Err(lost(why, &console));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limits: Limits) -> Result<Vec<String>, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        listen(&mut command, limits).map_err(|failure| match failure {
            Failure::NotStarted(why) => format!("not started: {why}"),
            Failure::Lost(why) => format!("lost: {why}"),
        })
    }

    const SHORT: Limits =
        Limits { whole: Duration::from_millis(900), silence: Duration::from_millis(300) };
    const LONG: Limits = LIMITS;

    #[test]
    fn lines_of_the_program_are_told_from_others() {
        let script =
            r"printf 'ROM..callgate: one 1\r\nkernel\ncallgate: two\ncallgate: done\nmore'";
        assert_eq!(shell(script, LONG).unwrap(), ["one 1", "two"]);
    }

    #[test]
    fn a_guest_that_hangs_is_killed() {
        let error = shell("echo early; exec sleep 60", SHORT).unwrap_err();
        assert!(error.starts_with("lost: no output for 0 seconds (early)"), "{error}");
    }

    #[test]
    fn a_guest_that_talks_forever_is_killed() {
        let error = shell("while sleep 0.05; do echo callgate: on; done", SHORT).unwrap_err();
        assert!(error.starts_with("lost: not done in 0 seconds"), "{error}");
    }

    #[test]
    fn a_guest_that_ends_early_is_booted_again_and_one_that_cannot_start_is_not() {
        let error = shell("echo callgate: jit 1 1; echo panic", LONG).unwrap_err();
        assert!(error.starts_with("lost: the guest ended too early (panic)"), "{error}");
        let error = shell("echo no such machine >&2; exit 1", LONG).unwrap_err();
        assert!(error.starts_with("not started: sh: no such machine"), "{error}");
    }
}
