//! Alternatives for one syscall that test different arguments.

use callgate_core::{Arch, SeccompData};

use crate::error::Result;
use crate::explain::{ArgPart, Clause, Outcome, ValueSet, explain};
use crate::lint::check::Check;
use crate::lint::finding::{Example, Finding};
use crate::lint::findings::Findings;
use crate::lint::view::View;

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    let explanation = explain(&view.store, view.whole, view.arches);
    for own in &explanation.arches {
        for group in &own.groups {
            let Outcome::Depends { clauses, .. } = &group.outcome else { continue };
            let permitting: Vec<&Clause> =
                clauses.iter().filter(|clause| clause.verdict.permits()).collect();
            for (nr, name) in &group.syscalls {
                uneven(view, findings, own.arch, (*nr, name), &permitting)?;
            }
        }
    }
    Ok(())
}

/// The length of conditions in characters up to which a message has them.
const MAX_CONDITIONS: usize = 200;

/// Reports the first argument that an alternative tests and another one does not.
fn uneven(
    view: &View<'_>,
    findings: &mut Findings,
    arch: Arch,
    (nr, name): (u32, &'static str),
    clauses: &[&Clause],
) -> Result<()> {
    let tests = |clause: &Clause, arg: u8| clause.conditions.iter().any(|one| one.arg == Some(arg));
    for arg in 0..6 {
        let Some(strict) = clauses.iter().find(|clause| tests(clause, arg)) else { continue };
        // An example can be made only of values that are listed.
        let free = clauses.iter().filter(|clause| !tests(clause, arg));
        let found =
            free.filter_map(|clause| Some((clause, example(view, arch, nr, clause)?))).next();
        let Some((free, example)) = found else { continue };
        let known =
            callgate_bpf::syscalls::facts(name).and_then(|facts| facts.args.get(usize::from(arg)));
        let argument =
            known.map_or_else(|| format!("argument {arg}"), |known| format!("`{}`", known.name));
        let [checked, unchecked] =
            [*strict, *free].map(|clause| clause.describe_on(arch, Some(name)));
        let message = if checked.len() + unchecked.len() <= MAX_CONDITIONS {
            format!(
                "`{name}` is allowed if {checked}, but if {unchecked}, {argument} is not checked"
            )
        } else {
            format!("one alternative for `{name}` does not check {argument}, others do")
        };
        let at = view.place(arch, name, |rule| rule.verdict.permits() && !rule.when.is_always());
        let help = "check that the argument does not matter there";
        let finding = Finding::new(Check::UnevenAlternatives, message).help(help).at(at).on(arch);
        findings.add(finding.about([name]).examples([Some(example)]));
        return Ok(());
    }
    Ok(())
}

/// A syscall that meets a clause, with its verdict.
fn example(view: &View<'_>, arch: Arch, nr: u32, clause: &Clause) -> Option<Example> {
    let mut data = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
    for condition in &clause.conditions {
        let value = match &condition.values {
            ValueSet::Ranges(ranges) => ranges.first()?.0,
            ValueSet::Masked { wanted, .. } => *wanted,
            ValueSet::NotMasked { .. } | ValueSet::Many(_) => return None,
        };
        let argument = data.args.get_mut(usize::from(condition.arg?))?;
        *argument |= if condition.part == ArgPart::High { value << 32 } else { value };
    }
    view.run(arch, data).ok().filter(|example| example.verdict == clause.verdict)
}
