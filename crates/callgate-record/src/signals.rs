//! Signal handling of the recorder. `unsafe` code: the handler.
//!
//! Signals from the terminal (Ctrl-C, Ctrl-\) reach the command directly and must not end the recorder before it
//! has written the recording. A signal that is sent to the recorder alone is forwarded to the command. When the
//! command has ended and only its remaining processes are waited for, a signal ends the waiting; a recording of
//! processes that ran already is ended by any signal.
//!
//! Signals often arrive in pairs: `timeout(1)` sends one to its command and one to the process group. So they have
//! no effect while the recording is saved, for at most [`PATIENCE`], because a pipe may have no reader.
//!
//! A parent may have left SIGCHLD ignored, in which case the kernel discards the status of a child that ends. The
//! command inherits that, as it would without a recorder; the recorder uses the default action meanwhile.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use libc::{c_int, c_void, pid_t, siginfo_t};

use crate::wake_event::wake;

/// Signals that end a process by default and that users, tools or timers send.
const SIGNALS: [c_int; 7] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
];

/// For how long signals have no effect while the recording is saved.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The process of the command, 0 after its end.
static COMMAND: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Until when signals have no effect, in nanoseconds of the monotonic clock; 0 before the recording is saved.
static HELD_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Actions of signals belong to the whole process, so that it makes one recording at a time.
pub(super) fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps signals from ending this process, until it is dropped.
pub(super) struct Signals {
    before: Vec<(c_int, libc::sigaction)>,
}

impl Signals {
    /// From now on, signals are forwarded to the command. Signals that are ignored stay ignored, also for the
    /// command, as `nohup` requires.
    pub(super) fn forward_to(command: pid_t) -> Signals {
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

    /// From now on, signals end the recording of processes that run already.
    pub(super) fn end_recording() -> Signals {
        Signals::forward_to(0)
    }

    /// The command has ended: signals now end the waiting. Called before the command is reaped, because its process
    /// ID may be reused afterwards.
    pub(super) fn command_ended(&self) {
        COMMAND.store(0, Ordering::Relaxed);
    }

    /// The recording will be saved now; signals do not interrupt the syscalls for that.
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

    /// Whether a signal arrived after the command had ended, or without one.
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

/// Nanoseconds of the monotonic clock. Async-signal-safe.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for writes, and the function is async-signal-safe.
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

/// Sets the action of a signal. Returns the previous one, `None` if it cannot be changed.
pub(super) fn set(signal: c_int, action: &libc::sigaction) -> Option<libc::sigaction> {
    let mut old = MaybeUninit::uninit();
    // SAFETY: both pointers are valid for the call. The action is the default, the previous one, or an
    // async-signal-safe handler: those here, in `wait_timer` and in `ptrace::sigchld_waker` use atomics and errno,
    // and call `clock_gettime`, `sigaction`, `raise`, `kill` and `write`.
    let result = unsafe { libc::sigaction(signal, action, old.as_mut_ptr()) };
    // SAFETY: `sigaction` succeeded, so it filled the whole structure.
    (result == 0).then(|| unsafe { old.assume_init() })
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let (command, until) = (COMMAND.load(Ordering::Relaxed), HELD_UNTIL.load(Ordering::Relaxed));
    if command == 0 && until != 0 {
        if now() >= until {
            set(signal, &action(libc::SIG_DFL, 0));
            // SAFETY: takes a number. The signal is blocked here, so it is delivered when this returns.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    if command == 0 {
        INTERRUPTED.store(true, Ordering::Relaxed);
        wake();
        return;
    }
    // SAFETY: with SA_SIGINFO the kernel gives a valid pointer.
    let from_a_process = unsafe { (*info).si_code } <= 0;
    // SIGALRM comes from a timer of this process, set as a limit for the command before it started the recorder.
    if from_a_process || signal == libc::SIGALRM {
        // SAFETY: `kill` is async-signal-safe and takes numbers. `errno` belongs to this thread, and the
        // interrupted code finds it unchanged, even if `kill` fails.
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

    /// In a child, because the actions of signals belong to a process.
    #[test]
    fn signals_have_no_effect_while_a_recording_is_saved_for_a_limited_time() {
        for (patience, ends) in [(Duration::from_secs(60), false), (Duration::ZERO, true)] {
            // SAFETY: the child makes syscalls, uses atomics, and ends.
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

    /// Allocates nothing, which would be unsafe in the child of a process with threads.
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
