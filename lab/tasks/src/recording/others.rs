//! The cost of eBPF recording for processes that are not recorded, because tracepoints affect all processes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::table::Table;
use callgate_tasks::Result;

/// The numbers of simultaneous recorders.
const RECORDERS: [usize; 4] = [0, 1, 2, 4];

/// The number of syscalls per batch, and of batches per round.
const CALLS: u32 = 1000;
const BATCHES: usize = 1000;

/// The cost of `getpid` in this process while others are recorded, as the first decile of the batches. Other
/// processes on the machine slow some batches, so the median would depend on them.
pub(super) fn table(callgate: &Path, rounds: usize) -> Result<Table> {
    let mut times = RECORDERS.map(|_| Vec::new());
    for _ in 0..rounds {
        for (count, times) in RECORDERS.iter().zip(&mut times) {
            let recorders: Vec<Recorder> =
                (0..*count).map(|_| Recorder::start(callgate)).collect::<Result<_>>()?;
            times.extend((0..BATCHES).map(|_| time_of_syscalls()));
            recorders.into_iter().try_for_each(Recorder::end)?;
        }
    }
    let heads = RECORDERS.iter().map(|count| match count {
        1 => "1 recorder".to_owned(),
        count => format!("{count} recorders"),
    });
    let mut table = Table::new(std::iter::once(String::new()).chain(heads));
    let cells = times.map(|times| {
        let time = tenth(times).unwrap_or_default();
        format!("{} ns", time.as_nanos() / u128::from(CALLS))
    });
    table.row(std::iter::once("getpid, not recorded".to_owned()).chain(cells));
    Ok(table)
}

/// The first decile.
fn tenth(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort();
    times.get(times.len() / 10).copied()
}

fn time_of_syscalls() -> Duration {
    let start = Instant::now();
    for _ in 0..CALLS {
        // A syscall each time, because the C library does not cache the result.
        std::hint::black_box(std::process::id());
    }
    start.elapsed()
}

/// A recorder whose command waits.
struct Recorder(Child);

impl Recorder {
    fn start(callgate: &Path) -> Result<Recorder> {
        let child = Command::new(callgate)
            .args(["record", "--via", "tracepoint", "-o", "/dev/null", "--"])
            .args(["sh", "-c", "echo; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.map_err(|error| format!("cannot start callgate: {error}"))?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("no output")?;
        match BufReader::new(output).read_line(&mut line) {
            Ok(1..) => Ok(Recorder(child)),
            _ => {
                let _ = child.wait();
                Err("eBPF recording does not work here; try as root".to_owned())
            }
        }
    }

    /// Closes the input of the command, which ends it and the recorder.
    fn end(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        match self.0.wait() {
            Ok(status) if status.code().is_some() => Ok(()),
            _ => Err("a recorder did not end".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_below() {
        let times = (0..30).rev().map(Duration::from_nanos).collect();
        assert_eq!(tenth(times), Some(Duration::from_nanos(3)));
        assert_eq!(tenth(Vec::new()), None);
    }
}
