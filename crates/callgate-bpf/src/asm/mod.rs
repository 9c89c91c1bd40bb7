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
//!   `.endian little` (the default of [`assemble`]) or `.endian big` decides the offsets of the halves;
//! - `ret` takes the actions of `seccomp(2)`, with data: `ERRNO(EPERM)`, `TRACE(7)`;
//! - `#AUDIT_ARCH_X86_64` and the other arch tokens are constants;
//! - `.insn code, jt, jf, k` is an instruction by its fields, for values in fields that the kernel
//!   ignores.
//!
//! Listings of `tcpdump -d` are read as well: lines such as `(002) jeq #0x800 jt 3 jf 15`, where targets
//! are line numbers.
//!
//! The result is a sequence of instructions; [`Program::new`](super::Program::new) checks whether the
//! kernel accepts it. Syntax of `bpf_asm`: Linux, `tools/bpf/bpf_exp.y`
//! and `bpf_exp.l`.

mod error;
mod link;
mod listing;
mod operand;
mod parser;

pub use error::AsmError;
pub(super) use error::Errors;

use super::insn::Insn;
use super::lexer::{Flavour, Token, tokens};
use crate::data::Endian;

/// Assembles a text. The error lists every mistake.
///
/// ```
/// use callgate_bpf::{Insn, Op, asm};
///
/// let insns = asm::assemble("ld [0]\n jeq #59, no\n ret ALLOW\n no: ret #0x50001")?;
/// assert_eq!(insns[1], Insn::branch(Op::JeqK, 59, 1, 0));
/// let error = asm::assemble("ld [0]\n jmp nowhere").unwrap_err();
/// assert!(error.to_string().starts_with("2:6: label `nowhere` is not defined"));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
pub fn assemble(text: &str) -> Result<Vec<Insn>, AsmError> {
    assemble_for(text, Endian::Little).map(|(insns, _)| insns)
}

/// Assembles a text in this byte order, unless `.endian` sets another. Returns the byte order at the end as
/// well: that of the machine that the program is for.
///
/// ```
/// use callgate_bpf::Endian;
/// use callgate_bpf::asm;
///
/// let (insns, endian) = asm::assemble_for("ld args[0].low\n ret ALLOW", Endian::Big)?;
/// assert_eq!((insns[0].k, endian), (20, Endian::Big));
/// let (insns, endian) = asm::assemble_for(".endian little\n ld args[0].low", Endian::Big)?;
/// assert_eq!((insns[0].k, endian), (16, Endian::Little));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
pub fn assemble_for(text: &str, endian: Endian) -> Result<(Vec<Insn>, Endian), AsmError> {
    assemble_tokens(&tokens(text, Flavour::Assembly)?, endian)
}

/// The same for the tokens of a text.
pub(super) fn assemble_tokens(
    tokens: &[Token<'_>],
    endian: Endian,
) -> Result<(Vec<Insn>, Endian), AsmError> {
    let (program, endian, mut errors) = parser::parse(tokens, endian);
    let insns = link::link(&program, &mut errors);
    errors.check().map(|()| (insns, endian))
}

#[cfg(test)]
mod tests;
