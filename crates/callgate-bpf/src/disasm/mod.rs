//! The disassembler: writes a program as text, in several dialects, which
//! [`text::parse`](super::text::parse) reads back to the same bytes.
//!
//! | dialect | what it is |
//! |---|---|
//! | `annotated` | assembly with labels, named words and actions, and comments with syscall names |
//! | `bpf_asm` | what Linux's `tools/bpf/bpf_asm` reads |
//! | `libseccomp` | the table of libseccomp's `scmp_bpf_disasm` |
//! | `legacy` | the kernel's own names of Linux 3.10 (`BPF_S_*`), with the four fields |
//! | `c`, `rust`, `go` | source code: an array of instructions |
//! | `seccomp-tools` | the assembly of seccomp-tools (`A = sys_number`); of packets, as `bpf_asm` |
//! | `ddd` | the decimal table of `tcpdump -ddd` |
//!
//! Limits: mnemonics cannot express values in fields that the kernel ignores; `annotated` and `bpf_asm`
//! write such an instruction as `.insn code, jt, jf, k`, which Linux's `bpf_asm` does not read.

mod annotated;
mod disassemble;
mod listing;
mod source;
mod statements;
mod table;

pub use disassemble::{
    Dialect, UnknownDialect, disassemble, disassemble_requests, disassemble_socket,
    disassemble_template,
};
pub use listing::ListingOptions;
pub(super) use source::CODE_PARTS;
pub(super) use table::SECCOMP_LOAD;

#[cfg(test)]
mod tests;
