//! The comment of a line: whose number is compared, what is loaded, what a jump leads to.

use super::flow::{ArchKnown, Known};
use super::{Listing, targets};
use crate::bpf::ancillary::AncillaryWord;
use crate::bpf::insn::Insn;
use crate::bpf::names;
use crate::bpf::op::{Op, Operand};
use crate::data::{SECCOMP_DATA_SIZE, Word};
use crate::syscalls::{self, Arch};
use crate::verdict::Verdict;

/// The comment of an instruction, without the comment sign; may be empty.
pub(super) fn note(listing: &Listing<'_>, index: usize, insn: Insn) -> String {
    let Some(options) = listing.seccomp else { return packet_note(insn) };
    let Some(known) = listing.flow.get(index).copied().flatten() else {
        return "no path leads here".to_owned();
    };
    match insn.op {
        Op::LdWordAbs => {
            let word = Word::from_offset(insn.k, options.endian);
            word.map_or_else(String::new, |word| load_note(listing, known, word))
        }
        Op::LdLen | Op::LdxLen => format!("{SECCOMP_DATA_SIZE}"),
        Op::RetK => Verdict(insn.k).to_string(),
        op if op.is_branch() => branch_note(listing, known, index, insn),
        _ => String::new(),
    }
}

/// Which word, and of which call.
fn load_note(listing: &Listing<'_>, known: Known, word: Word) -> String {
    let name = names::word(word);
    let Some((argument, _)) = word.argument() else { return name.to_owned() };
    let Some(call) = known.nr.and_then(|nr| call_name(listing, known, nr)) else {
        return name.to_owned();
    };
    let parameter = syscalls::facts(call).and_then(|facts| facts.args.get(usize::from(argument)));
    match parameter {
        Some(parameter) => format!("{name}: {call}({})", parameter.name),
        None => format!("{name}: {call}"),
    }
}

fn branch_note(listing: &Listing<'_>, known: Known, index: usize, insn: Insn) -> String {
    let mut parts = Vec::new();
    if insn.op.operand() == Operand::BranchConstant {
        match known.a {
            Some(Word::ARCH) => parts.extend(arch_name(insn.k)),
            Some(Word::NR) => {
                parts.extend(call_name(listing, known, insn.k).map(str::to_owned));
            }
            _ => {}
        }
    }
    let (holds, fails) = targets(index, insn);
    for (when, at) in [("true", Some(holds)), ("false", fails)] {
        let target = at.and_then(|at| listing.insns.get(at));
        if let Some(Insn { op: Op::RetK, k, .. }) = target {
            parts.push(format!("{when}: {}", Verdict(*k)));
        }
    }
    parts.join(", ")
}

fn arch_name(token: u32) -> Option<String> {
    Arch::with_token(token).next().map(|arch| arch.name().to_owned())
}

/// The call that a number means on the path.
fn call_name(listing: &Listing<'_>, known: Known, nr: u32) -> Option<&'static str> {
    let token = match known.arch {
        ArchKnown::Token(token) => token,
        ArchKnown::Untested => listing.seccomp?.arches.first()?.token(),
        ArchKnown::Other => return None,
    };
    Arch::with_token(token).find_map(|arch| arch.call_name(nr))
}

fn packet_note(insn: Insn) -> String {
    let named = matches!(insn.op, Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs);
    match AncillaryWord::from_offset(insn.k) {
        Some(AncillaryWord::AluXorX) if named => "a ^ x".to_owned(),
        Some(word) if named => word.name().to_owned(),
        _ => String::new(),
    }
}
