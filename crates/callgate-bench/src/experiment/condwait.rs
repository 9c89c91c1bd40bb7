//! 256 threads in `pthread_cond_timedwait` under a container's profile, as a list, as a tree and as the
//! compiler makes it (2022).
//!
//! The time that is waited for is over, so each wait is a call of futex that ends at once, and one that
//! tidies up. All threads run on one processor: the figure is processor time per wait. Where the profile always
//! allows futex, the kernel's cache answers since Linux 5.11, and all three cost the same.

use super::{ExperimentError, Kind, Options, Setup, compiled, overhead};
use crate::body::Body;
use crate::measure::{Plan, Samples};
use crate::naive;
use crate::report::{Finding, Shown};
use crate::subject::{Subject, Treatment, call_data};
use crate::worker::Batches;

const THREADS: u32 = 256;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let policy = &options.policy;
    let subjects = vec![
        Subject::none(),
        Subject::new("as a list", [naive::list(policy)?])?,
        Subject::new("as a tree", [naive::tree(policy)?])?,
        Subject::new("compiled", [compiled(policy)?])?,
    ];
    // FUTEX_WAIT_BITSET with the clock of the condition.
    let futex = super::call("futex")?.data().nr;
    let data = call_data(futex, [0, 0x189, 0, 0, 0, 0]).unwrap_or_default();
    let treatments: Vec<_> = subjects.iter().map(|subject| subject.treatment(&data)).collect();
    let denies = subjects.iter().zip(&treatments).find(|(_, own)| **own == Treatment::Denied);
    if let Some((subject, _)) = denies {
        // The threads would wait for each other forever.
        let subject = subject.name.clone();
        return Err(ExperimentError(Kind::Denied { subject, call: "futex" }));
    }
    let plan = options.plan(subjects, vec![Body::CondWait { threads: THREADS }], 15);
    let batches = Batches { count: 4, iterations: 30, warm_up: 5, ..plan.batches };
    Ok(Setup {
        title: format!("{THREADS} threads in pthread_cond_timedwait"),
        plan: Plan { batches, min_rounds: 3, ..plan },
        bodies: vec![Shown { title: "pthread_cond_timedwait: one wait".to_owned(), treatments }],
        weights: None,
        findings,
    })
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let texts = [
        ("list_ns", "a wait under the list, over no filter"),
        ("tree_ns", "a wait under the tree, over no filter"),
        ("compiled_ns", "a wait under the compiled program, over no filter"),
    ];
    let findings = texts.into_iter().zip(1..).map(|((key, text), subject)| {
        Some(Finding { key, text, value: overhead(samples, subject, 0)?, unit: "ns" })
    });
    findings.flatten().collect()
}
