//! What a policy does otherwise than the filter where the rules of a container runtime decide.

use super::attempts::Attempt;
use super::error::{ConvertError, ConvertErrorKind};
use super::loss::{Example, Loss, Losses};
use super::options::ConvertOptions;
use super::prove::read_back;
use super::source::Source;
use super::strictness::is_as_strict;
use crate::languages::EnosysRule;
use crate::oci::EnosysAbove;
use callgate_bpf::SyscallTable;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, SeccompData, Verdict};

const ADDED: &str = "runc makes numbers above the largest named one fail with ENOSYS; that is a rule of the runtime, not of \
                     the profile";
const ONLY_RUNC: &str = "only runc makes numbers above the largest named one fail with ENOSYS; other runtimes deny them as the \
                         profile does";
const MISSING: &str = "runc makes numbers above the largest one that a profile names fail with ENOSYS; that is a rule of the \
                       runtime, not of the profile, and this policy does not have it";

/// The notes about a text that means `written` as it was read back for an attempt. An error if it permits more there than the
/// filter where that is installed.
pub(crate) fn runtime_notes(
    store: &mut Store,
    (text, written): (&str, Func),
    (source, attempt): (Source, Attempt),
    options: &ConvertOptions,
    arches: &[Arch],
) -> Result<Vec<Loss>, ConvertError> {
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
    // A unit of systemd does not decide about other machines.
    let is_laxer = |(verdicts, _): &&([Verdict; 3], SeccompData)| {
        let [_, new, old] = *verdicts;
        (is_profile || is_other(*verdicts)) && !is_as_strict(new, old)
    };
    if let Some((_, data)) = found.iter().find(is_laxer) {
        let name = Arch::of_syscall(data.arch, data.nr).and_then(|arch| arch.syscall_name(data.nr));
        let name = name.map_or_else(|| format!("syscall {}", data.nr), str::to_owned);
        let why =
            format!("the policy would permit {name}, which fails with ENOSYS by a rule of runc");
        return Err(ConvertError(ConvertErrorKind::Unsupported(why)));
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
