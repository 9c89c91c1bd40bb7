//! Signals while a command is recorded. `unsafe` code: the handler.
//!
//! What is typed at the terminal (Ctrl-C, Ctrl-\) reaches the command by itself, and must not end the
//! recorder before it has written the recording. A signal that somebody sends to the recorder alone is
//! passed on to the command. When the command has ended and only processes that it left behind are
//! waited for, a signal ends the waiting.
//!
//! A parent may have left SIGCHLD ignored, and then the kernel keeps no status of a child that ended. The
//! command inherits that, as it would without a recorder; the recorder takes the default meanwhile.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use libc::{c_int, c_void, pid_t, siginfo_t};

use super::ptrace;

const SIGNALS: [c_int; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// The command, 0 when it has ended.
static COMMAND: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

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
        let mut before = Vec::new();
        for signal in SIGNALS {
            let handler = handle as extern "C" fn(_, _, _) as libc::sighandler_t;
            let Some(old) = set(signal, &action(handler, libc::SA_SIGINFO)) else { continue };
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
    // `kill` and `write`.
    let result = unsafe { libc::sigaction(signal, action, old.as_mut_ptr()) };
    // SAFETY: `sigaction` succeeded, so it filled the whole structure.
    (result == 0).then(|| unsafe { old.assume_init() })
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let command = COMMAND.load(Ordering::Relaxed);
    if command == 0 {
        INTERRUPTED.store(true, Ordering::Relaxed);
        ptrace::ring();
        return;
    }
    // SAFETY: with SA_SIGINFO the kernel gives a valid pointer.
    let from_a_process = unsafe { (*info).si_code } <= 0;
    if from_a_process {
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
