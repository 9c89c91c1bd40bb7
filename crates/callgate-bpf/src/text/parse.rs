//! Reads a text by its form.

use super::form::{Form, form};
use super::{hex, source, table};
use crate::asm::{AsmError, assemble_tokens};
use crate::data::Endian;
use crate::insn::RawInsn;
use crate::lexer::{Flavour, tokens};

/// Reads a program in any textual form. The byte order applies to hexadecimal bytes, and in assembly
/// without `.endian` to the halves of arguments.
///
/// ```
/// use callgate_bpf::{RawInsn, text};
/// use callgate_bpf::Endian;
///
/// let one = [RawInsn { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }];
/// for text in ["1\n6 0 0 2147418112", "{ 0x6, 0, 0, 0x7fff0000 },", "060000000000ff7f", "ret ALLOW"] {
///     assert_eq!(text::parse(text, Endian::Little)?, one);
/// }
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
///
/// # Errors
/// If the text is in none of these forms, or has syntax errors: the first 20 with positions, and the number of others.
pub fn parse(text: &str, endian: Endian) -> Result<Vec<RawInsn>, AsmError> {
    parse_for(text, endian).map(|(insns, _)| insns)
}

/// The same; also returns the byte order of the machine that the program is for: the given one, unless
/// assembly sets another with `.endian`.
///
/// ```
/// use callgate_bpf::Endian;
/// use callgate_bpf::text;
///
/// let (insns, endian) = text::parse_for(".endian big\n ld args[0].low\n ret ALLOW", Endian::Little)?;
/// assert_eq!((insns[0].k, endian), (20, Endian::Big));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
///
/// # Errors
/// As [`parse`].
pub fn parse_for(text: &str, endian: Endian) -> Result<(Vec<RawInsn>, Endian), AsmError> {
    let assembly = tokens(text, Flavour::Assembly)?;
    let insns = match form(text, &assembly) {
        Form::Decimal => table::decimal(text),
        Form::Table => table::named(&assembly),
        Form::Hex => hex::bytes(text, endian),
        Form::Source => source::rows(text),
        Form::Assembly => {
            let (insns, endian) = assemble_tokens(&assembly, endian)?;
            return Ok((insns.into_iter().map(RawInsn::from).collect(), endian));
        }
    };
    Ok((insns?, endian))
}
