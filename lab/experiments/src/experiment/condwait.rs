//! 256 threads in `pthread_cond_timedwait` under a container's filter (2022).
//!
//! The published program's threads share a mutex and a condition and wait for a microsecond each time. The result was the
//! share of the CPU time that the filter took on Linux 3.10, whose interpreter runs seccomp filters: 50 % with the
//! container's allowlist, 20 % with a denylist in its place, 7 % with libseccomp's binary search. Here the share is derived
//! from the CPU time of the same number of waits with and without the filter, because the functions of the kernel are not
//! sampled: the baseline is a filter that allows everything.
//!
//! Without a profile, the rules are the published ones, [read](read_list) from lists of names; with a profile, they are its
//! rules, and there is no denylist. If the rules always allow futex, the kernel's cache answers since Linux 5.11. So the same
//! rules with a test of an argument of futex are measured too, and a futex syscall that wakes no thread is measured alone.
//!
//! A wait rarely resolves what a filter costs. So the futex syscalls of the waiting threads are also made by one thread that
//! does not wait ([`FutexStream`]), with the frequencies that `mixes/condwait-futex.tsv` has; there, a container's two filters
//! on top of each other, and both merged, are subjects, too. Filters of the caller are measured beside the published ones, in
//! waits and in this stream.

use std::sync::Arc;

use callgate::Verdict;
use callgate_bpf::SyscallTable;
use callgate_core::SyscallSet;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Test};

use super::error::ExperimentError;
use super::given::{Given, Needed, allow};
use super::runs::{Extra, Runs, Variation};
use super::setup::{
    Options, Setup, compiled, known, merged, missing, native, of_rules, shown, syscall,
};
use crate::bodies::{CondWait, FutexStream};
use crate::finding::Finding;
use crate::jit::Jit;
use crate::published::{Published, PublishedTable};
use crate::times::Times;
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::report::Shown;
use callgate_measure::{Plan, Samples};
use callgate_measure::{Subject, syscall_data};

const THREADS: u32 = 256;

/// FUTEX_WAIT_BITSET, private, with the real-time clock.
const WAIT: u64 = 0x189;

/// An operation that futex does not have.
const NOTHING: u64 = 0x1234_5678;

/// The names of the published lists, separated by white space; `personality` has conditions and is not in the first.
const ALLOWED: &str = include_str!("../../experiments/condwait-allowed.txt");
const DENIED: &str = include_str!("../../experiments/condwait-denied.txt");

/// The operations of futex in the waits, with their counts.
const FUTEXES: &str = include_str!("../../mixes/condwait-futex.tsv");

/// The number of futex syscalls that are drawn; a batch makes each of them once.
const STREAM: u32 = 4096;

/// The names of the measurements of the stream, and its time in seconds.
const ALONE: &str = "futex stream";
const ALONE_OFF: &str = "futex stream, JIT off";
const ALONE_TIME: u64 = 10;

/// The permitted arguments of `personality`.
const PERSONALITIES: [u64; 3] = [0, 8, 0xffff_ffff];

/// The subject that allows everything, after "no filter".
const ALL_ALLOW: usize = 1;

/// The subjects after it, with their stable keys.
const KEYS: [(&str, &str); 8] = [
    ("list_ns", "a wait under libseccomp's list, over an all-allow filter"),
    ("tree_ns", "a wait under libseccomp's tree, over an all-allow filter"),
    ("callgate_ns", "a wait under Callgate's program, over an all-allow filter"),
    (
        "inspecting_list_ns",
        "a wait under libseccomp's list that inspects futex, over an all-allow filter",
    ),
    (
        "inspecting_tree_ns",
        "a wait under libseccomp's tree that inspects futex, over an all-allow filter",
    ),
    (
        "inspecting_callgate_ns",
        "a wait under Callgate's program that inspects futex, over an all-allow filter",
    ),
    ("denylist_ns", "a wait under libseccomp's denylist, over an all-allow filter"),
    (
        "inspecting_denylist_ns",
        "a wait under libseccomp's denylist that inspects futex, over an all-allow filter",
    ),
];

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let futex = syscall("futex")?;
    let mut notes = Vec::new();
    let (policy, denylist) = match options.is_given {
        true => (options.policy.clone(), None),
        false => {
            let ((allow, absent), (deny, _)) = (read_list(ALLOWED)?, read_list(DENIED)?);
            notes.extend(missing(&absent, ALLOWED.split_whitespace().count()));
            (allowlist(&allow)?, Some(denying(&deny)?))
        }
    };
    let nr = futex.data().nr;
    let inspected = inspecting(&policy, nr)?;
    let list = options.libseccomp.list(&inspected)?;
    let mut subjects = vec![
        Subject::none(),
        Subject::constant_allow().named("all-allow filter"),
        Subject::new("libseccomp, list", [options.libseccomp.list(&policy)?])?,
        Subject::new("libseccomp, tree", [options.libseccomp.tree(&policy)?])?,
        Subject::new("Callgate", [compiled(&policy)?])?,
        Subject::new("list, inspecting", [list.clone()])?,
        Subject::new("tree, inspecting", [options.libseccomp.tree(&inspected)?])?,
        Subject::new("Callgate, inspecting", [compiled(&inspected)?])?,
    ];
    // Subjects of the stream alone: each further one makes a round of waits a second longer.
    let mut stacks = Vec::new();
    if let Some(deny) = denylist {
        subjects.push(Subject::new("denylist", [options.libseccomp.list(&deny)?])?);
        let deny = options.libseccomp.list(&inspecting(&deny, nr)?)?;
        subjects.push(Subject::new("denylist, inspecting", [deny.clone()])?);
        let both = [list, deny];
        stacks.push(Subject::new("list and denylist, inspecting", both.clone())?);
        stacks.push(Subject::new("both merged, inspecting", [merged(&both)?])?);
    }
    let operations = futex_operations();
    let needed = needed(&operations);
    allow(&subjects, &needed)?;
    allow(&stacks, &needed)?;
    let own = subjects.len();
    let mut streamed = subjects.clone();
    streamed.append(&mut stacks);
    Given::append(&options.subjects, &mut streamed, &needed)?;
    Given::append(&options.subjects, &mut subjects, &needed)?;
    let waits = syscall_data(nr, [0, WAIT, 0, 0, 0, 0]).unwrap_or_default();
    let waits = subjects.iter().map(|subject| subject.treatment(&waits)).collect();
    let mut bodies = vec![Shown {
        title: "pthread_cond_timedwait: CPU time of one wait".to_owned(),
        treatments: waits,
        is_claimed: false,
    }];
    bodies.extend(shown(&subjects, &[futex]));
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let all = vec![Body::Work(Arc::new(CondWait { threads: THREADS })), Body::from(futex)];
    let plan = options.plan(subjects, all, 60);
    // Only a few waits per thread, because more rounds improve the precision more.
    let batches = Batches { count: 8, iterations: 5 * THREADS, warm_up: THREADS, ..plan.batches };
    let plan = Plan { batches, ..plan };
    let mut extra = Extra::default().with_jit(&[Jit::Off], &plan);
    let alone = streamed.iter().map(|subject| subject.name.clone()).collect::<Vec<_>>();
    if let Some((stream, bodies)) = stream(options, streamed, &operations) {
        let named = |name, jit| {
            let (plan, bodies) = (stream.clone(), Some(bodies.clone()));
            Variation { name, jit, plan, bodies }
        };
        extra.variations.push(named(ALONE, None));
        if Jit::current() != Some(Jit::Off) {
            extra.variations.push(named(ALONE_OFF, Some(Jit::Off)));
        }
    }
    let published = move |runs: &Runs| published(runs, &names, &alone);
    let extra = Extra { published: Some(Box::new(published)), notes, ..extra };
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: format!("{THREADS} threads in pthread_cond_timedwait"),
        bodies,
        findings: Box::new(move |samples: &Samples| findings(samples, own)),
        extra,
        plan,
    })
}

/// The stream of futex syscalls, as a plan with its body; `None` if its operations are not ones that it can make.
fn stream(
    options: &Options,
    subjects: Vec<Subject>,
    operations: &[(u64, f64)],
) -> Option<(Plan, Vec<Shown>)> {
    let stream = FutexStream::draw(operations, STREAM as usize, options.seed)?;
    let title = format!("{STREAM} futex syscalls of one thread, in the frequencies of the waits");
    let shown = Shown { title, treatments: Vec::new(), is_claimed: true };
    let plan = options.plan(subjects, vec![Body::Work(Arc::new(stream))], ALONE_TIME);
    let batches = Batches { iterations: STREAM, warm_up: STREAM / 8, ..plan.batches };
    Some((Plan { batches, ..plan }, vec![shown]))
}

/// The operations of the futex syscalls of the waits, each with its count.
pub fn futex_operations() -> Vec<(u64, f64)> {
    operations(FUTEXES)
}

/// The operations of a table, each with its count.
fn operations(table: &str) -> Vec<(u64, f64)> {
    let row = |line: &str| {
        let (operation, count) = line.split_once('\t')?;
        Some((u64::from_str_radix(operation.strip_prefix("0x")?, 16).ok()?, count.parse().ok()?))
    };
    table.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
}

/// The syscalls that every subject must allow.
fn needed(operations: &[(u64, f64)]) -> Vec<Needed> {
    let futex = |operation| Needed {
        name: "futex",
        args: [0, operation, 0, 0, 0, 0],
        why: "which every waiting thread needs",
    };
    let clock = Needed {
        name: "clock_gettime",
        args: [libc::CLOCK_THREAD_CPUTIME_ID as u64, 0, 0, 0, 0, 0],
        why: "which reads the CPU time of a thread",
    };
    let futexes = [WAIT].into_iter().chain(operations.iter().map(|(operation, _)| *operation));
    futexes.map(futex).chain([clock]).collect()
}

/// The syscalls of a list of names that this machine has, and the other names.
fn read_list(names: &'static str) -> Result<(Vec<u32>, Vec<&'static str>), ExperimentError> {
    known(&names.split_whitespace().collect::<Vec<_>>())
}

/// The published allowlist.
fn allowlist(numbers: &[u32]) -> Result<Policy, ExperimentError> {
    let allow = |nr, when| Rule { syscalls: SyscallSet::one(nr), when, verdict: Verdict::ALLOW };
    let mut rules: Vec<Rule> = numbers.iter().map(|nr| allow(*nr, Condition::always())).collect();
    if let Some(nr) = native()?.number("personality") {
        let is = |value| Field::arg(0).map(|field| Condition::test(Test::eq(field, value)));
        rules.extend(PERSONALITIES.iter().filter_map(|value| Some(allow(nr, is(*value)?))));
    }
    of_rules(rules.into_iter(), Verdict::errno(libc::EPERM as u16))
}

/// The published denylist.
fn denying(numbers: &[u32]) -> Result<Policy, ExperimentError> {
    let verdict = Verdict::errno(libc::EPERM as u16);
    let deny =
        |nr: &u32| Rule { syscalls: SyscallSet::one(*nr), when: Condition::always(), verdict };
    of_rules(numbers.iter().map(deny), Verdict::ALLOW)
}

/// The same rules, except that futex is denied with an operation that does not exist, so that its verdict is not
/// constant. libseccomp can express this: each rule gets an additional comparison.
fn inspecting(policy: &Policy, futex: u32) -> Result<Policy, ExperimentError> {
    let operation = |cmp| {
        Condition::all(Field::arg(1).map(|field| Condition::test(Test::new(field, cmp, NOTHING))))
    };
    let token = native()?.token();
    let sections = policy.sections().iter().map(|section| {
        if section.token() != token {
            return section.clone();
        }
        let mut rules = Vec::new();
        let mut is_known = false;
        for rule in &section.rules {
            let Some(others) = without(&rule.syscalls, futex) else {
                rules.push(rule.clone());
                continue;
            };
            let when = Condition::all([rule.when.clone(), operation(Cmp::Ne)]);
            rules.push(Rule { syscalls: SyscallSet::one(futex), when, verdict: rule.verdict });
            rules.push(Rule { syscalls: others, ..rule.clone() });
            is_known = true;
        }
        if !is_known {
            let verdict = Verdict::errno(libc::EPERM as u16);
            rules.push(Rule {
                syscalls: SyscallSet::one(futex),
                when: operation(Cmp::Eq),
                verdict,
            });
        }
        section.with_rules(rules)
    });
    Ok(Policy::new(sections.collect(), policy.bad_arch())?)
}

/// The set without this number; `None` if it does not contain it.
fn without(syscalls: &SyscallSet, nr: u32) -> Option<SyscallSet> {
    let parts = syscalls.ranges().iter().flat_map(|&(first, last)| {
        let below = (first < nr).then(|| (first, last.min(nr - 1)));
        let above = (last > nr).then(|| (first.max(nr + 1), last));
        [below, above].into_iter().flatten()
    });
    syscalls.contains(nr).then(|| SyscallSet::from_ranges(parts))
}

/// The CPU time of a wait, and the share of it that the filter takes; the time of a futex syscall alone.
fn published(runs: &Runs, names: &[String], alone: &[String]) -> Published {
    let own = if runs.jit == Some(Jit::Off) { "interpreted" } else { "compiled by the kernel" };
    let off = runs.variation(Jit::Off.name()).map(|samples| ("interpreted", samples));
    let mut tables = Vec::new();
    for (key, measured) in [("interpreted_share", off), ("share", Some((own, &runs.own)))] {
        let times =
            measured.and_then(|(how, samples)| Some((how, Times::of(samples, ALL_ALLOW, 0)?)));
        let Some((how, times)) = times else { continue };
        let title = format!("share of the CPU time that the filter takes, filters {how}");
        let columns = [("µs per wait", 3), ("share %", 2)];
        let mut table = PublishedTable::new(key, title, &columns);
        for (subject, name) in names.iter().enumerate().skip(ALL_ALLOW) {
            let wait = times.figure(|time| time(subject) / 1000.0);
            table.row(name.as_str(), [wait, times.share(subject).filter(|_| subject > ALL_ALLOW)]);
        }
        tables.push(table);
    }
    let off = runs.variation(ALONE_OFF).map(|samples| ("interpreted", samples));
    let own = runs.variation(ALONE).map(|samples| (own, samples));
    for (key, measured) in [("interpreted_futex", off), ("futex", own)] {
        let times = measured.and_then(|(how, samples)| Some((how, Times::of(samples, 0, 0)?)));
        let Some((how, times)) = times else { continue };
        let title = format!("one thread makes the futex syscalls of the waits, filters {how}");
        let columns = [("ns per call", 1), ("over no filter", 1), ("over all-allow", 1)];
        let mut table = PublishedTable::new(key, title, &columns);
        for (subject, name) in alone.iter().enumerate() {
            let over = times.over(subject).filter(|_| subject > 0);
            let over_all_allow = times.figure(|time| time(subject) - time(ALL_ALLOW));
            let over_all_allow = over_all_allow.filter(|_| subject > ALL_ALLOW);
            table.row(name.as_str(), [times.time(subject), over, over_all_allow]);
        }
        tables.push(table);
    }
    Published { tables, ..Published::default() }
}

/// `own` is the number of subjects without those of the caller.
fn findings(samples: &Samples, own: usize) -> Vec<Finding> {
    let (waits, alone) = (Times::of(samples, ALL_ALLOW, 0), Times::of(samples, 0, 1));
    let (Some(waits), Some(alone), Some(noise)) = (waits, alone, samples.noise(0)) else {
        return Vec::new();
    };
    // Without a denylist there are fewer subjects.
    let findings = KEYS.into_iter().zip(ALL_ALLOW + 1..own).filter_map(|((key, text), subject)| {
        Some(Finding::new(key, text, waits.over(subject)?, "ns").beside(noise))
    });
    let (list, ours) = (ALL_ALLOW + 4, ALL_ALLOW + 6);
    let ratio = alone.figure(|time| (time(list) - time(0)) / (time(ours) - time(0)));
    let ratio = ratio.map(|ratio| {
        let text =
            "futex alone, inspected: overhead of libseccomp's list over that of Callgate's program";
        Finding::new("futex_ratio", text, ratio, "times")
    });
    findings.chain(ratio).collect()
}

#[cfg(test)]
mod tests {
    use callgate::Arch;

    use super::*;

    #[test]
    fn the_published_lists_are_read_and_the_names_of_other_machines_are_told() {
        let (allowed, absent) = read_list(ALLOWED).unwrap();
        assert_eq!(allowed.len() + absent.len(), ALLOWED.split_whitespace().count());
        let arch = Arch::native().unwrap();
        assert!(allowed.contains(&arch.number("futex").unwrap()));
        assert!(
            !allowed.contains(&arch.number("rseq").unwrap()),
            "threads start before the filter"
        );
        let (denied, _) = read_list(DENIED).unwrap();
        assert!(!denied.is_empty());
        assert!(denied.contains(&arch.number("ptrace").unwrap()));
        if arch == Arch::X86_64 {
            assert!(absent.contains(&"fcntl64"), "{absent:?}");
        }
    }

    #[test]
    fn every_recorded_operation_is_in_the_stream() {
        let rows = FUTEXES.lines().filter(|line| !line.starts_with('#')).count();
        let operations = futex_operations();
        assert_eq!((operations.len(), operations.iter().any(|one| one.0 == WAIT)), (rows, true));
        assert!(operations.iter().all(|(_, count)| *count >= 1.0), "{operations:x?}");
        assert!(FutexStream::draw(&operations, STREAM as usize, 1).is_some());
    }
}
