//! Constants by name: what a name means depends on the word that A holds.

use super::error::Errors;
use super::parser::Parsed;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, quote};
use crate::symbols::Names;
use crate::syscalls::is_known_name;
use crate::text::TextOptions;
use callgate_core::cfg::Successors;
use callgate_core::{Arch, Insn, Op};

/// The offsets of the words `nr` and `arch`.
const NR: u32 = 0;
const ARCH: u32 = 4;

/// Gives instructions the values of the names in their operands.
pub(super) fn resolve(
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
    let arch_of = |name: Option<(&str, _)>, held: Held| {
        name.and_then(|(name, _)| Arch::from_name(name)).filter(|_| held == Held::Word(ARCH))
    };
    // Names of architectures come first, because they decide what the others mean.
    for ((statement, insn), held) in program.statements.iter().zip(&mut *insns).zip(&held) {
        insn.k = arch_of(statement.name, *held).map_or(insn.k, Arch::token);
    }
    let names = Names::of(tokens, &of_program(insns, &held, options));
    for ((statement, insn), held) in program.statements.iter().zip(insns).zip(&held) {
        let Some((name, position)) = statement.name else { continue };
        if arch_of(statement.name, *held).is_some() {
            continue;
        }
        let value = match *held == Held::Word(NR) && is_known_name(name) {
            true => names.value(&format!("__NR_{name}"), false),
            false => names.value(name, false),
        };
        let error = match value {
            Ok(Some(value)) => {
                insn.k = value;
                continue;
            }
            Ok(None) if is_known_name(name) => {
                let message = format!("{} is a syscall, but A may not hold nr here", quote(name));
                let help = "load nr first, or write `#__NR_` before the name".to_owned();
                Diagnostic::error(Some(position), message).help(help)
            }
            Ok(None) => {
                let message = format!("{} is not a constant of the kernel", quote(name));
                Diagnostic::error(Some(position), message).help(
                    "write a number, or a name such as AUDIT_ARCH_X86_64, AF_UNIX or __NR_read",
                )
            }
            Err(missing) => Diagnostic::error(Some(position), missing.message).help(missing.help),
        };
        errors.push(error);
    }
}

/// What A holds before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// No path leads here, as far as is known.
    Nothing,
    /// The word at an offset, perhaps masked.
    Word(u32),
    /// Something else, or one of several values.
    Other,
}

/// What A holds before each instruction. Jumps only lead forward, so one pass is enough.
fn held(insns: &[Insn]) -> Vec<Held> {
    let mut held = vec![Held::Nothing; insns.len()];
    if let Some(first) = held.first_mut() {
        *first = Held::Other;
    }
    for (index, insn) in insns.iter().enumerate() {
        let before = held.get(index).copied().unwrap_or(Held::Other);
        let after = match insn.op {
            _ if before == Held::Nothing => continue,
            Op::LdWordAbs => Held::Word(insn.k),
            Op::AndK | Op::AndX | Op::St | Op::Stx | Op::Tax => before,
            Op::LdxImm | Op::LdxMem | Op::LdxLen | Op::LdxMsh | Op::Ja => before,
            op if op.is_branch() => before,
            _ => Held::Other,
        };
        let mut join = |target: usize| {
            if let Some(there) = held.get_mut(target) {
                *there = match *there {
                    Held::Nothing => after,
                    same if same == after => same,
                    _ => Held::Other,
                };
            }
        };
        match insn.successors(index) {
            Successors::Return => {}
            Successors::Next(target) | Successors::Jump(target) => join(target),
            Successors::Branch { taken, otherwise } => {
                join(taken);
                join(otherwise);
            }
        }
    }
    held
}

/// The options with the architecture that a program compares, if that is only one.
fn of_program(insns: &[Insn], held: &[Held], options: &TextOptions) -> TextOptions {
    let compared = insns
        .iter()
        .zip(held)
        .filter(|(insn, held)| insn.op == Op::JeqK && **held == Held::Word(ARCH) && insn.k != 0);
    let mut arches = compared.filter_map(|(insn, _)| Arch::with_token(insn.k).next());
    match arches.next() {
        Some(arch) if arches.all(|other| other == arch) => options.clone().with_usual_arch(arch),
        _ => options.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::text::{TextOptions, parse_with};
    use callgate_core::{Arch, Endian};

    fn constants(text: &str) -> Result<Vec<u32>, String> {
        let options = TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64);
        match parse_with(text, &options) {
            Ok((insns, _)) => Ok(insns.iter().map(|insn| insn.k).collect()),
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
