//! The two forms of a list: of what is allowed, and of what is denied.

use callgate_bpf::SyscallTable;
use callgate_codegen::query::has_verdict;
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::{Condition, Policy, PolicyError, Rule, Section};
use callgate_core::{Arch, SyscallSet, Verdict};

use crate::explain::{ArchExplanation, Outcome, Permission};
use callgate_formats::convert::ConvertError;

/// The length from which on the other form of a list matters.
const MIN_LONG: usize = 40;

/// A number, counted from the first one of an architecture, which no kernel has yet.
pub const UNNAMED: u32 = 4000;

/// What a policy lists. The other syscalls, and those that newer kernels add, get its default action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListForm {
    /// An allowlist: what is allowed. New syscalls fail with ENOSYS, as on an older kernel.
    Allowed,
    /// A denylist: what is denied. New syscalls are allowed.
    Denied,
}

impl ListForm {
    /// Both forms.
    pub const ALL: [ListForm; 2] = [ListForm::Allowed, ListForm::Denied];

    /// The name: `allowed`, `denied`.
    pub const fn name(self) -> &'static str {
        match self {
            ListForm::Allowed => "allowed",
            ListForm::Denied => "denied",
        }
    }

    /// The other form.
    #[must_use]
    pub const fn other(self) -> ListForm {
        match self {
            ListForm::Allowed => ListForm::Denied,
            ListForm::Denied => ListForm::Allowed,
        }
    }

    /// The form of a filter, by what it does with syscalls that newer kernels add.
    pub(crate) fn of(arch: &ArchExplanation) -> ListForm {
        let new = arch.arch.first_number() + UNNAMED;
        let outcome = arch.unnamed.iter().find(|(_, numbers)| numbers.contains(new));
        match outcome {
            Some((Outcome::Always(verdict), _)) if verdict.permits() => ListForm::Denied,
            _ => ListForm::Allowed,
        }
    }

    /// How many syscalls with a name such a list contains: those with the other verdict, and those with conditions.
    pub(crate) fn length(self, arch: &ArchExplanation) -> usize {
        let plain = match self {
            ListForm::Allowed => Permission::Always,
            ListForm::Denied => Permission::Never,
        };
        let conditional = [Permission::Sometimes, Permission::Delegated];
        arch.count(plain) + conditional.iter().map(|other| arch.count(*other)).sum::<usize>()
    }

    /// The form of a long list and its length, if the other form has at most half of it, with the length of that.
    pub(crate) fn much_longer(arch: &ArchExplanation) -> Option<(ListForm, [usize; 2])> {
        let own = ListForm::of(arch);
        let lengths = [own, own.other()].map(|form| form.length(arch));
        let [long, short] = lengths;
        (long >= MIN_LONG && 2 * short <= long).then_some((own, lengths))
    }

    /// The lengths of both forms of a long list, if the other one is much shorter: `309 allowed syscalls, or 79 denied ones`.
    pub fn lengths(arch: &ArchExplanation) -> Option<(ListForm, String)> {
        let (form, [long, short]) = ListForm::much_longer(arch)?;
        let (own, other) = (form.name(), form.other().name());
        Some((form, format!("{long} {own} syscalls, or {short} {other} ones")))
    }

    /// The filter in this form: the same for each syscall of these architectures that has a name, and with the verdict of the
    /// form for all other numbers of their ABIs.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn apply(
        self,
        store: &mut Store,
        func: Func,
        arches: &[Arch],
    ) -> Result<Func, ConvertError> {
        let defect = |error: PolicyError| ConvertError::defect(error.to_string());
        let mut changed = func;
        let mut done: Vec<u32> = Vec::new();
        for arch in arches.iter().copied() {
            if done.contains(&arch.token()) {
                continue;
            }
            done.push(arch.token());
            let siblings: Vec<Arch> =
                arches.iter().copied().filter(|other| other.token() == arch.token()).collect();
            let mut section = Section::new(arch, Vec::new(), Verdict::KILL_THREAD);
            for sibling in siblings.iter().copied().filter(|sibling| *sibling != arch) {
                section = section.and_arch(sibling).map_err(defect)?;
            }
            // Permits what keeps its verdict: named syscalls, other ABIs and other architectures.
            let named = siblings.iter().flat_map(|one| one.syscalls().map(|(nr, _)| (nr, nr)));
            let others = section.other_abi();
            let kept = SyscallSet::from_ranges(named.chain(others.ranges().iter().copied()));
            let keep = Rule { syscalls: kept, when: Condition::always(), verdict: Verdict::ALLOW };
            let section = section.with_rules(vec![keep]);
            let policy = Policy::new(vec![section], Verdict::ALLOW).map_err(defect)?;
            let kept = store.policy(&policy)?;
            let kept = has_verdict(store, kept, Verdict::ALLOW)?;
            let other = store.verdict(match self {
                ListForm::Allowed => Verdict::errno(arch.enosys()),
                ListForm::Denied => Verdict::ALLOW,
            })?;
            changed = store.select(kept, changed, other)?;
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::explain;
    use crate::{Description, Filter, arg};
    use callgate_core::SeccompData;

    fn of(names: &[&str]) -> Filter {
        let builder = Filter::builder(Arch::X86_64).default(Verdict::ALLOW);
        let builder = builder.deny_if("ptrace", arg(0).eq(16)).unwrap();
        builder.deny(names.iter().copied()).unwrap().build().unwrap()
    }

    #[test]
    fn named_syscalls_keep_their_verdicts() {
        let filter = of(&["mount"]);
        let mut store = Store::default();
        let func = Description::from(&filter).diagram(&mut store).unwrap();
        let listed = ListForm::Allowed.apply(&mut store, func, &[Arch::X86_64]).unwrap();
        let verdict = |func, nr, first| {
            let args = [first, 0, 0, 0, 0, 0];
            let data = SeccompData { nr, arch: Arch::X86_64.token(), args, ..Default::default() };
            store.evaluate(func, &data).unwrap()
        };
        for (nr, _) in Arch::X86_64.syscalls() {
            for first in [0, 16] {
                assert_eq!(verdict(listed, nr, first), verdict(func, nr, first), "{nr}");
            }
        }
        assert_eq!(verdict(listed, 4000, 0), Verdict::errno(38));
        // Numbers of x32 are not those of the list.
        assert_eq!(verdict(listed, 0x4000_0fa0, 0), verdict(func, 0x4000_0fa0, 0));
        let back = ListForm::Denied.apply(&mut store, listed, &[Arch::X86_64]).unwrap();
        assert_eq!(back, func);
    }

    #[test]
    fn lengths_include_conditions() {
        let filter = of(&["mount", "reboot"]);
        let mut store = Store::default();
        let func = Description::from(&filter).diagram(&mut store).unwrap();
        let explained = explain(&store, func, &[Arch::X86_64]);
        let arch = &explained.arches[0];
        assert_eq!(ListForm::of(arch), ListForm::Denied);
        assert_eq!(ListForm::Denied.length(arch), 3);
        let all = Arch::X86_64.syscalls().count();
        assert_eq!(ListForm::Allowed.length(arch), all - 2);
        assert_eq!(ListForm::much_longer(arch), None, "3 are not many");
    }
}
