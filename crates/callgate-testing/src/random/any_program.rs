//! Random programs of all instructions that the kernel accepts.

use callgate_core::{
    AncillaryWord, Endian, FilterInput, Insn, Layout, Op, Operand, Program, ProgramError,
    SCRATCH_WORDS, SeccompData, SocketProgram,
};
use proptest::prelude::*;

/// The parts of an instruction: operation, jump distances, constant, and values for the fields that the
/// operation does not use.
type Seed = (u16, u8, u8, u32, Option<(u8, u8, u32)>);

/// Seccomp filters. With `ignored`, some instructions have values in fields that the kernel ignores.
pub fn any_program(ignored: bool) -> impl Strategy<Value = Program> {
    let layout = SeccompData::layout(Endian::NATIVE);
    insns(Some(layout), ignored).prop_map(|insns| repaired(insns, Program::new))
}

/// Socket filters.
pub fn any_socket_program(ignored: bool) -> impl Strategy<Value = SocketProgram> {
    insns(None, ignored).prop_map(|insns| repaired(insns, SocketProgram::new))
}

/// Instructions that load words of this structure, or parts of packets.
fn insns(layout: Option<Layout>, ignored: bool) -> impl Strategy<Value = Vec<Insn>> {
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
            seeds
                .iter()
                .enumerate()
                .map(|(index, &seed)| insn(layout, last - index, seed))
                .collect()
        })
}

/// An instruction that `behind` others follow.
fn insn(layout: Option<Layout>, behind: usize, (op, jt, jf, k, ignored): Seed) -> Insn {
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
