//! [`Listener`]: receives the syscalls that a filter passes to a supervisor, and answers them. `unsafe` code: ioctl(2).
//!
//! Sources: seccomp_unotify(2), `kernel/seccomp.c` (`seccomp_do_user_notification`, `seccomp_notify_recv`,
//! `seccomp_notify_poll`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use callgate::SeccompData;
use libc::{c_int, pid_t, pollfd};

use crate::sys;

/// `SECCOMP_IOCTL_NOTIF_ID_VALID` as `_IOR`.
const ID_VALID_BEFORE_5_17: libc::Ioctl = 0x8008_2102_u32 as libc::Ioctl;

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

/// The listener of a filter: its supervisor. It needs no privileges, and may be in another thread or process than the filter.
///
/// [`Installer::install_with_listener`](crate::Installer::install_with_listener) returns it, and has an example. A descriptor
/// that was received from another process becomes a listener with `Listener::from`.
///
/// What a syscall points to can change while it waits, so a supervisor must not let it continue because of what it read
/// there: other threads of the program may exchange the name of a file. It performs the operation itself, and
/// answers with [`succeed`](Listener::succeed) or [`fail`](Listener::fail).
#[derive(Debug)]
#[must_use = "the kernel fails the syscalls with ENOSYS once the listener is dropped"]
pub struct Listener {
    fd: OwnedFd,
}

/// A syscall that waits for the answer of a [`Listener`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the syscall waits until it is answered"]
pub struct Notification {
    id: u64,
    pid: pid_t,
    data: SeccompData,
}

impl Notification {
    /// The thread that makes the syscall, in the PID namespace of the listener; 0 if it is not visible there.
    pub fn pid(&self) -> pid_t {
        self.pid
    }

    /// The syscall.
    pub fn data(&self) -> &SeccompData {
        &self.data
    }
}

impl Listener {
    /// Whether this crate knows the structures of the running kernel.
    pub fn is_supported() -> bool {
        let Ok(sizes) = sys::seccomp_notif_sizes() else { return false };
        Grown::<libc::seccomp_notif>::fits(sizes.seccomp_notif)
            && Grown::<libc::seccomp_notif_resp>::fits(sizes.seccomp_notif_resp)
    }

    /// Waits for a syscall; `None` once no thread has the filter (Linux 5.9; before, it waits for ever).
    ///
    /// # Errors
    /// The errno of poll(2) or ioctl(2).
    pub fn receive(&self) -> io::Result<Option<Notification>> {
        loop {
            let mut poll = pollfd { fd: self.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the kernel reads and writes one structure, which lives until the call returns.
            match uninterrupted(|| unsafe { libc::poll(&raw mut poll, 1, -1) }) {
                Ok(()) if poll.revents & libc::POLLIN != 0 => {}
                Ok(()) => return Ok(None),
                Err(why) => return Err(why),
            }
            if let Some(notification) = self.try_receive()? {
                return Ok(Some(notification));
            }
        }
    }

    /// Receives a syscall, for which poll(2) has waited; `None` if its thread was interrupted or ended meanwhile.
    ///
    /// # Errors
    /// The errno of ioctl(2).
    pub fn try_receive(&self) -> io::Result<Option<Notification>> {
        // SAFETY: all members are integers, and the kernel requires zeros.
        let mut message: Grown<libc::seccomp_notif> = unsafe { std::mem::zeroed() };
        // SAFETY: the number of the request contains the size of the structure that the kernel writes; there is room for more.
        let result = unsafe {
            libc::ioctl(self.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut message)
        };
        if result == -1 {
            let why = io::Error::last_os_error();
            return match why.raw_os_error() {
                Some(libc::ENOENT | libc::EINTR) => Ok(None),
                _ => Err(why),
            };
        }
        let libc::seccomp_notif { id, pid, data, .. } = message.known;
        let libc::seccomp_data { nr, arch, instruction_pointer, args } = data;
        let data = SeccompData { nr: nr as u32, arch, instruction_pointer, args };
        Ok(Some(Notification { id, pid: pid as pid_t, data }))
    }

    /// Whether the syscall still waits. A supervisor that opened something by [`pid`](Notification::pid), such as
    /// `/proc/PID/mem`, asks afterwards: if the thread has ended, another one may have its ID.
    pub fn is_waiting(&self, notification: &Notification) -> bool {
        let id = &raw const notification.id;
        // Before Linux 5.17, the kernel knew the number with the wrong direction only.
        [libc::SECCOMP_IOCTL_NOTIF_ID_VALID, ID_VALID_BEFORE_5_17].into_iter().any(|request| {
            // SAFETY: the kernel reads a number of 64 bits, which lives until the call returns.
            uninterrupted(|| unsafe { libc::ioctl(self.as_raw_fd(), request, id) }).is_ok()
        })
    }

    /// Lets the syscall return this value, without executing it.
    ///
    /// # Errors
    /// ENOENT if its thread was killed or a signal interrupted it; otherwise the errno of ioctl(2).
    pub fn succeed(&self, notification: &Notification, value: i64) -> io::Result<()> {
        self.answer(notification, value, 0, 0)
    }

    /// Lets the syscall fail with this errno, which is positive.
    ///
    /// # Errors
    /// As [`succeed`](Listener::succeed); EINVAL for an errno outside of 1 to 4095.
    pub fn fail(&self, notification: &Notification, errno: i32) -> io::Result<()> {
        if !(1..=4095).contains(&errno) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        self.answer(notification, 0, -errno, 0)
    }

    /// Lets the kernel execute the syscall (`SECCOMP_USER_NOTIF_FLAG_CONTINUE`, Linux 5.5). Not a decision about what its
    /// arguments point to, which may change before the kernel reads it.
    ///
    /// # Errors
    /// As [`succeed`](Listener::succeed).
    pub fn continue_syscall(&self, notification: &Notification) -> io::Result<()> {
        self.answer(notification, 0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
    }

    fn answer(
        &self,
        notification: &Notification,
        value: i64,
        error: i32,
        flags: u32,
    ) -> io::Result<()> {
        // SAFETY: all members are integers.
        let mut answer: Grown<libc::seccomp_notif_resp> = unsafe { std::mem::zeroed() };
        answer.known.id = notification.id;
        answer.known.val = value;
        answer.known.error = error;
        answer.known.flags = flags;
        // SAFETY: the kernel reads its structure, which lives until the call returns.
        uninterrupted(|| unsafe {
            libc::ioctl(self.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer)
        })
    }
}

impl From<OwnedFd> for Listener {
    fn from(fd: OwnedFd) -> Listener {
        Listener { fd }
    }
}

impl From<Listener> for OwnedFd {
    fn from(listener: Listener) -> OwnedFd {
        listener.fd
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Repeats a request until no signal interrupts it: the kernel waits for a lock, and signals end that wait.
fn uninterrupted(mut request: impl FnMut() -> c_int) -> io::Result<()> {
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
