//! Functions that install a filter in C and C++.

use super::manner::{Installed, Manner, before, is_recent};
use crate::emit::names::Names;

/// A C file with an installer, which may be included several times.
pub(in crate::emit) fn guarded(names: &Names, code: &str) -> String {
    let guard = format!("CALLGATE_{}", names.array);
    format!("#ifndef {guard}\n#define {guard}\n\n{code}\n#endif\n")
}

const WITHOUT_LISTENER: &str = "\
/*
 * Installs the filter with flags of seccomp(2). Sets no_new_privs first unless
 * this is 0: then the thread must have it, or CAP_SYS_ADMIN (EACCES).
 * Returns 0, or -1 with errno: EINVAL for SECCOMP_FILTER_FLAG_NEW_LISTENER,
 * whose result would be lost.
 */
";

const WITH_LISTENER: &str = "\
/*
 * Installs the filter with flags of seccomp(2), and returns the descriptor of
 * its listener (seccomp_unotify(2)), or -1 with errno. Sets no_new_privs first
 * unless this is 0: then the thread must have it, or CAP_SYS_ADMIN (EACCES).
 */
";

pub(super) fn functions(names: &Names, manner: Manner, installed: &Installed<'_>) -> String {
    let flags = manner.own_flags(|name, bits| match is_recent(bits) {
        true => format!("\tflags |= {bits:#x}U; /* SECCOMP_FILTER_FLAG_{name} */\n"),
        false => format!("\tflags |= SECCOMP_FILTER_FLAG_{name};\n"),
    });
    let Names { function, installer, in_thread, with_flags, .. } = names;
    let (declared, passed) = installed.parameters();
    let (program, locals, set) = match installed {
        Installed::Array => (names.program.as_str(), String::new(), String::new()),
        Installed::Set { insns, .. } => (
            "program",
            format!(
                "\tstruct sock_filter insns[{insns}];\n\
                 \tconst struct sock_fprog program = {{ .len = {insns}, .filter = insns }};\n"
            ),
            format!("\t{function}(insns, {passed});\n"),
        ),
    };
    let with = before("unsigned int flags, int no_new_privs", declared);
    let all = before("SECCOMP_FILTER_FLAG_TSYNC, 1", passed);
    let own = before("0, 1", passed);
    let declared = if declared.is_empty() { "void" } else { declared };
    let (about, checks, result) = match manner.listens {
        false => (
            WITHOUT_LISTENER,
            "	/* SECCOMP_FILTER_FLAG_NEW_LISTENER, which older headers do not have. */
	if ((flags & 0x8U) != 0) {
		errno = EINVAL;
		return -1;
	}
",
            format!(
                "	/* Before Linux 3.17, and where a filter hides seccomp(2). */
	if (result < 0 && errno == ENOSYS && flags == 0)
		result = prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &{program}, 0UL, 0UL);
	if (result > 0)
		errno = ESRCH;
	return result == 0 ? 0 : -1;
"
            ),
        ),
        true => (
            WITH_LISTENER,
            "	flags |= 0x8U; /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
	if ((flags & SECCOMP_FILTER_FLAG_TSYNC) != 0)
		flags |= 0x10U; /* SECCOMP_FILTER_FLAG_TSYNC_ESRCH */
",
            "	return (int)result;
"
            .to_owned(),
        ),
    };
    let returns = if manner.listens { " Returns the listener." } else { "" };
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
{about}static inline int {with_flags}({with})
{{
{locals}	long result;

{checks}{set}{flags}	if (no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
		return -1;
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &{program});
{result}}}

/*
 * Installs the filter in all threads of the process.{returns}
 * ESRCH: a thread has filters of its own, and none got this one.
 */
static inline int {installer}({declared})
{{
	return {with_flags}({all});
}}

/*
 * Installs the filter in the calling thread, and in what it starts later.{returns}
 */
static inline int {in_thread}({declared})
{{
	return {with_flags}({own});
}}
/* clang-format on */
"
    )
}
