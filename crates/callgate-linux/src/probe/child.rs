//! A child process that makes calls under a filter which lets none of them through.
//!
//! Everything that the child needs is prepared before it exists: it shares memory with its parent for
//! the answers, makes no call of its own once the filter is there, not even to end, and takes no lock
//! and no memory, so that the parent may have other threads. When it is done it waits for the parent to
//! kill it; when the parent dies, the kernel kills it.
//!
//! One of the places of the crate with `unsafe` code.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use callgate::SeccompData;
use libc::{c_int, c_long, sock_filter};

use crate::sys;
use crate::worker::Worker;

/// What stands in the first words of the shared memory; the answers follow.
const STATE: usize = 0;
const WHY: usize = 1;
const COUNT: usize = 2;
const ANSWERS: usize = 3;

/// States of the child; 0 while it works.
const REFUSED: u32 = 1;
const DONE: u32 = 2;

/// Why a child did not answer everything.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// No memory or no process.
    System(io::Error),
    /// The kernel refused the filter.
    Refused(io::Error),
    /// It died at this call, with this wait status.
    Died { call: usize, status: c_int },
    /// It took longer than this, at this call.
    Late { call: usize, limit: Duration },
}

/// Makes calls in a child process under a program, which must answer each with an errno from 1 to 4095:
/// anything else would be executed, or end the child. What errno each got, 0 for none.
pub(crate) fn errnos(
    code: &[sock_filter],
    calls: &[SeccompData],
    limit: Duration,
) -> Result<Vec<u16>, Trouble> {
    // SAFETY: the child runs `answer` alone, which takes no lock and allocates nothing.
    let worker =
        unsafe { Worker::start(ANSWERS + calls.len(), |words| answer(code, calls, words)) };
    let worker = worker.map_err(Trouble::System)?;
    let words = worker.words();
    let start = Instant::now();
    let call = || words[COUNT].load(Ordering::Acquire) as usize;
    // An answer takes less than a microsecond, a long program some more.
    let mut pause = Duration::from_micros(50);
    loop {
        match words[STATE].load(Ordering::Acquire) {
            DONE => break,
            REFUSED => {
                let why = words[WHY].load(Ordering::Acquire);
                return Err(Trouble::Refused(io::Error::from_raw_os_error(why as i32)));
            }
            _ => {}
        }
        if let Some(status) = worker.has_ended().map_err(Trouble::System)? {
            return Err(Trouble::Died { call: call(), status });
        }
        if start.elapsed() > limit {
            return Err(Trouble::Late { call: call(), limit });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
    let answers = words.iter().skip(ANSWERS);
    Ok(answers.map(|answer| answer.load(Ordering::Acquire) as u16).collect())
}

/// What the child does.
fn answer(code: &[sock_filter], calls: &[SeccompData], words: &[AtomicU32]) {
    if let Err(why) = install(code) {
        words[WHY].store(why.raw_os_error().unwrap_or(0) as u32, Ordering::Release);
        words[STATE].store(REFUSED, Ordering::Release);
        return;
    }
    for (number, (data, slot)) in calls.iter().zip(words.iter().skip(ANSWERS)).enumerate() {
        words[COUNT].store(number as u32, Ordering::Release);
        let [a, b, c, d, e, f] = data.args.map(|arg| arg as c_long);
        // SAFETY: the filter answers every call with an errno (the caller sees to that), so the kernel
        // never looks at the arguments and nothing is executed.
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
