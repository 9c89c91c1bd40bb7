//! Facts about syscalls other than their numbers: the kernel that introduced them, and their arguments.

use std::fmt;
use std::str::FromStr;

/// Facts about a syscall, independent of the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallFacts {
    /// Its name, as in the kernel's headers.
    pub name: &'static str,
    /// The first kernel that had it, on any architecture. `None` if no mainline kernel ever had it
    /// (the slots of `afs_syscall`, `tuxcall`, …).
    pub introduced: Option<KernelVersion>,
    /// [`introduced`](SyscallFacts::introduced) as syscalls(2) writes it, with the third number of
    /// kernels before 3.0: `2.6.28`. Empty if `introduced` is `None`.
    pub since: &'static str,
    /// Its arguments, in the order of the words `args[0]`… of `seccomp_data`, as a 64-bit x86
    /// kernel defines them; empty if they are [unknown](SyscallFacts::args_known).
    ///
    /// Some architectures deviate. 32-bit ones pass a 64-bit argument in two words (some after a
    /// pad word), and their oldest syscalls take a pointer to the arguments (`mmap`, `select` of
    /// x86). `clone` takes `tls` before `child_tidptr` on x86, arm, aarch64, mips, ppc and others,
    /// and its first two arguments are swapped on s390 and s390x.
    pub args: Args,
    /// Whether the arguments are known; true for a syscall without arguments.
    pub args_known: bool,
}

/// Facts about an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgFacts {
    /// Its name in the kernel's definition of the syscall.
    pub name: &'static str,
    /// Its C type in the kernel, such as `unsigned int`, `umode_t`, `const char *`.
    pub ctype: &'static str,
    /// How many bits a 64-bit kernel reads, by the type: 32 or 64. If it is 32, the kernel ignores the
    /// high word of the register, so a filter that compares it can be evaded by setting a bit there. Of
    /// a `umode_t` the kernel reads 16 bits; this is 32 here, because filters compare words. Arguments
    /// that the syscall itself truncates later, such as the flags of `clone`, have 64.
    pub bits: u8,
}

/// The arguments of a syscall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args(&'static str);

impl Args {
    /// The arguments, in their order.
    pub fn iter(self) -> impl Iterator<Item = ArgFacts> + Clone {
        self.0.split(", ").filter_map(ArgFacts::read)
    }

    /// An argument by its index.
    pub fn get(self, index: usize) -> Option<ArgFacts> {
        self.iter().nth(index)
    }

    /// The number of arguments.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl SyscallFacts {
    /// Reads the facts in the table. They are a text because that needs no pointers, which the loader of a program would
    /// relocate: `2.0 (fd: 32 int, upeer_sockaddr: 64 struct sockaddr *)`. Without a version it has `-`, and without
    /// parentheses the arguments are unknown.
    pub(super) fn read(name: &'static str, text: &'static str) -> Option<SyscallFacts> {
        let (since, args) = match text.split_once(' ') {
            Some((since, args)) => (since, args.strip_prefix('(')?.strip_suffix(')')),
            None => (text, None),
        };
        let since = if since == "-" { "" } else { since };
        Some(SyscallFacts {
            name,
            introduced: KernelVersion::read(since),
            since,
            args: Args(args.unwrap_or_default()),
            args_known: args.is_some(),
        })
    }
}

impl ArgFacts {
    /// Reads `fd: 32 int`.
    fn read(text: &'static str) -> Option<ArgFacts> {
        let (name, rest) = text.split_once(": ")?;
        let (bits, ctype) = rest.split_once(' ')?;
        Some(ArgFacts { name, ctype, bits: bits.parse().ok()? })
    }
}

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
    fn read(text: &str) -> Option<KernelVersion> {
        let (major, rest) = number(text)?;
        let (minor, rest) = number(rest.strip_prefix('.')?)?;
        // Suffixes of distributions and developers: `.44-foo`, `-rc1`, `+`, `~bpo12`, `_custom`.
        let is_end = rest.is_empty() || rest.starts_with(['.', '-', '+', '~', '_']);
        is_end.then_some(KernelVersion { major, minor })
    }
}

/// The decimal number at the start of a text, and the rest.
fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
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
