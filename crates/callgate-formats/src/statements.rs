//! Rules as a profile states them: where each is in the text, and what it says about which syscall.
//!
//! The rules of a policy are the result of combining these; statements tell which part of the text is the reason for a
//! verdict.

use std::fmt;

use crate::capabilities::CapSet;
use crate::libseccomp_versions::LibseccompVersion;
use callgate_bpf::diagnostic::Position;
use callgate_core::policy::{Condition, Section};
use callgate_core::{Arch, SeccompData, SyscallSet, Verdict};

/// A place in a profile or in a file that it includes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The name of the included file; `None` for the profile itself.
    pub file: Option<String>,
    /// Line and column there.
    pub position: Position,
}

/// A rule for one syscall of one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Where the text names the syscall, or the group with it.
    pub site: Site,
    /// The name there.
    pub name: String,
    /// The architecture.
    pub arch: Arch,
    /// The number of the syscall, or that of a multiplexer such as `socketcall`.
    pub nr: u32,
    /// The condition on the arguments.
    pub when: Condition,
    /// The verdict if the condition holds.
    pub verdict: Verdict,
}

impl Statement {
    /// Whether the rule is about a syscall, whatever its arguments are.
    pub fn is_about(&self, data: &SeccompData) -> bool {
        self.arch.token() == data.arch && self.nr == data.nr
    }

    /// Whether the rule applies to a syscall with its arguments.
    pub fn applies_to(&self, data: &SeccompData) -> bool {
        self.is_about(data) && self.when.holds(data)
    }
}

/// A rule that does not apply on this machine or in this container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inactive {
    /// Where the text names the syscall.
    pub site: Site,
    /// The name there.
    pub name: String,
    /// The verdict that it would have.
    pub verdict: Verdict,
    /// Why it does not apply. Its text is a clause: `it needs CAP_SYS_PTRACE, which the container does not have`.
    pub reason: Inactivity,
    /// The missing capabilities, if they are the reason.
    pub missing: CapSet,
}

/// Why a rule does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inactivity {
    /// Its verdict is that of the default action.
    DefaultAction,
    /// The architecture does not have the syscall.
    MissingOn(Arch),
    /// This version of libseccomp has no number for it on the architecture.
    UnknownTo(LibseccompVersion, Arch),
    /// The rule needs another capability, kernel or architecture; the text says which.
    Elsewhere(String),
}

impl fmt::Display for Inactivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inactivity::DefaultAction => f.write_str("its action is the default action"),
            Inactivity::MissingOn(arch) => write!(f, "{arch} does not have this syscall"),
            Inactivity::UnknownTo(version, arch) => {
                write!(f, "libseccomp {version} does not know this syscall on {arch}")
            }
            Inactivity::Elsewhere(reason) => f.write_str(reason),
        }
    }
}

/// A rule that applies only to processes with capabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gated {
    /// Where the text names the syscall.
    pub site: Site,
    /// The name there.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The capabilities, all of which it needs.
    pub capabilities: CapSet,
}

/// A rule that no text states, because the program that installs the filter adds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The arch token.
    pub token: u32,
    /// The syscalls.
    pub syscalls: SyscallSet,
    /// The verdict.
    pub verdict: Verdict,
    /// What it is, such as `the number is larger than all that the profile names`.
    pub reason: &'static str,
}

/// What a profile states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    /// The rules, in the order of the text.
    pub rules: Vec<Statement>,
    /// The rules that do not apply here.
    pub inactive: Vec<Inactive>,
    /// The rules that need capabilities, in effect or not.
    pub gated: Vec<Gated>,
    /// The rules that no text states. They precede those of the text.
    pub builtin: Vec<Builtin>,
    /// Where the default action is; `None` if the profile does not state it.
    pub default: Option<Site>,
}

impl Statements {
    /// Gives the variables of all conditions these values.
    pub fn give(&mut self, values: &[u64]) {
        for rule in &mut self.rules {
            rule.when = rule.when.given(values);
        }
    }

    /// The places in it.
    pub(crate) fn sites_mut(&mut self) -> impl Iterator<Item = &mut Site> {
        let rules = self.rules.iter_mut().map(|rule| &mut rule.site);
        let inactive = self.inactive.iter_mut().map(|rule| &mut rule.site);
        let gated = self.gated.iter_mut().map(|rule| &mut rule.site);
        rules.chain(inactive).chain(gated).chain(&mut self.default)
    }

    /// The same, where the profile itself is a file with this name.
    #[must_use]
    pub fn of_file(mut self, name: &str) -> Statements {
        for site in self.sites_mut() {
            site.file.get_or_insert_with(|| name.to_owned());
        }
        self
    }
}

/// The rules for the numbers of an ABI that shares its arch token with one of a policy, but is not part of it.
pub(crate) fn other_abis(sections: &[Section], verdict: Verdict) -> Vec<Builtin> {
    let reason = "the number is that of another ABI, for which there are no rules";
    let others = sections.iter().map(|section| Builtin {
        token: section.token(),
        syscalls: section.other_abi(),
        verdict,
        reason,
    });
    others.filter(|rule| !rule.syscalls.is_empty()).collect()
}
