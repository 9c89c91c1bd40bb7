//! A thread that is traced, and stopped. The `unsafe` code of [`super`].

use std::io;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use callgate::bpf::{MAX_INSNS, Program, RawInsn};
use libc::{c_int, c_uint, c_void, pid_t, sock_filter};

use super::error::Kind;
#[cfg(target_arch = "x86_64")]
use super::restart;
use callgate::bpf::FilterFlags;

/// `include/uapi/linux/ptrace.h`.
const PTRACE_SECCOMP_GET_FILTER: c_uint = 0x420c;
const PTRACE_SECCOMP_GET_METADATA: c_uint = 0x420d;

/// `struct seccomp_metadata`.
#[repr(C)]
struct Metadata {
    filter: u64,
    flags: u64,
}

/// A thread that this one traces. It goes on as before until it is stopped; when the tracing thread
/// ends, the kernel lets it go.
pub(super) struct Tracee(pid_t);

/// A thread that is stopped. It goes on with the end of the value.
pub(super) struct Stopped {
    tid: pid_t,
    /// What was about to be delivered to it.
    signal: c_int,
    /// It runs or sleeps as soon as it is let go: it was not stopped before.
    goes_on: bool,
}

impl Tracee {
    /// Begins to trace, which the thread does not notice.
    pub(super) fn seize(tid: u32) -> Result<Tracee, Kind> {
        let tid = pid_t::try_from(tid).map_err(|_| Kind::Gone)?;
        ptrace(libc::PTRACE_SEIZE, tid, 0, ptr::null_mut()).map_err(Kind::of_errno)?;
        Ok(Tracee(tid))
    }

    /// Stops it, unless that takes too long.
    pub(super) fn stop(self, patience: Duration) -> Result<Stopped, Kind> {
        let tid = self.0;
        ptrace(libc::PTRACE_INTERRUPT, tid, 0, ptr::null_mut()).map_err(Kind::of_errno)?;
        let start = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            let mut status = 0;
            // SAFETY: `status` is valid for writes.
            match unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL | libc::WNOHANG) } {
                -1 => return Err(Kind::Ended),
                0 if start.elapsed() > patience => return Err(Kind::Late(patience)),
                0 => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(10));
                }
                _ if libc::WIFSTOPPED(status) => {
                    // A stop that is an event carries no signal; the event is above the signal.
                    let is_event = status >> 16 != 0;
                    let signal = if is_event { 0 } else { libc::WSTOPSIG(status) };
                    // An event with another signal is the stop that such a signal asks for.
                    let goes_on = !is_event || libc::WSTOPSIG(status) == libc::SIGTRAP;
                    return Ok(Stopped { tid, signal, goes_on });
                }
                _ => return Err(Kind::Ended),
            }
        }
    }
}

impl Stopped {
    /// The instructions of a filter, 0 for the oldest; ENOENT when there are no more.
    pub(super) fn filter(&self, index: usize) -> io::Result<Vec<RawInsn>> {
        // The most that the kernel takes, so it can write no more, whatever happens to the thread.
        let mut code = vec![sock_filter { code: 0, jt: 0, jf: 0, k: 0 }; MAX_INSNS];
        let to = code.as_mut_ptr().cast();
        code.truncate(ptrace(PTRACE_SECCOMP_GET_FILTER, self.tid, index, to)?);
        let raw =
            |insn: sock_filter| RawInsn { code: insn.code, jt: insn.jt, jf: insn.jf, k: insn.k };
        Ok(code.into_iter().map(raw).collect())
    }

    /// The flags of a filter that the kernel tells; `None` where it tells none.
    pub(super) fn flags(&self, index: usize) -> Option<FilterFlags> {
        let mut metadata = Metadata { filter: index as u64, flags: 0 };
        let size = size_of::<Metadata>();
        let data = (&raw mut metadata).cast();
        ptrace(PTRACE_SECCOMP_GET_METADATA, self.tid, size, data).ok()?;
        let is_logged = metadata.flags & u64::from(FilterFlags::LOG.bits()) != 0;
        Some(if is_logged { FilterFlags::LOG } else { FilterFlags::NONE })
    }
}

#[cfg(target_arch = "x86_64")]
impl Stopped {
    /// Sees to it that a call goes on that the stop interrupted, whatever its filters permit; without
    /// them, that is not known. See [`super::restart`].
    pub(super) fn keep_call<'p>(&self, filters: Option<impl IntoIterator<Item = &'p Program>>) {
        if !self.goes_on {
            return;
        }
        // SAFETY: numbers, of which any may be 0.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let data = (&raw mut registers).cast();
        if ptrace(libc::PTRACE_GETREGS, self.tid, 0, data).is_err() {
            return;
        }
        if let Some(result) = restart::result(&registers, filters) {
            let rax = std::mem::offset_of!(libc::user_regs_struct, rax);
            let result = ptr::without_provenance_mut(result as usize);
            // It fails when the thread was killed.
            let _ = ptrace(libc::PTRACE_POKEUSER, self.tid, rax, result);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Stopped {
    /// Here it goes on as the kernel lets it.
    pub(super) fn keep_call<'p>(&self, _filters: Option<impl IntoIterator<Item = &'p Program>>) {
        let _ = self.goes_on;
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It fails when the thread was killed, and then there is nothing to let go.
        let signal = ptr::without_provenance_mut(self.signal as usize);
        let _ = ptrace(libc::PTRACE_DETACH, self.tid, 0, signal);
    }
}

/// `ptrace(2)`. `data` is null, a number, or points to what the request writes.
fn ptrace(request: c_uint, tid: pid_t, addr: usize, data: *mut c_void) -> io::Result<usize> {
    let addr: *mut c_void = ptr::without_provenance_mut(addr);
    // SAFETY: SEIZE, INTERRUPT, POKEUSER and DETACH take numbers, GETREGS writes the registers, for which
    // `keep_call` has room. GET_FILTER writes at most `MAX_INSNS`
    // instructions, for which `filter` has room; GET_METADATA reads and writes at most the size in `addr`,
    // which `flags` takes from the type.
    let result = unsafe { libc::ptrace(request as _, tid, addr, data) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
