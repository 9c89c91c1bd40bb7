//! A workload as data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

    /// The same with one more argument, of two parts, such as `--socket=` and a path.
    pub(super) fn and(mut self, start: &str, rest: &Path) -> Step {
        let mut arg = OsString::from(start);
        arg.push(rest);
        self.args.push(arg);
        self
    }

    /// The name of the program, as messages say it.
    pub(super) fn name(&self) -> String {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// How to know that a server can be used.
#[derive(Clone, Debug)]
pub(super) enum Ready {
    /// It accepts connections at this Unix socket.
    Socket(PathBuf),
    /// It accepts connections at this port of 127.0.0.1.
    Port(u16),
    /// This program ends with status 0.
    Probe(Step),
}

/// A program that runs until it is told to end.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) step: Step,
    pub(super) ready: Ready,
    /// The signal that asks it to end.
    pub(super) stop: libc::c_int,
}

/// What is run, and what is read from it.
pub(super) struct Recipe {
    /// Before all, without a filter, one after the other: makes the server's data.
    pub(super) prepare: Vec<Step>,
    /// What runs under the filter, where that is a server.
    pub(super) server: Option<Server>,
    /// Against a server without filter, once: fills it.
    pub(super) fill: Vec<Step>,
    /// What says how much was done. Without a server, this is what runs under the filter.
    pub(super) client: Step,
    /// What is measured: the name of each number that `read` finds.
    pub(super) measures: Vec<&'static str>,
    /// What these numbers count, per second. More is better.
    pub(super) unit: &'static str,
    /// Finds the numbers in what the client printed (both streams); an error says what is missing or
    /// what the client complained about.
    pub(super) read: Read,
}

/// Reads the output of a client.
pub(super) type Read = fn(&str, &Load) -> Result<Done, String>;

/// What a client did.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    /// How much per second, for each measure.
    pub(super) rates: Vec<f64>,
    /// How much in all.
    pub(super) count: f64,
    /// The CPU time in seconds, if the client itself is measured and reports it.
    pub(super) processor: Option<f64>,
}

/// How much a client is to do in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Where a client takes a time: so many seconds.
    pub(super) seconds: u32,
}

impl Load {
    /// Where a client takes a number of requests: as many as take about that time at this rate.
    pub(super) fn count(&self, per_second: u32) -> u32 {
        self.seconds.saturating_mul(per_second)
    }
}

/// The number behind a word in a text, such as the 12.5 of `tps = 12.5 (…)`; the last, if there are more.
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
    fn numbers_are_found_behind_words() {
        assert_eq!(number_behind("tps = 1.5 (a)\ntps = 2.25 (b)", "tps ="), Ok(2.25));
        assert_eq!(number_behind("Requests/sec:   77", "Requests/sec:"), Ok(77.0));
        for bad in ["", "tps = ", "tps = -3", "tps = 0.00", "tps = nan"] {
            assert!(number_behind(bad, "tps =").is_err(), "{bad}");
        }
    }
}
