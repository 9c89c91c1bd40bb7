/*
 * Measures contexts of libseccomp, one per process: driver RULES LEVEL ROUNDS, or driver RULES LEVEL once
 *
 * LEVEL is that of SCMP_FLTATR_CTL_OPTIMIZE. Prints a line per round: the processor time from seccomp_init until the
 * program is compiled, which other processes do not influence; the elapsed time of seccomp_load, whose filter may forbid
 * to ask for processor time; both in nanoseconds; the page faults and the growth of the resident memory, in KiB, until
 * the program is compiled; the number of its instructions.
 *
 * With "once", the program is only compiled, so that tools which cannot live under a filter can observe measured().
 */
#define _GNU_SOURCE
#include "rules.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct result {
	uint64_t compile, load;
	long faults, memory;
	size_t insns;
	int done;
};

static uint64_t now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
}

static struct rusage usage(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage;
}

/* The context of all rules, and the number of instructions of its program. */
__attribute__((noinline)) scmp_filter_ctx measured(unsigned level, size_t *insns)
{
	scmp_filter_ctx all = merged(level);
	size_t size = 0;
	/* Not in old versions of the library, which compile in seccomp_load. */
#ifdef HAVE_EXPORT_MEM
	int rc = seccomp_export_bpf_mem(all, NULL, &size);
	if (rc)
		stop(rc == -E2BIG ? CANNOT_EXPRESS : 1, "generating: %s", strerror(-rc));
#endif
	*insns = size / 8;
	return all;
}

/* In a child; the result is shared, because the filter may forbid to write. */
static void measure(unsigned level, struct result *result)
{
	struct rusage before = usage();
	uint64_t start = now(CLOCK_PROCESS_CPUTIME_ID);
	scmp_filter_ctx all = measured(level, &result->insns);
	result->compile = now(CLOCK_PROCESS_CPUTIME_ID) - start;
	struct rusage after = usage();
	result->faults = after.ru_minflt - before.ru_minflt;
	result->memory = after.ru_maxrss - before.ru_maxrss;

	start = now(CLOCK_MONOTONIC);
	int rc = seccomp_load(all);
	if (rc)
		stop(1, "seccomp_load: %s", strerror(-rc));
	result->load = now(CLOCK_MONOTONIC) - start;
	result->done = 1;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		stop(1, "usage: driver RULES LEVEL ROUNDS, or driver RULES LEVEL once");
	read_rules(argv[1]);
	check_order();
	unsigned level = atoi(argv[2]);
	if (!strcmp(argv[3], "once")) {
		size_t insns;
		measured(level, &insns);
		printf("%zu\n", insns);
		return 0;
	}
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	struct result *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		stop(1, "mmap: %s", strerror(errno));
	for (int round = atoi(argv[3]); round > 0; round--) {
		int status;
		*result = (struct result){ 0 };
		pid_t child = fork();
		if (child == 0) {
			measure(level, result);
			/* Where the filter forbids that, the process is killed. */
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			stop(1, "fork: %s", strerror(errno));
		if (!result->done)
			stop(WIFEXITED(status) ? WEXITSTATUS(status) : 1, "a child failed");
		printf("%" PRIu64 " %" PRIu64 " %ld %ld %zu\n", result->compile, result->load, result->faults,
		       result->memory, result->insns);
	}
	return 0;
}
