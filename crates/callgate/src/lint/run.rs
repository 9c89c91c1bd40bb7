//! Runs all checks.

use callgate_core::diagram::DiagramError;
use callgate_core::{Arch, Verdict};

use super::check::Check;
use super::checks::{abis, alternatives, arguments, library, powerful, rules, whole};
use super::finding::{Finding, Findings};
use super::view::{Subject, View};
use crate::error::Result;

/// A group of checks.
type Group = fn(&mut View<'_>, &mut Findings) -> Result<()>;

/// All groups.
const ALL: &[Group] = &[
    whole::verdicts,
    arguments::check,
    abis::other_abis,
    abis::multiplexers,
    powerful::check,
    rules::rules,
    alternatives::check,
    library::siblings,
    library::fallbacks,
    library::needed,
    library::start,
    rules::capabilities,
    rules::reader,
    whole::cost,
    whole::lists,
];

/// Those that find other ways to syscalls that the filter denies: other bits of arguments, other ABIs and multiplexers.
const EVASIONS: &[Group] = &[arguments::check, abis::other_abis, abis::multiplexers];

/// The findings of all checks for a stack of filters, the oldest first, on these architectures: the most serious first, then in
/// the order of the text.
///
/// # Errors
/// If a filter is too complex for the default budget, or compares variables whose values are not set.
pub fn lint(subjects: &[Subject<'_>], arches: &[Arch]) -> Result<Vec<Finding>> {
    run(subjects, arches, ALL)
}

/// Like [`lint`], but only the findings about other ways to denied syscalls: bits of an argument that the kernel ignores or the
/// filter does, another ABI of the same machine, or a multiplexer such as `socketcall`.
///
/// # Errors
/// As [`lint`].
pub fn evasions(subjects: &[Subject<'_>], arches: &[Arch]) -> Result<Vec<Finding>> {
    let mut found = run(subjects, arches, EVASIONS)?;
    found.retain(|one| !matches!(one.check, Check::SignExtension | Check::PointerValue));
    Ok(found)
}

fn run(subjects: &[Subject<'_>], arches: &[Arch], groups: &[Group]) -> Result<Vec<Finding>> {
    let mut view = View::new(subjects, arches)?;
    let mut findings = Findings::default();
    for check in groups {
        check(&mut view, &mut findings)?;
    }
    let findings = findings.sorted();
    let examples = findings.iter().flat_map(|finding| &finding.examples);
    for example in examples {
        let newest_first = subjects.iter().rev();
        let verdict =
            Verdict::of_stack(newest_first.map(|subject| subject.filter.run(&example.data)));
        if verdict != example.verdict {
            return Err(DiagramError::defect("an example of lint has another verdict").into());
        }
    }
    Ok(findings)
}
