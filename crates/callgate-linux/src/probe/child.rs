//! A child process that makes syscalls under a filter that executes none of them.
//!
//! Everything that the child needs is prepared before the fork: it shares memory with its parent for the answers, makes
//! no other syscall once the filter is installed, not even to exit, takes no lock and allocates no memory, so that the
//! parent may have other threads. When it has finished, it waits for the parent to kill it; if the parent dies, the
//! kernel kills it.
//!
//! `unsafe` code: the syscalls.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use callgate::SeccompData;
use libc::{c_int, c_long, sock_filter};

use crate::sys;
use crate::worker::Worker;

/// Indices of words in shared memory; the answers follow.
const STATE: usize = 0;
const WHY: usize = 1;
const COUNT: usize = 2;
const ANSWERS: usize = 3;

/// States of the child; 0 while it works.
const REFUSED: u32 = 1;
const DONE: u32 = 2;

/// Why a child did not answer for all syscalls.
#[derive(Debug)]
pub(crate) enum ChildError {
    /// No memory or process could be created.
    System(io::Error),
    /// The kernel refused the filter.
    Refused(io::Error),
    /// It died at this syscall, with this wait status.
    Died { syscall: usize, status: c_int },
    /// It exceeded the time limit at this syscall.
    Late { syscall: usize, limit: Duration },
}

/// Makes syscalls in a child process under a program, which must return an errno from 1 to 4095 for each: with another
/// verdict, they would be executed or kill the child. Returns the errno of each, 0 for none.
pub(crate) fn errnos(
    code: &[sock_filter],
    syscalls: &[SeccompData],
    limit: Duration,
) -> Result<Vec<u16>, ChildError> {
    // SAFETY: the child only runs `answer`, which takes no lock and allocates nothing.
    let worker =
        unsafe { Worker::start(ANSWERS + syscalls.len(), |words| answer(code, syscalls, words)) };
    let worker = worker.map_err(ChildError::System)?;
    let words = worker.words();
    let start = Instant::now();
    let syscall = || words[COUNT].load(Ordering::Acquire) as usize;
    // An answer takes about a microsecond, more for a long program.
    let mut pause = Duration::from_micros(50);
    loop {
        match words[STATE].load(Ordering::Acquire) {
            DONE => break,
            REFUSED => {
                let why = words[WHY].load(Ordering::Acquire);
                return Err(ChildError::Refused(io::Error::from_raw_os_error(why as i32)));
            }
            _ => {}
        }
        if let Some(status) = worker.has_ended().map_err(ChildError::System)? {
            return Err(ChildError::Died { syscall: syscall(), status });
        }
        if start.elapsed() > limit {
            return Err(ChildError::Late { syscall: syscall(), limit });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
    let answers = words.iter().skip(ANSWERS);
    Ok(answers.map(|answer| answer.load(Ordering::Acquire) as u16).collect())
}

/// The code of the child.
fn answer(code: &[sock_filter], syscalls: &[SeccompData], words: &[AtomicU32]) {
    if let Err(why) = install(code) {
        words[WHY].store(why.raw_os_error().unwrap_or(0) as u32, Ordering::Release);
        words[STATE].store(REFUSED, Ordering::Release);
        return;
    }
    for (number, (data, slot)) in syscalls.iter().zip(words.iter().skip(ANSWERS)).enumerate() {
        words[COUNT].store(number as u32, Ordering::Release);
        let [a, b, c, d, e, f] = data.args.map(|arg| arg as c_long);
        // SAFETY: the filter returns an errno for every syscall (guaranteed by the caller), so the kernel ignores the
        // arguments and executes nothing.
        let result = unsafe { libc::syscall(c_long::from(data.nr), a, b, c, d, e, f) };
        let errno = if result == -1 { io::Error::last_os_error().raw_os_error() } else { None };
        slot.store(errno.unwrap_or(0) as u32, Ordering::Release);
    }
    words[STATE].store(DONE, Ordering::Release);
}

fn install(code: &[sock_filter]) -> io::Result<()> {
    sys::set_no_new_privs()?;
    match sys::seccomp_set_filter(code, 0) {
        Ok(_) => Ok(()),
        Err(why) if why.raw_os_error() == Some(libc::ENOSYS) => sys::prctl_set_filter(code),
        Err(why) => Err(why),
    }
}
