//! Functions that install a filter in Go.

use super::manner::{Installed, Manner, before, is_recent};
use crate::emit::names::Names;

pub(super) fn functions(names: &Names, manner: Manner, installed: &Installed<'_>) -> String {
    let flags = manner.own_flags(|name, bits| match is_recent(bits) {
        true => format!("\tflags |= {bits:#x} // SECCOMP_FILTER_FLAG_{name}\n"),
        false => format!("\tflags |= unix.SECCOMP_FILTER_FLAG_{name}\n"),
    });
    let Names { array, function, installer, in_thread, with_flags, .. } = names;
    let (declared, passed) = installed.parameters();
    let (insns, set) = match installed {
        Installed::Array => (array.as_str(), String::new()),
        Installed::Set { .. } => ("insns", format!("\tinsns := {function}({passed})\n")),
    };
    let with = before("flags uintptr, noNewPrivs bool", declared);
    let all = before("unix.SECCOMP_FILTER_FLAG_TSYNC, true", passed);
    let own = before("0, true", passed);
    let (about, returned, checks, failed, results) = match manner.listens {
        false => (
            format!(
                "// {with_flags} installs the filter with flags of seccomp(2). It sets no_new_privs first unless this is false:
// then the thread must have it, or CAP_SYS_ADMIN (EACCES).
// EINVAL: SECCOMP_FILTER_FLAG_NEW_LISTENER, whose result would be lost.
"
            ),
            "error",
            "	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
		return unix.EINVAL
	}
",
            "",
            "	// Before Linux 3.17, and where a filter hides seccomp(2).
	if errno == unix.ENOSYS && flags == 0 {
		result, _, errno = unix.Syscall6(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
			uintptr(unsafe.Pointer(&program)), 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	if result != 0 {
		return fmt.Errorf(\"thread %d has filters of its own: %w\", result, unix.ESRCH)
	}
	return nil
",
        ),
        true => (
            format!(
                "// {with_flags} installs the filter with flags of seccomp(2), and returns the descriptor of its listener.
// It sets no_new_privs first unless this is false: then the thread must have it, or CAP_SYS_ADMIN (EACCES).
// Without TSYNC, the goroutine stays locked to its thread: others do not run there.
"
            ),
            "(int, error)",
            "	flags |= unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	if flags&unix.SECCOMP_FILTER_FLAG_TSYNC != 0 {
		flags |= 0x10 // SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	}
",
            "-1, ",
            "	if errno != 0 {
		return -1, errno
	}
	return int(result), nil
",
        ),
    };
    let returns = if manner.listens { ", and returns its listener" } else { "" };
    format!(
        "
{about}func {with_flags}({with}) {returned} {{
{checks}{set}{flags}	runtime.LockOSThread()
	if flags&unix.SECCOMP_FILTER_FLAG_TSYNC != 0 {{
		defer runtime.UnlockOSThread()
	}}
	if noNewPrivs {{
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {{
			return {failed}err
		}}
	}}
	program := unix.SockFprog{{Len: uint16(len({insns})), Filter: &{insns}[0]}}
	result, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&program)))
{results}}}

// {installer} installs the filter in all threads of the process{returns}.
// ESRCH: a thread has filters of its own.
func {installer}({declared}) {returned} {{
	return {with_flags}({all})
}}

// {in_thread} installs the filter in the thread of the calling goroutine{returns}. The goroutine
// stays locked to the thread: others do not run there, and the thread ends with the goroutine.
func {in_thread}({declared}) {returned} {{
	return {with_flags}({own})
}}
"
    )
}

/// The package clause and the imports of a Go file with an installer, or with a program for each architecture (`None`).
/// `Some(true)`: the installer returns a listener.
pub(in crate::emit) fn imports(package: &str, installer: Option<bool>) -> String {
    let imports = match installer {
        None => "\t\"runtime\"\n",
        Some(false) => "\t\"fmt\"\n\t\"runtime\"\n\t\"unsafe\"\n",
        Some(true) => "\t\"runtime\"\n\t\"unsafe\"\n",
    };
    format!("package {package}\n\nimport (\n{imports}\n\t\"golang.org/x/sys/unix\"\n)\n\n")
}
