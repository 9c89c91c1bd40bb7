//! Syscalls that a signal interrupts while they wait for the listener.
//!
//! Until the listener has received a syscall, a signal ends its wait with ERESTARTSYS (`kernel/seccomp.c`,
//! `seccomp_do_user_notification`). If a handler without SA_RESTART runs, the program would see EINTR from a
//! syscall that was never executed, even from one that never returns EINTR. A blocking syscall that is being
//! executed also ends with ERESTARTSYS, and must stay interrupted. The tracer sees the tracee just before the
//! handler runs (signal-delivery-stop), and must tell the two apart:
//!
//! - If it differs from the syscall that was received last, it was not received. ERESTARTNOINTR in place of
//!   ERESTARTSYS makes it start again, whatever the handler is (`arch/x86/kernel/signal.c`, `handle_signal`).
//! - If it equals the syscall that was received last, as in a loop, the signal is held back, so that the syscall
//!   starts again, and is sent again once the listener has received it; from then on no signal interrupts the
//!   wait. If the syscall then ends with ERESTARTSYS, it was being executed.
//!
//! A syscall that is received again because a signal was held back is counted when it turns out not to block,
//! since it was not received before. One that blocks was most likely received and counted before.

use libc::{c_int, pid_t, siginfo_t};

use crate::tracer::{self, Syscall};

/// `include/linux/errno.h`.
const ERESTARTNOINTR: i64 = 513;

/// Signals that are never held back: sent later, they would undo what happened meanwhile.
const JOB_CONTROL: [c_int; 5] =
    [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGCONT];

/// State of the syscalls and signals of one tracee.
#[derive(Default)]
pub(super) struct InterruptedSyscalls {
    /// The syscall at whose start it stopped, until it is received.
    entered: Option<Syscall>,
    /// The syscall that was received last.
    received: Option<Syscall>,
    /// Syscalls that were counted at their start and will start again.
    again: Vec<Syscall>,
    /// The last syscall, received again and not counted yet.
    uncertain: Option<Syscall>,
    /// Signals that were held back and will be sent again.
    held: Vec<siginfo_t>,
    /// The original information of signals that were sent again.
    sent: Vec<siginfo_t>,
    /// Signals were sent before the last syscall continued, and none of them was delivered yet: they interrupt that
    /// syscall while it is executed.
    certain: bool,
}

/// How many sent signals are remembered. A signal that the program takes by `sigwait` is never delivered.
const MAX_SENT: usize = 64;

impl InterruptedSyscalls {
    /// The tracee stopped at the start of a syscall. Returns whether to count it.
    pub(super) fn enter(&mut self, syscall: &Syscall) -> bool {
        self.entered = Some(*syscall);
        !self.again.contains(syscall)
    }

    /// A syscall was received and will continue when this returns. Returns whether to count it; with
    /// `stops_at_syscalls` it was counted at its start.
    pub(super) fn receive(
        &mut self,
        pid: pid_t,
        syscall: &Syscall,
        stops_at_syscalls: bool,
    ) -> bool {
        self.entered = None;
        self.received = Some(*syscall);
        let before = self.sent.len();
        // If the queue is full (RLIMIT_SIGPENDING), the signal is sent at the next syscall.
        let held = std::mem::take(&mut self.held);
        let (sent, held): (Vec<_>, _) =
            held.into_iter().partition(|signal| tracer::send(pid, signal.si_signo));
        self.sent.extend(sent);
        self.held = held;
        self.certain = self.sent.len() > before;
        let forgotten = self.sent.len().saturating_sub(MAX_SENT);
        self.sent.drain(..forgotten);
        if let Some(index) = self.again.iter().position(|other| other == syscall) {
            self.again.remove(index);
            return false;
        }
        self.uncertain = (self.certain && !stops_at_syscalls).then_some(*syscall);
        !self.certain
    }

    /// The tracee stopped at the end of a syscall.
    pub(super) fn leave(&mut self, pid: pid_t) {
        let Some(entered) = self.entered.take() else { return };
        if tracer::registers(pid).is_some_and(|registers| registers.is_interrupted()) {
            self.begins_anew(Some(entered));
            tracer::set_result(pid, -ERESTARTNOINTR);
        }
    }

    /// The last syscall, if it must be counted now because the tracee has continued after it.
    pub(super) fn made(&mut self) -> Option<Syscall> {
        self.uncertain.take()
    }

    /// A signal is about to be delivered to the tracee. Returns the signal to deliver, 0 for none. With
    /// `stops_at_syscalls`, syscalls are counted at their start.
    pub(super) fn signal(&mut self, pid: pid_t, signal: c_int, stops_at_syscalls: bool) -> c_int {
        let certain = std::mem::take(&mut self.certain);
        let Some(registers) = tracer::registers(pid) else { return signal };
        let Some(info) = tracer::signal_info(pid) else { return signal };
        let is_last = self.received.filter(|syscall| registers.are_in(syscall));
        if certain && is_last.is_some() && registers.is_interrupted() {
            self.uncertain = None;
        }
        let mut sent = self.sent.iter();
        let index = sent.position(|sent| tracer::is_sent(&info) && sent.si_signo == signal);
        if let Some(index) = index {
            tracer::set_signal_info(pid, &self.sent.remove(index));
            return signal;
        }
        if !registers.is_interrupted() {
            return signal;
        }
        match (is_last, self.entered.take()) {
            (Some(_), None) if certain || JOB_CONTROL.contains(&signal) => signal,
            (Some(syscall), None) => {
                self.begins_anew(stops_at_syscalls.then_some(syscall));
                // At most one standard signal of a number is pending.
                let is_one = signal < libc::SIGRTMIN()
                    && self.held.iter().any(|held| held.si_signo == signal);
                if !is_one {
                    self.held.push(info);
                }
                0
            }
            (_, entered) => {
                self.begins_anew(entered);
                tracer::set_result(pid, -ERESTARTNOINTR);
                signal
            }
        }
    }

    /// Remembers a syscall that starts again and was counted already.
    fn begins_anew(&mut self, counted: Option<Syscall>) {
        if let Some(syscall) = counted.filter(|syscall| !self.again.contains(syscall)) {
            self.again.push(syscall);
        }
    }
}
