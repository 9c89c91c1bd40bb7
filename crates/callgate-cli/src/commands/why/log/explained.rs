//! The denials of a log with their reasons and changes.

use std::time::Instant;

use callgate::{Action, Arch, SeccompData, Verdict};
use callgate_core::diagram::{Func, Store};
use callgate_formats::CapSet;
use callgate_formats::change::Allowed;
use callgate_requests::logged::{action, data, explains, find, tested_arguments};
use callgate_trace::denials::{Denial, DenialLog};

use super::super::answer::Answer;
use super::super::change::{Advice, advise, change, patch, prove, wanted};
use super::super::read::Read;
use super::super::text::danger_of;
use super::groups::{Group, Groups};
use crate::progress::Progress;

/// For how many distinct denials changes are searched, the most frequent first.
pub(super) const MAX_CHANGES: usize = 200;

/// A distinct denial.
pub(super) struct Explained<'r> {
    pub(super) denial: Denial,
    pub(super) answer: Answer<'r>,
    /// What allows it; `None` if the filter allows it or never returns what the log says, and beyond [`MAX_CHANGES`].
    pub(super) advice: Option<Advice>,
    /// The actions of the log that the filter never returns for the syscall.
    pub(super) foreign: Vec<&'static str>,
    /// Whether the filter tests arguments that the log does not contain.
    pub(super) has_example: bool,
}

/// Why the change for all denials leaves one out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// Libraries expect ENOSYS and fall back.
    OnPurpose,
    /// The syscall is dangerous.
    Dangerous,
}

impl Explained<'_> {
    /// Why the change for all denials leaves this one out; `None` if it does not.
    pub(super) fn left_out(&self, with_dangerous: bool) -> Option<LeftOut> {
        let advice = self.advice.as_ref()?;
        let change = advice.change.as_ref().ok()?;
        if advice.on_purpose.is_some() {
            return Some(LeftOut::OnPurpose);
        }
        let danger = danger_of(&change.allowed);
        danger.filter(|_| !with_dangerous).map(|_| LeftOut::Dangerous)
    }
}

/// One change for all denials of one machine.
pub(super) struct Combined {
    /// The architectures of the denials.
    pub(super) arches: Vec<Arch>,
    /// The patch.
    pub(super) patch: String,
    /// How many of the denials it allows.
    pub(super) count: usize,
}

/// The denials with their reasons.
pub(super) fn explain<'r>(log: &DenialLog, groups: &'r Groups<'_>) -> Vec<Explained<'r>> {
    let mut progress = Progress::new(Instant::now());
    let mut explained = Vec::new();
    for denial in &log.denials {
        let Some(Group { read, options, .. }) = groups.of(denial) else { continue };
        let Ok(diagram) = read.diagram() else { continue };
        let arch = Some(denial.call.syscall.arch);
        let data = example(denial, diagram);
        let answer = Answer::new(&read.stack, arch, data);
        let foreign = foreign(denial, diagram);
        // Those with an action of the log.
        let is_own = foreign.is_empty() || foreign.len() < denial.verdicts.len();
        let is_searched = is_own && !answer.verdict.permits() && explained.len() < MAX_CHANGES;
        let advice = is_searched.then(|| match other_denial(denial, diagram) {
            Some(other) => several_ways(answer.verdict, other),
            None => advise(read, arch, &data, known(denial), options),
        });
        let (store, root) = diagram;
        let tested = tested_arguments(store, *root, denial.call.syscall);
        let is_unknown =
            |(index, arg): (usize, Option<u64>)| arg.is_none() && tested >> index & 1 == 1;
        let has_example = denial.call.args.into_iter().enumerate().any(is_unknown);
        explained.push(Explained { denial: denial.clone(), answer, advice, foreign, has_example });
        let (done, all) = (explained.len(), log.denials.len());
        progress.tell(|| format!("{done} of {all} denials explained"));
    }
    progress.clear();
    explained
}

/// A syscall with the logged arguments that the filter denies, if it denies one.
pub(super) fn example(denial: &Denial, diagram: &(Store, Func)) -> SeccompData {
    let call = &denial.call;
    let logged = denial.verdicts.iter();
    let example = logged
        .clone()
        .find_map(|(logged, _)| find(diagram, call, |verdict| has_action(verdict, *logged)));
    // A filter that has changed since may deny it with another verdict, or not.
    let example =
        example.or_else(|| find(diagram, call, |verdict| explains(call.evidence, verdict)));
    let example = example.or_else(|| find(diagram, call, |verdict| !verdict.permits()));
    example.unwrap_or_else(|| data(call))
}

/// Whether two verdicts have the same action. The kernel does not log its data.
fn has_action(verdict: Verdict, other: Verdict) -> bool {
    action(verdict) == action(other)
}

/// The actions in the log that the filters never return for the syscall, although they deny it.
fn foreign(denial: &Denial, diagram: &(Store, Func)) -> Vec<&'static str> {
    let call = &denial.call;
    if find(diagram, call, |verdict| !verdict.permits()).is_none() {
        return Vec::new();
    }
    let sends_signal = |verdict: Verdict| {
        matches!(verdict.action(), Action::KillProcess | Action::KillThread | Action::Trap(_))
    };
    // Reports of programs have no action, but tell that there was a signal.
    if denial.verdicts.is_empty()
        && denial.has_signal
        && find(diagram, call, sends_signal).is_none()
    {
        return vec!["SIGSYS"];
    }
    let logged = denial.verdicts.iter().map(|(logged, _)| *logged);
    let is_foreign =
        |logged: &Verdict| find(diagram, call, |verdict| has_action(verdict, *logged)).is_none();
    logged.filter(is_foreign).map(action).collect()
}

/// A verdict that denies the syscall with other arguments, but is not one of the log.
fn other_denial(denial: &Denial, diagram: &(Store, Func)) -> Option<Verdict> {
    if denial.verdicts.is_empty() {
        return None;
    }
    let is_other = |verdict: Verdict| {
        let is_logged = denial.verdicts.iter().any(|(logged, _)| has_action(verdict, *logged));
        !verdict.permits() && !is_logged
    };
    let (store, root) = diagram;
    let data = find(diagram, &denial.call, is_other)?;
    store.evaluate(*root, &data).ok()
}

/// The advice if the arguments decide which rule denied the syscall: a change for all of them would also undo the others.
fn several_ways(verdict: Verdict, other: Verdict) -> Advice {
    let by_hand = format!(
        "the filter returns {verdict} with some arguments and {other} with others, and the log has no arguments; log the program with \
         strace -f -o LOG CMD, which prints them"
    );
    Advice { caps: CapSet::none(), on_purpose: None, change: Err(by_hand) }
}

/// The arguments that the log contains.
fn known(denial: &Denial) -> Vec<(u8, u64)> {
    (0..).zip(denial.call.args).filter_map(|(index, arg)| Some((index, arg?))).collect()
}

/// For each machine one change for its denials that have a change of their own, which is proved as a whole. Of several denials, it
/// leaves out those that need no change and those that are dangerous.
pub(super) fn combine(
    explained: &[Explained<'_>],
    groups: &Groups<'_>,
    with_dangerous: bool,
) -> Vec<Combined> {
    let combine = |group| combine_on(explained, groups, group, with_dangerous);
    groups.used().filter_map(combine).collect()
}

/// The denials of one machine that have a change.
pub(super) fn changed<'e, 'r>(
    explained: &'e [Explained<'r>],
    groups: &'e Groups<'_>,
    group: &'e Group,
) -> impl Iterator<Item = &'e Explained<'r>> {
    explained.iter().filter(move |one| {
        let is_of_group = groups.of(&one.denial).is_some_and(|of| std::ptr::eq(of, group));
        is_of_group && one.advice.as_ref().is_some_and(|advice| advice.change.is_ok())
    })
}

fn combine_on(
    explained: &[Explained<'_>],
    groups: &Groups<'_>,
    group: &Group,
    with_dangerous: bool,
) -> Option<Combined> {
    let Group { read, options, .. } = group;
    let mut progress = Progress::new(Instant::now());
    let mut current: Option<Read> = None;
    let mut allowed: Vec<Allowed> = Vec::new();
    let mut count = 0;
    let mut arches = Vec::new();
    // The change for a single denial is shown with its reasons.
    let is_single = changed(explained, groups, group).count() == 1;
    for one in changed(explained, groups, group) {
        if !is_single && one.left_out(with_dangerous).is_some() {
            continue;
        }
        let syscall = one.denial.call.syscall;
        let Some(name) = syscall.name() else { continue };
        let wanted = wanted(read, syscall, name, known(&one.denial));
        let before = current.as_ref().unwrap_or(read);
        // A change for another denial may allow it, too.
        if let Some(data) = still_denied(before, one) {
            let Ok(change) = change(before, &wanted, &data, options) else { continue };
            allowed.push(change.allowed);
            current = Some(change.read);
        }
        count += 1;
        if !arches.contains(&syscall.arch) {
            arches.push(syscall.arch);
        }
        progress.tell(|| format!("{count} changes combined"));
    }
    progress.clear();
    let after = current?;
    prove(read, &after, &allowed).ok()?;
    let patch = patch(&read.source.texts(), &after.source.texts());
    Some(Combined { arches, patch, count })
}

/// A syscall of a denial that the filters still deny.
fn still_denied(read: &Read, one: &Explained<'_>) -> Option<SeccompData> {
    find(read.diagram().ok()?, &one.denial.call, |verdict| !verdict.permits())
}
