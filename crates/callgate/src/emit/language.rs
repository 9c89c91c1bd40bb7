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

    /// Whether a word can be the name of an array and of functions: ASCII letters, digits and `_`, not a digit first, and
    /// neither a keyword nor a name that the functions use.
    #[must_use]
    pub fn accepts_name(self, name: &str) -> bool {
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
        is_word && name.starts_with(is_start) && !self.reserved().contains(&name)
    }

    /// Words that are not names of parameters: keywords, and the names that the functions use.
    pub(super) fn reserved(self) -> &'static [&'static str] {
        match self {
            Language::C => &[
                "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default",
                "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if",
                "inline", "int", "long", "nullptr", "register", "restrict", "return", "short",
                "signed", "sizeof", "static", "struct", "switch", "true", "typedef", "typeof",
                "union", "unsigned", "void", "volatile", "while", "errno", "linux", "unix",
            ],
            Language::Rust => &[
                "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
                "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for",
                "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut",
                "override", "priv", "pub", "ref", "return", "self", "Self", "static", "struct",
                "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
                "virtual", "where", "while", "yield", "_", "libc", "std", "u32", "u64", "u16",
            ],
            Language::Go => &[
                "break",
                "case",
                "chan",
                "const",
                "continue",
                "default",
                "defer",
                "else",
                "fallthrough",
                "for",
                "func",
                "go",
                "goto",
                "if",
                "import",
                "interface",
                "map",
                "package",
                "range",
                "return",
                "select",
                "struct",
                "switch",
                "type",
                "var",
                "_",
                "uint32",
                "uint64",
                "uint16",
                "uintptr",
                "len",
                "nil",
                "err",
                "errno",
                "fmt",
                "runtime",
                "unix",
                "unsafe",
            ],
        }
    }
}
