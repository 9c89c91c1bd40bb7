/* Reads rules for seccomp_rule_add_array(3), and measures contexts with them, one per process:
 * the time of all functions up to seccomp_load(3), its own time, and the growth of resident memory.
 *
 * usage: driver ROUNDS OPTIMIZE DEFAULT [ARCH...] <RULES
 * A line of RULES: ACTION NAME COUNT, then for each comparison ARG OP A B. */
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct rule {
	uint32_t action;
	int number;
	unsigned int count;
	struct scmp_arg_cmp args[6];
};

static struct rule rules[4096];
static size_t rule_count;

static void fail(const char *what)
{
	fprintf(stderr, "driver: %s\n", what);
	exit(1);
}

static void read_rules(void)
{
	char name[64];
	struct rule *rule = rules;

	while (scanf("%u %63s %u", &rule->action, name, &rule->count) == 3) {
		rule->number = seccomp_syscall_resolve_name(name);
		for (unsigned int i = 0; i < rule->count; i++) {
			struct scmp_arg_cmp *arg = &rule->args[i];
			unsigned int op;
			unsigned long long a, b;

			if (scanf("%u %u %llu %llu", &arg->arg, &op, &a, &b) != 4)
				fail("a comparison is incomplete");
			arg->op = op;
			arg->datum_a = a;
			arg->datum_b = b;
		}
		/* Syscalls that are newer than the library are left out. */
		if (rule->number != __NR_SCMP_ERROR && ++rule == rules + 4096)
			fail("too many rules");
	}
	rule_count = rule - rules;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static long resident(void)
{
	char line[256];
	long kilobytes = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmHWM: %ld kB", &kilobytes);
	if (file)
		fclose(file);
	return kilobytes;
}

struct result {
	double build, precompute, load;
	long before, after;
	size_t length;
};

static void measure(unsigned int optimize, uint32_t action, char **arches, struct result *result)
{
	result->before = resident();
	double start = now();
	scmp_filter_ctx context = seccomp_init(action);

	if (!context || seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, optimize))
		fail("seccomp_init");
	for (; *arches; arches++)
		if (seccomp_arch_add(context, seccomp_arch_resolve_name(*arches)))
			fail("seccomp_arch_add");
	for (size_t i = 0; i < rule_count; i++) {
		struct rule *rule = &rules[i];

		int code = seccomp_rule_add_array(context, rule->action, rule->number, rule->count,
						  rule->args);
		if (code) {
			fprintf(stderr, "driver: rule %zu for %d: %d\n", i + 1, rule->number, code);
			exit(1);
		}
	}
	double built = now();

	/* Not in old versions of the library. */
	int (*length)(scmp_filter_ctx, void *, size_t *) = NULL;
#ifdef HAVE_EXPORT_MEM
	length = seccomp_export_bpf_mem;
#endif
	if (length && length(context, NULL, &result->length))
		fail("seccomp_export_bpf_mem");
	double compiled = now();

	result->after = resident();
	double ready = now();

	if (seccomp_load(context))
		fail("seccomp_load");
	double loaded = now();

	result->build = built - start;
	result->precompute = compiled - built;
	result->load = loaded - ready;
	/* The filter may forbid what freeing needs. */
}

int main(int argc, char **argv)
{
	if (argc < 4)
		fail("usage: driver ROUNDS OPTIMIZE DEFAULT [ARCH...]");
	read_rules();
	for (int round = atoi(argv[1]); round > 0; round--) {
		int ends[2], status;
		struct result result = { 0 };

		if (pipe(ends))
			fail("pipe");
		pid_t child = fork();

		if (child == 0) {
			measure(atoi(argv[2]), strtoul(argv[3], NULL, 0), argv + 4, &result);
			if (write(ends[1], &result, sizeof(result)) != sizeof(result))
				_exit(1);
			_exit(0);
		}
		close(ends[1]);
		if (read(ends[0], &result, sizeof(result)) != sizeof(result))
			fail("a child failed");
		close(ends[0]);
		waitpid(child, &status, 0);
		printf("%.1f %.1f %ld %zu\n", result.build + result.precompute + result.load, result.load,
		       result.after - result.before, result.length / 8);
	}
	return 0;
}
