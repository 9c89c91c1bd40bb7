//! A profile as LXC reads it.

use crate::ruleset::Comparison;
use callgate_core::Verdict;

/// A profile.
#[derive(Debug)]
pub(super) struct Model<'t> {
    /// The verdict for syscalls without a rule.
    pub(super) default: Verdict,
    /// The offset of the action for syscalls without a rule, or of the policy.
    pub(super) default_at: usize,
    pub(super) rules: Rules<'t>,
}

/// The rules that the host uses.
#[derive(Debug)]
pub(super) enum Rules<'t> {
    /// Version 1: the numbers of allowed syscalls, which may be negative, after their offsets.
    Numbers(Vec<(usize, i32)>),
    /// Version 2.
    Named(Vec<Rule<'t>>),
}

/// A rule of version 2.
#[derive(Debug)]
pub(super) struct Rule<'t> {
    pub(super) at: usize,
    pub(super) target: Target<'t>,
    pub(super) verdict: Verdict,
    /// They must all hold.
    pub(super) comparisons: Vec<Comparison>,
}

/// What a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'t> {
    /// The syscall with this name.
    Syscall(&'t str),
    /// `reject_force_umount`: `umount2` with the flag MNT_FORCE.
    ForcedUmount,
}
