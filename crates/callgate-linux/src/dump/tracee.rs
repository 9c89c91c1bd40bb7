//! A thread that is traced, running or stopped. The `unsafe` code of [`super`].

use std::io;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use callgate_bpf::FilterFlags;
use callgate_core::{MAX_INSNS, RawInsn};
use libc::{c_int, c_void, pid_t, sock_filter};

use super::error::DumpErrorKind;
use crate::sys::PtraceRequest;

/// `include/uapi/linux/ptrace.h`.
const PTRACE_SECCOMP_GET_FILTER: PtraceRequest = 0x420c;
const PTRACE_SECCOMP_GET_METADATA: PtraceRequest = 0x420d;

/// `struct seccomp_metadata`.
#[repr(C)]
struct Metadata {
    filter: u64,
    flags: u64,
}

/// A thread that the calling thread traces and that runs or sleeps. When the tracing thread ends, the kernel
/// detaches it.
pub(super) struct Tracee(pid_t);

/// A traced thread that is stopped. Dropping it detaches: the thread continues.
pub(super) struct Stopped {
    tid: pid_t,
    pub(super) stop: Stop,
}

/// Why a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// At `PTRACE_INTERRUPT`.
    Interrupt,
    /// At the start or the end of a syscall.
    Syscall,
    /// This signal is about to be delivered.
    Signal(c_int),
    /// A stop signal has stopped the whole process.
    Group,
}

impl Stop {
    /// The reason that `waitpid(2)` gives.
    fn of_status(status: c_int) -> Stop {
        /// `PTRACE_O_TRACESYSGOOD` sets this bit of the signal.
        const SYSCALL: c_int = libc::SIGTRAP | 0x80;
        // An event is in the bits above the signal.
        match (status >> 16, libc::WSTOPSIG(status)) {
            (0, SYSCALL) => Stop::Syscall,
            (0, signal) => Stop::Signal(signal),
            (_, libc::SIGTRAP) => Stop::Interrupt,
            _ => Stop::Group,
        }
    }
}

impl Tracee {
    /// Starts to trace a thread, without stopping it.
    pub(super) fn seize(tid: u32) -> Result<Tracee, DumpErrorKind> {
        let tid = pid_t::try_from(tid).map_err(|_| DumpErrorKind::Gone)?;
        ptrace(libc::PTRACE_SEIZE, tid, 0, ptr::null_mut()).map_err(DumpErrorKind::of_errno)?;
        Ok(Tracee(tid))
    }

    /// Stops it, and waits at most `patience` for that.
    pub(super) fn stop(self, patience: Duration) -> Result<Stopped, DumpErrorKind> {
        ptrace(libc::PTRACE_INTERRUPT, self.0, 0, ptr::null_mut())
            .map_err(DumpErrorKind::of_errno)?;
        let deadline = Instant::now() + patience;
        let mut pause = Duration::from_micros(20);
        loop {
            if let Some(stopped) = self.poll()? {
                return Ok(stopped);
            }
            if Instant::now() > deadline {
                return Err(DumpErrorKind::Late(patience));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    /// The thread, if it has stopped.
    pub(super) fn poll(&self) -> Result<Option<Stopped>, DumpErrorKind> {
        let mut status = 0;
        // SAFETY: `status` is valid for writes.
        match unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            0 => Ok(None),
            1.. if libc::WIFSTOPPED(status) => {
                Ok(Some(Stopped { tid: self.0, stop: Stop::of_status(status) }))
            }
            _ => Err(DumpErrorKind::Ended),
        }
    }
}

impl Stopped {
    /// The instructions of a filter, 0 for the oldest; ENOENT when there are no more.
    pub(super) fn filter(&self, index: usize) -> io::Result<Vec<RawInsn>> {
        // Room for the longest filter that the kernel accepts.
        let mut code = vec![sock_filter { code: 0, jt: 0, jf: 0, k: 0 }; MAX_INSNS];
        let to = code.as_mut_ptr().cast();
        code.truncate(ptrace(PTRACE_SECCOMP_GET_FILTER, self.tid, index, to)?);
        let raw =
            |insn: sock_filter| RawInsn { code: insn.code, jt: insn.jt, jf: insn.jf, k: insn.k };
        Ok(code.into_iter().map(raw).collect())
    }

    /// Those flags of a filter that the kernel shows; `None` before Linux 4.16.
    pub(super) fn flags(&self, index: usize) -> Option<FilterFlags> {
        let mut metadata = Metadata { filter: index as u64, flags: 0 };
        let size = size_of::<Metadata>();
        let data = (&raw mut metadata).cast();
        ptrace(PTRACE_SECCOMP_GET_METADATA, self.tid, size, data).ok()?;
        let is_logged = metadata.flags & u64::from(FilterFlags::LOG.bits()) != 0;
        Some(if is_logged { FilterFlags::LOG } else { FilterFlags::NONE })
    }

    fn signal(&self) -> *mut c_void {
        let signal = match self.stop {
            Stop::Signal(signal) => signal,
            Stop::Interrupt | Stop::Syscall | Stop::Group => 0,
        };
        ptr::without_provenance_mut(signal as usize)
    }
}

/// Whether filters apply to the syscalls at which a thread stops.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyscallStops {
    Filtered,
    FiltersSuspended,
}

#[cfg(target_arch = "x86_64")]
impl Tracee {
    /// Whether the thread sleeps and a signal would wake it (state S of `/proc/TID/stat`).
    pub(super) fn is_asleep(&self) -> bool {
        let stat = std::fs::read(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        // The name comes before the state, in parentheses, and may contain some itself.
        let end = stat.iter().rposition(|byte| *byte == b')');
        end.is_some_and(|end| stat.get(end..).is_some_and(|rest| rest.starts_with(b") S ")))
    }
}

#[cfg(target_arch = "x86_64")]
impl Stopped {
    /// Lets the thread run until it stops at the start or the end of a syscall, or for another reason.
    pub(super) fn run_to_syscall(self) -> Result<Tracee, DumpErrorKind> {
        ptrace(libc::PTRACE_SYSCALL, self.tid, 0, self.signal())
            .map_err(DumpErrorKind::of_errno)?;
        let tracee = Tracee(self.tid);
        // It runs, so there is nothing to detach from.
        std::mem::forget(self);
        Ok(tracee)
    }

    /// Sets the ptrace options.
    pub(super) fn set_syscall_stops(&self, stops: SyscallStops) -> Result<(), DumpErrorKind> {
        let options = match stops {
            SyscallStops::Filtered => libc::PTRACE_O_TRACESYSGOOD,
            SyscallStops::FiltersSuspended => {
                libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_SUSPEND_SECCOMP
            }
        };
        let options = ptr::without_provenance_mut(options as usize);
        ptrace(libc::PTRACE_SETOPTIONS, self.tid, 0, options).map_err(DumpErrorKind::of_errno)?;
        Ok(())
    }

    /// Whether a thread stops at the start of a syscall before its filters run. True at least since Linux 4.16.
    pub(super) fn reports_before_filters(&self) -> bool {
        self.flags(0).is_some()
    }

    pub(super) fn registers(&self) -> Result<libc::user_regs_struct, DumpErrorKind> {
        // SAFETY: the registers are integers, for which 0 is a valid value.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let data = (&raw mut registers).cast();
        ptrace(libc::PTRACE_GETREGS, self.tid, 0, data).map_err(DumpErrorKind::of_errno)?;
        Ok(registers)
    }

    pub(super) fn set_registers(&self, registers: &libc::user_regs_struct) -> io::Result<()> {
        let data = ptr::from_ref(registers).cast_mut().cast();
        ptrace(libc::PTRACE_SETREGS, self.tid, 0, data)?;
        Ok(())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // This fails if the thread was killed, and then there is nothing to detach from.
        let _ = ptrace(libc::PTRACE_DETACH, self.tid, 0, self.signal());
    }
}

/// `ptrace(2)`. `data` is null, a number, or points to what the request reads or writes.
fn ptrace(request: PtraceRequest, tid: pid_t, addr: usize, data: *mut c_void) -> io::Result<usize> {
    let addr: *mut c_void = ptr::without_provenance_mut(addr);
    // SAFETY: SEIZE, INTERRUPT, SYSCALL, SETOPTIONS and DETACH take numbers. GETREGS writes the registers, for
    // which `registers` has room, and SETREGS only reads them. GET_FILTER writes at most `MAX_INSNS`
    // instructions, for which `filter` has room. GET_METADATA reads and writes at most the size in `addr`,
    // which `flags` takes from the type.
    let result = unsafe { libc::ptrace(request, tid, addr, data) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
