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
                third_argument: 2,
            },
        }
    }
}
