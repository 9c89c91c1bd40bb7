//! Instructions in source code: rows of `tcpdump -dd`, arrays in C, Rust and Go.
//!
//! This does not parse those languages. It expands the macros of C, finds the arrays of instructions, and ignores the
//! code around them. An element of an array is:
//!
//! | element | looks like |
//! |---|---|
//! | fields | `{ 0x20, 0, 0, 4 }`, `{ .code = 6, .k = 0 }`, `sock_filter { code: 6, k: 0 }`, `{Op: 6, K: 0}` |
//! | the kernel's macros | `BPF_STMT(BPF_RET \| BPF_K, SECCOMP_RET_ALLOW)`, `BPF_JUMP(…)`; functions of these names |
//! | a macro of the text | `ALLOW_SYSCALL(read)`, with its `#define`; without it, if it is well known |
//! | `golang.org/x/net/bpf` | `bpf.LoadAbsolute{Off: 4, Size: 4}` |
//!
//! A value is an expression of numbers, constants of the kernel (`SECCOMP_RET_ERRNO`, `AUDIT_ARCH_X86_64`, `EPERM`,
//! `AF_ALG`), syscalls (`__NR_read`, `SYS_read`), `offsetof(struct seccomp_data, nr)`, enumerators and constants of the
//! text, and parameters of a function that the text calls once.
//!
//! Everything in an array is an instruction or an error. A text with two arrays is refused, because the first and the
//! second may be different programs, unless one of them is [`chosen`].
//!
//! # C
//!
//! The [lexer](crate::lexer) joins lines and removes comments, [`preprocess`] follows the directives, [`expand`] expands [`macros`],
//! [`condition`] and [`predefined`] decide which lines apply. [`expression`], [`integer`], [`literal`] and [`types`] compute
//! with the integers of C. All of this follows gcc, with which `cargo lab pasted-c` compares it, or is refused: a name
//! about which nothing is known is a question ([`readings`]), never a guess.
//!
//! The work is bounded: macros are expanded to a limited number of tokens, parentheses and macros have a limited depth,
//! and a text is read a limited number of times.

pub mod calls;
mod changed;
mod chosen;
mod condition;
mod copies;
mod declarator;
mod declared;
mod expand;
mod expression;
mod field;
mod functions;
mod go;
mod headers;
mod integer;
mod language;
mod literal;
mod macros;
mod operand;
mod pairs;
mod parameters;
mod part;
mod place;
mod predefined;
mod preprocess;
mod read;
mod readings;
mod rows;
mod shape;
mod types;
mod uses;
mod variables;

pub(super) use chosen::no_parts;
pub(super) use read::rows;
pub(super) use shape::builder;

#[cfg(test)]
mod array_tests;
#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod macro_tests;
#[cfg(test)]
mod project_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod uses_tests;
#[cfg(test)]
mod value_tests;
