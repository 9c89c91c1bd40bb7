//! Reads a text by its form.

use super::clean::{Cleaned, clean};
use super::form::{Form, form, other_program};
use super::linux3::from_linux3;
use super::options::{TextOptions, TextProgram};
use super::{dumped, gvisor, seccomp_tools, source, table};
use crate::asm::{AsmError, assemble_tokens};
use crate::diagnostic::{Position, error};
use crate::lexer::tokens;
use crate::token::Token;
use callgate_core::{Endian, RawInsn};

/// Reads a program in any textual form. The byte order applies to hexadecimal bytes, and in assembly
/// without `.endian` to the halves of arguments.
///
/// ```
/// use callgate_bpf::text;
/// use callgate_core::RawInsn;
/// use callgate_core::Endian;
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
    parse_program(text, &TextOptions::new(endian)).map(|program| program.insns)
}

/// Reads a program in any textual form. It may contain names of syscalls and constants, whose values depend on the
/// architecture. Also returns the byte order of its machine, which assembly sets with `.endian`, and what was changed in the
/// program.
///
/// ```
/// use callgate_bpf::text::{self, TextOptions};
/// use callgate_core::{Arch, Endian};
///
/// let options = TextOptions::new(Endian::Little).with_arch(Arch::Aarch64);
/// let text = "BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execve, 0, 1)";
/// assert_eq!(text::parse_program(text, &options)?.insns[0].k, 221);
/// let program = text::parse_program(".endian big\n ld args[0].low\n ret ALLOW", &options)?;
/// assert_eq!((program.insns[0].k, program.endian), (20, Endian::Big));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
///
/// # Errors
/// As [`parse`]; also for names that the architecture does not have.
pub fn parse_program(text: &str, options: &TextOptions) -> Result<TextProgram, AsmError> {
    let cleaned = clean(text);
    let mut program = read(text, &cleaned, options)
        .map_err(|error| error.map(|message| cleaned.original(message)))?;
    program.warnings =
        program.warnings.into_iter().map(|warning| cleaned.original(warning)).collect();
    Ok(program)
}

fn read(
    original: &str,
    cleaned: &Cleaned<'_>,
    options: &TextOptions,
) -> Result<TextProgram, AsmError> {
    let text = &*cleaned.text;
    let endian = options.endian();
    if options.part.is_some() && form(text, &tokens(text)?) != Form::Source {
        return Err(source::no_parts().into());
    }
    if let Some(bytes) = dumped::bytes(text, endian) {
        return Ok(of_insns(table::whole(&bytes?, endian)?, endian, false));
    }
    if table::is_firejail(text) {
        return Ok(of_insns(table::firejail(text)?, endian, false));
    }
    let mut assembly = tokens(text)?;
    let form = form(text, &assembly);
    if let Some(error) = cleaned.left_out().filter(|_| form != Form::Source) {
        return Err(error.into());
    }
    if form == Form::Source {
        if let Some(error) = cleaned.of_source().or_else(|| other_program(original)) {
            return Err(error.into());
        }
    }
    let is_dump = form == Form::Table && table::is_dump_of_linux3(&assembly);
    let (mut warnings, mut is_source) = (Vec::new(), false);
    let insns = match form {
        Form::Decimal => table::decimal(text),
        Form::Table => table::named(&assembly),
        Form::Hex => table::bytes(text, endian),
        Form::GVisor => gvisor::listing(&assembly),
        Form::PseudoFilterCode => {
            let message = "this is libseccomp's pseudo filter code, which is not a program";
            let help = "it is read as a policy, in the format pfc";
            return Err(error(Position::START, message).help(help).into());
        }
        Form::Statements => return assembled(&seccomp_tools::to_assembly(&assembly)?, options),
        Form::Source => {
            // Free the memory of the tokens of the other lexer mode.
            drop(assembly);
            source::rows(text, options).map(|rows| {
                (warnings, is_source) = (rows.warnings, rows.is_source);
                rows.insns
            })
        }
        Form::Assembly => {
            let has_reject = replace_reject(&mut assembly);
            return Ok(TextProgram { has_reject, ..assembled(&assembly, options)? });
        }
    };
    let insns = insns?;
    if is_source {
        return Ok(TextProgram { insns, endian, is_of_linux3: false, has_reject: false, warnings });
    }
    Ok(of_insns(insns, endian, is_dump))
}

/// A program of numbers only, such as a dump of memory, which Linux 3 may have changed.
fn of_insns(insns: Vec<RawInsn>, endian: Endian, is_dump: bool) -> TextProgram {
    let translated = from_linux3(&insns);
    let is_of_linux3 = is_dump || translated.is_some();
    let insns = translated.unwrap_or(insns);
    TextProgram { insns, endian, is_of_linux3, has_reject: false, warnings: Vec::new() }
}

fn assembled(assembly: &[Token<'_>], options: &TextOptions) -> Result<TextProgram, AsmError> {
    let (insns, endian) = assemble_tokens(assembly, options)?;
    let insns = insns.into_iter().map(RawInsn::from).collect();
    Ok(TextProgram { insns, endian, is_of_linux3: false, has_reject: false, warnings: Vec::new() })
}

/// Replaces the action of `return REJECT`, with which gVisor's documents abbreviate its default action, and returns whether
/// there was one.
fn replace_reject(assembly: &mut [Token<'_>]) -> bool {
    let mut has_reject = false;
    let mut after_return = false;
    for token in assembly {
        if after_return && token.is_word("REJECT") {
            token.text = "KILL_PROCESS";
            has_reject = true;
        }
        after_return = token.is_word("return");
    }
    has_reject
}
