//! Filters of 2 and 200 rules, ten million calls: the measurement for the kernel's new interpreter of 2014, whose
//! filters came from libseccomp.
//!
//! The syscall that is made is the last one tested, and its rule inspects an argument, because otherwise the kernel's
//! cache would answer. Callgate's programs for the same rules are measured beside them.

use super::error::ExperimentError;
use super::setup::{Options, Setup, allowing, call, compiled, native, overhead, shown};
use crate::body::Body;
use crate::libseccomp;
use crate::measure::{Plan, Samples};
use crate::report::Finding;
use crate::subject::Subject;
use crate::worker::Batches;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let getpid = call("getpid")?;
    let last = getpid.data().nr;
    let rules = |count: usize| {
        let others = native()?.calls().map(|(nr, _)| nr).filter(|nr| *nr != last);
        let mut numbers: Vec<u32> = others.step_by(2).take(count - 1).collect();
        numbers.push(last);
        allowing(&numbers, &[last])
    };
    let (few, many) = (rules(2)?, rules(200)?);
    let subjects = vec![
        Subject::none(),
        Subject::new("2 rules, libseccomp", [libseccomp::list(&few)?])?,
        Subject::new("200 rules, libseccomp", [libseccomp::list(&many)?])?,
        Subject::new("2 rules, Callgate", [compiled(&few)?])?,
        Subject::new("200 rules, Callgate", [compiled(&many)?])?,
    ];
    // Under each: 50 or 10 rounds of 200 batches of 1,000.
    let (rounds, millions) = if options.quick { (10, 2) } else { (50, 10) };
    let bodies = shown(&subjects, &[getpid]);
    let plan = options.plan(subjects, vec![Body::from(getpid)], 25);
    let (title, plan) = match options.cold {
        // A call takes so long that there are fewer.
        Some(_) => ("2 and 200 rules, cold".to_owned(), plan),
        None => {
            let batches = Batches { count: 200, iterations: 1000, ..plan.batches };
            let plan = Plan { batches, min_rounds: 5, max_rounds: rounds, ..plan };
            (format!("2 and 200 rules, {millions} million calls"), plan)
        }
    };
    Ok(Setup { title, bodies, plan, findings })
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let of = |subject| overhead(samples, subject, 0);
    let (Some(few), Some(many), Some(ours)) = (of(1), of(2), of(4)) else { return Vec::new() };
    vec![
        Finding::new(
            "rule_ns",
            "each additional rule of libseccomp's list",
            (many - few) / 198.0,
            "ns",
        ),
        Finding::new(
            "libseccomp_ratio",
            "200 rules: overhead of libseccomp's list over that of Callgate's program",
            many / ours,
            "times",
        ),
    ]
}
