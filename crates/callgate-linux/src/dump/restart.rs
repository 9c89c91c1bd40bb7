//! Decides what must happen to a syscall that the stop of its thread interrupted.
//!
//! A syscall that sleeps for a limited time (`nanosleep`, `poll`, a timed `futex`) returns
//! `ERESTART_RESTARTBLOCK` when its thread stops. When the thread continues, the kernel replaces the syscall
//! by `restart_syscall`, which sleeps for the rest of the time. Seccomp filters judge `restart_syscall` like
//! any other syscall. A filter that was written without it would make the sleep fail, or kill the process.
//! [`denied_restart`] recognises this case; [`super::resume`] handles it.
//!
//! Limits: x86-64, including i386 and x32 processes. A syscall that a 64-bit process makes by `int 0x80` is
//! taken for a 64-bit one.
//!
//! Sources: `arch/x86/kernel/signal.c`, `arch_do_signal_or_restart`, `handle_signal` and
//! `get_nr_restart_syscall`; `include/linux/errno.h`.

use callgate::{Arch, Endian, SeccompData};
use callgate_core::Program;
use libc::user_regs_struct as Registers;

/// The syscall continues as `restart_syscall`.
const ERESTART_RESTARTBLOCK: u64 = -516_i64 as u64;
/// The syscall starts again with all of its time; if a signal handler runs first, it fails with EINTR, as it
/// would have failed with `ERESTART_RESTARTBLOCK`.
const ERESTARTNOHAND: u64 = -514_i64 as u64;

/// The code segment of 32-bit processes (`__USER32_CS`).
const USER32_CS: u64 = 0x23;

/// `__X32_SYSCALL_BIT`.
const X32: u64 = 0x4000_0000;

/// The length of `syscall` and of `int 0x80`, by which the kernel sets a thread back.
const SYSCALL_INSN: u64 = 2;

/// A `restart_syscall` that the thread is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Restart {
    nr: u32,
    code_segment: u64,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// The number of the syscall that was interrupted; `None` if that was a `restart_syscall` itself.
    interrupted: Option<u64>,
}

impl Restart {
    /// The registers with which the interrupted syscall starts again, if its number is known.
    pub(super) fn started_again(&self, registers: &Registers) -> Option<Registers> {
        Some(Registers { rax: ERESTARTNOHAND, orig_rax: self.interrupted?, ..*registers })
    }

    /// Whether a thread that stopped at the start of a syscall is about to make this `restart_syscall`. A
    /// signal handler that makes one of its own runs at another place or on another part of the stack.
    pub(super) fn is_entered(&self, registers: &Registers) -> bool {
        registers.orig_rax == u64::from(self.nr) && self.is_at(registers, self.instruction_pointer)
    }

    /// The registers with which the kernel decides once more whether this `restart_syscall` follows, if it has
    /// already decided so and the thread has not made it yet.
    ///
    /// `None` also for a 32-bit process that an interrupt stopped: there, kernels before Linux 5.12 would take
    /// the number of the 64-bit `restart_syscall`.
    pub(super) fn undecided(&self, registers: &Registers) -> Option<Registers> {
        let before = self.instruction_pointer.wrapping_sub(SYSCALL_INSN);
        let is_decided = registers.rax == u64::from(self.nr) && self.is_at(registers, before);
        let is_in_syscall = registers.orig_rax as i64 >= 0;
        (is_decided && (is_in_syscall || self.code_segment != USER32_CS)).then_some(Registers {
            rax: ERESTART_RESTARTBLOCK,
            orig_rax: u64::from(self.nr),
            rip: self.instruction_pointer,
            ..*registers
        })
    }

    fn is_at(&self, registers: &Registers, instruction_pointer: u64) -> bool {
        registers.cs == self.code_segment
            && registers.rip == instruction_pointer
            && registers.rsp == self.stack_pointer
    }
}

/// Whether the thread is inside a syscall that continues as `restart_syscall`.
pub(super) fn continues_as_restart(registers: &Registers) -> bool {
    // Without a syscall, `orig_rax` is negative and `rax` is a value of the program.
    registers.rax == ERESTART_RESTARTBLOCK && registers.orig_rax as i64 >= 0
}

/// The `restart_syscall` that the kernel is about to make for a stopped thread, if one of the filters denies it.
/// Unknown filters (`None`) count as denying.
pub(super) fn denied_restart<'p>(
    registers: &Registers,
    filters: Option<impl IntoIterator<Item = &'p Program>>,
) -> Option<Restart> {
    if !continues_as_restart(registers) {
        return None;
    }
    let data = seccomp_data(registers);
    let permits = |program: &Program| program.run(&data, Endian::Little).verdict.permits();
    let is_permitted = filters.is_some_and(|filters| filters.into_iter().all(permits));
    let is_restart = registers.orig_rax == u64::from(data.nr);
    (!is_permitted).then_some(Restart {
        nr: data.nr,
        code_segment: registers.cs,
        instruction_pointer: registers.rip,
        stack_pointer: registers.rsp,
        interrupted: (!is_restart).then_some(registers.orig_rax),
    })
}

/// What filters see of the `restart_syscall`.
fn seccomp_data(registers: &Registers) -> SeccompData {
    let Registers { rdi, rsi, rdx, r10, r8, r9, rbx, rcx, rbp, .. } = *registers;
    let (arch, nr, args) = if registers.cs == USER32_CS {
        let args = [rbx, rcx, rdx, rsi, rdi, rbp].map(|arg| u64::from(arg as u32));
        (Arch::X86, 0, args)
    } else {
        let nr = libc::SYS_restart_syscall as u32 | (registers.orig_rax & X32) as u32;
        (Arch::X86_64, nr, [rdi, rsi, rdx, r10, r8, r9])
    };
    SeccompData { arch: arch.token(), nr, instruction_pointer: registers.rip, args }
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate_core::{Insn, Op};

    use super::*;

    fn registers(rax: i64, cs: u64, orig_rax: u64) -> Registers {
        // SAFETY: the registers are integers, for which 0 is a valid value.
        let zero: Registers = unsafe { std::mem::zeroed() };
        let (rip, rdi, rbx, rsp) = (0x1234, 7, 1 << 32 | 9, 0x8000);
        Registers { rax: rax as u64, cs, orig_rax, rip, rdi, rbx, rsp, ..zero }
    }

    /// Permits one value of a word.
    fn only(offset: u32, value: u32) -> Program {
        Program::new(vec![
            Insn::new(Op::LdWordAbs, offset),
            Insn::branch(Op::JeqK, value, 0, 1),
            Insn::new(Op::RetK, Verdict::LOG.0),
            Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
        ])
        .unwrap()
    }

    fn is_denied(registers: &Registers, filters: &[Program]) -> bool {
        denied_restart(registers, Some(filters)).is_some()
    }

    #[test]
    fn a_restart_is_denied_if_any_filter_denies_it() {
        let sleeps = registers(-516, 0x33, 35);
        let all = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap();
        assert!(!is_denied(&sleeps, &[all.clone(), only(0, 219)]));
        assert!(is_denied(&sleeps, &[only(0, 35), all.clone()]));
        assert!(is_denied(&sleeps, &[all.clone(), only(0, 35)]));
        assert!(denied_restart(&sleeps, None::<&[Program]>).is_some());
    }

    #[test]
    fn filters_see_the_registers_of_the_interrupted_syscall() {
        let sleeps = registers(-516, 0x33, 35);
        for (offset, value) in [(4, Arch::X86_64.token()), (8, 0x1234), (16, 7)] {
            assert!(!is_denied(&sleeps, &[only(offset, value)]), "{offset}");
        }
        for (cs, nr, token, arg) in
            [(0x33, 0x4000_00db, Arch::X86_64.token(), 7), (0x23, 0, Arch::X86.token(), 9)]
        {
            let sleeps = registers(-516, cs, if cs == 0x33 { 0x4000_0023 } else { 162 });
            let filters = [only(0, nr), only(4, token), only(16, arg), only(20, 0)];
            assert!(!is_denied(&sleeps, &filters), "{cs:#x}");
        }
    }

    #[test]
    fn other_results_need_no_restart() {
        for rax in [0, -4, -512, -513, -514] {
            assert!(!is_denied(&registers(rax, 0x33, 35), &[only(0, 35)]), "{rax}");
        }
        // Outside of a syscall, rax is a value of the program.
        assert!(!is_denied(&registers(-516, 0x33, u64::MAX), &[only(0, 35)]));
    }

    #[test]
    fn the_restart_is_recognised_at_its_start() {
        for (cs, before, nr) in [(0x33, 35, 219), (0x33, 0x4000_0023, 0x4000_00db), (0x23, 162, 0)]
        {
            let restart = denied_restart(&registers(-516, cs, before), None::<&[Program]>).unwrap();
            let again = restart.started_again(&registers(-516, cs, before)).unwrap();
            assert_eq!((again.rax, again.orig_rax), (-514_i64 as u64, before));
            let again = denied_restart(&registers(-516, cs, nr), None::<&[Program]>).unwrap();
            assert!(again.started_again(&registers(-516, cs, nr)).is_none());
            let entered = registers(-38, cs, nr);
            assert!(restart.is_entered(&entered), "{cs:#x}");
            let others = [
                Registers { orig_rax: before, ..entered },
                Registers { cs: cs ^ 0x10, ..entered },
                Registers { rip: 0x1236, ..entered },
                Registers { rsp: 0x7f00, ..entered },
            ];
            assert!(others.iter().all(|other| !restart.is_entered(other)), "{cs:#x}");
        }
    }

    #[test]
    fn a_decided_restart_is_undone_until_it_is_entered() {
        for (cs, before, nr) in [(0x33, 35, 219), (0x33, 0x4000_0023, 0x4000_00db), (0x23, 162, 0)]
        {
            let interrupted = registers(-516, cs, before);
            let restart = denied_restart(&interrupted, None::<&[Program]>).unwrap();
            let decided = Registers { rax: nr, rip: interrupted.rip - 2, ..interrupted };
            let undone = restart.undecided(&decided).unwrap();
            assert_eq!(denied_restart(&undone, None::<&[Program]>).unwrap().nr, restart.nr);
            assert_eq!((undone.rip, undone.rsp), (interrupted.rip, interrupted.rsp), "{cs:#x}");
            let in_user_mode = Registers { orig_rax: u64::MAX, ..decided };
            assert_eq!(restart.undecided(&in_user_mode).is_some(), cs == 0x33);
            let others = [
                interrupted,
                registers(-38, cs, nr),
                Registers { rax: before, ..decided },
                Registers { rsp: 0x7f00, ..decided },
            ];
            assert!(others.iter().all(|other| restart.undecided(other).is_none()), "{cs:#x}");
        }
    }
}
