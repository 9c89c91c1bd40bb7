//! The filters of bionic, the files from which they are generated, and what lists are read for.

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

/// The name of the filter of app zygotes.
pub(super) const APP_ZYGOTE: &str = "app-zygote";

/// A filter of bionic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// For apps.
    App,
    /// For the zygotes of apps, since Android 10: they may change their group.
    AppZygote,
    /// For system services.
    System,
    /// For all processes of Android 9 and 10, if the device asks for it.
    Global,
    /// For apps and system services of Android 8, which has no other.
    Common,
}

/// A file that a filter needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListFile {
    /// What it is for.
    pub kind: ListKind,
    /// The name of the file, then the one that it had until Android 11.
    pub names: [&'static str; 2],
    /// Whether the filter exists without it.
    pub is_optional: bool,
}

/// The names of allow and block lists of `$of`.
macro_rules! file {
    (Allow $of:literal) => {
        file!(
            Allow,
            concat!("SECCOMP_ALLOWLIST", $of, ".TXT"),
            concat!("SECCOMP_WHITELIST", $of, ".TXT")
        )
    };
    (Block $of:literal) => {
        file!(
            Block,
            concat!("SECCOMP_BLOCKLIST", $of, ".TXT"),
            concat!("SECCOMP_BLACKLIST", $of, ".TXT")
        )
    };
    ($kind:ident, $name:expr, $old:expr) => {
        ListFile { kind: ListKind::$kind, names: [$name, $old], is_optional: false }
    };
}

const BASE: ListFile = file!(Base, "SYSCALLS.TXT", "SYSCALLS.TXT");
const PRIORITY: ListFile = ListFile {
    is_optional: true,
    ..file!(Priority, "SECCOMP_PRIORITY.TXT", "SECCOMP_PRIORITY.TXT")
};

impl FilterKind {
    /// The filters that have a name.
    pub const NAMED: [FilterKind; 4] =
        [FilterKind::App, FilterKind::AppZygote, FilterKind::System, FilterKind::Global];

    /// Its name; empty for the only filter of Android 8.
    pub const fn name(self) -> &'static str {
        match self {
            FilterKind::App => "app",
            FilterKind::AppZygote => APP_ZYGOTE,
            FilterKind::System => "system",
            FilterKind::Global => "global",
            FilterKind::Common => "",
        }
    }

    /// The filter with a name.
    pub fn from_name(name: &str) -> Option<FilterKind> {
        FilterKind::NAMED.into_iter().find(|kind| kind.name() == name)
    }

    /// The files from which it is generated.
    ///
    /// ```
    /// use callgate_formats::android::FilterKind;
    /// let names: Vec<&str> = FilterKind::System.files().iter().map(|file| file.names[0]).collect();
    /// assert_eq!(names[1], "SECCOMP_ALLOWLIST_COMMON.TXT");
    /// ```
    pub const fn files(self) -> &'static [ListFile] {
        match self {
            FilterKind::App | FilterKind::AppZygote => &[
                BASE,
                file!(Allow "_COMMON"),
                file!(Allow "_APP"),
                file!(Block "_COMMON"),
                file!(Block "_APP"),
                PRIORITY,
            ],
            FilterKind::System => &[
                BASE,
                file!(Allow "_COMMON"),
                file!(Allow "_SYSTEM"),
                file!(Block "_COMMON"),
                ListFile { is_optional: true, ..file!(Block "_SYSTEM") },
                PRIORITY,
            ],
            FilterKind::Global => &[
                BASE,
                file!(Allow "_COMMON"),
                file!(Allow "_SYSTEM"),
                file!(Allow "_APP"),
                file!(Allow "_GLOBAL"),
                file!(Block "_COMMON"),
            ],
            FilterKind::Common => &[BASE, file!(Allow ""), file!(Block "")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_have_files_of_both_names() {
        let names = |kind: FilterKind| kind.files().iter().flat_map(|file| file.names);
        assert!(names(FilterKind::App).any(|name| name == "SECCOMP_BLACKLIST_APP.TXT"));
        assert!(names(FilterKind::System).all(|name| !name.contains("_APP")));
        assert!(names(FilterKind::Common).any(|name| name == "SECCOMP_WHITELIST.TXT"));
        for kind in FilterKind::NAMED {
            assert_eq!(FilterKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(FilterKind::from_name(""), None);
    }
}
