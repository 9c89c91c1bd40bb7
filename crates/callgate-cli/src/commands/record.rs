//! `callgate record`: records the syscalls of a command and of everything that it starts.

mod fleet;
mod label;
mod merge;
mod write;

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callgate::Arch;
use callgate::recording::{Recording, SyscallId, SyscallStats};
use callgate_linux::Command;
use callgate_record::{
    MAX_SYSCALLS, Note, RecordMethod, Recorded, Save, ended_by, exit_status, record_to,
};
use clap::{ValueEnum, ValueHint};

use crate::options::{ArchParser, Format};
use crate::output::{self, NewFile};
use crate::recordings::{self, RecordingOptions};
use crate::report::{self, Failure, Result};
use crate::text::{counted, printable};
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// Record the syscalls of a command and of everything that it starts
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Records the syscalls of all processes and threads, from the execve of the
command until the last of them has ended, with their argument values: all
values while there are few, then bounds. The recording (-o) is JSON, which
--weights, generate and check read. `callgate record merge` combines files of
one or several formats into one recording: recordings, logs of strace (best
with -f -e raw=all), tables of strace -c and perf trace -s, and SECCOMP records
of the audit log, dmesg and journalctl; --from does the same. To record a
command named merge, write -- before it.

The command uses the terminal and the standard streams; the report goes to
standard error at the end. Ctrl-C ends the command and keeps the recording; if
the command has ended, Ctrl-C stops waiting for processes that outlive it. While
the command runs, FILE.partial contains the recording so far, saved at least
every minute in case the recorder is killed (SIGKILL); `generate --partial`
reads it. It is removed once FILE is written.

  tracepoint   eBPF programs count syscalls. Needs root (CAP_BPF and
               CAP_PERFMON), x86-64 and Linux 5.15. Adds about 0.3 µs to a
               syscall and slows down all other processes of the machine nearly
               as much while it runs.
  ptrace       Each syscall waits for the recorder. Needs no privilege. With
               Linux 6.6 on x86-64, uses seccomp notifications, which add some
               microseconds; otherwise, stops. The command cannot use ptrace or
               notifications itself, and set-user-ID programs run without their
               privileges unless the recorder is root.
  stops        Like ptrace without notifications, for commands that use them;
               usually several times slower. Needs Linux 5.3.

Examples:
  callgate record -o ls.json -- ls -l
  callgate record -- make -j8
  callgate compile profile.json --weights ls.json --stats
  callgate record merge monday.json tuesday.json -o all.json
  callgate record -o all.json --from monday.json strace.log /var/log/audit/*

Exit status: that of the command; 127 if it is not found, 126 if it cannot be
executed, 2 for an error in the recording, or if the status is unknown.")]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct RecordArgs {
    #[command(subcommand)]
    verb: Option<RecordCommand>,

    /// Write the recording to this file [default: print a table of counts]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// How to observe syscalls [default: tracepoint if possible, otherwise ptrace]
    #[arg(long, value_name = "METHOD", default_value = "auto", hide_default_value = true)]
    via: MethodArg,

    /// Read recordings and logs of other tools instead of running a command; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["command", "via"]
    )]
    from: Vec<PathBuf>,

    /// The architecture of logs that do not contain it [default: this machine's]
    #[arg(long, value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true, requires = "from", conflicts_with = "command")]
    arch: Option<Arch>,

    /// Treat unknown syscall names in logs as errors
    #[arg(long, requires = "from", conflicts_with = "command")]
    strict: bool,

    /// Read the complete entries of a truncated recording
    #[arg(long, requires = "from", conflicts_with = "command")]
    partial: bool,

    /// Add a label to the run, such as the node or the image; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label::label)]
    label: Vec<label::Label>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// The command and its arguments
    #[arg(
        value_name = "CMD",
        required_unless_present = "from",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}

#[derive(Debug, clap::Subcommand)]
enum RecordCommand {
    /// Merge several recordings into one
    Merge(merge::MergeArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    /// tracepoint if possible, otherwise ptrace
    Auto,
    /// eBPF programs count syscalls
    Tracepoint,
    /// Syscalls wait for a seccomp notification if possible, otherwise they stop
    Ptrace,
    /// Each syscall stops for the tracer
    Stops,
}

pub(crate) fn run(args: &RecordArgs) -> Result<u8> {
    if let Some(RecordCommand::Merge(args)) = &args.verb {
        return merge::merge(args);
    }
    if !args.from.is_empty() {
        return read(args);
    }
    let command = Command::find(&args.command)
        .map_err(|error| Failure::new(error.to_string()).status(error.exit_status()))?;
    let target = Target::prepare(args.output.as_deref())?;
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let methods = args.via.methods();
    let mut saving = Saving::to(target, args.output.as_deref());
    saving.labels.clone_from(&args.label);
    let recorded = record_to(&command, words, methods, &mut saving).map_err(|error| {
        Failure::new(error.to_string()).help(error.help()).status(error.exit_status())
    })?;
    let saved = saving.end();
    warn_about(&recorded);
    let text = match args.format {
        Format::Json => json(&recorded),
        Format::Text => text(&recorded, args.output.as_deref(), saved.is_ok()),
    };
    report::note(&text);
    saved?;
    let failed = recorded.notes.iter().any(Note::is_failure);
    Ok(if failed { 2 } else { exit_status(recorded.status) })
}

impl MethodArg {
    pub(crate) fn methods(self) -> &'static [RecordMethod] {
        match self {
            MethodArg::Auto => &RecordMethod::ALL,
            MethodArg::Tracepoint => &[RecordMethod::Tracepoint],
            MethodArg::Ptrace => &RecordMethod::PTRACE,
            MethodArg::Stops => &[RecordMethod::Stops],
        }
    }
}

/// Warns about what the recording lacks.
pub(crate) fn warn_about(recorded: &Recorded) {
    for note in &recorded.notes {
        report::warn(note.to_string(), note.help());
    }
    let lost: u64 = recorded.recording.runs().iter().map(|run| run.lost).sum();
    if lost > 0 {
        let help = if recorded.recording.syscalls().len() < MAX_SYSCALLS {
            "record again; if the number stays high, use --via ptrace".to_owned()
        } else {
            format!(
                "a recording has at most {MAX_SYSCALLS} different syscalls; the others are only counted"
            )
        };
        let what = format!("syscalls that are missing in the recording: {lost}");
        report::warn(what, help);
    }
}

/// `--from`: reads recordings and logs, and writes one recording.
fn read(args: &RecordArgs) -> Result<u8> {
    let RecordArgs { arch, strict, partial, .. } = *args;
    let reading = RecordingOptions { arch, strict, partial };
    let mut named = recordings::read_all(&args.from, reading)?;
    for one in &args.label {
        named.iter_mut().for_each(|named| named.recording.label(&one.key, &one.value));
    }
    let all = recordings::merged(&named)?;
    match (&args.output, args.format) {
        (None, Format::Text) => output::print(&table(&all))?,
        (output, _) => write::write(&all, output.as_deref())?,
    }
    Ok(0)
}

/// The destination of the recording, checked before the command runs.
enum Target {
    Nowhere,
    Stdout,
    File(NewFile),
}

impl Target {
    fn prepare(path: Option<&Path>) -> Result<Target> {
        /// Enough for a recording of the usual size.
        const ROOM: usize = 256 << 10;
        Ok(match path {
            None => Target::Nowhere,
            Some(path) if path.as_os_str() == "-" => Target::Stdout,
            Some(path) => Target::File(NewFile::reserve(path, ROOM)?),
        })
    }

    fn write(self, recording: &Recording) -> Result<()> {
        match self {
            Target::Nowhere => Ok(()),
            Target::Stdout => {
                let text = recording.to_json();
                output::print(&text).map_err(|failure| rescue(&text, true, failure))
            }
            Target::File(file) => {
                let text = recording.to_json();
                file.finish(text.as_bytes()).map_err(|failure| rescue(&text, false, failure))
            }
        }
    }
}

/// Saves the recording, and meanwhile parts of it in case this process is killed.
struct Saving {
    /// `None` once it is saved.
    target: Option<Target>,
    saved: Result<()>,
    labels: Vec<label::Label>,
    /// The file for parts; `None` if the recording is not written to a regular file.
    parts: Option<PathBuf>,
    /// The result of writing the last part; `None` before the first.
    part: Option<Result<()>>,
}

impl Saving {
    fn to(target: Target, path: Option<&Path>) -> Saving {
        // No part is written beside a pipe or a device.
        let is_file = |path: &&Path| std::fs::metadata(path).map_or(true, |found| found.is_file());
        let parts = match target {
            Target::File(_) => path.filter(is_file).map(beside),
            Target::Nowhere | Target::Stdout => None,
        };
        Saving { target: Some(target), saved: Ok(()), labels: Vec::new(), parts, part: None }
    }

    /// The result. Warns if parts could not be written.
    fn end(self) -> Result<()> {
        if let (Some(path), Some(Err(_))) = (&self.parts, &self.part) {
            report::warn_about(
                &path.display().to_string(),
                "parts of the recording could not be written while the command ran",
                "the recording itself is complete; parts matter only if the recorder is killed",
            );
        }
        self.saved
    }
}

/// The file for parts.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

impl Save for Saving {
    fn wants_parts(&self) -> bool {
        self.parts.is_some()
    }

    fn part(&mut self, recording: &Recording) {
        if let Some(path) = &self.parts {
            self.part = Some(output::write_recording(path, recording.to_json().as_bytes()));
        }
    }

    fn whole(&mut self, recording: &Recording) {
        if let Some(target) = self.target.take() {
            let mut recording = recording.clone();
            recordings::identify(&mut recording);
            self.labels.iter().for_each(|one| recording.label(&one.key, &one.value));
            self.saved = target.write(&recording);
        }
        // If the recording could not be written, the last part remains.
        if let (Some(path), Some(_), Ok(())) = (&self.parts, &self.part, &self.saved) {
            let _ = output::remove_file(path);
        }
    }
}

/// A recording may have taken hours. If it cannot be written to its file, it goes to the directory for temporary files,
/// and if that fails too, to a standard stream.
fn rescue(text: &str, is_stdout: bool, failure: Failure) -> Failure {
    /// Other files may have these names.
    const ATTEMPTS: usize = 8;
    let (directory, process) = (std::env::temp_dir(), std::process::id());
    let paths = (0..ATTEMPTS)
        .map(|attempt| directory.join(format!("callgate-recording-{process}-{attempt}.json")));
    let mut saved = paths.filter(|path| output::write_new_file(path, text.as_bytes()).is_ok());
    if let Some(path) = saved.next() {
        return failure.help(format!("the recording is in {}", path.display()));
    }
    let full = format!("{} cannot be written either", directory.display());
    if !is_stdout && output::print(text).is_ok() {
        return failure.help(format!("{full}, so the recording was printed on standard output"));
    }
    report::note(text);
    failure.help(format!("{full}, so the recording was printed above, on standard error"))
}

/// The text report: a summary, and a table if there is no file.
fn text(recorded: &Recorded, path: Option<&Path>, is_saved: bool) -> String {
    let mut text = String::new();
    let recording = &recorded.recording;
    if path.is_none() {
        let _ = writeln!(text, "{}", table(recording).trim_end());
    }
    let run = recording.runs().first();
    let number = |get: fn(&callgate::recording::Run) -> Option<u64>| run.and_then(get).unwrap_or(0);
    let _ = writeln!(
        text,
        "callgate: {}, {} different, by {} and {} in {}",
        counted(recording.total(), "syscall"),
        recording.syscalls().len(),
        counted(number(|run| run.processes), "process"),
        counted(number(|run| run.threads), "thread"),
        duration(recorded.time)
    );
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
    if let Some(path) = path.filter(|path| is_saved && path.as_os_str() != "-") {
        let _ = writeln!(text, "  written to {}", printable(&path.display().to_string()));
    }
    text
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
fn table(recording: &Recording) -> String {
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
fn json(recorded: &Recorded) -> String {
    let recording = &recorded.recording;
    let run = recording.runs().first();
    let fields = vec![
        ("method", name(recorded.method).into()),
        ("why_not_tracepoint", recorded.why_not_tracepoint.clone().into()),
        ("calls", recording.total().into()),
        ("different_calls", recording.syscalls().len().into()),
        ("processes", run.and_then(|run| run.processes).into()),
        ("threads", run.and_then(|run| run.threads).into()),
        ("lost", run.map(|run| run.lost).into()),
        ("status", exit_status(recorded.status).into()),
        ("seconds", Json::Float(recorded.time.as_secs_f64())),
        ("nanoseconds_per_call", (recorded.cost_per_syscall.as_nanos() as u64).into()),
        ("overhead_nanoseconds", (overhead(recorded).as_nanos() as u64).into()),
    ];
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
