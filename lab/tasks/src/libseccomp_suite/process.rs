//! Runs a command with a time limit. At the end, or at the limit, all processes that it started are killed.

use std::fmt;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use callgate_tasks::Result;

/// The time limit of a command that usually takes less than a second.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Status(i32),
    Signal(i32),
    /// It was killed at this limit.
    Late(Duration),
}

impl End {
    /// The exit status as a shell reports it: 128 plus the number of the signal.
    pub(super) fn shell_status(self) -> Option<i32> {
        match self {
            End::Status(status) => Some(status),
            End::Signal(signal) => Some(128 + signal),
            End::Late(_) => None,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Status(status) => write!(f, "exit status {status}"),
            End::Signal(signal) => write!(f, "killed by signal {signal}"),
            End::Late(limit) => write!(f, "did not end within {} s", limit.as_secs()),
        }
    }
}

/// The end of a command, and what it wrote.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) output: Vec<u8>,
    pub(super) errors: String,
}

impl Ended {
    /// The output, if the command succeeded. The error is its end with the first line of its standard error.
    pub(super) fn success(self) -> Result<Vec<u8>> {
        if self.end == End::Status(0) { Ok(self.output) } else { Err(self.describe()) }
    }

    /// The end, with the first line of standard error.
    pub(super) fn describe(&self) -> String {
        match self.errors.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{}: {}", self.end, line.trim()),
            None => self.end.to_string(),
        }
    }
}

/// Runs a command without input. Its standard output and standard error are read to the end.
pub(super) fn run(command: &mut Command, limit: Duration) -> Result<Ended> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{program}: {error}");
    // A process group of its own, so that no descendant outlives it.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let output = child.stdout.take().map(|stream| spawn(|| drain(stream)));
    let errors = child.stderr.take().map(|stream| spawn(|| drain(stream)));
    let in_time = wait(&child, limit).map_err(failed);
    kill_group(&child);
    let status = child.wait().map_err(failed)?;
    let bytes = |reader: Option<std::thread::JoinHandle<Vec<u8>>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    let (output, errors) = (bytes(output), bytes(errors));
    let end = match (in_time?, status.code()) {
        (false, _) => End::Late(limit),
        (true, Some(status)) => End::Status(status),
        (true, None) => End::Signal(status.signal().unwrap_or(0)),
    };
    Ok(Ended { end, output, errors: String::from_utf8_lossy(&errors).into_owned() })
}

fn drain(mut stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read before an error still helps to explain a failure.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Waits for the end of a process, but leaves it to be reaped, so that its number stays its own. Returns false at
/// the limit.
fn wait(child: &Child, limit: Duration) -> std::io::Result<bool> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        // SAFETY: `siginfo_t` is a plain C structure, for which zeros are valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: `info` is valid for the call.
        if unsafe { libc::waitid(libc::P_PID, child.id(), &mut info, flags) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: `waitid` filled in the structure, or left its zeros.
        if unsafe { info.si_pid() } != 0 {
            return Ok(true);
        }
        if start.elapsed() >= limit {
            return Ok(false);
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Kills the process group of a child that has not been reaped.
fn kill_group(child: &Child) {
    // SAFETY: `kill` has no memory effects. The group is that of the child: its number is not reused before the
    // child is reaped. An error means that the group has no process left that can be killed.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, limit: Duration) -> Ended {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn the_end_and_the_output_are_known() {
        let ended = shell("echo out; echo >&2; echo err >&2; echo more >&2; exit 3", LONG);
        assert_eq!((ended.end, &ended.output[..]), (End::Status(3), &b"out\n"[..]));
        assert_eq!(ended.describe(), "exit status 3: err");
        assert_eq!(ended.success().unwrap_err(), "exit status 3: err");
        assert_eq!(shell("echo out", LONG).success().unwrap(), b"out\n");
        let killed = shell("kill -TERM $$", LONG).end;
        assert_eq!((killed, killed.shell_status()), (End::Signal(15), Some(143)));
    }

    #[test]
    fn descendants_are_killed_with_the_command() {
        // Without that, the sleeping process would keep the pipe open.
        let ended = shell("sleep 300 & echo started", LONG);
        assert_eq!((ended.end, &ended.output[..]), (End::Status(0), &b"started\n"[..]));
        let limit = Duration::from_millis(200);
        let ended = shell("sleep 300 & sleep 300", limit);
        assert_eq!((ended.end, ended.end.shell_status()), (End::Late(limit), None));
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = run(&mut Command::new("/nonexistent"), LONG).unwrap_err();
        assert!(error.starts_with("/nonexistent: "), "{error}");
    }
}
