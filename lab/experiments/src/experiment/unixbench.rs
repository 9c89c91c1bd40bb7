//! UnixBench's "syscall" loop under stacks of a filter of 20 rules.
//!
//! Huawei's measurement of 2020: the loop `close(dup(0))`, getpid, getuid, umask under 0, 1, 4 and 32 equal filters, which
//! libseccomp compiled, and once more with a kernel whose `bpf_prog_run_pin_on_cpu` returned ALLOW instead of running the
//! program. The result was the number of loops in 10 seconds; the difference between the overheads of both kernels was
//! called the overhead of BPF.
//!
//! Since Linux 5.11 the kernel's cache answers the published filter, so each stack is measured twice: unchanged, and with
//! rules that inspect an argument of the five syscalls, so that the filters run. In place of the changed kernel there are
//! stacks of the shortest programs that the cache does not answer: they are called, load one word and return. So the
//! overhead of BPF here is that of the instructions after the first load. Filters of the caller are measured beside them.

use std::sync::Arc;

use callgate_core::Program;

use super::error::ExperimentError;
use super::getpid;
use super::given::{Given, Needed};
use super::runs::{Extra, Runs};
use super::setup::{Options, Setup, allowing, compiled, known, merged, missing, shown, syscall};
use crate::bodies::UnixBench;
use crate::finding::Finding;
use crate::published::{Published, PublishedTable};
use crate::times::Times;
use callgate_measure::Body;
use callgate_measure::Samples;
use callgate_measure::Subject;
use callgate_measure::report::Shown;

/// The published allowlist: the syscalls of the loop, those that install the next filter, and those that the program
/// needs to start, to report and to end.
const LIST: [&str; 20] = [
    "close",
    "dup",
    "getpid",
    "getuid",
    "umask",
    "seccomp",
    "prctl",
    "write",
    "faccessat",
    "openat",
    "read",
    "fstat",
    "setitimer",
    "rt_sigaction",
    "brk",
    "munmap",
    "execve",
    "mmap",
    "mprotect",
    "exit_group",
];

const LOOP: [&str; 5] = ["close", "dup", "getpid", "getuid", "umask"];

const STACKS: [usize; 3] = [1, 4, 32];

/// The first subject of each group of stacks; "no filter" is before them.
const CONSTANT: usize = 1;
const INSPECTING: usize = 4;
const SHORTEST: usize = 7;
/// Callgate's programs: the published rules, those that inspect, and 32 filters of each merged.
const CALLGATE: usize = 10;

/// Nanoseconds in the 10 seconds for which UnixBench counts.
const TEN_SECONDS: f64 = 1e10;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let (numbers, absent) = known(&LIST)?;
    let constant = allowing(&numbers, &[])?;
    let inspecting = allowing(&numbers, &known(&LOOP)?.0)?;
    let lists = [options.libseccomp.list(&constant)?, options.libseccomp.list(&inspecting)?];
    let mut subjects = vec![Subject::none()];
    let groups = [
        ("", Some(lists[0].clone())),
        (", inspecting", Some(lists[1].clone())),
        (", shortest", getpid::filter(0)),
    ];
    for (kind, program) in groups {
        for count in STACKS {
            let name = if count == 1 {
                format!("1 filter{kind}")
            } else {
                format!("{count} filters{kind}")
            };
            subjects.push(Subject::new(name, program.iter().cycle().take(count).cloned())?);
        }
    }
    let merged = |list: &Program| merged(std::iter::repeat_n(list, 32));
    subjects.push(Subject::new("Callgate", [compiled(&constant)?])?);
    subjects.push(Subject::new("Callgate, inspecting", [compiled(&inspecting)?])?);
    subjects.push(Subject::new("32 merged", [merged(&lists[0])?])?);
    subjects.push(Subject::new("32 merged, inspecting", [merged(&lists[1])?])?);
    let umask = syscall("umask")?;
    // As the loop makes them; the kernel's answer to dup is the argument of close.
    let needed = LOOP.map(|name| {
        let arg = if name == "umask" { 0o22 } else { 0 };
        Needed::measured(name, [arg, 0, 0, 0, 0, 0])
    });
    let given = Given::append(&options.subjects, &mut subjects, &needed)?;
    let mut bodies = vec![Shown {
        title: "close(dup(0)), getpid, getuid, umask: one turn".to_owned(),
        treatments: Vec::new(),
        is_claimed: true,
    }];
    bodies.extend(shown(&subjects, &[umask]));
    let notes = [
        missing(&absent, LIST.len()),
        Some(
"\"BPF replaced by allow\" was a changed kernel; here each filter loads one word and returns ALLOW"
                .to_owned(),
        ),
    ];
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: "UnixBench's loop of calls under stacks of a 20-rule list".to_owned(),
        bodies,
        plan: options.plan(subjects, vec![Body::Work(Arc::new(UnixBench)), Body::from(umask)], 30),
        findings: Box::new(findings),
        extra: Extra {
            published: Some(Box::new(move |runs: &Runs| published(runs, &given))),
            notes: notes.into_iter().flatten().collect(),
            ..Extra::default()
        },
    })
}

/// Loops in 10 seconds and overheads, in the published order.
fn published(runs: &Runs, given: &Given) -> Published {
    let Some(times) = Times::of(&runs.own, 0, 0) else { return Published::default() };
    let mut tables = Vec::new();
    let columns = [("loops in 10 s", 0), ("overhead %", 1)];
    let mut table = |key, title, rows: &[(usize, String)]| {
        let mut table = PublishedTable::new(key, title, &columns);
        for (subject, label) in rows {
            let loops = times.figure(|time| TEN_SECONDS / time(*subject));
            let overhead = times.share(*subject).filter(|_| *subject > 0);
            table.row(label.as_str(), [loops, overhead]);
        }
        tables.push(table);
    };
    let stacks = |first| {
        let stack = |(at, count)| (first + at, format!("seccomp_on_{count}_filters"));
        let off = (0, "seccomp_off".to_owned());
        [off].into_iter().chain(STACKS.iter().enumerate().map(stack)).collect::<Vec<_>>()
    };
    table(
        "original",
        "original: the published rules, which the kernel's cache answers since 5.11",
        &stacks(CONSTANT),
    );
    table(
        "inspecting",
        "original, with rules that inspect an argument: the filters run",
        &stacks(INSPECTING),
    );
    table("replaced", "BPF replaced by allow: the shortest programs that run", &stacks(SHORTEST));
    let ours = [
        "Callgate, 1 filter",
        "Callgate, 1 filter, inspecting",
        "Callgate, 32 merged",
        "Callgate, 32 merged, inspecting",
    ];
    let ours = ours.iter().enumerate().map(|(at, label)| (CALLGATE + at, (*label).to_owned()));
    table("callgate", "Callgate's programs for the same rules", &ours.collect::<Vec<_>>());
    let mine: Vec<_> = given.subjects().map(|(subject, name)| (subject, name.to_owned())).collect();
    if !mine.is_empty() {
        table("given", "your filters", &mine);
    }
    let mut difference = PublishedTable::new(
        "bpf",
        "N-filter BPF overhead: inspecting minus replaced",
        &[("% of the time", 1)],
    );
    for (at, count) in STACKS.iter().enumerate() {
        let value = times.figure(|time| {
            let share = |subject: usize| (1.0 - time(0) / time(subject)) * 100.0;
            share(INSPECTING + at) - share(SHORTEST + at)
        });
        difference.row(format!("{count}_filters"), [value]);
    }
    tables.push(difference);
    Published { tables, ..Published::default() }
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let (turns, umask) = (Times::of(samples, 0, 0), Times::of(samples, 0, 1));
    let (Some(turns), Some(umask)) = (turns, umask) else { return Vec::new() };
    let (last, merged) = (INSPECTING + STACKS.len() - 1, CALLGATE + 3);
    let findings = [
        (
            "loop_32",
            "the loop under 32 filters that inspect arguments, relative to none",
            turns.figure(|time| time(0) / time(last)),
            "of the speed",
        ),
        (
            "loop_merged",
            "the loop under 32 filters merged by Callgate, relative to none",
            turns.figure(|time| time(0) / time(merged)),
            "of the speed",
        ),
        (
            "stack_ratio",
            "umask, inspected: overhead of 32 filters over that of the 32 merged",
            umask.figure(|time| (time(last) - time(0)) / (time(merged) - time(0))),
            "times",
        ),
    ];
    let findings = findings.into_iter();
    findings
        .filter_map(|(key, text, figure, unit)| Some(Finding::new(key, text, figure?, unit)))
        .collect()
}
