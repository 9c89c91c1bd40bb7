//! Random programs that the kernel accepts.

use callgate_core::{Endian, Insn, Op, Program, Word};
use proptest::prelude::*;
use proptest::sample::select;

/// One to three instructions.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// Operation, constant; repaired where the kernel would not accept it.
    Plain(Op, u32),
    /// A branch with its two displacements.
    Branch(Op, u32, u8, u8),
    /// An unconditional jump.
    Ja(u8),
    /// `ld [word]`, `and #mask`.
    Masked(u32, u32),
    /// `ld [word]`, `and #mask`, `tax`.
    MaskedX(u32, u32),
    /// `and #mask`, `ret a`.
    ReturnBits(u32),
}

fn constants() -> impl Strategy<Value = u32> {
    prop_oneof![
        5 => 0u32..8,
        2 => (0u32..32).prop_map(|bit| 1 << bit),
        1 => (0u32..32).prop_map(|bit| (1 << bit) - 1),
        2 => select(vec![31, 32, 33, 59, 0xff, 0x100, 0xc000_003e, 0x7fff_ffff, 0xffff_fffe, u32::MAX]),
        1 => any::<u32>(),
    ]
}

/// Masks of few bits: the MTBDD of what is computed from them stays small.
fn few_bits() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => select(vec![1, 3, 7, 0xf, 0x1f, 0x3f, 0x7f, 0xff]),
        2 => (0u32..28).prop_map(|bit| 0xf << bit),
        1 => (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(a, b, c)| a & b & c & 0x8421_8421),
    ]
}

fn words() -> impl Strategy<Value = u32> {
    // Mostly arch, number and the first arguments.
    prop_oneof![6 => 0u32..2, 6 => 4u32..8, 1 => 0u32..16].prop_map(|word| word * 4)
}

fn branches() -> impl Strategy<Value = Op> {
    select(vec![Op::JeqK, Op::JeqK, Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK])
}

const ALU_K: [Op; 10] = [
    Op::AddK,
    Op::SubK,
    Op::MulK,
    Op::DivK,
    Op::OrK,
    Op::AndK,
    Op::XorK,
    Op::LshK,
    Op::RshK,
    Op::Neg,
];

const ALU_X: [Op; 9] =
    [Op::AddX, Op::SubX, Op::MulX, Op::DivX, Op::OrX, Op::AndX, Op::XorX, Op::LshX, Op::RshX];

const MOVES: [Op; 10] = [
    Op::LdLen,
    Op::LdImm,
    Op::LdMem,
    Op::LdxLen,
    Op::LdxImm,
    Op::LdxMem,
    Op::St,
    Op::Stx,
    Op::Tax,
    Op::Txa,
];

const BRANCH_X: [Op; 4] = [Op::JeqX, Op::JgtX, Op::JgeX, Op::JsetX];

/// The instructions of real filters: loads, comparisons with constants, masks, returns.
pub fn realistic() -> impl Strategy<Value = Piece> {
    prop_oneof![
        8 => words().prop_map(|k| Piece::Plain(Op::LdWordAbs, k)),
        12 => (branches(), constants(), 0u8..6, 0u8..6).prop_map(|(op, k, t, f)| Piece::Branch(op, k, t, f)),
        2 => (words(), constants()).prop_map(|(word, mask)| Piece::Masked(word, mask)),
        3 => constants().prop_map(|k| Piece::Plain(Op::RetK, k)),
        1 => (0u8..6).prop_map(Piece::Ja),
        1 => (select(&MOVES[..]), 0u32..4).prop_map(|(op, k)| Piece::Plain(op, k)),
        1 => (select(vec![Op::AddK, Op::SubK, Op::OrK, Op::AndK, Op::XorK, Op::LshK, Op::RshK]), constants())
            .prop_map(|(op, k)| Piece::Plain(op, k)),
        1 => few_bits().prop_map(Piece::ReturnBits),
    ]
}

/// Any instruction, mostly on few bits.
pub fn unusual() -> impl Strategy<Value = Piece> {
    prop_oneof![
        3 => words().prop_map(|k| Piece::Plain(Op::LdWordAbs, k)),
        4 => (words(), few_bits()).prop_map(|(word, mask)| Piece::Masked(word, mask)),
        3 => (words(), few_bits()).prop_map(|(word, mask)| Piece::MaskedX(word, mask)),
        5 => (branches(), constants(), 0u8..9, 0u8..9).prop_map(|(op, k, t, f)| Piece::Branch(op, k, t, f)),
        3 => (select(&BRANCH_X[..]), 0u8..9, 0u8..9).prop_map(|(op, t, f)| Piece::Branch(op, 0, t, f)),
        5 => (select(&ALU_K[..]), constants()).prop_map(|(op, k)| Piece::Plain(op, k)),
        4 => (select(&ALU_X[..]), constants()).prop_map(|(op, k)| Piece::Plain(op, k)),
        6 => (select(&MOVES[..]), 0u32..4).prop_map(|(op, k)| Piece::Plain(op, k)),
        1 => constants().prop_map(|k| Piece::Plain(Op::RetK, k)),
        1 => Just(Piece::Plain(Op::RetA, 0)),
        2 => few_bits().prop_map(Piece::ReturnBits),
        1 => (0u8..9).prop_map(Piece::Ja),
    ]
}

/// The program of these pieces, with everything repaired that the kernel would refuse.
pub fn program(pieces: &[Piece], endian: Endian) -> Program {
    let mut insns = Vec::new();
    for piece in pieces {
        match *piece {
            Piece::Plain(op @ (Op::LshK | Op::RshK), k) => insns.push(Insn::new(op, k % 32)),
            Piece::Plain(op @ Op::DivK, k) => insns.push(Insn::new(op, k.max(1))),
            Piece::Plain(op, k) => insns.push(Insn::new(op, if op.uses_k() { k } else { 0 })),
            Piece::Branch(op, k, jt, jf) => insns.push(Insn::branch(op, k, jt, jf)),
            Piece::Ja(k) => insns.push(Insn::new(Op::Ja, k.into())),
            Piece::Masked(word, mask) => {
                insns.extend([Insn::new(Op::LdWordAbs, word), Insn::new(Op::AndK, mask)]);
            }
            Piece::MaskedX(word, mask) => insns.extend([
                Insn::new(Op::LdWordAbs, word),
                Insn::new(Op::AndK, mask),
                Insn::new(Op::Tax, 0),
            ]),
            Piece::ReturnBits(mask) => {
                insns.extend([Insn::new(Op::AndK, mask), Insn::new(Op::RetA, 0)]);
            }
        }
    }
    insns.push(Insn::new(Op::RetK, 0x7fff_0000));
    // Displacements stay inside of the program, and scratch words are written before they are read.
    let written = (0..4).flat_map(|k| {
        let word = Word::from_index(4 + k as usize).unwrap();
        [Insn::new(Op::LdWordAbs, word.offset(endian)), Insn::new(Op::St, k)]
    });
    let uses_scratch = insns.iter().any(|insn| matches!(insn.op, Op::LdMem | Op::LdxMem));
    let mut whole: Vec<Insn> = if uses_scratch { written.collect() } else { Vec::new() };
    let last = insns.len() - 1;
    for (i, insn) in insns.iter().copied().enumerate() {
        let within = |distance: u32| {
            let distance = distance % (last - i).max(1) as u32;
            // Not between the two instructions that return a few bits.
            match insns.get(i + distance as usize..i + distance as usize + 2) {
                Some([and, ret]) if and.op == Op::AndK && ret.op == Op::RetA => distance - 1,
                _ => distance,
            }
        };
        let short = |distance: u8| within(distance.into()) as u8;
        whole.push(match insn.op {
            op if op.is_branch() => Insn::branch(op, insn.k, short(insn.jt), short(insn.jf)),
            Op::Ja => Insn::new(Op::Ja, within(insn.k)),
            _ => insn,
        });
    }
    Program::new(whole).unwrap()
}
