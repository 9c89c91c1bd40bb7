//! Signals while a command is recorded. `unsafe` code: the handler.
//!
//! What is typed at the terminal (Ctrl-C, Ctrl-\) reaches the command by itself, and must not end the
//! recorder before it has written the recording. A signal that somebody sends to the recorder alone is
//! passed on to the command. When the command has ended and only processes that it left behind are
//! waited for, a signal ends the waiting.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use libc::{c_int, c_void, pid_t, siginfo_t};

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
            // SAFETY: a `sigaction` of zeros is a valid value: integers, an empty set, a null pointer.
            let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
            action.sa_sigaction = handle as extern "C" fn(_, _, _) as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            let mut old = MaybeUninit::uninit();
            // SAFETY: both pointers are valid for the call; the handler only stores to atomics and
            // calls `kill`, all of which a handler may do.
            if unsafe { libc::sigaction(signal, &raw const action, old.as_mut_ptr()) } != 0 {
                continue;
            }
            // SAFETY: `sigaction` succeeded, so it filled the whole structure.
            let old = unsafe { old.assume_init() };
            if old.sa_sigaction == libc::SIG_IGN {
                restore(signal, &old);
            } else {
                before.push((signal, old));
            }
        }
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
            restore(*signal, old);
        }
    }
}

fn restore(signal: c_int, old: &libc::sigaction) {
    // SAFETY: `old` is what `sigaction` gave for this signal.
    unsafe { libc::sigaction(signal, old, std::ptr::null_mut()) };
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let command = COMMAND.load(Ordering::Relaxed);
    if command == 0 {
        INTERRUPTED.store(true, Ordering::Relaxed);
        return;
    }
    // SAFETY: with SA_SIGINFO the kernel gives a valid pointer.
    let from_a_process = unsafe { (*info).si_code } <= 0;
    if from_a_process {
        // SAFETY: `kill` may be called in a handler; the process is a child that is not waited for yet,
        // so no other can have its number. It leaves errno alone when it succeeds; when it fails, the
        // code that was interrupted sees EINTR or what it would have seen.
        unsafe { libc::kill(command, signal) };
    }
}
