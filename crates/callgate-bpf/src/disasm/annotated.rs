//! The two dialects with mnemonics and labels: the annotated listing, and what Linux's `bpf_asm` reads.

use std::fmt::Write;

use super::listing::{self, Listing};
use crate::names;
use callgate_core::cfg::Successors;
use callgate_core::{AncillaryWord, Endian, Insn, Op, Operand, RawInsn, Verdict, Word};

/// The column of comments after short instructions.
const COMMENT_COLUMN: usize = 40;

/// One instruction per line: a label if it is a jump target, otherwise its index; the instruction with
/// named words, actions and targets; a comment.
///
/// A branch always shows both targets; `next` is the following instruction.
pub(super) fn annotated(listing: &Listing<'_>) -> String {
    let mut out = format!("; {}\n", count(listing.insns.len()));
    if let Some(options) = listing.seccomp {
        out.push_str(match options.endian {
            Endian::Little => ".endian little\n",
            Endian::Big => ".endian big\n",
        });
    }
    let arrivals = arrivals(listing.insns);
    for (index, insn) in listing.insns.iter().copied().enumerate() {
        // The operand already shows what is loaded or returned.
        let note = listing::context(listing, index, insn);
        let arrives = arrivals.get(index).copied().unwrap_or(false);
        let label = if arrives { format!("L{index}:") } else { format!("{index} ") };
        let operand = annotated_operand(listing, index, insn);
        let mnemonic = if insn.has_ignored_bits() { ".insn" } else { insn.op.mnemonic() };
        let line = format!("{label:>7}  {mnemonic:<5}{operand}");
        out.push_str(line.trim_end());
        if !note.is_empty() {
            let width = line.trim_end().chars().count();
            let _ = write!(out, "{:1$}; {note}", "", COMMENT_COLUMN.saturating_sub(width).max(1));
        }
        out.push('\n');
    }
    out
}

fn annotated_operand(listing: &Listing<'_>, index: usize, insn: Insn) -> String {
    if insn.has_ignored_bits() {
        return fields(insn);
    }
    let target = |at: usize| if at == index + 1 { "next".to_owned() } else { format!("L{at}") };
    let operand = match (insn.op.operand(), listing.seccomp) {
        (Operand::Absolute, Some(options)) => {
            Word::from_offset(insn.k, options.endian).map(|word| names::word(word).to_owned())
        }
        (Operand::Absolute, None) => ancillary(insn),
        (Operand::Constant, Some(_)) if insn.op == Op::RetK => Some(Verdict(insn.k).to_string()),
        (Operand::BranchConstant, _) if listing::variable(listing, index).is_some() => {
            listing::variable(listing, index).map(|variable| format!("#{variable}"))
        }
        (Operand::Constant | Operand::BranchConstant, _) => {
            let decimal = if knows_number(listing, index) { 0x1000_0000 } else { 10 };
            let k = insn.k;
            Some(if k < decimal { format!("#{k}") } else { format!("#{k:#x}") })
        }
        _ => None,
    };
    let operand = operand.unwrap_or_else(|| insn.operand_text());
    with_targets(index, insn, operand, target)
}

/// Whether A holds the syscall number, which is usually written in decimal.
fn knows_number(listing: &Listing<'_>, index: usize) -> bool {
    listing.flow.get(index).copied().flatten().is_some_and(|known| known.a == Some(Word::NR))
}

/// The syntax of Linux's `bpf_asm`, with a label on every line.
///
/// Two deviations from what the kernel's `bpf_dbg` prints, so that `bpf_asm` accepts it: the target
/// of `ja` is a label, and there are comments.
pub(super) fn bpf_asm(listing: &Listing<'_>) -> String {
    let mut out = String::new();
    for (index, insn, note) in listing::lines(listing) {
        let (mnemonic, operand) = if insn.has_ignored_bits() {
            (".insn", fields(insn))
        } else {
            let operand = ancillary(insn).unwrap_or_else(|| insn.operand_text());
            let operand = with_targets(index, insn, operand, |at| format!("l{at}"));
            (insn.op.mnemonic(), operand)
        };
        let _ = write!(out, "l{index}:\t{mnemonic} {operand}");
        if operand.is_empty() {
            out.pop();
        }
        listing::comment(&mut out, "\t; ", &note, "");
        out.push('\n');
    }
    out
}

fn with_targets(
    index: usize,
    insn: Insn,
    operand: String,
    name: impl Fn(usize) -> String,
) -> String {
    match insn.successors(index) {
        Successors::Jump(target) => name(target),
        Successors::Branch { taken, otherwise } => {
            format!("{operand}, {}, {}", name(taken), name(otherwise))
        }
        Successors::Return | Successors::Next(_) => operand,
    }
}

/// An ancillary word by its name.
fn ancillary(insn: Insn) -> Option<String> {
    if insn.op.operand() != Operand::Absolute {
        return None;
    }
    let word = AncillaryWord::from_offset(insn.k)?;
    (!word.name().is_empty()).then(|| format!("#{}", word.name()))
}

/// The four fields, for `.insn`.
pub(super) fn fields(insn: Insn) -> String {
    let RawInsn { code, jt, jf, k } = insn.into();
    format!(" {code:#04x}, {jt}, {jf}, {k:#x}")
}

/// The targets of jumps, except for the next instruction.
pub(super) fn arrivals(insns: &[Insn]) -> Vec<bool> {
    let mut arrivals = vec![false; insns.len()];
    for (index, &insn) in insns.iter().enumerate() {
        if insn.has_ignored_bits() {
            continue;
        }
        for at in insn.successors(index).into_iter().filter(|at| *at != index + 1) {
            if let Some(arrives) = arrivals.get_mut(at) {
                *arrives = true;
            }
        }
    }
    arrivals
}

pub(super) fn count(insns: usize) -> String {
    format!("{insns} instruction{}", if insns == 1 { "" } else { "s" })
}
