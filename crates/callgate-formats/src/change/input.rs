//! What candidates are made from.

use std::collections::BTreeSet;

use crate::statements::{Site, Statement, Statements};
use callgate_core::{Action, Verdict};

use super::allowed::Allowed;
use super::offsets::Offsets;
use crate::why::{Cause, Why};

/// What the languages make edits from.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// What the text is in its source.
    pub(crate) role: &'a str,
    pub(crate) text: &'a str,
    pub(crate) file: Option<&'a str>,
    pub(crate) statements: &'a Statements,
    pub(crate) why: &'a Why<'a>,
    /// What the edits are to allow.
    pub(crate) wanted: &'a Allowed,
    pub(crate) offsets: &'a Offsets<'a>,
}

impl<'a> Input<'a> {
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
