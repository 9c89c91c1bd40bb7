/*
 * Compiles rules with libseccomp: main RULES PROGRAM LEVEL MILLISECONDS
 *
 * Reads the rules, writes the program as the bytes of a sock_filter array, and repeats for MILLISECONDS (at least
 * once). LEVEL is that of SCMP_FLTATR_CTL_OPTIMIZE. Prints "time RUNS NANOSECONDS" with the median and "memory KIB"
 * with the maximum resident memory, after what rules.h prints.
 */
#define _GNU_SOURCE
#include "rules.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RUNS = 1001 };

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
}

/* Compiles rules and writes the program to a file; returns the time. */
static uint64_t compile(int file, unsigned level)
{
	uint64_t start = now();
	scmp_filter_ctx all = merged(level);
	if (ftruncate(file, 0) || lseek(file, 0, SEEK_SET))
		stop(1, "%s", strerror(errno));
	int rc = seccomp_export_bpf(all, file);
	if (rc)
		stop(rc == -E2BIG ? CANNOT_EXPRESS : 1, "generating: %s", strerror(-rc));
	uint64_t time = now() - start;
	seccomp_release(all);
	return time;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The maximum resident memory of this process in KiB; getrusage(2) includes that of its parent before execve(2). */
static long peak(void)
{
	char line[256];
	long peak = 0;
	FILE *status = fopen("/proc/self/status", "r");
	if (!status)
		stop(1, "/proc/self/status: %s", strerror(errno));
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "VmHWM:", 6))
			peak = atol(line + 6);
	fclose(status);
	return peak;
}

int main(int argc, char **argv)
{
	static uint64_t times[MAX_RUNS];
	const struct scmp_version *version = seccomp_version();
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("%u.%u.%u\n", version->major, version->minor, version->micro);
		return 0;
	}
	if (argc != 5)
		stop(1, "usage: main RULES PROGRAM LEVEL MILLISECONDS");
	read_rules(argv[1]);
	check_order();
	unsigned level = atoi(argv[3]);
	uint64_t budget = strtoull(argv[4], NULL, 10) * 1000000, spent = 0;
	int file = memfd_create("program", 0);
	size_t runs = 0;
	do {
		times[runs] = compile(file, level);
		spent += times[runs++];
	} while (spent < budget && runs < MAX_RUNS);
	qsort(times, runs, sizeof(times[0]), ascending);

	off_t size = lseek(file, 0, SEEK_END);
	void *program = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	FILE *output = fopen(argv[2], "w");
	if (program == MAP_FAILED || !output || fwrite(program, 1, size, output) != (size_t)size ||
	    fclose(output))
		stop(1, "%s: %s", argv[2], strerror(errno));
	printf("time %zu %" PRIu64 "\nmemory %ld\n", runs, times[runs / 2], peak());
	return 0;
}
