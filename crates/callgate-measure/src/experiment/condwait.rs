//! 256 threads in `pthread_cond_timedwait` under a container profile: libseccomp's list, its tree, and Callgate's
//! program (2022).
//!
//! The deadline has passed, so each wait is a futex syscall that sets a timer and returns. That takes a hundred times
//! as long as a filter, so CPU time is measured, and the findings tell which differences exceed those of identical
//! processes. If the profile always allows futex, the kernel's cache answers since Linux 5.11, and all three filters cost
//! the same. So the same rules with a test of an argument of futex are measured too, and a futex syscall that wakes no
//! thread is measured alone.

use callgate::Verdict;
use callgate::policy::{Cmp, Condition, Field, Policy, Rule, SyscallSet, Test};

use super::error::{ExperimentError, ExperimentErrorKind};
use super::setup::{Options, Setup, compiled, native, overhead, shown, syscall};
use crate::body::Body;
use crate::libseccomp;
use crate::measure::{Plan, Samples};
use crate::report::{Finding, Known, Shown};
use crate::subject::{Subject, Treatment, syscall_data};
use crate::worker::Batches;

const THREADS: u32 = 256;

/// FUTEX_WAIT_BITSET, private, with the clock of the condition.
const WAIT: u64 = 0x189;

/// An operation that futex does not have.
const NOTHING: u64 = 0x1234_5678;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let (policy, futex) = (&options.policy, syscall("futex")?);
    let inspecting = inspecting(policy, futex.data().nr)?;
    let subjects = vec![
        Subject::none(),
        Subject::new("libseccomp, list", [libseccomp::list(policy)?])?,
        Subject::new("libseccomp, tree", [libseccomp::tree(policy)?])?,
        Subject::new("Callgate", [compiled(policy)?])?,
        Subject::new("list, inspecting", [libseccomp::list(&inspecting)?])?,
        Subject::new("tree, inspecting", [libseccomp::tree(&inspecting)?])?,
        Subject::new("Callgate, inspecting", [compiled(&inspecting)?])?,
    ];
    let treatments = |nr, args| -> Vec<Treatment> {
        let data = syscall_data(nr, args).unwrap_or_default();
        subjects.iter().map(|subject| subject.treatment(&data)).collect()
    };
    let waits = treatments(futex.data().nr, [0, WAIT, 0, 0, 0, 0]);
    let reads = treatments(
        syscall("clock_gettime")?.data().nr,
        [libc::CLOCK_THREAD_CPUTIME_ID as u64, 0, 0, 0, 0, 0],
    );
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
    let mut bodies = vec![Shown {
        title: "pthread_cond_timedwait: CPU time of one wait".to_owned(),
        treatments: waits,
        is_claimed: false,
    }];
    bodies.extend(shown(&subjects, &[futex]));
    let all = vec![Body::CondWait { threads: THREADS }, Body::from(futex)];
    let plan = options.plan(subjects, all, 40);
    // Only a few waits per thread: more rounds improve the precision more than more waits.
    let batches = Batches { count: 3, iterations: 5 * THREADS, warm_up: THREADS, ..plan.batches };
    Ok(Setup {
        title: format!("{THREADS} threads in pthread_cond_timedwait"),
        plan: Plan { batches, ..plan },
        bodies,
        findings,
    })
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

fn findings(samples: &Samples) -> Vec<Finding> {
    let texts = [
        ("list_ns", "a wait under libseccomp's list, over no filter"),
        ("tree_ns", "a wait under libseccomp's tree, over no filter"),
        ("callgate_ns", "a wait under Callgate's program, over no filter"),
        (
            "inspecting_list_ns",
            "a wait under libseccomp's list that inspects futex, over no filter",
        ),
        ("inspecting_tree_ns", "a wait under libseccomp's tree that does, over no filter"),
        ("inspecting_callgate_ns", "a wait under Callgate's program that does, over no filter"),
    ];
    let findings = texts.into_iter().zip(1..).filter_map(|((key, text), subject)| {
        let (overhead, noise) = (samples.estimate(subject, 0)?.overhead, samples.noise(0)?);
        let finding = Finding::new(key, text, overhead.median, "ns");
        Some(Finding { known: Some(Known::of(overhead, noise)), ..finding })
    });
    let ratio = overhead(samples, 4, 1).zip(overhead(samples, 6, 1)).map(|(list, compiled)| {
        let text =
            "futex alone, inspected: overhead of libseccomp's list over that of Callgate's program";
        Finding::new("futex_ratio", text, list / compiled, "times")
    });
    findings.chain(ratio).collect()
}
