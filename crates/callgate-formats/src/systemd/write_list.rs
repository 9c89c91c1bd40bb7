//! Lists of `SystemCallFilter=`, and the verdicts that they can give.

use callgate_bpf::SyscallTable;
use std::collections::BTreeSet;

use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::convert::strictness::strictest;
use callgate_core::{Action, Arch, Verdict};

/// The largest errno that libseccomp accepts.
const MAX_ERRNO: u16 = 4094;

/// Lists with two verdicts for syscalls that they do not contain.
pub(crate) struct List {
    /// Whether it lists what is allowed.
    pub(crate) allows: bool,
    /// The verdict of denied syscalls without a verdict of their own.
    pub(crate) denied: Verdict,
    /// The verdict of numbers that systemd does not know: since version 255 ENOSYS.
    pub(crate) unknown: Verdict,
    /// The names that systemd knows and the main architecture has.
    pub(crate) known: BTreeSet<&'static str>,
}

impl List {
    /// The verdict of a syscall that is not in the list.
    pub(crate) fn unlisted(&self, name: Option<&str>) -> Verdict {
        match name {
            _ if !self.allows => Verdict::ALLOW,
            Some(name) if self.known.contains(name) => self.denied,
            _ => self.unknown,
        }
    }

    /// The nearest verdict that a name can have, and that permits no more.
    pub(crate) fn nearest(&self, name: &str, wanted: Verdict) -> Verdict {
        let unlisted = self.unlisted(Some(name));
        match wanted {
            Verdict::ALLOW | Verdict::LOG => wanted,
            own if own == unlisted || self.can_deny_with(own) => own,
            _ if unlisted.permits() => self.denied,
            _ => unlisted,
        }
    }

    /// Whether an entry of the list can have this verdict.
    pub(crate) fn can_deny_with(&self, verdict: Verdict) -> bool {
        let is_denial = match verdict.action() {
            Action::Errno(errno) => errno <= MAX_ERRNO,
            Action::KillProcess => verdict == Verdict::KILL_PROCESS,
            _ => false,
        };
        // libseccomp rejects a rule with the verdict of all other syscalls.
        is_denial && verdict != if self.allows { self.unknown } else { Verdict::ALLOW }
    }
}

/// The verdict of a name on all architectures.
pub(crate) fn of_name(
    fit: &mut Fit<'_>,
    name: &'static str,
    list: &List,
) -> Result<Verdict, ConvertError> {
    let numbers: Vec<(Arch, u32)> =
        fit.arches.iter().filter_map(|arch| Some((*arch, arch.number(name)?))).collect();
    let all: Vec<_> = numbers.iter().map(|(arch, nr)| fit.syscall(arch.token(), *nr)).collect();
    let wanted = strictest(all.iter().map(|func| fit.strictest(*func)));
    let verdict = list.nearest(name, wanted);
    let is_conditional = all.iter().any(|func| fit.store.as_verdict(*func).is_none());
    let why = match () {
        () if is_conditional => "SystemCallFilter= has no conditions on arguments",
        () if verdict != wanted => "SystemCallFilter= cannot deny these syscalls with this action",
        () => "SystemCallFilter= is the same for all architectures",
    };
    for (arch, nr) in numbers {
        fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
    }
    Ok(verdict)
}
