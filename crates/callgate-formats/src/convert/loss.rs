//! What a target cannot express.

use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use std::collections::BTreeMap;
use std::fmt;

use callgate_core::{Arch, SeccompData, Verdict};

/// A property of a filter that a target cannot express, with the syscalls that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Why the target cannot express it.
    pub why: String,
    /// The syscalls with a name, per architecture, ordered by name.
    pub syscalls: Vec<(Arch, &'static str)>,
    /// An example; `None` if no verdict changes, as for the flags of a filter.
    pub example: Option<Example>,
}

/// A syscall whose verdict changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Example {
    /// The syscall.
    pub data: SeccompData,
    /// The verdict of the source.
    pub source: Verdict,
    /// The verdict of the nearest policy.
    pub written: Verdict,
}

impl Example {
    /// The architecture of the syscall.
    pub fn arch(&self) -> Option<Arch> {
        Arch::of_syscall(self.data.arch, self.data.nr)
    }
}

/// Why a syscall cannot have rules of its own on each architecture of a container profile.
pub(crate) const AN_ENTRY_IS_FOR_ALL: &str = "an entry is for all architectures of the profile";

/// Why a syscall cannot have rules of its own on each architecture of a host.
pub(crate) const A_RULE_IS_FOR_ALL: &str = "a rule is for all architectures of the host";

/// Why rules for a syscall change others.
pub(crate) const MULTIPLEXED: &str = "libseccomp also applies rules to socketcall and ipc";

/// Why a number without a name has the verdict that runc gives it.
pub(crate) const NUMBERS_ABOVE_FAIL: &str =
    "runc makes numbers above the largest named one fail with ENOSYS";

/// The maximum number of names in the text of a loss.
const SHOWN: usize = 6;

impl Loss {
    /// Whether it is lost because a policy is for several architectures.
    pub(crate) fn is_about_arches(&self) -> bool {
        [AN_ENTRY_IS_FOR_ALL, MULTIPLEXED].contains(&&*self.why)
    }

    /// Whether it is lost because the filter does not treat all architectures of a host alike.
    pub(crate) fn is_about_hosts(&self) -> bool {
        self.why == A_RULE_IS_FOR_ALL
    }

    /// How the filter may be read or converted without this loss, for interfaces that word it in their own way.
    pub fn advice(&self) -> Option<Advice> {
        (self.why == NUMBERS_ABOVE_FAIL).then_some(Advice::WithoutRuntimeRules)
    }

    /// The names of the syscalls, each once.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.syscalls.iter().map(|(_, name)| *name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.why)?;
        let names = self.names();
        if !names.is_empty() {
            write!(f, ": {}", names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", "))?;
            if let Some(more @ 1..) = names.len().checked_sub(SHOWN) {
                write!(f, " and {more} more")?;
            }
        }
        Ok(())
    }
}

/// Collects losses; those with the same reason become one.
#[derive(Debug, Default)]
pub(crate) struct Losses(BTreeMap<String, Loss>);

impl Losses {
    /// Adds a loss that changes a verdict.
    pub(crate) fn add(&mut self, why: &str, data: SeccompData, source: Verdict, written: Verdict) {
        let example = Example { data, source, written };
        let named = example.arch().and_then(|arch| Some((arch, arch.syscall_name(data.nr)?)));
        let loss = self.of(why);
        loss.example.get_or_insert(example);
        loss.syscalls.extend(named);
    }

    /// Adds an example, which stands for others.
    pub(crate) fn example(&mut self, why: &str, example: Example) {
        self.of(why).example.get_or_insert(example);
    }

    /// Adds what changes no verdict of these syscalls.
    pub(crate) fn about(
        &mut self,
        why: &str,
        syscalls: impl IntoIterator<Item = (Arch, &'static str)>,
    ) {
        self.of(why).syscalls.extend(syscalls);
    }

    /// Adds a loss that changes no verdict.
    pub(crate) fn note(&mut self, why: &str) {
        self.of(why);
    }

    /// The loss with this reason.
    fn of(&mut self, why: &str) -> &mut Loss {
        let new = || Loss { why: why.to_owned(), syscalls: Vec::new(), example: None };
        self.0.entry(why.to_owned()).or_insert_with(new)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The losses, those that concern most syscalls first.
    pub(crate) fn finish(self) -> Vec<Loss> {
        let mut losses: Vec<Loss> = self.0.into_values().collect();
        for loss in &mut losses {
            loss.syscalls.sort_by_key(|(arch, name)| (*name, *arch));
            loss.syscalls.dedup();
        }
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.syscalls.len()));
        losses
    }
}
