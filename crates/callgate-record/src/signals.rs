//! Signal handling of the recorder, and how handlers and a timer end its waits. `unsafe` code: handlers, eventfd, a timer.
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
//!
//! Sources: eventfd(2), signal-safety(7).
//!
//! A signal that arrives after its effect was checked but before `waitpid(2)` starts does not interrupt the wait,
//! and nothing else may. Unlike `ppoll(2)`, `waitpid(2)` takes no signal mask. So while a signal may end the
//! recording, a timer interrupts the waits of this thread.
//!
//! Source: timer_create(2), `SIGEV_THREAD_ID`.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use libc::{c_int, c_long, c_void, pid_t, siginfo_t, timer_t};

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
        Signals::handle(command, 0)
    }

    fn handle(command: pid_t, flags: c_int) -> Signals {
        COMMAND.store(command, Ordering::Relaxed);
        INTERRUPTED.store(false, Ordering::Relaxed);
        HELD_UNTIL.store(0, Ordering::Relaxed);
        let mut before = Vec::new();
        for signal in SIGNALS {
            let Some(old) = set(signal, &held(flags)) else { continue };
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

    /// Like [`Signals::end_recording`] for several recordings, of which some may be saved when a signal arrives: it
    /// interrupts no syscall, except the waits of recorders.
    pub(super) fn end_recordings() -> Signals {
        Signals::handle(0, libc::SA_RESTART)
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
    // async-signal-safe handler: those here and in `ptrace::sigchld_waker` use atomics and errno,
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
        // SAFETY: `kill` is async-signal-safe and takes numbers.
        keeping_errno(|| unsafe { libc::kill(command, signal) });
    }
}

/// Calls a function of a handler, which must be async-signal-safe. The interrupted code finds `errno` unchanged.
fn keeping_errno<T>(call: impl FnOnce() -> T) {
    // SAFETY: `errno` belongs to this thread.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        call();
        *errno = before;
    }
}

/// The eventfd to which handlers write. It is never closed, because a handler may run in any thread at any time.
static EVENT: OnceLock<OwnedFd> = OnceLock::new();

/// The eventfd, created when it is needed first.
pub(crate) fn wake_event() -> io::Result<&'static OwnedFd> {
    if let Some(event) = EVENT.get() {
        return Ok(event);
    }
    let event = new_eventfd()?;
    Ok(EVENT.get_or_init(|| event))
}

fn new_eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Waits for [`wake`], or for this long. May end earlier.
pub(crate) fn wait_for_wake(time: Duration) {
    let Ok(event) = wake_event() else { return std::thread::sleep(time) };
    let mut entry = libc::pollfd { fd: event.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = time.as_millis().saturating_add(1).try_into().unwrap_or(c_int::MAX);
    let mut count = 0_u64;
    // SAFETY: the kernel reads and writes one entry, and then writes eight bytes; the descriptor does not block.
    unsafe {
        if libc::poll(&raw mut entry, 1, milliseconds) > 0 {
            libc::read(entry.fd, (&raw mut count).cast(), size_of_val(&count));
        }
    }
}

/// Ends a wait, if there is an eventfd. Async-signal-safe.
pub(crate) fn wake() {
    let Some(event) = EVENT.get() else { return };
    let one = 1_u64;
    // SAFETY: `write` is async-signal-safe and reads eight bytes.
    keeping_errno(|| unsafe {
        libc::write(event.as_raw_fd(), (&raw const one).cast(), size_of_val(&one))
    });
}

/// A signal that other code is unlikely to use. SIGALRM may be a time limit that was set for the recorder.
fn timer_signal() -> c_int {
    libc::SIGRTMAX() - 1
}

/// The period: how much longer a wait may take if a signal arrived just before it.
const NANOSECONDS: c_long = 100_000_000;

/// Interrupts the waits of the thread that created it, until it is dropped.
pub(super) struct WaitTimer {
    timer: timer_t,
    before: libc::sigaction,
}

impl WaitTimer {
    /// `None` if the kernel has no more timers; then a second signal may be necessary to end the recording.
    pub(super) fn start() -> Option<WaitTimer> {
        extern "C" fn nothing(_: c_int) {}
        let handler = nothing as extern "C" fn(_) as libc::sighandler_t;
        let before = set(timer_signal(), &action(handler, 0))?;
        // SAFETY: an event of zeros is a valid value.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = timer_signal();
        // SAFETY: takes nothing.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = MaybeUninit::uninit();
        // SAFETY: both pointers are valid for the call.
        let made = unsafe {
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr()) == 0
        };
        if !made {
            set(timer_signal(), &before);
            return None;
        }
        // SAFETY: the call succeeded, so it wrote the timer.
        let timer = WaitTimer { timer: unsafe { timer.assume_init() }, before };
        let period = libc::timespec { tv_sec: 0, tv_nsec: NANOSECONDS };
        let times = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the timer exists, and the kernel only reads the times.
        unsafe { libc::timer_settime(timer.timer, 0, &raw const times, std::ptr::null_mut()) };
        Some(timer)
    }
}

impl Drop for WaitTimer {
    fn drop(&mut self) {
        // SAFETY: `start` created the timer, and only this value has its number.
        unsafe { libc::timer_delete(self.timer) };
        // A signal may be pending where it is blocked; ignoring it discards it.
        set(timer_signal(), &action(libc::SIG_IGN, 0));
        set(timer_signal(), &self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::mem::ManuallyDrop;

    use crate::tracer;

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

    #[test]
    fn a_wait_for_a_running_child_is_interrupted() {
        let mut child = std::process::Command::new("sleep").arg("20").spawn().unwrap();
        let timer = WaitTimer::start().unwrap();
        let waited = tracer::wait(child.id() as i32);
        drop(timer);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
