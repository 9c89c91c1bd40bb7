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

use callgate_linux::Notification;
use libc::{c_int, pid_t};

use crate::tracer::Syscall;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `include/uapi/linux/seccomp.h`.
const SYNC_WAKE_UP: u64 = 1;

/// A syscall that waits for an answer.
pub(super) struct Waiting {
    /// The thread that makes it.
    pub(super) pid: pid_t,
    pub(super) syscall: Syscall,
    notification: Notification,
}

pub(super) struct Listener {
    listener: callgate_linux::Listener,
}

impl Listener {
    /// Whether this machine supports recording by a listener. Syscalls that a signal interrupts before they are received
    /// need a correction (`super::interrupted`) that exists only for x86-64.
    pub(super) fn available() -> bool {
        cfg!(target_arch = "x86_64") && callgate_linux::Listener::is_supported()
    }

    /// Fails if the kernel cannot run listener and caller on one processor.
    pub(super) fn new(fd: OwnedFd) -> io::Result<Listener> {
        loop {
            // SAFETY: this request takes a number and touches no memory.
            let result = unsafe {
                libc::ioctl(fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
            };
            if result != -1 {
                return Ok(Listener { listener: fd.into() });
            }
            // The kernel waits for a lock, and signals end that wait.
            let why = io::Error::last_os_error();
            if why.kind() != io::ErrorKind::Interrupted {
                return Err(why);
            }
        }
    }

    pub(super) fn fd(&self) -> c_int {
        self.listener.as_raw_fd()
    }

    /// Receives a syscall; `None` if its thread was interrupted or ended meanwhile.
    pub(super) fn receive(&self) -> io::Result<Option<Waiting>> {
        let received = self.listener.try_receive()?;
        Ok(received.map(|notification| {
            let data = notification.data();
            let (ip, args) = (data.instruction_pointer, data.args);
            let syscall = Syscall { arch: data.arch, nr: data.nr, ip, args };
            Waiting { pid: notification.pid(), syscall, notification }
        }))
    }

    /// Lets a syscall continue. Does nothing if its thread was killed.
    pub(super) fn continue_syscall(&self, waiting: &Waiting) {
        let _ = self.listener.continue_syscall(&waiting.notification);
    }
}
