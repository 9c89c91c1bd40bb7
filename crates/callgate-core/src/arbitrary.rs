//! Random programs that the kernel accepts, for tests.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use crate::program::check::Rules;
use crate::{
    AncillaryWord, Endian, FilterInput, Insn, Layout, Op, Operand, Program, ProgramError,
    SCRATCH_WORDS, SocketProgram,
};

/// The parts of an instruction: operation, jump distances, constant, and values for the fields that the
/// operation does not use.
type Seed = (u16, u8, u8, u32, Option<(u8, u8, u32)>);

/// Seccomp filters. With `ignored`, some instructions have values in fields that the kernel ignores.
pub fn program(ignored: bool) -> impl Strategy<Value = Program> {
    program_for(ignored)
}

/// The same for another input.
pub fn program_for<D: FilterInput>(ignored: bool) -> impl Strategy<Value = Program<D>> {
    let rules = Rules::Filter(D::layout(Endian::NATIVE));
    insns(rules, ignored).prop_map(|insns| repaired(insns, Program::of))
}

/// Socket filters.
pub fn socket_program(ignored: bool) -> impl Strategy<Value = SocketProgram> {
    insns(Rules::Socket, ignored).prop_map(|insns| repaired(insns, SocketProgram::new))
}

fn insns(rules: Rules, ignored: bool) -> impl Strategy<Value = Vec<Insn>> {
    let constant = prop_oneof![0u32..20, any::<u32>(), (0u32..32).prop_map(|bit| 1 << bit)];
    let in_ignored = prop_oneof![4 => Just(None), 1 => any::<(u8, u8, u32)>().prop_map(Some)];
    let in_ignored = in_ignored.prop_map(move |fields| fields.filter(|_| ignored));
    let length = prop_oneof![8 => 1usize..40, 1 => 300usize..700];
    length
        .prop_flat_map(move |length| {
            let seed =
                (any::<u16>(), any::<u8>(), any::<u8>(), constant.clone(), in_ignored.clone());
            proptest::collection::vec(seed, length)
        })
        .prop_map(move |seeds: Vec<Seed>| {
            let last = seeds.len() - 1;
            seeds.iter().enumerate().map(|(index, &seed)| insn(rules, last - index, seed)).collect()
        })
}

/// An instruction that `behind` others follow.
fn insn(rules: Rules, behind: usize, (op, jt, jf, k, ignored): Seed) -> Insn {
    let layout = match rules {
        Rules::Filter(layout) | Rules::LongFilter(layout) => Some(layout),
        Rules::Socket => None,
    };
    let mut op = Op::ALL[usize::from(op) % Op::ALL.len()];
    if behind == 0 {
        op = if k % 2 == 0 { Op::RetK } else { Op::RetA };
    } else if layout.is_some() && !op.in_seccomp() {
        op = Op::LdWordAbs;
    }
    let near = |distance: u8| (usize::from(distance) % behind.clamp(1, 256)) as u8;
    let words = layout.map_or(0, Layout::size) / 4;
    let k = match (op, op.operand()) {
        (Op::LdWordAbs, _) if words > 0 => k % words * 4,
        (Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs, _) if k >= 0xffff_f000 => {
            AncillaryWord::ALL[k as usize % AncillaryWord::ALL.len()].offset()
        }
        (Op::DivK | Op::ModK, _) => k.max(1),
        (Op::LshK | Op::RshK, _) => k % 32,
        (_, Operand::Scratch) => k % SCRATCH_WORDS as u32,
        (_, Operand::Jump) => k % behind as u32,
        _ if op.uses_k() => k,
        _ => 0,
    };
    let mut insn = Insn::new(op, k);
    if op.is_branch() {
        (insn.jt, insn.jf) = (near(jt), near(jf));
    }
    if let Some((jt, jf, k)) = ignored {
        if !op.is_branch() {
            (insn.jt, insn.jf) = (jt, jf);
        }
        if !op.uses_k() {
            insn.k = k;
        }
    }
    insn
}

/// The program without reads of unwritten scratch words, the only rule that it may violate by
/// construction.
fn repaired<P>(mut insns: Vec<Insn>, new: impl Fn(Vec<Insn>) -> Result<P, ProgramError>) -> P {
    let error = match new(insns.clone()) {
        Ok(program) => return program,
        Err(error) => error,
    };
    for violation in error.violations() {
        assert_eq!(violation.rule(), "scratch-unset", "{error}");
        insns[violation.index().unwrap()] = Insn::new(Op::Txa, 0);
    }
    new(insns).unwrap()
}
