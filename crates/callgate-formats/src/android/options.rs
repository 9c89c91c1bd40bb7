//! What lists are read for, and what the reader returns.

use crate::files::FileMessage;
use crate::statements::Statements;
use callgate_core::Arch;
use callgate_core::policy::Policy;

/// What lists are read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// An architecture of the host: the filter is for all of them.
    pub native: Arch,
    /// Whether the filter is that of app zygotes, which ignores `setresgid` in block lists.
    pub is_app_zygote: bool,
    /// Whether the entries are returned with their places.
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for a host.
    pub fn new(native: Arch) -> ReadOptions {
        ReadOptions { native, is_app_zygote: false, statements: false }
    }
}

/// What a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The syscalls of the C library (`SYSCALLS.TXT`).
    Base,
    /// Further syscalls that are allowed.
    Allow,
    /// Syscalls of the C library that are not allowed.
    Block,
    /// Syscalls that are frequent.
    Priority,
}

impl ListKind {
    /// All kinds.
    pub const ALL: [ListKind; 4] =
        [ListKind::Base, ListKind::Allow, ListKind::Block, ListKind::Priority];

    /// The name: the role of a text in a source.
    pub const fn name(self) -> &'static str {
        match self {
            ListKind::Base => "base",
            ListKind::Allow => "allow",
            ListKind::Block => "block",
            ListKind::Priority => "priority",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<ListKind> {
        ListKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A list.
#[derive(Clone, Copy, Debug)]
pub struct ListText<'t> {
    /// What it is for.
    pub kind: ListKind,
    /// Its text.
    pub text: &'t str,
    /// The name of its file in the places of statements.
    pub name: Option<&'t str>,
}

impl<'t> ListText<'t> {
    /// A list without the name of a file.
    pub const fn new(kind: ListKind, text: &'t str) -> ListText<'t> {
        ListText { kind, text, name: None }
    }
}

/// The filter of some lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AndroidPolicy {
    /// What the filter does.
    pub policy: Policy,
    /// The frequent syscalls in the order of the list, each once, without those that no architecture of the filter allows.
    pub priorities: Vec<&'static str>,
    /// The entries that allow syscalls, and those that block lists remove; `None` unless the options ask for them.
    pub statements: Option<Statements>,
    /// Warnings, by file and position.
    pub warnings: Vec<FileMessage>,
}
