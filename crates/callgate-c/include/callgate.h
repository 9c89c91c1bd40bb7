/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Callgate: compiles any description of a seccomp filter to a BPF program that
 * is proved equal to it, and explains, compares and installs filters.
 *
 *	callgate_program *program;
 *	callgate_error *error;
 *	int status;
 *
 *	status = callgate_compile_text(text, strlen(text), &program, &error);
 *	if (status == CALLGATE_OK)
 *		status = callgate_install(program, 0, &error);
 *	if (status != CALLGATE_OK)
 *		fprintf(stderr, "%s\n", callgate_error_text(error));
 *	callgate_error_free(error);
 *	callgate_program_free(program);
 *
 * With a callgate_source, a policy is read in other ways: with a name for its
 * messages, included files, values of variables, for another machine.
 *
 * Results. Most functions return CALLGATE_OK or another status. If one fails,
 * it sets *error to an object that callgate_error_free frees, and the object
 * that it would have made to NULL. If it succeeds, it sets *error to NULL.
 * `error` may be NULL. An error of an earlier call is not freed.
 *
 * Texts are UTF-8 in a buffer with a length; they need no zero byte at the end.
 * CALLGATE_STR("kernel") is a literal with its length, as two arguments. NULL
 * is an empty text if the length is 0. Texts that functions return end with a
 * zero byte. A text has at most 32 MiB, and so have the files of a source
 * together.
 *
 * Memory. An object belongs to the caller, and its ..._free function frees it;
 * NULL is allowed there. Functions copy what they need from their arguments.
 * What a function returns directly (const ... *) belongs to the object that it
 * was given, and is valid until this is freed.
 *
 * Threads. There is no global state. Functions may run at the same time unless
 * one of them changes or frees an object that the other uses; only ..._set...,
 * ..._add_file and ..._free change objects.
 *
 * No function aborts or unwinds, except that Rust's allocator aborts the process
 * when memory is exhausted. Time is bounded by the limits of the compiler.
 *
 * docs/how-to/filters-in-c.md has examples.
 */
#ifndef CALLGATE_H
#define CALLGATE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CALLGATE_CHECKED __attribute__((__warn_unused_result__))
#else
#define CALLGATE_CHECKED
#endif

/* The text and the length of a literal, as two arguments. */
#define CALLGATE_STR(literal) ("" literal), (sizeof(literal) - 1)

/* What functions return. */
enum callgate_status {
	CALLGATE_OK = 0,
	/* An argument is wrong: NULL, too long, not UTF-8, or an unknown key or value. */
	CALLGATE_ARGUMENT = 1,
	/* A source has errors, or its program would exceed a limit. */
	CALLGATE_SOURCE = 2,
	/* The kernel refuses; callgate_error_errno says why. */
	CALLGATE_SYSTEM = 3,
	/* A defect of Callgate. */
	CALLGATE_INTERNAL = 4,
};

enum callgate_severity {
	CALLGATE_SEVERITY_ERROR = 1,
	CALLGATE_SEVERITY_WARNING = 2,
};

/* For `max` of callgate_diff and callgate_subset. */
#define CALLGATE_ALL UINT32_MAX

typedef struct callgate_error callgate_error;
typedef struct callgate_source callgate_source;
typedef struct callgate_options callgate_options;
typedef struct callgate_program callgate_program;
typedef struct callgate_template callgate_template;
typedef struct callgate_text callgate_text;

/* A text in a list. */
typedef struct callgate_string {
	const char *data;
	size_t length;
} callgate_string;

/* A message about a source. */
typedef struct callgate_diagnostic {
	const char *source;	/* the name of the source; "" if it is about an argument */
	const char *message;
	const char *help;	/* what to do about it; "" if there is no advice */
	uint32_t line;		/* from 1; 0 if it is about no position */
	uint32_t column;	/* in characters, from 1; 0 if it is about no position */
	uint32_t severity;	/* enum callgate_severity */
	uint32_t reserved;	/* 0 */
} callgate_diagnostic;

/* The version of the library, such as "0.1.0". */
const char *callgate_version(void);

/*
 * Errors
 */

/*
 * All diagnostics of an error as text without a line break at the end:
 * "profile.json:2:20: error: ...", with advice in a line of its own. NULL for
 * NULL.
 */
const char *callgate_error_text(const callgate_error *error);

/*
 * The diagnostics of an error in the order of the source, warnings among them,
 * and their number unless `count` is NULL. At least one is an error. NULL for
 * NULL.
 */
const callgate_diagnostic *callgate_error_diagnostics(const callgate_error *error, size_t *count);

/* The error number of the kernel for CALLGATE_SYSTEM, otherwise 0. */
int callgate_error_errno(const callgate_error *error);

void callgate_error_free(callgate_error *error);

/*
 * Sources: filters in any form
 */

/*
 * A policy or a program as text: a Docker, Podman or OCI profile, a systemd
 * unit, a Kafel or minijail policy, a listing, and others. The content
 * decides which, unless callgate_source_set sets "format".
 */
CALLGATE_CHECKED int callgate_source_text(const char *text, size_t length, callgate_source **source,
					  callgate_error **error);

/* A preset, such as CALLGATE_STR("container-default"). */
CALLGATE_CHECKED int callgate_source_preset(const char *name, size_t length,
					    callgate_source **source, callgate_error **error);

/* A program, of up to 65,536 instructions. */
CALLGATE_CHECKED int callgate_source_program(const struct sock_filter *instructions, size_t count,
					     callgate_source **source, callgate_error **error);

/*
 * A combination of other sources, such as CALLGATE_STR("app + ptrace - mount"):
 * + adds what the next one permits, - removes it, ^ keeps what both permit.
 * Presets and syscalls are named as they are; each other name is that of a
 * source, which callgate_source_add_source adds.
 */
CALLGATE_CHECKED int callgate_source_expression(const char *text, size_t length,
						callgate_source **source, callgate_error **error);

/*
 * Adds a copy of a source to an expression, which combines it under this name.
 * It must not be an expression itself.
 */
CALLGATE_CHECKED int callgate_source_add_source(callgate_source *expression, const char *name,
						size_t name_length, const callgate_source *source,
						callgate_error **error);

/*
 * Changes how a source is read. A key is one of:
 *
 *	name		the name in messages, "source" without this; its
 *			extension helps to recognize the format
 *	format		a name such as docker or kafel (docs/reference/commands.md lists
 *			them), or bpftext; without this, the content decides
 *	arches		the architectures, with commas: x86_64,x86
 *	machine		the architecture where a source names none; that of the
 *			process without this
 *	kernel		the version for conditions of a profile, such as 6.12;
 *			that of the running kernel without this
 *	caps		the capabilities for conditions of a profile, such as
 *			none, or CAP_SYS_PTRACE; Docker's default without this
 *	enosys_above	on, off or runc-1.1: ENOSYS for newer syscalls
 *	systemd		the version of systemd, such as 257
 *	minijail_semantics	c or python: the compiler of minijail that decides
 *	part		the part of a text with several: the name of a Kubernetes
 *			resource, the thread of a Firecracker document, or
 *			the name or line of an array in source code
 *	strict		true or false: whether unknown names and invisible characters are
 *			errors
 *	endian		little or big: the byte order of a program
 *	define		NAME or NAME=VALUE: a macro with which C as text is read;
 *			may be set several times
 *	undefine	NAME: a macro that is not defined then
 */
CALLGATE_CHECKED int callgate_source_set(callgate_source *source, const char *key,
					 size_t key_length, const char *value, size_t value_length,
					 callgate_error **error);

/* Adds a file that the source may include, the base of a profile, or a drop-in UNIT.d/NAME.conf. */
CALLGATE_CHECKED int callgate_source_add_file(callgate_source *source, const char *name,
					      size_t name_length, const char *text, size_t length,
					      callgate_error **error);

/*
 * Gives a variable of the policy a value, in place of an earlier one
 * (docs/reference/variables.md). All functions but callgate_compile_template need the
 * values of all variables.
 */
CALLGATE_CHECKED int callgate_source_set_variable(callgate_source *source, const char *name,
						  size_t name_length, uint64_t value,
						  callgate_error **error);

void callgate_source_free(callgate_source *source);

/*
 * Options of the compiler
 */

CALLGATE_CHECKED int callgate_options_new(callgate_options **options, callgate_error **error);

/*
 * Changes an option. A key is one of:
 *
 *	model		uncached, cached, interpreter or jit: the cost model
 *	optimize	speed, size or quick
 *	instructions	all or basic
 *	weights		the text of a file: how often each syscall occurs
 */
CALLGATE_CHECKED int callgate_options_set(callgate_options *options, const char *key,
					  size_t key_length, const char *value, size_t value_length,
					  callgate_error **error);

void callgate_options_free(callgate_options *options);

/*
 * Programs
 */

/*
 * Compiles a policy or a program as text with the defaults: for the architecture
 * of this process and the running kernel. As callgate_source_text and
 * callgate_compile.
 */
CALLGATE_CHECKED int callgate_compile_text(const char *text, size_t length,
					   callgate_program **program, callgate_error **error);

/*
 * Compiles a source, and proves that the program does exactly what the source
 * says. A program is compiled from its meaning, which optimizes it. `options`
 * may be NULL.
 */
CALLGATE_CHECKED int callgate_compile(const callgate_source *source,
				      const callgate_options *options, callgate_program **program,
				      callgate_error **error);

/*
 * Makes one program of the filters of up to 64 sources, the oldest first, with
 * the verdicts that the kernel computes for all of them.
 */
CALLGATE_CHECKED int callgate_merge(const callgate_source *const *sources, size_t count,
				    const callgate_options *options, callgate_program **program,
				    callgate_error **error);

/* The instructions, and their number unless `count` is NULL. NULL for NULL. */
const struct sock_filter *callgate_program_instructions(const callgate_program *program,
							size_t *count);

/* The flags that the source wants for seccomp(2), SECCOMP_FILTER_FLAG_... */
uint32_t callgate_program_flags(const callgate_program *program);

/* The warnings about the source, and their number unless `count` is NULL. */
const callgate_diagnostic *callgate_program_warnings(const callgate_program *program,
						     size_t *count);

/* The verdict for a syscall, SECCOMP_RET_... */
CALLGATE_CHECKED int callgate_simulate(const callgate_program *program,
				       const struct seccomp_data *data, uint32_t *verdict,
				       callgate_error **error);

/*
 * Sets no_new_privs and installs the program for the calling thread and what it
 * starts later; it cannot be removed. `flags` is 0 or any of
 *
 *	SECCOMP_FILTER_FLAG_TSYNC	for all threads of the process
 *	SECCOMP_FILTER_FLAG_LOG
 *	SECCOMP_FILTER_FLAG_SPEC_ALLOW
 *
 * and the flags of the source are added. If a thread has another filter, TSYNC
 * fails with ESRCH. After an error, no filter is installed, but no_new_privs may
 * be set. A program that notifies a listener is refused (ENOTSUP): without one,
 * the kernel would fail the syscalls with ENOSYS.
 *
 * A program is refused if the architectures of its source lack that of the
 * process, unless it permits exit_group(2) of it: it would deny every syscall.
 */
CALLGATE_CHECKED int callgate_install(const callgate_program *program, uint32_t flags,
				      callgate_error **error);

/*
 * The same with choices. Without `no_new_privs`, the thread must have it already,
 * or CAP_SYS_ADMIN in its user namespace (EACCES): for container runtimes.
 *
 * If `listener` is not NULL, it is set to a descriptor that receives the syscalls
 * with the verdict SECCOMP_RET_USER_NOTIF (seccomp_unotify(2)); after an error, to
 * -1. A program that never notifies is refused. The descriptor is closed on
 * execve(2). With a listener, the flag
 *
 *	SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
 *
 * is allowed, too; without one it is refused, also as a flag of the source. A
 * thread has at most one filter with a listener (EBUSY).
 */
CALLGATE_CHECKED int callgate_install_with(const callgate_program *program, uint32_t flags,
					   bool no_new_privs, int *listener,
					   callgate_error **error);

void callgate_program_free(callgate_program *program);

/*
 * Templates: programs with variables, whose values are known only when the
 * filter is installed (docs/reference/variables.md)
 */

typedef struct callgate_variable {
	const char *name;
	uint32_t bits;		/* 32 or 64 */
	uint32_t reserved;	/* 0 */
} callgate_variable;

/* A value of a variable. */
typedef struct callgate_value {
	callgate_string name;
	uint64_t value;
} callgate_value;

/* Compiles a policy, and proves the program for all values of its variables. */
CALLGATE_CHECKED int callgate_compile_template(const callgate_source *source,
					       const callgate_options *options,
					       callgate_template **result, callgate_error **error);

/* The variables, and their number unless `count` is NULL. */
const callgate_variable *callgate_template_variables(const callgate_template *self, size_t *count);

/* The warnings about the source, and their number unless `count` is NULL. */
const callgate_diagnostic *callgate_template_warnings(const callgate_template *self, size_t *count);

/*
 * The program for these values, without another compilation. A value that is
 * missing, given twice, for no variable, or too large is an error.
 */
CALLGATE_CHECKED int callgate_template_instantiate(const callgate_template *self,
						   const callgate_value *values, size_t count,
						   callgate_program **program,
						   callgate_error **error);

void callgate_template_free(callgate_template *self);

/*
 * Explanations and comparisons, with details in JSON that has the keys of
 * `callgate explain --format json`
 */

/* What a filter does with these syscalls (names or numbers), or with all if `count` is 0. */
CALLGATE_CHECKED int callgate_explain(const callgate_source *source, const callgate_string *syscalls,
				      size_t count, callgate_text **json, callgate_error **error);

/*
 * Whether two filters have the same verdict for every possible syscall. `json`
 * may be NULL; otherwise it has up to `max` differences.
 */
CALLGATE_CHECKED int callgate_diff(const callgate_source *a, const callgate_source *b, uint32_t max,
				   bool *same, callgate_text **json, callgate_error **error);

/*
 * Whether `a` permits nothing that `b` does not, as the kernel reads arguments:
 * of an int, only the low 32 bits count. `json` may be NULL; otherwise it has up
 * to `max` syscalls that only `a` permits.
 */
CALLGATE_CHECKED int callgate_subset(const callgate_source *a, const callgate_source *b,
				     uint32_t max, bool *subset, callgate_text **json,
				     callgate_error **error);

/* How serious a finding of callgate_lint() is. */
enum callgate_level {
	CALLGATE_LEVEL_NOTE = 0,	/* advice */
	CALLGATE_LEVEL_WARNING = 1,	/* the filter probably does not do what its author wants */
	CALLGATE_LEVEL_ERROR = 2,	/* a program can evade a rule */
};

/*
 * Mistakes in a filter, and ways to evade it: `findings` is how many there are of
 * `level` (enum callgate_level) and above. `json` may be NULL; otherwise it has
 * all of them, each with a place, a syscall that shows it and advice, as an item
 * of `sources` of `callgate lint --format json`. `allow` silences checks, each
 * "ID" or "ID=SYSCALL"; comments in the text of the source do, too.
 */
CALLGATE_CHECKED int callgate_lint(const callgate_source *source, uint32_t level,
				   const callgate_string *allow, size_t count, size_t *findings,
				   callgate_text **json, callgate_error **error);

/*
 * Answers a request in JSON, as all bindings of Callgate do; the documentation of
 * the crate callgate-requests describes requests. An error in a request is an
 * answer, too; the function fails only if the request is too long or not UTF-8.
 */
CALLGATE_CHECKED int callgate_answer(const char *request, size_t length, callgate_text **answer,
				     callgate_error **error);

/* The text, which ends with a zero byte, and its length without this unless `length` is NULL. */
const char *callgate_text_data(const callgate_text *text, size_t *length);

/* The warnings about the sources, and their number unless `count` is NULL. */
const callgate_diagnostic *callgate_text_warnings(const callgate_text *text, size_t *count);

void callgate_text_free(callgate_text *text);

#ifdef __cplusplus
}
#endif

#endif
