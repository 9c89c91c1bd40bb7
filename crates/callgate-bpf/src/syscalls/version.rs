//! Kernel versions, as far as they determine which syscalls exist.

use std::fmt;
use std::str::FromStr;

/// A release of Linux: `6.18`.
///
/// Releases add syscalls, stable updates do not, so only the first two numbers are kept; others are
/// accepted and dropped. Before 3.0 the third number was the release: `2.6.0` to `2.6.39` are all `2.6`
/// here, which is sufficient because seccomp filters came with 3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelVersion {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

impl KernelVersion {
    /// Reads the two numbers at the start of a text; `None` if it does not start with them, or if they are
    /// followed by text that cannot follow a version.
    pub(crate) const fn read(text: &str) -> Option<KernelVersion> {
        let Some((major, rest)) = number(text.as_bytes()) else { return None };
        let [b'.', rest @ ..] = rest else { return None };
        let Some((minor, rest)) = number(rest) else { return None };
        // Suffixes of distributions and developers: `.44-foo`, `-rc1`, `+`, `~bpo12`, `_custom`.
        match rest {
            [] | [b'.' | b'-' | b'+' | b'~' | b'_', ..] => Some(KernelVersion { major, minor }),
            _ => None,
        }
    }
}

/// The decimal number at the start of a text, and the rest.
const fn number(text: &[u8]) -> Option<(u16, &[u8])> {
    let [b'0'..=b'9', ..] = text else { return None };
    let mut value: u16 = 0;
    let mut rest = text;
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        let Some(tens) = value.checked_mul(10) else { return None };
        let Some(sum) = tens.checked_add((*digit - b'0') as u16) else { return None };
        value = sum;
        rest = after;
    }
    Some((value, rest))
}

impl FromStr for KernelVersion {
    type Err = KernelVersionError;

    /// Reads `6.18`, and the output of `uname -r`: `6.18.44-foo`, `6.19-rc2`, `5.10.0-8-amd64`.
    fn from_str(text: &str) -> Result<KernelVersion, KernelVersionError> {
        KernelVersion::read(text).ok_or_else(|| KernelVersionError { given: text.to_owned() })
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The error for a text that is not a kernel version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelVersionError {
    given: String,
}

impl fmt::Display for KernelVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a kernel version; write two numbers, such as 6.18", self.given)
    }
}

impl std::error::Error for KernelVersionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_parse_in_every_usual_form() {
        for (text, major, minor) in [
            ("6.18", 6, 18),
            ("6.18.44-foo", 6, 18),
            ("6.19-rc2", 6, 19),
            ("6.6+", 6, 6),
            ("5.10.0-8-amd64", 5, 10),
            ("4.18.0-305.el8.x86_64", 4, 18),
            ("2.6.28", 2, 6),
            ("65535.65535", 65535, 65535),
        ] {
            assert_eq!(text.parse(), Ok(KernelVersion { major, minor }), "{text}");
        }
    }

    #[test]
    fn the_error_shows_the_text_that_is_not_a_version() {
        for text in ["", "6", "6.", ".18", "v6.18", "6.x", "6.18x", " 6.18", "-6.18", "65536.1"] {
            let error = text.parse::<KernelVersion>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn versions_compare_as_numbers() {
        let version = |text: &str| text.parse::<KernelVersion>().unwrap();
        assert!(version("6.9") < version("6.18"));
        assert!(version("5.19") < version("6.0"));
        assert_eq!(version("6.18.44"), version("6.18"));
        assert_eq!(version("6.18").to_string(), "6.18");
    }
}
