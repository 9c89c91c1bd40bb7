//! The smallest change that allows a denied syscall.
//!
//! Edits that the library proposes are applied in memory, and the source is read again with the same options. A change is
//! accepted if the MTBDDs before and after prove that it allows the syscall and nothing else.

use callgate::change::{
    Allowed, Candidate, Candidates, SideEffect, Unverified, apply, candidates, unified_diff, verify,
};
use callgate::diagram::Store;
use callgate::formats::CapSet;
use callgate::{Action, Arch, SeccompData, Verdict};

use super::answer::Answer;
use super::reason::{FilterReason, Reason};
use crate::options::{PROMPT, SourceOptions};
use crate::report::{Result, muted};
use crate::source::{LoadedSource, Stack, Text};
use crate::text::printable;
use callgate_requests::syscall;

/// How many filters may be changed for one syscall, one after the other.
const MAX_STEPS: usize = 4;

/// A source with its filters.
pub(super) struct Read {
    pub(super) source: LoadedSource,
    pub(super) stack: Stack,
}

impl Read {
    pub(super) fn new(source: LoadedSource, options: &SourceOptions) -> Result<Read> {
        let stack = source.read(options)?;
        Ok(Read { source, stack })
    }

    /// The source with another text; `None` if it cannot be read.
    fn changed(&self, index: usize, text: String, options: &SourceOptions) -> Option<Read> {
        muted(|| Read::new(self.source.with_text(index, text), options)).ok()
    }
}

/// What allows a denied syscall.
pub(super) struct Advice {
    /// Capabilities with which the profile allows it.
    pub(super) caps: CapSet,
    /// A change of the text, or else what to do by hand.
    pub(super) change: std::result::Result<Change, String>,
}

/// A change of the texts of a source, which is proved.
pub(super) struct Change {
    /// The changed source.
    pub(super) read: Read,
    /// The patch.
    pub(super) patch: String,
    /// Whether the syscall is allowed with all arguments.
    pub(super) all_arguments: bool,
    /// A syscall that remains denied, but otherwise than before.
    pub(super) side_effect: Option<SideEffect>,
}

/// Whether a verdict executes the syscall.
pub(super) fn permits(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::Allow | Action::Log)
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
    let named = arch.and_then(|arch| Some((arch, arch.syscall_name(data.nr)?)));
    let Some((arch, name)) = named else {
        let by_hand = "the syscall has no name, so a profile cannot name it".to_owned();
        return Advice { caps, change: Err(by_hand) };
    };
    let wanted = Allowed { arch, name: name.to_owned(), args };
    Advice { caps, change: change(read, &wanted, data, options) }
}

/// The smallest change that allows a syscall, or else what to do by hand.
pub(super) fn change(
    read: &Read,
    wanted: &Allowed,
    data: &SeccompData,
    options: &SourceOptions,
) -> std::result::Result<Change, String> {
    Search::new(read, wanted.clone(), *data, options).run()
}

/// The missing capabilities of a rule that would allow the syscall, if it would then be allowed.
fn capabilities(
    read: &Read,
    arch: Option<Arch>,
    data: &SeccompData,
    options: &SourceOptions,
) -> CapSet {
    let answer = Answer::new(&read.stack, arch, *data);
    let Some(FilterReason { reason: Reason::Text(why), .. }) = answer.filters.first() else {
        return CapSet::none();
    };
    for rule in why.inactive.iter().filter(|rule| permits(rule.verdict)) {
        let options = options.with_caps(rule.missing);
        let again = muted(|| read.source.read(&options));
        if rule.missing != CapSet::none()
            && again.is_ok_and(|stack| permits(Answer::new(&stack, arch, *data).verdict))
        {
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
    refused: Option<Unverified>,
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
        let (mut next, mut is_wide) = (None, false);
        for _ in 0..MAX_STEPS {
            match self.step(next.as_ref().unwrap_or(self.before), is_wide) {
                Step::Done(change) => return Ok(change),
                Step::Closer(read, all_arguments) => {
                    (next, is_wide) = (Some(read), is_wide || all_arguments);
                }
                Step::Stuck => break,
            }
        }
        Err(self.by_hand())
    }

    /// Tries the candidates for the filter that decides.
    fn step(&mut self, read: &Read, is_wide: bool) -> Step {
        let answer = Answer::new(&read.stack, Some(self.wanted.arch), self.data);
        let Some(filter) = answer.filters.first() else { return Step::Stuck };
        let Reason::Text(why) = &filter.reason else { return Step::Stuck };
        let mut closer = None;
        // The last text first: of a unit, this is the last drop-in.
        for text in read.source.texts().iter().rev() {
            let Some(statements) = filter.statements else { continue };
            let input = Candidates {
                language: text.language,
                text: text.text,
                file: text.file.as_deref(),
                statements,
                why,
                wanted: &self.wanted,
            };
            for Candidate { edits, all_arguments } in candidates(&input) {
                let all_arguments = all_arguments || is_wide;
                let Some(changed) = apply(text.text, &edits) else { continue };
                let Some(after) = read.changed(text.index, changed, self.options) else { continue };
                match self.verify(&after, all_arguments) {
                    Ok(side_effect) => {
                        let patch = patch(&self.before.source.texts(), &after.source.texts());
                        return Step::Done(Change {
                            read: after,
                            patch,
                            all_arguments,
                            side_effect,
                        });
                    }
                    Err(Unverified::Denied(_)) if closer.is_none() => {
                        let now = Answer::new(&after.stack, Some(self.wanted.arch), self.data);
                        let own = now.filters.iter().find(|one| one.name == filter.name);
                        if own.is_none_or(|own| permits(own.verdict)) {
                            closer = Some((after, all_arguments));
                        }
                    }
                    Err(Unverified::Denied(_)) => {}
                    Err(other) => self.refused = Some(other),
                }
            }
        }
        closer.map_or(Step::Stuck, |(read, all_arguments)| Step::Closer(read, all_arguments))
    }

    /// Proves a change.
    fn verify(
        &self,
        after: &Read,
        all_arguments: bool,
    ) -> std::result::Result<Option<SideEffect>, Unverified> {
        let wanted = match all_arguments {
            true => self.wanted.with_all_arguments(),
            false => self.wanted.clone(),
        };
        prove(&self.before.stack, &after.stack, &[wanted])
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
        if let Some(directive) = decides.and_then(|filter| filter.directive) {
            return format!(
                "{directive}= denies it together with other calls; change this directive by hand"
            );
        }
        match &self.refused {
            Some(Unverified::Budget(error)) => {
                format!("the changes that were tried cannot be proved: {error}")
            }
            Some(Unverified::Other(other)) => {
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
    Closer(Read, bool),
    Stuck,
}

/// Proves that exactly these syscalls are allowed in addition.
pub(super) fn prove(
    before: &Stack,
    after: &Stack,
    wanted: &[Allowed],
) -> std::result::Result<Option<SideEffect>, Unverified> {
    let mut store = Store::new(PROMPT);
    let both = muted(|| Some((before.diagram(&mut store).ok()?, after.diagram(&mut store).ok()?)));
    let Some((before, after)) = both else {
        return Err(Unverified::Denied(Verdict::KILL_PROCESS));
    };
    verify(&mut store, before, after, wanted).map(|verified| verified.side_effect)
}

/// The patch from these texts to those.
pub(super) fn patch(before: &[Text<'_>], after: &[Text<'_>]) -> String {
    let diffs = before
        .iter()
        .zip(after)
        .map(|(old, new)| unified_diff(&printable(&old.name).to_string(), old.text, new.text));
    diffs.collect()
}

/// A syscall with its architecture.
pub(super) fn call(data: &SeccompData) -> String {
    let arch = syscall::arch_of(data);
    format!("{} {}", syscall::arch_name(arch, data.arch), syscall::show(arch, data))
}
