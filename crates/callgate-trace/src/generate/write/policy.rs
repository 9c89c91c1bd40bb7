//! The meaning of a draft in a format, as a policy.

use callgate_bpf::SyscallTable;
use callgate_core::Verdict;
use callgate_core::policy::Policy;
use callgate_formats::annotated::AnnotatedWriter;
use callgate_formats::oci::BAD_ARCH;
use callgate_formats::ruleset::{Comparison, RuleSet, sections};

use crate::generate::arg_limit::{ArgLimit, Cube};
use crate::generate::directives::Directive;
use crate::generate::draft::Draft;
use crate::generate::error::{GenerateError, GenerateErrorKind};
use crate::generate::grant::Grant;

/// The policy that a draft means in a format, with these directives of systemd.
pub(super) fn policy(
    draft: &Draft,
    to: &AnnotatedWriter,
    directives: &[Directive],
) -> Result<Policy, GenerateError> {
    let mut sets: Vec<RuleSet<&'static str>> =
        draft.arches.iter().copied().map(RuleSet::new).collect();
    sets.iter_mut().try_for_each(|set| add_rules(draft, to, set))?;
    let mut sections = sections(&sets, draft.default_verdict_in(to), BAD_ARCH);
    for (set, directive) in sets.iter().flat_map(|set| directives.iter().map(move |one| (set, one)))
    {
        // systemd installs the filter of the list last, so its verdict applies if both deny a syscall.
        let granted = |nr: &u32| {
            set.arch().syscall_name(*nr).is_some_and(|name| draft.is_granted_by(to, name))
        };
        let rules = directive
            .rules(set.arch())
            .filter(|rule| rule.syscalls.ranges().iter().all(|(first, _)| granted(first)));
        let token = set.arch().token();
        if let Some(section) = sections.iter_mut().find(|section| section.token() == token) {
            section.rules.splice(0..0, rules);
        }
    }
    Policy::new(sections, BAD_ARCH).map_err(|error| GenerateErrorKind::Arches(error).into())
}

/// Adds the rules of one architecture.
fn add_rules(
    draft: &Draft,
    to: &AnnotatedWriter,
    set: &mut RuleSet<&'static str>,
) -> Result<(), GenerateError> {
    let arch = set.arch();
    let mut unknown = None;
    let mut add = |name, comparisons: &[Comparison], verdict| {
        match arch.number(name) {
            // Only libseccomp also adds rules for syscalls behind socketcall and ipc.
            Some(nr) if !to.is_by_libseccomp => set.add(nr, comparisons, verdict, name),
            None if !to.is_by_libseccomp => {}
            _ => {
                let added = set.add_syscall(name, comparisons, verdict, name);
                unknown = added.err().or(unknown.take());
            }
        }
    };
    for grant in draft.grants().filter(|grant| draft.can_name(to, grant.name)) {
        for comparisons in alternatives(grant, to) {
            add(grant.name, &comparisons, Verdict::ALLOW);
        }
    }
    let enosys = Verdict::errno(arch.enosys());
    draft.refused_explicitly(to).for_each(|name| add(name, &[], enosys));
    draft.others_with_enosys(to).into_iter().for_each(|name| add(name, &[], enosys));
    draft.listed_for_directives(to).for_each(|name| add(name, &[], Verdict::ALLOW));
    if let Some(error) = unknown {
        return Err(GenerateErrorKind::UnknownSyscall(error).into());
    }
    for (syscall, _) in draft.numbers().iter().filter(|(syscall, _)| syscall.arch == arch) {
        if to.has_numbers {
            set.add(syscall.nr, &[], Verdict::ALLOW, "");
        }
    }
    match set.contradictions().first() {
        Some(contradiction) => Err(GenerateErrorKind::Contradiction(contradiction.later).into()),
        None => Ok(()),
    }
}

/// The conditions of a grant, one of which must hold.
pub(super) fn alternatives(grant: &Grant, to: &AnnotatedWriter) -> Vec<Vec<Comparison>> {
    if !to.has_arguments() {
        return vec![Vec::new()];
    }
    let comparison = |(limit, cube): (&ArgLimit, Cube)| limit.comparison(cube);
    let all = grant.alternatives().into_iter();
    all.map(|tests| tests.into_iter().filter_map(comparison).collect()).collect()
}
