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

use std::sync::Arc;

use callgate::Verdict;
use callgate_bpf::SyscallTable;
use callgate_core::SyscallSet;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Test};

use super::error::{ExperimentError, ExperimentErrorKind};
use super::runs::{Extra, Runs};
use super::setup::{
    Options, Setup, compiled, known, missing, native, of_rules, overhead, share, shown, syscall,
};
use crate::bodies::CondWait;
use crate::finding::{Finding, Known};
use crate::jit::Jit;
use crate::published::{Published, PublishedTable};
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::report::Shown;
use callgate_measure::{Plan, Samples};
use callgate_measure::{Subject, Treatment, syscall_data};

const THREADS: u32 = 256;

/// FUTEX_WAIT_BITSET, private, with the real-time clock.
const WAIT: u64 = 0x189;

/// An operation that futex does not have.
const NOTHING: u64 = 0x1234_5678;

/// The names of the published lists, separated by white space; `personality` has conditions and is not in the first.
const ALLOWED: &str = include_str!("../../experiments/condwait-allowed.txt");
const DENIED: &str = include_str!("../../experiments/condwait-denied.txt");

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
    let mut subjects = vec![
        Subject::none(),
        Subject::constant_allow().named("all-allow filter"),
        Subject::new("libseccomp, list", [options.libseccomp.list(&policy)?])?,
        Subject::new("libseccomp, tree", [options.libseccomp.tree(&policy)?])?,
        Subject::new("Callgate", [compiled(&policy)?])?,
        Subject::new("list, inspecting", [options.libseccomp.list(&inspected)?])?,
        Subject::new("tree, inspecting", [options.libseccomp.tree(&inspected)?])?,
        Subject::new("Callgate, inspecting", [compiled(&inspected)?])?,
    ];
    if let Some(deny) = denylist {
        subjects.push(Subject::new("denylist", [options.libseccomp.list(&deny)?])?);
        let inspected = inspecting(&deny, nr)?;
        subjects
            .push(Subject::new("denylist, inspecting", [options.libseccomp.list(&inspected)?])?);
    }
    let waits = permitted(&subjects, nr)?;
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
    let published = move |runs: &Runs| published(runs, &names);
    let extra = Extra { published: Some(Box::new(published)), notes, ..Extra::default() };
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: format!("{THREADS} threads in pthread_cond_timedwait"),
        bodies,
        findings,
        extra: extra.with_jit(&[Jit::Off], &plan),
        plan,
    })
}

/// How the subjects decide a wait; an error if one denies a syscall that the measurement needs.
fn permitted(subjects: &[Subject], futex: u32) -> Result<Vec<Treatment>, ExperimentError> {
    let treatments = |nr, args| -> Vec<Treatment> {
        let data = syscall_data(nr, args).unwrap_or_default();
        subjects.iter().map(|subject| subject.treatment(&data)).collect()
    };
    let waits = treatments(futex, [0, WAIT, 0, 0, 0, 0]);
    let clock = libc::CLOCK_THREAD_CPUTIME_ID as u64;
    let reads = treatments(syscall("clock_gettime")?.data().nr, [clock, 0, 0, 0, 0, 0]);
    for (syscall, treatments, why) in [
        ("futex", &waits, "which every waiting thread needs"),
        ("clock_gettime", &reads, "which reads the CPU time of a thread"),
    ] {
        let denies = subjects.iter().zip(treatments).find(|(_, own)| **own == Treatment::Denied);
        if let Some((subject, _)) = denies {
            let subject = subject.name.clone();
            return Err(ExperimentError(ExperimentErrorKind::Denied { subject, syscall, why }));
        }
    }
    Ok(waits)
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

/// The CPU time of a wait, and the share of it that the filter takes.
fn published(runs: &Runs, names: &[String]) -> Published {
    let own = if runs.jit == Some(Jit::Off) { "interpreted" } else { "compiled by the kernel" };
    let off = runs.variation(Jit::Off.name()).map(|samples| ("interpreted", samples));
    let measured = [("interpreted_share", off), ("share", Some((own, &runs.own)))];
    let mut tables = Vec::new();
    for (key, measured) in measured {
        let Some((how, samples)) = measured else { continue };
        let title = format!("share of the CPU time that the filter takes, filters {how}");
        let columns = [("µs per wait", 3), ("share %", 2), ("95 % from", 2), ("to", 2)];
        let mut table = PublishedTable::new(key, title, &columns);
        for (subject, name) in names.iter().enumerate().skip(ALL_ALLOW) {
            let time = samples.estimate(subject, 0).map(|estimate| estimate.median / 1000.0);
            let is_filter = subject > ALL_ALLOW;
            let interval = share(samples, subject, ALL_ALLOW, 0).filter(|_| is_filter);
            let [share, low, high] = match interval {
                Some(share) => [share.median, share.low, share.high]
                    .map(|one| Some(one).filter(|one| one.is_finite())),
                None => [None; 3],
            };
            table.row(name.as_str(), [time, share, low, high]);
        }
        tables.push(table);
    }
    Published { tables, ..Published::default() }
}

fn findings(samples: &Samples) -> Vec<Finding> {
    // Without a denylist there are fewer subjects.
    let subjects = ALL_ALLOW + 1..samples.subjects();
    let findings = KEYS.into_iter().zip(subjects).filter_map(|((key, text), subject)| {
        let (over, noise) = (samples.difference(subject, ALL_ALLOW, 0)?, samples.noise(0)?);
        let finding = Finding::new(key, text, over.median, "ns");
        Some(Finding { known: Some(Known::of(over, noise)), ..finding })
    });
    let (list, ours) = (ALL_ALLOW + 4, ALL_ALLOW + 6);
    let ratio = overhead(samples, list, 1).zip(overhead(samples, ours, 1)).map(|(list, compiled)| {
        let text =
            "futex alone, inspected: overhead of libseccomp's list over that of Callgate's program";
        Finding::new("futex_ratio", text, list / compiled, "times")
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
        assert!(denied.contains(&arch.number("ptrace").unwrap()));
        if arch == Arch::X86_64 {
            assert!(absent.contains(&"fcntl64"), "{absent:?}");
        }
    }
}
