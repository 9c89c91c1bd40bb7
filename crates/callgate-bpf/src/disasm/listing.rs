//! A program with all that its listing mentions, and the comments: the syscall that a number stands for, the loaded word, the
//! verdict at a target.

use crate::constants::Family;
use crate::flow::{self, ArchKnown, PathFacts};
use crate::{SyscallTable, names, syscalls};
use callgate_core::cfg::Successors;
use callgate_core::io_uring::Decision;
use callgate_core::template::{Half, Patch, Template};
use callgate_core::{
    AncillaryWord, Arch, Endian, Insn, Layout, Op, Operand, SECCOMP_DATA_SIZE, Verdict, Word,
    X32_SYSCALL_BIT,
};

/// Assumptions about a program, for names in its listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListingOptions {
    /// The byte order of the machine, which decides the offset of each half of an argument.
    pub endian: Endian,
    /// The architectures of the filter. The first one gives names to syscall numbers where the program has
    /// not tested the arch; without any, only numbers after a test of the arch have names.
    pub arches: Vec<Arch>,
    /// The name of the array in source code, a valid identifier; `None`: `filter`, in Rust `FILTER`.
    pub name: Option<String>,
}

/// A program with the facts before each instruction.
pub(super) struct Listing<'a> {
    pub(super) insns: &'a [Insn],
    /// The assumptions about a seccomp filter; `None` for another one.
    pub(super) seccomp: Option<&'a ListingOptions>,
    /// The byte order of the machine of an io_uring filter; `None` for another one.
    pub(super) requests: Option<Endian>,
    /// The program with its variables, if it has any.
    pub(super) template: Option<&'a Template>,
    pub(super) flow: Vec<Option<flow::PathFacts>>,
    /// The arch that comments do not mention: the assumed one, otherwise the first one tested.
    pub(super) home: Option<Arch>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(insns: &'a [Insn], seccomp: Option<&'a ListingOptions>) -> Listing<'a> {
        let flow = seccomp.map_or_else(Vec::new, |options| flow::known(insns, options.endian));
        let assumed = seccomp.and_then(|options| options.arches.first().copied());
        let tested =
            || flow::arch_tests(insns, &flow).find_map(|token| Arch::with_token(token).next());
        let home = assumed.or_else(tested);
        Listing { insns, seccomp, requests: None, template: None, flow, home }
    }

    /// The listing of an io_uring filter.
    pub(super) fn of_requests(insns: &'a [Insn], endian: Endian) -> Listing<'a> {
        Listing { requests: Some(endian), ..Listing::new(insns, None) }
    }
}

/// The instructions with their indices and comments.
pub(super) fn lines(listing: &Listing<'_>) -> impl Iterator<Item = (usize, Insn, String)> {
    let insns = listing.insns.iter().enumerate();
    insns.map(|(index, &insn)| (index, insn, note(listing, index, insn)))
}

/// Adds a comment, unless it is empty.
pub(super) fn comment(out: &mut String, start: &str, note: &str, end: &str) {
    if !note.is_empty() {
        out.extend([start, note, end]);
    }
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
    let known = listing.flow.get(index).copied().flatten();
    match (listing.requests, listing.seccomp) {
        (None, None) => return String::new(),
        (None, Some(_)) if known.is_none() => return "unreachable".to_owned(),
        _ => {}
    }
    let context = match (insn.op, listing.requests) {
        (Op::LdWordAbs, Some(endian)) => Some(names::loaded_of_request(insn.k, endian)),
        (Op::LdWordAbs, None) => known.and_then(|known| load_context(listing, known, insn)),
        (Op::LdLen | Op::LdxLen, requests) => {
            let size = requests.map_or(SECCOMP_DATA_SIZE, |endian| Layout::IoUring(endian).size());
            Some(size.to_string())
        }
        (_, requests) => match insn.successors(index) {
            Successors::Return if requests.is_some() => returned_at(listing, index),
            Successors::Jump(target) => returned_at(listing, target),
            Successors::Branch { taken, otherwise } => {
                let compared = known.and_then(|known| compared(listing, known, index, insn));
                let verdicts =
                    [("true", taken), ("false", otherwise)].into_iter().filter_map(|(when, at)| {
                        Some(format!("{when}: {}", returned_at(listing, at)?))
                    });
                Some(compared.into_iter().chain(verdicts).collect::<Vec<_>>().join(", "))
            }
            Successors::Return | Successors::Next(_) => None,
        },
    };
    context.unwrap_or_default()
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

/// What a branch compares A with: an arch, a syscall, or the constant of an argument.
fn compared(listing: &Listing<'_>, known: PathFacts, index: usize, insn: Insn) -> Option<String> {
    if insn.op.operand() != Operand::BranchConstant || variable(listing, index).is_some() {
        return None;
    }
    match known.a? {
        Word::ARCH => Some(Arch::with_token(insn.k).next()?.name().to_owned()),
        Word::NR => number_context(listing, known, insn),
        word => argument_context(listing, known, insn, word),
    }
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

/// The verdict at an instruction that returns a constant.
fn returned_at(listing: &Listing<'_>, at: usize) -> Option<String> {
    let returned = listing.insns.get(at).filter(|insn| insn.op == Op::RetK)?;
    Some(match listing.requests {
        Some(_) => Decision::of(returned.k).to_string(),
        None => Verdict(returned.k).to_string(),
    })
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
