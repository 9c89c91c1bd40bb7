/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Installs seccomp filters that are arrays in a program. Needs no library. Nothing
 * is known of an array: these functions install whatever it holds. An array of
 * `callgate compile` was proved when it was written; if it is changed later, or
 * written by hand, nobody notices. callgate_install of callgate.h takes only what
 * was proved in the same process.
 *
 *	callgate compile sandbox.kafel --emit c > sandbox.h
 *
 *	#include "sandbox.h"
 *	#include "callgate-install.h"
 *
 *	if (callgate_install_unproved_array(&program, SECCOMP_FILTER_FLAG_TSYNC) != 0)
 *		err(1, "seccomp");
 *
 * `--emit c --installer` writes such functions without this header, for all
 * threads and for the calling one. For a filter with variables, the emitted function sets an array:
 *
 *	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];
 *	filter_set(insns, controller_fd);
 *	if (callgate_install_unproved_instructions(insns, sizeof(insns) / sizeof(insns[0]),
 *						   0) != 0)
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
 * Whether a program may notify a listener (SECCOMP_RET_USER_NOTIF). One that
 * computes its verdict (BPF_RET | BPF_A) may, unless A is only loaded with constants.
 */
static inline int callgate_may_notify(const struct sock_fprog *program)
{
	int returns_a = 0, notifies_in_a = 0;
	unsigned short at;

	for (at = 0; at < program->len; at++) {
		const struct sock_filter *insn = &program->filter[at];
		const unsigned int code = insn->code, of = code & 0x07U;
		/* SECCOMP_RET_ACTION_FULL and _USER_NOTIF, which older headers lack. */
		const int is_notif = (insn->k & 0xffff0000U) == 0x7fc00000U;

		if (code == (BPF_RET | BPF_K) && is_notif)
			return 1;
		if (code == (BPF_RET | BPF_A))
			returns_a = 1;
		else if (code == (BPF_LD | BPF_IMM))
			notifies_in_a |= is_notif;
		else if (of == BPF_LD || of == BPF_ALU || code == (BPF_MISC | BPF_TXA))
			notifies_in_a = 1;
	}
	return returns_a && notifies_in_a;
}

/*
 * Installs a program with flags of seccomp(2): for the calling thread and what
 * it starts later, with SECCOMP_FILTER_FLAG_TSYNC for all threads of the process.
 *
 * Sets no_new_privs first, unless `no_new_privs` is 0: then the thread must have
 * it, or CAP_SYS_ADMIN in its user namespace.
 *
 * `listener` is NULL, or it is set to the descriptor that receives the syscalls
 * with the verdict SECCOMP_RET_USER_NOTIF (seccomp_unotify(2)), or to -1 after an
 * error.
 *
 * The program must be for the architecture of the process: an array does not say
 * for which one it is. Code for several architectures selects the array with #if.
 *
 * Returns 0, or -1 with errno:
 *
 *	ENOTSUP	the program notifies a listener, and `listener` is NULL: the
 *		syscalls would fail with ENOSYS
 *	EINVAL	the program or a flag is not valid, or the kernel has no filters;
 *		SECCOMP_FILTER_FLAG_NEW_LISTENER (8), which `listener` is for;
 *		the program never notifies, and `listener` is not NULL
 *	EACCES	`no_new_privs` is 0, and the thread has no CAP_SYS_ADMIN
 *	EBUSY	another filter of the thread has a listener
 *	ENOSYS	the kernel is older than 3.17, and there are flags or a listener; without,
 *		prctl(2) installs the program
 *	ENOMEM	the filters of the thread are too long together
 *	ESRCH	TSYNC: a thread has filters of its own; no thread got this one
 */
static inline int callgate_install_unproved_array_with(const struct sock_fprog *program,
						       unsigned int flags, int no_new_privs,
						       int *listener)
{
	/* SECCOMP_FILTER_FLAG_NEW_LISTENER and _TSYNC_ESRCH, which older headers lack. */
	const unsigned int new_listener = 1U << 3, tsync_esrch = 1U << 4;
	long result;

	if (listener)
		*listener = -1;
	if (!program || !program->filter || program->len == 0 || (flags & new_listener) != 0) {
		errno = EINVAL;
		return -1;
	}
	if (callgate_may_notify(program) != (listener != NULL)) {
		errno = listener ? EINVAL : ENOTSUP;
		return -1;
	}
	if (listener)
		flags |= new_listener;
	/* The result cannot be both a descriptor and the ID of a thread. */
	if (listener && (flags & SECCOMP_FILTER_FLAG_TSYNC) != 0)
		flags |= tsync_esrch;
	if (no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
		return -1;
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
	/* Before Linux 3.17, and where a filter hides seccomp(2). */
	if (result < 0 && errno == ENOSYS && flags == 0)
		result = prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, program, 0UL, 0UL);
	if (result >= 0 && listener) {
		*listener = (int)result;
		return 0;
	}
	if (result > 0)
		errno = ESRCH;
	return result == 0 ? 0 : -1;
}

/* The same with no_new_privs and without a listener. */
static inline int callgate_install_unproved_array(const struct sock_fprog *program,
						  unsigned int flags)
{
	return callgate_install_unproved_array_with(program, flags, 1, NULL);
}

/* The program of an array with this many instructions; empty, and so refused, if there are too many. */
static inline struct sock_fprog callgate_program_of(const struct sock_filter *instructions,
						    size_t count)
{
	struct sock_fprog program;

	program.len = count > BPF_MAXINSNS ? 0 : (unsigned short)count;
	/* The kernel does not change the program. */
	program.filter = (struct sock_filter *)instructions;
	return program;
}

/* Installs this many instructions, as callgate_install_unproved_array_with. */
static inline int
callgate_install_unproved_instructions_with(const struct sock_filter *instructions, size_t count,
					    unsigned int flags, int no_new_privs, int *listener)
{
	struct sock_fprog program = callgate_program_of(instructions, count);

	return callgate_install_unproved_array_with(&program, flags, no_new_privs, listener);
}

/* The same with no_new_privs and without a listener. */
static inline int callgate_install_unproved_instructions(const struct sock_filter *instructions,
							 size_t count, unsigned int flags)
{
	return callgate_install_unproved_instructions_with(instructions, count, flags, 1, NULL);
}

#endif
