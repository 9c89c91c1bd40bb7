//! The identity of a syscall: architecture and number.

use callgate_bpf::{SyscallTable, syscalls};
use callgate_core::Arch;

/// A syscall as a filter sees it: the ABI and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyscallId {
    /// The ABI.
    pub arch: Arch,
    /// The number, for x32 with its bit.
    pub nr: u32,
}

impl SyscallId {
    /// The syscall of an architecture with this number.
    pub const fn new(arch: Arch, nr: u32) -> SyscallId {
        SyscallId { arch, nr }
    }

    /// The syscall with this arch token and number; `None` for an unknown token.
    pub fn of(token: u32, nr: u32) -> Option<SyscallId> {
        Arch::of_syscall(token, nr).map(|arch| SyscallId { arch, nr })
    }

    /// The name; `None` if the syscall tables do not have the number.
    pub fn name(self) -> Option<&'static str> {
        self.arch.syscall_name(self.nr)
    }

    /// How many argument registers are recorded: the syscall ignores the others. All six on 32-bit ABIs,
    /// because some syscalls pass a 64-bit argument in two registers.
    pub(super) fn arity(self) -> usize {
        let facts = self.name().and_then(syscalls::facts).filter(|facts| facts.args_known);
        match facts {
            Some(facts) if self.arch.is_64bit() || self.arch == Arch::X32 => {
                facts.args.len().min(6)
            }
            _ => 6,
        }
    }
}
