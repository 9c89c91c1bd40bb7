//! Functions that install a filter in all threads of a process, as source code.
//!
//! A filter without `SECCOMP_FILTER_FLAG_TSYNC` is that of the calling thread and of those that it starts later; in Go, others
//! always exist. With the flag the kernel also sets `no_new_privs` for all threads (`seccomp_sync_threads` in
//! kernel/seccomp.c), and returns the ID of a thread that cannot take the filter.

use callgate::bpf::FilterFlags;

/// The flags for seccomp(2), with a prefix.
fn all_flags(prefix: &str, flags: FilterFlags) -> String {
    let own = (flags | FilterFlags::TSYNC).each();
    let names: Vec<String> =
        own.map(|(_, name, _)| format!("{prefix}SECCOMP_FILTER_FLAG_{name}")).collect();
    names.join(" | ")
}

/// The function in C.
pub(super) fn c(name: Option<&str>, flags: FilterFlags) -> String {
    let (function, program) = match name {
        Some(name) => (format!("install_{name}"), format!("{name}_program")),
        None => ("install_filter".to_owned(), "program".to_owned()),
    };
    let flags = all_flags("", flags);
    format!(
        "
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clang-format off */
/*
 * Installs the filter in all threads of the process, and sets no_new_privs.
 * Returns 0, or -1 with errno; ESRCH: a thread has filters of its own.
 */
static inline int {function}(void)
{{
	long result;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 {flags}, &{program});
	if (result > 0)
		errno = ESRCH;
	return result == 0 ? 0 : -1;
}}
/* clang-format on */
"
    )
}

/// The function in Rust.
pub(super) fn rust(name: Option<&str>, flags: FilterFlags) -> String {
    let array = name.unwrap_or("FILTER");
    let function = array.to_lowercase();
    let flags = all_flags("libc::", flags);
    format!(
        "
/// Installs the filter in all threads of the process, and sets `no_new_privs`.
///
/// # Errors
/// The error of the kernel; `ESRCH` if a thread has filters of its own.
#[rustfmt::skip]
pub fn install_{function}() -> std::io::Result<()> {{
    let mut filter = {array};
    let program = libc::sock_fprog {{ len: filter.len() as u16, filter: filter.as_mut_ptr() }};
    // SAFETY: prctl takes numbers, and the kernel reads the program, which lives until the call returns.
    let result = unsafe {{
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong) != 0 {{
            return Err(std::io::Error::last_os_error());
        }}
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, {flags}, &program as *const libc::sock_fprog)
    }};
    match result {{
        0 => Ok(()),
        -1 => Err(std::io::Error::last_os_error()),
        _ => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
    }}
}}
"
    )
}

/// The function in Go.
pub(super) fn go(name: Option<&str>, flags: FilterFlags) -> String {
    let array = name.unwrap_or("filter");
    // Exported if the array is.
    let mut letters = array.chars();
    let (first, rest) = (letters.next().unwrap_or('f'), letters.as_str());
    let install = if first.is_uppercase() { "Install" } else { "install" };
    let function = format!("{install}{}{rest}", first.to_uppercase());
    let flags = all_flags("unix.", flags);
    format!(
        "
// {function} installs the filter in all threads of the process, and sets no_new_privs.
func {function}() error {{
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {{
		return err
	}}
	program := unix.SockFprog{{Len: uint16(len({array})), Filter: &{array}[0]}}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		{flags}, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {{
		return errno
	}}
	if thread != 0 {{
		return fmt.Errorf(\"thread %d has filters of its own: %w\", thread, unix.ESRCH)
	}}
	return nil
}}
"
    )
}

/// The beginning of a Go file.
pub(super) const GO_IMPORTS: &str = "package main

import (
	\"fmt\"
	\"runtime\"
	\"unsafe\"

	\"golang.org/x/sys/unix\"
)

";
