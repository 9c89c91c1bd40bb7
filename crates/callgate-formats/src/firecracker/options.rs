//! What a document is read for.

use callgate_core::Arch;

/// What a document is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the filter: x86-64, aarch64 or riscv64.
    pub arch: Arch,
    /// The thread whose filter is read. It may be `None` if the document has only one.
    pub thread: Option<String>,
    /// How a user chooses the filter of a thread, for the help if the document has several.
    pub choosing: fn(&str) -> String,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads the only filter of a document.
    pub fn new(arch: Arch) -> ReadOptions {
        let choosing =
            |name: &str| format!("choose one with the option `thread`, such as \"{name}\"");
        ReadOptions { arch, thread: None, choosing, statements: false }
    }
}
