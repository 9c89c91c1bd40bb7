/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Installs seccomp filters that are arrays in a program. Needs no library.
 *
 *	callgate compile sandbox.kafel --emit c > sandbox.h
 *
 *	#include "sandbox.h"
 *	#include "callgate-install.h"
 *
 *	if (callgate_install_array(&program, SECCOMP_FILTER_FLAG_TSYNC) != 0)
 *		err(1, "seccomp");
 *
 * `--emit c --installer` writes such functions without this header, for all
 * threads and for the calling one. For a filter with variables, the emitted function sets an array:
 *
 *	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];
 *	filter_set(insns, controller_fd);
 *	if (callgate_install_instructions(insns, sizeof(insns) / sizeof(insns[0]), 0) != 0)
 *		err(1, "seccomp");
 */
#ifndef CALLGATE_INSTALL_H
#define CALLGATE_INSTALL_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__cplusplus) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE)
/* Strict C, such as -std=c11: unistd.h does not declare it. */
long syscall(long number, ...);
#endif

/*
 * Sets no_new_privs and installs a program for the calling thread and what it
 * starts later, with SECCOMP_FILTER_FLAG_TSYNC for all threads of the process.
 * Returns 0, or -1 with errno:
 *
 *	ENOTSUP	the program notifies a listener (SECCOMP_RET_USER_NOTIF): install
 *		it with seccomp(2) and SECCOMP_FILTER_FLAG_NEW_LISTENER, which
 *		returns the listener; without one the syscalls fail with ENOSYS
 *	EINVAL	the program or a flag is not valid, or the kernel has no filters
 *	ENOSYS	the kernel is older than 3.17
 *	ENOMEM	the filters of the thread are too long together
 *	ESRCH	TSYNC: a thread has filters of its own; no thread got this one
 *
 * SECCOMP_FILTER_FLAG_NEW_LISTENER (8) is EINVAL, because its result would be
 * lost.
 */
static inline int callgate_install_array(const struct sock_fprog *program, unsigned int flags)
{
	const unsigned int new_listener = 1U << 3;
	const unsigned int user_notif = 0x7fc00000U;
	unsigned short at;
	long result;

	if (!program || !program->filter || (flags & new_listener) != 0) {
		errno = EINVAL;
		return -1;
	}
	for (at = 0; at < program->len; at++) {
		const struct sock_filter *insn = &program->filter[at];

		if (insn->code == (BPF_RET | BPF_K) && (insn->k & 0xffff0000U) == user_notif) {
			errno = ENOTSUP;
			return -1;
		}
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
		return -1;
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
	if (result > 0)
		errno = ESRCH;
	return result == 0 ? 0 : -1;
}

/* The same for so many instructions. */
static inline int callgate_install_instructions(const struct sock_filter *instructions,
						size_t count, unsigned int flags)
{
	struct sock_fprog program;

	if (count > BPF_MAXINSNS) {
		errno = EINVAL;
		return -1;
	}
	program.len = (unsigned short)count;
	/* The kernel does not change the program. */
	program.filter = (struct sock_filter *)instructions;
	return callgate_install_array(&program, flags);
}

#endif
