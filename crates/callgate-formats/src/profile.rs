//! Result of reading a profile: a policy, and how its filter is to be installed.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::policy::{Policy, Section};
use callgate_core::template::ValueError;

use crate::oci::Dialect;
use crate::statements::{Builtin, Statements};

/// A policy, and how the profile asks for its filter to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What the filter does.
    pub policy: Policy,
    /// The dialect in which a container profile was read; `None` for other languages.
    pub dialect: Option<Dialect>,
    /// The flags for `seccomp(2)` that the profile asks for.
    pub flags: callgate_bpf::FilterFlags,
    /// The supervisor that handles the syscalls with SCMP_ACT_NOTIFY.
    pub listener: Option<Listener>,
    /// Warnings, in the order of the text: parts that are ignored, or that may not mean what was intended.
    pub warnings: Vec<Diagnostic>,
    /// The rules as the text states them, if the options of the reader ask for them.
    pub statements: Option<Statements>,
    /// The rules of `policy` that the runtime adds in front of those of the text, at most one for each section: runc's ENOSYS
    /// for numbers above the largest named one.
    pub added: Vec<Builtin>,
    /// The syscalls that the profile allows with their priorities, if it has any: how much they should count where the
    /// compiler chooses between programs.
    pub priorities: Vec<(String, u8)>,
}

impl Profile {
    /// A policy without flags, listener and warnings.
    pub fn of(policy: Policy) -> Profile {
        Profile {
            policy,
            dialect: None,
            flags: callgate_bpf::FilterFlags::NONE,
            listener: None,
            warnings: Vec::new(),
            statements: None,
            added: Vec::new(),
            priorities: Vec::new(),
        }
    }

    /// The policy without the rules that the runtime adds; `None` if it adds none.
    pub fn own_policy(&self) -> Option<Policy> {
        let is_added = |section: &Section| {
            let first = section.rules.first();
            first.is_some_and(|rule| {
                self.added.iter().any(|added| {
                    (added.token, added.verdict) == (section.token(), rule.verdict)
                        && added.syscalls == rule.syscalls
                })
            })
        };
        if !self.policy.sections().iter().any(is_added) {
            return None;
        }
        let mut sections = self.policy.sections().to_vec();
        for section in sections.iter_mut().filter(|section| is_added(section)) {
            section.rules.remove(0);
        }
        Policy::new(sections, self.policy.bad_arch()).ok()
    }

    /// The profile without variables, whose values are these.
    ///
    /// # Errors
    /// If the number of values is not that of the variables, or a value does not fit.
    pub fn given(mut self, values: &[u64]) -> Result<Profile, ValueError> {
        self.policy = self.policy.given(values)?;
        if let Some(statements) = &mut self.statements {
            statements.give(values);
        }
        Ok(self)
    }
}

/// The supervisor to which a runtime passes the notification descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Path of its UNIX socket.
    pub path: String,
    /// Text that the runtime passes with the descriptor.
    pub metadata: Option<String>,
}
