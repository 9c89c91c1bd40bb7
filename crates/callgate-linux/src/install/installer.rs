//! [`Installer`]: how a filter is installed.
//!
//! Without `SECCOMP_FILTER_FLAG_TSYNC`, a filter is that of the calling thread, and of what this starts later. Threads with
//! different filters, such as those of virtual machines, install them alone: the kernel refuses to synchronize threads whose
//! filters differ.
//!
//! TSYNC and `SECCOMP_FILTER_FLAG_NEW_LISTENER` both use the result of seccomp(2), for the ID of a thread and for a file
//! descriptor, so the kernel takes them together only with `SECCOMP_FILTER_FLAG_TSYNC_ESRCH` (Linux 5.7), with which a thread
//! that cannot be synchronized is the error ESRCH.
//!
//! Sources: `seccomp(2)`, `seccomp_set_mode_filter` and `seccomp_prepare_filter` in `kernel/seccomp.c`.

use std::io;

use callgate::{Proved, needs_listener};
use callgate_bpf::FilterFlags;
use callgate_core::Program;
use libc::sock_filter;

use super::error::{InstallError, InstallErrorKind};
use super::machine::check_policy;
use crate::listener::Listener;
use crate::sys;

/// `SECCOMP_FILTER_FLAG_NEW_LISTENER`.
const NEW_LISTENER: u32 = 1 << 3;
/// `SECCOMP_FILTER_FLAG_TSYNC_ESRCH`.
const TSYNC_ESRCH: u32 = 1 << 4;

/// How a filter is installed. By default: in the calling thread, with `no_new_privs` and without flags.
///
/// A filter is inherited by the threads and processes that its threads start, and cannot be removed.
///
/// ```
/// use callgate::{Arch, Filter, Verdict};
/// use callgate_linux::{FilterFlags, Installer};
///
/// let machine = Arch::native().ok_or("an unknown machine")?;
/// let filter = Filter::builder(machine).default(Verdict::ALLOW).deny(["ptrace"])?.build()?;
/// let program = filter.compile()?;
/// // In all threads of this process, or in none.
/// Installer::new().flags(FilterFlags::TSYNC | FilterFlags::LOG).install(&program)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # A listener
///
/// A filter with the verdict USER_NOTIF passes syscalls to a supervisor, which decides about them. Only
/// [`install_with_listener`](Installer::install_with_listener) installs it, because somebody must have the listener: without
/// one, the kernel fails these syscalls with ENOSYS.
///
/// ```
/// use std::{io, thread};
///
/// use callgate::{Arch, Filter, Verdict};
/// use callgate_linux::Installer;
///
/// let machine = Arch::native().ok_or("an unknown machine")?;
/// let builder = Filter::builder(machine).default(Verdict::ALLOW);
/// let program = builder.rule(Verdict::user_notif(0), ["getppid"])?.build()?.compile()?;
/// let (send, receive) = std::sync::mpsc::channel();
/// let worker = thread::spawn(move || {
///     let listener = Installer::new().install_with_listener(&program);
///     send.send(listener).map_err(io::Error::other)?;
///     // SAFETY: getppid takes nothing.
///     Ok::<_, io::Error>(unsafe { libc::getppid() })
/// });
/// // This thread has no filter, so it can answer.
/// let listener = receive.recv()??;
/// while let Some(notification) = listener.receive()? {
///     assert_eq!(notification.data().nr, libc::SYS_getppid as u32);
///     listener.succeed(&notification, 4711)?;
/// }
/// assert_eq!(worker.join().map_err(|_| "a panic")??, 4711);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Without `no_new_privs`
///
/// `no_new_privs` keeps the process, and what it starts, from gaining privileges by `execve`; without it, set-user-ID programs
/// would run under a filter of somebody who has fewer privileges than they. The kernel accepts a filter without it from a thread
/// with CAP_SYS_ADMIN in its user namespace, such as a container runtime that starts a container whose configuration does not
/// ask for it: [`no_new_privs(false)`](Installer::no_new_privs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an installer has no effect until a filter is installed"]
pub struct Installer {
    flags: FilterFlags,
    no_new_privs: bool,
    without_listener: bool,
}

impl Default for Installer {
    fn default() -> Installer {
        Installer::new()
    }
}

impl Installer {
    /// In the calling thread, with `no_new_privs`.
    pub const fn new() -> Installer {
        Installer { flags: FilterFlags::NONE, no_new_privs: true, without_listener: false }
    }

    /// Adds flags: TSYNC for all threads of the process, LOG, SPEC_ALLOW; WAIT_KILLABLE_RECV for a filter with a listener.
    pub fn flags(mut self, flags: FilterFlags) -> Installer {
        self.flags |= flags;
        self
    }

    /// Whether `no_new_privs` is set first; true by default. Without it, the thread must already have it, or CAP_SYS_ADMIN in
    /// its user namespace.
    pub const fn no_new_privs(mut self, set: bool) -> Installer {
        self.no_new_privs = set;
        self
    }

    /// Lets [`install`](Installer::install) take a filter that notifies a listener, although there is none: the kernel fails
    /// these syscalls with ENOSYS.
    pub const fn without_listener(mut self) -> Installer {
        self.without_listener = true;
        self
    }

    /// Installs a filter.
    ///
    /// Uses `seccomp(2)`, or `prctl(PR_SET_SECCOMP)` on kernels before 3.17 if there are no flags.
    ///
    /// # Errors
    /// If the filter notifies a listener (USER_NOTIF), because there is none; if its policy is for other architectures
    /// ([`check_machine`](super::check_machine)); or if the flags have WAIT_KILLABLE_RECV. Then nothing was changed. If the
    /// kernel refuses; then no filter was installed, but `no_new_privs` may be set.
    pub fn install(self, program: &Proved) -> Result<(), InstallError> {
        check_policy(program)?;
        self.install_unproved(program)
    }

    /// As [`install`](Installer::install), for a program of which nothing is proved: it does what it does.
    ///
    /// # Errors
    /// As [`install`](Installer::install), but the program may be for any machine: see
    /// [`check_machine`](super::check_machine).
    pub fn install_unproved(self, program: &Program) -> Result<(), InstallError> {
        if self.flags.contains(FilterFlags::WAIT_KILLABLE_RECV) {
            return Err(InstallErrorKind::NeedsListener.into());
        }
        if !self.without_listener && needs_listener(program.insns()) {
            return Err(InstallErrorKind::Notifies.into());
        }
        let code = code_of(program);
        self.prepare()?;
        let why = match sys::seccomp_set_filter(&code, self.flags.bits()) {
            Ok(0) => return Ok(()),
            Ok(thread) => return Err(InstallErrorKind::Thread { thread: Some(thread) }.into()),
            Err(why) => why,
        };
        if why.raw_os_error() == Some(libc::ENOSYS) && self.flags.is_empty() {
            return sys::prctl_set_filter(&code).map_err(|why| match why.raw_os_error() {
                Some(libc::EINVAL) => InstallErrorKind::NoSeccomp.into(),
                _ => InstallErrorKind::other(why, code.len(), self.no_new_privs).into(),
            });
        }
        Err(self.refused(why, code.len(), 0))
    }

    /// Installs a filter, and returns its listener, which receives the syscalls with the verdict USER_NOTIF. Drop the listener,
    /// and the kernel fails them with ENOSYS.
    ///
    /// A thread has at most one filter with a listener. The descriptor is closed on `execve`: pass it to another process with
    /// `SCM_RIGHTS`, or let a thread without the filter serve it.
    ///
    /// # Errors
    /// If the filter never notifies, because its listener would wait for ever, or if its policy is for other architectures
    /// ([`check_machine`](super::check_machine)). Then nothing was changed. If the kernel refuses; then no filter was installed,
    /// but `no_new_privs` may be set.
    pub fn install_with_listener(self, program: &Proved) -> Result<Listener, InstallError> {
        check_policy(program)?;
        self.install_unproved_with_listener(program)
    }

    /// As [`install_with_listener`](Installer::install_with_listener), for a program of which nothing is proved.
    ///
    /// # Errors
    /// As [`install_with_listener`](Installer::install_with_listener), but the program may be for any machine.
    pub fn install_unproved_with_listener(
        self,
        program: &Program,
    ) -> Result<Listener, InstallError> {
        if !needs_listener(program.insns()) {
            return Err(InstallErrorKind::NeverNotifies.into());
        }
        let code = code_of(program);
        let is_for_all = self.flags.contains(FilterFlags::TSYNC);
        let more = NEW_LISTENER | if is_for_all { TSYNC_ESRCH } else { 0 };
        self.prepare()?;
        let fd = sys::seccomp_set_filter_with_listener(&code, self.flags.bits() | more);
        fd.map(Listener::from).map_err(|why| self.refused(why, code.len(), more))
    }

    fn prepare(self) -> Result<(), InstallError> {
        if !self.no_new_privs {
            return Ok(());
        }
        sys::set_no_new_privs().map_err(|why| InstallErrorKind::NoNewPrivs { why }.into())
    }

    /// Why seccomp(2) refuses a program of this length with these flags and `more`.
    fn refused(self, why: io::Error, insns: usize, more: u32) -> InstallError {
        let kind = match why.raw_os_error() {
            Some(libc::ENOSYS) => {
                InstallErrorKind::NoSyscall { flags: self.flags, listener: more != 0 }
            }
            Some(libc::ESRCH) if more & TSYNC_ESRCH != 0 => {
                InstallErrorKind::Thread { thread: None }
            }
            Some(libc::EBUSY) if more != 0 => InstallErrorKind::SecondListener,
            Some(libc::EINVAL) => self.invalid(why, more),
            _ => InstallErrorKind::other(why, insns, self.no_new_privs),
        };
        kind.into()
    }

    /// What is invalid: the flags, or the program.
    fn invalid(self, why: io::Error, more: u32) -> InstallErrorKind {
        if !sys::seccomp_knows_flags(FilterFlags::NONE.bits()) {
            return InstallErrorKind::NoSeccomp;
        }
        // Some flags are valid only with these.
        let (known, listener) = match more {
            0 => (0, None),
            _ if !sys::seccomp_knows_flags(NEW_LISTENER) => {
                (0, Some("SECCOMP_FILTER_FLAG_NEW_LISTENER (since Linux 5.0)"))
            }
            _ if !sys::seccomp_knows_flags(more) => {
                (NEW_LISTENER, Some("SECCOMP_FILTER_FLAG_TSYNC_ESRCH (since Linux 5.7)"))
            }
            _ => (more, None),
        };
        let mut flags = FilterFlags::NONE;
        // With a listener, TSYNC alone is not valid before 5.7.
        for (flag, ..) in self.flags.each().filter(|_| listener.is_none()) {
            if !sys::seccomp_knows_flags(flag.bits() | known) {
                flags |= flag;
            }
        }
        match (flags.is_empty(), listener) {
            (true, None) => InstallErrorKind::Program { why },
            _ => InstallErrorKind::UnknownFlags { flags, listener },
        }
    }
}

/// Sets `no_new_privs` and installs a filter for the calling thread; with [`FilterFlags::TSYNC`], for all
/// threads of the process: [`Installer`] with these flags.
///
/// # Errors
/// As [`Installer::install`].
pub fn install(program: &Proved, flags: FilterFlags) -> Result<(), InstallError> {
    Installer::new().flags(flags).install(program)
}

/// As [`install`], for a program of which nothing is proved: it does what it does.
///
/// # Errors
/// As [`Installer::install_unproved`].
pub fn install_unproved(program: &Program, flags: FilterFlags) -> Result<(), InstallError> {
    Installer::new().flags(flags).install_unproved(program)
}

/// A program in the kernel's encoding.
pub(crate) fn code_of(program: &Program) -> Vec<sock_filter> {
    let insns = program.iter();
    insns
        .map(|insn| sock_filter { code: insn.op.code(), jt: insn.jt, jf: insn.jf, k: insn.k })
        .collect()
}
