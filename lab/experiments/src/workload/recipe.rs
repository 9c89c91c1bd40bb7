//! The recipe of a workload: its programs, how to start them, and how to read the throughput.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
}

impl Step {
    pub(super) fn new<const N: usize>(program: &Path, args: [&str; N]) -> Step {
        let args = args.iter().map(OsString::from).collect();
        Step { program: program.to_owned(), args }
    }

    /// The same with an additional argument that has two parts, such as `--socket=` and a path.
    pub(super) fn and(mut self, start: &str, rest: &Path) -> Step {
        let mut arg = OsString::from(start);
        arg.push(rest);
        self.args.push(arg);
        self
    }

    /// The name of the program in messages.
    pub(super) fn name(&self) -> String {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// The condition under which a server is ready.
#[derive(Clone, Debug)]
pub(super) enum Ready {
    /// It accepts connections at this Unix socket.
    Socket(PathBuf),
    /// It accepts connections at this port of 127.0.0.1.
    Port(u16),
    /// This program ends with status 0.
    Probe(Step),
}

/// A program that runs until it gets a signal.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) step: Step,
    pub(super) ready: Ready,
    /// The signal that ends it.
    pub(super) stop: libc::c_int,
}

/// The programs of a workload, and the measures that are read from their output.
pub(super) struct Recipe {
    /// Steps that create the server's data, run once without a filter.
    pub(super) prepare: Vec<Step>,
    /// The server, which runs under the filter, if any.
    pub(super) server: Option<Server>,
    /// Fills the data, run once against a server without a filter.
    pub(super) fill: Vec<Step>,
    /// The client, which reports the throughput. Without a server, it runs under the filter.
    pub(super) client: Step,
    /// The names of the numbers that `read` returns.
    pub(super) measures: Vec<&'static str>,
    /// The unit of these numbers, per second. More is better.
    pub(super) unit: &'static str,
    /// Finds the numbers in the output of the client (both streams). An error tells what is missing, or quotes the error
    /// of the client.
    pub(super) read: Read,
}

/// Reads the output of a client.
pub(super) type Read = fn(&str, &Load) -> Result<Done, String>;

/// The result of a client run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    /// The throughput per second, for each measure.
    pub(super) rates: Vec<f64>,
    /// The total amount of work.
    pub(super) count: f64,
    /// The CPU time in seconds, if the client itself is measured and reports it.
    pub(super) processor: Option<f64>,
}

/// The amount of work of a client run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// The time that it takes on a typical machine.
    pub(super) time: Duration,
    /// The name of the load, if it was chosen.
    pub(super) name: Option<&'static str>,
    /// The number of connections.
    pub(super) threads: u32,
}

impl Load {
    /// The number of seconds, for a client that takes a whole number.
    pub(super) fn seconds(&self) -> u64 {
        self.time.as_secs_f64().ceil().max(1.0) as u64
    }

    /// The number of requests that take about that time at this rate, for a client that takes a number of requests.
    pub(super) fn count(&self, per_second: u32) -> u32 {
        (self.time.as_secs_f64() * f64::from(per_second)).ceil().max(1.0) as u32
    }
}

/// The number after a word in a text, such as the 12.5 of `tps = 12.5 (…)`; the last one if there are several.
pub(super) fn number_behind(text: &str, word: &str) -> Result<f64, String> {
    let (_, rest) = text.rsplit_once(word).ok_or(format!("missing {word:?}"))?;
    let number = rest.trim_start().split(|c: char| !c.is_ascii_digit() && c != '.').next();
    match number.unwrap_or_default().parse::<f64>() {
        Ok(number) if number > 0.0 => Ok(number),
        _ => Err(format!("missing positive number after {word:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_amount_of_work_follows_the_time() {
        let of = |millis| {
            let load = Load { time: Duration::from_millis(millis), name: None, threads: 1 };
            (load.seconds(), load.count(1000))
        };
        assert_eq!([of(3000), of(1500), of(250), of(0)], [(3, 3000), (2, 1500), (1, 250), (1, 1)]);
    }

    #[test]
    fn numbers_are_found_behind_words() {
        assert_eq!(number_behind("tps = 1.5 (a)\ntps = 2.25 (b)", "tps ="), Ok(2.25));
        assert_eq!(number_behind("Requests/sec:   77", "Requests/sec:"), Ok(77.0));
        for bad in ["", "tps = ", "tps = -3", "tps = 0.00", "tps = nan"] {
            assert!(number_behind(bad, "tps =").is_err(), "{bad}");
        }
    }
}
