//! Safe wrappers around syscalls that this crate and the recorder share. `unsafe` code.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong};
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use libc::{sock_filter, sock_fprog};

/// The type of a `ptrace(2)` request, which differs between C libraries.
#[cfg(target_env = "musl")]
pub type PtraceRequest = c_int;
/// The type of a `ptrace(2)` request, which differs between C libraries.
#[cfg(not(target_env = "musl"))]
pub type PtraceRequest = c_uint;

/// `prctl(PR_SET_NO_NEW_PRIVS)`: `execve` no longer gains privileges. Cannot be undone.
///
/// # Errors
/// The errno of the syscall.
pub fn set_no_new_privs() -> io::Result<()> {
    let zero: c_ulong = 0;
    // SAFETY: PR_SET_NO_NEW_PRIVS takes four integers and touches no memory of this process.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as c_ulong, zero, zero, zero) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `seccomp(SECCOMP_SET_MODE_FILTER)`. With TSYNC, a positive result is a thread that could not be synchronised.
///
/// # Errors
/// The errno of the syscall.
pub fn seccomp_set_filter(code: &[sock_filter], flags: u32) -> io::Result<i32> {
    let program = fprog(code)?;
    // SAFETY: `program` and the instructions behind it live until the call returns, `len` is their
    // number, and the kernel only reads them.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// The same with a listener, whose descriptor is closed on `execve`. `flags` must contain
/// `SECCOMP_FILTER_FLAG_NEW_LISTENER`, and with TSYNC also `SECCOMP_FILTER_FLAG_TSYNC_ESRCH`.
///
/// # Errors
/// The errno of the syscall; ESRCH with TSYNC if a thread could not be synchronised.
pub(crate) fn seccomp_set_filter_with_listener(
    code: &[sock_filter],
    flags: u32,
) -> io::Result<OwnedFd> {
    let fd = seccomp_set_filter(code, flags)?;
    // SAFETY: with these flags, a result that is not an error is a new descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `prctl(PR_SET_SECCOMP)`, which has no flags: for kernels before 3.17.
///
/// # Errors
/// The errno of the syscall.
pub(crate) fn prctl_set_filter(code: &[sock_filter]) -> io::Result<()> {
    let program = fprog(code)?;
    let mode: c_ulong = libc::SECCOMP_MODE_FILTER.into();
    // SAFETY: as in `seccomp_set_filter`.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn fprog(code: &[sock_filter]) -> io::Result<sock_fprog> {
    let len = u16::try_from(code.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    Ok(sock_fprog { len, filter: code.as_ptr().cast_mut() })
}

/// `futex(FUTEX_WAIT)`, also between processes: if the word has this value, sleeps until [`futex_wake`], a signal, or the
/// time limit. Callers must check the word again.
pub fn futex_wait(word: &AtomicU32, value: u32, limit: Duration) {
    let limit = libc::timespec { tv_sec: limit.as_secs() as _, tv_nsec: 0 };
    // SAFETY: the kernel reads the word and the time, which live until the call returns.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit)
    };
}

/// `futex(FUTEX_WAKE)`: wakes all that wait for this word.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the kernel takes the address of the word, which is valid, and a number.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, c_int::MAX) };
}

/// Whether `SECCOMP_SET_MODE_FILTER` supports these flags. Installs nothing: the kernel checks the flags first (EINVAL)
/// and then fails to read a program at address zero (EFAULT).
pub(crate) fn seccomp_knows_flags(flags: u32) -> bool {
    let nowhere = std::ptr::null::<sock_fprog>();
    // SAFETY: this process does not dereference the null pointer; the kernel returns EFAULT.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, nowhere) };
    result == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// `seccomp(SECCOMP_GET_NOTIF_SIZES)`: the sizes of the kernel's structures for listeners.
///
/// # Errors
/// The errno of the syscall.
pub fn seccomp_notif_sizes() -> io::Result<libc::seccomp_notif_sizes> {
    let none: c_uint = 0;
    let mut sizes =
        libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    let to = &raw mut sizes;
    // SAFETY: the kernel writes three numbers of 16 bits, which is what `sizes` has.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, none, to) };
    if result == 0 { Ok(sizes) } else { Err(io::Error::last_os_error()) }
}

/// `seccomp(SECCOMP_GET_ACTION_AVAIL)`.
///
/// # Errors
/// The errno of the syscall.
pub(crate) fn seccomp_action_available(action: u32) -> io::Result<()> {
    let none: c_uint = 0;
    // SAFETY: the kernel reads four bytes at `action`, which lives until the call returns.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, none, &raw const action)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The release of the running kernel, as `uname -r` prints it.
///
/// # Errors
/// The errno of the syscall.
pub(crate) fn uname_release() -> io::Result<String> {
    let mut name = std::mem::MaybeUninit::<libc::utsname>::uninit();
    // SAFETY: the pointer is valid for writes of a `utsname`.
    if unsafe { libc::uname(name.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `uname` succeeded, so it filled the whole structure.
    let name = unsafe { name.assume_init() };
    // SAFETY: the kernel ends every field of `utsname` with a zero byte, inside the array.
    let release = unsafe { CStr::from_ptr(name.release.as_ptr()) };
    Ok(release.to_string_lossy().into_owned())
}

/// Whether the file may be executed by the effective user (`faccessat(X_OK, AT_EACCESS)`); for a
/// directory, whether it may be searched.
///
/// # Errors
/// The errno of the syscall.
pub(crate) fn may_execute(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` ends with a zero byte and lives until the call returns.
    let result =
        unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// An argument vector for `execve`, prepared before the filter is installed, because nothing should allocate memory after
/// that.
pub(crate) struct Argv {
    /// Owns the strings that the pointers refer to.
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Argv {
    /// An argument vector of these strings, starting with the name of the program.
    pub(crate) fn new(strings: Vec<CString>) -> Argv {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Argv { _strings: strings, pointers }
    }
}

/// `execve` with the environment of this process. Returns only if it failed.
pub(crate) fn execve(path: &CStr, argv: &Argv) -> io::Error {
    // SAFETY: `path` is a C string; `pointers` are C strings that `argv` keeps alive (moving a CString
    // does not move its bytes), with a null pointer at the end. `execv` reads `environ`, and no other
    // thread of this crate writes it.
    unsafe { libc::execv(path.as_ptr(), argv.pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// The disposition of a signal without a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The signal's default action (`SIG_DFL`).
    Default,
    /// Nothing (`SIG_IGN`); `execve` preserves this.
    Ignored,
}

/// `signal(2)`. Does nothing for invalid signals and those that cannot be changed.
pub(crate) fn set_disposition(signal: c_int, disposition: Disposition) {
    let action = match disposition {
        Disposition::Default => libc::SIG_DFL,
        Disposition::Ignored => libc::SIG_IGN,
    };
    // SAFETY: both actions are valid for every signal and install no code.
    unsafe { libc::signal(signal, action) };
}

/// The system's message for an error, without the number that Rust appends.
pub fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
