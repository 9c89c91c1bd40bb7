//! Writes a draft in a language, and checks the result: the meaning of the text, as a policy, must allow what was recorded.

use super::annotated::annotated;
use crate::check::check;
use crate::generate::directives::{self, Directive};
use crate::generate::draft::Draft;
use crate::generate::error::{GenerateError, GenerateErrorKind};
use crate::recording::Recording;
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Verdict;
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_formats::annotated::AnnotatedWriter;
use callgate_formats::languages::{Input, LanguageId, NoFiles, Reading, Text};
use callgate_formats::oci::{BAD_ARCH, Dialect, EnosysAbove};
use callgate_formats::ruleset::{Comparison, RuleSet, sections};

/// A profile as text.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenProfile {
    /// The text, with a comment on each choice.
    pub text: String,
    /// The meaning of the text.
    pub policy: Policy,
}

impl Draft {
    /// Writes the profile, and checks that it allows everything that was recorded.
    ///
    /// # Errors
    /// If the format cannot express the profile: several architectures in Kafel, an architecture or a value that a
    /// Kubernetes resource does not have, or architectures with different byte orders in any format. Also if the profile denies a recorded syscall or cannot be read back, which would be a
    /// bug in this crate.
    pub fn write(&self, format: LanguageId) -> Result<WrittenProfile, GenerateError> {
        let Some(to) = format.annotated() else {
            return Err(GenerateErrorKind::NotGenerated(format.name()).into());
        };
        if to.for_one_arch && self.arches.len() > 1 {
            return Err(GenerateErrorKind::OneArch { given: self.arches.clone() }.into());
        }
        let mut store = Store::default();
        let directives = match to.is_unit {
            true => directives::permitted(self, to, &mut store)?,
            false => Vec::new(),
        };
        let policy = policy(self, to, &directives)?;
        let annotated = annotated(self, to, &directives);
        let text = (to.write)(&annotated).ok_or(GenerateErrorKind::NoResource)?;
        let meaning = store.policy(&policy)?;
        let findings = check(&mut store, meaning, &self.expressible(to))?;
        if let Some(finding) = findings.into_iter().find(|finding| finding.is_denied()) {
            return Err(GenerateErrorKind::Denies(Box::new(finding)).into());
        }
        if to.is_read_back {
            let read = self.read_back(format, &text)?;
            if store.policy(&read)? != meaning {
                return Err(GenerateErrorKind::DifferentMeaning.into());
            }
        }
        Ok(WrittenProfile { text, policy })
    }

    /// The part of the recording that a language can express, and that is not denied on purpose.
    fn expressible(&self, to: &AnnotatedWriter) -> Recording {
        let mut expressible = self.recorded.clone();
        expressible.retain(|syscall| match syscall.name() {
            Some(name) => self.can_name(to, name) && !self.refuses(name),
            None => to.has_numbers,
        });
        expressible
    }

    /// Reads a text as its language, without the rules that a runtime adds.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_back(&self, format: LanguageId, text: &str) -> Result<Policy, GenerateError> {
        let native = self.arches.first().copied().ok_or(GenerateErrorKind::Empty)?;
        let reading = Reading {
            arches: self.arches.clone(),
            kernel: Some(KernelVersion { major: 6, minor: 18 }),
            enosys_above: Some(EnosysAbove::Off),
            strict: true,
            ..Reading::new(native)
        };
        let texts = [Text::of(text)];
        let dialect = format.writer().and_then(|writer| writer.dialect);
        let input = Input { name: dialect.map(Dialect::name), ..Input::of(&texts) };
        let read = (format.language().read)(&input, &reading, &mut NoFiles).map_err(|errors| {
            let diagnostics = errors.into_vec().into_iter().map(|message| message.diagnostic);
            GenerateErrorKind::Unreadable(diagnostics.collect::<Vec<_>>().into())
        })?;
        let only = read.filters.into_iter().next().ok_or(GenerateErrorKind::Empty)?;
        Ok(only.profile.policy)
    }
}

/// The policy that a draft means in a format, with these systemd directives.
fn policy(
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
        for comparisons in grant.alternatives(to) {
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
