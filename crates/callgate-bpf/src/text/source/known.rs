//! Macros that many examples use without showing their definitions.
//!
//! Those of Will Drewry's and Kees Cook's tutorial on seccomp filters (`seccomp-bpf.h`), which later examples copied, and
//! short names of opcodes in examples of socket filters.

/// The definitions. Those of the text come first.
pub(super) const DEFINITIONS: &str = r"
#define syscall_nr offsetof(struct seccomp_data, nr)
#define arch_nr offsetof(struct seccomp_data, arch)
#define VALIDATE_ARCHITECTURE \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arch_nr), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_NR, 1, 0), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)
#define EXAMINE_SYSCALL BPF_STMT(BPF_LD | BPF_W | BPF_ABS, syscall_nr)
#define ALLOW_SYSCALL(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL_PROCESS BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)
#define OP_LDH (BPF_LD | BPF_H | BPF_ABS)
#define OP_LDB (BPF_LD | BPF_B | BPF_ABS)
#define OP_JEQ (BPF_JMP | BPF_JEQ | BPF_K)
#define OP_RET (BPF_RET | BPF_K)
#define SCMP_SYS(name) __NR_##name
";
