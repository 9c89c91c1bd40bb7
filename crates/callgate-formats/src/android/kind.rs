//! The filters of bionic, and the files from which they are generated.

use super::options::ListKind;

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
