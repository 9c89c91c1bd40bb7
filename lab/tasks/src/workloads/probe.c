// Tries to create each namespace by clone, clone3 and unshare, as user 65534, under the filter in a file of raw
// instructions, and prints the attempts that succeed. Each attempt is in a process of its own.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sock_filter insns[4096];
static struct sock_fprog program = {0, insns};

static const struct {
	const char *name;
	unsigned long flag;
} namespaces[] = {
	{"user", 0x10000000}, {"mnt", 0x20000},      {"cgroup", 0x2000000}, {"uts", 0x4000000},
	{"ipc", 0x8000000},   {"pid", 0x20000000}, {"net", 0x40000000}, {"time", 0x80},
};
static const char *const ways[] = {"clone", "clone3", "unshare"};

// In the child: whether it succeeds. Only raw syscalls, because the filter may kill everything else.
static int attempt(int way, unsigned long flags)
{
	struct { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, rest[6]; } args = {.flags = flags, .exit_signal = SIGCHLD};
	long result;
	switch (way) {
	case 0: result = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0); break;
	case 1: result = syscall(SYS_clone3, &args, sizeof args); break;
	default: result = syscall(SYS_unshare, flags);
	}
	if (way < 2 && result == 0)
		syscall(SYS_exit_group, 0);
	return result >= 0;
}

static int tried(int way, unsigned long flags)
{
	pid_t child = fork();
	if (child == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			_exit(2);
		if (program.len && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
			_exit(2);
		syscall(SYS_exit_group, attempt(way, flags));
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(2);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		exit(2);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		int file = open(argv[1], O_RDONLY);
		ssize_t bytes = read(file, insns, sizeof insns);
		if (bytes <= 0 || bytes % 8)
			return 2;
		program.len = bytes / 8;
	}
	for (int way = 0; way < 3; way++) {
		for (unsigned i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
			// Without privileges, a user namespace is needed for all others.
			unsigned long user = namespaces[0].flag;
			// CLONE_NEWTIME is a part of the signal in the flags of clone.
			if (way == 0 && namespaces[i].flag == 0x80)
				continue;
			if (tried(way, namespaces[i].flag) || tried(way, namespaces[i].flag | user))
				printf("%s %s\n", ways[way], namespaces[i].name);
		}
	}
	return 0;
}
