//! Signals while a command is recorded. `unsafe` code: the handler.
//!
//! What is typed at the terminal (Ctrl-C, Ctrl-\) reaches the command by itself, and must not end the
//! recorder before it has written the recording. A signal that somebody sends to the recorder alone is
//! passed on to the command. When the command has ended and only processes that it left behind are
//! waited for, a signal ends the waiting.
//!
//! Signals seldom come alone: `timeout(1)` sends one to its command and one to all of the group. So while the
//! recording is saved they do nothing, until saving has taken [`PATIENCE`]: it may be a pipe that nobody reads.
//!
//! A parent may have left SIGCHLD ignored, and then the kernel keeps no status of a child that ended. The
//! command inherits that, as it would without a recorder; the recorder takes the default meanwhile.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use libc::{c_int, c_void, pid_t, siginfo_t};

use super::ptrace;

/// Those by which a process is asked to end, and others that end it by default and are sent by hand or by timers.
const SIGNALS: [c_int; 7] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
];

/// How long signals are held while the recording is saved.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The command, 0 when it has ended.
static COMMAND: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Until when signals are held, in nanoseconds of the monotonic clock; 0 before the recording is saved.
static HELD_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Keeps this process alive until it is dropped; then signals do again what they did.
pub(super) struct Signals {
    before: Vec<(c_int, libc::sigaction)>,
}

impl Signals {
    /// From now on, signals are for the command. Those that are ignored already stay so, for the command
    /// too, as `nohup` wants it.
    pub(super) fn are_for(command: pid_t) -> Signals {
        COMMAND.store(command, Ordering::Relaxed);
        INTERRUPTED.store(false, Ordering::Relaxed);
        HELD_UNTIL.store(0, Ordering::Relaxed);
        let mut before = Vec::new();
        for signal in SIGNALS {
            let Some(old) = set(signal, &held(0)) else { continue };
            if old.sa_sigaction == libc::SIG_IGN {
                set(signal, &old);
            } else {
                before.push((signal, old));
            }
        }
        let default = action(libc::SIG_DFL, 0);
        before.extend(set(libc::SIGCHLD, &default).map(|old| (libc::SIGCHLD, old)));
        Signals { before }
    }

    /// The command has ended.
    pub(super) fn command_ended(&self) {
        COMMAND.store(0, Ordering::Relaxed);
    }

    /// The recording will be saved from now on, by calls that no signal interrupts.
    pub(super) fn wait_for_saving(&self) {
        for (signal, _) in self.before.iter().filter(|(signal, _)| *signal != libc::SIGCHLD) {
            set(*signal, &held(libc::SA_RESTART));
        }
        self.wait_for(PATIENCE);
    }

    fn wait_for(&self, patience: Duration) {
        let until = now().saturating_add(patience.as_nanos().try_into().unwrap_or(u64::MAX));
        HELD_UNTIL.store(until, Ordering::Relaxed);
    }

    /// Whether a signal came after the command had ended.
    pub(super) fn interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, old) in &self.before {
            set(*signal, old);
        }
    }
}

fn held(flags: c_int) -> libc::sigaction {
    let handler = handle as extern "C" fn(_, _, _) as libc::sighandler_t;
    action(handler, libc::SA_SIGINFO | flags)
}

/// Nanoseconds of the monotonic clock. May be called in a handler.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for writes, and the call may be made in a handler.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

pub(super) fn action(handler: libc::sighandler_t, flags: c_int) -> libc::sigaction {
    // SAFETY: a `sigaction` of zeros is a valid value: integers, an empty set, a null pointer.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    action
}

/// What a signal does from now on; what it did before, if that could be changed.
pub(super) fn set(signal: c_int, action: &libc::sigaction) -> Option<libc::sigaction> {
    let mut old = MaybeUninit::uninit();
    // SAFETY: both pointers are valid for the call. An action is the default, what was there before, or
    // a handler that does only what one may do: those here and in `ptrace::bell` use atomics and errno, and call
    // `clock_gettime`, `sigaction`, `raise`, `kill` and `write`.
    let result = unsafe { libc::sigaction(signal, action, old.as_mut_ptr()) };
    // SAFETY: `sigaction` succeeded, so it filled the whole structure.
    (result == 0).then(|| unsafe { old.assume_init() })
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let (command, until) = (COMMAND.load(Ordering::Relaxed), HELD_UNTIL.load(Ordering::Relaxed));
    if command == 0 && until != 0 {
        if now() >= until {
            set(signal, &action(libc::SIG_DFL, 0));
            // SAFETY: takes a number. The signal is blocked here, so it comes when this returns.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    if command == 0 {
        INTERRUPTED.store(true, Ordering::Relaxed);
        ptrace::ring();
        return;
    }
    // SAFETY: with SA_SIGINFO the kernel gives a valid pointer.
    let from_a_process = unsafe { (*info).si_code } <= 0;
    // The alarm is this process's own: somebody set a limit for the command before there was a recorder.
    if from_a_process || signal == libc::SIGALRM {
        // SAFETY: `kill` may be called in a handler, and takes numbers. `errno` is this thread's, and
        // what the interrupted code finds there stays, even if the command may not be signalled.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            libc::kill(command, signal);
            *errno = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use super::*;

    /// Signals concern the whole process, so a child is asked.
    #[test]
    fn signals_are_held_while_a_recording_is_saved_but_not_for_ever() {
        for (patience, ends) in [(Duration::from_secs(60), false), (Duration::ZERO, true)] {
            // SAFETY: the child makes system calls, touches atomics, and ends.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let signals = ManuallyDrop::new(saving(patience));
                // SAFETY: takes a number.
                SIGNALS.iter().for_each(|signal| unsafe {
                    libc::raise(*signal);
                });
                // SAFETY: ends the process.
                unsafe { libc::_exit(if signals.interrupted() { 1 } else { 0 }) };
            }
            let (_, status) = crate::tracer::wait(child).unwrap();
            let expected = if ends { SIGNALS[0] } else { 0 };
            assert_eq!(status, expected);
        }
    }

    /// Without memory, which a child of a process with threads may not take.
    fn saving(patience: Duration) -> Signals {
        for signal in SIGNALS {
            set(signal, &held(0));
        }
        COMMAND.store(0, Ordering::Relaxed);
        let signals = Signals { before: Vec::new() };
        signals.wait_for(patience);
        signals
    }
}
