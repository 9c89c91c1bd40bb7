/* What `--emit c --installer` writes and callgate-install.h do the same. */
#define _GNU_SOURCE
#include "emitted.h"

#include <callgate-install.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static int emitted(void)
{
	return install_filter(0);
}

static int header(void)
{
	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];

	filter_set(insns, 0);
	return callgate_install_instructions(insns, sizeof(insns) / sizeof(insns[0]),
					     SECCOMP_FILTER_FLAG_TSYNC);
}

static int array(void)
{
	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];
	struct sock_fprog program;

	filter_set(insns, 0);
	program.len = sizeof(insns) / sizeof(insns[0]);
	program.filter = insns;
	return callgate_install_array(&program, SECCOMP_FILTER_FLAG_TSYNC);
}

/* A thread with a filter of its own. */
static void *diverges(void *ready)
{
	static struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	CHECK(callgate_install_instructions(allow, 1, 0) == 0);
	pthread_barrier_wait((pthread_barrier_t *)ready);
	pause();
	return NULL;
}

/* The outcome in a child process, in which another thread has a filter if `is_odd`. */
static int outcome(int (*install)(void), int is_odd)
{
	int status = -1;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		pthread_barrier_t ready;
		pthread_t thread;

		if (is_odd) {
			CHECK(pthread_barrier_init(&ready, NULL, 2) == 0);
			CHECK(pthread_create(&thread, NULL, diverges, &ready) == 0);
			pthread_barrier_wait(&ready);
		}
		if (install() != 0)
			_exit(errno);
		/* Denied for descriptor 0, and only for this. */
		CHECK(fchmod(0, 0600) != 0 && errno == EDOM);
		CHECK(fchmod(-1, 0600) != 0 && errno == EBADF);
		_exit(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 1 ? 0 : 100);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(void)
{
	struct sock_filter wild[] = { BPF_STMT(BPF_LD | BPF_IMM, 0) };

	CHECK(outcome(emitted, 0) == 0);
	CHECK(outcome(header, 0) == 0);
	CHECK(outcome(array, 0) == 0);
	CHECK(outcome(emitted, 1) == ESRCH);
	CHECK(outcome(header, 1) == ESRCH);
	CHECK(outcome(array, 1) == ESRCH);

	/* Arguments that are not a program are refused before no_new_privs is set. */
	CHECK(callgate_install_array(NULL, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_instructions(NULL, 1, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_instructions(wild, 4097, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_instructions(wild, 1, 1U << 3) == -1 && errno == EINVAL);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 0);
	CHECK(callgate_install_instructions(wild, 1, 0) == -1 && errno == EINVAL);
	puts("all is well");
	return 0;
}
