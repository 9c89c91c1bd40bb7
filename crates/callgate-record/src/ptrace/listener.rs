//! Listener of a seccomp filter: each syscall waits until the listener receives and answers it. `unsafe` code:
//! ioctl(2).
//!
//! The kernel runs the listener on the processor of the caller, and back (`SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`,
//! Linux 6.6). This avoids waking an idle processor, which costs more than everything else; without it
//! notifications are not faster than stops and are not used.
//!
//! Sources: seccomp_unotify(2), `kernel/seccomp.c` (`seccomp_do_user_notification`, `seccomp_notify_recv`).

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use libc::{c_int, pid_t};

use crate::tracer::Syscall;
use callgate_linux::sys;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `include/uapi/linux/seccomp.h`.
const SYNC_WAKE_UP: u64 = 1;

/// Room for future versions of the kernel's structures, which may be larger.
#[repr(C)]
struct Grown<T> {
    known: T,
    room: [u64; 8],
}

impl<T> Grown<T> {
    /// A size below that of the known members is invalid: a filter of a sandbox may have answered for the kernel.
    fn fits(size: u16) -> bool {
        (size_of::<T>()..=size_of::<Grown<T>>()).contains(&size.into())
    }
}

/// A syscall that waits for an answer.
pub(super) struct Waiting {
    id: u64,
    /// The thread that makes it.
    pub(super) pid: pid_t,
    pub(super) syscall: Syscall,
}

pub(super) struct Listener {
    fd: OwnedFd,
}

impl Listener {
    /// Whether this machine supports recording by a listener. Syscalls that a signal interrupts before they are received
    /// need a correction (`super::interrupted`) that exists only for x86-64.
    pub(super) fn available() -> bool {
        let Ok(sizes) = sys::seccomp_notif_sizes() else { return false };
        cfg!(target_arch = "x86_64")
            && Grown::<libc::seccomp_notif>::fits(sizes.seccomp_notif)
            && Grown::<libc::seccomp_notif_resp>::fits(sizes.seccomp_notif_resp)
    }

    /// Fails if the kernel cannot run listener and caller on one processor.
    pub(super) fn new(fd: OwnedFd) -> io::Result<Listener> {
        // SAFETY: this request takes a number and touches no memory.
        uninterrupted(|| unsafe {
            libc::ioctl(fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
        })?;
        Ok(Listener { fd })
    }

    pub(super) fn fd(&self) -> c_int {
        self.fd.as_raw_fd()
    }

    /// Receives a syscall; `None` if its thread was interrupted or ended meanwhile.
    pub(super) fn receive(&self) -> io::Result<Option<Waiting>> {
        // SAFETY: all members are integers, and the kernel requires zeros.
        let mut message: Grown<libc::seccomp_notif> = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes its structure, which fits: `available` looked at its size.
        let result =
            unsafe { libc::ioctl(self.fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut message) };
        if result == -1 {
            let why = io::Error::last_os_error();
            return match why.raw_os_error() {
                Some(libc::ENOENT | libc::EINTR) => Ok(None),
                _ => Err(why),
            };
        }
        let libc::seccomp_notif { id, pid, data, .. } = message.known;
        let libc::seccomp_data { nr, arch, instruction_pointer: ip, args } = data;
        let syscall = Syscall { arch, nr: nr as u32, ip, args };
        Ok(Some(Waiting { id, pid: pid as pid_t, syscall }))
    }

    /// Lets a syscall continue. Does nothing if its thread was killed.
    pub(super) fn continue_syscall(&self, waiting: &Waiting) {
        // SAFETY: all members are integers.
        let mut answer: Grown<libc::seccomp_notif_resp> = unsafe { std::mem::zeroed() };
        answer.known.id = waiting.id;
        answer.known.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        // SAFETY: the kernel reads its structure, which fits: `available` looked at its size.
        let _ = uninterrupted(|| unsafe {
            libc::ioctl(self.fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer)
        });
    }
}

/// Repeats a request until no signal interrupts it: the kernel waits for a lock, and signals end that wait.
fn uninterrupted(request: impl Fn() -> c_int) -> io::Result<()> {
    loop {
        if request() != -1 {
            return Ok(());
        }
        let why = io::Error::last_os_error();
        if why.kind() != io::ErrorKind::Interrupted {
            return Err(why);
        }
    }
}
