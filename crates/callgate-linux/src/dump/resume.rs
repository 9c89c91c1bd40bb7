//! Lets a stopped thread continue, without a change to how long it sleeps.
//!
//! Stopping a thread interrupts its syscall. The kernel restarts most syscalls by themselves; a sleep for a
//! limited time continues as `restart_syscall`, which keeps the original expiry time. If a filter of the
//! thread denies `restart_syscall` ([`restart`](super::restart)), the tracer suspends the filters for that one
//! syscall:
//!
//! 1. The thread runs until it stops at the start of `restart_syscall` (`PTRACE_SYSCALL`). The kernel reports
//!    this stop before it runs the filters.
//! 2. The tracer sets `PTRACE_O_SUSPEND_SECCOMP`, which makes the kernel skip the filters, and lets the thread
//!    run until the end of the syscall. The thread sleeps for the rest of its time.
//! 3. As soon as the thread sleeps, the tracing thread ends. The kernel then detaches the tracer, which neither
//!    stops nor interrupts the sleep and clears all ptrace options. If the syscall ends first, the tracer
//!    clears the option and detaches there.
//!
//! A signal may arrive on the way, also one that the thread ignores, because the kernel wakes a traced thread
//! for those too. The tracer delivers it. Afterwards the thread either makes the `restart_syscall` again, with
//! the same instruction and stack pointers, or does something else, in which case the tracer detaches.
//!
//! If the signal arrives after the kernel has decided that the `restart_syscall` follows, and before the thread
//! makes it, a handler would run first and the filters would judge the restart after it. The tracer therefore
//! sets the registers as if a `restart_syscall` had just been interrupted. The kernel decides again: the handler
//! ends the sleep with EINTR, an ignored signal does not end it.
//!
//! The filters are never suspended while the thread runs code of its own: the option is set only where the
//! thread is about to make this `restart_syscall`, and the next stop comes before the syscall returns.
//!
//! `PTRACE_O_SUSPEND_SECCOMP` needs the same privilege as reading filters: CAP_SYS_ADMIN in the initial user
//! namespace, and a tracer without filters. Where it is not available, and before Linux 4.16 (Linux 4.8
//! moved the stop in front of the filters; 4.16 is what can be detected), the syscall starts again with all of
//! its time. This is also what happens if the thread does not reach its sleep within [`PATIENCE`], for
//! example in a frozen cgroup.
//!
//! What is lost:
//!
//! - Between the last look at the sleeping thread and the end of the tracing thread, about 15 µs, a signal that
//!   the thread ignores (SIGCHLD, say) still interrupts the sleep. Then the filters judge the restart. Under
//!   4,000 such signals per second this happened at 6 % of the dumps, without such signals at none of 27,924.
//! - The filters also judge it if the tracing process is killed while the thread is stopped, and after a handler
//!   that interrupts a 32-bit process right before the restart ([`Restart::undecided`]).
//! - A thread in a group-stop (SIGSTOP) keeps its pending `restart_syscall`, which its filters judge after
//!   SIGCONT, as they do without a tracer.
//!
//! Sources: `kernel/entry/syscall-common.c`, `syscall_trace_enter` (ptrace before seccomp);
//! `kernel/seccomp.c`, `__secure_computing` (`PT_SUSPEND_SECCOMP`); `kernel/ptrace.c`,
//! `check_ptrace_options`, `exit_ptrace` and `__ptrace_unlink`; `kernel/signal.c`, `sig_ignored`;
//! `include/linux/ptrace.h`, `ptrace_report_syscall` (a detached thread gets no SIGTRAP, because 0x85 is not a
//! signal).
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

use std::thread;
use std::time::{Duration, Instant};

use callgate::{Arch, Endian, SeccompData};
use callgate_core::Program;
use libc::user_regs_struct as Registers;

use super::error::DumpErrorKind;
use super::tracee::{Stop, Stopped, SyscallStops, Tracee};

/// How long the thread may take until it sleeps again, which needs microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lets a stopped thread continue. The calling thread must end right after this returns.
///
/// `filters` are those of the thread, if they could be read.
pub(super) fn resume<'p>(stopped: Stopped, filters: Option<impl IntoIterator<Item = &'p Program>>) {
    if stopped.stop == Stop::Group {
        return;
    }
    let Ok(registers) = stopped.registers() else { return };
    let Some(restart) = denied_restart(&registers, filters) else { return };
    // Tried while the thread is stopped, where it has no effect.
    let is_possible = stopped.reports_before_filters()
        && stopped.set_syscall_stops(SyscallStops::FiltersSuspended).is_ok()
        && stopped.set_syscall_stops(SyscallStops::Filtered).is_ok();
    if !is_possible {
        return start_again(&stopped, &restart);
    }
    // Every error means that the thread was killed.
    let _ = sleep_on(stopped, restart);
}

/// Returns as soon as the thread sleeps again, does something else, or was killed.
fn sleep_on(stopped: Stopped, restart: Restart) -> Result<(), DumpErrorKind> {
    let deadline = Instant::now() + PATIENCE;
    let mut tracee = stopped.run_to_syscall()?;
    let mut is_restarting = false;
    loop {
        let stopped = match next(&tracee, is_restarting, deadline)? {
            Next::Stopped(stopped) => stopped,
            Next::Asleep => return Ok(()),
            Next::Late => {
                let stopped = tracee.stop(PATIENCE)?;
                undo_decision(&stopped, &restart)?;
                if continues_as_restart(&stopped.registers()?) {
                    start_again(&stopped, &restart);
                }
                return Ok(());
            }
        };
        let is_end = is_restarting && stopped.stop == Stop::Syscall;
        if is_restarting {
            stopped.set_syscall_stops(SyscallStops::Filtered)?;
            is_restarting = false;
        }
        // Dropping `stopped` detaches.
        match stopped.stop {
            Stop::Syscall if is_end => {
                if !continues_as_restart(&stopped.registers()?) {
                    return Ok(());
                }
            }
            Stop::Syscall => {
                if !restart.is_entered(&stopped.registers()?) {
                    return Ok(());
                }
                stopped.set_syscall_stops(SyscallStops::FiltersSuspended)?;
                is_restarting = true;
            }
            Stop::Signal(_) => undo_decision(&stopped, &restart)?,
            Stop::Interrupt => {}
            Stop::Group => return Ok(()),
        }
        tracee = stopped.run_to_syscall()?;
    }
}

/// Lets the kernel decide again whether the `restart_syscall` follows, if the thread has not made it yet.
fn undo_decision(stopped: &Stopped, restart: &Restart) -> Result<(), DumpErrorKind> {
    if let Some(registers) = restart.undecided(&stopped.registers()?) {
        // This fails if the thread was killed.
        let _ = stopped.set_registers(&registers);
    }
    Ok(())
}

/// What a running thread did next.
enum Next {
    Stopped(Stopped),
    /// It sleeps in the `restart_syscall`.
    Asleep,
    /// None of these until the deadline.
    Late,
}

fn next(tracee: &Tracee, is_restarting: bool, deadline: Instant) -> Result<Next, DumpErrorKind> {
    let mut pause = Duration::from_micros(20);
    loop {
        let is_asleep = is_restarting && tracee.is_asleep();
        // Asked last, so that a thread that was just interrupted does not count as asleep.
        if let Some(stopped) = tracee.poll()? {
            return Ok(Next::Stopped(stopped));
        }
        if is_asleep {
            return Ok(Next::Asleep);
        }
        if Instant::now() > deadline {
            return Ok(Next::Late);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Lets the interrupted syscall start again with all of its time. If that was a `restart_syscall`, its number is
/// no longer known, and the filters judge the next one.
fn start_again(stopped: &Stopped, restart: &Restart) {
    if stopped.stop == Stop::Group {
        return;
    }
    // Both fail only if the thread was killed.
    let Ok(registers) = stopped.registers() else { return };
    if let Some(registers) = restart.started_again(&registers) {
        let _ = stopped.set_registers(&registers);
    }
}

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
struct Restart {
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
fn continues_as_restart(registers: &Registers) -> bool {
    // Without a syscall, `orig_rax` is negative and `rax` is a value of the program.
    registers.rax == ERESTART_RESTARTBLOCK && registers.orig_rax as i64 >= 0
}

/// The `restart_syscall` that the kernel is about to make for a stopped thread, if one of the filters denies it.
/// Unknown filters (`None`) count as denying.
fn denied_restart<'p>(
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
