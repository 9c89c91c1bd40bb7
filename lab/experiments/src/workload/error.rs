//! Errors of workloads.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use callgate_linux::error_text;

/// Error of a workload, with help.
#[derive(Debug)]
pub struct WorkloadError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Missing { workload: &'static str, programs: String, packages: String },
    NoServer(&'static str),
    Place(String),
    NotStarted { run: Run, why: io::Error },
    Ended { run: Run, status: ExitStatus, said: String },
    NotReady { run: Run, limit: Duration, said: String },
    Late { run: Run, limit: Duration, said: String },
    Unreadable { run: Run, why: String, said: String },
    Interrupted,
}

/// The program that an error is about, and the filter that it ran under.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The name of the program.
    pub(super) program: String,
    /// The variant, if there was a filter.
    pub(super) under: Option<String>,
    /// The program under the filter, if it is another one.
    pub(super) server: Option<String>,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(under) = &self.under else { return Ok(()) };
        match &self.server {
            Some(server) => write!(f, " while {server} ran under {under}"),
            None => write!(f, " under {under}"),
        }
    }
}

impl WorkloadError {
    fn new(kind: Kind) -> WorkloadError {
        WorkloadError { kind }
    }

    pub(super) fn missing(
        workload: &'static str,
        programs: &[String],
        packages: &[&str],
    ) -> WorkloadError {
        let (programs, packages) = (programs.join(", "), packages.join(" "));
        WorkloadError::new(Kind::Missing { workload, programs, packages })
    }

    pub(super) fn no_server(workload: &'static str) -> WorkloadError {
        WorkloadError::new(Kind::NoServer(workload))
    }

    pub(super) fn place(why: &io::Error) -> WorkloadError {
        WorkloadError::new(Kind::Place(error_text(why)))
    }

    pub(super) fn not_started(run: Run, why: io::Error) -> WorkloadError {
        WorkloadError::new(Kind::NotStarted { run, why })
    }

    pub(super) fn ended(run: Run, status: ExitStatus, said: String) -> WorkloadError {
        WorkloadError::new(Kind::Ended { run, status, said })
    }

    pub(super) fn not_ready(run: Run, limit: Duration, said: String) -> WorkloadError {
        WorkloadError::new(Kind::NotReady { run, limit, said })
    }

    pub(super) fn late(run: Run, limit: Duration, said: String) -> WorkloadError {
        WorkloadError::new(Kind::Late { run, limit, said })
    }

    pub(super) fn unreadable(run: Run, why: String, said: String) -> WorkloadError {
        WorkloadError::new(Kind::Unreadable { run, why, said })
    }

    pub(super) fn interrupted() -> WorkloadError {
        WorkloadError::new(Kind::Interrupted)
    }

    /// Whether Ctrl-C stopped the measurement.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, Kind::Interrupted)
    }

    fn run(&self) -> Option<&Run> {
        match &self.kind {
            Kind::NotStarted { run, .. }
            | Kind::Ended { run, .. }
            | Kind::NotReady { run, .. }
            | Kind::Late { run, .. }
            | Kind::Unreadable { run, .. } => Some(run),
            _ => None,
        }
    }

    /// Advice.
    pub fn help(&self) -> String {
        match &self.kind {
            Kind::Missing { packages, .. } => {
                format!(
                    "run `apt-get install {packages}` on Debian and Ubuntu, or install the corresponding packages"
                )
            }
            Kind::Place(_) => "set TMPDIR to a directory for temporary data".into(),
            Kind::Interrupted => String::new(),
            _ if self.run().is_some_and(|run| run.under.is_some()) => {
                "the filter may deny a syscall that the program needs; `callgate record` lists its syscalls"
                    .into()
            }
            Kind::NoServer(_) => "redis, nginx, mariadb and postgres have one".into(),
            Kind::NotStarted { .. } => "the process limit may be reached, or the memory exhausted".into(),
            Kind::NotReady { .. } | Kind::Late { .. } => "try again on an idle machine".into(),
            _ => "it ran without a filter; test whether the program works on its own".into(),
        }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Missing { workload, programs, .. } => {
                write!(f, "the workload {workload} needs {programs}")
            }
            Kind::NoServer(workload) => {
                write!(f, "the workload {workload} has no server that could be observed")
            }
            Kind::Place(why) => write!(f, "cannot prepare a directory for the workload: {why}"),
            Kind::NotStarted { run, why } => {
                write!(f, "cannot start {}{run}: {}", run.program, error_text(why))
            }
            Kind::Ended { run, status, said } => {
                write!(f, "{} ended with {status}{run}{}", run.program, quoted(said))
            }
            Kind::NotReady { run, limit, said } => write!(
                f,
                "{} was not ready within {} s{run}{}",
                run.program,
                limit.as_secs(),
                quoted(said)
            ),
            Kind::Late { run, limit, said } => write!(
                f,
                "{} did not end within {} s{run}{}",
                run.program,
                limit.as_secs(),
                quoted(said)
            ),
            Kind::Unreadable { run, why, said } => write!(
                f,
                "the output of {}{run} has no throughput: {why}{}",
                run.program,
                quoted(said)
            ),
            Kind::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for WorkloadError {}

/// The last lines of the output of a program.
fn quoted(said: &str) -> String {
    const LINES: usize = 6;
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => ", and printed nothing".into(),
        count => {
            let last = lines.get(count.saturating_sub(LINES)..).unwrap_or_default();
            format!("; its last lines:\n    {}", last.join("\n    "))
        }
    }
}
