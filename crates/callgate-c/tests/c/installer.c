/* What `--emit c --installer` writes and callgate-install.h do the same. */
#define _GNU_SOURCE
#include "emitted.h"
/* It may be included again. */
#include "emitted.h"
#include "notifying.h"

#include <callgate-install.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

static int in_thread(void)
{
	return install_filter_in_thread(0);
}

static int with_capabilities(void)
{
	return install_filter_with(SECCOMP_FILTER_FLAG_TSYNC, 0, 0);
}

static int header(void)
{
	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];

	filter_set(insns, 0);
	return callgate_install_unproved_instructions(insns, sizeof(insns) / sizeof(insns[0]),
						      SECCOMP_FILTER_FLAG_TSYNC);
}

static int array(void)
{
	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];
	struct sock_fprog program;

	filter_set(insns, 0);
	program.len = sizeof(insns) / sizeof(insns[0]);
	program.filter = insns;
	return callgate_install_unproved_array(&program, SECCOMP_FILTER_FLAG_TSYNC);
}

static int header_with_capabilities(void)
{
	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];

	filter_set(insns, 0);
	return callgate_install_unproved_instructions_with(insns, sizeof(insns) / sizeof(insns[0]), 0,
							   0, NULL);
}

/* A thread with a filter of its own. */
static void *diverges(void *ready)
{
	static struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	CHECK(callgate_install_unproved_instructions(allow, 1, 0) == 0);
	pthread_barrier_wait((pthread_barrier_t *)ready);
	pause();
	return NULL;
}

/* Denies fchmod of one descriptor in this thread, by the emitted function, and waits for the others. The mode is that of
 * /dev/null, which standard input may be. */
struct own {
	uint32_t fd;
	pthread_barrier_t *all;
};

static void *installs_its_own(void *argument)
{
	const struct own *own = (const struct own *)argument;
	uint32_t fd;

	CHECK(install_filter_in_thread(own->fd) == 0);
	pthread_barrier_wait(own->all);
	for (fd = 0; fd < 4; fd++) {
		errno = 0;
		CHECK(fchmod((int)fd, 0666) != 0 || fd != own->fd);
		CHECK((errno == EDOM) == (fd == own->fd));
	}
	pthread_barrier_wait(own->all);
	return NULL;
}

/* Three threads with different values, such as one for each virtual machine. */
static void threads_have_values_of_their_own(void)
{
	int status = -1;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		pthread_barrier_t all;
		pthread_t threads[3];
		struct own own[3];
		uint32_t i;

		CHECK(pthread_barrier_init(&all, NULL, 4) == 0);
		for (i = 0; i < 3; i++) {
			own[i].fd = i + 1;
			own[i].all = &all;
			CHECK(pthread_create(&threads[i], NULL, installs_its_own, &own[i]) == 0);
		}
		pthread_barrier_wait(&all);
		/* This thread has none of them, and cannot give all a common one. */
		errno = 0;
		CHECK(fchmod(1, 0666) == 0 || errno != EDOM);
		CHECK(install_filter(0) == -1 && errno == ESRCH);
		pthread_barrier_wait(&all);
		for (i = 0; i < 3; i++)
			CHECK(pthread_join(threads[i], NULL) == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0);
}

/* Answers one notification of fchmod with EDOM. */
static void *supervises(void *listener)
{
	struct seccomp_notif_resp answer;
	struct seccomp_notif call;

	memset(&call, 0, sizeof(call));
	memset(&answer, 0, sizeof(answer));
	CHECK(ioctl(*(int *)listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0);
	CHECK(call.data.nr == SYS_fchmod && (int)call.data.args[0] == 7);
	answer.id = call.id;
	answer.error = -EDOM;
	CHECK(ioctl(*(int *)listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
	return listener;
}

static int listener_of_header(void)
{
	struct sock_filter insns[sizeof(notifying_template) / sizeof(notifying_template[0])];
	int listener = 0;

	notifying_set(insns, 7);
	CHECK(callgate_install_unproved_instructions_with(insns, sizeof(insns) / sizeof(insns[0]),
							 SECCOMP_FILTER_FLAG_TSYNC, 1,
							 &listener) == 0);
	return listener;
}

static int listener_of_emitted(void)
{
	return install_notifying_listener(7);
}

static int listener_of_emitted_in_thread(void)
{
	return install_notifying_listener_in_thread(7);
}

/* A child process that is its own supervisor. */
static void listeners_answer(int (*install)(void))
{
	int status = -1;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		pthread_t thread;
		int listener = install(), second = 0;

		CHECK(listener >= 0 && pthread_create(&thread, NULL, supervises, &listener) == 0);
		CHECK(fchmod(7, 0666) != 0 && errno == EDOM);
		CHECK(pthread_join(thread, NULL) == 0);
		/* The kernel allows one. */
		CHECK(install_notifying_listener_in_thread(8) == -1 && errno == EBUSY);
		CHECK(callgate_install_unproved_array_with(NULL, 0, 1, &second) == -1 && second == -1);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0);
}

/* In a child process whose kernel seems to be older than 3.17. */
static void prctl_installs_where_seccomp_is_unknown(int (*install)(void), int error)
{
	static struct sock_filter hides[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	int status = -1;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		CHECK(callgate_install_unproved_instructions(hides, 4, 0) == 0);
		CHECK(install() == (error ? -1 : 0) && (!error || errno == error));
		errno = 0;
		CHECK((fchmod(0, 0666) != 0 && errno == EDOM) == (error == 0));
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0);
}

static int header_in_thread(void)
{
	struct sock_filter insns[sizeof(filter_template) / sizeof(filter_template[0])];

	filter_set(insns, 0);
	return callgate_install_unproved_instructions(insns, sizeof(insns) / sizeof(insns[0]), 0);
}

/* Without no_new_privs, in a child process with or without CAP_SYS_ADMIN. */
static int without_no_new_privs(int (*install)(void), int drops)
{
	int status = -1;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		/* struct __user_cap_header_struct, version 3, and two of __user_cap_data_struct. */
		const uint32_t version[2] = { 0x20080522, 0 }, none[6] = { 0 };

		CHECK(!drops || syscall(SYS_capset, version, none) == 0);
		if (install() != 0)
			_exit(errno);
		CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 0);
		CHECK(fchmod(0, 0666) != 0 && errno == EDOM);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
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
		CHECK(fchmod(0, 0666) != 0 && errno == EDOM);
		CHECK(fchmod(-1, 0666) != 0 && errno == EBADF);
		_exit(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 1 ? 0 : 100);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(void)
{
	struct sock_filter wild[] = { BPF_STMT(BPF_LD | BPF_IMM, 0) };

	struct sock_filter notifies[] = { BPF_STMT(BPF_RET | BPF_K, 0x7fc00001U) };
	struct sock_filter computes[] = { BPF_STMT(BPF_LDX | BPF_IMM, 0x7fc00001U),
					  BPF_STMT(BPF_MISC | BPF_TXA, 0),
					  BPF_STMT(BPF_RET | BPF_A, 0) };
	struct sock_filter constant[] = { BPF_STMT(BPF_LD | BPF_IMM, 0x7fff0000U),
					  BPF_STMT(BPF_RET | BPF_A, 0) };
	int listener = 0;

	threads_have_values_of_their_own();
	CHECK(outcome(emitted, 0) == 0);
	CHECK(outcome(in_thread, 0) == 0);
	/* Another thread with a filter does not matter. */
	CHECK(outcome(in_thread, 1) == 0);
	CHECK(outcome(header, 0) == 0);
	CHECK(outcome(array, 0) == 0);
	CHECK(outcome(emitted, 1) == ESRCH);
	CHECK(outcome(header, 1) == ESRCH);
	CHECK(outcome(array, 1) == ESRCH);

	CHECK(without_no_new_privs(with_capabilities, 1) == EACCES);
	CHECK(without_no_new_privs(header_with_capabilities, 1) == EACCES);
	if (geteuid() == 0) {
		CHECK(without_no_new_privs(with_capabilities, 0) == 0);
		CHECK(without_no_new_privs(header_with_capabilities, 0) == 0);
	}
	prctl_installs_where_seccomp_is_unknown(in_thread, 0);
	prctl_installs_where_seccomp_is_unknown(header_in_thread, 0);
	/* prctl(2) has no TSYNC. */
	prctl_installs_where_seccomp_is_unknown(emitted, ENOSYS);
	prctl_installs_where_seccomp_is_unknown(header, ENOSYS);
	listeners_answer(listener_of_header);
	listeners_answer(listener_of_emitted);
	listeners_answer(listener_of_emitted_in_thread);

	/* Arguments that are not a program are refused before no_new_privs is set. */
	CHECK(callgate_install_unproved_array(NULL, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_unproved_instructions(NULL, 1, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_unproved_instructions(wild, 0, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_unproved_instructions(wild, 4097, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_unproved_instructions(wild, 1, 1U << 3) == -1 && errno == EINVAL);
	CHECK(install_filter_with(1U << 3, 1, 0) == -1 && errno == EINVAL);
	CHECK(callgate_install_unproved_instructions(notifies, 1, 0) == -1 && errno == ENOTSUP);
	CHECK(callgate_install_unproved_instructions(computes, 3, 0) == -1 && errno == ENOTSUP);
	/* Nobody would ever get anything from this listener. */
	CHECK(callgate_install_unproved_instructions_with(constant, 2, 0, 1, &listener) == -1 &&
	      errno == EINVAL);
	CHECK(listener == -1);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 0);
	CHECK(callgate_install_unproved_instructions(wild, 1, 0) == -1 && errno == EINVAL);
	puts("all is well");
	return 0;
}
