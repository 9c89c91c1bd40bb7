//! Functions that install a filter, in all threads of a process or in the calling one, as source code.
//!
//! A filter without `SECCOMP_FILTER_FLAG_TSYNC` is that of the calling thread and of those that it starts later; in Go, others
//! always exist. With the flag the kernel also sets `no_new_privs` for all threads (`seccomp_sync_threads` in
//! kernel/seccomp.c), and returns the ID of a thread that cannot take the filter, because it has filters that the calling
//! thread does not have. So threads with different filters, such as one for each virtual machine, install them alone.
//!
//! `SECCOMP_FILTER_FLAG_NEW_LISTENER` makes seccomp(2) return the descriptor of a listener, which these functions cannot
//! return. They refuse it before the call: afterwards, the filter would be installed, and the descriptor lost.

use super::language::Language;
use super::names::Names;
use super::variables::Parameters;
use callgate_bpf::FilterFlags;

/// The flags of the filter that are not chosen by the function: `flags |= …;` in each language.
fn own_flags(indent: &str, prefix: &str, end: &str, flags: FilterFlags) -> String {
    let own = flags.without(FilterFlags::TSYNC).each();
    let line = |name: &str| format!("{indent}flags |= {prefix}SECCOMP_FILTER_FLAG_{name}{end}\n");
    own.map(|(_, name, _)| line(name)).collect()
}

/// A parameter before others, and before the arguments with which they are passed on.
fn before(first: &str, others: &str) -> String {
    match others {
        "" => first.to_owned(),
        others => format!("{first}, {others}"),
    }
}

/// A C file with an installer, which may be included several times.
pub(super) fn guarded(names: &Names, code: &str) -> String {
    let guard = format!("CALLGATE_{}", names.array);
    format!("#ifndef {guard}\n#define {guard}\n\n{code}\n#endif\n")
}

/// What is installed.
pub(super) enum Installed<'p> {
    /// The array.
    Array,
    /// The array that a function returns or sets for the parameters; `insns` is its length, an expression in C.
    Set { parameters: &'p Parameters, insns: &'p str },
}

impl<'p> Installed<'p> {
    /// The array, or what the function makes of it if there are parameters.
    pub(super) fn of(parameters: &'p Parameters, insns: &'p str) -> Installed<'p> {
        match parameters.declared.as_str() {
            "" => Installed::Array,
            _ => Installed::Set { parameters, insns },
        }
    }
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
    let flags = own_flags("\t", "", ";", flags);
    let Names { function, installer, in_thread, with_flags, .. } = names;
    let (declared, passed, program, locals, set) = match installed {
        Installed::Array => ("", "", names.program.as_str(), String::new(), String::new()),
        Installed::Set { parameters, insns } => (
            parameters.declared.as_str(),
            parameters.passed.as_str(),
            "program",
            format!(
                "\tstruct sock_filter insns[{insns}];\n\
                 \tconst struct sock_fprog program = {{ .len = {insns}, .filter = insns }};\n"
            ),
            format!("\t{function}(insns, {});\n", parameters.passed),
        ),
    };
    let with = before("unsigned int flags", declared);
    let (all, own) = (before("SECCOMP_FILTER_FLAG_TSYNC", passed), before("0", passed));
    let declared = if declared.is_empty() { "void" } else { declared };
    format!(
        "
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__cplusplus) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE)
/* Strict C, such as -std=c11: unistd.h does not declare it. */
long syscall(long number, ...);
#endif

/* clang-format off */
/*
 * Sets no_new_privs and installs the filter with flags of seccomp(2).
 * Returns 0, or -1 with errno: EINVAL for SECCOMP_FILTER_FLAG_NEW_LISTENER,
 * whose result would be lost.
 */
static inline int {with_flags}({with})
{{
{locals}	long result;

	/* SECCOMP_FILTER_FLAG_NEW_LISTENER, which older headers do not have. */
	if ((flags & (1U << 3)) != 0) {{
		errno = EINVAL;
		return -1;
	}}
{set}{flags}	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &{program});
	if (result > 0)
		errno = ESRCH;
	return result == 0 ? 0 : -1;
}}

/*
 * Installs the filter in all threads of the process. ESRCH: a thread has
 * filters of its own, and none got this one.
 */
static inline int {installer}({declared})
{{
	return {with_flags}({all});
}}

/* Installs the filter in the calling thread, and in what it starts later. */
static inline int {in_thread}({declared})
{{
	return {with_flags}({own});
}}
/* clang-format on */
"
    )
}

fn rust(names: &Names, flags: FilterFlags, installed: &Installed<'_>) -> String {
    let own_flags = own_flags("    ", "libc::", ";", flags);
    let Names { array, function, installer, in_thread, with_flags, .. } = names;
    let (declared, passed, value) = match installed {
        Installed::Array => ("", "", array.clone()),
        Installed::Set { parameters, .. } => (
            parameters.declared.as_str(),
            parameters.passed.as_str(),
            format!("{function}({})", parameters.passed),
        ),
    };
    let mutable = if own_flags.is_empty() { "" } else { "mut " };
    let with = before(&format!("{mutable}flags: libc::c_ulong"), declared);
    let (all, own) = (before("libc::SECCOMP_FILTER_FLAG_TSYNC", passed), before("0", passed));
    format!(
        "
/// Sets `no_new_privs` and installs the filter with flags of seccomp(2).
///
/// # Errors
/// The error of the kernel; `EINVAL` for `SECCOMP_FILTER_FLAG_NEW_LISTENER`, whose result would be lost.
#[rustfmt::skip]
#[allow(dead_code)]
pub fn {with_flags}({with}) -> std::io::Result<()> {{
    if flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {{
        return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
    }}
    let mut insns = {value};
    let program = libc::sock_fprog {{ len: insns.len() as u16, filter: insns.as_mut_ptr() }};
{own_flags}    // SAFETY: prctl takes numbers, and the kernel reads the program, which lives until the call returns.
    let result = unsafe {{
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong) != 0 {{
            return Err(std::io::Error::last_os_error());
        }}
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program as *const libc::sock_fprog)
    }};
    match result {{
        0 => Ok(()),
        -1 => Err(std::io::Error::last_os_error()),
        _ => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
    }}
}}

/// Installs the filter in all threads of the process.
///
/// # Errors
/// The error of the kernel; `ESRCH` if a thread has filters of its own. Then no thread got this one.
#[rustfmt::skip]
#[allow(dead_code)]
pub fn {installer}({declared}) -> std::io::Result<()> {{
    {with_flags}({all})
}}

/// Installs the filter in the calling thread, and in what it starts later.
///
/// # Errors
/// The error of the kernel.
#[rustfmt::skip]
#[allow(dead_code)]
pub fn {in_thread}({declared}) -> std::io::Result<()> {{
    {with_flags}({own})
}}
"
    )
}

fn go(names: &Names, flags: FilterFlags, installed: &Installed<'_>) -> String {
    let flags = own_flags("\t", "unix.", "", flags);
    let Names { array, function, installer, in_thread, with_flags, .. } = names;
    let (declared, passed, insns, set) = match installed {
        Installed::Array => ("", "", array.as_str(), String::new()),
        Installed::Set { parameters, .. } => (
            parameters.declared.as_str(),
            parameters.passed.as_str(),
            "insns",
            format!("\tinsns := {function}({})\n", parameters.passed),
        ),
    };
    let with = before("flags uintptr", declared);
    let (all, own) = (before("unix.SECCOMP_FILTER_FLAG_TSYNC", passed), before("0", passed));
    format!(
        "
// {with_flags} sets no_new_privs and installs the filter with flags of seccomp(2).
// EINVAL: SECCOMP_FILTER_FLAG_NEW_LISTENER, whose result would be lost.
func {with_flags}({with}) error {{
	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {{
		return unix.EINVAL
	}}
{set}{flags}	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {{
		return err
	}}
	program := unix.SockFprog{{Len: uint16(len({insns})), Filter: &{insns}[0]}}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {{
		return errno
	}}
	if thread != 0 {{
		return fmt.Errorf(\"thread %d has filters of its own: %w\", thread, unix.ESRCH)
	}}
	return nil
}}

// {installer} installs the filter in all threads of the process. ESRCH: a thread has filters of its own.
func {installer}({declared}) error {{
	return {with_flags}({all})
}}

// {in_thread} installs the filter in the thread of the calling goroutine, which stays locked to it:
// other goroutines do not run there, and the thread ends with the goroutine.
func {in_thread}({declared}) error {{
	runtime.LockOSThread()
	return {with_flags}({own})
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
