//! Searches the changes of a profile, and proves them.
//!
//! For each recorded syscall that the profile denies, a change is searched and proved as for `callgate why`. The result is
//! proved as a whole: it allows everything that was recorded, and otherwise permits the same as before.

use callgate::{Arch, SeccompData};
use callgate_bpf::SyscallTable;
use callgate_core::Word;
use callgate_core::policy::Field;
use callgate_formats::change::{Allowed, Verified};
use callgate_requests::logged::{find_with, tested_arguments};
use callgate_trace::check::{Finding, check};
use callgate_trace::generate::{
    Draft, GenerateError, GenerateOptions, Runtime, clone_fallbacks, generate,
};
use callgate_trace::recording::{MAX_VALUES, Recording, SyscallId, SyscallStats};

use super::super::dangers::Dangers;
use crate::advice;
use crate::commands::why::{Change, Read, change, patch, prove};
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// How many combinations of recorded values of one syscall are added one by one. With more, fewer arguments are limited.
/// All [`MAX_VALUES`] values of an argument that a recording lists fit, with two of another one.
const MAX_COMBINATIONS: usize = 2 * MAX_VALUES;

/// A profile that allows what was recorded.
pub(super) struct Update {
    /// The name of the profile.
    pub(super) name: String,
    /// The patch; empty if nothing is needed.
    pub(super) patch: String,
    /// What it allows in addition.
    pub(super) allowed: Vec<Allowed>,
    /// Syscalls with arguments that are not limited to the recorded values, because these have too many combinations.
    pub(super) unlimited: Vec<(Arch, &'static str, u8)>,
    /// Recorded syscalls that fail with ENOSYS, so that libraries use another one, which is allowed.
    pub(super) falling_back: Vec<(SyscallId, &'static str)>,
    /// Refused syscalls that the profile does not make fail with ENOSYS, so that libraries do not use another one.
    pub(super) deadly: Vec<SyscallId>,
    /// What is dangerous in what was added.
    pub(super) dangers: Dangers,
    /// What the proof says about it; `None` if nothing is needed.
    pub(super) verified: Option<Verified>,
    /// The changed text; `None` if the source consists of several.
    pub(super) text: Option<String>,
}

/// The profile with what the recording needs.
pub(super) fn updated(
    recording: &Recording,
    before: Read,
    generating: GenerateOptions,
    options: &SourceOptions,
) -> Result<Update> {
    let name = before.stack.name.clone();
    let failed = |error: GenerateError| {
        Failure::new(error.to_string()).help(advice::help_or(error.advice(), error.help()))
    };
    // Which arguments are limited depends on the same rules as for a new profile.
    let draft = GenerateOptions {
        complete: false,
        runtime: Runtime::None,
        runtime_calls: false,
        ..generating
    };
    let draft = generate(std::slice::from_ref(recording), &draft).map_err(failed)?;
    let (mut allowed, mut unlimited) = (Vec::new(), Vec::new());
    let mut current: Option<Read> = None;
    let (mut refused, mut findings) = (Vec::new(), denied(recording, &before)?);
    // New profiles refuse clone3, because no filter sees its flags, and libraries use clone.
    findings.retain(|finding| {
        let is_refused = finding.syscall.name().is_some_and(|name| draft.refused().contains(&name));
        refused.extend(is_refused.then_some(finding.syscall));
        !is_refused
    });
    let mut all = Vec::new();
    for finding in findings {
        for wanted in wanted(&finding, recording, &draft, &before, &mut unlimited)? {
            all.push((finding.syscall, wanted));
        }
    }
    for clone3 in refused.iter().copied() {
        all.extend(fallbacks(clone3).map(|wanted| (clone3, wanted)));
    }
    for (syscall, wanted) in all {
        let read = current.as_ref().unwrap_or(&before);
        // A change for another syscall may allow it, too.
        let Some(data) = still_denied(read, &wanted)? else { continue };
        let failed = |by_hand| {
            let name = syscall.name().unwrap_or_default();
            Failure::about(&read.stack.name, format!("cannot allow {name}")).help(by_hand)
        };
        let Change { read, allowed: one, .. } =
            change(read, &wanted, &data, options).map_err(failed)?;
        allowed.push(one);
        current = Some(read);
    }
    let after = current.as_ref().unwrap_or(&before);
    let unproved = |_| Failure::about(&name, "the change cannot be proved as a whole");
    let verified = match current {
        Some(_) => Some(prove(&before, after, &allowed).map_err(unproved)?),
        None => None,
    };
    let is_wanted = |finding: &&Finding| !refused.contains(&finding.syscall);
    let still = denied(recording, after)?;
    if let Some(finding) = still.iter().find(is_wanted) {
        let what = finding.syscall.name().unwrap_or("a syscall without a name");
        return Err(Failure::about(&name, format!("{what} would still be denied"))
            .help("change the profile by hand; callgate check shows when it is denied"));
    }
    let patch = patch(&before.source.texts(), &after.source.texts());
    // Of a unit of a package, the only text that can be written is the new drop-in.
    let (old, new) = (before.source.texts(), after.source.texts());
    let mut changed = old.iter().zip(&new).filter(|(old, new)| old.text != new.text);
    let text = match (changed.next(), changed.next(), new.as_slice()) {
        (_, _, [only]) => Some(only.text.to_owned()),
        (Some((_, drop_in)), None, _) if drop_in.is_new() => Some(drop_in.text.to_owned()),
        _ => None,
    };
    let falling_back =
        still.iter().filter_map(|finding| Some((finding.syscall, finding.fallback?)));
    let falling_back = falling_back.collect();
    let deadly = still.iter().filter(|finding| finding.fallback.is_none());
    let deadly = deadly.map(|finding| finding.syscall).collect();
    let dangers = Dangers::of_update(recording, &before.stack, &after.stack, &allowed)?;
    Ok(Update { name, patch, allowed, unlimited, falling_back, deadly, dangers, verified, text })
}

/// What libraries do if a refused `clone3` fails with ENOSYS.
fn fallbacks(clone3: SyscallId) -> impl Iterator<Item = Allowed> {
    let calls = clone_fallbacks(clone3.arch).into_iter();
    calls.map(move |flags| Allowed::with_args(clone3.arch, "clone", vec![flags]))
}

/// The recorded syscalls that a filter denies, also those instead of which libraries use another one.
fn denied(recording: &Recording, read: &Read) -> Result<Vec<Finding>> {
    let about = |error: String| Failure::about(&read.stack.name, error);
    let (store, root) = read.required_diagram()?;
    let (mut store, root) = store.copy(*root).map_err(|error| about(error.to_string()))?;
    let mut findings =
        check(&mut store, root, recording).map_err(|error| about(error.to_string()))?;
    findings.retain(|finding| finding.is_denied() || finding.fallback.is_some());
    Ok(findings)
}

/// What is to be allowed for a syscall: each combination of the recorded values of the arguments that a new profile would
/// limit, or that the profile tests.
fn wanted(
    finding: &Finding,
    recording: &Recording,
    draft: &Draft,
    before: &Read,
    unlimited: &mut Vec<(Arch, &'static str, u8)>,
) -> Result<Vec<Allowed>> {
    let syscall = finding.syscall;
    let Some(name) = syscall.name() else {
        let message = format!("{} has no syscall with the number {}", syscall.arch, syscall.nr);
        return Err(Failure::about(&before.stack.name, message)
            .help("the profile cannot name it; remove it from the recording"));
    };
    let (store, root) = before.required_diagram()?;
    let tested = tested_arguments(store, *root, syscall);
    let limits = draft.grants().filter(|grant| grant.name == name).flat_map(|grant| &grant.limits);
    let limited = limits.fold(0, |mask, limit| mask | 1 << limit.arg);
    let values =
        |mask| recording.get(syscall).map(|stats| listed_values(stats, mask)).unwrap_or_default();
    // Arguments that a new profile would limit come first, and in their order: the family of a socket decides more
    // than its protocol.
    let mut values = [values(limited), values(tested & !limited)].concat();
    while values.len() > 1
        && values.iter().map(|(_, all)| all.len()).product::<usize>() > MAX_COMBINATIONS
    {
        unlimited.extend(values.pop().map(|(arg, _)| (syscall.arch, name, arg)));
    }
    let mut combinations = vec![Vec::new()];
    for (arg, all) in values {
        let with = |one: &Vec<(u8, u64)>, value: u64| [one.as_slice(), &[(arg, value)]].concat();
        combinations = combinations
            .iter()
            .flat_map(|one| all.iter().map(move |value| with(one, *value)))
            .collect();
    }
    Ok(combinations.into_iter().map(|args| Allowed::with_args(syscall.arch, name, args)).collect())
}

/// The values of the arguments in a mask, if all are known and listed.
fn listed_values(stats: &SyscallStats, mask: u8) -> Vec<(u8, &[u64])> {
    let args = (0..).zip(stats.args());
    args.filter(|(arg, _)| mask >> arg & 1 == 1 && stats.is_known(usize::from(*arg)))
        .filter_map(|(arg, values)| Some((arg, values.all()?)))
        .collect()
}

/// A call with these arguments that the filters deny. A recording has whole registers.
fn still_denied(read: &Read, wanted: &Allowed) -> Result<Option<SeccompData>> {
    let Some(nr) = wanted.arch.number(&wanted.name) else { return Ok(None) };
    let mut data = SeccompData { nr, arch: wanted.arch.token(), ..SeccompData::default() };
    let mut known = vec![Word::ARCH, Word::NR];
    for index in 0..6 {
        let Some(field) = Field::arg(index) else { continue };
        let value = wanted.args.iter().find(|(arg, _)| *arg == index).map(|(_, value)| *value);
        known.extend(value.map(|_| field.low_word()));
        // Registers of 32 bits have no upper half.
        let is_high_known = value.is_some() || !wanted.arch.has_wide_registers();
        known.extend(field.high_word().filter(|_| is_high_known));
        data.args[usize::from(index)] = value.unwrap_or_default();
    }
    Ok(find_with(read.required_diagram()?, data, &known, |verdict| !verdict.permits()))
}
