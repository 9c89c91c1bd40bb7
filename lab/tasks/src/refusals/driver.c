/*
 * Checks which rules libseccomp accepts. Reads from standard input, for each set of rules,
 *
 *	set ARCH...
 *	rule NAME ACTION [ARG OP VALUE DATUM]...
 *	end
 *
 * with OP as the number of enum scmp_compare, and prints the index of the first refused rule and the
 * error, or "-1 0"; "-2" and a signal if the library crashed, or did not end within 50 ms of processor time.
 */
#include <errno.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static scmp_filter_ctx start(char *arches)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(1));
	int native = 0;
	for (char *name = strtok(arches, " \n"); name; name = strtok(NULL, " \n")) {
		uint32_t token = seccomp_arch_resolve_name(name);
		int rc = token ? seccomp_arch_add(ctx, token) : -EINVAL;
		native |= token == seccomp_arch_native();
		if (rc == -EDOM) {
			/* Another byte order: replaces the native architecture. */
			seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
			native = 1;
			rc = seccomp_arch_add(ctx, token);
		}
		if (rc && rc != -EEXIST) {
			fprintf(stderr, "%s: %s\n", name, strerror(-rc));
			exit(1);
		}
	}
	if (!native)
		seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
	return ctx;
}

static int add(scmp_filter_ctx ctx, char *line)
{
	struct scmp_arg_cmp tests[6];
	unsigned count = 0;
	char *name = strtok(line, " \n"), *word = strtok(NULL, " \n");
	uint32_t action = strtoul(word, NULL, 0);
	int number = seccomp_syscall_resolve_name(name);
	if (number == __NR_SCMP_ERROR)
		return 0;
	while (count < 6 && (word = strtok(NULL, " \n"))) {
		struct scmp_arg_cmp *test = &tests[count++];
		test->arg = strtoul(word, NULL, 0);
		test->op = strtoul(strtok(NULL, " \n"), NULL, 0);
		test->datum_a = strtoull(strtok(NULL, " \n"), NULL, 0);
		test->datum_b = strtoull(strtok(NULL, " \n"), NULL, 0);
	}
	return seccomp_rule_add_array(ctx, action, number, count, tests);
}

static void answer(char *set)
{
	scmp_filter_ctx ctx = NULL;
	int place = 0, why = 0;
	for (char *line = set, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!strncmp(line, "set ", 4))
			ctx = start(line + 4);
		else if ((why = add(ctx, line + 5)))
			break;
		else
			place++;
	}
	printf("%d %d\n", why ? place : -1, -why);
}

int main(int argc, char **argv)
{
	static char line[4096], set[1 << 20];
	const struct itimerval limit = { .it_value = { .tv_usec = 50000 } };
	size_t length = 0;
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		const struct scmp_version *version = seccomp_version();
		printf("%u.%u.%u\n", version->major, version->minor, version->micro);
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		size_t more = strlen(line);
		if (strncmp(line, "end", 3)) {
			if (length + more >= sizeof(set))
				return 1;
			memcpy(set + length, line, more + 1);
			length += more;
			continue;
		}
		int status;
		pid_t child = fork();
		if (!child) {
			setitimer(ITIMER_VIRTUAL, &limit, NULL);
			answer(set);
			fflush(stdout);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0)
			return 1;
		if (WIFSIGNALED(status))
			printf("-2 %d\n", WTERMSIG(status));
		else if (status)
			return 1;
		fflush(stdout);
		length = 0;
	}
	return 0;
}
