//! The table of names.

use std::fmt;
use std::str::FromStr;

use callgate_bpf::syscalls::SyscallTable;
use callgate_core::Arch;

/// Lines of names, sorted, after those of architectures.
static TABLE: &str = include_str!("names.txt");

/// The releases, the oldest first.
const VERSIONS: [&str; 18] = [
    "2.3.0", "2.3.1", "2.3.2", "2.3.3", "2.4.0", "2.4.1", "2.4.2", "2.4.3", "2.4.4", "2.5.0",
    "2.5.1", "2.5.2", "2.5.3", "2.5.4", "2.5.5", "2.5.6", "2.6.0", "2.6.1",
];

/// A release of libseccomp.
///
/// ```
/// use callgate_core::Arch;
/// use callgate_formats::libseccomp_versions::LibseccompVersion;
///
/// let version: LibseccompVersion = "2.5.3".parse()?;
/// assert!(version.has_number("close_range", Arch::X86_64));
/// assert!(!version.has_number("fchmodat2", Arch::X86_64) && !version.knows("fchmodat2"));
/// let first = LibseccompVersion::since("fchmodat2", Arch::X86_64);
/// assert_eq!(first.map(|first| first.to_string()).as_deref(), Some("2.5.5"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibseccompVersion(usize);

impl LibseccompVersion {
    /// The newest release in the table.
    pub const NEWEST: LibseccompVersion = LibseccompVersion(VERSIONS.len() - 1);

    /// The first release in the table that has a number for a syscall on an architecture; `None` if none has one.
    pub fn since(name: &str, arch: Arch) -> Option<LibseccompVersion> {
        let supported = first_with(arch)?;
        arch.number(name)?;
        let own = match row(name) {
            Some(row) => row.since(arch)?,
            None => LibseccompVersion(0),
        };
        Some(own.max(supported))
    }

    /// The release before it in the table.
    pub fn previous(self) -> Option<LibseccompVersion> {
        self.0.checked_sub(1).map(LibseccompVersion)
    }

    /// Whether it has a number for a syscall on an architecture.
    pub fn has_number(self, name: &str, arch: Arch) -> bool {
        LibseccompVersion::since(name, arch).is_some_and(|first| first <= self)
            && !row(name).is_some_and(|row| row.lacks(arch, self))
    }

    /// Whether it knows a name, perhaps of another architecture.
    pub fn knows(self, name: &str) -> bool {
        Arch::ALL.iter().any(|arch| self.has_number(name, *arch))
    }

    /// Whether it supports an architecture.
    pub fn supports(self, arch: Arch) -> bool {
        first_with(arch).is_some_and(|first| first <= self)
    }
}

impl fmt::Display for LibseccompVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(VERSIONS.get(self.0).copied().unwrap_or_default())
    }
}

/// Why a text is not a version in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibseccompVersionError(());

impl fmt::Display for LibseccompVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a known version of libseccomp; the releases are {}", VERSIONS.join(", "))
    }
}

impl std::error::Error for LibseccompVersionError {}

impl FromStr for LibseccompVersion {
    type Err = LibseccompVersionError;

    fn from_str(text: &str) -> Result<LibseccompVersion, LibseccompVersionError> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let found = VERSIONS.iter().position(|version| *version == text);
        found.map(LibseccompVersion).ok_or(LibseccompVersionError(()))
    }
}

/// The name of an architecture in the table; `None` if libseccomp has none. The byte order does not matter.
fn column(arch: Arch) -> Option<&'static str> {
    match arch {
        Arch::Ppc64le => Some("ppc64"),
        Arch::Mipsel => Some("mips"),
        Arch::Mipsel64 => Some("mips64"),
        Arch::Mipsel64n32 => Some("mips64n32"),
        Arch::Sheb => Some("sh"),
        other => Some(other.name()),
    }
}

fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#'))
}

/// The first release that supports an architecture.
fn first_with(arch: Arch) -> Option<LibseccompVersion> {
    let own = column(arch)?;
    let row = lines().find_map(|line| line.strip_prefix('@')?.strip_prefix(own)?.strip_prefix(' '));
    match row {
        Some(version) => version.parse().ok(),
        None => Some(LibseccompVersion(0)),
    }
}

/// The row of a name.
#[derive(Clone, Copy)]
struct Row(&'static str);

fn row(name: &str) -> Option<Row> {
    lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(Row)
}

impl Row {
    fn since(self, arch: Arch) -> Option<LibseccompVersion> {
        let mut words = self.0.split(' ');
        let usual = words.next()?;
        let own = words.find_map(|word| {
            let (name, version) = word.split_once('=')?;
            (Some(name) == column(arch)).then_some(version)
        });
        own.unwrap_or(usual).parse().ok()
    }

    /// Whether a release lost the number.
    fn lacks(self, arch: Arch, version: LibseccompVersion) -> bool {
        self.0.split(' ').any(|word| {
            let Some((name, range)) = word.split_once('!') else { return false };
            let within = |(from, to): (&str, &str)| {
                let ends = from.parse::<LibseccompVersion>().ok().zip(to.parse().ok());
                ends.is_some_and(|(from, to)| from <= version && version <= to)
            };
            Some(name) == column(arch) && range.split_once("..").is_some_and(within)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::syscalls::is_known_name;

    #[test]
    fn rows_are_well_formed() {
        let mut count = 0;
        for line in lines() {
            let mut words = line.split(' ');
            let first = words.next().unwrap();
            let is_version = |text: &str| text == "-" || text.parse::<LibseccompVersion>().is_ok();
            assert!(words.next().is_some_and(is_version), "{line}");
            let is_column = |own: &str| Arch::ALL.iter().any(|arch| column(*arch) == Some(own));
            match first.strip_prefix('@') {
                Some(arch) => assert!(is_column(arch), "{line}"),
                None => assert!(is_known_name(first), "{line}"),
            }
            for word in words {
                let (arch, rest) = word.split_once(['=', '!']).unwrap();
                assert!(is_column(arch), "{line}");
                assert!(rest.split("..").all(is_version), "{line}");
            }
            count += 1;
        }
        assert!(count > 90, "{count}");
    }

    /// From the release notes of libseccomp and of distributions.
    #[test]
    fn names_are_known_since_the_release_that_added_them() {
        let since =
            |name, arch| LibseccompVersion::since(name, arch).map(|first| first.to_string());
        for (name, arch, first) in [
            ("read", Arch::X86_64, Some("2.3.0")),
            ("statx", Arch::X86_64, Some("2.3.3")),
            ("clock_gettime64", Arch::Arm, Some("2.4.2")),
            ("clone3", Arch::X86_64, Some("2.4.2")),
            ("clone3", Arch::Aarch64, Some("2.4.4")),
            ("faccessat2", Arch::X86_64, Some("2.4.4")),
            ("close_range", Arch::X86, Some("2.5.2")),
            ("fchmodat2", Arch::X86_64, Some("2.5.5")),
            ("read", Arch::Riscv64, Some("2.5.0")),
            ("read", Arch::Mipsel64, Some("2.3.0")),
            ("memfd_secret", Arch::Loongarch64, None),
            ("mkdir", Arch::Aarch64, None),
        ] {
            assert_eq!(since(name, arch).as_deref(), first, "{name} {arch}");
        }
        let old: LibseccompVersion = "2.4.2".parse().unwrap();
        assert!(!old.has_number("getrlimit", Arch::Aarch64) && old.knows("getrlimit"));
        let ranged = |version: &str| {
            version.parse::<LibseccompVersion>().unwrap().has_number("sync_file_range2", Arch::Arm)
        };
        assert!(ranged("2.4.4") && !ranged("2.5.0") && !ranged("2.6.1"));
        assert!(!old.supports(Arch::Riscv64) && old.supports(Arch::X86));
        assert!(LibseccompVersion::NEWEST.knows("file_getattr"));
        assert!(
            "2.5".parse::<LibseccompVersion>().is_err()
                && "2.7.0".parse::<LibseccompVersion>().is_err()
        );
    }
}
