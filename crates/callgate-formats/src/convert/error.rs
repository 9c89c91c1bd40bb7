//! Errors of conversions, and what a target cannot express.

use std::collections::BTreeMap;
use std::fmt;

use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Help;
use callgate_core::diagram::DiagramError;
use callgate_core::{Arch, SeccompData, Verdict};

/// Why there is no conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertError(pub(crate) ConvertErrorKind);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConvertErrorKind {
    Inexpressible { target: &'static str, losses: Vec<Loss> },
    Diagram(DiagramError),
    ComparedArguments,
    TooManyAlternatives { given: usize, syscall: String },
    TooManyNumbers { limit: usize, arch: String },
    Unsupported(String),
    TooLarge { target: &'static str, message: String },
    Refused { target: &'static str, messages: String },
    Defect(String),
}

/// What can only fail for a reason of a conversion.
pub(crate) type Result<T, E = ConvertError> = std::result::Result<T, E>;

/// Why the conditions of a syscall have no alternatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    Diagram(DiagramError),
    /// There are more than [`MAX_ALTERNATIVES`]; `usize::MAX` if their number is not known.
    TooMany(usize),
}

impl From<DiagramError> for Stop {
    fn from(error: DiagramError) -> Stop {
        Stop::Diagram(error)
    }
}

impl ConvertError {
    /// The error for a defect of this crate.
    #[doc(hidden)]
    pub fn defect(why: impl Into<String>) -> ConvertError {
        ConvertError(ConvertErrorKind::Defect(why.into()))
    }

    /// The error for a filter that no policy of the target means.
    pub(crate) fn unsupported(why: impl Into<String>) -> ConvertError {
        ConvertError(ConvertErrorKind::Unsupported(why.into()))
    }

    pub(crate) fn too_many_numbers(limit: usize, arch: String) -> ConvertError {
        ConvertError(ConvertErrorKind::TooManyNumbers { limit, arch })
    }

    /// The error for the conditions of a syscall.
    pub(crate) fn of_syscall(stop: Stop, syscall: impl FnOnce() -> String) -> ConvertError {
        ConvertError(match stop {
            Stop::Diagram(error) => ConvertErrorKind::Diagram(error),
            Stop::TooMany(given) => {
                ConvertErrorKind::TooManyAlternatives { given, syscall: syscall() }
            }
        })
    }

    /// What the target cannot express, if that is the reason; each with an example.
    pub fn losses(&self) -> &[Loss] {
        match &self.0 {
            ConvertErrorKind::Inexpressible { losses, .. } => losses,
            _ => &[],
        }
    }

    /// Whether the reason is a defect of this crate, not the filter or the target.
    pub fn is_defect(&self) -> bool {
        match &self.0 {
            ConvertErrorKind::Defect(_) => true,
            ConvertErrorKind::Diagram(error) => error.is_defect(),
            _ => false,
        }
    }

    /// What to do.
    pub fn help(&self) -> String {
        self.what_to_do().to_string()
    }

    /// The advice that interfaces word in their own way, if [`ConvertError::help`] is such advice.
    pub fn advice(&self) -> Option<Advice> {
        self.what_to_do().advice().cloned()
    }

    fn what_to_do(&self) -> Help {
        Help::from(match &self.0 {
            ConvertErrorKind::Inexpressible { losses, .. }
                if losses.iter().any(Loss::is_about_arches) =>
            {
                return Advice::ClosestOrOneArch.into();
            }
            ConvertErrorKind::Inexpressible { losses, .. }
                if losses.iter().any(Loss::is_about_hosts) =>
            {
                return Advice::AllArchesOfHost.into();
            }
            ConvertErrorKind::Inexpressible { .. } => return Advice::ClosestOrCompile.into(),
            ConvertErrorKind::Diagram(error) if error.is_out_of_budget() => {
                "split the filter into a stack of simpler filters"
            }
            ConvertErrorKind::Diagram(error) if error.needs_values() => {
                "give the variables values: policies of other languages have none"
            }
            ConvertErrorKind::ComparedArguments => {
                "keep it as a Kafel policy or a BPF program; `callgate policy` writes it as a policy text"
            }
            ConvertErrorKind::TooManyAlternatives { .. } => {
                "compare fewer arguments of this syscall with each other"
            }
            ConvertErrorKind::TooManyNumbers { .. } => {
                "no policy language can list that many syscall numbers; keep the filter as a BPF program"
            }
            ConvertErrorKind::Unsupported(_) => return Advice::OtherTargetOrArch.into(),
            ConvertErrorKind::TooLarge { .. } => return Advice::FewerValuesOrCompile.into(),
            ConvertErrorKind::Refused { .. } => return Advice::OtherTargetOrCompile.into(),
            _ => "please report this defect",
        })
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ConvertErrorKind::Inexpressible { target, losses } => {
                let s = if losses.len() == 1 { "" } else { "s" };
                write!(f, "{target} cannot express this filter, for {} reason{s}", losses.len())?;
                losses.iter().try_for_each(|loss| write!(f, "\n{loss}"))
            }
            ConvertErrorKind::Diagram(error) => error.fmt(f),
            ConvertErrorKind::ComparedArguments => {
                f.write_str("the filter compares arguments with each other, which is not converted")
            }
            ConvertErrorKind::TooManyAlternatives { given: usize::MAX, syscall } => write!(
                f,
                "the conditions of {syscall} compare too many values; the limit is {MAX_ALTERNATIVES} \
                 alternatives per syscall"
            ),
            ConvertErrorKind::TooManyAlternatives { given, syscall } => write!(
                f,
                "the conditions of {syscall} need at least {given} alternatives; the limit is {MAX_ALTERNATIVES}"
            ),
            ConvertErrorKind::TooManyNumbers { limit, arch } => write!(
                f,
                "the syscall numbers of {arch} have more than {limit} intervals, which is the limit"
            ),
            ConvertErrorKind::Unsupported(why) => f.write_str(why),
            ConvertErrorKind::TooLarge { target, message } => write!(
                f,
                "the {target} policy of this filter would be too large, so nothing was written: {message}"
            ),
            ConvertErrorKind::Refused { target, messages } => {
                write!(f, "{target} rejects the policy, so nothing was written: {messages}")
            }
            ConvertErrorKind::Defect(why) => {
                write!(f, "internal error: {why}; nothing was written")
            }
        }
    }
}

impl std::error::Error for ConvertError {}

impl From<DiagramError> for ConvertError {
    fn from(error: DiagramError) -> ConvertError {
        ConvertError(ConvertErrorKind::Diagram(error))
    }
}

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
    fn is_about_arches(&self) -> bool {
        [AN_ENTRY_IS_FOR_ALL, MULTIPLEXED].contains(&&*self.why)
    }

    /// Whether it is lost because the filter does not treat all architectures of a host alike.
    fn is_about_hosts(&self) -> bool {
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

/// The maximum number of alternatives of a syscall.
pub(crate) const MAX_ALTERNATIVES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_defects_are_defects() {
        let is_defect = |error: DiagramError| ConvertError::from(error).is_defect();
        assert!(!is_defect(DiagramError::VARIABLES) && !is_defect(DiagramError::nodes(1)));
        assert!(is_defect(DiagramError::defect("nothing")));
    }
}
