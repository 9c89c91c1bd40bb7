//! From a text to instructions.

use super::error::AsmError;
use super::parser::Names;
use super::resolve::resolve;
use super::{link, parser};
use crate::lexer::{Flavour, Token, tokens};
use crate::text::TextOptions;
use callgate_core::{Endian, Insn};

/// Assembles a text. The error lists every mistake.
///
/// ```
/// use callgate_bpf::asm;
/// use callgate_core::{Insn, Op};
///
/// let insns = asm::assemble("ld [0]\n jeq #59, no\n ret ALLOW\n no: ret #0x50001")?;
/// assert_eq!(insns[1], Insn::branch(Op::JeqK, 59, 1, 0));
/// let error = asm::assemble("ld [0]\n jmp nowhere").unwrap_err();
/// assert!(error.to_string().starts_with("2:6: label `nowhere` is not defined"));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
///
/// # Errors
/// If the text is not a program: the first 20 errors with positions, and the number of others.
pub fn assemble(text: &str) -> Result<Vec<Insn>, AsmError> {
    assemble_for(text, Endian::Little).map(|(insns, _)| insns)
}

/// Assembles a text in this byte order, unless `.endian` sets another. Returns the byte order at the end as
/// well: that of the machine that the program is for.
///
/// ```
/// use callgate_core::Endian;
/// use callgate_bpf::asm;
///
/// let (insns, endian) = asm::assemble_for("ld args[0].low\n ret ALLOW", Endian::Big)?;
/// assert_eq!((insns[0].k, endian), (20, Endian::Big));
/// let (insns, endian) = asm::assemble_for(".endian little\n ld args[0].low", Endian::Big)?;
/// assert_eq!((insns[0].k, endian), (16, Endian::Little));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
///
/// # Errors
/// As [`assemble`].
pub fn assemble_for(text: &str, endian: Endian) -> Result<(Vec<Insn>, Endian), AsmError> {
    assemble_tokens(&tokens(text, Flavour::Assembly)?, &TextOptions::new(endian))
}

/// Assembles an io_uring filter, in this byte order unless `.endian` sets another: `ld` takes members of a request, such as
/// `socket.family` and `open.flags.low`, and `ret` takes `ALLOW` and `DENY`.
///
/// ```
/// use callgate_bpf::asm;
/// use callgate_core::Endian;
///
/// let insns = asm::assemble_requests("ld open.flags.low\n ret ALLOW", Endian::Big)?;
/// assert_eq!((insns[0].k, insns[1].k), (20, 1));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
///
/// # Errors
/// As [`assemble`].
pub fn assemble_requests(text: &str, endian: Endian) -> Result<Vec<Insn>, AsmError> {
    let tokens = tokens(text, Flavour::Assembly)?;
    let (program, _, mut errors) = parser::parse(&tokens, Names::IoUring, endian);
    let mut insns = link::link(&program, &mut errors);
    if errors.is_empty() {
        resolve(&program, &mut insns, &tokens, &TextOptions::new(endian), &mut errors);
    }
    errors.check().map(|()| insns)
}

/// The same for the tokens of a text.
pub(crate) fn assemble_tokens(
    tokens: &[Token<'_>],
    options: &TextOptions,
) -> Result<(Vec<Insn>, Endian), AsmError> {
    let (program, endian, mut errors) = parser::parse(tokens, Names::Seccomp, options.endian());
    let mut insns = link::link(&program, &mut errors);
    if errors.is_empty() {
        resolve(&program, &mut insns, tokens, options, &mut errors);
    }
    errors.check().map(|()| (insns, endian))
}
