//! The costs of entering seccomp, of a filter and of an instruction.
//!
//! Kees Cook's `seccomp_benchmark` (Linux selftests, 2020): getpid without a filter, with one and two filters that return
//! ALLOW, and with seccomp but no BPF ("BPF-less allow", a changed kernel), with the kernel's JIT compiler off, on, and
//! hardened. The filters here load an argument, so that they always run. Since Linux 5.11 the kernel's cache answers a
//! filter that is one `ret ALLOW`: that is an allow without BPF. Filters of the caller are measured beside them.

use callgate::{Endian, Verdict};
use callgate_core::{Insn, Op, Program, Word};

use super::error::ExperimentError;
use super::given::{Given, Needed};
use super::runs::{Extra, Runs};
use super::setup::{NOT_PASSED, Options, Setup, shown, syscall};
use crate::finding::Finding;
use crate::jit::Jit;
use crate::published::{Published, PublishedTable};
use crate::times::Times;
use callgate_measure::Body;
use callgate_measure::Samples;
use callgate_measure::Subject;
use callgate_measure::stats::Interval;

/// The number of comparisons in the long filter.
const COMPARISONS: u8 = 250;

/// The subjects after "native".
const BPF_LESS: usize = 1;
const ONE: usize = 2;
const TWO: usize = 3;
const LONG: usize = 4;

/// In the order in which they were published.
const SETTINGS: [Jit; 3] = [Jit::Off, Jit::Hardened, Jit::On];

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let (one, long) = (filter(0), filter(COMPARISONS));
    let mut subjects = vec![
        Subject::none().named("native"),
        Subject::constant_allow().named("BPF-less allow"),
        Subject::new("RET_ALLOW 1 filter", one.clone())?,
        Subject::new("RET_ALLOW 2 filters", one.iter().chain(&one).cloned())?,
        Subject::new("1 filter, 250 more", long)?,
    ];
    let getpid = syscall("getpid")?;
    let needed = [Needed::measured("getpid", getpid.args())];
    let given = Given::append(&options.subjects, &mut subjects, &needed)?;
    let bodies = shown(&subjects, &[getpid]);
    let plan = options.plan(subjects, vec![Body::from(getpid)], 6);
    let notes = vec![
        "RET_ALLOW here loads an argument first: since Linux 5.11 the cache answers a filter without a load, and that is \
         the row \"BPF-less allow\" (before 5.11, the row is a filter of one instruction)"
            .to_owned(),
        "hardened is net.core.bpf_jit_harden=2, which includes root; the published 1 leaves out users with CAP_BPF"
            .to_owned(),
    ];
    let published = move |runs: &Runs| published(runs, &given);
    let extra = Extra { published: Some(Box::new(published)), notes, ..Extra::default() };
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: "getpid: entry, filters and instructions apart".to_owned(),
        bodies,
        extra: extra.with_jit(&SETTINGS, &plan),
        plan,
        findings: Box::new(findings),
    })
}

/// A filter that loads an argument, compares it this number of times, and allows. Each comparison has a taken edge to
/// another verdict, because the kernel's JIT compiler generates no branch for a comparison with equal successors.
pub(super) fn filter(comparisons: u8) -> Option<Program> {
    let endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
    let mut code = vec![Insn::new(Op::LdWordAbs, Word::arg_low(0)?.offset(endian))];
    let compare = |to_go| Insn::branch(Op::JeqK, NOT_PASSED, to_go, 0);
    code.extend((1..=comparisons).rev().map(compare));
    code.push(Insn::new(Op::RetK, Verdict::ALLOW.0));
    if comparisons > 0 {
        code.push(Insn::new(Op::RetK, Verdict::errno(1).0));
    }
    Program::new(code).ok()
}

/// The four times and what was derived from them, for each setting of the JIT compiler.
fn published(runs: &Runs, given: &Given) -> Published {
    let measured = SETTINGS.map(|jit| (jit.name(), runs.under(jit)));
    let mut columns: Vec<(&str, &Samples)> =
        measured.into_iter().filter_map(|(name, samples)| Some((name, samples?))).collect();
    if runs.jit.is_none_or(|jit| !SETTINGS.contains(&jit)) {
        columns.push(("as it is", &runs.own));
    }
    let titles: Vec<(&str, usize)> = columns.iter().map(|(name, _)| (*name, 1)).collect();
    let mut table = PublishedTable::new("getpid", "getpid, nanoseconds per call", &titles);
    let columns: Vec<Option<Times>> =
        columns.iter().map(|(_, samples)| Times::of(samples, 0, 0)).collect();
    let mut row = |label: &str, of: &dyn Fn(&Times) -> Option<Interval>| {
        table.row(label, columns.iter().map(|times| times.as_ref().and_then(of)));
    };
    row("native", &|times| times.time(0));
    row("RET_ALLOW 1 filter", &|times| times.time(ONE));
    row("RET_ALLOW 2 filters", &|times| times.time(TWO));
    row("BPF-less allow", &|times| times.time(BPF_LESS));
    row("total overhead for 1 filter", &|times| times.over(ONE));
    row("total overhead for 2 filters", &|times| times.over(TWO));
    row("per-filter overhead", &per_filter);
    row("entry overhead", &entry);
    row("BPF overhead per filter", &|times| times.figure(|time| time(ONE) - time(BPF_LESS)));
    let own = given.table("given", "getpid, nanoseconds per call", Times::of(&runs.own, 0, 0));
    Published { tables: [table].into_iter().chain(own).collect(), ..Published::default() }
}

fn per_filter(times: &Times) -> Option<Interval> {
    times.figure(|time| time(TWO) - time(ONE))
}

/// The overhead of one filter without that of the filter itself.
fn entry(times: &Times) -> Option<Interval> {
    times.figure(|time| (time(ONE) - time(0)) - (time(TWO) - time(ONE)))
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let Some(times) = Times::of(samples, 0, 0) else { return Vec::new() };
    let insn = times.figure(|time| (time(LONG) - time(ONE)) / f64::from(COMPARISONS));
    let findings = [
        ("cached_ns", "a call that the kernel's cache answers", times.over(BPF_LESS)),
        ("entry_ns", "entering seccomp, before the first filter", entry(&times)),
        ("filter_ns", "each filter, of two instructions", per_filter(&times)),
        ("insn_ns", "each further instruction (a comparison)", insn),
    ];
    let findings = findings.into_iter();
    findings
        .filter_map(|(key, text, figure)| Some(Finding::new(key, text, figure?, "ns")))
        .collect()
}
