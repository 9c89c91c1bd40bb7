//! The smallest change that allows a denied syscall.
//!
//! Edits that the library proposes are applied in memory, and the source is read again with the same options. A change is
//! accepted if the MTBDDs before and after prove that it allows the syscall and nothing else.

use callgate::{Arch, SeccompData};
use callgate_bpf::SyscallTable;
use callgate_formats::CapSet;
use callgate_formats::change::{
    Allowed, Candidate, Candidates, SideEffect, Unverified, Verified, apply, candidates,
    new_file_diff, unified_diff, verify,
};
use callgate_formats::libseccomp_versions::LibseccompVersion;
use callgate_formats::statements::Inactivity;

use super::answer::Answer;
use super::read::Read;
use super::reason::{FilterReason, Reason};
use crate::options::SourceOptions;
use crate::report::muted;
use crate::source::{Combine, Text};
use crate::text::printable;
use callgate_requests::fallback::on_purpose;
use callgate_requests::logged::tested_bits;
use callgate_requests::syscall;
use callgate_trace::recording::SyscallId;

/// How many filters may be changed for one syscall, one after the other.
const MAX_STEPS: usize = 4;

/// What allows a denied syscall.
pub(super) struct Advice {
    /// Capabilities with which the profile allows it.
    pub(super) caps: CapSet,
    /// Why no change is needed: what libraries do after this verdict.
    pub(super) on_purpose: Option<String>,
    /// A change of the text, or else what to do by hand.
    pub(super) change: std::result::Result<Change, String>,
}

/// A change of the texts of a source, which is proved.
pub(crate) struct Change {
    /// The changed source.
    pub(crate) read: Read,
    /// The patch.
    pub(super) patch: String,
    /// What it allows.
    pub(crate) allowed: Allowed,
    /// What it does besides.
    pub(super) verified: Verified,
}

impl Change {
    /// The unit for which the patch makes a drop-in; `None` if it does not.
    pub(super) fn new_drop_in(&self) -> Option<String> {
        let is_written = |text: &Text<'_>| text.is_new() && !text.text.is_empty();
        let is_new = self.read.source.texts().iter().any(is_written);
        is_new.then(|| self.read.source.shipped_unit()).flatten()
    }
}

/// What allows a syscall, with these arguments (index and value) only, or else with all.
pub(super) fn advise(
    read: &Read,
    arch: Option<Arch>,
    data: &SeccompData,
    args: Vec<(u8, u64)>,
    options: &SourceOptions,
) -> Advice {
    let caps = capabilities(read, arch, data, options);
    let verdict = Answer::new(&read.stack, arch, *data).verdict;
    let named = arch.and_then(|arch| Some((arch, arch.syscall_name(data.nr)?)));
    let Some((arch, name)) = named else {
        let by_hand = "the syscall has no name, so a profile cannot name it".to_owned();
        return Advice { caps, on_purpose: None, change: Err(by_hand) };
    };
    let wanted = wanted(read, SyscallId::new(arch, data.nr), name, args);
    let on_purpose = on_purpose(Some(arch), &wanted.name, verdict);
    if let Some(by_hand) = unknown_to_library(read, arch, data) {
        return Advice { caps, on_purpose: None, change: Err(by_hand) };
    }
    Advice { caps, on_purpose, change: change(read, &wanted, data, options) }
}

/// A syscall with these arguments. Of arguments with flags, those bits count that the filters test: programs set further flags.
pub(super) fn wanted(read: &Read, syscall: SyscallId, name: &str, args: Vec<(u8, u64)>) -> Allowed {
    let mut wanted = Allowed::with_args(syscall.arch, name, args);
    let Ok((store, root)) = read.diagram() else { return wanted };
    let flags = wanted.args.iter().map(|(index, _)| *index);
    let flags: Vec<u8> = flags.filter(|index| wanted.is_of_flags(*index)).collect();
    for index in flags {
        let tested = tested_bits(store, *root, syscall, index);
        if let Some(mask) = wanted.masks.get_mut(usize::from(index)).filter(|_| tested != 0) {
            *mask = tested;
        }
    }
    wanted
}

/// What to do if the profile allows a syscall whose name the runtime's libseccomp does not know.
fn unknown_to_library(read: &Read, arch: Arch, data: &SeccompData) -> Option<String> {
    let answer = Answer::new(&read.stack, Some(arch), *data);
    let Reason::Text(why) = &answer.filters.first()?.reason else { return None };
    let unknown = why
        .inactive
        .iter()
        .find(|rule| rule.verdict.permits() && matches!(rule.reason, Inactivity::UnknownTo(..)))?;
    let first = LibseccompVersion::since(&unknown.name, arch)?;
    Some(format!(
        "the profile allows it already; update the runtime's libseccomp: {first} and later know {}",
        printable(&unknown.name)
    ))
}

/// The smallest change that allows a syscall, or else what to do by hand.
pub(crate) fn change(
    read: &Read,
    wanted: &Allowed,
    data: &SeccompData,
    options: &SourceOptions,
) -> std::result::Result<Change, String> {
    Search::new(read, wanted.clone(), *data, options).run()
}

/// The most sets of capabilities that are tried; the source is read again for each.
const MOST_CAPABILITIES: usize = 16;

/// The missing capabilities of a rule that would allow the syscall, if it would then be allowed.
pub(super) fn capabilities(
    read: &Read,
    arch: Option<Arch>,
    data: &SeccompData,
    options: &SourceOptions,
) -> CapSet {
    let answer = Answer::new(&read.stack, arch, *data);
    let Some(FilterReason { reason: Reason::Text(why), .. }) = answer.filters.first() else {
        return CapSet::none();
    };
    // Usually the rules need one capability, or a few.
    let mut tried: Vec<CapSet> = vec![CapSet::none()];
    let mut rules: Vec<_> = why.inactive.iter().filter(|rule| rule.verdict.permits()).collect();
    // Newer capabilities are for a part of what CAP_SYS_ADMIN is for.
    rules
        .sort_by_key(|rule| (rule.missing.contains("CAP_SYS_ADMIN"), rule.missing.names().count()));
    for rule in rules {
        if tried.contains(&rule.missing) {
            continue;
        }
        if tried.len() > MOST_CAPABILITIES {
            break;
        }
        tried.push(rule.missing);
        let options = options.with_caps(rule.missing);
        let again = muted(|| read.source.read(&options));
        if again.is_ok_and(|stack| Answer::new(&stack, arch, *data).verdict.permits()) {
            return rule.missing;
        }
    }
    CapSet::none()
}

/// The search for a change.
struct Search<'a> {
    before: &'a Read,
    wanted: Allowed,
    data: SeccompData,
    options: &'a SourceOptions,
    /// Why the last candidate was refused.
    refused: Option<Refused>,
}

/// Why a change is not proved.
pub(crate) enum Refused {
    /// A wanted syscall is still denied.
    Denied,
    /// It also affects another syscall.
    Other(SideEffect),
    /// The change could not be proved, for example because the MTBDD exceeds its budget.
    Unproved(String),
}

impl From<Unverified> for Refused {
    fn from(unverified: Unverified) -> Refused {
        match unverified {
            Unverified::Denied(_) => Refused::Denied,
            Unverified::Other(other) => Refused::Other(other),
            Unverified::Budget(error) => Refused::Unproved(error.to_string()),
        }
    }
}

impl<'a> Search<'a> {
    fn new(
        before: &'a Read,
        wanted: Allowed,
        data: SeccompData,
        options: &'a SourceOptions,
    ) -> Search<'a> {
        Search { before, wanted, data, options, refused: None }
    }

    fn run(mut self) -> std::result::Result<Change, String> {
        let mut closer: Option<(Read, Allowed)> = None;
        for _ in 0..MAX_STEPS {
            match self.step(closer.as_ref()) {
                Step::Done(change) => return Ok(change),
                Step::Closer(read, allowed) => closer = Some((read, allowed)),
                Step::Stuck => break,
            }
        }
        Err(self.by_hand())
    }

    /// Tries the candidates for the filter that decides, after a change that allows this.
    fn step(&mut self, previous: Option<&(Read, Allowed)>) -> Step {
        let read = previous.map_or(self.before, |(read, _)| read);
        let answer = Answer::new(&read.stack, Some(self.wanted.arch), self.data);
        let Some(filter) = answer.filters.first() else { return Step::Stuck };
        let Reason::Text(why) = &filter.reason else { return Step::Stuck };
        if filter.is_of_other_arch() {
            return Step::Stuck;
        }
        let mut closer = None;
        // The last text first: of a unit, this is the last drop-in. A new one is the last resort.
        let (new, own): (Vec<_>, Vec<_>) = read.source.texts().into_iter().partition(Text::is_new);
        for text in own.iter().rev().chain(&new) {
            let Some(statements) = filter.statements else { continue };
            let input = Candidates {
                language: text.language,
                role: text.role,
                text: text.text,
                file: text.file.as_deref(),
                statements,
                why,
                wanted: &self.wanted,
            };
            for Candidate { edits, mut allowed } in candidates(&input) {
                // Only the arguments that all filters compare limit what is allowed.
                if let Some((_, before)) = previous {
                    allowed.args.retain(|arg| before.args.contains(arg));
                    allowed.zero_upper |= before.zero_upper;
                    let masks = allowed.masks.iter_mut().zip(before.masks);
                    masks.for_each(|(mask, before)| *mask |= before);
                }
                let Some(changed) = apply(text.text, &edits) else { continue };
                let Some(after) = read.changed(text.index, changed, self.options) else { continue };
                match prove(self.before, &after, std::slice::from_ref(&allowed)) {
                    // What the assumed runtime ignores may be an error for another one.
                    Ok(_) if !after.is_accepted_like(self.before, self.options) => {}
                    Ok(verified) => {
                        let patch = patch(&self.before.source.texts(), &after.source.texts());
                        return Step::Done(Change { read: after, patch, allowed, verified });
                    }
                    Err(Refused::Denied) if closer.is_none() => {
                        let now = Answer::new(&after.stack, Some(self.wanted.arch), self.data);
                        let own = now.filters.iter().find(|one| one.name == filter.name);
                        if own.is_none_or(|own| own.verdict.permits()) {
                            closer = Some((after, allowed));
                        }
                    }
                    Err(Refused::Denied) => {}
                    Err(other) => self.refused = Some(other),
                }
            }
        }
        closer.map_or(Step::Stuck, |(read, allowed)| Step::Closer(read, allowed))
    }

    /// What to do instead of a change.
    fn by_hand(&self) -> String {
        let name = &self.wanted.name;
        let instead = self.before.source.without_text(name);
        if let Some(instead) = instead {
            return instead;
        }
        let answer = Answer::new(&self.before.stack, Some(self.wanted.arch), self.data);
        let decides = answer.filters.first();
        if decides.is_some_and(FilterReason::is_of_other_arch) {
            let arch = self.wanted.arch;
            let is_profile = |text: &Text<'_>| {
                text.language.writer().is_some_and(|writer| writer.dialect.is_some())
            };
            return match self.before.source.texts().iter().any(is_profile) {
                true => format!("the profile does not list {}; add it", arch.oci_name()),
                false => {
                    format!("the filter is not for {arch}; it must be made for {arch} as well")
                }
            };
        }
        if let Some(directive) = decides.and_then(|filter| filter.directive) {
            let mut by_hand = format!(
                "{directive}= denies it together with other calls; change this directive by hand"
            );
            if let Some(unit) = self.before.source.shipped_unit() {
                by_hand.push_str(&format!(", in a drop-in: systemctl edit {unit}"));
            }
            return by_hand;
        }
        match &self.refused {
            Some(Refused::Unproved(error)) => {
                format!("the changes that were tried cannot be proved: {error}")
            }
            Some(Refused::Other(other)) => {
                let call = call(&other.data);
                format!(
                    "change the profile by hand: what was tried would also give {call} {} instead of {}",
                    other.after, other.before
                )
            }
            _ => format!(
                "change the profile by hand: no place for a rule that allows {name} was found"
            ),
        }
    }
}

enum Step {
    Done(Change),
    /// A change after which the filter that decided allows the syscall, but another one denies it.
    Closer(Read, Allowed),
    Stuck,
}

/// Proves that exactly these syscalls are allowed in addition.
pub(crate) fn prove(
    before: &Read,
    after: &Read,
    wanted: &[Allowed],
) -> std::result::Result<Verified, Refused> {
    let unproved = |why: &str| Refused::Unproved(why.to_owned());
    let (store, root) = before.diagram().map_err(unproved)?;
    let (mut store, root) = store.copy(*root).map_err(Unverified::from)?;
    let after = muted(|| after.stack.diagram(&mut store));
    let after = after.map_err(|failure| unproved(failure.message()))?;
    Ok(verify(&mut store, root, after, wanted)?)
}

/// The patch from these texts to those.
pub(crate) fn patch(before: &[Text<'_>], after: &[Text<'_>]) -> String {
    let diff = |(old, new): (&Text<'_>, &Text<'_>)| {
        let name = printable(&old.name).to_string();
        match old.is_new() {
            true => new_file_diff(&name, new.text),
            false => unified_diff(&name, old.text, new.text),
        }
    };
    before.iter().zip(after).map(diff).collect()
}

/// A syscall with its architecture.
pub(crate) fn call(data: &SeccompData) -> String {
    let arch = syscall::arch_of(data);
    format!("{} {}", syscall::arch_name(arch, data.arch), syscall::show(arch, data))
}
