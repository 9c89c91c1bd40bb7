//! Starts programs, and reads what they measured.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use callgate_tasks::Result;

/// What a process took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// From the known values of the variables to the installed filter, without the two system calls.
    pub(super) ready: f64,
    /// prctl(PR_SET_NO_NEW_PRIVS) and seccomp(2).
    pub(super) system: f64,
    /// From before fork to the installed filter.
    pub(super) installed: f64,
    /// From before fork to the end of the process.
    pub(super) process: f64,
}

/// Runs a program once.
pub(super) fn sample(program: &Path, limit: u64) -> Result<Sample> {
    let clock = monotonic().to_string();
    let begin = Instant::now();
    let output = Command::new(program)
        .args([clock.as_str(), &limit.to_string()])
        .output()
        .map_err(|why| why.to_string())?;
    let process = begin.elapsed().as_secs_f64() * 1e6;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}, {}", output.status, text.lines().next().unwrap_or_default()));
    }
    parse(&String::from_utf8_lossy(&output.stdout), process)
}

fn parse(text: &str, process: f64) -> Result<Sample> {
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let microseconds: Vec<f64> = numbers.iter().map(|nanoseconds| nanoseconds / 1e3).collect();
    match microseconds[..] {
        [ready, system, installed] => Ok(Sample { ready, system, installed, process }),
        _ => Err(format!("it printed {text:?}")),
    }
}

/// The median of samples.
pub(super) fn median(samples: &[Sample]) -> Option<Sample> {
    let of = |field: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = samples.iter().map(field).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    Some(Sample {
        ready: of(|sample| sample.ready)?,
        system: of(|sample| sample.system)?,
        installed: of(|sample| sample.installed)?,
        process: of(|sample| sample.process)?,
    })
}

/// A process that has installed its filter and waits.
pub(super) struct Waiting(Child);

impl Waiting {
    pub(super) fn start(program: &Path, limit: u64) -> Result<Waiting> {
        let mut child = Command::new(program)
            .args(["0", &limit.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| why.to_string())?;
        let output = child.stdout.take().map(BufReader::new);
        let waiting = Waiting(child);
        let line = output.and_then(|output| output.lines().next()).and_then(|line| line.ok());
        match line {
            Some(_) => Ok(waiting),
            None => Err("it ended without a filter".to_owned()),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The clock that the programs read, in nanoseconds.
fn monotonic() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to `time`, which lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read_and_medians_are_per_column() {
        let sample = |text| parse(text, 9.0).unwrap();
        let samples = [sample("3000 10 1"), sample("1000 30 3"), sample("2000 20 2\n")];
        let expected = Sample { ready: 2.0, system: 0.02, installed: 0.002, process: 9.0 };
        assert_eq!(median(&samples), Some(expected));
        assert_eq!(median(&[]), None);
        assert!(parse("1 2", 0.0).unwrap_err().contains("1 2"));
    }
}
