//! Functions that install a filter in all threads of a process, as source code.
//!
//! A filter without `SECCOMP_FILTER_FLAG_TSYNC` is that of the calling thread and of those that it starts later; in Go, others
//! always exist. With the flag the kernel also sets `no_new_privs` for all threads (`seccomp_sync_threads` in
//! kernel/seccomp.c), and returns the ID of a thread that cannot take the filter.

use super::language::Language;
use super::names::Names;
use super::variables::Parameters;
use callgate_bpf::FilterFlags;

/// The flags for seccomp(2), with a prefix.
fn all_flags(prefix: &str, flags: FilterFlags) -> String {
    let own = (flags | FilterFlags::TSYNC).each();
    let names: Vec<String> =
        own.map(|(_, name, _)| format!("{prefix}SECCOMP_FILTER_FLAG_{name}")).collect();
    names.join(" | ")
}

/// What is installed.
pub(super) enum Installed<'p> {
    /// The array.
    Array,
    /// The array that a function returns or sets for the parameters; `insns` is its length, an expression in C.
    Set { parameters: &'p Parameters, insns: &'p str },
}

/// The function that installs a filter.
pub(super) fn function(
    language: Language,
    names: &Names,
    flags: FilterFlags,
    installed: &Installed<'_>,
) -> String {
    match language {
        Language::C => c(names, flags, installed),
        Language::Rust => rust(names, flags, installed),
        Language::Go => go(names, flags, installed),
    }
}

fn c(names: &Names, flags: FilterFlags, installed: &Installed<'_>) -> String {
    let flags = all_flags("", flags);
    let Names { function, installer, .. } = names;
    let (declared, program, locals, set) = match installed {
        Installed::Array => ("void", names.program.as_str(), String::new(), String::new()),
        Installed::Set { parameters, insns } => (
            parameters.declared.as_str(),
            "program",
            format!(
                "\tstruct sock_filter insns[{insns}];\n\
                 \tconst struct sock_fprog program = {{ .len = {insns}, .filter = insns }};\n"
            ),
            format!("\t{function}(insns, {});\n", parameters.passed),
        ),
    };
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
static inline int {installer}({declared})
{{
{locals}	long result;

{set}	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
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

fn rust(names: &Names, flags: FilterFlags, installed: &Installed<'_>) -> String {
    let flags = all_flags("libc::", flags);
    let Names { array, function, installer, .. } = names;
    let (declared, value) = match installed {
        Installed::Array => ("", array.clone()),
        Installed::Set { parameters, .. } => {
            (parameters.declared.as_str(), format!("{function}({})", parameters.passed))
        }
    };
    format!(
        "
/// Installs the filter in all threads of the process, and sets `no_new_privs`.
///
/// # Errors
/// The error of the kernel; `ESRCH` if a thread has filters of its own.
#[rustfmt::skip]
pub fn {installer}({declared}) -> std::io::Result<()> {{
    let mut insns = {value};
    let program = libc::sock_fprog {{ len: insns.len() as u16, filter: insns.as_mut_ptr() }};
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

fn go(names: &Names, flags: FilterFlags, installed: &Installed<'_>) -> String {
    let flags = all_flags("unix.", flags);
    let Names { array, function, installer, .. } = names;
    let (declared, insns, set) = match installed {
        Installed::Array => ("", array.as_str(), String::new()),
        Installed::Set { parameters, .. } => (
            parameters.declared.as_str(),
            "insns",
            format!("\tinsns := {function}({})\n", parameters.passed),
        ),
    };
    format!(
        "
// {installer} installs the filter in all threads of the process, and sets no_new_privs.
func {installer}({declared}) error {{
{set}	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {{
		return err
	}}
	program := unix.SockFprog{{Len: uint16(len({insns})), Filter: &{insns}[0]}}
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

/// The beginning of a Go file, of one that selects a program by architecture or has an installer.
pub(super) fn go_imports(package: &str, has_installer: bool) -> String {
    let imports = match has_installer {
        true => "\t\"fmt\"\n\t\"runtime\"\n\t\"unsafe\"\n",
        false => "\t\"runtime\"\n",
    };
    format!("package {package}\n\nimport (\n{imports}\n\t\"golang.org/x/sys/unix\"\n)\n\n")
}
