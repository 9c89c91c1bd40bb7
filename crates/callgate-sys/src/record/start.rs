//! The process that becomes the command. `unsafe` code: fork, and what the child calls.
//!
//! Between fork and `execve` the child makes the same call many times, first unrecorded and then
//! recorded, which tells what recording costs on this machine. Nothing before the `execve` stays in the
//! recording. Child and parent tell each other how far they are in shared memory, because waiting in the
//! kernel would be a call.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use libc::{c_long, pid_t, sock_filter};

use crate::command::Command;
use crate::raw;
use crate::shared::Shared;

/// Words of the shared memory.
const CHILD: usize = 0;
const PARENT: usize = 1;
const ERRNO: usize = 2;
const WITHOUT: usize = 3;
const WITH: usize = 4;
const WORDS: usize = 5;

/// How far the child is.
const MEASURED: u32 = 1;
const NO_FILTER: u32 = 2;
const RECORDED: u32 = 3;
const NOT_EXECUTED: u32 = 4;

/// What the parent allows.
const MAY_BE_RECORDED: u32 = 1;
const MAY_EXECUTE: u32 = 2;

/// How many calls are made to measure what one costs.
const TRIALS: u32 = 500;

/// How long the child waits for its parent.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the child does so that its calls are recorded.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    /// Installs a filter that asks the tracer about each call.
    Filter,
    /// Makes a call with these arguments, which nobody else knows.
    Cookie([u64; 2]),
}

/// A child on its way to the command.
pub(super) struct Started {
    pub(super) pid: pid_t,
    memory: Shared,
}

/// Why a child did not become the command.
pub(super) enum Stopped {
    /// The filter was refused.
    NoFilter(io::Error),
    NotExecuted(io::Error),
}

impl Started {
    /// Forks; the child waits until it may be recorded.
    pub(super) fn new(command: &Command, mark: Mark) -> io::Result<Started> {
        let memory = Shared::new(WORDS)?;
        // SAFETY: the child runs `become_command` alone, which takes no lock, allocates nothing and never
        // returns, so it does not matter what other threads of the parent were doing.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => become_command(command, mark, memory.words()),
            pid => Ok(Started { pid, memory }),
        }
    }

    pub(super) fn may_be_recorded(&self) {
        self.memory.words()[PARENT].store(MAY_BE_RECORDED, Ordering::Release);
    }

    pub(super) fn may_execute(&self) {
        self.memory.words()[PARENT].store(MAY_EXECUTE, Ordering::Release);
    }

    /// Whether the child has made its calls that are not recorded.
    pub(super) fn is_measured(&self) -> bool {
        self.memory.words()[CHILD].load(Ordering::Acquire) == MEASURED
    }

    /// Whether the child has made its calls that are recorded.
    pub(super) fn is_recorded(&self) -> bool {
        self.memory.words()[CHILD].load(Ordering::Acquire) == RECORDED
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
        let word = |at: usize| u64::from(self.memory.words()[at].load(Ordering::Acquire));
        Duration::from_nanos(word(WITH).saturating_sub(word(WITHOUT)))
    }

    /// Ends a child that cannot be recorded.
    pub(super) fn kill(&self) {
        // SAFETY: the number is that of a child that nobody waited for, so no other process can have
        // it; no status is asked for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), libc::__WALL);
        }
    }
}

/// What the child does.
fn become_command(command: &Command, mark: Mark, words: &[AtomicU32]) -> ! {
    measure(&words[WITHOUT]);
    words[CHILD].store(MEASURED, Ordering::Release);
    wait_for(&words[PARENT], MAY_BE_RECORDED);
    match mark {
        Mark::Filter => {
            if let Err(why) = install() {
                give_up(words, NO_FILTER, &why);
            }
        }
        // SAFETY: `getppid` takes no arguments, so it ignores those that it is given.
        Mark::Cookie([a, b]) => unsafe {
            libc::syscall(libc::SYS_getppid, a as c_long, b as c_long);
        },
    }
    measure(&words[WITH]);
    words[CHILD].store(RECORDED, Ordering::Release);
    wait_for(&words[PARENT], MAY_EXECUTE);
    let why = command.replace_process();
    give_up(words, NOT_EXECUTED, &why)
}

/// How long a call takes: the quickest of a few rounds.
fn measure(nanoseconds: &AtomicU32) {
    let mut best = u128::MAX;
    for _ in 0..4 {
        let start = Instant::now();
        for _ in 0..TRIALS / 4 {
            // SAFETY: `getppid` takes nothing and touches no memory.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        best = best.min(start.elapsed().as_nanos() / u128::from(TRIALS / 4));
    }
    nanoseconds.store(best.try_into().unwrap_or(u32::MAX), Ordering::Release);
}

/// Waits without a call; ends the process when its parent is gone or stuck.
fn wait_for(word: &AtomicU32, at_least: u32) {
    let start = Instant::now();
    while word.load(Ordering::Acquire) < at_least {
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

/// Installs the filter that asks the tracer about each call. Whoever may install filters without
/// `no_new_privs` keeps set-user-ID programs working.
fn install() -> io::Result<()> {
    let code = [sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_TRACE }];
    // Without the flag, kernels before 5.16 would turn a mitigation on that slows programs down.
    let set = || {
        raw::seccomp_set_filter(&code, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW as u32)
            .or_else(|_| raw::seccomp_set_filter(&code, 0))
    };
    set().or_else(|_| {
        raw::set_no_new_privs()?;
        set()
    })?;
    Ok(())
}
