//! `callgate bench --pid N`: how much CPU time the filters of a running process take.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use callgate_linux::{Dump, ThreadStatus};
use callgate_measure::process::{
    ArgumentValues, Paths, ProcessCall, Share, ShareError, Window, json, subjects, text,
};
use callgate_measure::report::{self as results, Shown};
use callgate_measure::{MeasurableSyscall, Samples, Subject, setting};
use callgate_record::{
    AttachTarget, ExecutableRecording, Note, Recorded, RunningProcess, Save, attach_to,
};
use callgate_requests::json::Json;
use callgate_trace::recording::{Recording, SyscallId, SyscallStats};

use super::calls::with_recorded_args;
use super::filters::{noisy, plan, take};
use super::options::FiltersArgs;
use super::report::VERSION;
use super::status::{self, INTERRUPTED};
use crate::commands::record::warn_about;
use crate::options::{Format, native_arch};
use crate::output;
use crate::progress::Progress;
use crate::report::{self, Failure, Result};
use crate::source::dump;
use crate::text::{counted, grouped, printable};

/// The number of windows of a recording; one more count than windows is needed, and one may be late.
const WINDOWS: u32 = 10;
const COUNTS: u32 = WINDOWS + 2;

/// Records a process, measures its filters, and prints the share of its CPU time that they take.
pub(super) fn measure_process(pid: u32, args: &FiltersArgs) -> Result<u8> {
    let process = RunningProcess::find(pid).map_err(|error| {
        Failure::new(error.to_string()).help("give the ID of a process of user space: ps -e")
    })?;
    let name = format!("pid:{pid}");
    let dump = dump(pid, &name)?;
    if dump.filters.is_empty() {
        return Err(no_filter(&process, &dump));
    }
    warn_about_others(&process, &dump);
    let programs = dump.filters.iter().map(|installed| installed.program.clone());
    let filters = Subject::new(process.to_string(), programs)
        .map_err(|error| Failure::about(&name, error.to_string()))?;
    let counted = count(&process, args)?;
    let about = |error: ShareError| {
        let help = match error.is_about_time() {
            true => "record while it has work, or for a longer time (--for)",
            false => error.help(),
        };
        Failure::new(format!("{process}: {error}")).help(help)
    };
    let calls = calls(&counted, &filters)?;
    let windows = windows(&counted, &calls);
    let calls: Vec<ProcessCall> = calls.into_iter().map(|(_, call)| call).collect();
    let paths = Paths::of(&calls, &filters);
    let mean = Share::mean(&calls, &paths, &windows).map_err(about)?;
    let insns: usize = dump.filters.iter().map(|installed| installed.program.len()).sum();
    // Each is measured twice, as an instruction and in a function.
    let titles = paths.measured().flat_map(|call| [call.show(), call.show()]);
    let shown: Vec<Shown> =
        titles.map(|title| Shown { title, treatments: Vec::new(), is_claimed: false }).collect();
    let plan = plan(args, subjects(filters), Share::bodies(&paths), Some(mean));
    let samples = take(&plan, &shown)?;
    let recorder = counted.recorded.cost_per_syscall;
    let share = Share::of(&calls, &paths, &windows, recorder, &samples).map_err(about)?;
    let noisy = noisy(args, &samples, &results::sections(&plan, &samples, &[]));
    let is_interrupted = samples.interrupted || counted.is_cut();
    let filters = (dump.filters.len(), insns);
    let mut facts = facts(filters, &share);
    facts.extend(setting(&plan.batches));
    facts.extend(samples.facts(&plan.batches));
    output::print(&match args.format {
        Format::Text => text(&format!("CPU time of the filters of {process}"), &facts, &share),
        Format::Json => {
            let ends = (noisy.as_deref(), is_interrupted);
            as_json((pid, &dump.name), filters, &facts, &samples, &share, ends)
        }
    })?;
    Ok(status::finish(is_interrupted, noisy.as_deref(), args.precision(), args.noise))
}

/// The error for a process without filters.
fn no_filter(process: &RunningProcess, dump: &Dump) -> Failure {
    let help = match dump.others.first() {
        Some((thread, filters)) => format!(
            "filters belong to threads: its main thread has none, but thread {thread} has {}; \
             callgate bench pid:{thread} measures them",
            counted(*filters as u64, "filter")
        ),
        None => "grep Seccomp_filters /proc/*/status finds processes with filters".to_owned(),
    };
    Failure::new(format!("{process} has no filter, so filters take none of its CPU time"))
        .help(help)
}

/// Warns about threads and descendants with another number of filters, whose syscalls are counted too.
fn warn_about_others(process: &RunningProcess, dump: &Dump) {
    let own = dump.filters.len();
    if let Some((thread, filters)) = dump.others.first() {
        let all = counted(dump.others.len() as u64, "thread");
        report::warn(
            format!(
                "{all} of the process with another number of filters than its main thread, such as \
                 {thread} with {filters} instead of {own}"
            ),
            "their syscalls count as if they had those of the main thread",
        );
    }
    // They may end meanwhile.
    let descendants = process.descendants().unwrap_or_default();
    let others: Vec<(u32, usize)> = descendants
        .into_iter()
        .filter_map(|pid| Some((pid, ThreadStatus::of(pid).ok()?.filters?)))
        .filter(|(_, filters)| *filters != own)
        .collect();
    if let Some((pid, filters)) = others.first() {
        let all = counted(others.len() as u64, "descendant");
        report::warn(
            format!(
                "{all} of the process with another number of filters, such as process {pid} with {filters} \
                 instead of {own}"
            ),
            "their syscalls count as if they had the same ones",
        );
    }
}

/// What a process did so far.
struct Mark {
    at: Instant,
    cpu_time: Duration,
    counts: BTreeMap<SyscallId, u64>,
}

/// Receives the counts of a recording at fixed intervals.
struct Counter<'p> {
    process: &'p RunningProcess,
    limit: Duration,
    is_silent: bool,
    progress: Progress,
    marks: Vec<Mark>,
}

impl Save for Counter<'_> {
    fn wants_parts(&self) -> bool {
        true
    }

    fn part_interval(&self) -> Option<Duration> {
        Some(self.limit / COUNTS)
    }

    fn part(&mut self, whole: &Recording, _: &[ExecutableRecording]) {
        // The delay after the reading of the counters is always the same, so differences of both cover the same time.
        let at = Instant::now();
        // It has ended otherwise.
        let Ok(cpu_time) = self.process.cpu_time() else { return };
        let counts = whole.syscalls().map(|(id, stats)| (id, stats.count())).collect();
        self.marks.push(Mark { at, cpu_time, counts });
    }

    fn attached(&mut self, threads: u64) {
        if !self.is_silent {
            report::note(&format!(
                "recording {} of {} for {} s\n",
                counted(threads, "thread"),
                printable(&self.process.to_string()),
                self.limit.as_secs_f64()
            ));
        }
    }

    fn waits(&mut self, time: Duration) {
        let limit = self.limit.as_secs_f64();
        self.progress.tell(|| format!("recording: {:.0} of {limit:.0} s", time.as_secs_f64()));
    }

    fn whole(&mut self, _: &Recording, _: &[ExecutableRecording]) {}
}

/// A recording, and the counts at fixed intervals.
struct Counted {
    recorded: Recorded,
    marks: Vec<Mark>,
}

impl Counted {
    /// Whether a signal ended it early.
    fn is_cut(&self) -> bool {
        self.recorded.notes.iter().any(|note| matches!(note, Note::CutShort { .. }))
    }

    /// How often a syscall was made in the windows.
    fn count(&self, id: SyscallId) -> u64 {
        let at = |mark: Option<&Mark>| mark.and_then(|mark| mark.counts.get(&id)).copied();
        let (first, last) = (at(self.marks.first()), at(self.marks.last()));
        last.unwrap_or(0).saturating_sub(first.unwrap_or(0))
    }
}

/// Records the process.
fn count(process: &RunningProcess, args: &FiltersArgs) -> Result<Counted> {
    let mut counter = Counter {
        process,
        limit: args.record_time,
        is_silent: args.format == Format::Json,
        progress: Progress::new(Instant::now()),
        marks: Vec::new(),
    };
    let target = AttachTarget::Process(process.clone());
    let recorded = attach_to(&target, Some(args.record_time), &mut counter);
    counter.progress.clear();
    let recorded = recorded.map_err(|error| Failure::new(error.to_string()).help(error.help()))?;
    warn_about(&recorded, true, None);
    let counted = Counted { recorded, marks: counter.marks };
    match (counted.marks.len() < 2, counted.is_cut()) {
        (false, _) => Ok(counted),
        (true, true) => Err(Failure::new("stopped before the first window was recorded")
            .help("a window takes a twelfth of --for")
            .status(INTERRUPTED)),
        (true, false) => Err(Failure::new(format!(
            "{process} ended after {:.1} s, before its syscalls were counted twice",
            counted.recorded.time.as_secs_f64()
        ))
        .help("record a process that runs longer, or with a shorter --for")),
    }
}

/// The recorded syscalls, the most frequent first.
fn calls(counted: &Counted, filters: &Subject) -> Result<Vec<(SyscallId, ProcessCall)>> {
    let native = native_arch()?;
    let call = |(id, stats): (SyscallId, &SyscallStats)| {
        let known = id.name();
        let name = known.map_or_else(|| format!("syscall {}", id.nr), str::to_owned);
        let name = if id.arch == native { name } else { format!("{name} ({})", id.arch) };
        let own = known.filter(|_| id.arch == native).and_then(MeasurableSyscall::find);
        let own = own.map(|own| with_recorded_args(own, stats));
        let values: Vec<ArgumentValues> =
            (0..stats.args().len()).map(|slot| values(stats, slot)).collect();
        let number = (id.arch.token(), id.nr);
        (id, ProcessCall::new(name, counted.count(id), number, &values, own, filters))
    };
    let mut calls: Vec<_> = counted.recorded.recording.syscalls().map(call).collect();
    calls.retain(|(_, call)| call.count > 0);
    calls.sort_by_key(|(_, call)| std::cmp::Reverse(call.count));
    Ok(calls)
}

/// The recorded values of an argument.
fn values(stats: &SyscallStats, slot: usize) -> ArgumentValues {
    let Some(values) = stats.args().get(slot).filter(|_| stats.is_known(slot)) else {
        return ArgumentValues::Unknown;
    };
    match (values.all(), values.bounds()) {
        (Some(all), _) => ArgumentValues::All(all.to_vec()),
        (None, Some(bounds)) => ArgumentValues::Between(bounds.min, bounds.max),
        (None, None) => ArgumentValues::Unknown,
    }
}

/// What happened between successive counts.
fn windows(counted: &Counted, calls: &[(SyscallId, ProcessCall)]) -> Vec<Window> {
    let between = |(before, after): (&Mark, &Mark)| {
        let of = |mark: &Mark, id| mark.counts.get(&id).copied().unwrap_or(0);
        Window {
            elapsed: after.at.saturating_duration_since(before.at),
            cpu_time: after.cpu_time.saturating_sub(before.cpu_time),
            counts: calls
                .iter()
                .map(|(id, _)| of(after, *id).saturating_sub(of(before, *id)))
                .collect(),
        }
    };
    counted.marks.iter().zip(counted.marks.iter().skip(1)).map(between).collect()
}

/// What was recorded: label and text.
fn facts((count, insns): (usize, usize), share: &Share) -> Vec<(&'static str, String)> {
    let (seconds, cpu_time) = (share.elapsed.as_secs_f64(), share.cpu_time.as_secs_f64());
    vec![
        (
            "filters",
            format!(
                "{}, {}",
                counted(count as u64, "filter"),
                counted(insns as u64, "instruction")
            ),
        ),
        (
            "recorded",
            format!(
                "{} in {} of {:.2} s, {} per second",
                counted(share.count, "syscall"),
                counted(share.windows as u64, "window"),
                seconds / share.windows.max(1) as f64,
                grouped((share.count as f64 / seconds).round() as u64)
            ),
        ),
        (
            "CPU time",
            format!(
                "{cpu_time:.3} s, {:.1} % of one processor; without {:.3} s of the recorder",
                cpu_time / seconds * 100.0,
                share.recorder.as_secs_f64()
            ),
        ),
    ]
}

/// Everything, with stable keys.
fn as_json(
    (pid, name): (u32, &str),
    (count, insns): (usize, usize),
    facts: &[(&'static str, String)],
    samples: &Samples,
    share: &Share,
    (noisy, is_interrupted): (Option<&str>, bool),
) -> String {
    let process = vec![("pid", pid.into()), ("name", name.into())];
    let filters = vec![("count", count.into()), ("insns", insns.into())];
    let mut members = vec![
        ("callgate", "bench pid".into()),
        ("version", VERSION.into()),
        ("process", Json::Object(process)),
        ("filters", Json::Object(filters)),
        ("setting", callgate_measure::json::setting(facts)),
        ("rounds", samples.rounds().into()),
    ];
    members.extend(json(share));
    members.extend([("noisy", noisy.into()), ("interrupted", is_interrupted.into())]);
    format!("{}\n", Json::Object(members))
}
