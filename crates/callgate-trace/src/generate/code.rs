//! Syscalls that the code of a program can make, whether or not they were recorded.

use callgate_bpf::SyscallTable;
use callgate_core::Arch;

/// A syscall that the code of a program can make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSyscall {
    /// The architecture.
    pub arch: Arch,
    /// The number.
    pub nr: u32,
    /// Where the syscall is made: a file and a function, such as `libc.so.6: accept4`.
    pub place: String,
}

impl CodeSyscall {
    /// The name; `None` if the tables do not have the number.
    pub fn name(&self) -> Option<&'static str> {
        self.arch.syscall_name(self.nr)
    }
}
