//! From a text to instructions: parses it, resolves targets, then names, whose meaning depends on the word that A holds.

use super::error::{AsmError, Errors};
use super::link::link;
use super::parser::{Names as Words, Parsed, parse};
use crate::diagnostic::{Help, error};
use crate::lexer::tokens;
use crate::symbols::Names;
use crate::syscalls::is_known_name;
use crate::text::TextOptions;
use crate::token::{Token, quote};
use callgate_core::cfg::{Facts, Forward, Registers};
use callgate_core::{Arch, Endian, Insn, Op, Operand};

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
    assemble_tokens(&tokens(text)?, &TextOptions::new(Endian::Little)).map(|(insns, _)| insns)
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
    let options = TextOptions::new(endian);
    assemble_words(&tokens(text)?, Words::IoUring, &options).map(|(insns, _)| insns)
}

/// Assembles the tokens of a seccomp filter. Returns the byte order at the end as well: that of the machine that the program
/// is for.
pub(crate) fn assemble_tokens(
    tokens: &[Token<'_>],
    options: &TextOptions,
) -> Result<(Vec<Insn>, Endian), AsmError> {
    assemble_words(tokens, Words::Seccomp, options)
}

fn assemble_words(
    tokens: &[Token<'_>],
    words: Words,
    options: &TextOptions,
) -> Result<(Vec<Insn>, Endian), AsmError> {
    let (program, endian, mut errors) = parse(tokens, words, options.endian());
    let mut insns = link(&program, &mut errors);
    if errors.is_empty() {
        resolve(&program, &mut insns, tokens, options, &mut errors);
    }
    errors.check().map(|()| (insns, endian))
}

/// The offsets of the words `nr` and `arch`.
const NR: Option<u32> = Some(0);
const ARCH: Option<u32> = Some(4);

/// Gives instructions the values of the names in their operands.
fn resolve(
    program: &Parsed<'_>,
    insns: &mut [Insn],
    tokens: &[Token<'_>],
    options: &TextOptions,
    errors: &mut Errors,
) {
    if program.statements.iter().all(|statement| statement.name.is_none()) {
        return;
    }
    let held = held(insns);
    let is_arch = |name: &str, held| held == ARCH && Arch::from_name(name).is_some();
    // Names of architectures come first, because they decide what the others mean.
    for ((statement, insn), held) in program.statements.iter().zip(&mut *insns).zip(&held) {
        let arch = statement.name.filter(|_| *held == ARCH);
        let arch = arch.and_then(|(name, _)| Arch::from_name(name));
        insn.k = arch.map_or(insn.k, Arch::token);
    }
    let names = Names::of(tokens, &of_program(insns, &held, options));
    for ((statement, insn), held) in program.statements.iter().zip(insns).zip(held) {
        let Some((name, position)) = statement.name else { continue };
        if is_arch(name, held) {
            continue;
        }
        // A name that is not compared can only be a number: no constant of the kernel is named like a syscall.
        let is_number = held == NR || insn.op.operand() == Operand::Constant && insn.op != Op::RetK;
        let value = match is_number && is_known_name(name) {
            true => names.value(&format!("__NR_{name}"), false),
            false => names.value(name, false),
        };
        let (message, help) = match value {
            Ok(Some(value)) => {
                insn.k = value;
                continue;
            }
            Ok(None) if is_known_name(name) => (
                format!("{} is a syscall, but A may not hold nr here", quote(name)),
                Help::from("load nr first, or write `#__NR_` before the name"),
            ),
            Ok(None) => (
                format!("{} is not a constant of the kernel", quote(name)),
                Help::from(
                    "write a number, or a name such as AUDIT_ARCH_X86_64, AF_UNIX or __NR_read",
                ),
            ),
            Err(missing) => (missing.message, missing.help),
        };
        errors.push(error(position, message).help(help));
    }
}

/// The offset of the word that A holds, perhaps masked.
#[derive(Clone, Copy, PartialEq)]
struct Held(Option<u32>);

impl Facts for Held {
    fn join(&mut self, other: &Held) {
        if self != other {
            self.0 = None;
        }
    }
}

/// What A holds before each instruction.
fn held(insns: &[Insn]) -> Vec<Option<u32>> {
    let mut analysis = Forward::new(insns.len(), Held(None));
    let mut held = Vec::with_capacity(insns.len());
    for (index, insn) in insns.iter().enumerate() {
        let before = analysis.take(index);
        held.push(before.and_then(|before| before.0));
        let Some(mut after) = before else { continue };
        match insn.op {
            Op::LdWordAbs => after.0 = Some(insn.k),
            Op::AndK | Op::AndX => {}
            _ if insn.writes() == Registers::A => after.0 = None,
            _ => {}
        }
        insn.successors(index).into_iter().for_each(|next| analysis.arrive(next, &after));
    }
    held
}

/// The options with the architecture that a program compares, if that is only one.
fn of_program(insns: &[Insn], held: &[Option<u32>], options: &TextOptions) -> TextOptions {
    let compared = insns
        .iter()
        .zip(held)
        .filter(|(insn, held)| insn.op == Op::JeqK && **held == ARCH && insn.k != 0);
    let mut arches = compared.filter_map(|(insn, _)| Arch::with_token(insn.k).next());
    match arches.next() {
        Some(arch) if arches.all(|other| other == arch) => options.clone().with_usual_arch(arch),
        _ => options.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::text::{TextOptions, parse_program};
    use callgate_core::{Arch, Endian};

    fn constants(text: &str) -> Result<Vec<u32>, String> {
        let options = TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64);
        match parse_program(text, &options) {
            Ok(program) => Ok(program.insns.iter().map(|insn| insn.k).collect()),
            Err(error) => Err(error.diagnostics()[0].to_string()),
        }
    }

    #[test]
    fn names_are_those_of_the_word_that_a_holds() {
        for (text, expected) in [
            ("ld nr\njeq #ptrace, +0\nret #0", vec![0, 101, 0]),
            (
                "ld arch\njeq #aarch64, next, no\nld nr\njeq #ptrace, no\nno: ret #0",
                vec![4, 0xc000_00b7, 0, 117, 0],
            ),
            (
                "ld [4]\njeq #0xc00000b7, 0, 2\nld [0]\njeq #ptrace, 0, 0\nret #0",
                vec![4, 0xc000_00b7, 0, 117, 0],
            ),
            (
                "ld arch\njeq #AUDIT_ARCH_I386, 0, 0\nld nr\njeq #ptrace, 0, 0\nret #0",
                vec![4, 0x4000_0003, 0, 26, 0],
            ),
            (
                "ld args[0].low\njeq #AF_ALG, +0\njset #CLONE_NEWUSER, +0\nand #EPERM\nret #SECCOMP_RET_ALLOW",
                vec![16, 38, 0x1000_0000, 1, 0x7fff_0000],
            ),
            ("ld args[0].low\njeq #__NR_read, +0\njeq #SYS_write, +0\nret #0", vec![16, 0, 1, 0]),
            ("ld nr\nand #0xff\njgt #execve, +0\nret #0", vec![0, 0xff, 59, 0]),
        ] {
            assert_eq!(constants(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn names_that_have_no_value_are_errors() {
        for (text, message) in [
            (
                "ld args[0].low\njeq #ptrace, +0\nret #0",
                "2:6: `ptrace` is a syscall, but A may not hold nr here",
            ),
            (
                "ld nr\njeq #1, c, b\nc: ld arch\nb: jeq #ptrace, +0\nret #0",
                "4:9: `ptrace` is a syscall, but A may not hold nr here",
            ),
            ("ld nr\njeq #nothing, +0\nret #0", "2:6: `nothing` is not a constant of the kernel"),
            (
                "ld nr\njeq #mmap2, +0\nret #0",
                "2:6: `__NR_mmap2` does not exist on x86_64, but on x86, arm, s390, ppc, …",
            ),
        ] {
            assert_eq!(constants(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn numbered_lines_with_distances_are_read() {
        let text = "00: load32 4 // arch\n01: jeq 0xc000003e, 0, 2 // [to 02]\n02: load32 data.nr\n\
            03: jeq 15, @good, @bad\n@bad:\n04: return 0\n@good:\n05: return ALLOW";
        assert_eq!(constants(text), Ok(vec![4, 0xc000_003e, 0, 15, 0, 0x7fff_0000]));
        for (text, message) in [
            ("01: load32 4", "1:1: expected line 0 of the listing, found `01`"),
            ("0: ret 0\n2: ret 0", "2:1: expected line 1 of the listing, found `2`"),
            ("0: load32 x\n", "1:11: `x` is not a word of seccomp_data"),
            ("0: return DENY", "1:11: `DENY` is not an action"),
            (
                "0: jeq 0, 0, 256\n1: ret 0",
                "1:14: the branch to `+256` skips 256 instructions; the limit is 255",
            ),
        ] {
            assert_eq!(constants(text), Err(message.to_owned()), "{text}");
        }
    }
}
