//! Comments of listings: the syscall that a number stands for, the loaded word, the verdict at a target.

use super::listing::Listing;
use crate::SyscallTable;
use crate::constants::Family;
use crate::flow::{ArchKnown, PathFacts};
use callgate_core::cfg::Successors;
use callgate_core::io_uring::Decision;
use callgate_core::{AncillaryWord, Endian, Insn, SECCOMP_DATA_SIZE, Word};

use crate::{names, syscalls};
use callgate_core::template::{Half, Patch};
use callgate_core::{Arch, Layout, Op, Operand, Verdict, X32_SYSCALL_BIT};

/// The instructions with their indices and comments.
pub(super) fn lines(listing: &Listing<'_>) -> impl Iterator<Item = (usize, Insn, String)> {
    let insns = listing.insns.iter().enumerate();
    insns.map(|(index, &insn)| (index, insn, note(listing, index, insn)))
}

/// The comment of an instruction, without the comment sign: the word it loads or the verdict it returns, and
/// the context. May be empty.
fn note(listing: &Listing<'_>, index: usize, insn: Insn) -> String {
    let what = match (insn.op, listing.seccomp) {
        (Op::LdWordAbs, Some(options)) => {
            Word::from_offset(insn.k, options.endian).map(|word| names::word(word).to_owned())
        }
        (Op::RetK, Some(_)) => Some(Verdict(insn.k).to_string()),
        (Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs, None) => ancillary(insn.k),
        _ => None,
    };
    let context = context(listing, index, insn);
    match (what, variable(listing, index)) {
        (Some(what), _) | (None, Some(what)) if context.is_empty() => what,
        (Some(what), _) => format!("{what}: {context}"),
        (None, Some(variable)) => format!("{variable}, {context}"),
        (None, None) => context,
    }
}

/// The syscall whose number is compared or whose argument is loaded, or the verdict at a target. May be
/// empty.
pub(super) fn context(listing: &Listing<'_>, index: usize, insn: Insn) -> String {
    if let Some(endian) = listing.requests {
        return request_context(listing, endian, index, insn);
    }
    if listing.seccomp.is_none() {
        return String::new();
    }
    let Some(known) = listing.flow.get(index).copied().flatten() else {
        return "unreachable".to_owned();
    };
    match insn.op {
        Op::LdWordAbs => load_context(listing, known, insn).unwrap_or_default(),
        Op::LdLen | Op::LdxLen => format!("{SECCOMP_DATA_SIZE}"),
        _ => match insn.successors(index) {
            Successors::Jump(target) => verdict_at(listing, target).unwrap_or_default(),
            Successors::Branch { taken, otherwise } => {
                branch_context(listing, known, (index, insn), [taken, otherwise])
            }
            Successors::Return | Successors::Next(_) => String::new(),
        },
    }
}

/// What an instruction of an io_uring filter loads or decides, or the decision at a target.
fn request_context(listing: &Listing<'_>, endian: Endian, index: usize, insn: Insn) -> String {
    let decision = |at: usize| match listing.insns.get(at) {
        Some(Insn { op: Op::RetK, k, .. }) => Some(Decision::of(*k).to_string()),
        _ => None,
    };
    match insn.op {
        Op::LdWordAbs => names::loaded_of_request(insn.k, endian),
        Op::LdLen | Op::LdxLen => format!("{}", Layout::IoUring(endian).size()),
        _ => match insn.successors(index) {
            Successors::Return => decision(index).unwrap_or_default(),
            Successors::Jump(target) => decision(target).unwrap_or_default(),
            Successors::Branch { taken, otherwise } => {
                let sides = [("true", taken), ("false", otherwise)].into_iter();
                let parts =
                    sides.filter_map(|(when, at)| Some(format!("{when}: {}", decision(at)?)));
                parts.collect::<Vec<String>>().join(", ")
            }
            Successors::Next(_) => String::new(),
        },
    }
}

/// The syscall whose argument is loaded, and the name of the argument: `futex(op)`.
fn load_context(listing: &Listing<'_>, known: PathFacts, insn: Insn) -> Option<String> {
    let word = Word::from_offset(insn.k, listing.seccomp?.endian)?;
    let (argument, _) = word.argument()?;
    let (arch, syscall) = syscall(listing, known, known.nr?)?;
    let facts = syscalls::facts(syscall);
    let parameter = facts.and_then(|facts| facts.args.get(usize::from(argument)));
    let shown =
        parameter.map_or(syscall.to_owned(), |parameter| format!("{syscall}({})", parameter.name));
    Some(with_arch(listing, arch, &shown))
}

fn branch_context(
    listing: &Listing<'_>,
    known: PathFacts,
    (index, insn): (usize, Insn),
    [taken, otherwise]: [usize; 2],
) -> String {
    let mut parts = Vec::new();
    if insn.op.operand() == Operand::BranchConstant && variable(listing, index).is_none() {
        match known.a {
            Some(Word::ARCH) => {
                parts.extend(Arch::with_token(insn.k).next().map(|arch| arch.name().to_owned()));
            }
            Some(Word::NR) => parts.extend(number_context(listing, known, insn)),
            Some(word) => parts.extend(argument_context(listing, known, insn, word)),
            None => {}
        }
    }
    let verdicts = [("true", taken), ("false", otherwise)];
    parts.extend(verdicts.into_iter().filter_map(|(when, at)| {
        verdict_at(listing, at).map(|verdict| format!("{when}: {verdict}"))
    }));
    parts.join(", ")
}

/// The variable that an instruction compares with: `$fd`, `$limit.high`, `~($flags + 0x1).low`.
pub(super) fn variable(listing: &Listing<'_>, index: usize) -> Option<String> {
    let template = listing.template?;
    let Patch { symbol, half, .. } = template.patch_at(index)?;
    let variable = template.variables().get(symbol.variable())?;
    let name = variable.name();
    let sum = match symbol.addend() {
        0 => format!("${name}"),
        addend if addend > i64::MAX as u64 => format!("(${name} - {:#x})", addend.wrapping_neg()),
        addend => format!("(${name} + {addend:#x})"),
    };
    let sign = if symbol.is_complement() { "~" } else { "" };
    let half = match half {
        Half::Low if !variable.is_wide() => "",
        Half::Low => ".low",
        Half::High => ".high",
    };
    Some(format!("{sign}{sum}{half}"))
}

/// The syscall that a number is compared with.
fn number_context(listing: &Listing<'_>, known: PathFacts, insn: Insn) -> Option<String> {
    let x86_64 = token(listing, known) == Some(Arch::X86_64.token());
    if x86_64 && insn.k == X32_SYSCALL_BIT && matches!(insn.op, Op::JgeK | Op::JsetK) {
        return Some("any x32 syscall".to_owned());
    }
    if insn.op == Op::JsetK {
        return None;
    }
    let (arch, syscall) = syscall(listing, known, insn.k)?;
    Some(with_arch(listing, arch, syscall))
}

/// The constant that an argument is compared with, or the flags of it that are tested: `AF_ALG`.
fn argument_context(
    listing: &Listing<'_>,
    known: PathFacts,
    insn: Insn,
    word: Word,
) -> Option<String> {
    let (index, is_high) = word.argument()?;
    let (arch, syscall) = syscall(listing, known, known.nr?)?;
    let family = Family::of(arch, syscall, index).filter(|_| !is_high)?;
    match insn.op {
        Op::JeqK => family.name(arch, insn.k.into()),
        Op::JsetK => family.name_mask(arch, insn.k.into()),
        _ => None,
    }
}

/// The verdict at a target that returns a constant.
fn verdict_at(listing: &Listing<'_>, at: usize) -> Option<String> {
    match listing.insns.get(at) {
        Some(Insn { op: Op::RetK, k, .. }) => Some(Verdict(*k).to_string()),
        _ => None,
    }
}

/// The arch token that the path has established.
fn token(listing: &Listing<'_>, known: PathFacts) -> Option<u32> {
    match known.arch {
        ArchKnown::Token(token) => Some(token),
        ArchKnown::Untested => Some(listing.seccomp?.arches.first()?.token()),
        ArchKnown::Other => None,
    }
}

/// The syscall that a number stands for on the path, and its arch.
fn syscall(listing: &Listing<'_>, known: PathFacts, nr: u32) -> Option<(Arch, &'static str)> {
    Arch::with_token(token(listing, known)?)
        .find_map(|arch| arch.syscall_name(nr).map(|name| (arch, name)))
}

/// Adds the arch, unless it is that of the listing.
fn with_arch(listing: &Listing<'_>, arch: Arch, syscall: &str) -> String {
    if listing.home == Some(arch) { syscall.to_owned() } else { format!("{syscall} ({arch})") }
}

/// An ancillary word of a packet.
fn ancillary(k: u32) -> Option<String> {
    AncillaryWord::from_offset(k).map(|word| match word {
        AncillaryWord::AluXorX => "a ^ x".to_owned(),
        word => word.name().to_owned(),
    })
}
