//! What candidates are made from.

use std::collections::BTreeSet;

use crate::statements::{Site, Statement, Statements};
use callgate_core::{Action, Verdict};

use super::allowed::Allowed;
use super::offsets::Offsets;
use crate::why::{Cause, Why};

/// The language of a text.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A container profile, or a resource of Kubernetes, in JSON or YAML.
    Profile,
    /// Kafel's language.
    Kafel,
    /// A policy of minijail.
    Minijail,
    /// A document of Firecracker or seccompiler.
    Firecracker,
    /// A profile of LXC.
    Lxc,
    /// A profile of a snap.
    Snap,
    /// A list of Android.
    Android,
    /// A unit file of systemd or a drop-in.
    Unit,
    /// Values of `SystemCallFilter=`.
    UnitFilter,
}

/// A text, the reason for a denial, and the syscall that is to be allowed.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// The language of the text.
    pub language: Language,
    /// The text.
    pub text: &'a str,
    /// The name of the text in [`Site::file`]; `None` if its places have none.
    pub file: Option<&'a str>,
    /// What the profile states.
    pub statements: &'a Statements,
    /// The reason for the denial.
    pub why: &'a Why<'a>,
    /// The syscall.
    pub wanted: &'a Allowed,
}

/// What the languages make edits from.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) text: &'a str,
    pub(crate) file: Option<&'a str>,
    pub(crate) statements: &'a Statements,
    pub(crate) why: &'a Why<'a>,
    /// What the edits are to allow.
    pub(crate) wanted: &'a Allowed,
    offsets: &'a Offsets<'a>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(
        given: &Candidates<'a>,
        offsets: &'a Offsets<'a>,
        wanted: &'a Allowed,
    ) -> Input<'a> {
        let Candidates { text, file, statements, why, .. } = *given;
        Input { text, file, statements, why, wanted, offsets }
    }

    /// The byte offset of a place in this text; `None` if it is in another one.
    pub(crate) fn offset(&self, site: &Site) -> Option<usize> {
        let is_here = site.file.as_deref() == self.file;
        is_here.then(|| self.offsets.of(site.position)).flatten()
    }

    /// The offset of the default action.
    pub(crate) fn default_at(&self) -> Option<usize> {
        self.statements.default.as_ref().and_then(|site| self.offset(site))
    }

    /// The places of rules in this text.
    pub(crate) fn places<'s>(
        &self,
        rules: impl IntoIterator<Item = &'s Statement>,
    ) -> BTreeSet<usize> {
        rules.into_iter().filter_map(|rule| self.offset(&rule.site)).collect()
    }

    /// The places of the rules that deny the syscall.
    pub(crate) fn denying(&self) -> BTreeSet<usize> {
        match &self.why.cause {
            Cause::Rules(rules) => self.places(rules.iter().copied()),
            _ => BTreeSet::new(),
        }
    }

    /// The places of the rules about the syscall whose conditions its arguments do not meet.
    pub(crate) fn unmet(&self) -> BTreeSet<usize> {
        self.places(self.why.unmet.iter().copied())
    }

    /// The places of the rules that allow a syscall with all arguments.
    pub(crate) fn allowing(&self) -> BTreeSet<usize> {
        let rules = self.statements.rules.iter();
        self.places(rules.filter(|rule| rule.when.is_always() && is_allow(rule.verdict)))
    }
}

fn is_allow(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::Allow)
}

/// A value in a condition.
pub(crate) fn number(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}
