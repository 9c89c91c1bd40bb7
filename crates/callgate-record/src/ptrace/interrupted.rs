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

use crate::tracer::{self, Call};

/// Of `include/linux/errno.h`.
const ERESTARTNOINTR: i64 = 513;

/// Signals that are not held back: sent again, they would undo what came after them.
const JOB_CONTROL: [c_int; 5] =
    [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGCONT];

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
    /// Signals were sent before the last call was let go on, and none of them was given yet: what is
    /// interrupted is that call, and was being made.
    certain: bool,
}

/// How many signals that were sent are remembered: one that the program waits for is never given.
const MOST_SENT: usize = 64;

impl Waits {
    /// The tracee stopped at the start of a call. Whether that is to be counted.
    pub(super) fn enter(&mut self, call: &Call) -> bool {
        self.entered = Some(*call);
        !self.again.contains(call)
    }

    /// A call was received, and is to be let go on when this returns. Whether it is to be counted, unless it was at
    /// its start (`every`).
    pub(super) fn receive(&mut self, pid: pid_t, call: &Call, every: bool) -> bool {
        self.entered = None;
        self.received = Some(*call);
        let before = self.sent.len();
        // One for which there is no room (RLIMIT_SIGPENDING) is sent at the next call.
        for signal in self.held.extract_if(.., |signal| tracer::send(pid, signal.si_signo)) {
            self.sent.push(signal);
        }
        self.certain = self.sent.len() > before;
        let forgotten = self.sent.len().saturating_sub(MOST_SENT);
        self.sent.drain(..forgotten);
        if let Some(index) = self.again.iter().position(|other| other == call) {
            self.again.remove(index);
            return false;
        }
        self.uncertain = (self.certain && !every).then_some(*call);
        !self.certain
    }

    /// The tracee stopped at the end of a call.
    pub(super) fn leave(&mut self, pid: pid_t) {
        let Some(entered) = self.entered.take() else { return };
        if tracer::registers(pid).is_some_and(|registers| registers.is_interrupted()) {
            self.begins_anew(Some(entered));
            tracer::set_result(pid, -ERESTARTNOINTR);
        }
    }

    /// The last call, if it is to be counted now: the tracee has made it, and does something else.
    pub(super) fn made(&mut self) -> Option<Call> {
        self.uncertain.take()
    }

    /// The tracee is about to be given a signal. Returns what it is to be given, 0 for nothing. `every`: calls
    /// are counted at their start.
    pub(super) fn signal(&mut self, pid: pid_t, signal: c_int, every: bool) -> c_int {
        let certain = std::mem::take(&mut self.certain);
        let Some(registers) = tracer::registers(pid) else { return signal };
        let Some(info) = tracer::signal_info(pid) else { return signal };
        let is_last = self.received.filter(|call| registers.are_in(call));
        if certain && is_last.is_some() && registers.is_interrupted() {
            self.uncertain = None;
        }
        if tracer::is_sent(&info)
            && let Some(index) = self.sent.iter().position(|sent| sent.si_signo == signal)
        {
            tracer::set_signal_info(pid, &self.sent.remove(index));
            return signal;
        }
        if !registers.is_interrupted() {
            return signal;
        }
        match (is_last, self.entered.take()) {
            (Some(_), None) if certain || JOB_CONTROL.contains(&signal) => signal,
            (Some(call), None) => {
                self.begins_anew(every.then_some(call));
                // Of these, one is pending at the most.
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

    /// If it was counted already, that is to be known, once.
    fn begins_anew(&mut self, counted: Option<Call>) {
        if let Some(call) = counted.filter(|call| !self.again.contains(call)) {
            self.again.push(call);
        }
    }
}
