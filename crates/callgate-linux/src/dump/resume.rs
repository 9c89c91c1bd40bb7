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

use std::thread;
use std::time::{Duration, Instant};

use callgate_core::Program;

use super::error::DumpErrorKind;
use super::restart::{self, Restart};
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
    let Some(restart) = restart::denied_restart(&registers, filters) else { return };
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
                if restart::continues_as_restart(&stopped.registers()?) {
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
                if !restart::continues_as_restart(&stopped.registers()?) {
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
