//! A forked child process that shares memory with its parent.

use std::cell::Cell;
use std::io;
use std::sync::atomic::AtomicU32;

use libc::{c_int, c_ulong, pid_t};

use crate::shared_words::SharedWords;

/// A child process that shares memory with its parent. It ends with the value, and with the parent.
pub struct Worker {
    child: pid_t,
    memory: SharedWords,
    /// The wait status; the process is gone then.
    status: Cell<Option<c_int>>,
}

impl Worker {
    /// Starts a child that does `work` with so many words of shared memory, zero at first, and then waits
    /// for its end.
    ///
    /// # Errors
    /// When there is no memory or no process.
    ///
    /// # Safety
    /// The child has the one thread of this process that called, and whatever the others held stays
    /// held in it: `work` must not need what another thread may have locked (`fork(2)`).
    pub unsafe fn start(words: usize, work: impl FnOnce(&[AtomicU32])) -> io::Result<Worker> {
        let memory = SharedWords::new(words)?;
        // SAFETY: `getpid` takes nothing and touches no memory.
        let parent = unsafe { libc::getpid() };
        // SAFETY: as the caller promises; the child does not return from here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: PR_SET_PDEATHSIG takes an integer; `getppid` and `_exit` touch no memory.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong);
                    if libc::getppid() != parent {
                        libc::_exit(1);
                    }
                }
                work(memory.words());
                loop {
                    // A filter may deny this too.
                    std::thread::yield_now();
                }
            }
            child => Ok(Worker { child, memory, status: Cell::new(None) }),
        }
    }

    /// The shared memory.
    pub fn words(&self) -> &[AtomicU32] {
        self.memory.words()
    }

    /// The wait status, once it has ended.
    ///
    /// # Errors
    /// When the child cannot be waited for.
    pub fn has_ended(&self) -> io::Result<Option<c_int>> {
        if self.status.get().is_none() {
            let mut status = 0;
            // SAFETY: `status` is valid for writes; the process is a child of ours that was not waited
            // for yet.
            match unsafe { libc::waitpid(self.child, &raw mut status, libc::WNOHANG) } {
                -1 => return Err(io::Error::last_os_error()),
                0 => {}
                _ => self.status.set(Some(status)),
            }
        }
        Ok(self.status.get())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.status.get().is_some() {
            return;
        }
        let mut status = 0;
        // SAFETY: the number is that of a child that nobody waited for, so no other process can have
        // it; `status` is valid for writes.
        unsafe {
            libc::kill(self.child, libc::SIGKILL);
            while libc::waitpid(self.child, &raw mut status, 0) == -1
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}
