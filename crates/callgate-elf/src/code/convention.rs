//! What registers are for in calls and syscalls.

use super::insn::Reg;
use crate::image::Machine;

/// The registers of an architecture that matter for syscalls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convention {
    /// How many registers are tracked.
    pub(crate) registers: u8,
    pub(crate) stack: Reg,
    /// The number of a syscall.
    pub(crate) number: Reg,
    /// Where syscalls have their results, and other registers that they change.
    pub(crate) changed_by_syscall: &'static [Reg],
    /// What calls of functions may change.
    pub(crate) changed_by_call: &'static [Reg],
    /// How much a call moves the stack pointer before the first instruction of the function.
    pub(crate) pushed: i64,
    /// Syscalls that do not return: exit, exit_group and rt_sigreturn.
    pub(crate) final_syscalls: &'static [u64],
    /// Syscalls after which a child may continue in the same memory: clone, vfork and clone3.
    pub(crate) forking_syscalls: &'static [u64],
    /// The arguments of a function and of a syscall, in order, and results.
    pub(crate) arguments: &'static [Reg],
    pub(crate) syscall_arguments: &'static [Reg],
    pub(crate) results: &'static [Reg],
    /// The third argument of a function.
    pub(crate) third_argument: Reg,
}

impl Convention {
    pub(crate) fn of(machine: Machine) -> Convention {
        match machine {
            Machine::X86_64 => Convention {
                registers: 16,
                stack: 4,
                number: 0,
                changed_by_syscall: &[0, 1, 11],
                changed_by_call: &[0, 1, 2, 6, 7, 8, 9, 10, 11],
                pushed: 8,
                final_syscalls: &[60, 231, 15],
                forking_syscalls: &[56, 58, 435],
                // RDI, RSI, RDX, RCX, R8 and R9; R10 for RCX; RAX and RDX.
                arguments: &[7, 6, 2, 1, 8, 9],
                syscall_arguments: &[7, 6, 2, 10, 8, 9],
                results: &[0, 2],
                third_argument: 2,
            },
            Machine::Aarch64 => Convention {
                registers: 32,
                stack: 31,
                number: 8,
                changed_by_syscall: &[0],
                changed_by_call: &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30,
                ],
                pushed: 0,
                final_syscalls: &[93, 94, 139],
                forking_syscalls: &[220, 435],
                // X8 is the address of a large result.
                arguments: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
                syscall_arguments: &[0, 1, 2, 3, 4, 5],
                results: &[0, 1],
                third_argument: 2,
            },
        }
    }
}
