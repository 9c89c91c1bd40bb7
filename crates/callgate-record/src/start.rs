//! The process that becomes the command. `unsafe` code: fork, and what the child calls.
//!
//! Between fork and `execve` the child makes the same call many times, as its parent did unrecorded, which
//! tells what recording costs on this machine. Nothing before the `execve` stays in the recording. Child
//! and parent tell each other how far they are in shared memory. When the child waits for the parent it
//! makes one call and no more, so that the parent knows when all is made that is to be forgotten.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use libc::{c_int, c_long, pid_t, sock_filter};

use super::tracer;
use callgate_linux::Command;
use callgate_linux::SharedWords;
use callgate_linux::sys;

/// Words of the shared memory.
const CHILD: usize = 0;
const PARENT: usize = 1;
const ERRNO: usize = 2;
const WITH: usize = 3;
const LISTENER: usize = 4;
const WORDS: usize = 5;

/// How far the child is.
const NO_FILTER: u32 = 1;
const RECORDED: u32 = 2;
const NOT_EXECUTED: u32 = 3;

/// What the parent says when it is ready.
const GO_ON: u32 = 1;

/// In how many rounds the cost of a call is measured.
const ROUNDS: u32 = 8;

/// How long the child waits for its parent, and the parent for its child.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// What the child does so that its calls are recorded.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    /// Installs a filter that stops each call for the tracer.
    Stops,
    /// Installs a filter that lets each call wait for who has its listener, which the child shares with
    /// its parent.
    Listener,
    /// Makes a call with these arguments, which nobody else knows.
    Cookie([u64; 2]),
}

impl Mark {
    /// How many calls in a row are measured: a stop takes a hundred times as long as a count.
    fn trials(self) -> u32 {
        match self {
            Mark::Stops | Mark::Listener => 4,
            Mark::Cookie(_) => 50,
        }
    }
}

/// A child on its way to the command.
pub(super) struct Started {
    pub(super) pid: pid_t,
    memory: SharedWords,
    unrecorded: Duration,
}

/// Why a child did not become the command.
pub(super) enum Stopped {
    /// The filter was refused.
    NoFilter(io::Error),
    NotExecuted(io::Error),
}

impl Started {
    /// Forks; the child waits to be traced, or until it would be the command. `unrecorded`: what
    /// [`time_of_a_call`] says without recording.
    pub(super) fn new(command: &Command, mark: Mark, unrecorded: Duration) -> io::Result<Started> {
        let memory = SharedWords::new(WORDS)?;
        // SAFETY: the child runs `become_command` alone, which takes no lock, allocates nothing and never
        // returns, so it does not matter what other threads of the parent were doing.
        let forked = unsafe {
            match mark {
                Mark::Listener => fork_with_files(),
                Mark::Stops | Mark::Cookie(_) => libc::fork(),
            }
        };
        match forked {
            -1 => Err(io::Error::last_os_error()),
            0 => become_command(command, mark, memory.words()),
            pid => Ok(Started { pid, memory, unrecorded }),
        }
    }

    /// The child becomes the command.
    pub(super) fn go_on(&self) {
        tell(self.memory.words(), PARENT, GO_ON);
    }

    /// The listener, once the child has installed its filter, for whoever asks first. From then on the
    /// child's calls wait for an answer, so it cannot tell.
    pub(super) fn listener(&self) -> Option<OwnedFd> {
        let next = self.memory.words()[LISTENER].swap(0, Ordering::AcqRel);
        // SAFETY: the kernel gave this number to the child, which shares the table of files until it
        // executes the command, and does nothing with it; and nobody else got it here.
        (next != 0).then(|| unsafe { OwnedFd::from_raw_fd(next as c_int - 1) })
    }

    /// Waits until the child has made its calls that are recorded; not for ever. After them it makes two
    /// more, `futex(2)` to tell and `futex(2)` to wait.
    pub(super) fn wait_until_recorded(&self) -> bool {
        let word = &self.memory.words()[CHILD];
        let start = Instant::now();
        while word.load(Ordering::Acquire) == 0 && start.elapsed() < PATIENCE {
            sys::futex_wait(word, 0, Duration::from_secs(1));
            if self.has_ended() {
                break;
            }
        }
        word.load(Ordering::Acquire) == RECORDED
    }

    /// Whether the child is dead, and nobody waited for it.
    pub(super) fn has_ended(&self) -> bool {
        // SAFETY: a structure of zeros is a valid value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the kernel writes to `info`; WNOWAIT leaves the child as it is.
        let result = unsafe { libc::waitid(libc::P_PID, self.pid as u32, &raw mut info, how) };
        // SAFETY: `waitid` wrote the number, or left the 0.
        result != 0 || unsafe { info.si_pid() } != 0
    }

    /// Why the child ended, if it did so before it was the command.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        let words = self.memory.words();
        let errno = || io::Error::from_raw_os_error(words[ERRNO].load(Ordering::Acquire) as i32);
        match words[CHILD].load(Ordering::Acquire) {
            NO_FILTER => Some(Stopped::NoFilter(errno())),
            NOT_EXECUTED => Some(Stopped::NotExecuted(errno())),
            _ => None,
        }
    }

    /// What recording adds to a call, measured on the cheapest one.
    pub(super) fn cost(&self) -> Duration {
        let recorded = self.memory.words()[WITH].load(Ordering::Acquire);
        Duration::from_nanos(recorded.into()).saturating_sub(self.unrecorded)
    }

    /// Ends a child that cannot be recorded.
    pub(super) fn kill(&self) {
        // SAFETY: the number is that of a child that nobody waited for, so no other process can have it.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // A stop may be told before its end.
        while tracer::wait(self.pid).is_ok_and(|(_, status)| libc::WIFSTOPPED(status)) {}
    }
}

/// What the child does.
fn become_command(command: &Command, mark: Mark, words: &[AtomicU32]) -> ! {
    command.restore_signals();
    match mark {
        Mark::Stops => {
            wait_for_parent(words);
            if let Err(why) = install(libc::SECCOMP_RET_TRACE, 0) {
                give_up(words, NO_FILTER, &why);
            }
        }
        Mark::Listener => {
            wait_for_parent(words);
            match install(libc::SECCOMP_RET_USER_NOTIF, LISTENER_FLAGS) {
                // The number 0 is a descriptor too.
                Ok(fd) => words[LISTENER].store(fd as u32 + 1, Ordering::Release),
                Err(why) => give_up(words, NO_FILTER, &why),
            }
        }
        // SAFETY: `getppid` takes no arguments, so it ignores those that it is given.
        Mark::Cookie([a, b]) => unsafe {
            libc::syscall(libc::SYS_getppid, a as c_long, b as c_long);
        },
    }
    let took = time_of_calls(mark.trials()).as_nanos();
    words[WITH].store(took.try_into().unwrap_or(u32::MAX), Ordering::Release);
    tell(words, CHILD, RECORDED);
    wait_for_parent(words);
    let why = command.replace_process();
    give_up(words, NOT_EXECUTED, &why)
}

/// How long the cheapest call takes in this process.
pub(super) fn time_of_a_call() -> Duration {
    time_of_calls(50)
}

/// The quickest of a few rounds of so many calls, for one of them.
fn time_of_calls(count: u32) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..count {
            // SAFETY: `getppid` takes nothing and touches no memory.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        best = best.min(start.elapsed() / count);
    }
    best
}

/// Sets a word that the other process may wait for.
fn tell(words: &[AtomicU32], word: usize, value: u32) {
    words[word].store(value, Ordering::Release);
    sys::futex_wake(&words[word]);
}

/// Waits, with one call at the most; ends the process when its parent is gone or stuck.
fn wait_for_parent(words: &[AtomicU32]) {
    let word = &words[PARENT];
    let start = Instant::now();
    if word.load(Ordering::Acquire) != GO_ON {
        sys::futex_wait(word, 0, PATIENCE);
    }
    // A signal may have ended the wait.
    while word.load(Ordering::Acquire) != GO_ON {
        if start.elapsed() > PATIENCE {
            // SAFETY: ends the process; no destructors run.
            unsafe { libc::_exit(1) };
        }
        std::hint::spin_loop();
    }
}

fn give_up(words: &[AtomicU32], state: u32, why: &io::Error) -> ! {
    words[ERRNO].store(why.raw_os_error().unwrap_or(0) as u32, Ordering::Release);
    words[CHILD].store(state, Ordering::Release);
    // SAFETY: ends the process; no destructors run.
    unsafe { libc::_exit(1) }
}

/// A listener, and no signal ends the wait of a call that it has received (Linux 5.19).
const LISTENER_FLAGS: u32 =
    (libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) as u32;

/// Installs the filter that gives each call this verdict. Whoever may install filters without
/// `no_new_privs` keeps set-user-ID programs working.
fn install(verdict: u32, flags: u32) -> io::Result<c_int> {
    let code = [sock_filter { code: 0x06, jt: 0, jf: 0, k: verdict }];
    // Without the flag, kernels before 5.16 would turn a mitigation on that slows programs down.
    let set = || {
        sys::seccomp_set_filter(&code, flags | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW as u32)
            .or_else(|_| sys::seccomp_set_filter(&code, flags))
    };
    set().or_else(|_| {
        sys::set_no_new_privs()?;
        set()
    })
}

/// `fork(2)`, but the child has the table of files in common with its parent until it executes something.
///
/// # Safety
/// The child is one of `fork`, and what the C library does in it after `fork` is not done.
unsafe fn fork_with_files() -> pid_t {
    let flags = c_long::from(libc::CLONE_FILES | libc::SIGCHLD);
    let none: c_long = 0;
    // SAFETY: without CLONE_VM and a stack, the child goes on in a copy of this memory. The flags come
    // first on all architectures where there are listeners (`super::listener::available`).
    unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) as pid_t }
}
