//! The child process that becomes the command. `unsafe` code: fork, and what the child does.
//!
//! Between fork and `execve`, the child repeats a cheap syscall, as its parent did unrecorded. The difference is the
//! cost of recording on this machine. Nothing before the `execve` remains in the recording. Child and parent
//! synchronise through shared memory. The child waits for the parent by exactly one syscall, so that the parent
//! knows when it has seen everything that must be discarded.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use libc::{c_int, c_long, pid_t, sock_filter};

use super::tracer;
use callgate_linux::Command;
use callgate_linux::SharedWords;
use callgate_linux::sys;

/// Indices of the words in shared memory.
const CHILD: usize = 0;
const PARENT: usize = 1;
const ERRNO: usize = 2;
const WITH: usize = 3;
const LISTENER: usize = 4;
const WORDS: usize = 5;

/// States of the child.
const NO_FILTER: u32 = 1;
const RECORDED: u32 = 2;
const NOT_EXECUTED: u32 = 3;

/// State of the parent.
const RELEASED: u32 = 1;

/// The number of rounds in which the cost of a syscall is measured.
const ROUNDS: u32 = 8;

/// How long child and parent wait for each other.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// How the child makes its syscalls visible to the recorder.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    /// It installs a filter that stops each syscall for the tracer.
    Stops,
    /// It installs this filter, which stops some syscalls for the tracer.
    StopsAt(&'static [sock_filter]),
    /// It installs a filter whose listener gets each syscall. Child and parent share the descriptor.
    Listener,
    /// It makes a syscall with these secret arguments.
    Cookie([u64; 2]),
}

impl Mark {
    /// How many syscalls a round measures: a stop takes 100 times as long as a count.
    fn trials(self) -> u32 {
        match self {
            Mark::Stops | Mark::StopsAt(_) | Mark::Listener => 4,
            Mark::Cookie(_) => 50,
        }
    }
}

/// A child that has not executed the command yet.
pub(super) struct Started {
    pub(super) pid: pid_t,
    memory: SharedWords,
    unrecorded: Duration,
}

/// Why a child did not execute the command.
pub(super) enum Stopped {
    /// The filter was refused.
    NoFilter(io::Error),
    NotExecuted(io::Error),
}

impl Started {
    /// Forks. The child waits until it is traced, or just before the `execve`. `unrecorded`: the result of
    /// [`time_of_a_syscall`] without recording.
    pub(super) fn new(command: &Command, mark: Mark, unrecorded: Duration) -> io::Result<Started> {
        let memory = SharedWords::new(WORDS)?;
        // SAFETY: the child only runs `become_command`, which takes no lock, allocates nothing and never
        // returns, so locks that other threads of the parent hold do not matter.
        let forked = unsafe {
            match mark {
                Mark::Listener => fork_with_files(),
                Mark::Stops | Mark::StopsAt(_) | Mark::Cookie(_) => libc::fork(),
            }
        };
        match forked {
            -1 => Err(io::Error::last_os_error()),
            0 => become_command(command, mark, memory.words()),
            pid => Ok(Started { pid, memory, unrecorded }),
        }
    }

    /// Lets the child execute the command.
    pub(super) fn release(&self) {
        tell(self.memory.words(), PARENT, RELEASED);
    }

    /// The listener, once the child has installed its filter; only the first caller gets it. The child cannot send it,
    /// because its syscalls wait for an answer.
    pub(super) fn listener(&self) -> Option<OwnedFd> {
        let next = self.memory.words()[LISTENER].swap(0, Ordering::AcqRel);
        // SAFETY: the kernel created this descriptor for the child, which shares the descriptor table until it
        // executes the command, and does not use it; the swap returns it only once.
        (next != 0).then(|| unsafe { OwnedFd::from_raw_fd(next as c_int - 1) })
    }

    /// Waits until the child has made its recorded syscalls, at most [`PATIENCE`]. After those it makes two more:
    /// `futex(2)` to wake the parent and `futex(2)` to wait.
    pub(super) fn wait_until_recorded(&self) -> bool {
        let word = &self.memory.words()[CHILD];
        let start = Instant::now();
        while word.load(Ordering::Acquire) == 0 && start.elapsed() < PATIENCE {
            sys::futex_wait(word, 0, Duration::from_secs(1));
            if tracer::has_ended(self.pid) {
                break;
            }
        }
        word.load(Ordering::Acquire) == RECORDED
    }

    /// Why the child did not execute the command, if it failed to.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        let words = self.memory.words();
        let errno = || io::Error::from_raw_os_error(words[ERRNO].load(Ordering::Acquire) as i32);
        match words[CHILD].load(Ordering::Acquire) {
            NO_FILTER => Some(Stopped::NoFilter(errno())),
            NOT_EXECUTED => Some(Stopped::NotExecuted(errno())),
            _ => None,
        }
    }

    /// How much recording adds to the cheapest syscall.
    pub(super) fn cost(&self) -> Duration {
        let recorded = self.memory.words()[WITH].load(Ordering::Acquire);
        Duration::from_nanos(recorded.into()).saturating_sub(self.unrecorded)
    }

    /// Kills a child that cannot be recorded. It must not have been reaped.
    pub(super) fn kill(&self) {
        // SAFETY: takes numbers. The child was not reaped, so no other process has its ID.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // A stop may be reported before its end.
        while tracer::wait(self.pid).is_ok_and(|(_, status)| libc::WIFSTOPPED(status)) {}
    }
}

/// The code of the child.
fn become_command(command: &Command, mark: Mark, words: &[AtomicU32]) -> ! {
    command.restore_signals();
    match mark {
        Mark::Stops | Mark::StopsAt(_) => {
            wait_for_parent(words);
            let every = returns(libc::SECCOMP_RET_TRACE);
            let code = if let Mark::StopsAt(code) = mark { code } else { &every };
            if let Err(why) = install(code, 0) {
                give_up(words, NO_FILTER, &why);
            }
        }
        Mark::Listener => {
            wait_for_parent(words);
            match install(&returns(libc::SECCOMP_RET_USER_NOTIF), LISTENER_FLAGS) {
                // 0 is a valid descriptor, and means "none" here.
                Ok(fd) => words[LISTENER].store(fd as u32 + 1, Ordering::Release),
                Err(why) => give_up(words, NO_FILTER, &why),
            }
        }
        // SAFETY: `getppid` takes no arguments and ignores these.
        Mark::Cookie([a, b]) => unsafe {
            libc::syscall(libc::SYS_getppid, a as c_long, b as c_long);
        },
    }
    let took = time_of_syscalls(mark.trials()).as_nanos();
    words[WITH].store(took.try_into().unwrap_or(u32::MAX), Ordering::Release);
    tell(words, CHILD, RECORDED);
    wait_for_parent(words);
    let why = command.replace_process();
    give_up(words, NOT_EXECUTED, &why)
}

/// How long the cheapest syscall takes in this process.
pub(super) fn time_of_a_syscall() -> Duration {
    time_of_syscalls(50)
}

/// The time per syscall in the fastest of [`ROUNDS`] rounds of `count` syscalls.
fn time_of_syscalls(count: u32) -> Duration {
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

/// Sets a word and wakes the other process if it waits for it.
fn tell(words: &[AtomicU32], word: usize, value: u32) {
    words[word].store(value, Ordering::Release);
    sys::futex_wake(&words[word]);
}

/// Waits with at most one syscall. Ends the process if the parent does not answer.
fn wait_for_parent(words: &[AtomicU32]) {
    let word = &words[PARENT];
    let start = Instant::now();
    if word.load(Ordering::Acquire) != RELEASED {
        sys::futex_wait(word, 0, PATIENCE);
    }
    // A signal may have interrupted the wait.
    while word.load(Ordering::Acquire) != RELEASED {
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

/// A filter with a listener. No signal but SIGKILL interrupts a syscall that the listener has received (Linux 5.19).
const LISTENER_FLAGS: u32 =
    (libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) as u32;

/// A filter that returns this verdict for every syscall.
fn returns(verdict: u32) -> [sock_filter; 1] {
    [sock_filter { code: 0x06, jt: 0, jf: 0, k: verdict }]
}

/// Installs a filter. Sets `no_new_privs` only if necessary, so that set-user-ID programs keep working for privileged
/// recorders.
fn install(code: &[sock_filter], flags: u32) -> io::Result<c_int> {
    // Without this flag, kernels before 5.16 enable a mitigation that slows programs down.
    let set = || {
        sys::seccomp_set_filter(code, flags | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW as u32)
            .or_else(|_| sys::seccomp_set_filter(code, flags))
    };
    set().or_else(|_| {
        sys::set_no_new_privs()?;
        set()
    })
}

/// `fork(2)`, except that the child shares the descriptor table with its parent until `execve`.
///
/// # Safety
/// As for `fork`; also, the C library does not prepare the child (`pthread_atfork`).
unsafe fn fork_with_files() -> pid_t {
    let flags = c_long::from(libc::CLONE_FILES | libc::SIGCHLD);
    let none: c_long = 0;
    // SAFETY: without CLONE_VM and a stack, the child continues in a copy of this memory. The flags are the first
    // argument on all architectures with support for listeners (`Listener::available`).
    unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) as pid_t }
}
