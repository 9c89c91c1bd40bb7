//! What candidates are made from.

use callgate_bpf::verdict::{Action, Verdict};
use callgate_formats::statements::{Site, Statement, Statements};

use super::allowed::Allowed;
use super::edit::offset_of;
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

impl<'a> Candidates<'a> {
    /// The byte offset of a place in this text; `None` if it is in another one.
    pub(super) fn offset(&self, site: &Site) -> Option<usize> {
        let is_here = site.file.as_deref() == self.file;
        is_here.then(|| offset_of(self.text, site.position)).flatten()
    }

    /// The offset of the default action.
    pub(super) fn default_at(&self) -> Option<usize> {
        self.statements.default.as_ref().and_then(|site| self.offset(site))
    }

    /// The rules that deny the syscall, in this text.
    pub(super) fn denying(&self) -> Vec<usize> {
        let rules: &[&Statement] = match &self.why.cause {
            Cause::Rules(rules) => rules,
            _ => &[],
        };
        rules.iter().filter_map(|rule| self.offset(&rule.site)).collect()
    }

    /// Rules of this text that allow a syscall with all arguments, in the order of the text.
    pub(super) fn allowing(&self) -> Vec<usize> {
        let rules = self.statements.rules.iter();
        let allows = |rule: &&Statement| rule.when.is_always() && is_allow(rule.verdict);
        let mut found: Vec<usize> =
            rules.filter(allows).filter_map(|rule| self.offset(&rule.site)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn is_allow(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::Allow)
}

/// A value in a condition.
pub(super) fn number(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}
