//! The loop bodies that a measuring process executes.

use std::io;

use callgate_core::SocketProgram;

use callgate::SeccompData;

use crate::cold::Clutter;
use crate::raw::{self, RawSyscall, system_call};
use crate::sigreturn::SignalFrame;
use crate::socket::{PacketPath, PacketSocket};
use crate::subject;
use crate::syscalls::MeasurableSyscall;
use crate::waiters::{WaitError, Waiters};

/// Why a body was not measured.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The clock cannot be read.
    Clock,
    /// A thread cannot be started.
    Thread,
    /// A socket cannot be opened, or has no filter.
    Socket(io::Error),
}

impl From<WaitError> for BodyError {
    fn from(error: WaitError) -> BodyError {
        match error {
            WaitError::NoThread => BodyError::Thread,
            WaitError::NoClock => BodyError::Clock,
        }
    }
}

fn now() -> Result<u64, BodyError> {
    raw::now().ok_or(BodyError::Clock)
}

/// The body of the measured loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// One syscall.
    Syscall(RawSyscall),
    /// `rt_sigreturn` with a frame of this process.
    SignalReturn,
    /// `close(dup(0))`, `getpid`, `getuid`, `umask(022)`: the loop of UnixBench's "syscall".
    UnixBench,
    /// `open("/dev/zero")`, `read` of one byte, `close`; `openat` where there is no `open`.
    OpenReadClose,
    /// `pthread_cond_timedwait` with a deadline one microsecond ahead. The iterations are divided among concurrent threads,
    /// and the CPU time of the threads is measured.
    CondWait {
        /// The number of threads.
        threads: u32,
    },
    /// A packet sent to a socket on which the kernel runs the socket filter of the subject.
    Packet {
        /// The kind of the socket.
        path: PacketPath,
        /// Whether filters accept the packet.
        is_hit: bool,
    },
}

impl From<MeasurableSyscall> for Body {
    fn from(syscall: MeasurableSyscall) -> Body {
        match syscall.is_signal_return() {
            true => Body::SignalReturn,
            false => Body::Syscall(syscall.raw()),
        }
    }
}

/// A body with the threads and the memory that it needs, which exist before filters are installed, and its socket.
pub(crate) struct ReadyBody {
    body: Body,
    waiters: Option<Waiters>,
    frame: Option<SignalFrame>,
    /// Opened by `start`.
    socket: Option<PacketSocket>,
}

impl Body {
    /// Whether the process must have no descriptors.
    pub(crate) fn needs_no_descriptors(&self) -> bool {
        matches!(self, Body::Syscall(RawSyscall { is_chosen: true, .. }))
    }

    /// The syscall as a filter sees it, if the body is one.
    pub(crate) fn data(&self) -> Option<SeccompData> {
        let (nr, args) = match self {
            Body::Syscall(RawSyscall { nr, args, .. }) => (u32::try_from(*nr).ok()?, *args),
            Body::SignalReturn => (u32::try_from(libc::SYS_rt_sigreturn).ok()?, [0; 6]),
            _ => return None,
        };
        subject::syscall_data(nr, args)
    }

    /// Starts its threads and allocates its memory.
    pub(crate) fn prepare(&self) -> Result<ReadyBody, BodyError> {
        let waiters = match self {
            Body::CondWait { threads } => Some(Waiters::start(*threads)?),
            _ => None,
        };
        let frame = (*self == Body::SignalReturn).then(SignalFrame::new);
        Ok(ReadyBody { body: *self, waiters, frame, socket: None })
    }
}

impl ReadyBody {
    /// Whether other threads than the first one make its syscalls.
    pub(crate) fn has_threads(&self) -> bool {
        self.waiters.is_some()
    }

    /// Opens its socket, with the filter of the subject: once, before it is run, and after other bodies, because a packet is
    /// shown to all open sockets.
    pub(crate) fn start(mut self, filter: Option<&SocketProgram>) -> Result<ReadyBody, BodyError> {
        if let Body::Packet { path, is_hit } = self.body {
            let socket = PacketSocket::open(path, filter, is_hit);
            self.socket = Some(socket.map_err(BodyError::Socket)?);
        }
        Ok(self)
    }

    /// Runs this number of iterations and returns the nanoseconds that they took. With clutter, caches are evicted
    /// before each iteration, which is not counted.
    pub(crate) fn run(&self, count: u32, clutter: Option<&Clutter>) -> Result<u64, BodyError> {
        match (clutter, &self.body) {
            (Some(clutter), _) => self.run_after(count, || {
                clutter.touch();
            }),
            // The loop contains nothing but the syscall.
            (None, Body::Syscall(RawSyscall { nr, args, .. })) => {
                let start = now()?;
                for _ in 0..count {
                    // SAFETY: syscalls come from `syscalls.rs` and `experiment`, where they write to no memory and change
                    // nothing outside of this process, which has no descriptors if arguments are chosen.
                    unsafe { system_call(*nr, *args) };
                }
                Ok(now()? - start)
            }
            (None, _) => {
                if let Some(waiters) = &self.waiters {
                    return Ok(waiters.run(count)?);
                }
                let start = now()?;
                for _ in 0..count {
                    self.once();
                }
                Ok(now()? - start)
            }
        }
    }

    /// Runs iterations, and something else before each, which is not counted.
    fn run_after(&self, count: u32, mut before: impl FnMut()) -> Result<u64, BodyError> {
        let mut sum = 0;
        for _ in 0..count {
            before();
            let start = now()?;
            self.once();
            sum += now()? - start;
        }
        Ok(sum)
    }

    #[inline]
    fn once(&self) {
        let one = |nr, arg| {
            // SAFETY: these syscalls access only the memory that is passed to them below.
            unsafe { system_call(nr, [arg, 0, 0, 0, 0, 0]) }
        };
        match &self.body {
            Body::Syscall(RawSyscall { nr, args, .. }) => {
                // SAFETY: as in `run`.
                unsafe { system_call(*nr, *args) };
            }
            Body::SignalReturn => {
                if let Some(frame) = &self.frame {
                    frame.signal_return();
                }
            }
            Body::UnixBench => {
                one(libc::SYS_close, one(libc::SYS_dup, 0) as u64);
                one(libc::SYS_getpid, 0);
                one(libc::SYS_getuid, 0);
                one(libc::SYS_umask, 0o22);
            }
            Body::OpenReadClose => {
                let path = c"/dev/zero".as_ptr() as u64;
                let mut byte = 0u8;
                let place = (&raw mut byte) as u64;
                #[cfg(target_arch = "x86_64")]
                let (open, args) = (libc::SYS_open, [path, 0, 0, 0, 0, 0]);
                #[cfg(not(target_arch = "x86_64"))]
                let (open, args) =
                    (libc::SYS_openat, [i64::from(libc::AT_FDCWD) as u64, path, 0, 0, 0, 0]);
                // SAFETY: the path is a C string, and the kernel writes one byte at `byte`.
                unsafe {
                    let file = system_call(open, args) as u64;
                    system_call(libc::SYS_read, [file, place, 1, 0, 0, 0]);
                    system_call(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
                }
            }
            // Its threads run elsewhere.
            Body::CondWait { .. } => {}
            Body::Packet { .. } => {
                if let Some(socket) = &self.socket {
                    socket.send();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_code_and_data_are_touched_before_each_iteration() {
        let mut touched = 0;
        let body = Body::UnixBench.prepare().unwrap();
        body.run_after(7, || touched += 1).unwrap();
        assert_eq!(touched, 7);
    }
}
