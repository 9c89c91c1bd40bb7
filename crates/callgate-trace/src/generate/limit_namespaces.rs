//! Limits of the namespaces that a profile lets programs create.
//!
//! A process without privileges that may create a user namespace has all capabilities in it, and reaches much more of the
//! kernel. So namespaces are granted only if they were recorded, or on request, and nothing else that was recorded
//! loosens this:
//!
//! - `clone3` has its flags in memory, which filters cannot read. It fails with ENOSYS; glibc, musl and Go then use `clone`
//!   with the same flags, which is granted for that if it was not recorded.
//! - `clone` is limited to the recorded flags of namespaces. In its flags, CLONE_NEWTIME is a bit of the signal that the
//!   parent gets.
//! - `unshare` is limited to the recorded flags.
//!
//! Flags that are not known are taken not to have created a namespace, and so are those of `clone3`.
//!
//! Sources: `include/uapi/linux/sched.h`, `kernel/fork.c` (`kernel_clone`, `check_unshare_flags`) of Linux 6.18;
//! `sysdeps/unix/sysv/linux/clone-internal.c` of glibc.

use super::arg_limit::ArgLimit;
use super::draft::Draft;
use super::grant::{Grant, GrantReason, UnlimitedArg};
use super::limitable::{self, LimitableArg};
use super::namespaces::{ALL, AllowedNamespaces, CLONE, GrantedNamespaces, namespace_names};
use super::options::DenyAction;
use crate::recording::ArgValues;
use callgate_formats::annotated::AnnotatedWriter;

impl Draft {
    /// Limits all grants that could create namespaces.
    pub(super) fn limit_namespaces(&mut self) {
        let AllowedNamespaces::Recorded { and } = self.options.namespaces else { return };
        self.replace_clone3();
        for (name, all) in [("clone", CLONE), ("unshare", ALL)] {
            let Some(limitable) = limitable::of(name).next() else { continue };
            let limited = self.namespace_limit(limitable, all, and);
            let Some(grant) = self.grants.get_mut(name) else { continue };
            if !grant.limits.is_empty() && and == 0 {
                continue;
            }
            match limited {
                Some((limit, is_assumed)) => {
                    grant.unlimited.retain(|unlimited| unlimited.name != limitable.name);
                    if grant.is_recorded() && is_assumed {
                        self.assumed.push(grant.name);
                    }
                    grant.limits = vec![limit];
                }
                None => {
                    let why = "it is another argument on one of the architectures";
                    grant.unlimited.push(UnlimitedArg::new(limitable.name, why));
                }
            }
        }
    }

    /// `clone3` fails with ENOSYS, and what it did is granted for `clone`.
    fn replace_clone3(&mut self) {
        let Some(grant) = self.grants.remove("clone3") else { return };
        self.refused.push("clone3");
        if self.exists("clone") && !self.grants.contains_key("clone") {
            let reason = match grant.reason {
                GrantReason::Recorded(_) => GrantReason::Sibling {
                    of: "clone3",
                    why: "libraries use clone if clone3 fails with ENOSYS",
                },
                other => other,
            };
            let clone = Grant { code: grant.code, ..Grant::new("clone", reason) };
            self.grants.insert("clone", clone);
        }
    }

    /// A limit to the namespaces that are known to have been created, and whether some flags are not known; `None` if
    /// the architectures have the flags in different arguments.
    fn namespace_limit(
        &self,
        limitable: &LimitableArg,
        all: u64,
        and: u64,
    ) -> Option<(ArgLimit, bool)> {
        let arg = limitable.common_position(&self.arches)?;
        let mut known = ArgValues::default();
        let mut is_assumed = false;
        for (syscall, stats) in self.recorded.syscalls() {
            if syscall.name() == Some(limitable.syscall) {
                is_assumed |= !stats.is_known(usize::from(arg));
                stats.args().get(usize::from(arg)).into_iter().for_each(|one| known.unite(one));
            }
        }
        let none = ArgValues::from_values(1, [0]);
        let why = "new namespaces expose more of the kernel";
        let (mask, name) = (all & !and, limitable.name);
        let mut limit = ArgLimit::of(arg, name, mask, why, &known)
            .or_else(|| ArgLimit::of(arg, name, mask, why, &none))?;
        limit.widen(&[0]);
        Some((limit, is_assumed))
    }

    /// Which namespaces can be created. The `setns` syscall enters namespaces of others.
    pub fn granted_namespaces(&self) -> Vec<GrantedNamespaces> {
        let mut granted = Vec::new();
        for (syscall, all) in [("clone", CLONE), ("clone3", ALL), ("unshare", ALL)] {
            let Some(grant) = self.grants.get(syscall) else { continue };
            let flags = match grant.limits.first() {
                Some(limit) => limit.possible_bits() & all,
                None => all,
            };
            let recorded = self.recorded_flags(syscall, all);
            for (is_recorded, flags) in [(true, flags & recorded), (false, flags & !recorded)] {
                if flags != 0 {
                    let names = namespace_names(flags);
                    granted.push(GrantedNamespaces { syscall, names, is_recorded });
                }
            }
        }
        granted
    }

    /// The namespaces for `RestrictNamespaces=` of a unit; `None` if the unit has no such line: a profile that only logs
    /// denies nothing, and the line would deny a recorded `setns` that enters any kind of namespace, or one that is not
    /// known.
    pub(super) fn unit_namespaces(&self) -> Option<u64> {
        let AllowedNamespaces::Recorded { and } = self.options.namespaces else { return None };
        if self.options.deny == DenyAction::Log {
            return None;
        }
        let mut entered = 0;
        for (syscall, stats) in self.recorded.syscalls() {
            if syscall.name() == Some("setns") {
                let kinds = stats.known(1)?.all()?;
                entered = kinds.iter().try_fold(entered, |all, kind| match kind & ALL {
                    0 => None,
                    kind => Some(all | kind),
                })?;
            }
        }
        let in_code = self.grants.get("setns").is_some_and(|grant| grant.code.is_some());
        // systemd also denies the bit of CLONE_NEWTIME in `clone`.
        let created = self.recorded_flags("clone", ALL) | self.recorded_flags("unshare", ALL);
        (!in_code).then_some(and | entered | created)
    }

    /// Syscalls that a unit lists because `RestrictNamespaces=` makes them fail with ENOSYS: without the list, they would
    /// get the default action, which may kill the process.
    pub fn listed_for_directives(
        &self,
        to: &AnnotatedWriter,
    ) -> impl Iterator<Item = &'static str> {
        let is_listed = !to.has_arguments()
            && (self.options.deny == DenyAction::Log || self.unit_namespaces().is_some());
        self.refused.iter().copied().filter(move |_| is_listed)
    }

    /// The recorded flags among these.
    fn recorded_flags(&self, name: &str, all: u64) -> u64 {
        let Some(limitable) = limitable::of(name).next() else { return 0 };
        let named = self.recorded.syscalls().filter(|(syscall, _)| syscall.name() == Some(name));
        let flags = named.filter_map(|(syscall, stats)| {
            let arg = limitable.position(syscall.arch)?;
            Some(stats.args().get(usize::from(arg))?.bounds()?.ever & all)
        });
        flags.fold(0, |all, flags| all | flags)
    }
}
