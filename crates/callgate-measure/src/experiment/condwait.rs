//! 256 threads in `pthread_cond_timedwait` under a container's profile, as a list, as a tree and as the
//! compiler makes it (2022).
//!
//! The time that is waited for is over, so each wait is a call of futex that sets a timer and ends. That
//! takes a hundred times what a filter does, so it is measured in processor time, and the findings say which
//! differences are more than what identical processes differ by. Where the profile always allows futex, the
//! kernel's cache answers since Linux 5.11, and all three cost the same; the same rules with a look at an
//! argument of futex stand beside them, and a call of futex that wakes nobody is measured alone.

use callgate::Verdict;
use callgate::policy::{CallSet, Cmp, Condition, Field, Policy, Rule, Test};

use super::{ExperimentError, Kind, Options, Setup, call, compiled, overhead, shown};
use crate::body::Body;
use crate::measure::{Plan, Samples};
use crate::naive;
use crate::report::{Finding, Known, Shown};
use crate::subject::{Subject, Treatment, call_data};
use crate::worker::Batches;

const THREADS: u32 = 256;

/// FUTEX_WAIT_BITSET, private, with the clock of the condition.
const WAIT: u64 = 0x189;

/// No operation of futex.
const NOTHING: u64 = 0x1234_5678;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let (policy, futex) = (&options.policy, call("futex")?);
    let looking = looking(policy, futex.data().nr)?;
    let subjects = vec![
        Subject::none(),
        Subject::new("as a list", [naive::list(policy)?])?,
        Subject::new("as a tree", [naive::tree(policy)?])?,
        Subject::new("compiled", [compiled(policy)?])?,
        Subject::new("looking, as a list", [naive::list(&looking)?])?,
        Subject::new("looking, as a tree", [naive::tree(&looking)?])?,
        Subject::new("looking, compiled", [compiled(&looking)?])?,
    ];
    let treatments = |nr, args| -> Vec<Treatment> {
        let data = call_data(nr, args).unwrap_or_default();
        subjects.iter().map(|subject| subject.treatment(&data)).collect()
    };
    let waits = treatments(futex.data().nr, [0, WAIT, 0, 0, 0, 0]);
    let reads = treatments(
        call("clock_gettime")?.data().nr,
        [libc::CLOCK_THREAD_CPUTIME_ID as u64, 0, 0, 0, 0, 0],
    );
    for (call, treatments, why) in [
        ("futex", &waits, "without which no thread waits for another"),
        ("clock_gettime", &reads, "without which no thread knows its processor time"),
    ] {
        let denies = subjects.iter().zip(treatments).find(|(_, own)| **own == Treatment::Denied);
        if let Some((subject, _)) = denies {
            let subject = subject.name.clone();
            return Err(ExperimentError(Kind::Denied { subject, call, why }));
        }
    }
    let mut bodies = vec![Shown {
        title: "pthread_cond_timedwait: processor time of one wait".to_owned(),
        treatments: waits,
        is_claimed: false,
    }];
    bodies.extend(shown(&subjects, &[futex]));
    let all = vec![Body::CondWait { threads: THREADS }, Body::from(futex)];
    let plan = options.plan(subjects, all, 40);
    // A few waits in each thread: more rounds say more than more waits.
    let batches = Batches { count: 3, iterations: 5 * THREADS, warm_up: THREADS, ..plan.batches };
    Ok(Setup {
        title: format!("{THREADS} threads in pthread_cond_timedwait"),
        plan: Plan { batches, ..plan },
        bodies,
        findings,
    })
}

/// The same rules, and before them one that denies futex an operation that nobody asks for: no verdict
/// about futex is constant then.
fn looking(policy: &Policy, futex: u32) -> Result<Policy, ExperimentError> {
    let when =
        Field::arg(1).map(|operation| Condition::test(Test::new(operation, Cmp::Eq, NOTHING)));
    let sections = policy.sections().iter().map(|section| {
        let first = when.clone().map(|when| Rule {
            calls: CallSet::one(futex),
            when,
            verdict: Verdict::errno(libc::EPERM as u16),
        });
        let rules = first.into_iter().chain(section.rules.iter().cloned()).collect();
        section.with_rules(rules)
    });
    Ok(Policy::new(sections.collect(), policy.bad_arch())?)
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let texts = [
        ("list_ns", "a wait under the list, over no filter"),
        ("tree_ns", "a wait under the tree, over no filter"),
        ("compiled_ns", "a wait under the compiled program, over no filter"),
        ("looking_list_ns", "a wait under the list that looks at futex, over no filter"),
        ("looking_tree_ns", "a wait under the tree that looks, over no filter"),
        ("looking_compiled_ns", "a wait under the compiled program that looks, over no filter"),
    ];
    let findings = texts.into_iter().zip(1..).filter_map(|((key, text), subject)| {
        let (overhead, noise) = (samples.estimate(subject, 0)?.overhead, samples.noise(0)?);
        let finding = Finding::new(key, text, overhead.median, "ns");
        Some(Finding { known: Some(Known::of(overhead, noise)), ..finding })
    });
    let ratio = overhead(samples, 4, 1).zip(overhead(samples, 6, 1)).map(|(list, compiled)| {
        let text = "futex alone, looked at: overhead of the list over that of the compiled program";
        Finding::new("futex_ratio", text, list / compiled, "times")
    });
    findings.chain(ratio).collect()
}
