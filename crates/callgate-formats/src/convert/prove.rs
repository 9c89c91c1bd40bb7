//! Reads what was written back, and compares meanings.

use super::error::{ConvertError, ConvertErrorKind};
use super::options::ConvertOptions;
use super::target::Target;
use crate::systemd::UnitText;
use crate::{firecracker, kafel, lxc, minijail, oci, snap, systemd};
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Severity};
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::Policy;
use callgate_core::{Arch, Verdict};

/// The function of a text in the target language, read for these architectures.
pub(crate) fn read_back(
    store: &mut Store,
    text: &str,
    options: &ConvertOptions,
    arches: &[Arch],
) -> Result<Func, ConvertError> {
    let native = arches.first().copied().unwrap_or(Arch::X86_64);
    let rejected = |messages| rejected(options.target, messages);
    let profile = match options.target {
        Target::Oci | Target::Docker | Target::Podman | Target::Kubernetes => {
            let mut reading = oci::ReadOptions::new(native, options.kernel);
            reading.dialect = Some(options.target.dialect().unwrap_or(oci::Dialect::Oci));
            reading.enosys_above = options.enosys_above;
            oci::read(text, &reading)
        }
        Target::Systemd => {
            let mut reading = systemd::ReadOptions::new(native, options.kernel);
            reading.version = options.systemd;
            let unit = systemd::read(&[UnitText::unit(text)], &reading).map_err(|errors| {
                let messages = errors.into_vec().into_iter().map(|one| one.diagnostic);
                rejected(messages.collect::<Vec<Diagnostic>>().into())
            })?;
            return stacked(store, unit.filters.iter().map(|filter| &filter.policy));
        }
        Target::Kafel => kafel::read(text, &kafel::ReadOptions::for_arches(arches.to_vec())),
        Target::Minijail => {
            minijail::read(text, &minijail::ReadOptions::new(native)).map(|policy| policy.profile)
        }
        Target::Firecracker => firecracker::read(text, &firecracker::ReadOptions::new(native)),
        Target::Lxc => lxc::read(text, &lxc::ReadOptions::new(native)),
        Target::Snap => {
            let filters = snap::read(text, &snap::ReadOptions::new(native), &mut |_, name| {
                snap::system_id(name)
            })
            .map_err(rejected)?;
            return stacked(store, [&filters.deny, &filters.allow]);
        }
    };
    Ok(store.policy(&profile.map_err(rejected)?.policy)?)
}

/// The error for a text that the reader rejects.
fn rejected(target: Target, messages: Diagnostics) -> ConvertError {
    let errors = messages.iter().filter(|one| one.severity == Severity::Error);
    // Readers limit the size of a text, and the number of its rules and comparisons.
    let too_large = errors.map(|one| &one.message).find(|message| {
        ["the limit", "the maximum is"].iter().any(|limit| message.contains(limit))
    });
    ConvertError(match too_large {
        Some(message) => ConvertErrorKind::TooLarge { target, message: message.clone() },
        None => ConvertErrorKind::Refused { target, messages: messages.to_string() },
    })
}

/// The meaning of filters that are installed one after the other.
fn stacked<'p>(
    store: &mut Store,
    filters: impl IntoIterator<Item = &'p Policy, IntoIter: DoubleEndedIterator>,
) -> Result<Func, ConvertError> {
    let mut kept = store.verdict(Verdict::ALLOW)?;
    for filter in filters.into_iter().rev() {
        let next = store.policy(filter)?;
        kept = store.highest_precedence(kept, next)?;
    }
    Ok(kept)
}
