//! The report about a recording, as text and as JSON.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use callgate_record::{RecordMethod, Recorded, ended_by};
use callgate_requests::json::Json;
use callgate_requests::syscall;
use callgate_trace::recording::{Recording, SyscallId, SyscallStats};

use super::split::SplitDirectory;
use crate::text::{counted, printable};

/// The text report: a summary, and a table if there is no file.
pub(super) fn text(
    recorded: &Recorded,
    attached_to: Option<&str>,
    path: Option<&Path>,
    is_saved: bool,
    split: Option<&SplitDirectory>,
) -> String {
    let mut text = String::new();
    let recording = &recorded.recording;
    if path.is_none() {
        let _ = writeln!(text, "{}", table(recording).trim_end());
    }
    let run = recording.runs().first();
    let number =
        |get: fn(&callgate_trace::recording::Run) -> Option<u64>| run.and_then(get).unwrap_or(0);
    let _ = writeln!(
        text,
        "callgate: {}, {} different, by {} and {} in {}",
        counted(recording.total(), "syscall"),
        recording.syscalls().len(),
        counted(number(|run| run.processes), "process"),
        counted(number(|run| run.threads), "thread"),
        duration(recorded.time)
    );
    if let Some(target) = attached_to {
        let _ = writeln!(
            text,
            "  attached to {}: earlier and later syscalls are missing",
            printable(target)
        );
    }
    if let Some(signal) = ended_by(recorded.status) {
        let _ = writeln!(text, "  signal {signal} ended the command");
    }
    let (total, per_call) = (overhead(recorded), recorded.cost_per_syscall);
    let method = name(recorded.method);
    let _ = writeln!(
        text,
        "  recorded by {method}, which added about {} per syscall, {} in total",
        duration(per_call),
        duration(total)
    );
    if let Some(why) = &recorded.why_not_tracepoint {
        let _ = writeln!(text, "  tracepoint not used: {why}");
    }
    if let Some(split) = split {
        executables(&mut text, recorded, split);
    }
    if let Some(path) = path.filter(|path| is_saved && path.as_os_str() != "-") {
        let _ = writeln!(text, "  written to {}", printable(&path.display().to_string()));
    }
    text
}

/// The recordings of executables.
fn executables(text: &mut String, recorded: &Recorded, split: &SplitDirectory) {
    let count = counted(recorded.executables.len() as u64, "executable");
    let _ = writeln!(text, "  {count}, in {}:", printable(&split.path().display().to_string()));
    let _ = writeln!(text, "       count  different  executable");
    for executable in &recorded.executables {
        let path = if executable.path.is_empty() { "(others)" } else { &executable.path };
        let (total, different) =
            (executable.recording.total(), executable.recording.syscalls().len());
        let _ = writeln!(text, "{total:>12} {different:>10}  {}", printable(path));
    }
}

/// The estimated cost of recording all syscalls, from the cost of the cheapest one.
fn overhead(recorded: &Recorded) -> Duration {
    let nanoseconds = recorded.cost_per_syscall.as_nanos() * u128::from(recorded.recording.total());
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

fn name(method: RecordMethod) -> &'static str {
    match method {
        RecordMethod::Tracepoint => "tracepoint",
        RecordMethod::Listener => "listener",
        RecordMethod::Stops => "stops",
    }
}

/// The syscalls, the most frequent first.
pub(super) fn table(recording: &Recording) -> String {
    let mut calls: Vec<(SyscallId, &SyscallStats)> = recording.syscalls().collect();
    calls.sort_by_key(|(call, seen)| (std::cmp::Reverse(seen.count()), *call));
    let one_arch = calls.windows(2).all(|pair| pair[0].0.arch == pair[1].0.arch);
    let mut text = String::from("       count  syscall\n");
    for (call, seen) in calls {
        let name = syscall::name(Some(call.arch), call.nr);
        let _ = write!(text, "{:>12}  {name}", seen.count());
        let _ = if one_arch { writeln!(text) } else { writeln!(text, " ({})", call.arch) };
    }
    text
}

/// The JSON report.
pub(super) fn json(
    recorded: &Recorded,
    attached_to: Option<&str>,
    split: Option<&SplitDirectory>,
) -> String {
    let recording = &recorded.recording;
    let run = recording.runs().first();
    let mut fields = vec![
        ("method", name(recorded.method).into()),
        ("why_not_tracepoint", recorded.why_not_tracepoint.clone().into()),
        ("calls", recording.total().into()),
        ("different_calls", recording.syscalls().len().into()),
        ("processes", run.and_then(|run| run.processes).into()),
        ("threads", run.and_then(|run| run.threads).into()),
        ("lost", run.map(|run| run.lost).into()),
        ("attached_to", attached_to.map(str::to_owned).into()),
        ("status", run.and_then(|run| run.status).map(u64::from).into()),
        ("seconds", Json::Float(recorded.time.as_secs_f64())),
        ("nanoseconds_per_call", (recorded.cost_per_syscall.as_nanos() as u64).into()),
        ("overhead_nanoseconds", (overhead(recorded).as_nanos() as u64).into()),
    ];
    if let Some(split) = split {
        let executables = recorded.executables.iter().map(|executable| {
            Json::Object(vec![
                ("path", Some(executable.path.clone()).filter(|path| !path.is_empty()).into()),
                ("file", split.file(&executable.path).map(str::to_owned).into()),
                ("calls", executable.recording.total().into()),
                ("different_calls", executable.recording.syscalls().len().into()),
            ])
        });
        fields.push(("executables", Json::Array(executables.collect())));
    }
    format!("{}\n", Json::Object(fields))
}

/// A duration with three significant digits and a unit.
fn duration(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos() as f64;
    let (value, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        ..1e6 => (nanoseconds / 1e3, "µs"),
        ..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    let decimals = match value {
        _ if unit == "ns" => 0,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let of = |nanoseconds| duration(Duration::from_nanos(nanoseconds));
        assert_eq!(
            [of(0), of(999), of(1234), of(45_678_901), of(678_901_234), of(3_600_000_000_000)],
            ["0 ns", "999 ns", "1.23 µs", "45.7 ms", "679 ms", "3600 s"]
        );
    }
}
