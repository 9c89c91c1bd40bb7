//! Calls that a signal interrupts while they wait for the listener.
//!
//! Until the listener has received a call, a signal ends its wait (`seccomp_do_user_notification` of
//! `kernel/seccomp.c`) with ERESTARTSYS. If a handler without SA_RESTART runs, the program would be told EINTR
//! by a call that was never made, and by calls that never tell it. A call that is being made, and blocks, ends
//! with ERESTARTSYS too, and that must stay so. The tracer sees the tracee just before the handler runs
//! (signal-delivery-stop), and must know which of the two it is:
//!
//! - It is not the call that was received last: then it was not received. ERESTARTNOINTR in place of ERESTARTSYS
//!   lets it begin anew whatever the handler is (`handle_signal` of `arch/x86/kernel/signal.c`).
//! - It looks like the call that was received last, as in a loop. Then the signal is held back, so that the call
//!   begins anew, and sent again when the listener has it, which no signal interrupts any more. If that call ends
//!   with ERESTARTSYS now, it was being made.
//!
//! A call that the listener receives again because a signal was held back is counted when it turns out that it does
//! not block, as then it was not received before. One that blocks was, most likely, and counted.

use libc::{c_int, pid_t, siginfo_t};

use crate::record::tracer::{self, Call};

/// Of `include/linux/errno.h`.
const ERESTARTSYS: i64 = 512;
const ERESTARTNOINTR: i64 = 513;

/// What is known of the calls of a tracee.
#[derive(Default)]
pub(super) struct Waits {
    /// The call at whose start it stopped, until that is received.
    entered: Option<Call>,
    /// The last that was received.
    received: Option<Call>,
    /// Those that were counted at their start, and begin anew.
    again: Vec<Call>,
    /// The last call, received again and not counted yet.
    uncertain: Option<Call>,
    /// Signals that will be sent again.
    held: Vec<siginfo_t>,
    /// Signals that were sent again, as they were at first.
    sent: Vec<siginfo_t>,
    /// Signals were sent before the last call was let go on: nothing is interrupted but that call.
    certain: bool,
}

impl Waits {
    /// The tracee stopped at the start of a call. Whether that is to be counted.
    pub(super) fn enter(&mut self, call: &Call) -> bool {
        self.entered = Some(*call);
        !self.again.contains(call)
    }

    /// A call was received, and is to be let go on when this returns. Whether it is to be counted, unless it was at
    /// its start.
    pub(super) fn receive(&mut self, pid: pid_t, call: &Call) -> bool {
        self.entered = None;
        self.received = Some(*call);
        self.certain = !self.held.is_empty();
        for signal in self.held.drain(..) {
            tracer::send(pid, signal.si_signo);
            self.sent.push(signal);
        }
        if let Some(index) = self.again.iter().position(|other| other == call) {
            self.again.remove(index);
            return false;
        }
        self.uncertain = self.certain.then_some(*call);
        !self.certain
    }

    /// The last call, if it is to be counted now: the tracee has made it, and does something else.
    pub(super) fn made(&mut self) -> Option<Call> {
        self.uncertain.take()
    }

    /// The tracee is about to be given a signal. Returns what it is to be given, 0 for nothing. `every`: calls
    /// are counted at their start.
    pub(super) fn signal(&mut self, pid: pid_t, signal: c_int, every: bool) -> c_int {
        let Some(registers) = tracer::registers(pid) else { return signal };
        let is_interrupted = registers.result == -ERESTARTSYS && registers.nr != u32::MAX;
        if is_interrupted && self.certain {
            self.uncertain = None;
        }
        if let Some(index) = self.sent.iter().position(|sent| sent.si_signo == signal) {
            tracer::set_signal_info(pid, &self.sent.remove(index));
            return signal;
        }
        if self.certain || !is_interrupted {
            return signal;
        }
        let entered = self.entered.take();
        match &self.received {
            Some(call) if entered.is_none() && registers.are_in(call) => {
                // Held back, it would come after a SIGCONT that came after it.
                let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
                match tracer::signal_info(pid).filter(|_| !stops.contains(&signal)) {
                    None => signal,
                    Some(info) => {
                        let counted = every.then_some(*call);
                        self.held.push(info);
                        self.begins_anew(counted);
                        0
                    }
                }
            }
            _ => {
                self.begins_anew(entered);
                tracer::set_result(pid, -ERESTARTNOINTR);
                signal
            }
        }
    }

    /// If it was counted already, that is to be known, once.
    fn begins_anew(&mut self, counted: Option<Call>) {
        if let Some(call) = counted.filter(|call| !self.again.contains(call)) {
            self.again.push(call);
        }
    }
}
