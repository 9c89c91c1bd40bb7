//! What a target cannot express.

use std::collections::BTreeMap;
use std::fmt;

use callgate_bpf::data::SeccompData;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;

/// A property of a filter that a target cannot express, with the syscalls that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Why the target cannot express it.
    pub why: String,
    /// The syscalls with a name, per architecture, ordered by name.
    pub syscalls: Vec<(Arch, &'static str)>,
    /// An example.
    pub example: SeccompData,
    /// The verdict of the source for the example.
    pub source: Verdict,
    /// The verdict that the nearest policy has for the example.
    pub written: Verdict,
}

/// The maximum number of names in the text of a loss.
const SHOWN: usize = 6;

impl Loss {
    /// The names of the syscalls, each once.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.syscalls.iter().map(|(_, name)| *name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The architecture of the example.
    pub fn arch(&self) -> Option<Arch> {
        Arch::of_syscall(self.example.arch, self.example.nr)
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
pub(super) struct Losses(BTreeMap<String, Loss>);

impl Losses {
    pub(super) fn add(
        &mut self,
        why: impl Into<String>,
        example: SeccompData,
        source: Verdict,
        written: Verdict,
    ) {
        let why = why.into();
        let arch = Arch::of_syscall(example.arch, example.nr);
        let named = arch.and_then(|arch| Some((arch, arch.syscall_name(example.nr)?)));
        let loss = Loss { why: why.clone(), syscalls: Vec::new(), example, source, written };
        self.0.entry(why).or_insert(loss).syscalls.extend(named);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The losses, those that concern most syscalls first.
    pub(super) fn finish(self) -> Vec<Loss> {
        let mut losses: Vec<Loss> = self.0.into_values().collect();
        for loss in &mut losses {
            loss.syscalls.sort_by_key(|(arch, name)| (*name, *arch));
            loss.syscalls.dedup();
        }
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.syscalls.len()));
        losses
    }
}
