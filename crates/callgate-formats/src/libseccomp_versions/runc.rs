//! Releases of runc.

use std::fmt;
use std::str::FromStr;

use super::table::LibseccompVersion;
use crate::oci::EnosysAbove;

/// A runc release from 1.1.0 on: which libseccomp its official binaries contain, and its rule for newer syscalls.
///
/// ```
/// use callgate_formats::libseccomp_versions::RuncVersion;
///
/// let runc: RuncVersion = "1.1.5".parse()?;
/// assert_eq!(runc.libseccomp().to_string(), "2.5.4");
/// assert!("1.0.3".parse::<RuncVersion>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuncVersion(u8, u8, u8);

/// The first release of each libseccomp, by branch; branches went on beside each other.
const LIBSECCOMP: [(RuncVersion, &str); 9] = [
    (RuncVersion(1, 1, 0), "2.5.3"),
    (RuncVersion(1, 1, 3), "2.5.4"),
    (RuncVersion(1, 1, 13), "2.5.5"),
    (RuncVersion(1, 2, 0), "2.5.5"),
    (RuncVersion(1, 3, 0), "2.5.6"),
    (RuncVersion(1, 3, 5), "2.6.0"),
    (RuncVersion(1, 4, 0), "2.5.6"),
    (RuncVersion(1, 4, 1), "2.6.0"),
    (RuncVersion(1, 5, 0), "2.6.0"),
];

/// The last release of each branch in the table, from 1.1 on; a later one may have another libseccomp.
const LAST: [RuncVersion; 5] = [
    RuncVersion(1, 1, 15),
    RuncVersion(1, 2, 9),
    RuncVersion(1, 3, 6),
    RuncVersion(1, 4, 3),
    RuncVersion(1, 5, 1),
];

impl RuncVersion {
    /// The libseccomp of the official binaries.
    pub fn libseccomp(self) -> LibseccompVersion {
        let own = LIBSECCOMP.iter().rev().find(|(first, _)| *first <= self);
        own.and_then(|(_, version)| version.parse().ok()).unwrap_or(LibseccompVersion::NEWEST)
    }

    /// What syscalls get that are newer than all that a profile names.
    pub fn enosys_above(self) -> EnosysAbove {
        match self {
            RuncVersion(1, 1, ..=2) => EnosysAbove::Runc1_1_0,
            RuncVersion(1, 1, ..=14) => EnosysAbove::Runc1_1,
            _ => EnosysAbove::On,
        }
    }
}

impl fmt::Display for RuncVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuncVersion(major, minor, patch) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Why a text is not a version in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuncVersionError(());

impl fmt::Display for RuncVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not a known version of runc: known are 1.1.0 to 1.1.15, and 1.2, 1.3, 1.4 and 1.5 up to 1.2.9, 1.3.6, 1.4.3 and 1.5.1; \
             for older ones, which have the libseccomp of the distribution, and for newer ones, give --libseccomp and --enosys-above",
        )
    }
}

impl std::error::Error for RuncVersionError {}

impl FromStr for RuncVersion {
    type Err = RuncVersionError;

    fn from_str(text: &str) -> Result<RuncVersion, RuncVersionError> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let numbers: Option<Vec<u8>> = text.split('.').map(|part| part.parse().ok()).collect();
        match numbers.as_deref() {
            Some([major, minor, patch]) => {
                let version = RuncVersion(*major, *minor, *patch);
                let last = LAST.iter().find(|last| (last.0, last.1) == (*major, *minor));
                last.filter(|last| version <= **last).map(|_| version).ok_or(RuncVersionError(()))
            }
            _ => Err(RuncVersionError(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_has_its_library_and_its_rule() {
        for (text, library, rule) in [
            ("1.1.0", "2.5.3", EnosysAbove::Runc1_1_0),
            ("1.1.12", "2.5.4", EnosysAbove::Runc1_1),
            ("1.1.14", "2.5.5", EnosysAbove::Runc1_1),
            ("v1.1.15", "2.5.5", EnosysAbove::On),
            ("1.2.9", "2.5.5", EnosysAbove::On),
            ("1.3.4", "2.5.6", EnosysAbove::On),
            ("1.4.0", "2.5.6", EnosysAbove::On),
            ("1.5.1", "2.6.0", EnosysAbove::On),
        ] {
            let version: RuncVersion = text.parse().unwrap();
            assert_eq!(version.libseccomp().to_string(), library, "{text}");
            assert_eq!(version.enosys_above(), rule, "{text}");
            assert_eq!(version.to_string(), text.trim_start_matches('v'));
        }
        for last in LAST {
            assert_eq!(last.to_string().parse(), Ok(last));
            assert!(RuncVersionError(()).to_string().contains(&last.to_string()), "{last}");
            let RuncVersion(major, minor, patch) = last;
            let next = RuncVersion(major, minor, patch + 1).to_string();
            assert!(next.parse::<RuncVersion>().is_err(), "{next}");
        }
        for text in ["1.0.3", "1.1", "2.0.0", "1.6.0", "1.1.0-rc.1", "", "1.1.5.6", "1.1.-1"] {
            assert!(text.parse::<RuncVersion>().is_err(), "{text}");
        }
    }
}
