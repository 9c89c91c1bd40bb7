/* The only process of a guest: it executes /plan, prints the results to the console, and powers off the
 * machine. Statically linked, so that it can be the whole initrd; the same source for all architectures.
 *
 * A line of the plan is one of
 *
 *   jit 0|1                        disable or enable the kernel's JIT compiler
 *   ask NAME PROGRAM CALLS         compare the errno of each syscall with the expected one
 *   ask32 NAME PROGRAM CALLS       the same through the 32-bit ABI of x86
 *   time NAME CALLS PROGRAM...     time each syscall under these filters, the oldest first
 *
 * PROGRAM is a file of struct sock_filter, CALLS one of struct call, both in this machine's byte order.
 * Filters are installed in a child. It answers through shared memory and makes no other syscalls under them,
 * because they may deny any: it ends with an illegal instruction.
 *
 * The emulator executes one guest instruction per nanosecond, so differences of CLOCK_MONOTONIC are numbers of
 * instructions. Waits of threads are measured in CPU time instead, which advances alike.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILTERS 64
#define MAX_ROWS 4096
#define MAX_WRONG 4
#define BATCHES 9
#define WAITERS 256

/* How a syscall is made: as it is; UnixBench's loop; a futex syscall, args[1] of which is the operation, with addresses of
 * this process; the waits of WAITERS threads. */
enum { PLAIN, UNIXBENCH, FUTEX, WAITS };

struct call {
	uint32_t nr;
	uint32_t what; /* in `ask` the expected errno, in `time` how it is made */
	uint64_t args[6];
};

/* A file in memory. */
struct file {
	void *start;
	size_t size;
};

/* The report of a child to its parent. */
struct answer {
	int state; /* 0: died; 1: done; 2: no filter; 3: no clock; 4: no threads */
	int error;
	uint32_t count; /* syscalls compared, or rows measured */
	uint32_t wrong;
	struct {
		uint32_t call, got;
	} first[MAX_WRONG];
	struct {
		uint64_t instructions, calls;
	} rows[MAX_ROWS];
};

static struct answer *answer;

static void fail(const char *what, const char *name)
{
	printf("callgate: error %s %s: %s\n", what, name, strerror(errno));
}

static int read_file(const char *path, struct file *file)
{
	struct stat status;
	size_t done = 0;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) != 0 || !(file->start = malloc(status.st_size + 1)))
		return -1;
	file->size = status.st_size;
	while (done < file->size) {
		ssize_t got = read(fd, (char *)file->start + done, file->size - done);
		if (got <= 0)
			return -1;
		done += got;
	}
	((char *)file->start)[file->size] = 0;
	return close(fd);
}

/* The nanoseconds since boot, without a syscall if user space can read the clock. */
static int64_t now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) {
		answer->state = 3;
		answer->error = errno;
		__builtin_trap();
	}
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* The CPU time of all threads, in nanoseconds: without the time in which all of them wait. */
static int64_t cpu_time(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) {
		answer->state = 3;
		answer->error = errno;
		__builtin_trap();
	}
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static long make(const struct call *call)
{
	const uint64_t *a = call->args;
	return syscall((long)(int32_t)call->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#ifdef __x86_64__
/* Makes a syscall through the 32-bit ABI; returns the result of the kernel, possibly a negative errno. */
static long make32(const struct call *call)
{
	const uint64_t *a = call->args;
	long result = call->nr;
	/* No constraint exists for rbp, which holds the sixth argument; the code skips the red zone. */
	uint64_t sixth = a[5];

	__asm__ volatile("sub $128, %%rsp\n\t"
			 "push %%rbp\n\t"
			 "mov %7, %%rbp\n\t"
			 "int $0x80\n\t"
			 "pop %%rbp\n\t"
			 "add $128, %%rsp"
			 : "+a"(result)
			 : "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(a[3]), "D"(a[4]), "0"(result), "r"(sixth)
			 : "memory", "cc", "r8", "r9", "r10", "r11");
	return (int32_t)result;
}
#else
static long make32(const struct call *call)
{
	(void)call;
	return 0;
}
#endif

/* The errno of a syscall, 0 for none. */
static uint32_t error_of(const struct call *call, int narrow)
{
	long result;

	if (narrow)
		return (result = make32(call)) < 0 && result >= -4095 ? (uint32_t)-result : 0;
	return make(call) == -1 ? (uint32_t)errno : 0;
}

/* The loop of UnixBench's `syscall` test, five syscalls. */
static void unixbench(void)
{
	syscall(SYS_close, syscall(SYS_dup, 0));
	syscall(SYS_getpid);
	syscall(SYS_getuid);
	syscall(SYS_umask, 022);
}

/* A futex syscall that does not wait: the futex has another value than a wait expects, and no thread to be woken. */
static void futex(const struct call *call)
{
	static uint32_t value = 0;
	static const struct timespec past = { 1, 0 };
	int has_deadline = (call->args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;

	syscall((long)call->nr, &value, call->args[1], 1, has_deadline ? &past : NULL, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

/* Threads that wait for a condition which nobody signals, until a deadline one microsecond ahead. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	/* Turns of the threads, each of which begins when the first thread says so. */
	pthread_mutex_t lock;
	pthread_cond_t started, finished;
	unsigned turn, each, done;
} waiting = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_COND_INITIALIZER,  PTHREAD_COND_INITIALIZER, 0, 0, 0,
};

static void wait_until_next_microsecond(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += 1000;
	if (deadline.tv_nsec >= 1000000000) {
		deadline.tv_nsec -= 1000000000;
		deadline.tv_sec++;
	}
	pthread_cond_timedwait(&waiting.condition, &waiting.mutex, &deadline);
}

static void *waiter(void *unused)
{
	unsigned seen = 0, each, i;

	(void)unused;
	for (;;) {
		pthread_mutex_lock(&waiting.lock);
		if (++waiting.done == WAITERS)
			pthread_cond_signal(&waiting.finished);
		while (waiting.turn == seen)
			pthread_cond_wait(&waiting.started, &waiting.lock);
		seen = waiting.turn;
		each = waiting.each;
		pthread_mutex_unlock(&waiting.lock);

		pthread_mutex_lock(&waiting.mutex);
		for (i = 0; i < each; i++)
			wait_until_next_microsecond();
		pthread_mutex_unlock(&waiting.mutex);
	}
	return NULL;
}

/* With the lock. */
static void until_all_are_done(void)
{
	while (waiting.done < WAITERS)
		pthread_cond_wait(&waiting.finished, &waiting.lock);
}

/* Before filters are installed, which need not allow what the start of a thread needs. */
static int start_waiters(void)
{
	pthread_attr_t small;
	pthread_t thread;
	int i;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (i = 0; i < WAITERS; i++)
		if ((errno = pthread_create(&thread, &small, waiter, NULL)) != 0)
			return -1;
	pthread_mutex_lock(&waiting.lock);
	until_all_are_done();
	pthread_mutex_unlock(&waiting.lock);
	return 0;
}

/* Each thread waits this many times. */
static void waits(unsigned each)
{
	pthread_mutex_lock(&waiting.lock);
	waiting.each = each;
	waiting.done = 0;
	waiting.turn++;
	pthread_cond_broadcast(&waiting.started);
	until_all_are_done();
	pthread_mutex_unlock(&waiting.lock);
}

/* The number of instructions of this many rounds. */
static int64_t batch(const struct call *call, unsigned rounds)
{
	int64_t start;
	unsigned i;

	if (call && call->what == WAITS) {
		start = cpu_time();
		waits(rounds);
		return cpu_time() - start;
	}
	start = now();
	if (call && call->what == UNIXBENCH)
		for (i = 0; i < rounds; i++)
			unixbench();
	else if (call && call->what == FUTEX)
		for (i = 0; i < rounds; i++)
			futex(call);
	else if (call)
		for (i = 0; i < rounds; i++)
			make(call);
	return now() - start;
}

/* The minimum of several batches, because interrupts only add instructions. */
static int64_t least(const struct call *call, unsigned rounds, int batches)
{
	int64_t best = INT64_MAX;

	while (batches-- > 0) {
		int64_t took = batch(call, rounds);
		if (took < best)
			best = took;
	}
	return best;
}

/* The syscalls, or waits, of a round. */
static unsigned calls_of_round(const struct call *call)
{
	switch (call->what) {
	case UNIXBENCH:
		return 5;
	case WAITS:
		return WAITERS;
	default:
		return 1;
	}
}

static void measure(const struct call *calls, uint32_t count)
{
	/* A batch is much shorter than a tick of 4 ms, so that most hold no interrupt. A single syscall is
	 * made more often, because some kernels occasionally need random numbers, which makes some syscalls longer. */
	int64_t length = count == 1 ? 1000000 : 200000;
	int64_t nothing = least(NULL, 0, BATCHES);
	uint32_t row;

	for (row = 0; row < count && row < MAX_ROWS; row++) {
		int64_t one = least(&calls[row], 4, 3) / 4 + 1;
		unsigned rounds = length / one + 10;

		answer->rows[row].instructions = least(&calls[row], rounds, BATCHES) - nothing;
		answer->rows[row].calls = (uint64_t)rounds * calls_of_round(&calls[row]);
		answer->count = row + 1;
	}
}

static void compare(const struct call *calls, uint32_t count, int narrow)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint32_t got = error_of(&calls[i], narrow);

		answer->count = i + 1;
		if (got == calls[i].what)
			continue;
		if (answer->wrong < MAX_WRONG) {
			answer->first[answer->wrong].call = i;
			answer->first[answer->wrong].got = got;
		}
		answer->wrong++;
	}
}

/* In all threads. */
static int install(const struct file *program)
{
	struct sock_fprog fprog = { program->size / sizeof(struct sock_filter), program->start };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &fprog);
}

/* Why a child did not do its work, by its state. */
static const char *const reasons[] = {
	[2] = "the kernel refuses a filter",
	[3] = "the clock cannot be read",
	[4] = "its threads do not start",
};

/* The work of a child under its filters. */
enum work { ASK, ASK32, TIME };

/* Installs filters in a child and lets it work; returns whether it ended as expected. */
static int in_child(const char *name, const struct file *programs, int count,
		    const struct file *calls, enum work work)
{
	uint32_t number = calls->size / sizeof(struct call);
	int has_waits = work == TIME && ((const struct call *)calls->start)->what == WAITS;
	int status = 0, i;
	pid_t child;

	memset(answer, 0, sizeof(*answer));
	fflush(stdout);
	child = fork();
	if (child < 0) {
		fail("no child for", name);
		return 0;
	}
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
			_exit(1);
		if (has_waits && start_waiters() != 0) {
			answer->error = errno;
			answer->state = 4;
			__builtin_trap();
		}
		for (i = 0; i < count; i++)
			if (install(&programs[i]) != 0) {
				answer->error = errno;
				answer->state = 2;
				__builtin_trap();
			}
		if (work == TIME)
			measure(calls->start, number);
		else
			compare(calls->start, number, work == ASK32);
		answer->state = 1;
		__builtin_trap();
	}
	waitpid(child, &status, 0);
	if (answer->state == 1)
		return 1;
	if (answer->state == 0)
		printf("callgate: error %s: the child died (status %d) after %u calls\n", name, status,
		       answer->count);
	else
		printf("callgate: error %s: %s: %s\n", name, reasons[answer->state],
		       strerror(answer->error));
	return 0;
}

static void ask(const char *name, const struct file *files, enum work work)
{
	uint32_t i;

	if (!in_child(name, &files[0], 1, &files[1], work))
		return;
	for (i = 0; i < answer->wrong && i < MAX_WRONG; i++)
		printf("callgate: wrong %s %u %u\n", name, answer->first[i].call, answer->first[i].got);
	printf("callgate: asked %s %u %u\n", name, answer->count, answer->wrong);
}

static void time_calls(const char *name, const struct file *files, int count)
{
	uint32_t row;

	if (!in_child(name, &files[1], count - 1, &files[0], TIME))
		return;
	for (row = 0; row < answer->count; row++)
		printf("callgate: time %s %u %llu %llu\n", name, row,
		       (unsigned long long)answer->rows[row].instructions,
		       (unsigned long long)answer->rows[row].calls);
}

/* The actual setting; the kernel may have no JIT compiler. */
static void jit(const char *value)
{
	static const char path[] = "/proc/sys/net/core/bpf_jit_enable";
	char is[16] = "";
	int fd = open(path, O_WRONLY);

	if (fd >= 0) {
		if (write(fd, value, strlen(value)) < 0)
			fail("cannot set", path);
		close(fd);
		fd = open(path, O_RDONLY);
		if (fd >= 0) {
			ssize_t got = read(fd, is, sizeof(is) - 1);
			is[got > 0 ? strcspn(is, "\n") : 0] = 0;
			close(fd);
		}
	}
	printf("callgate: jit %s %s\n", value, is[0] ? is : "none");
}

static void follow(char *line)
{
	struct file files[MAX_FILTERS + 1];
	char *verb = strtok(line, " "), *name = strtok(NULL, " "), *path;
	int count = 0, i;

	if (!verb || !name)
		return;
	if (strcmp(verb, "jit") == 0) {
		jit(name);
		return;
	}
	while ((path = strtok(NULL, " "))) {
		if (count > MAX_FILTERS || read_file(path, &files[count]) != 0) {
			fail("cannot read", path);
			return;
		}
		count++;
	}
	if (strcmp(verb, "ask") == 0 && count == 2)
		ask(name, files, ASK);
	else if (strcmp(verb, "ask32") == 0 && count == 2)
		ask(name, files, ASK32);
	else if (strcmp(verb, "time") == 0 && count >= 1)
		time_calls(name, files, count);
	else
		printf("callgate: error no such line: %s %s\n", verb, name);
	for (i = 0; i < count; i++)
		free(files[i].start);
}

int main(void)
{
	struct file plan;
	char *line, *rest;

	setvbuf(stdout, NULL, _IOLBF, 0);
	mount("proc", "/proc", "proc", 0, NULL);
	answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (answer == MAP_FAILED)
		fail("no memory for", "answers");
	else if (read_file("/plan", &plan) != 0)
		fail("cannot read", "/plan");
	else {
		rest = plan.start;
		while ((line = strsep(&rest, "\n")))
			follow(line);
		printf("callgate: done\n");
	}
	fflush(stdout);
	sync();
	reboot(RB_AUTOBOOT);
	return 1;
}
