//! The languages.

use callgate_bpf::disasm::Dialect;

/// A language of source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Language {
    C,
    Rust,
    Go,
}

impl Language {
    /// The notation of instructions.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Language::C => Dialect::C,
            Language::Rust => Dialect::Rust,
            Language::Go => Dialect::Go,
        }
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Language::C => "C",
            Language::Rust => "Rust",
            Language::Go => "Go",
        })
    }
}
