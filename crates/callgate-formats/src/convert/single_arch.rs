//! What the languages for one architecture have in common: syscalls by name, each with alternatives of comparisons.

use callgate_bpf::SyscallTable;
use std::collections::BTreeSet;

use super::atoms::{Atom, LowHalf, atoms};
use crate::convert::error::{ConvertError, ConvertErrorKind};
use crate::convert::fit::Fit;
use callgate_core::{Arch, Verdict};

/// Restricts a filter to its main architecture, which is returned.
pub(crate) fn fit_arch(
    fit: &mut Fit<'_>,
    target: &str,
    arches: &[Arch],
) -> Result<Arch, ConvertError> {
    let main = fit.arches.first().copied();
    let Some(arch) = main.filter(|arch| arches.contains(arch)) else {
        let name = main.map_or("this machine", Arch::name);
        let why = format!("{target} has no filters for {name}");
        return Err(ConvertError(ConvertErrorKind::Unsupported(why)));
    };
    fit.arches.truncate(1);
    Ok(arch)
}

/// The syscalls of an architecture, ordered by name.
pub(crate) fn by_name(arch: Arch) -> Vec<(&'static str, u32)> {
    let named: BTreeSet<(&'static str, u32)> =
        arch.syscalls().map(|(nr, name)| (name, nr)).collect();
    named.into_iter().collect()
}

/// The alternatives for which a syscall has a verdict.
pub(crate) fn alternatives_of(
    fit: &mut Fit<'_>,
    (arch, name, nr): (Arch, &str, u32),
    verdict: Verdict,
    low: LowHalf,
) -> Result<Vec<Vec<Atom>>, ConvertError> {
    let func = fit.syscall(arch.token(), nr);
    let found = fit.alternatives(func, verdict).and_then(|all| atoms(&all, low));
    found.map_err(|stop| ConvertError::of_syscall(stop, || format!("{name} ({arch})")))
}
