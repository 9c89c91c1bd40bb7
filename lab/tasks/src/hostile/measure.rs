//! Processor time and memory of a command.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callgate_tasks::Result;

/// How a command ended.
pub(super) enum End {
    Status(i32),
    Signal(i32),
    /// It was killed at the time limit.
    Late,
}

/// What a command used.
pub(super) struct Cost {
    pub(super) end: End,
    /// Processor time, user and system.
    pub(super) time: Duration,
    /// The time from start to end.
    pub(super) elapsed: Duration,
    /// The maximum resident memory in bytes.
    pub(super) memory: u64,
    /// The first line of its standard error.
    pub(super) message: String,
}

/// Runs `callgate` with these arguments in a directory.
pub(super) fn measure(
    callgate: &Path,
    words: &str,
    directory: &Path,
    patience: Duration,
) -> Result<Cost> {
    let failed = |error: std::io::Error| format!("callgate {words}: {error}");
    let said = directory.join("said");
    let mut child = Command::new(callgate)
        .args(words.split(' '))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&said).map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    let start = Instant::now();
    let process = child.id() as i32;
    let (mut status, mut is_late) = (0, false);
    // SAFETY: a `rusage` of zeros is a valid value, because it contains only numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are valid for the call, and nothing else waits for this child.
        match unsafe { libc::wait4(process, &mut status, libc::WNOHANG, &mut usage) } {
            0 if !is_late && start.elapsed() > patience => {
                is_late = true;
                child.kill().map_err(failed)?;
            }
            0 => std::thread::sleep(Duration::from_millis(5)),
            -1 => return Err(failed(std::io::Error::last_os_error())),
            _ => break,
        }
    }
    let elapsed = start.elapsed();
    let end = if is_late {
        End::Late
    } else if libc::WIFSIGNALED(status) {
        End::Signal(libc::WTERMSIG(status))
    } else {
        End::Status(libc::WEXITSTATUS(status))
    };
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    let text = callgate_tasks::files::read(&said)?;
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let message = String::from_utf8_lossy(first).chars().take(160).collect();
    Ok(Cost {
        end,
        time: of(usage.ru_utime) + of(usage.ru_stime),
        elapsed,
        memory: usage.ru_maxrss as u64 * 1024,
        message,
    })
}
