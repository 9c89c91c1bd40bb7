/*
 * Makes filters with libseccomp at its default level, one per process: driver RULES ROUNDS
 *
 * Prints a line per round: the processor time from seccomp_init until the program is exported in nanoseconds, and the number
 * of its instructions. The last program is written to the file RULES.bpf. A round that takes longer than LIMIT seconds of processor
 * time prints "slow", and is the last one.
 *
 * With "nothing", it prints the processor time of this process until now: execve(2) and the dynamic loader.
 */
#define _GNU_SOURCE
#include "rules.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 2 };

struct result {
	uint64_t time;
	off_t size;
};

/* Of the only thread: under RLIMIT_CPU, the clock of the process only counts ticks. */
static uint64_t processor_time(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
}

/* In a child; the result is shared. */
static void make(int file, struct result *result)
{
	setrlimit(RLIMIT_CPU, &(struct rlimit){ LIMIT, LIMIT });
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	uint64_t start = processor_time();
	scmp_filter_ctx all = merged(1);
	int rc = seccomp_export_bpf(all, file);
	if (rc)
		stop(CANNOT_EXPRESS, "generating: %s", strerror(-rc));
	result->time = processor_time() - start;
	result->size = lseek(file, 0, SEEK_END);
}

int main(int argc, char **argv)
{
	uint64_t time = processor_time();
	char name[4096];
	/* So that the library is needed. */
	const struct scmp_version *version = seccomp_version();
	if (argc == 2 && !strcmp(argv[1], "nothing")) {
		printf("%" PRIu64 "\n", time);
		return version == NULL;
	}
	if (argc != 3)
		stop(1, "usage: driver RULES ROUNDS, or driver nothing");
	read_rules(argv[1]);
	check_order();
	snprintf(name, sizeof(name), "%s.bpf", argv[1]);
	struct result *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		stop(1, "mmap: %s", strerror(errno));
	for (int round = atoi(argv[2]); round > 0; round--) {
		int status, file = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
		if (file < 0)
			stop(1, "%s: %s", name, strerror(errno));
		pid_t child = fork();
		if (child == 0) {
			make(file, result);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			stop(1, "fork: %s", strerror(errno));
		close(file);
		if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU)) {
			printf("slow\n");
			return 0;
		}
		if (status)
			stop(WIFEXITED(status) ? WEXITSTATUS(status) : 1, "a child failed");
		printf("%" PRIu64 " %lld\n", result->time, (long long)result->size / 8);
	}
	return 0;
}
