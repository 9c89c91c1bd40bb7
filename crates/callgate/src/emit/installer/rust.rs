//! Functions that install a filter in Rust.

use super::manner::{Installed, Manner, before};
use crate::emit::names::Names;

pub(super) fn functions(names: &Names, manner: Manner, installed: &Installed<'_>) -> String {
    let mut flags =
        manner.own_flags(|name, _| format!("    flags |= libc::SECCOMP_FILTER_FLAG_{name};\n"));
    let Names { array, function, installer, in_thread, with_flags, .. } = names;
    let (declared, passed) = installed.parameters();
    let value = match installed {
        Installed::Array => array.clone(),
        Installed::Set { .. } => format!("{function}({passed})"),
    };
    let syscall = "libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program as *const libc::sock_fprog)";
    let (what, errors, returned, checks, call, results) = match manner.listens {
        false => (
            "Installs the filter with flags of seccomp(2)",
            " `EINVAL` for `SECCOMP_FILTER_FLAG_NEW_LISTENER`, whose result would be lost.",
            "()",
            "    if flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
        return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
    }
",
            format!(
                "match {syscall} {{
            // Before Linux 3.17, and where a filter hides seccomp(2).
            -1 if flags == 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) => libc::c_long::from(
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as libc::c_ulong, &program as *const libc::sock_fprog, 0 as libc::c_ulong, 0 as libc::c_ulong),
            ),
            result => result,
        }}"
            ),
            "        0 => Ok(()),
        -1 => Err(std::io::Error::last_os_error()),
        _ => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
",
        ),
        true => {
            flags += "    flags |= libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    if flags & libc::SECCOMP_FILTER_FLAG_TSYNC != 0 {
        flags |= libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
    }
";
            (
                "Installs the filter with flags of seccomp(2), and returns its listener: once that is dropped, the kernel \
                 fails syscalls that notify with ENOSYS",
                "",
                "std::os::fd::OwnedFd",
                "",
                syscall.to_owned(),
                "        -1 => Err(std::io::Error::last_os_error()),
        // SAFETY: it is a new descriptor, which nothing else owns.
        listener => Ok(unsafe { std::os::fd::FromRawFd::from_raw_fd(listener as libc::c_int) }),
",
            )
        }
    };
    let returns = if manner.listens { " Returns its listener." } else { "" };
    let mutable = if flags.is_empty() { "" } else { "mut " };
    let with = before(&format!("{mutable}flags: libc::c_ulong, no_new_privs: bool"), declared);
    let all = before("libc::SECCOMP_FILTER_FLAG_TSYNC, true", passed);
    let own = before("0, true", passed);
    format!(
        "
/// {what}. Sets `no_new_privs` first unless this is false:
/// then the thread must have it, or CAP_SYS_ADMIN (`EACCES`).
///
/// # Errors
/// The error of the kernel.{errors}
#[rustfmt::skip]
#[allow(dead_code)]
pub fn {with_flags}({with}) -> std::io::Result<{returned}> {{
{checks}    let mut insns = {value};
    let program = libc::sock_fprog {{ len: insns.len() as u16, filter: insns.as_mut_ptr() }};
{flags}    // SAFETY: prctl takes numbers, and the kernel reads the program, which lives until the call returns.
    let result = unsafe {{
        if no_new_privs
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong) != 0
        {{
            return Err(std::io::Error::last_os_error());
        }}
        {call}
    }};
    match result {{
{results}    }}
}}

/// Installs the filter in all threads of the process.{returns}
///
/// # Errors
/// The error of the kernel; `ESRCH` if a thread has filters of its own. Then no thread got this one.
#[rustfmt::skip]
#[allow(dead_code)]
pub fn {installer}({declared}) -> std::io::Result<{returned}> {{
    {with_flags}({all})
}}

/// Installs the filter in the calling thread, and in what it starts later.{returns}
///
/// # Errors
/// The error of the kernel.
#[rustfmt::skip]
#[allow(dead_code)]
pub fn {in_thread}({declared}) -> std::io::Result<{returned}> {{
    {with_flags}({own})
}}
"
    )
}
