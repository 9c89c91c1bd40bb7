//! Policies whose rules have comments: what is generated from recordings, before a language lays it out.
//!
//! A converted policy is derived from a function, so nothing is known about its rules but what they do. A generated one has a
//! reason for each syscall. Both are laid out with the same text of the language.

use crate::ruleset::Comparison;
use callgate_core::{Arch, Verdict};

/// A policy with comments.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotated {
    /// The architectures, the main one first.
    pub arches: Vec<Arch>,
    /// Where the policy comes from.
    pub origin: String,
    /// What happens to all other syscalls, such as `other syscalls fail with ENOSYS`.
    pub denied: String,
    /// The verdict of all other syscalls.
    pub default: Verdict,
    /// The rules, in the order in which they are written.
    pub groups: Vec<Group>,
    /// Directives of a unit, each with its reason.
    pub directives: Vec<(String, String)>,
    /// What else to know, each with names of syscalls.
    pub remarks: Vec<(String, Vec<&'static str>)>,
    /// The name of what is written, where it has one.
    pub name: String,
}

/// Syscalls with the same verdict and the same reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Why they have this verdict.
    pub reason: Reason,
    /// Their names.
    pub names: Vec<&'static str>,
    /// Numbers without a name.
    pub numbers: Vec<u32>,
    /// The conditions, one of which must hold; none: always.
    pub alternatives: Vec<Vec<Comparison>>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Why syscalls have their verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// They were recorded.
    Recorded,
    /// The code of the program can make them.
    Code(String),
    /// Another one.
    Other(String),
}

impl Reason {
    /// The comment; empty for what was recorded, which each language says in its own way.
    pub fn text(&self) -> &str {
        match self {
            Reason::Recorded => "",
            Reason::Code(text) | Reason::Other(text) => text,
        }
    }
}

/// How a language lays out policies with comments.
pub struct AnnotatedWriter {
    /// The text; `None` if the language cannot express the policy.
    pub write: fn(&Annotated) -> Option<String>,
    /// Whether it can grant a syscall by its number.
    pub has_numbers: bool,
    /// Whether it is a systemd unit: its lists cannot limit arguments, but some directives can, it has a set of syscalls
    /// that are always granted, and each version knows other names.
    pub is_unit: bool,
    /// Whether it is for one architecture.
    pub for_one_arch: bool,
    /// Whether libseccomp combines its rules, and adds rules for `socketcall` and `ipc`.
    pub is_by_libseccomp: bool,
    /// The only errno of the default action, if it cannot have another one.
    pub default_errno: Option<u16>,
    /// Whether the text is read back, and must have the meaning of the policy. Resources need the feature `yaml`; Kafel and
    /// systemd decide about other ABIs of the machine in their own ways.
    pub is_read_back: bool,
    /// The program that installs the filter, by default.
    pub runtime: &'static str,
    /// Other names that mean this one, because the text is the same.
    pub also: &'static [&'static str],
    /// What is written, in a line.
    pub help: &'static str,
    /// How the file gets to where it is used: lines for a shell, in which `FILE` stands for its name.
    pub usage: &'static str,
}

impl AnnotatedWriter {
    /// Whether its lists of syscalls can limit arguments.
    pub fn has_arguments(&self) -> bool {
        !self.is_unit
    }
}
