//! Why a file cannot be analysed.

use std::fmt;

/// Why a file cannot be analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfError {
    file: String,
    kind: ElfErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ElfErrorKind {
    NotElf,
    Script(String),
    NotSupported {
        what: &'static str,
        given: u64,
        wanted: &'static str,
    },
    /// A table of the file is not within it.
    Outside {
        what: &'static str,
        offset: u64,
        size: u64,
        file: u64,
    },
    TooMany {
        what: &'static str,
        given: u64,
        limit: u64,
    },
    NoCode,
    Mixed {
        first: &'static str,
        this: &'static str,
    },
}

impl ElfError {
    pub(crate) fn new(file: &str, kind: ElfErrorKind) -> ElfError {
        ElfError { file: file.to_owned(), kind }
    }

    /// The file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        use ElfErrorKind as Kind;
        match &self.kind {
            Kind::NotElf => "name an executable or a shared library",
            Kind::Script(_) => "name the interpreter, which makes the syscalls of the script",
            Kind::NotSupported { .. } => "64-bit programs for x86-64 and aarch64 can be analysed",
            Kind::Outside { .. } => "the file is truncated or damaged; get a complete one",
            Kind::TooMany { .. } => "record the program instead (callgate record)",
            Kind::NoCode => "name the executable, not a file with only its debug information",
            Kind::Mixed { .. } => "name programs and libraries for one architecture",
        }
    }
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ElfErrorKind as Kind;
        match &self.kind {
            Kind::NotElf => f.write_str("not an ELF file"),
            Kind::Script(interpreter) => write!(f, "a script for {interpreter}, not an ELF file"),
            Kind::NotSupported { what, given, wanted } => {
                write!(f, "the {what} is {given}, but must be {wanted}")
            }
            Kind::Outside { what, offset, size, file } => write!(
                f,
                "the {what} at offset {offset:#x} with {size:#x} bytes is not within the file of {file:#x} bytes"
            ),
            Kind::TooMany { what, given, limit } => {
                write!(f, "{given} {what}, but the limit is {limit}")
            }
            Kind::NoCode => f.write_str("the file has no code"),
            Kind::Mixed { first, this } => {
                write!(f, "the file is for {this}, but the program is for {first}")
            }
        }
    }
}

impl std::error::Error for ElfError {}
