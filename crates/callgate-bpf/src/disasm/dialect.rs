//! Names of dialects.

use std::fmt;
use std::str::FromStr;

/// A textual form of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Assembly with comments.
    #[default]
    Annotated,
    /// Linux's `bpf_asm`.
    BpfAsm,
    /// The table of libseccomp's `scmp_bpf_disasm`.
    Libseccomp,
    /// The kernel's names of Linux 3.10.
    Legacy,
    /// An array in C.
    C,
    /// An array in Rust, for the crate `libc`.
    Rust,
    /// A slice in Go, for `golang.org/x/sys/unix`.
    Go,
    /// The decimal table of `tcpdump -ddd`.
    Ddd,
}

impl Dialect {
    /// All dialects.
    pub const ALL: &'static [Dialect] = &[
        Dialect::Annotated,
        Dialect::BpfAsm,
        Dialect::Libseccomp,
        Dialect::Legacy,
        Dialect::C,
        Dialect::Rust,
        Dialect::Go,
        Dialect::Ddd,
    ];

    /// The name, as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Annotated => "annotated",
            Dialect::BpfAsm => "bpf_asm",
            Dialect::Libseccomp => "libseccomp",
            Dialect::Legacy => "legacy",
            Dialect::C => "c",
            Dialect::Rust => "rust",
            Dialect::Go => "go",
            Dialect::Ddd => "ddd",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Dialect, UnknownDialect> {
        Dialect::ALL
            .iter()
            .copied()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| UnknownDialect { name: name.to_owned() })
    }
}

/// The error for an unknown name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect {
    name: String,
}

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        write!(f, "unknown dialect `{}`; the dialects are {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownDialect {}
