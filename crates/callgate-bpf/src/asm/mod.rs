//! The assembler: the syntax of Linux's `bpf_asm`, with the extensions of annotated listings.
//!
//! ```text
//!         ld   arch                      ; or [4]: a word of seccomp_data by its name
//!         jeq  #0xc000003e, next, bad    ; the following instruction needs no label
//!         ld   nr
//!         jeq  #59, L5                   ; the second target defaults to `next`
//!         ret  ALLOW                     ; or #0x7fff0000
//!   L5:   ret  ERRNO(EPERM)
//!   bad:  ret  KILL_PROCESS
//! ```
//!
//! A line has one instruction (or several), each with any number of labels. A bare number at its start is
//! ignored as the line number of a listing. Mnemonics and registers are
//! case-insensitive, labels are not. Comments are `;`, `//`, `/* */` and lines that start with `#`.
//! Numbers are decimal, `0x`, `0b`, octal with a leading 0, negative, or a character in quotes.
//!
//! Beyond `bpf_asm`:
//! - `next` is the following instruction and `+n` skips n instructions, as jump targets;
//! - `jne`, `jlt` and `jle` take two targets as well;
//! - `ld` takes the words of `seccomp_data`: `nr`, `arch`, `instruction_pointer.low`, `args[0].high`, …;
//!   `.endian little` (the default) or `.endian big` decides the offsets of the halves;
//! - `ret` takes the actions of `seccomp(2)`, with data: `ERRNO(EPERM)`, `TRACE(7)`;
//! - `#AUDIT_ARCH_X86_64`, `#AF_ALG` and `#EPERM` are constants of the kernel, `#__NR_ptrace` is the number of a
//!   syscall, and so is `#ptrace` where A holds nr;
//! - `load32 4` is `ld [4]`, `return` is `ret`, and their constants and those of branches need no `#`;
//! - a number as the target of a jump is how many instructions it skips, and a label may have an `@`;
//! - a line may begin with its number and a colon, which must be that of the instruction;
//! - `.insn code, jt, jf, k` is an instruction by its fields, for values in fields that the kernel
//!   ignores.
//!
//! [`assemble_requests`] reads filters of io_uring requests, with names of their members in place of those of
//! `seccomp_data`.
//!
//! Listings of `tcpdump -d` are read as well: lines such as `(002) jeq #0x800 jt 3 jf 15`, where targets
//! are line numbers.
//!
//! The result is a sequence of instructions; [`Program::new`](callgate_core::Program::new) checks whether the
//! kernel accepts it. Syntax of `bpf_asm`: Linux, `tools/bpf/bpf_exp.y`
//! and `bpf_exp.l`.

mod assemble;
mod error;
mod link;
mod listing;
mod operand;
mod parser;

pub(super) use assemble::assemble_tokens;
pub use assemble::{assemble, assemble_requests};
pub use error::AsmError;
pub(super) use error::Errors;

#[cfg(test)]
mod tests;
