/*
 * Times syscalls under seccomp filters by the CPU time of the threads that make them.
 *
 *     loop BODY THREADS BATCHES ITERATIONS CPU [FILTER]...
 *
 * A FILTER is a file with an array of struct sock_filter; the first is the oldest. CPU is -1 for any. Prints the nanoseconds of
 * one iteration, a line per batch; all threads together make ITERATIONS in a batch.
 *
 * Filters may deny what reads a clock. So the first thread reads those of the others, while these wait for a byte of a pipe,
 * which takes only read and write. A single thread installs the filters for itself alone. Several threads must be started before,
 * because a filter may deny what starts a thread; then all threads have the filters, which must permit the clock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILTERS = 64, MOST_THREADS = 1024, MOST_INSNS = 4096, MOST_BATCHES = 1000 };

static struct sock_fprog filters[MOST_FILTERS];
static int filter_count;
static int go[2], done[2];
static long each;
static void (*body)(long);

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "loop: %s: %s\n", what, why);
	_exit(1);
}

static void check(int is_good, const char *what)
{
	if (!is_good)
		fail(what, strerror(errno));
}

/*
 * The instruction alone, as in the experiments. With the C library's syscall(), a call took 70 ns more, and a filter 20 ns
 * more: perhaps its return is mispredicted, where the kernel empties the predictor of returns.
 */
static inline long call(long number, long first, long second, long third)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(first), "S"(second), "d"(third)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = first;
	register long x1 __asm__("x1") = second;
	register long x2 __asm__("x2") = third;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	return syscall(number, first, second, third);
#endif
}

static void getpids(long count)
{
	while (count-- > 0)
		call(SYS_getpid, 0, 0, 0);
}

static void unixbench(long count)
{
	while (count-- > 0) {
		call(SYS_close, call(SYS_dup, 0, 0, 0), 0, 0);
		call(SYS_getpid, 0, 0, 0);
		call(SYS_getuid, 0, 0, 0);
		call(SYS_umask, 022, 0, 0);
	}
}

/* Wakes no thread, as the experiment's: address 0 has no waiter. */
static void futexes(long count)
{
	while (count-- > 0)
		call(SYS_futex, 0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

/* Until a microsecond from now; all threads share the mutex and the condition. */
static void waits(long count)
{
	struct timespec end;

	pthread_mutex_lock(&mutex);
	while (count-- > 0) {
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += 1000;
		if (end.tv_nsec >= 1000000000) {
			end.tv_sec++;
			end.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&condition, &mutex, &end);
	}
	pthread_mutex_unlock(&mutex);
}

static const struct {
	const char *name;
	void (*body)(long);
} bodies[] = {
	{ "getpid", getpids },
	{ "unixbench", unixbench },
	{ "futex", futexes },
	{ "wait", waits },
};

static void load(const char *path)
{
	struct sock_filter *code = malloc(MOST_INSNS * sizeof *code);
	FILE *file = fopen(path, "rb");
	size_t count;

	check(code != NULL && file != NULL && filter_count < MOST_FILTERS, path);
	count = fread(code, sizeof *code, MOST_INSNS, file);
	if (count == 0 || fgetc(file) != EOF)
		fail(path, "not 1 to 4096 instructions");
	fclose(file);
	filters[filter_count].len = (unsigned short)count;
	filters[filter_count++].filter = code;
}

static void install(unsigned long flags)
{
	int i;

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	for (i = 0; i < filter_count; i++)
		check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filters[i]) == 0, "a filter");
}

static void give(int pipe, long count)
{
	char bytes[MOST_THREADS] = { 0 };

	check(write(pipe, bytes, (size_t)count) == count, "writing to a pipe");
}

static void take(int pipe, long count)
{
	char bytes[MOST_THREADS];
	ssize_t got;

	for (; count > 0; count -= got) {
		got = read(pipe, bytes, (size_t)count);
		check(got > 0, "reading from a pipe");
	}
}

static void *work(void *installs)
{
	if (installs != NULL)
		install(0);
	for (;;) {
		give(done[1], 1);
		take(go[0], 1);
		body(each);
	}
	return NULL;
}

/* The CPU time of the threads in nanoseconds. */
static int64_t used(const clockid_t *clocks, long threads)
{
	struct timespec time;
	int64_t sum = 0;
	long i;

	for (i = 0; i < threads; i++) {
		check(clock_gettime(clocks[i], &time) == 0, "the CPU time of a thread");
		sum += time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
	}
	return sum;
}

static long number(const char *text, long least, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end != '\0' || value < least || value > most)
		fail(text, "unexpected number");
	return value;
}

int main(int argc, char **argv)
{
	static clockid_t clocks[MOST_THREADS];
	static double results[MOST_BATCHES];
	long threads, batches, iterations, cpu, i;
	pthread_t thread;

	if (argc < 6)
		fail("usage", "loop BODY THREADS BATCHES ITERATIONS CPU [FILTER]...");
	for (i = 0; i < (long)(sizeof bodies / sizeof bodies[0]); i++)
		if (strcmp(argv[1], bodies[i].name) == 0)
			body = bodies[i].body;
	if (body == NULL)
		fail(argv[1], "unknown body");
	threads = number(argv[2], 1, MOST_THREADS);
	batches = number(argv[3], 1, MOST_BATCHES);
	iterations = number(argv[4], 1, 1000000000);
	cpu = number(argv[5], -1, CPU_SETSIZE - 1);
	for (i = 6; i < argc; i++)
		load(argv[i]);
	if (cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((size_t)cpu, &set);
		check(sched_setaffinity(0, sizeof set, &set) == 0, "the processor");
	}
	check(pipe(go) == 0 && pipe(done) == 0, "pipes");
	each = (iterations + threads - 1) / threads;
	for (i = 0; i < threads; i++) {
		errno = pthread_create(&thread, NULL, work, threads == 1 ? &threads : NULL);
		check(errno == 0, "a thread");
		errno = pthread_getcpuclockid(thread, &clocks[i]);
		check(errno == 0, "the clock of a thread");
	}
	take(done[0], threads);
	if (threads > 1)
		install(SECCOMP_FILTER_FLAG_TSYNC);
	/* The first batch warms up. */
	for (i = -1; i < batches; i++) {
		int64_t start = used(clocks, threads);

		give(go[1], threads);
		take(done[0], threads);
		if (i >= 0)
			results[i] = (double)(used(clocks, threads) - start) / (double)(each * threads);
	}
	for (i = 0; i < batches; i++)
		printf("%.3f\n", results[i]);
	fflush(stdout);
	_exit(0);
}
