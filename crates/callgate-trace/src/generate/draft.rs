//! A profile before it is written in a format.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use super::grant::Grant;
use super::language_runtime::LanguageRuntime;
use super::limitable;
use super::options::{DenyAction, GenerateOptions};
use super::systemd_versions;
use crate::recording::{Evidence, Recording, SyscallId};
use callgate_core::{Arch, Verdict};
use callgate_formats::annotated::AnnotatedWriter;

/// A profile before it is written in a format.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub(super) arches: Vec<Arch>,
    pub(super) options: GenerateOptions,
    pub(super) grants: BTreeMap<&'static str, Grant>,
    pub(super) numbers: Vec<(SyscallId, u64)>,
    pub(super) refused: Vec<&'static str>,
    /// Syscalls that the program that installs the filter tries, and has a fallback for.
    pub(super) tried: Vec<&'static str>,
    /// Syscalls that are limited to no new namespace although some of their recorded flags are not known.
    pub(super) assumed: Vec<&'static str>,
    pub(super) languages: Vec<LanguageRuntime>,
    /// Why granted syscalls are dangerous.
    pub(super) dangers: BTreeMap<&'static str, String>,
    pub(super) recorded: Recording,
}

impl Draft {
    /// The architectures, that with the most recorded syscalls first.
    pub fn arches(&self) -> &[Arch] {
        &self.arches
    }

    /// How it was generated.
    pub fn options(&self) -> &GenerateOptions {
        &self.options
    }

    /// The granted syscalls, ordered by name.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.grants.values()
    }

    /// Whether a format can name a syscall: systemd ignores names that it does not know.
    pub(crate) fn can_name(&self, to: &AnnotatedWriter, name: &str) -> bool {
        !to.is_unit || systemd_versions::knows(self.options.systemd, name)
    }

    /// Whether syscalls are granted because the code of the program can make them.
    pub fn has_code(&self) -> bool {
        self.grants.values().any(|grant| grant.code.is_some())
    }

    /// Recorded numbers without a name, and how often each syscall was made.
    pub fn numbers(&self) -> &[(SyscallId, u64)] {
        &self.numbers
    }

    /// Syscalls that fail with ENOSYS under every [`DenyAction`] but `Log`, so that libraries fall back to a granted
    /// syscall.
    pub fn refused(&self) -> &[&'static str] {
        &self.refused
    }

    /// What was recorded for the architectures of the profile, merged.
    pub fn recorded(&self) -> &Recording {
        &self.recorded
    }

    /// Syscalls that are limited to no new namespace although some of their recorded flags are not known.
    pub fn assumed(&self) -> &[&'static str] {
        &self.assumed
    }

    /// The C library and the language runtimes whose syscalls are granted.
    pub fn languages(&self) -> &[LanguageRuntime] {
        &self.languages
    }

    /// Marks a granted syscall as dangerous: the profile then says why, a sentence without a full stop.
    pub fn mark_dangerous(&mut self, name: &str, why: String) {
        if let Some((name, _)) = self.grants.get_key_value(name) {
            self.dangers.insert(name, why);
        }
    }

    /// Why a granted syscall is dangerous, if it was marked.
    pub fn danger(&self, name: &str) -> Option<&str> {
        self.dangers.get(name).map(String::as_str)
    }

    /// Whether a recorded syscall is refused, or denied with flags that are not known.
    pub fn refuses(&self, name: &str) -> bool {
        self.refused.contains(&name) || self.assumed.contains(&name)
    }

    /// The syscalls that need a rule of their own to fail with ENOSYS.
    pub(super) fn refused_explicitly(
        &self,
        to: &AnnotatedWriter,
    ) -> impl Iterator<Item = &'static str> {
        let needs_rules = self.arches.first().is_some_and(|arch| {
            let default = self.default_verdict_in(to);
            default != Verdict::errno(arch.enosys()) && !default.permits()
        });
        let has_rules = needs_rules && to.has_arguments();
        self.refused.iter().chain(&self.tried).copied().filter(move |_| has_rules)
    }

    /// The verdict of all syscalls that are not granted.
    pub(super) fn default_verdict(&self) -> Verdict {
        self.arches.first().map_or(Verdict::KILL_PROCESS, |arch| self.options.deny.verdict(*arch))
    }

    /// The same in a language. The default action of a resource has no errno but EPERM.
    pub(super) fn default_verdict_in(&self, to: &AnnotatedWriter) -> Verdict {
        match (to.default_errno, self.options.deny) {
            (Some(errno), DenyAction::Enosys) => Verdict::errno(errno),
            _ => self.default_verdict(),
        }
    }

    /// All other syscalls with a name, which get ENOSYS in a format whose default action cannot be ENOSYS. Syscalls behind
    /// `socketcall` and `ipc` keep the default action, and so do these two: a rule for one of them is also one for a
    /// sub-call of the other, and would contradict those that grant it.
    pub(super) fn others_with_enosys(&self, to: &AnnotatedWriter) -> Vec<&'static str> {
        if self.default_verdict_in(to) == self.default_verdict() {
            return Vec::new();
        }
        let syscalls = self.arches.iter().flat_map(|arch| arch.syscalls());
        let is_multiplexed = |name: &str| {
            matches!(name, "socketcall" | "ipc")
                || self.arches.iter().any(|arch| arch.multiplexed(name).is_some())
        };
        let is_decided = |name: &&'static str| {
            is_multiplexed(name)
                || self.grants.contains_key(name)
                || self.refused.contains(name)
                || self.tried.contains(name)
        };
        let mut names: Vec<&str> =
            syscalls.map(|(_, name)| name).filter(|name| !is_decided(name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether a unit grants a syscall.
    pub(super) fn is_granted_by(&self, to: &AnnotatedWriter, name: &str) -> bool {
        let mut others = self.listed_for_directives(to);
        (self.grants.contains_key(name) || others.any(|granted| granted == name))
            && self.can_name(to, name)
    }

    /// Whether an architecture of the profile has a syscall.
    pub(super) fn exists(&self, name: &str) -> bool {
        self.arches.iter().any(|arch| arch.number(name).is_some())
    }

    /// For each recorded value that a limit allows only because it was recorded: the runs that had it. Values that
    /// differ only in bits that are not compared are one.
    pub(crate) fn limited_values(&self) -> Vec<Evidence> {
        let mut all = Vec::new();
        for (syscall, stats) in self.recorded.syscalls() {
            let grant = syscall.name().and_then(|name| self.grants.get(name));
            let Some(grant) = grant.filter(|grant| grant.is_recorded()) else { continue };
            for limit in &grant.limits {
                let usual = |value: u64| {
                    let mut usual = limitable::of(grant.name)
                        .filter(|limitable| limitable.name == limit.name)
                        .flat_map(|limitable| limitable.usual);
                    usual.any(|usual| usual & limit.mask == value)
                };
                let values = stats.args().get(usize::from(limit.arg));
                let seen = values.into_iter().flat_map(|values| values.seen_in_bits(limit.mask));
                all.extend(seen.filter(|(value, _)| !usual(*value)).map(|(_, seen)| seen));
            }
        }
        all
    }
}
