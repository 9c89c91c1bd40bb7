//! `/dev/zero` opened, read and closed, 100,000 times in each of 100 runs, with and without the filter of 23 syscalls that
//! was made for ffmpeg (2017).
//!
//! A run is a process; its time is that of the loop, without the start of the process. The published filter was written by
//! hand with a macro per syscall: a test that jumps over `ret ALLOW`. Since Linux 5.11 the kernel's cache answers it, so it
//! is measured twice: unchanged, and with tests of an argument of the three syscalls. Filters of the caller are measured beside
//! them.

use std::sync::Arc;

use callgate::{Endian, Verdict};
use callgate_bpf::SyscallTable;
use callgate_core::{Insn, Op, Program, Word};

use super::error::{ExperimentError, ExperimentErrorKind};
use super::given::{Given, Needed};
use super::runs::{Extra, Runs};
use super::setup::{NOT_PASSED, Options, Setup, allowing, compiled, known, missing, native};
use crate::bodies::OpenReadClose;
use crate::finding::Finding;
use crate::published::{BoxPlot, Published, PublishedTable};
use crate::times::Times;
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::Subject;
use callgate_measure::report::Shown;
use callgate_measure::{Plan, Samples};

/// The published allowlist, in its order. It was made on a 32-bit machine.
const LIST: [&str; 23] = [
    "rt_sigreturn",
    "sigreturn",
    "exit_group",
    "exit",
    "open",
    "close",
    "read",
    "write",
    "ioctl",
    "brk",
    "rt_sigaction",
    "fcntl64",
    "fstat64",
    "_llseek",
    "mmap2",
    "munmap",
    "mremap",
    "futex",
    "getrusage",
    "time",
    "sched_getaffinity",
    "_newselect",
    "clock_gettime",
];

/// The syscalls of a turn.
const TURN: [&str; 3] = ["open", "read", "close"];

/// Turns in a run, in batches of 1,000.
const TURNS: u32 = 100_000;

/// The runs of each subject.
const RUNS: usize = 100;

/// A limit of the whole measurement in seconds; 100 runs take about three minutes.
const LIMIT: u64 = 600;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    // Architectures without `open` open files with `openat`.
    let has_open = native()?.number("open").is_some();
    let here = |name: &&'static str| if *name == "open" && !has_open { "openat" } else { name };
    let list: Vec<&str> = LIST.iter().map(here).collect();
    let turn: Vec<&str> = TURN.iter().map(here).collect();
    let ((numbers, absent), (inspected, _)) = (known(&list)?, known(&turn)?);
    let (plain, inspecting) = (allowing(&numbers, &[])?, allowing(&numbers, &inspected)?);
    let mut subjects = vec![
        Subject::none(),
        Subject::new("as published", [by_hand(&numbers, &[])?])?,
        Subject::new("published, inspecting", [by_hand(&numbers, &inspected)?])?,
        Subject::new("libseccomp, inspecting", [options.libseccomp.list(&inspecting)?])?,
        Subject::new("Callgate", [compiled(&plain)?])?,
        Subject::new("Callgate, inspecting", [compiled(&inspecting)?])?,
    ];
    let needed: Vec<Needed> = turn.iter().map(|name| Needed::measured(name, [0; 6])).collect();
    Given::append(&options.subjects, &mut subjects, &needed)?;
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let plan = options.plan(subjects, vec![Body::Work(Arc::new(OpenReadClose))], LIMIT);
    let batches = Batches { count: TURNS / 1000, iterations: 1000, ..plan.batches };
    let title = "open, read and close /dev/zero: one turn".to_owned();
    let renamed =
        (!has_open).then(|| "openat is in the place of open, which this machine lacks".to_owned());
    let notes = [missing(&absent, LIST.len()), renamed];
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: format!("open, read, close: {RUNS} runs of 100,000"),
        plan: Plan { batches, min_rounds: 5, max_rounds: RUNS, ..plan },
        bodies: vec![Shown { title, treatments: Vec::new(), is_claimed: true }],
        findings: Box::new(findings),
        extra: Extra {
            published: Some(Box::new(move |runs: &Runs| published(runs, &names))),
            notes: notes.into_iter().flatten().collect(),
            ..Extra::default()
        },
    })
}

/// The filter in the published form; the verdict of inspected syscalls depends on their first argument.
fn by_hand(numbers: &[u32], inspected: &[u32]) -> Result<Program, ExperimentError> {
    let endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
    let (allow, kill) = (Verdict::ALLOW.0, Verdict::KILL_THREAD.0);
    let ret = |verdict| Insn::new(Op::RetK, verdict);
    let mut code = vec![
        Insn::new(Op::LdWordAbs, Word::ARCH.offset(endian)),
        Insn::branch(Op::JeqK, native()?.token(), 1, 0),
        ret(kill),
        Insn::new(Op::LdWordAbs, Word::NR.offset(endian)),
    ];
    for nr in numbers {
        match Word::arg_low(0).filter(|_| inspected.contains(nr)) {
            None => code.extend([Insn::branch(Op::JeqK, *nr, 0, 1), ret(allow)]),
            Some(word) => code.extend([
                Insn::branch(Op::JeqK, *nr, 0, 4),
                Insn::new(Op::LdWordAbs, word.offset(endian)),
                Insn::branch(Op::JeqK, NOT_PASSED, 0, 1),
                ret(kill),
                ret(allow),
            ]),
        }
    }
    code.push(ret(kill));
    Program::new(code)
        .map_err(|error| ExperimentError(ExperimentErrorKind::Program(error.to_string())))
}

/// The runs of a subject, in seconds.
fn seconds(samples: &Samples, subject: usize) -> Vec<f64> {
    let runs = samples.batches(subject, 0).iter();
    runs.map(|batches| {
        // Nanoseconds per turn of equal batches.
        let mean = batches.iter().sum::<f64>() / batches.len().max(1) as f64;
        mean * f64::from(TURNS) / 1e9
    })
    .collect()
}

/// The times of runs.
fn times(samples: &Samples) -> Option<Times> {
    Times::of_rounds((0..samples.subjects()).map(|at| seconds(samples, at)).collect(), 0)
}

fn published(runs: &Runs, names: &[String]) -> Published {
    let samples = &runs.own;
    let Some(times) = times(samples) else { return Published::default() };
    let columns = [
        ("s per run", 4),
        ("increase s", 4),
        ("µs per turn", 3),
        ("per syscall", 3),
        ("overhead %", 1),
    ];
    let title = "runs; the increase in seconds, and in µs per turn and per syscall";
    let mut table = PublishedTable::new("runs", title, &columns);
    for (subject, name) in names.iter().enumerate() {
        let scaled = |by: f64| times.figure(|time| (time(subject) - time(0)) * by);
        let turn = 1e6 / f64::from(TURNS);
        let percent = times.figure(|time| (time(subject) / time(0) - 1.0) * 100.0);
        let increases = [scaled(1.0), scaled(turn), scaled(turn / TURN.len() as f64), percent];
        let increases = increases.map(|figure| figure.filter(|_| subject > 0));
        table.row(name.as_str(), [times.time(subject)].into_iter().chain(increases));
    }
    let plot = BoxPlot {
        key: "run_times",
        title: "time of a run".to_owned(),
        unit: "seconds",
        digits: 4,
        rows: names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.clone(), seconds(samples, at)))
            .collect(),
    };
    let notes = [
        "the published 5.84 µs \"per system call\" and 44 % \"per call\" are per turn of three syscalls",
        "the published figures are differences of means; here the increase is the median of differences between runs of \
         the same round, which a disturbed run does not shift",
    ];
    let notes = notes.map(str::to_owned).to_vec();
    Published { tables: vec![table], plots: vec![plot], notes }
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let Some(times) = times(samples) else { return Vec::new() };
    let percent = |subject| times.figure(|time| (time(subject) / time(0) - 1.0) * 100.0);
    let texts = [
        (
            "cached_percent",
            "the published filter, answered by the cache, over no filter",
            percent(1),
        ),
        (
            "list_percent",
            "the published filter with inspected arguments, over no filter",
            percent(2),
        ),
        ("libseccomp_percent", "libseccomp's list for the same rules, over no filter", percent(3)),
        ("compiled_percent", "Callgate's program for the same rules, over no filter", percent(5)),
    ];
    let findings = texts
        .into_iter()
        .map(|(key, text, figure)| Some(Finding::new(key, text, figure?, "% slower")));
    findings.flatten().collect()
}

#[cfg(test)]
mod tests {
    use callgate::SeccompData;

    use super::*;

    /// The program by hand and the rules are two forms of one filter.
    #[test]
    fn the_published_program_decides_as_its_rules() {
        let (numbers, _) = known(&LIST).unwrap();
        let (inspected, _) = known(&["read", "close"]).unwrap();
        for inspected in [&[][..], &inspected] {
            let (by_hand, policy) =
                (by_hand(&numbers, inspected).unwrap(), allowing(&numbers, inspected).unwrap());
            let compiled = compiled(&policy).unwrap();
            let arch = native().unwrap();
            for (nr, argument) in (0..600).flat_map(|nr| [(nr, 3), (nr, u64::from(NOT_PASSED))]) {
                let args = [argument, 0, 0, 0, 0, 0];
                let data = SeccompData { nr, arch: arch.token(), args, ..SeccompData::default() };
                let run = |program: &Program| program.run(&data, policy.endian()).verdict;
                assert_eq!(run(&by_hand), run(&compiled), "{nr} {argument:#x}");
            }
        }
    }
}
