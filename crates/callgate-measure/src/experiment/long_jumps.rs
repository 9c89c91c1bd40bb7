//! Lists of 2 and 200 rules, ten million calls: the measurement for the kernel's new interpreter of 2014.
//!
//! The call that is made is the last in the list, and an argument of it is looked at, as else the
//! kernel's cache would answer. Beside the lists stands what the compiler makes of the same rules.

use super::{ExperimentError, Options, Setup, allowing, call, compiled, native, overhead, shown};
use crate::body::Body;
use crate::measure::{Plan, Samples};
use crate::naive;
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
        Subject::new("2 rules, a list", [naive::list(&few)?])?,
        Subject::new("200 rules, a list", [naive::list(&many)?])?,
        Subject::new("2 rules, compiled", [compiled(&few)?])?,
        Subject::new("200 rules, compiled", [compiled(&many)?])?,
    ];
    // Under each: 50 or 10 rounds of 200 batches of 1,000.
    let (rounds, millions) = if options.quick { (10, 2) } else { (50, 10) };
    let bodies = shown(&subjects, &[getpid]);
    let plan = options.plan(subjects, vec![Body::from(getpid)], 25);
    let (title, plan) = match options.cold {
        // A call takes so long that there are fewer.
        Some(_) => ("lists of 2 and 200 rules, cold".to_owned(), plan),
        None => {
            let batches = Batches { count: 200, iterations: 1000, ..plan.batches };
            let plan = Plan { batches, min_rounds: 5, max_rounds: rounds, ..plan };
            (format!("lists of 2 and 200 rules, {millions} million calls"), plan)
        }
    };
    Ok(Setup { title, bodies, plan, findings })
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let of = |subject| overhead(samples, subject, 0);
    let (Some(few), Some(many), Some(ours)) = (of(1), of(2), of(4)) else { return Vec::new() };
    vec![
        Finding::new("rule_ns", "each further rule of a list", (many - few) / 198.0, "ns"),
        Finding::new(
            "list_ratio",
            "200 rules: overhead of the list over that of the compiled program",
            many / ours,
            "times",
        ),
    ]
}
