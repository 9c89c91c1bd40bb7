//! Compares the forms of a filter with the running kernel.

use callgate::Verdict;
use callgate::fuzz::{Comparison, Input, Report};
use callgate_linux::ProbeAnswer;

use super::outcome::{FilterForm, Omission, Reproduction};
use crate::options::native_arch;
use crate::report::{Failure, Result};
use crate::source::SourceFilter;

/// Fails if this kernel cannot run the filter.
pub(super) fn check(filter: &SourceFilter) -> Result<()> {
    let native = native_arch()?;
    if filter.arches.iter().any(|arch| arch.token() == native.token()) {
        return Ok(());
    }
    let arches: Vec<&str> = filter.arches.iter().map(|arch| arch.name()).collect();
    Err(Failure::about(
        &filter.name,
        format!(
            "the running kernel ({native}) cannot be compared: the filter is for {}",
            arches.join(", ")
        ),
    )
    .help("omit --kernel, or select the architecture with --arch"))
}

/// Runs every program in the kernel for the syscalls of the report.
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
            is_error: true,
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
                // The kernel returned a value that the program never returns; shown as an impossible verdict.
                ProbeAnswer::Unexpected => comparison.add(data, expected, Verdict(!expected.0)),
            }
        }
        if comparison.syscalls == 0 {
            let why = "the result depends on the instruction pointer for every syscall".to_owned();
            omissions.push(omission(why, "omit --kernel".to_owned()));
            continue;
        }
        forms.push(FilterForm { name, by: Reproduction::Fuzz });
        report.comparisons.push(comparison);
    }
}

/// The verdict of the reference if it is a program.
fn subject_verdict(input: &Input<'_>, data: &callgate::SeccompData) -> Verdict {
    let first = input.programs.first();
    first.map_or(Verdict::KILL_PROCESS, |subject| subject.program.run(data, input.endian).verdict)
}
