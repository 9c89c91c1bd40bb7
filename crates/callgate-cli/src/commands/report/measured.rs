//! What the programs of a page cost on the running kernel.

use std::time::Duration;

use callgate::{Arch, Program};
use callgate_html::Markup;
use callgate_measure::report::{Shown, noisy, sections};
use callgate_measure::{
    Batches, Body, Plan, Subject, allowed_cpus, choose_syscalls, page, setting,
};

use crate::commands::bench::take;
use crate::options::native_arch;
use crate::report::{Failure, Result};

/// The overhead that must be known to this share of it, or the page says that it is not.
const PRECISION: f64 = 0.1;

/// Measures programs for about this time: each a stack with its name.
pub(super) fn measured(
    stacks: Vec<(&str, Vec<Program>)>,
    arches: &[Arch],
    time: Duration,
) -> Result<Markup> {
    let native = native_arch()?;
    if !arches.iter().any(|arch| arch.token() == native.token()) {
        let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        let names = names.join(", ");
        return Err(Failure::new(format!(
            "--measure: the filter is for {names}, not for this machine ({native})"
        ))
        .help("omit --measure, or select the architecture of this machine with --arch"));
    }
    let mut subjects = vec![Subject::none()];
    for (name, programs) in stacks {
        let subject = Subject::new(name, programs);
        subjects.push(subject.map_err(|error| Failure::new(format!("--measure: {error}")))?);
    }
    let calls = choose_syscalls(subjects.get(1..).unwrap_or_default());
    let bodies: Vec<Shown> = calls
        .iter()
        .map(|call| Shown {
            title: call.show(),
            treatments: subjects.iter().map(|one| one.treatment(&call.data())).collect(),
            is_claimed: true,
        })
        .collect();
    let batches = Batches { cpu: allowed_cpus().last().copied(), ..Batches::default() };
    let facts = setting(&batches);
    let plan = Plan {
        subjects,
        bodies: calls.into_iter().map(Body::from).collect(),
        mean: None,
        batches,
        min_rounds: 5,
        max_rounds: 10_000,
        time,
        precision: PRECISION,
        seed: 1,
    };
    let samples = take(&plan, &bodies)?;
    let sections = sections(&plan, &samples, &bodies);
    let noisy = noisy(&sections, PRECISION, |row| row > 0);
    Ok(Markup::of(|markup| {
        markup.element("dl", &[], |list| {
            for (label, text) in &facts {
                list.leaf("dt", &[], label);
                list.leaf("dd", &[], text);
            }
        });
        if let Some(why) = noisy {
            markup.leaf("p", &[("class", "warning")], &format!("Too noisy: {why}."));
        }
        for section in &sections {
            markup.leaf("h4", &[], &section.title);
            markup.append(&page::figures(section));
        }
    }))
}
