/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Seccomp filters from rules: the interface of libseccomp 2.6.1, implemented by Callgate.
 *
 * A filter is built in a context: seccomp_init() creates one with a default action, seccomp_rule_add() adds rules for
 * syscalls, and seccomp_load() installs the compiled filter for the calling thread.
 *
 * Unless stated otherwise, functions return 0, or a negative errno value.
 */
#ifndef _SECCOMP_H
#define _SECCOMP_H

#include <asm/unistd.h>
#include <elf.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <linux/types.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Version of the interface
 */

#define SCMP_VER_MAJOR 2
#define SCMP_VER_MINOR 6
#define SCMP_VER_MICRO 1

struct scmp_version {
	unsigned int major;
	unsigned int minor;
	unsigned int micro;
};

/* The version of the library that the program runs with. The caller must not free it. */
const struct scmp_version *seccomp_version(void);

/*
 * The API level is a summary of what the running kernel supports:
 *   1  filters
 *   2  SCMP_FLTATR_CTL_TSYNC, seccomp(2)
 *   3  SCMP_FLTATR_CTL_LOG, SCMP_ACT_LOG, SCMP_ACT_KILL_PROCESS
 *   4  SCMP_FLTATR_CTL_SSB
 *   5  SCMP_ACT_NOTIFY
 *   6  SCMP_FLTATR_CTL_TSYNC together with SCMP_ACT_NOTIFY
 *   7  SCMP_FLTATR_CTL_WAITKILL
 * The first call asks the kernel, later ones return the same level.
 */
unsigned int seccomp_api_get(void);

/* Replaces the level that was detected, for tests. */
int seccomp_api_set(unsigned int level);

/*
 * Contexts
 */

/* A filter that is being built. */
typedef void *scmp_filter_ctx;

/* A new context for the native architecture, or NULL. `def_action` applies where no rule does. */
scmp_filter_ctx seccomp_init(uint32_t def_action);

/*
 * Removes all rules, architectures and attributes; the result is as after seccomp_init(). Filters that were loaded stay in
 * the kernel. If `ctx` is NULL, the library forgets the API level, and closes the notification descriptor.
 */
int seccomp_reset(scmp_filter_ctx ctx, uint32_t def_action);

/* Frees a context. Filters that were loaded stay in the kernel. */
void seccomp_release(scmp_filter_ctx ctx);

/*
 * Moves the architectures of `ctx_src` with their rules to `ctx_dst`, and frees `ctx_src`. The contexts must agree in
 * the default action, SCMP_FLTATR_CTL_NNP and SCMP_FLTATR_CTL_TSYNC, and have no architecture in common; otherwise both are
 * unchanged.
 */
int seccomp_merge(scmp_filter_ctx ctx_dst, scmp_filter_ctx ctx_src);

/* Compiles the filter and installs it in the kernel. */
int seccomp_load(const scmp_filter_ctx ctx);

/* Compiles the filter and keeps the program for seccomp_load() and seccomp_export_bpf(). */
int seccomp_precompute(const scmp_filter_ctx ctx);

/*
 * A transaction collects changes of the rules. Transactions nest; changes after seccomp_transaction_start() are undone by
 * seccomp_transaction_reject() and kept by seccomp_transaction_commit().
 */
int seccomp_transaction_start(const scmp_filter_ctx ctx);
void seccomp_transaction_reject(const scmp_filter_ctx ctx);
int seccomp_transaction_commit(const scmp_filter_ctx ctx);

/*
 * Attributes
 */

enum scmp_filter_attr {
	_SCMP_FLTATR_MIN = 0,
	SCMP_FLTATR_ACT_DEFAULT = 1,   /* action if no rule applies; read-only */
	SCMP_FLTATR_ACT_BADARCH = 2,   /* action for other architectures */
	SCMP_FLTATR_CTL_NNP = 3,       /* set no_new_privs before loading; on by default */
	SCMP_FLTATR_CTL_TSYNC = 4,     /* load for all threads of the process */
	SCMP_FLTATR_API_TSKIP = 5,     /* permit rules for the syscall number -1 */
	SCMP_FLTATR_CTL_LOG = 6,       /* log all actions except SCMP_ACT_ALLOW */
	SCMP_FLTATR_CTL_SSB = 7,       /* do not mitigate speculative store bypass */
	SCMP_FLTATR_CTL_OPTIMIZE = 8,  /* 1 (default) or 2; Callgate compiles both alike */
	SCMP_FLTATR_API_SYSRAWRC = 9,  /* return the errno values of the kernel */
	SCMP_FLTATR_CTL_WAITKILL = 10, /* notified syscalls wait for fatal signals only */
	_SCMP_FLTATR_MAX
};

int seccomp_attr_get(const scmp_filter_ctx ctx, enum scmp_filter_attr attr, uint32_t *value);
int seccomp_attr_set(scmp_filter_ctx ctx, enum scmp_filter_attr attr, uint32_t value);

/*
 * Architectures. Tokens are those of the audit subsystem, except for x32, which shares x86_64's there.
 */

#ifndef EM_MIPS
#define EM_MIPS 8
#endif
#ifndef EM_AARCH64
#define EM_AARCH64 183
#endif
#ifndef EM_RISCV
#define EM_RISCV 243
#endif
#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

/* For kernel headers that are older than an architecture. */
#ifndef __AUDIT_ARCH_CONVENTION_MIPS64_N32
#define __AUDIT_ARCH_CONVENTION_MIPS64_N32 0x20000000
#endif
#ifndef AUDIT_ARCH_AARCH64
#define AUDIT_ARCH_AARCH64 (EM_AARCH64 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif
#ifndef AUDIT_ARCH_LOONGARCH64
#define AUDIT_ARCH_LOONGARCH64 (EM_LOONGARCH | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif
#ifndef AUDIT_ARCH_MIPS
#define AUDIT_ARCH_MIPS (EM_MIPS)
#endif
#ifndef AUDIT_ARCH_MIPS64
#define AUDIT_ARCH_MIPS64 (EM_MIPS | __AUDIT_ARCH_64BIT)
#endif
#ifndef AUDIT_ARCH_MIPS64N32
#define AUDIT_ARCH_MIPS64N32 (EM_MIPS | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_CONVENTION_MIPS64_N32)
#endif
#ifndef AUDIT_ARCH_MIPSEL64N32
#define AUDIT_ARCH_MIPSEL64N32 (AUDIT_ARCH_MIPS64N32 | __AUDIT_ARCH_LE)
#endif
#ifndef AUDIT_ARCH_PPC64LE
#define AUDIT_ARCH_PPC64LE (EM_PPC64 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif
#ifndef AUDIT_ARCH_RISCV64
#define AUDIT_ARCH_RISCV64 (EM_RISCV | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif

#define SCMP_ARCH_NATIVE      0
#define SCMP_ARCH_X86         AUDIT_ARCH_I386
#define SCMP_ARCH_X86_64      AUDIT_ARCH_X86_64
#define SCMP_ARCH_X32         (EM_X86_64 | __AUDIT_ARCH_LE)
#define SCMP_ARCH_ARM         AUDIT_ARCH_ARM
#define SCMP_ARCH_AARCH64     AUDIT_ARCH_AARCH64
#define SCMP_ARCH_LOONGARCH64 AUDIT_ARCH_LOONGARCH64
#define SCMP_ARCH_M68K        AUDIT_ARCH_M68K
#define SCMP_ARCH_MIPS        AUDIT_ARCH_MIPS
#define SCMP_ARCH_MIPS64      AUDIT_ARCH_MIPS64
#define SCMP_ARCH_MIPS64N32   AUDIT_ARCH_MIPS64N32
#define SCMP_ARCH_MIPSEL      AUDIT_ARCH_MIPSEL
#define SCMP_ARCH_MIPSEL64    AUDIT_ARCH_MIPSEL64
#define SCMP_ARCH_MIPSEL64N32 AUDIT_ARCH_MIPSEL64N32
#define SCMP_ARCH_PARISC      AUDIT_ARCH_PARISC
#define SCMP_ARCH_PARISC64    AUDIT_ARCH_PARISC64
#define SCMP_ARCH_PPC         AUDIT_ARCH_PPC
#define SCMP_ARCH_PPC64       AUDIT_ARCH_PPC64
#define SCMP_ARCH_PPC64LE     AUDIT_ARCH_PPC64LE
#define SCMP_ARCH_RISCV64     AUDIT_ARCH_RISCV64
#define SCMP_ARCH_S390        AUDIT_ARCH_S390
#define SCMP_ARCH_S390X       AUDIT_ARCH_S390X
#define SCMP_ARCH_SH          AUDIT_ARCH_SHEL
#define SCMP_ARCH_SHEB        AUDIT_ARCH_SH

/* The token of an architecture by its name in lower case (x86_64, aarch64); 0 if it is unknown. */
uint32_t seccomp_arch_resolve_name(const char *arch_name);

/* The token of the architecture that the library was compiled for. */
uint32_t seccomp_arch_native(void);

/* 0 if the filter has the architecture, -EEXIST if not. */
int seccomp_arch_exist(const scmp_filter_ctx ctx, uint32_t arch_token);

/* Adds an architecture. It gets no rules that were added before. */
int seccomp_arch_add(scmp_filter_ctx ctx, uint32_t arch_token);

/* Removes an architecture with its rules. */
int seccomp_arch_remove(scmp_filter_ctx ctx, uint32_t arch_token);

/*
 * Syscalls
 *
 * A syscall that an architecture lacks, or reaches through socketcall(2) or ipc(2) only, has a negative pseudo number.
 */

/* The number of a syscall on the native architecture: SCMP_SYS(read). */
#define SCMP_SYS(x) (__SNR_##x)

/* What functions return for an unknown name. */
#define __NR_SCMP_ERROR -1
/* A number that no syscall has. */
#define __NR_SCMP_UNDEF -2

/* The name of a syscall, which the caller must free; NULL if the number or the token is unknown. */
char *seccomp_syscall_resolve_num_arch(uint32_t arch_token, int num);

/* The number of a syscall, possibly a pseudo number; __NR_SCMP_ERROR if the name or the token is unknown. */
int seccomp_syscall_resolve_name_arch(uint32_t arch_token, const char *name);

/* The same, with the number of socketcall(2) or ipc(2) instead of a pseudo number that these replace. */
int seccomp_syscall_resolve_name_rewrite(uint32_t arch_token, const char *name);

/* seccomp_syscall_resolve_name_arch() for the native architecture. */
int seccomp_syscall_resolve_name(const char *name);

/* Marks a syscall as frequent; 255 is the highest priority. This affects the speed of the filter only. */
int seccomp_syscall_priority(scmp_filter_ctx ctx, int syscall, uint8_t priority);

/*
 * Actions
 */

#define SCMP_ACT_KILL_PROCESS 0x80000000U
#define SCMP_ACT_KILL_THREAD  0x00000000U
#define SCMP_ACT_KILL         SCMP_ACT_KILL_THREAD
/* SIGSYS for the thread, with si_errno `x`; versions up to 2.6.1 of the original refuse other numbers than 0. */
#define SCMP_ACT_TRAPX(x) (0x00030000U | ((x) & 0x0000ffffU))
#define SCMP_ACT_TRAP     SCMP_ACT_TRAPX(0)
/* The syscall fails with errno `x`. */
#define SCMP_ACT_ERRNO(x) (0x00050000U | ((x) & 0x0000ffffU))
/* A process with the notification descriptor decides, see seccomp_notify_fd(). */
#define SCMP_ACT_NOTIFY 0x7fc00000U
/* A tracer decides; PTRACE_GETEVENTMSG returns `x`. */
#define SCMP_ACT_TRACE(x) (0x7ff00000U | ((x) & 0x0000ffffU))
#define SCMP_ACT_LOG      0x7ffc0000U
#define SCMP_ACT_ALLOW    0x7fff0000U

/*
 * Comparisons of arguments
 */

typedef uint64_t scmp_datum_t;

/* All comparisons are unsigned. */
enum scmp_compare {
	_SCMP_CMP_MIN = 0,
	SCMP_CMP_NE = 1,
	SCMP_CMP_LT = 2,
	SCMP_CMP_LE = 3,
	SCMP_CMP_EQ = 4,
	SCMP_CMP_GE = 5,
	SCMP_CMP_GT = 6,
	SCMP_CMP_MASKED_EQ = 7, /* (argument & datum_a) == datum_b */
	_SCMP_CMP_MAX
};

struct scmp_arg_cmp {
	unsigned int arg; /* 0 to 5 */
	enum scmp_compare op;
	scmp_datum_t datum_a;
	scmp_datum_t datum_b; /* for SCMP_CMP_MASKED_EQ only */
};

/* SCMP_CMP(argument, operator, datum_a[, datum_b]) */
#define SCMP_CMP64(...) ((struct scmp_arg_cmp){__VA_ARGS__})
#define SCMP_CMP        SCMP_CMP64

/* The same for data of 32 bits: without it, a negative int becomes a number of 64 bits by sign extension. */
#define SCMP_CMP32(x, y, ...) _SCMP_CMP32_SELECT(__VA_ARGS__, _SCMP_CMP32_2, _SCMP_CMP32_1, 0)(x, y, __VA_ARGS__)
#define _SCMP_CMP32_SELECT(a, b, selected, ...) selected
#define _SCMP_CMP32_1(x, y, a)                  SCMP_CMP64(x, y, (uint32_t)(a))
#define _SCMP_CMP32_2(x, y, a, b)               SCMP_CMP64(x, y, (uint32_t)(a), (uint32_t)(b))

/* SCMP_A0(operator, datum_a[, datum_b]) compares argument 0. */
#define SCMP_A0_64(...) SCMP_CMP64(0, __VA_ARGS__)
#define SCMP_A1_64(...) SCMP_CMP64(1, __VA_ARGS__)
#define SCMP_A2_64(...) SCMP_CMP64(2, __VA_ARGS__)
#define SCMP_A3_64(...) SCMP_CMP64(3, __VA_ARGS__)
#define SCMP_A4_64(...) SCMP_CMP64(4, __VA_ARGS__)
#define SCMP_A5_64(...) SCMP_CMP64(5, __VA_ARGS__)

#define SCMP_A0 SCMP_A0_64
#define SCMP_A1 SCMP_A1_64
#define SCMP_A2 SCMP_A2_64
#define SCMP_A3 SCMP_A3_64
#define SCMP_A4 SCMP_A4_64
#define SCMP_A5 SCMP_A5_64

#define SCMP_A0_32(x, ...) SCMP_CMP32(0, x, __VA_ARGS__)
#define SCMP_A1_32(x, ...) SCMP_CMP32(1, x, __VA_ARGS__)
#define SCMP_A2_32(x, ...) SCMP_CMP32(2, x, __VA_ARGS__)
#define SCMP_A3_32(x, ...) SCMP_CMP32(3, x, __VA_ARGS__)
#define SCMP_A4_32(x, ...) SCMP_CMP32(4, x, __VA_ARGS__)
#define SCMP_A5_32(x, ...) SCMP_CMP32(5, x, __VA_ARGS__)

/*
 * Rules
 *
 * A rule applies if all of its `arg_cnt` comparisons hold; with several rules for a syscall, one must apply. The number is
 * the native one and is translated for the other architectures of the filter.
 */

/* Adds a rule to all architectures, with socketcall(2) and ipc(2) where these replace the syscall. */
int seccomp_rule_add(scmp_filter_ctx ctx, uint32_t action, int syscall, unsigned int arg_cnt, ...);
int seccomp_rule_add_array(scmp_filter_ctx ctx, uint32_t action, int syscall, unsigned int arg_cnt,
			   const struct scmp_arg_cmp *arg_array);

/* Adds a rule, or fails if the architecture cannot express it exactly. */
int seccomp_rule_add_exact(scmp_filter_ctx ctx, uint32_t action, int syscall, unsigned int arg_cnt, ...);
int seccomp_rule_add_exact_array(scmp_filter_ctx ctx, uint32_t action, int syscall, unsigned int arg_cnt,
				 const struct scmp_arg_cmp *arg_array);

/*
 * Notifications, see seccomp_unotify(2)
 */

/* For kernel headers before 5.0. */
#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000U

struct seccomp_notif {
	__u64 id;
	__u32 pid;
	__u32 flags;
	struct seccomp_data data;
};

struct seccomp_notif_resp {
	__u64 id;
	__s64 val;
	__s32 error;
	__u32 flags;
};
#endif

/* For kernel headers before 5.9. */
#ifndef SECCOMP_ADDFD_FLAG_SETFD
#define SECCOMP_ADDFD_FLAG_SETFD (1UL << 0)

struct seccomp_notif_addfd {
	__u64 id;
	__u32 flags;
	__u32 srcfd;
	__u32 newfd;
	__u32 newfd_flags;
};
#endif

/* For kernel headers before 5.14. */
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* The notification descriptor of a loaded filter with SCMP_ACT_NOTIFY. */
int seccomp_notify_fd(const scmp_filter_ctx ctx);

/* Allocates a request and a response in the sizes of the running kernel. Either pointer may be NULL. */
int seccomp_notify_alloc(struct seccomp_notif **req, struct seccomp_notif_resp **resp);
void seccomp_notify_free(struct seccomp_notif *req, struct seccomp_notif_resp *resp);

/* Waits for a notification. */
int seccomp_notify_receive(int fd, struct seccomp_notif *req);

/* Answers a notification. */
int seccomp_notify_respond(int fd, struct seccomp_notif_resp *resp);

/* 0 if the thread that made the syscall still waits for the answer. */
int seccomp_notify_id_valid(int fd, uint64_t id);

/*
 * Installs a copy of the descriptor addfd->srcfd in the process whose syscall waits; returns its number there. In libseccomp
 * after 2.6.1.
 */
int seccomp_notify_addfd(int fd, struct seccomp_notif_addfd *addfd);

/*
 * Export
 */

/* Writes the filter as pseudo code, for humans. */
int seccomp_export_pfc(const scmp_filter_ctx ctx, int fd);

/* Writes the BPF program, an array of struct sock_filter. */
int seccomp_export_bpf(const scmp_filter_ctx ctx, int fd);

/*
 * Copies the BPF program to a buffer of `*len` bytes, and sets `*len` to its size. If `buf` is NULL, only the size is set;
 * if the buffer is too small, it is set too and the result is -ERANGE.
 */
int seccomp_export_bpf_mem(const scmp_filter_ctx ctx, void *buf, size_t *len);

#include <seccomp-syscalls.h>

#ifdef __cplusplus
}
#endif

#endif
