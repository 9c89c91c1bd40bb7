//! The running kernel beside the other forms of a filter.

use callgate::Verdict;
use callgate::fuzz::{Comparison, Input, Report};
use callgate_linux::ProbeAnswer;

use super::outcome::{AskedBy, FilterForm, Omission};
use crate::options::native_arch;
use crate::report::{Failure, Result};
use crate::source::Filter;

/// Whether this kernel can be asked about the filter at all.
pub(super) fn check(filter: &Filter) -> Result<()> {
    let native = native_arch()?;
    if filter.arches().iter().any(|arch| arch.token() == native.token()) {
        return Ok(());
    }
    let arches: Vec<&str> = filter.arches().iter().map(|arch| arch.name()).collect();
    Err(Failure::about(
        &filter.name,
        format!(
            "the kernel of this machine ({native}) cannot be asked: the filter is for {}",
            arches.join(", ")
        ),
    )
    .help("leave --kernel out, or choose the architecture with --arch"))
}

/// Asks it about every program, on the calls of the report.
pub(super) fn ask(
    input: &Input<'_>,
    forms: &mut Vec<FilterForm>,
    report: &mut Report,
    omissions: &mut Vec<Omission>,
) {
    let reference = forms.first().map_or_else(String::new, |form| form.name.clone());
    for subject in input.programs {
        let name = format!("kernel, {}", subject.name);
        let omission = |why: String, help: String| Omission {
            name: format!("the kernel ({})", subject.name),
            why,
            help,
            is_trouble: true,
        };
        let answers = match callgate_linux::probe(&subject.program, &report.kept) {
            Ok(answers) => answers,
            Err(error) => {
                omissions.push(omission(error.to_string(), error.help()));
                continue;
            }
        };
        let mut comparison = Comparison::new(&reference, &name);
        for (data, answer) in report.kept.iter().zip(answers) {
            let expected = match input.policy {
                Some(policy) => policy.evaluate(data),
                None => subject_verdict(input, data),
            };
            match answer {
                ProbeAnswer::NotAsked => {}
                ProbeAnswer::Verdict(verdict) => comparison.add(data, expected, verdict),
                // No value that the program returns anywhere: shown as one that no action has.
                ProbeAnswer::Unexpected => comparison.add(data, expected, Verdict(!expected.0)),
            }
        }
        if comparison.calls == 0 {
            let why = "the instruction pointer matters for every call".to_owned();
            omissions.push(omission(why, "leave --kernel out".to_owned()));
            continue;
        }
        forms.push(FilterForm { name, by: AskedBy::Fuzz });
        report.comparisons.push(comparison);
    }
}

/// What the reference says where it is a program.
fn subject_verdict(input: &Input<'_>, data: &callgate::SeccompData) -> Verdict {
    let first = input.programs.first();
    first.map_or(Verdict::KILL_PROCESS, |subject| subject.program.run(data, input.endian).verdict)
}
