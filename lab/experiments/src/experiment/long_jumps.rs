//! Ten million syscalls under filters of 2 and 200 rules: the measurement with which the kernel's new BPF interpreter was
//! published in 2014. At that time the kernel interpreted all seccomp filters.
//!
//! The rules are those of libseccomp's test `05-sim-long_jumps`: 100 combinations of three argument tests for one number,
//! one argument test for each of the numbers 100 to 199, and two numbers that are always allowed; the measured call is
//! `syscall(199, 100)`, whose argument is tested, so that the kernel's cache does not answer. On x86-64 that is
//! `fremovexattr`, which takes a microsecond today, so gettid is measured as well, which is one of these numbers, too.
//! libseccomp's list tests them in ascending order, after the numbers that are always allowed. The short filter has the
//! tests of both numbers. Filters of the caller are measured beside them, with the same calls.

use std::ops::RangeInclusive;

use callgate::Verdict;
use callgate_bpf::SyscallTable;
use callgate_core::SyscallSet;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Test};

use super::error::{ExperimentError, ExperimentErrorKind};
use super::given::{Given, Needed};
use super::runs::{Extra, Runs};
use super::setup::{Options, Setup, compiled, native, of_rules, syscall};
use crate::finding::Finding;
use crate::jit::Jit;
use crate::published::{Published, PublishedTable};
use crate::times::Times;
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::raw::RawSyscall;
use callgate_measure::report::Shown;
use callgate_measure::{Plan, Samples};
use callgate_measure::{Subject, syscall_data};

/// The published call: `fremovexattr(100, NULL)` on x86-64, which fails for lack of a name, and a call without effect on
/// other machines: `socketpair(100, 0, 0, NULL)` where numbers are generic.
const LAST: u32 = 199;
/// Where this call is known to have no effect; on arm and s390x, it is getuid.
const HAS_LAST: bool = cfg!(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "loongarch64",
    target_arch = "arm",
    target_arch = "s390x"
));
/// The numbers with one test each.
const NUMBERS: RangeInclusive<u32> = 100..=LAST;
const ARGUMENTS: [u64; 6] = [100, 0, 0, 0, 0, 0];

/// The number with 100 combinations of tests, and the combinations.
const CHAINS: u32 = 1000;
const COMBINATIONS: u64 = 100;

/// The largest number of rounds, each with 200 batches of 1,000 per subject and call: ten million calls.
const ROUNDS: usize = 50;

/// The largest `ssize_t`.
const SSIZE_MAX: u64 = i64::MAX as u64;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let quick = syscall("gettid")?.data().nr;
    let calls: Vec<u32> = [quick]
        .into_iter()
        .filter(|nr| NUMBERS.contains(nr))
        .chain(HAS_LAST.then_some(LAST))
        .collect();
    if calls.is_empty() {
        return Err(ExperimentError(ExperimentErrorKind::NoSyscall("199")));
    }
    let (few, many) = (short(&calls)?, large()?);
    let mut subjects = vec![
        Subject::none(),
        Subject::new("2 rules, libseccomp", [options.libseccomp.list(&few)?])?,
        Subject::new("200 rules, libseccomp", [options.libseccomp.list(&many)?])?,
        Subject::new("2 rules, Callgate", [compiled(&few)?])?,
        Subject::new("200 rules, Callgate", [compiled(&many)?])?,
    ];
    let arch = native()?;
    let needed =
        calls.iter().filter_map(|nr| Some(Needed::measured(arch.syscall_name(*nr)?, ARGUMENTS)));
    let given = Given::append(&options.subjects, &mut subjects, &needed.collect::<Vec<_>>())?;
    let shown = |nr: &u32| {
        let data = syscall_data(*nr, ARGUMENTS).unwrap_or_default();
        Shown {
            title: if *nr == quick {
                "gettid(100)".to_owned()
            } else {
                format!("syscall({nr}, 100)")
            },
            treatments: subjects.iter().map(|subject| subject.treatment(&data)).collect(),
            is_claimed: *nr == quick,
        }
    };
    let bodies: Vec<Shown> = calls.iter().map(shown).collect();
    let body = |nr: &u32| {
        // SAFETY: with these arguments, the syscalls fail or write nothing; see the documentation of the module and `LAST`.
        Body::Syscall(unsafe { RawSyscall::new((*nr).into(), ARGUMENTS) })
    };
    let measured: Vec<Body> = calls.iter().map(body).collect();
    let titles: Vec<String> = bodies.iter().map(|body| body.title.clone()).collect();
    let plan = options.plan(subjects, measured, 40);
    let (title, plan) = match options.cold {
        // A cold syscall takes so long that there are fewer.
        Some(_) => ("2 and 200 rules, cold".to_owned(), plan),
        None => {
            let batches = Batches { count: 200, iterations: 1000, ..plan.batches };
            let plan = Plan { batches, min_rounds: 5, max_rounds: ROUNDS, ..plan };
            ("2 and 200 rules".to_owned(), plan)
        }
    };
    let published = move |runs: &Runs| published(runs, &titles, &given);
    let extra = Extra { published: Some(Box::new(published)), ..Extra::default() };
    Ok(Setup {
        title,
        bodies,
        extra: extra.with_jit(&[Jit::Off], &plan),
        plan,
        findings: Box::new(findings),
        may_switch_jit: options.may_switch_jit,
    })
}

fn allow(nr: u32, tests: &[(u8, Cmp, u64)]) -> Rule {
    let tests = tests.iter().filter_map(|(arg, cmp, value)| {
        Some(Condition::test(Test::new(Field::arg(*arg)?, *cmp, *value)))
    });
    let (syscalls, when) = (SyscallSet::one(nr), Condition::all(tests));
    Rule { syscalls, when, verdict: Verdict::ALLOW }
}

fn short(calls: &[u32]) -> Result<Policy, ExperimentError> {
    // Two rules, also where gettid is not one of the numbers.
    let always = (calls.len() < 2).then(|| allow(1, &[]));
    let rules = calls.iter().map(|nr| allow(*nr, &[(0, Cmp::Ne, 0)]));
    of_rules(rules.chain(always), Verdict::KILL_THREAD)
}

fn large() -> Result<Policy, ExperimentError> {
    let chain =
        |value| allow(CHAINS, &[(0, Cmp::Eq, value), (1, Cmp::Ne, 0), (2, Cmp::Lt, SSIZE_MAX)]);
    let many = NUMBERS.map(|nr| allow(nr, &[(0, Cmp::Ne, 0)]));
    let rules = [allow(1, &[])].into_iter().chain((0..COMBINATIONS).map(chain)).chain(many);
    of_rules(rules.chain([allow(4, &[])]), Verdict::KILL_THREAD)
}

/// Seconds for ten million calls, and nanoseconds, for each call and each way in which the kernel executes filters.
fn published(runs: &Runs, titles: &[String], given: &Given) -> Published {
    let off = runs.under(Jit::Off);
    let off = off.map(|samples| (["interpreted", "interpreted_last"], "interpreted", samples));
    let own = (runs.jit != Some(Jit::Off)).then_some(&runs.own);
    let own = own.map(|samples| (["compiled", "compiled_last"], "compiled by the kernel", samples));
    let mut tables = Vec::new();
    for (keys, how, samples) in [off, own].into_iter().flatten() {
        for (body, (call, key)) in titles.iter().zip(keys).enumerate() {
            let title = format!("{call}, extrapolated to ten million times, filters {how}");
            tables.extend(Times::of(samples, 0, body).map(|times| table(key, title, &times)));
        }
    }
    for (body, (call, key)) in titles.iter().zip(["given", "given_last"]).enumerate() {
        tables.extend(given.table(key, call, Times::of(&runs.own, 0, body)));
    }
    Published { tables, ..Published::default() }
}

fn table(key: &'static str, title: String, times: &Times) -> PublishedTable {
    let columns = [("seconds", 2), ("filter: seconds", 2), ("ns per call", 1)];
    let mut table = PublishedTable::new(key, title, &columns);
    let labels = [
        "no filter",
        "short filter, libseccomp",
        "large filter, libseccomp",
        "short filter, Callgate",
        "large filter, Callgate",
    ];
    for (subject, label) in labels.into_iter().enumerate() {
        // Nanoseconds per call, times ten million.
        let seconds = times.figure(|time| time(subject) / 100.0);
        let filter = times.figure(|time| (time(subject) - time(0)) / 100.0);
        table.row(label, [seconds, filter.filter(|_| subject > 0), times.time(subject)]);
    }
    table
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let Some(times) = Times::of(samples, 0, 0) else { return Vec::new() };
    let (few, many, ours) = (1, 2, 4);
    let findings = [
        (
            "added_rules_ns",
            "libseccomp's list of 200 rules over that of 2 rules",
            times.figure(|time| time(many) - time(few)),
            "ns",
        ),
        (
            "libseccomp_ratio",
            "200 rules: overhead of libseccomp's list over that of Callgate's program",
            times.figure(|time| (time(many) - time(0)) / (time(ours) - time(0))),
            "times",
        ),
    ];
    let findings = findings.into_iter();
    findings
        .filter_map(|(key, text, figure, unit)| Some(Finding::new(key, text, figure?, unit)))
        .collect()
}
