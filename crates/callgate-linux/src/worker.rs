//! Child processes, and memory that they share with their parent. `unsafe` code: fork, mapping the memory.

use std::cell::Cell;
use std::io;
use std::sync::atomic::AtomicU32;

use libc::{c_int, c_ulong, pid_t};

/// A child process that shares memory with its parent. It is killed when this is dropped, and when the parent ends.
pub struct Worker {
    child: pid_t,
    memory: SharedWords,
    /// The wait status, once the process was reaped.
    status: Cell<Option<c_int>>,
}

impl Worker {
    /// Starts a child that runs `work` with this number of words of shared memory, initially zero, and then waits to be
    /// killed.
    ///
    /// # Errors
    /// If there is not enough memory, or no process can be created.
    ///
    /// # Safety
    /// The child has only the calling thread, and locks that other threads held remain locked in it: `work` must not
    /// need a lock that another thread may hold (`fork(2)`).
    pub unsafe fn start(words: usize, work: impl FnOnce(&[AtomicU32])) -> io::Result<Worker> {
        let memory = SharedWords::new(words)?;
        // SAFETY: `getpid` takes nothing and touches no memory.
        let parent = unsafe { libc::getpid() };
        // SAFETY: guaranteed by the caller; the child does not return from here.
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
                    // A filter may also deny this.
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
    /// If `waitpid(2)` fails.
    pub fn has_ended(&self) -> io::Result<Option<c_int>> {
        if self.status.get().is_none() {
            let mut status = 0;
            // SAFETY: `status` is valid for writes.
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
        // SAFETY: the child was not reaped, so no other process has its ID; `status` is valid for writes.
        unsafe {
            libc::kill(self.child, libc::SIGKILL);
            while libc::waitpid(self.child, &raw mut status, 0) == -1
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}

/// Words of memory that a child shares with its parent, initially zero.
pub struct SharedWords {
    start: *mut AtomicU32,
    len: usize,
}

impl SharedWords {
    /// Maps this number of words.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(len: usize) -> io::Result<SharedWords> {
        let bytes = len * size_of::<AtomicU32>();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the kernel chooses does not affect existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedWords { start: start.cast(), len })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the mapping has `len` words, is aligned to a page and initially zero, which is a valid AtomicU32; it
        // lives as long as `self`, and all accesses of both processes are atomic.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: `new` created this mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.cast(), self.len * size_of::<AtomicU32>()) };
    }
}
