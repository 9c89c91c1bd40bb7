//! The error for a name that no syscall has.

use callgate_bpf::syscalls::nearest_name;

/// A name that no syscall has, on any architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSyscall {
    name: String,
}

impl UnknownSyscall {
    pub(super) fn new(name: &str) -> UnknownSyscall {
        UnknownSyscall { name: name.to_owned() }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The known name that is most alike, when there is one.
    pub fn nearest(&self) -> Option<&'static str> {
        nearest_name(&self.name)
    }
}

impl std::fmt::Display for UnknownSyscall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown syscall {:?}", self.name)?;
        match self.nearest() {
            Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownSyscall {}
