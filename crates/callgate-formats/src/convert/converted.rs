//! The conversion as a whole.

use super::error::{ConvertError, ConvertErrorKind, Example, Loss, Losses, Result};
use super::fit::{Fit, is_as_strict, laxer};
use super::named_rules::MULTIPLEXERS;
use super::options::{ConvertOptions, read_back};
use crate::languages::EnosysRule;
use crate::languages::Writing;
use crate::oci::{BAD_ARCH, EnosysAbove};
use callgate_bpf::SyscallTable;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, SeccompData, Verdict, Word};

/// A policy in another language.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The text.
    pub text: String,
    /// The architectures for which it is read, the main one first.
    pub arches: Vec<Arch>,
    /// What was lost; nothing without [`ConvertOptions::closest`].
    pub losses: Vec<Loss>,
    /// What to know about the policy that is not a loss: what a runtime does otherwise than that of the source, by rules of its
    /// own, and what other programs cannot read.
    pub notes: Vec<Loss>,
    /// Whether a container profile was compared with runc's rule for numbers above the largest named one, or without.
    pub enosys_above: EnosysAbove,
}

/// Converts a filter, given as its MTBDD, to a policy in another language; see the [module](super).
///
/// # Errors
/// If the target cannot express the filter, if the filter is too complex, or because of a defect in this crate.
pub fn convert_diagram(
    store: &mut Store,
    source: impl Into<Original>,
    options: &ConvertOptions,
) -> Result<Converted> {
    let source = source.into();
    let mut best: Option<(Cost, Result<Converted>)> = None;
    for attempt in attempts(source, options) {
        let own = ConvertOptions { enosys_above: Some(attempt.enosys_above), ..options.clone() };
        let mut added = 0;
        let result = convert_once(store, attempt, &own).and_then(|(mut converted, written)| {
            let text = (&*converted.text, written);
            let notes = runtime_notes(store, text, (source, attempt), options, &converted.arches)?;
            added = notes.len();
            converted.notes.extend(notes);
            Ok(converted)
        });
        let cost = cost(&result, added);
        let is_better = best.as_ref().is_none_or(|(least, _)| match is_profile(options) {
            true => cost < *least,
            // If something is lost anyway, rather the rule of the runtime than what the profile says.
            false => (cost.0, cost.1, cost.2) <= (least.0, least.1, least.2),
        });
        if is_better {
            best = Some((cost, result));
        }
        if cost == NOTHING {
            break;
        }
    }
    let nothing = || Err(ConvertError::defect("nothing was attempted"));
    best.map_or_else(nothing, |(_, result)| result)
}

/// Whether there is no policy, the syscalls with losses, the losses, and the notes about the runtime.
type Cost = (bool, usize, usize, usize);

const NOTHING: Cost = (false, 0, 0, 0);

/// What is lost: the least is the best result.
fn cost(result: &Result<Converted>, notes: usize) -> Cost {
    let losses = match result {
        Ok(converted) => converted.losses.as_slice(),
        Err(error) if error.losses().is_empty() => return (true, usize::MAX, usize::MAX, 0),
        Err(error) => error.losses(),
    };
    let syscalls = losses.iter().map(|loss| loss.syscalls.len()).sum();
    (result.is_err(), syscalls, losses.len(), notes)
}

/// Converts a function to a policy, which is read back as the options say.
fn convert_once(
    store: &mut Store,
    attempt: Attempt,
    options: &ConvertOptions,
) -> Result<(Converted, Func)> {
    let func = attempt.func;
    store.reset_steps();
    let mut fit = Fit::new(store, func, &options.arches)?;
    fit.applied = attempt.applied;
    if fit.arches.is_empty() {
        let why = "the filter is the same for all architectures, and none is given".to_owned();
        return Err(ConvertError::unsupported(why));
    }
    if !options.flags.is_empty() && !is_profile(options) {
        let names = options.flags.each().map(|(_, name, _)| format!("SECCOMP_FILTER_FLAG_{name}"));
        let names: Vec<String> = names.collect();
        fit.note(&format!("{} has no place for {}", options.target, names.join(" and ")));
    }
    if options.listener.is_some() && !is_profile(options) {
        fit.note(&format!("{} has no place for the path of the listener", options.target));
    }
    let (text, written) = loop {
        fit.take_notes();
        let text = write(&mut fit, options)?;
        if !fit.is_exact() && !options.closest {
            let losses = fit.into_losses()?;
            let target = options.target.name();
            return Err(ConvertError(ConvertErrorKind::Inexpressible { target, losses }));
        }
        if let Some(why) = fit.laxer() {
            let target = options.target.name();
            let why = format!("every policy of {target} would permit more than the filter: {why}");
            return Err(ConvertError::unsupported(why));
        }
        fit.store.reset_steps();
        let arches = fit.arches.clone();
        let written = match read_back(fit.store, &text, options, &arches) {
            Err(error) if is_about_multiplexers(&error) => {
                drop_multiplexers(&mut fit, error, options)?;
                continue;
            }
            read => read?,
        };
        if written == fit.func {
            break (text, written);
        }
        drop_differing(&mut fit, written, options)?;
    };
    let (arches, notes) = (fit.arches.clone(), fit.take_notes());
    let losses = fit.into_losses()?;
    let stricter = match losses.is_empty() {
        true if written == func => None,
        true => return Err(ConvertError::defect("the policy differs from the filter")),
        false => find_laxer(store, func, written, options, &arches)?,
    };
    match stricter {
        None => {
            let enosys_above = attempt.enosys_above;
            Ok((Converted { text, arches, losses, notes, enosys_above }, written))
        }
        Some(example) => Err(ConvertError::defect(format!(
            "the nearest policy permits more than the filter, for example {example:x?}"
        ))),
    }
}

/// Writes what the target can express of a filter; the rest is noted as losses.
fn write(fit: &mut Fit<'_>, options: &ConvertOptions) -> Result<String> {
    let ConvertOptions { target, closest, enosys_above, systemd, flags, .. } = *options;
    let Some(writer) = target.writer() else {
        return Err(ConvertError::defect(format!("{target} has no writer")));
    };
    let read_back =
        |store: &mut Store, text: &str, arches: &[Arch]| read_back(store, text, options, arches);
    let writing = Writing {
        target: target.name(),
        dialect: writer.dialect,
        closest,
        enosys_above,
        systemd,
        name: options.name.as_deref(),
        flags,
        listener: options.listener.as_ref(),
        read_back: &read_back,
    };
    (writer.write)(fit, &writing)
}

/// Whether the policy also names its architectures, the flags for `seccomp(2)`, and the listener.
fn is_profile(options: &ConvertOptions) -> bool {
    options.target.writer().is_some_and(|writer| writer.dialect.is_some())
}

/// Drops the architectures for which the policy means something else, because libseccomp applies its rules to
/// `socketcall` and `ipc`, too.
fn drop_differing(fit: &mut Fit<'_>, written: Func, options: &ConvertOptions) -> Result<()> {
    let differs = |fit: &Fit<'_>, arch: &Arch| {
        fit.numbers(arch.token()) != fit.store.follow(written, Word::ARCH, arch.token())
    };
    let main = fit.arches.first().copied();
    let dropped: Vec<Arch> = fit
        .arches
        .iter()
        .copied()
        .filter(|arch| differs(fit, arch) && arch.has_multiplexers())
        .collect();
    let Some(first) = dropped.first().filter(|_| is_profile(options)) else {
        let example = fit.store.witness(fit.func, written, SeccompData::default())?;
        return Err(ConvertError::defect(format!(
            "what was written means something else, for example for {:x?}",
            example.unwrap_or_default()
        )));
    };
    let why = of_multiplexers(*first);
    if Some(*first) == main {
        if options.closest {
            return Err(ConvertError::unsupported(why));
        }
        return fit.note_difference(written, &why);
    }
    drop_arches(fit, &dropped, &why)
}

/// Drops the architectures with `socketcall` and `ipc`, because libseccomp rejects the rules that it applies to them.
fn drop_multiplexers(
    fit: &mut Fit<'_>,
    rejected: ConvertError,
    options: &ConvertOptions,
) -> Result<()> {
    let arches = fit.arches.iter().copied();
    let dropped: Vec<Arch> = arches.filter(|arch| arch.has_multiplexers()).collect();
    match dropped.first().filter(|_| is_profile(options)) {
        None => Err(rejected),
        Some(first) if fit.arches.first() == Some(first) => {
            Err(ConvertError::unsupported(of_multiplexers(*first)))
        }
        Some(first) => drop_arches(fit, &dropped, &of_multiplexers(*first)),
    }
}

/// Whether the reader of the target rejects rules for `socketcall` or `ipc` that contradict those of syscalls behind them. It
/// names the later rule, which is for either.
fn is_about_multiplexers(error: &ConvertError) -> bool {
    let ConvertErrorKind::Refused { messages, .. } = &error.0 else { return false };
    let texts = |name| [format!("(through `{name}` on "), format!("`{name}` gets ")];
    MULTIPLEXERS.iter().flat_map(texts).any(|text| messages.contains(&text))
}

fn of_multiplexers(arch: Arch) -> String {
    format!("libseccomp also applies rules to socketcall and ipc of {arch}")
}

fn drop_arches(fit: &mut Fit<'_>, dropped: &[Arch], why: &str) -> Result<()> {
    fit.arches.retain(|arch| !dropped.contains(arch));
    fit.set_others(BAD_ARCH, &format!("{why}, so this is not an architecture of the profile"))
}

/// A syscall for which the policy permits more than the filter; `None` proves that there is none.
fn find_laxer(
    store: &mut Store,
    func: Func,
    written: Func,
    options: &ConvertOptions,
    arches: &[Arch],
) -> Result<Option<SeccompData>> {
    store.reset_steps();
    let machines = options.target.writer().and_then(|writer| writer.machines);
    let Some((main, machines)) = arches.first().zip(machines) else {
        return laxer(store, func, written);
    };
    for arch in machines(*main, options.systemd) {
        let [old, new] = [func, written].map(|func| store.follow(func, Word::ARCH, arch.token()));
        if let Some(example) = laxer(store, old, new)? {
            return Ok(Some(SeccompData { arch: arch.token(), ..example }));
        }
    }
    Ok(None)
}

/// A function that a policy must have, and how the policy is read back for it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Attempt {
    pub(crate) func: Func,
    pub(crate) enosys_above: EnosysAbove,
    /// The filter as its runtime applies it, if the policy has to name the bounds of runc's rule for it.
    pub(crate) applied: Option<Func>,
}

/// The attempts, the best first. The policy that loses least is written, and of these the one about whose runtime least is to
/// be known.
fn attempts(source: Original, options: &ConvertOptions) -> Vec<Attempt> {
    let Original { applied, own } = source;
    let has_rules = applied != own;
    if let Some(enosys_above) = options.enosys_above {
        return vec![Attempt { func: applied, enosys_above, applied: None }];
    }
    let without = |func, applied| Attempt { func, enosys_above: EnosysAbove::Off, applied };
    let with_rules = Attempt { func: applied, enosys_above: EnosysAbove::On, applied: None };
    match options.target.writer().map(|writer| writer.enosys_rule) {
        // runc always adds its rule, also for a filter that does not have it, but not without a name above number 0.
        Some(EnosysRule::Always) => {
            vec![with_rules, without(own, Some(applied)), without(own, None)]
        }
        Some(EnosysRule::OnlyRunc | EnosysRule::Perhaps) if has_rules => {
            vec![without(own, Some(applied)), with_rules]
        }
        // The filter of a container has the rule in its program.
        Some(EnosysRule::OnlyRunc | EnosysRule::Perhaps) => vec![without(own, None), with_rules],
        // Other programs have no such rule, but most languages can say it.
        _ if has_rules => vec![without(applied, None), without(own, None)],
        _ => vec![without(own, None)],
    }
}

const ADDED: &str = "runc makes numbers above the largest named one fail with ENOSYS; that is a rule of the runtime, not of \
                     the profile";
const ONLY_RUNC: &str = "only runc makes numbers above the largest named one fail with ENOSYS; other runtimes deny them as the \
                         profile does";
const MISSING: &str = "runc makes numbers above the largest one that a profile names fail with ENOSYS; that is a rule of the \
                       runtime, not of the profile, and this policy does not have it";

/// The notes about a text that means `written` as it was read back for an attempt. An error if it permits more there than the
/// filter where that is installed.
fn runtime_notes(
    store: &mut Store,
    (text, written): (&str, Func),
    (source, attempt): (Original, Attempt),
    options: &ConvertOptions,
    arches: &[Arch],
) -> Result<Vec<Loss>> {
    if options.enosys_above.is_some() {
        return Ok(Vec::new());
    }
    store.reset_steps();
    let mut read = |enosys_above| {
        let options = ConvertOptions { enosys_above: Some(enosys_above), ..options.clone() };
        read_back(store, text, &options, arches)
    };
    let rule = options.target.writer().map_or(EnosysRule::Never, |writer| writer.enosys_rule);
    let is_profile = rule != EnosysRule::Never;
    let is_compared = rule == EnosysRule::Always || source.applied != source.own;
    let (funcs, why, is_other): (_, _, fn([Verdict; 3]) -> bool) = match is_profile {
        true if attempt.enosys_above == EnosysAbove::On => {
            if rule == EnosysRule::Always {
                return Ok(Vec::new());
            }
            let without = read(EnosysAbove::Off)?;
            ([written, without, source.applied], ONLY_RUNC, |[with, without, _]| with != without)
        }
        true if is_compared => {
            let with = read(EnosysAbove::On)?;
            ([written, with, source.applied], ADDED, |[own, with, old]| own != with && with != old)
        }
        true => return Ok(Vec::new()),
        false => ([source.own, written, source.applied], MISSING, |[own, new, old]| {
            own != old && new != old
        }),
    };
    let mut found: Vec<([Verdict; 3], SeccompData)> = store.verdict_combinations(funcs)?;
    // Also under these rules, nothing is permitted that the filter denies where it is installed.
    // A systemd unit does not decide about other machines.
    let is_laxer = |(verdicts, _): &&([Verdict; 3], SeccompData)| {
        let [_, new, old] = *verdicts;
        (is_profile || is_other(*verdicts)) && !is_as_strict(new, old)
    };
    if let Some((_, data)) = found.iter().find(is_laxer) {
        let name = Arch::of_syscall(data.arch, data.nr).and_then(|arch| arch.syscall_name(data.nr));
        let name = name.map_or_else(|| format!("syscall {}", data.nr), str::to_owned);
        let why = format!("the policy would permit {name}, which fails with ENOSYS by a runc rule");
        return Err(ConvertError::unsupported(why));
    }
    found.retain(|(verdicts, _)| is_other(*verdicts));
    let mut notes = Losses::default();
    note(&mut notes, why, &found, arches);
    // runc would add to the policy what it adds to the source, but these languages are read without runc's rule.
    if rule == EnosysRule::OnlyRunc && attempt.enosys_above == EnosysAbove::Off {
        let mut found = store.verdict_combinations([source.own, written, source.applied])?;
        found.retain(|([own, new, old], _)| own != old && new != old);
        note(&mut notes, ONLY_RUNC, &found, arches);
    }
    Ok(notes.finish())
}

/// Adds a note with an example, of the main architecture if there is one.
fn note(notes: &mut Losses, why: &str, found: &[([Verdict; 3], SeccompData)], arches: &[Arch]) {
    let main = arches.first().copied();
    let is_main = |data: &SeccompData| Arch::of_syscall(data.arch, data.nr) == main;
    let example = found.iter().find(|(_, data)| is_main(data)).or(found.first());
    if let Some(([_, written, source], data)) = example {
        notes.example(why, Example { data: *data, source: *source, written: *written });
    }
}

/// A filter that is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original {
    /// What it does where it is installed.
    pub applied: Func,
    /// What it does without the rules that a container runtime adds to a profile.
    pub own: Func,
}

impl From<Func> for Original {
    /// A filter to which no runtime adds rules, or of which they are a part.
    fn from(func: Func) -> Original {
        Original { applied: func, own: func }
    }
}
