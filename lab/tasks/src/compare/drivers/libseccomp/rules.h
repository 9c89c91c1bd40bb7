/*
 * Rules for libseccomp: reads the text form of lab/tasks/src/compare/text.rs, and makes contexts of them.
 *
 * Each architecture has its own context: in a context with several, libseccomp adds each rule to all of them.
 *
 * A program that includes this prints "unknown ARCH NR" for each omitted syscall whose name the library does not know,
 * and ends with exit status 3 if the library cannot express the rules, for the reason on standard error.
 */
#ifndef CALLGATE_RULES_H
#define CALLGATE_RULES_H

#include <errno.h>
#include <stdarg.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANNOT_EXPRESS = 3, MAX_ARCHES = 8, MAX_TESTS = 6 };

struct alternative {
	uint32_t verdict;
	unsigned tests;
	struct scmp_arg_cmp test[MAX_TESTS];
};

struct call {
	int nr; /* for libseccomp: the native number, or its pseudo-number of a name */
	size_t first, count;
};

struct arch {
	char name[64];
	uint32_t token, default_verdict;
	int narrow;
	size_t first, count;
};

static struct {
	uint32_t bad_arch;
	struct arch arch[MAX_ARCHES];
	size_t arches;
	struct call *call;
	size_t calls;
	struct alternative *alternative;
	size_t alternatives;
	int hot[256];
	size_t hots;
} rules;

__attribute__((noreturn, format(printf, 2, 3))) static void stop(int status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(status);
}

static void *grow(void *array, size_t count, size_t size)
{
	/* Powers of two: grow when the count is one. */
	if (count & (count - 1) && count)
		return array;
	array = realloc(array, (count ? 2 * count : 1) * size);
	if (!array)
		stop(1, "out of memory");
	return array;
}

static uint32_t arch_of_name(const char *name)
{
	uint32_t token = seccomp_arch_resolve_name(name);
	if (!token)
		stop(CANNOT_EXPRESS, "it does not know the architecture %s", name);
	return token;
}

static void add_test(struct alternative *to, unsigned arg, unsigned bits, const char *op, uint64_t value,
		     uint64_t mask, int narrow)
{
	static const struct { const char *word; enum scmp_compare op; } words[] = {
		{ "eq", SCMP_CMP_EQ }, { "ne", SCMP_CMP_NE }, { "lt", SCMP_CMP_LT },
		{ "le", SCMP_CMP_LE }, { "gt", SCMP_CMP_GT }, { "ge", SCMP_CMP_GE },
	};
	uint64_t full = narrow ? UINT32_MAX : UINT64_MAX;
	if (arg > 5)
		stop(CANNOT_EXPRESS, "it has no tests of the instruction pointer");
	for (unsigned i = 0; i < to->tests; i++)
		if (to->test[i].arg == arg)
			stop(CANNOT_EXPRESS, "it takes one test of an argument in a rule");
	if (bits == 32)
		mask &= UINT32_MAX;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(op, words[i].word))
			continue;
		struct scmp_arg_cmp test = { arg, words[i].op, value, 0 };
		if (mask != full) {
			if (test.op != SCMP_CMP_EQ)
				stop(CANNOT_EXPRESS, "under a mask it only tests for equality");
			test = (struct scmp_arg_cmp){ arg, SCMP_CMP_MASKED_EQ, mask, value };
		}
		to->test[to->tests++] = test;
		return;
	}
	stop(1, "unknown comparison %s", op);
}

static void read_rules(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256], word[16], name[64], op[8];
	uint32_t native = seccomp_arch_native();
	int known = 0;
	if (!file)
		stop(1, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		uint32_t nr, verdict;
		uint64_t value, mask;
		unsigned arg, bits;
		struct arch *arch = rules.arches ? &rules.arch[rules.arches - 1] : NULL;
		if (sscanf(line, " %15s", word) != 1)
			continue;
		if (sscanf(line, " bad_arch %" SCNx32, &rules.bad_arch) == 1)
			continue;
		if (!strcmp(word, "x32"))
			continue; /* libseccomp gives them the verdict for other architectures */
		if (sscanf(line, " hot %" SCNu32, &nr) == 1) {
			if (rules.hots < sizeof(rules.hot) / sizeof(rules.hot[0]))
				rules.hot[rules.hots++] = nr;
		} else if (sscanf(line, " arch %63s %*s %" SCNx32, name, &verdict) == 2) {
			if (rules.arches == MAX_ARCHES)
				stop(CANNOT_EXPRESS, "more than %d architectures", MAX_ARCHES);
			uint32_t token = arch_of_name(name);
			int narrow = !(token & 0x80000000) || token == SCMP_ARCH_X32;
			arch = &rules.arch[rules.arches++];
			*arch = (struct arch){ "", token, verdict, narrow, rules.calls, 0 };
			strcpy(arch->name, name);
		} else if (arch && sscanf(line, " call %" SCNu32 " %63s", &nr, name) == 2) {
			int number = nr;
			if (arch->token != native)
				number = seccomp_syscall_resolve_name(name);
			/* libseccomp silently omits names that the architecture does not have. */
			known = number != __NR_SCMP_ERROR &&
				(arch->token == native ||
				 seccomp_syscall_resolve_name_arch(arch->token, name) > -10000);
			if (!known) {
				printf("unknown %s %" PRIu32 "\n", arch->name, nr);
				continue;
			}
			rules.call = grow(rules.call, rules.calls, sizeof(*rules.call));
			rules.call[rules.calls++] = (struct call){ number, rules.alternatives, 0 };
			arch->count++;
		} else if (sscanf(line, " then %" SCNx32, &verdict) == 1) {
			if (!known)
				continue;
			rules.alternative = grow(rules.alternative, rules.alternatives, sizeof(*rules.alternative));
			rules.alternative[rules.alternatives++] = (struct alternative){ .verdict = verdict };
			rules.call[rules.calls - 1].count++;
		} else if (arch && sscanf(line, " test %u %u %7s %" SCNx64 " %" SCNx64, &arg, &bits, op, &value,
					  &mask) == 5) {
			if (known)
				add_test(&rules.alternative[rules.alternatives - 1], arg, bits, op, value, mask,
					 arch->narrow);
		} else {
			stop(1, "cannot read: %s", line);
		}
	}
	fclose(file);
}

/* Alternatives of a syscall are ordered, libseccomp's rules are not. */
static void check_order(void)
{
	for (size_t c = 0; c < rules.calls; c++) {
		struct alternative *first = &rules.alternative[rules.call[c].first];
		for (size_t i = 0; i + 1 < rules.call[c].count; i++)
			if (first[i].verdict != first[i + 1].verdict && !first[i + 1].tests)
				stop(CANNOT_EXPRESS, "it has no \"else\" with another action");
	}
}

static scmp_filter_ctx context(const struct arch *arch, unsigned level)
{
	scmp_filter_ctx ctx = seccomp_init(arch->default_verdict);
	int rc = ctx ? 0 : -ENOMEM;
	if (!rc)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, rules.bad_arch);
	if (!rc)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, level);
	if (!rc && arch->token != seccomp_arch_native()) {
		rc = seccomp_arch_add(ctx, arch->token);
		if (!rc)
			rc = seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
	}
	if (rc)
		stop(1, "setting up: %s", strerror(-rc));
	for (size_t c = arch->first; c < arch->first + arch->count; c++) {
		const struct call *call = &rules.call[c];
		for (size_t a = call->first; a < call->first + call->count; a++) {
			const struct alternative *rule = &rules.alternative[a];
			rc = seccomp_rule_add_array(ctx, rule->verdict, call->nr, rule->tests, rule->test);
			if (rc)
				stop(CANNOT_EXPRESS, "call %d: %s", call->nr, strerror(-rc));
		}
	}
	if (arch->token == seccomp_arch_native())
		for (size_t h = 0; h < rules.hots; h++)
			seccomp_syscall_priority(ctx, rules.hot[h], 255 - h);
	return ctx;
}

/* The context of all rules. */
static scmp_filter_ctx merged(unsigned level)
{
	scmp_filter_ctx all = context(&rules.arch[0], level);
	for (size_t i = 1; i < rules.arches; i++) {
		int rc = seccomp_merge(all, context(&rules.arch[i], level));
		if (rc)
			stop(CANNOT_EXPRESS, "joining architectures: %s", strerror(-rc));
	}
	return all;
}

#endif
