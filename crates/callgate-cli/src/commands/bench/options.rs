//! The options of `callgate bench SOURCE…` and their defaults.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use callgate_measure::{Batches, Cold, allowed_cpus};
use clap::ValueHint;

use super::samples::SamplesFile;
use super::status::Noise;
use crate::commands::record::parse_time;
use crate::options::{CompileOptions, Format, SourceOptions, parse_u32, parse_u64};

pub(super) const HELP: &str = "\
Each filter is installed in child processes on one processor, with every verdict
except ALLOW replaced by an errno, so that no process is killed. The baselines
are children without a filter, and with the smallest filter (constant allow). A
round is one child of each; a sample is the median of its batches. The overhead
is the difference from no filter in the same round: the report has its median
over all rounds and its 95 % confidence interval. 'not resolved' is beside an
overhead that may be noise, 'rough' beside one not known to 10 % or 3 ns.

The baseline without a filter is measured twice; the difference is the noise
floor. Rounds continue until the confidence intervals are as narrow as
--precision, but at most for --time seconds. If they are wider by then, a
warning says so; with --noise fail, the exit status is also 3.

Syscalls are made with arguments that change nothing and return at once, listed
by --list-calls; a filter that inspects arguments sees these. --calls accepts
others that have no effect: numbers, constants and \"\", an empty path. The
process then has no open descriptor, so descriptors may have any number.

cached: the kernel's constant-action cache allows the syscall (since Linux
5.11); allowed, denied: the filters run. Without --calls, one syscall of each
kind is chosen; with --weights or --calls-from, the most frequent ones, and
their weighted mean comes first, with the change from one filter to the next.

--pid computes how much CPU time the filters of a running process take: eBPF
programs count the syscalls of the process and its descendants for --for without
stopping them; the filters are read, and their costs for these syscalls measured
and added up. The 95 % interval has the error of the costs and that of the
rates. A syscall that cannot be made safely has the cost of another one for
which the filters execute as many instructions. Needs root, x86-64 and Linux
5.15. Ctrl-C ends the recording, then the measurement.

A SOURCE named engines is written ./engines. pid:N is measured with all of its
filters, as installed. Ctrl-C stops and reports what was measured so far.

Examples:
  callgate bench
  callgate bench old.bpf new.bpf --calls getpid,socket,openat
  callgate bench old.bpf --calls 'ioctl(3, TIOCGWINSZ), futex(0, FUTEX_WAKE, 1)'
  callgate bench old.bpf new.bpf --calls-from recording.json
  callgate bench profile.json --weights counts.txt --html report.html
  callgate bench old.bpf new.bpf --calls getpid --samples samples.csv
  callgate bench --pid 812 --for 30s

Exit status: 0 success, 2 error, 3 too noisy (with --noise fail), 130 stopped by
Ctrl-C.";

/// The options that say what to measure and how; lists take none of them.
const MEASURING: [&str; 24] = [
    "sources",
    "pid",
    "record_time",
    "calls",
    "calls_from",
    "cold",
    "cpu",
    "time",
    "precision",
    "noise",
    "samples",
    "seed",
    "quick",
    "html",
    "arch",
    "kernel",
    "caps",
    "base",
    "enosys_above",
    "strict",
    "endian",
    "model",
    "optimize",
    "weights",
];

/// What `--pid` excludes: the process has its filters and its syscalls, and the report is text or JSON.
const NOT_PROCESS: [&str; 15] = [
    "sources",
    "calls",
    "calls_from",
    "html",
    "samples",
    "arch",
    "kernel",
    "caps",
    "base",
    "enosys_above",
    "strict",
    "endian",
    "model",
    "optimize",
    "weights",
];

/// The heading of the options for a running process.
const PROCESS: &str = "Running process";

/// Measure what filters cost on the running kernel.
#[derive(Debug, clap::Args)]
pub(super) struct FiltersArgs {
    /// The filters, each a SOURCE (see `callgate --help`)
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    pub(super) sources: Vec<OsString>,

    /// The syscalls to measure, perhaps with arguments: getpid,ioctl(0,TIOCGWINSZ); may be repeated
    /// [default: one that is cached, one allowed, one denied]
    #[arg(long, value_name = "CALL,CALL")]
    pub(super) calls: Vec<String>,

    /// The most frequent syscalls of a recording or a log, with the arguments that were always the same
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) calls_from: Option<PathBuf>,

    /// Measure how much CPU time the filters of this running process take
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = PROCESS, value_parser = parse_u32,
          conflicts_with_all = NOT_PROCESS)]
    pub(super) pid: Option<u32>,

    /// How long to record the syscalls of the process: 30s, 5m
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = PROCESS, default_value = "10s",
          value_parser = recorded_time, requires = "pid")]
    pub(super) record_time: Duration,

    /// Evict caches before each syscall, with code and data of twice the size of the second-level cache, or
    /// with this much data
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true,
          default_missing_value = "machine", value_parser = cold_size)]
    cold: Option<ColdSize>,

    /// The processor to measure on: a number, or "any" to not pin processes [default: the last]
    #[arg(long, value_name = "CPU")]
    cpu: Option<Cpu>,

    /// The maximum time to measure; at least one round is measured [default: 10, or 2 with --quick]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(super) time: Option<u32>,

    /// The maximum width of the confidence interval of an overhead, in percent of the overhead [default: 3, or 10 with --cold or
    /// --quick]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    precision: Option<f64>,

    /// What happens if confidence intervals are wider than --precision
    #[arg(long, value_name = "WHAT", default_value = "warn")]
    pub(super) noise: Noise,

    /// The seed of the order in which filters are measured
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_u64,
          allow_negative_numbers = true)]
    pub(super) seed: u64,

    /// Measure for a fraction of the time
    #[arg(long)]
    pub(super) quick: bool,

    /// Print the syscalls that can be measured, with their arguments
    #[arg(long, conflicts_with_all = MEASURING)]
    pub(super) list_calls: bool,

    /// Also write the result as an HTML page with charts
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) html: Option<PathBuf>,

    /// Also write the time of each batch, as CSV (.csv) or as lines of JSON (.jsonl)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) samples: Option<SamplesFile>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) reading: SourceOptions,

    #[command(flatten)]
    pub(super) compiling: CompileOptions,
}

impl FiltersArgs {
    /// The maximum width of the confidence interval of an overhead, in percent of the overhead.
    pub(super) fn precision(&self) -> f64 {
        // Cache misses vary between syscalls.
        let roughly = self.cold.is_some() || self.quick;
        self.precision.unwrap_or(if roughly { 10.0 } else { 3.0 })
    }

    /// The processor to measure on; none to not pin processes.
    pub(super) fn cpu(&self) -> Option<usize> {
        match self.cpu {
            Some(Cpu::Any) => None,
            Some(Cpu::Number(number)) => Some(number),
            None => allowed_cpus().pop(),
        }
    }

    /// What is evicted before each syscall, if anything.
    pub(super) fn cold(&self) -> Option<Cold> {
        let of_machine = Cold::of_machine(self.cpu());
        Some(match self.cold? {
            ColdSize::Machine => of_machine,
            ColdSize::Bytes(bytes) => of_machine.with_data(bytes),
        })
    }

    pub(super) fn batches(&self) -> Batches {
        let batches = self.cold().map_or_else(Batches::default, Batches::cold);
        Batches { cpu: self.cpu(), ..batches }
    }
}

/// How much data is read for `--cold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColdSize {
    Machine,
    Bytes(usize),
}

fn cold_size(text: &str) -> std::result::Result<ColdSize, String> {
    if text == "machine" {
        return Ok(ColdSize::Machine);
    }
    let (number, shift) = match text.strip_suffix(['K', 'k']) {
        Some(number) => (number, 10),
        None => (text.strip_suffix(['M', 'm']).unwrap_or(text), 20),
    };
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if (1..=Cold::MOST).contains(&bytes) => Ok(ColdSize::Bytes(bytes)),
        _ => Err(format!("expected a size such as 64M or 512K, at most {}M", Cold::MOST >> 20)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cpu {
    Any,
    Number(usize),
}

impl FromStr for Cpu {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Cpu, String> {
        if text == "any" {
            return Ok(Cpu::Any);
        }
        let number =
            text.parse().map_err(|_| "expected the number of a processor, or any".to_owned())?;
        let allowed = allowed_cpus();
        if allowed.contains(&number) {
            return Ok(Cpu::Number(number));
        }
        let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        Err(format!("this process may only run on processors {}", names.join(", ")))
    }
}

fn recorded_time(text: &str) -> std::result::Result<Duration, String> {
    const TIMES: std::ops::RangeInclusive<Duration> =
        Duration::from_secs(1)..=Duration::from_secs(86_400);
    match parse_time(text)? {
        time if TIMES.contains(&time) => Ok(time),
        _ => Err("expected a time from 1s to 24h".to_owned()),
    }
}

pub(super) fn seconds(text: &str) -> std::result::Result<u32, String> {
    match text.parse() {
        Ok(value @ 1..=86_400) => Ok(value),
        _ => Err("expected a number of seconds from 1 to 86400".to_owned()),
    }
}

fn percent(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.1..=100.0).contains(&value) => Ok(value),
        _ => Err("expected a percentage from 0.1 to 100".to_owned()),
    }
}
