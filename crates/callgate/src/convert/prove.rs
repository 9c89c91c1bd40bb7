//! Reads what was written back, and compares meanings.

use super::error::{ConvertError, ConvertErrorKind};
use super::options::ConvertOptions;
use super::target::Target;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_formats::systemd::UnitText;
use callgate_formats::{kafel, oci, systemd};
use callgate_proof::diagram::{Func, Store};

/// The function of a text in the target language, read for these architectures.
pub(super) fn read_back(
    store: &mut Store,
    text: &str,
    options: &ConvertOptions,
    arches: &[Arch],
) -> Result<Func, ConvertError> {
    let native = arches.first().copied().unwrap_or(Arch::X86_64);
    let refused = |messages: String| {
        ConvertError(ConvertErrorKind::Refused { target: options.target, messages })
    };
    match (options.target, options.target.dialect()) {
        (_, Some(dialect)) => {
            let mut reading = oci::ReadOptions::new(native, options.kernel);
            reading.dialect = Some(dialect);
            reading.enosys_above = options.enosys_above;
            let profile = oci::read(text, &reading).map_err(|error| refused(error.to_string()))?;
            Ok(store.policy(&profile.policy)?)
        }
        (Target::Systemd, _) => {
            let mut reading = systemd::ReadOptions::new(native, options.kernel);
            reading.version = options.systemd;
            let unit = systemd::read(&[UnitText::unit(text)], &reading)
                .map_err(|error| refused(error.to_string()))?;
            let mut kept = store.verdict(Verdict::ALLOW)?;
            for filter in unit.filters.iter().rev() {
                let next = store.policy(&filter.policy)?;
                kept = store.highest_precedence(kept, next)?;
            }
            Ok(kept)
        }
        _ => {
            let reading = kafel::ReadOptions { arches: arches.to_vec() };
            let profile =
                kafel::read(text, &reading).map_err(|error| refused(error.to_string()))?;
            Ok(store.policy(&profile.policy)?)
        }
    }
}
