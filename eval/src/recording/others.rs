//! What recording by the kernel costs processes that are not recorded: its tracepoints are those of all.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::table::Table;
use crate::task::Result;

/// How many recorders there are at a time.
const RECORDERS: [usize; 4] = [0, 1, 2, 4];

/// Calls that are timed together, and how often in each round.
const CALLS: u32 = 1000;
const BATCHES: usize = 1000;

/// What `getpid` costs this process while others are recorded: one of ten batches is faster. What else runs on the
/// machine makes some batches slower by any amount, so the median would tell of that.
pub(super) fn table(callgate: &Path, rounds: usize) -> Result<Table> {
    let mut times = RECORDERS.map(|_| Vec::new());
    for _ in 0..rounds {
        for (count, times) in RECORDERS.iter().zip(&mut times) {
            let recorders: Vec<Recorder> =
                (0..*count).map(|_| Recorder::start(callgate)).collect::<Result<_>>()?;
            times.extend((0..BATCHES).map(|_| time_of_calls()));
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

/// The time that a tenth of these are below.
fn tenth(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort();
    times.get(times.len() / 10).copied()
}

fn time_of_calls() -> Duration {
    let start = Instant::now();
    for _ in 0..CALLS {
        // A call of the system each time: the C library keeps no copy.
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
        let mut child = child.map_err(|error| format!("callgate cannot be started: {error}"))?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("no output")?;
        match BufReader::new(output).read_line(&mut line) {
            Ok(1..) => Ok(Recorder(child)),
            _ => {
                let _ = child.wait();
                Err("the kernel does not record here; as root it may".to_owned())
            }
        }
    }

    /// The command ends with its input, and the recorder with it.
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
