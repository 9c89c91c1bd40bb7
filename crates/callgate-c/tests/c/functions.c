/* Uses every function of callgate.h. Compiles as C11 and as C++11. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KAFEL "ALLOW { read, write, exit_group } DEFAULT ERRNO(1)"
#define VARIABLES                                                                                  \
	"ALLOW { read { fd == $input }, lseek { offset <= $limit }, exit_group } DEFAULT ERRNO(2)"

#define X86_64 0xc000003eU
#define ALLOW 0x7fff0000U

static callgate_error *error;

static callgate_source *source_of(const char *text)
{
	callgate_source *source;

	OK(callgate_source_text(text, strlen(text), &source, &error));
	OK(callgate_source_set(source, CALLGATE_STR("machine"), CALLGATE_STR("x86_64"), &error));
	OK(callgate_source_set(source, CALLGATE_STR("format"), CALLGATE_STR("kafel"), &error));
	return source;
}

static uint32_t verdict_of(const callgate_program *program, int nr, uint64_t first, uint64_t second)
{
	struct seccomp_data data;
	uint32_t verdict = 1;

	memset(&data, 0, sizeof(data));
	data.nr = nr;
	data.arch = X86_64;
	data.args[0] = first;
	data.args[1] = second;
	OK(callgate_simulate(program, &data, &verdict, &error));
	return verdict;
}

static void compiles(void)
{
	callgate_source *source = source_of(KAFEL), *again;
	callgate_options *options;
	callgate_program *program, *other;
	const struct sock_filter *instructions;
	size_t count = 0, smaller = 0;

	OK(callgate_compile(source, NULL, &program, &error));
	instructions = callgate_program_instructions(program, &count);
	CHECK(count > 3 && instructions[0].code == (BPF_LD | BPF_W | BPF_ABS) &&
	      instructions[0].k == 4);
	CHECK(callgate_program_instructions(program, NULL) == instructions);
	CHECK(verdict_of(program, 0, 0, 0) == ALLOW);
	CHECK(verdict_of(program, 2, 0, 0) == (SECCOMP_RET_ERRNO | 1));
	CHECK(callgate_program_flags(program) == 0);
	callgate_program_warnings(program, &smaller);
	CHECK(smaller == 0);

	/* The program is a source, too, and compiles to the same. */
	OK(callgate_source_program(instructions, count, &again, &error));
	OK(callgate_options_new(&options, &error));
	OK(callgate_options_set(options, CALLGATE_STR("optimize"), CALLGATE_STR("size"), &error));
	OK(callgate_options_set(options, CALLGATE_STR("model"), CALLGATE_STR("uncached"), &error));
	OK(callgate_options_set(options, CALLGATE_STR("weights"), CALLGATE_STR("write 10\nread 1\n"),
				&error));
	OK(callgate_compile(again, options, &other, &error));
	callgate_program_instructions(other, &smaller);
	CHECK(smaller > 0 && smaller <= count);
	CHECK(verdict_of(other, 0, 0, 0) == ALLOW);

	callgate_program_free(program);
	callgate_program_free(other);
	callgate_options_free(options);
	callgate_source_free(source);
	callgate_source_free(again);
}

static void warns(void)
{
	static const char profile[] =
		"{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n"
		" \"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"],\n"
		" \"syscalls\": [{\"names\": [\"mkdir\", \"nosuchcall\"], \"action\": \"SCMP_ACT_ERRNO\"}]}";
	const callgate_diagnostic *warnings;
	callgate_source *source, *preset;
	callgate_program *program;
	size_t count = 0;

	OK(callgate_source_text(profile, sizeof(profile) - 1, &source, &error));
	OK(callgate_source_set(source, CALLGATE_STR("name"), CALLGATE_STR("p.json"), &error));
	OK(callgate_source_set(source, CALLGATE_STR("kernel"), CALLGATE_STR("6.12"), &error));
	OK(callgate_source_set(source, CALLGATE_STR("arches"), CALLGATE_STR("x86_64,x86"), &error));
	OK(callgate_compile(source, NULL, &program, &error));
	CHECK(callgate_program_flags(program) == SECCOMP_FILTER_FLAG_LOG);
	warnings = callgate_program_warnings(program, &count);
	CHECK(count == 1 && warnings[0].severity == CALLGATE_SEVERITY_WARNING);
	CHECK(strcmp(warnings[0].source, "p.json") == 0 && warnings[0].line == 3);
	CHECK(strstr(warnings[0].message, "nosuchcall") != NULL);
	callgate_program_free(program);

	/* Unknown names are errors, with the position. */
	OK(callgate_source_set(source, CALLGATE_STR("strict"), CALLGATE_STR("true"), &error));
	CHECK(callgate_compile(source, NULL, &program, &error) == CALLGATE_SOURCE);
	CHECK(program == NULL && callgate_error_errno(error) == 0);
	warnings = callgate_error_diagnostics(error, &count);
	CHECK(count == 1 && warnings[0].severity == CALLGATE_SEVERITY_ERROR);
	CHECK(warnings[0].line == 3 && warnings[0].column > 1 && warnings[0].reserved == 0);
	CHECK(strncmp(callgate_error_text(error), "p.json:3:", 9) == 0);
	callgate_error_free(error);
	callgate_source_free(source);

	/* The kernel is the running one. */
	OK(callgate_source_preset(CALLGATE_STR("container-default"), &preset, &error));
	OK(callgate_compile(preset, NULL, &program, &error));
	callgate_program_instructions(program, &count);
	CHECK(count > 50);
	callgate_program_free(program);
	callgate_source_free(preset);
}

static void expressions(void)
{
	callgate_source *app = source_of("ALLOW { read, write } DEFAULT KILL");
	callgate_source *wanted = source_of("ALLOW { read, getpid } DEFAULT KILL");
	callgate_source *both;
	callgate_text *text;
	bool same;

	OK(callgate_source_expression(CALLGATE_STR("app + getpid - write"), &both, &error));
	REFUSED(callgate_diff(both, wanted, 1, &same, &text, &error), CALLGATE_SOURCE,
		"not one of its sources");
	REFUSED(callgate_source_add_source(both, CALLGATE_STR("app"), both, &error),
		CALLGATE_ARGUMENT, "an expression");
	REFUSED(callgate_source_add_source(app, CALLGATE_STR("app"), app, &error),
		CALLGATE_ARGUMENT, "not an expression");
	OK(callgate_source_add_source(both, CALLGATE_STR("app"), app, &error));
	REFUSED(callgate_source_add_source(both, CALLGATE_STR("app"), app, &error),
		CALLGATE_ARGUMENT, "twice");
	callgate_source_free(app);
	OK(callgate_diff(both, wanted, 1, &same, &text, &error));
	CHECK(same);
	callgate_text_free(text);
	callgate_source_free(both);
	callgate_source_free(wanted);
}

static void includes(void)
{
	callgate_source *source = source_of("#include \"more.kafel\"\nUSE more DEFAULT KILL");
	callgate_program *program;

	REFUSED(callgate_compile(source, NULL, &program, &error), CALLGATE_SOURCE, "more.kafel");
	OK(callgate_source_add_file(source, CALLGATE_STR("more.kafel"),
				    CALLGATE_STR("POLICY more { ALLOW { read } }"), &error));
	REFUSED(callgate_source_add_file(source, CALLGATE_STR("more.kafel"), NULL, 0, &error),
		CALLGATE_ARGUMENT, "added twice");
	OK(callgate_compile(source, NULL, &program, &error));
	CHECK(verdict_of(program, 0, 0, 0) == ALLOW && verdict_of(program, 1, 0, 0) != ALLOW);
	callgate_program_free(program);
	callgate_source_free(source);
}

static callgate_value value_of(const char *name, uint64_t value)
{
	callgate_value result;

	result.name.data = name;
	result.name.length = strlen(name);
	result.value = value;
	return result;
}

static void templates(void)
{
	callgate_source *source = source_of(VARIABLES), *none = source_of(KAFEL);
	callgate_template *sandbox, *constant;
	const callgate_variable *variables;
	callgate_program *program;
	const callgate_value literals[] = { { { CALLGATE_STR("input") }, 7 } };
	callgate_value values[3];
	size_t count;

	/* Without values there is no program. */
	REFUSED(callgate_compile(source, NULL, &program, &error), CALLGATE_SOURCE, "variable");
	OK(callgate_compile_template(source, NULL, &sandbox, &error));
	variables = callgate_template_variables(sandbox, &count);
	CHECK(count == 2 && strcmp(variables[0].name, "input") == 0 && variables[0].bits == 32);
	CHECK(strcmp(variables[1].name, "limit") == 0 && variables[1].bits == 64);
	callgate_template_warnings(sandbox, &count);
	CHECK(count == 0);

	values[0] = value_of("limit", 0x100000000ULL);
	values[1] = value_of("input", 7);
	values[2] = value_of("input", 8);
	OK(callgate_template_instantiate(sandbox, values, 2, &program, &error));
	CHECK(verdict_of(program, 0, 7, 0) == ALLOW && verdict_of(program, 0, 8, 0) != ALLOW);
	CHECK(verdict_of(program, 8, 0, 0x100000000ULL) == ALLOW);
	CHECK(verdict_of(program, 8, 0, 0x100000001ULL) == (SECCOMP_RET_ERRNO | 2));
	callgate_program_free(program);

#define INSTANTIATE(count) callgate_template_instantiate(sandbox, values, count, &program, &error)
	REFUSED(INSTANTIATE(0), CALLGATE_ARGUMENT, "`input` has no value");
	REFUSED(INSTANTIATE(1), CALLGATE_ARGUMENT, "`input` has no value");
	REFUSED(callgate_template_instantiate(sandbox, literals, 1, &program, &error),
		CALLGATE_ARGUMENT, "`limit` has no value");
	REFUSED(INSTANTIATE(3), CALLGATE_ARGUMENT, "two values");
	REFUSED(INSTANTIATE(SIZE_MAX), CALLGATE_ARGUMENT, "the maximum is");
	values[1].value = 1ULL << 32;
	REFUSED(INSTANTIATE(2), CALLGATE_ARGUMENT, "does not fit");
	values[1] = value_of("inputs", 7);
	REFUSED(INSTANTIATE(2), CALLGATE_ARGUMENT, "did you mean `input`");
	CHECK(program == NULL);
	values[1].name.data = NULL;
	REFUSED(INSTANTIATE(2), CALLGATE_ARGUMENT, "null pointer");
	REFUSED(callgate_template_instantiate(sandbox, NULL, 2, &program, &error),
		CALLGATE_ARGUMENT, "null pointer");

	/* Values of the source make a program of it. */
	OK(callgate_source_set_variable(source, CALLGATE_STR("input"), 9, &error));
	OK(callgate_source_set_variable(source, CALLGATE_STR("input"), 7, &error));
	REFUSED(callgate_compile(source, NULL, &program, &error), CALLGATE_SOURCE, "`limit`");
	OK(callgate_source_set_variable(source, CALLGATE_STR("limit"), 0, &error));
	OK(callgate_compile(source, NULL, &program, &error));
	CHECK(verdict_of(program, 0, 7, 0) == ALLOW && verdict_of(program, 0, 9, 0) != ALLOW);
	callgate_program_free(program);
	for (int i = ' '; i < ' ' + 62; i++) {
		char name = (char)i;

		OK(callgate_source_set_variable(source, &name, 1, 0, &error));
	}
	REFUSED(callgate_source_set_variable(source, CALLGATE_STR("z2"), 0, &error),
		CALLGATE_ARGUMENT, "at most 64 variables");
	REFUSED(callgate_compile(source, NULL, &program, &error), CALLGATE_SOURCE, "no variable");
	REFUSED(callgate_source_set_variable(NULL, CALLGATE_STR("z2"), 0, &error),
		CALLGATE_ARGUMENT, "null pointer");

	OK(callgate_compile_template(none, NULL, &constant, &error));
	callgate_template_variables(constant, &count);
	CHECK(count == 0);
	OK(callgate_template_instantiate(constant, NULL, 0, &program, &error));
	callgate_program_free(program);
	callgate_template_free(constant);
	callgate_template_free(sandbox);
	callgate_source_free(source);
	callgate_source_free(none);
}

static void compares(void)
{
	callgate_source *a = source_of(KAFEL), *b = source_of("ALLOW { read, exit_group } DEFAULT KILL");
	callgate_source *wrong = source_of("ALLOW { raed } DEFAULT KILL");
	const callgate_source *both[2];
	callgate_string names[1];
	callgate_program *program;
	callgate_text *json;
	bool holds = true;
	size_t length;

	OK(callgate_diff(a, b, CALLGATE_ALL, &holds, &json, &error));
	CHECK(!holds && strstr(callgate_text_data(json, &length), "\"same\": false") != NULL);
	CHECK(strlen(callgate_text_data(json, NULL)) == length);
	CHECK(strstr(callgate_text_data(json, NULL), "\"write\"") != NULL);
	callgate_text_warnings(json, &length);
	CHECK(length == 0);
	callgate_text_free(json);
	OK(callgate_diff(a, a, 1, &holds, NULL, &error));
	CHECK(holds);
	OK(callgate_subset(a, b, 1, &holds, &json, &error));
	CHECK(!holds && strstr(callgate_text_data(json, NULL), "\"witnesses\"") != NULL);
	callgate_text_free(json);
	OK(callgate_subset(b, a, 0, &holds, NULL, &error));
	CHECK(holds);

	names[0].data = "write";
	names[0].length = 5;
	OK(callgate_explain(a, names, 1, &json, &error));
	CHECK(strstr(callgate_text_data(json, NULL), "\"ALLOW\"") != NULL);
	CHECK(strstr(callgate_text_data(json, NULL), "\"read\"") == NULL);
	callgate_text_free(json);
	OK(callgate_explain(a, NULL, 0, &json, &error));
	CHECK(strstr(callgate_text_data(json, NULL), "\"read\"") != NULL);
	callgate_text_free(json);
	names[0].length = 4;
	REFUSED(callgate_explain(a, names, 1, &json, &error), CALLGATE_SOURCE, "writ");
	CHECK(json == NULL);

	OK(callgate_lint(a, CALLGATE_LEVEL_NOTE, NULL, 0, &length, &json, &error));
	CHECK(length > 1 && strstr(callgate_text_data(json, NULL), "\"needed-call\"") != NULL);
	callgate_text_free(json);
	names[0].data = "needed-call";
	names[0].length = 11;
	OK(callgate_lint(a, CALLGATE_LEVEL_WARNING, names, 1, &length, &json, &error));
	CHECK(length == 0 && strstr(callgate_text_data(json, NULL), "\"silenced\": 3") != NULL);
	callgate_text_free(json);
	OK(callgate_lint(a, CALLGATE_LEVEL_ERROR, NULL, 0, &length, NULL, &error));
	CHECK(length == 0);
	names[0].length = 10;
	REFUSED(callgate_lint(a, CALLGATE_LEVEL_NOTE, names, 1, &length, &json, &error), CALLGATE_ARGUMENT,
		"did you mean `needed-call`?");
	CHECK(json == NULL);
	REFUSED(callgate_lint(a, 3, NULL, 0, &length, NULL, &error), CALLGATE_ARGUMENT, "level is 3");
	REFUSED(callgate_lint(a, 0, NULL, 0, NULL, NULL, &error), CALLGATE_ARGUMENT, "null pointer");

	both[0] = a;
	both[1] = b;
	OK(callgate_merge(both, 2, NULL, &program, &error));
	CHECK(verdict_of(program, 0, 0, 0) == ALLOW && verdict_of(program, 1, 0, 0) == 0);
	callgate_program_free(program);
	REFUSED(callgate_merge(both, 0, NULL, &program, &error), CALLGATE_ARGUMENT, "empty");
	REFUSED(callgate_merge(both, 65, NULL, &program, &error), CALLGATE_ARGUMENT, "64");
	/* Sources without names are told apart. */
	both[1] = wrong;
	REFUSED(callgate_merge(both, 2, NULL, &program, &error), CALLGATE_SOURCE, "sources[1]:1:9: ");
	REFUSED(callgate_diff(a, wrong, 1, &holds, NULL, &error), CALLGATE_SOURCE, "b:1:9: ");
	REFUSED(callgate_compile(wrong, NULL, &program, &error), CALLGATE_SOURCE, "source:1:9: ");
	callgate_source_free(wrong);
	both[1] = NULL;
	REFUSED(callgate_merge(both, 2, NULL, &program, &error), CALLGATE_ARGUMENT, "null pointer");
	callgate_source_free(a);
	callgate_source_free(b);
}

static void misuses(void)
{
	static const char not_utf8[] = { 'A', 'L', '\xff', 'L' };
	const struct sock_filter wild[] = { { BPF_JMP | BPF_JA, 0, 0, 9 } };
	callgate_source *source = source_of(KAFEL), *other = NULL;
	callgate_program *program = NULL, *short_form;
	callgate_options *options;
	callgate_text *text = NULL;
	struct seccomp_data data;
	uint32_t verdict;
	size_t count = 7;
	int listener = 7;
	bool same;

	REFUSED(callgate_source_text(NULL, 1, &other, &error), CALLGATE_ARGUMENT, "null pointer");
	REFUSED(callgate_source_text("x", 1, NULL, &error), CALLGATE_ARGUMENT, "result");
	REFUSED(callgate_source_text(not_utf8, 4, &other, &error), CALLGATE_ARGUMENT, "byte 2");
	/* Nothing is read of a text that is too long. */
	REFUSED(callgate_source_text("x", (size_t)33 << 20, &other, &error), CALLGATE_ARGUMENT,
		"the maximum is 33554432");
	REFUSED(callgate_source_text("x", SIZE_MAX, &other, &error), CALLGATE_ARGUMENT, "maximum");
	REFUSED(callgate_source_program(wild, SIZE_MAX, &other, &error), CALLGATE_ARGUMENT,
		"maximum");
	REFUSED(callgate_source_program((const struct sock_filter *)((const char *)wild + 1), 1,
					&other, &error),
		CALLGATE_ARGUMENT, "aligned");
	REFUSED(callgate_source_set(NULL, CALLGATE_STR("kernel"), CALLGATE_STR("6.12"), &error),
		CALLGATE_ARGUMENT, "the source is a null pointer");
	REFUSED(callgate_source_set(source, CALLGATE_STR("kernal"), CALLGATE_STR("6.12"), &error),
		CALLGATE_ARGUMENT, "did you mean \"kernel\"");
	REFUSED(callgate_source_set(source, CALLGATE_STR("kernel"), CALLGATE_STR("six"), &error),
		CALLGATE_ARGUMENT, "six");
	REFUSED(callgate_source_set(source, CALLGATE_STR("arches"), CALLGATE_STR("x86_65"), &error),
		CALLGATE_ARGUMENT, "x86_64");
	REFUSED(callgate_source_set(source, NULL, 0, NULL, 0, &error), CALLGATE_ARGUMENT,
		"unknown setting");
	REFUSED(callgate_options_new(NULL, &error), CALLGATE_ARGUMENT, "result");
	OK(callgate_options_new(&options, &error));
	REFUSED(callgate_options_set(options, CALLGATE_STR("model"), CALLGATE_STR("fast"), &error),
		CALLGATE_ARGUMENT, "fast");
	REFUSED(callgate_options_set(options, CALLGATE_STR("mode\0l"), CALLGATE_STR("jit"), &error),
		CALLGATE_ARGUMENT, "mode");
	OK(callgate_options_set(options, CALLGATE_STR("weights"), CALLGATE_STR("???"), &error));
	REFUSED(callgate_compile(source, options, &program, &error), CALLGATE_SOURCE, "weights");
	REFUSED(callgate_compile(NULL, NULL, &program, &error), CALLGATE_ARGUMENT, "null pointer");
	REFUSED(callgate_compile(source, NULL, NULL, &error), CALLGATE_ARGUMENT, "result");
	/* Without an object for the error, only the status says it. */
	CHECK(callgate_compile(NULL, NULL, &program, NULL) == CALLGATE_ARGUMENT);
	CHECK(callgate_compile(NULL, NULL, NULL, NULL) == CALLGATE_ARGUMENT);

	/* The empty text is a text, but not a filter; and a jump must stay in the program. */
	OK(callgate_source_text(NULL, 0, &other, &error));
	CHECK(callgate_compile(other, NULL, &program, NULL) == CALLGATE_SOURCE && program == NULL);
	callgate_source_free(other);
	OK(callgate_source_program(wild, 1, &other, &error));
	REFUSED(callgate_compile(other, NULL, &program, &error), CALLGATE_SOURCE, "instruction");
	REFUSED(callgate_compile_template(other, NULL, NULL, &error), CALLGATE_ARGUMENT, "result");
	callgate_source_free(other);
	OK(callgate_source_preset(CALLGATE_STR("container-defualt"), &other, &error));
	REFUSED(callgate_compile(other, NULL, &program, &error), CALLGATE_SOURCE, "unknown preset");
	REFUSED(callgate_diff(source, other, 1, &same, &text, &error), CALLGATE_SOURCE, "preset");
	callgate_source_free(other);

	REFUSED(callgate_diff(source, NULL, 1, &same, &text, &error), CALLGATE_ARGUMENT,
		"the second source");
	REFUSED(callgate_diff(source, source, 1, NULL, &text, &error), CALLGATE_ARGUMENT, "outcome");
	CHECK(text == NULL);
	REFUSED(callgate_answer(NULL, 5, &text, &error), CALLGATE_ARGUMENT, "null pointer");
	REFUSED(callgate_answer(not_utf8, 4, &text, &error), CALLGATE_ARGUMENT, "not UTF-8");
	OK(callgate_answer(NULL, 0, &text, &error));
	CHECK(strstr(callgate_text_data(text, NULL), "\"errors\"") != NULL);
	callgate_text_free(text);

	memset(&data, 0, sizeof(data));
	OK(callgate_compile(source, NULL, &program, &error));
	REFUSED(callgate_simulate(NULL, &data, &verdict, &error), CALLGATE_ARGUMENT, "null pointer");
	REFUSED(callgate_simulate(program, NULL, &verdict, &error), CALLGATE_ARGUMENT, "data");
	REFUSED(callgate_simulate(program, &data, NULL, &error), CALLGATE_ARGUMENT, "verdict");
	REFUSED(callgate_install(NULL, 0, &error), CALLGATE_ARGUMENT, "null pointer");
	REFUSED(callgate_install(program, 1 << 3, &error), CALLGATE_ARGUMENT, "0x8");
	REFUSED(callgate_install_with(program, 1 << 4, true, NULL, &error), CALLGATE_ARGUMENT, "0x10");
	REFUSED(callgate_install_with(NULL, 0, true, &listener, &error), CALLGATE_ARGUMENT, "null");
	CHECK(listener == -1);
	REFUSED(callgate_compile_text(NULL, 1, &short_form, &error), CALLGATE_ARGUMENT, "null pointer");
	REFUSED(callgate_compile_text("ALLOW", 5, &short_form, &error), CALLGATE_SOURCE, "source");
	REFUSED(callgate_compile_text("x", 1, NULL, &error), CALLGATE_ARGUMENT, "result");
	REFUSED(callgate_install(program, 1U << 31, &error), CALLGATE_ARGUMENT, "0x80000000");
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 0);
	callgate_program_free(program);

	/* NULL has no content, and is freed without effect. */
	CHECK(callgate_error_text(NULL) == NULL && callgate_error_errno(NULL) == 0);
	CHECK(callgate_error_diagnostics(NULL, &count) == NULL && count == 0);
	CHECK(callgate_program_instructions(NULL, NULL) == NULL && callgate_program_flags(NULL) == 0);
	CHECK(callgate_program_warnings(NULL, NULL) == NULL);
	CHECK(callgate_template_variables(NULL, NULL) == NULL);
	CHECK(callgate_template_warnings(NULL, NULL) == NULL);
	CHECK(callgate_text_data(NULL, &count) == NULL && callgate_text_warnings(NULL, NULL) == NULL);
	callgate_error_free(NULL);
	callgate_source_free(NULL);
	callgate_program_free(NULL);
	callgate_template_free(NULL);
	callgate_text_free(NULL);
	callgate_options_free(NULL);
	callgate_options_free(options);
	callgate_source_free(source);
}

/* In a child process: denies mkdir(2), in all threads. */
static void *waiting(void *pipe_end)
{
	char byte;
	ssize_t got = read(*(int *)pipe_end, &byte, 1);

	return got == 1 && mkdir("/", 0700) != 0 && errno == EDOM ? pipe_end : NULL;
}

static void installs(void)
{
	static const char policy[] = "ERRNO(33) { mkdir, mkdirat } DEFAULT ALLOW";
	static const char other[] = "ERRNO(34) { rmdir } DEFAULT ALLOW";
	callgate_source *source;
	callgate_program *program;
	int status = -1;
	pid_t child;

	OK(callgate_source_text(policy, sizeof(policy) - 1, &source, &error));
	OK(callgate_compile(source, NULL, &program, &error));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		pthread_t thread;
		void *result;
		int ends[2];

		CHECK(pipe(ends) == 0 && pthread_create(&thread, NULL, waiting, &ends[0]) == 0);
		OK(callgate_install(program, SECCOMP_FILTER_FLAG_TSYNC, &error));
		CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 1);
		CHECK(mkdir("/", 0700) != 0 && errno == EDOM);
		CHECK(write(ends[1], "x", 1) == 1 && pthread_join(thread, &result) == 0 && result);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	callgate_program_free(program);
	callgate_source_free(source);

	/* A filter for another machine would kill the process. */
	OK(callgate_source_text(other, sizeof(other) - 1, &source, &error));
	OK(callgate_source_set(source, CALLGATE_STR("arches"), CALLGATE_STR("s390x"), &error));
	OK(callgate_compile(source, NULL, &program, &error));
	REFUSED(callgate_install(program, 0, &error), CALLGATE_ARGUMENT, "for s390x");
	callgate_program_free(program);
	callgate_source_free(source);

	/* The kernel's error numbers are kept. */
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		static const char nothing[] = "ERRNO(77) { seccomp, prctl } DEFAULT ALLOW";

		OK(callgate_source_text(nothing, sizeof(nothing) - 1, &source, &error));
		OK(callgate_compile(source, NULL, &program, &error));
		OK(callgate_install(program, 0, &error));
		CHECK(callgate_install(program, 0, &error) == CALLGATE_SYSTEM);
		CHECK(callgate_error_errno(error) == 77);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Answers mkdir(2) with EDOM. */
static void *supervises(void *listener)
{
	struct seccomp_notif_resp answer;
	struct seccomp_notif call;

	memset(&call, 0, sizeof(call));
	memset(&answer, 0, sizeof(answer));
	CHECK(ioctl(*(int *)listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0);
	answer.id = call.id;
	answer.error = -EDOM;
	CHECK(ioctl(*(int *)listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
	return listener;
}

static void installs_with_choices(void)
{
	static const char asks[] = "USER_NOTIF { mkdir, mkdirat } DEFAULT ALLOW";
	static const char denies[] = "ERRNO(33) { mkdir, mkdirat } DEFAULT ALLOW";
	const uint32_t killable = 1U << 5;
	callgate_program *asking, *denying;
	int status = -1, unused = 7;
	pid_t child;

	OK(callgate_compile_text(asks, sizeof(asks) - 1, &asking, &error));
	OK(callgate_compile_text(denies, sizeof(denies) - 1, &denying, &error));
	CHECK(callgate_install(asking, 0, &error) == CALLGATE_SYSTEM);
	CHECK(callgate_error_errno(error) == ENOTSUP);
	callgate_error_free(error);
	CHECK(callgate_install(denying, killable, &error) == CALLGATE_SYSTEM);
	CHECK(strstr(callgate_error_text(error), "needs a listener"));
	callgate_error_free(error);
	CHECK(callgate_install_with(denying, 0, true, &unused, &error) == CALLGATE_SYSTEM);
	CHECK(strstr(callgate_error_text(error), "never notifies") && unused == -1);
	callgate_error_free(error);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		int listener, second;
		pthread_t thread;

		OK(callgate_install_with(asking, SECCOMP_FILTER_FLAG_TSYNC | killable, true, &listener,
					 &error));
		CHECK(pthread_create(&thread, NULL, supervises, &listener) == 0);
		CHECK(mkdir("/", 0700) != 0 && errno == EDOM);
		CHECK(pthread_join(thread, NULL) == 0);
		CHECK(callgate_install_with(asking, 0, true, &second, &error) == CALLGATE_SYSTEM);
		CHECK(callgate_error_errno(error) == EBUSY && second == -1);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);

	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		/* struct __user_cap_header_struct, version 3, and two of __user_cap_data_struct. */
		const uint32_t version[2] = { 0x20080522, 0 }, none[6] = { 0 };

		if (geteuid() == 0) {
			OK(callgate_install_with(denying, 0, false, NULL, &error));
			CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 0);
			CHECK(mkdir("/", 0700) != 0 && errno == EDOM);
		}
		CHECK(syscall(SYS_capset, version, none) == 0);
		CHECK(callgate_install_with(denying, 0, false, NULL, &error) == CALLGATE_SYSTEM);
		CHECK(callgate_error_errno(error) == EACCES);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	callgate_program_free(asking);
	callgate_program_free(denying);
}

static void *compiling(void *shared)
{
	const callgate_source *source = (const callgate_source *)shared;
	callgate_error *own = NULL;
	callgate_program *program;
	size_t count = 0;

	for (int round = 0; round < 20; round++) {
		if (callgate_compile(source, NULL, &program, &own) != CALLGATE_OK)
			return NULL;
		callgate_program_instructions(program, &count);
		callgate_program_free(program);
		if (callgate_compile(NULL, NULL, &program, &own) != CALLGATE_ARGUMENT)
			return NULL;
		callgate_error_free(own);
	}
	return count > 3 ? shared : NULL;
}

static void threads_share_sources(void)
{
	callgate_source *source = source_of(KAFEL);
	pthread_t threads[4];
	void *result;

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, compiling, source) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], &result) == 0 && result == source);
	callgate_source_free(source);
}

int main(void)
{
	CHECK(strchr(callgate_version(), '.') != NULL);
	compiles();
	warns();
	expressions();
	includes();
	templates();
	compares();
	misuses();
	threads_share_sources();
	installs();
	installs_with_choices();
	puts("all is well");
	return 0;
}
