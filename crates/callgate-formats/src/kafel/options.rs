//! What a policy is read for, and where included files come from.

use callgate_bpf::syscalls::Arch;

/// What a policy is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architectures of the filter, at least one. A syscall that one of them lacks is an error, unless the policy
    /// restricts it with `ON`.
    pub arches: Vec<Arch>,
}

impl ReadOptions {
    /// Reads for one architecture.
    pub fn new(arch: Arch) -> ReadOptions {
        ReadOptions { arches: vec![arch] }
    }
}

/// A file that a policy includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Its name in messages. Equal names are the same file, which may not include itself.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Finds included files: given the name in the directive, and the name of the file with the directive (`None` for the
/// policy itself), returns the file, or why it cannot be read.
pub type Includes<'a> = dyn FnMut(&str, Option<&str>) -> Result<Included, String> + 'a;
