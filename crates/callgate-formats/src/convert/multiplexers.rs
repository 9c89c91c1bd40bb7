//! `socketcall` and `ipc`: libseccomp also adds rules for the syscalls behind them.

use super::comparisons::Rules;
use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::oci::BAD_ARCH;
use crate::ruleset::{RuleSet, sections};
use callgate_bpf::SyscallTable;
use callgate_core::diagram::Func;
use callgate_core::policy::Policy;
use callgate_core::{Arch, Verdict, Word};

/// The multiplexers.
pub(crate) const MULTIPLEXERS: [&str; 2] = ["socketcall", "ipc"];

/// Whether a syscall stands for several others.
pub(crate) fn is_multiplexer(name: &str) -> bool {
    MULTIPLEXERS.contains(&name)
}

/// The number of the multiplexer that also reaches a syscall.
pub(crate) fn multiplexer(arch: Arch, name: &str) -> Option<u32> {
    arch.number(arch.multiplexed(name)?.0)
}

/// What libseccomp does with a multiplexer for the rules of these names.
pub(crate) fn behind<'r>(
    fit: &mut Fit<'_>,
    (arch, nr): (Arch, u32),
    rules: impl IntoIterator<Item = (&'r str, &'r Rules)>,
    default: Verdict,
) -> Result<Func, ConvertError> {
    let mut set = RuleSet::new(arch);
    for (name, own) in rules {
        for (verdict, all) in own.iter().filter(|(verdict, _)| *verdict != default) {
            set.add_syscall_if_known(name, all, *verdict, ());
        }
    }
    let policy = Policy::new(sections([&set], default, BAD_ARCH), BAD_ARCH);
    let policy = policy.map_err(|error| ConvertError::defect(error.to_string()))?;
    let all = fit.store.policy(&policy)?;
    let numbers = fit.store.follow(all, Word::ARCH, arch.token());
    Ok(fit.store.follow(numbers, Word::NR, nr))
}
