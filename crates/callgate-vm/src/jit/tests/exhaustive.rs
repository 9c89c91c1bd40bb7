//! Every instruction with every pair of boundary values, with constant and with unknown operands, so that
//! each form of generated code is covered.

use callgate_core::{Insn, Op, Operand, Program, SeccompData, SocketProgram};

use super::{Judge, RandomAncillary};
use crate::differential::EDGES;

const NR: Insn = Insn::new(Op::LdWordAbs, 0);
const ARCH: Insn = Insn::new(Op::LdWordAbs, 4);
const TAX: Insn = Insn::new(Op::Tax, 0);
const RET_A: Insn = Insn::new(Op::RetA, 0);

/// Syscalls with all pairs of boundary values in the first two words.
fn pairs() -> Vec<SeccompData> {
    let mut syscalls = Vec::new();
    for nr in EDGES {
        syscalls.extend(EDGES.map(|arch| SeccompData { nr, arch, ..SeccompData::default() }));
    }
    syscalls
}

/// Code after which A is the syscall number and X the arch token, both unknown; or one or both of them
/// are these constants.
fn setups(a: u32, x: u32) -> [Vec<Insn>; 4] {
    let (a, x) = (Insn::new(Op::LdImm, a), Insn::new(Op::LdxImm, x));
    [vec![ARCH, TAX, NR], vec![x, NR], vec![ARCH, TAX, a], vec![x, a]]
}

/// Two programs that return A and X.
fn results(body: &[Insn]) -> [Vec<Insn>; 2] {
    let with = |end: &[Insn]| body.iter().chain(end).copied().collect();
    [with(&[RET_A]), with(&[Insn::new(Op::Txa, 0), RET_A])]
}

pub(super) fn straight_instructions_agree_on_every_pair_of_boundary_values(judge: &mut dyn Judge) {
    let syscalls = pairs();
    for &op in Op::ALL {
        if op.is_branch() || op.is_return() || op == Op::Ja || !op.in_seccomp() {
            continue;
        }
        let constants: Vec<u32> = match op.operand() {
            Operand::Absolute => (0..64).step_by(4).collect(),
            Operand::Scratch => (0..16).collect(),
            _ if op.uses_k() => EDGES.to_vec(),
            _ => vec![0],
        };
        for k in constants {
            let stores = [Insn::new(Op::St, k % 16), Insn::new(Op::Stx, k % 16)];
            let reads = matches!(op, Op::LdMem | Op::LdxMem);
            for store in if reads { &stores[..] } else { &stores[..1] } {
                for setup in setups(k.rotate_left(9), k) {
                    let mut body = setup;
                    body.extend(reads.then_some(store));
                    body.push(Insn::new(op, k));
                    if matches!(op, Op::St | Op::Stx) {
                        body.push(Insn::new(Op::LdMem, k));
                    }
                    for insns in results(&body) {
                        // Divisions by the constant 0 and shifts by 32 and more are not accepted.
                        if let Ok(program) = Program::new(insns) {
                            judge.syscalls(&program, &syscalls);
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn modulo_agrees_on_every_pair_of_boundary_values(judge: &mut dyn Judge) {
    let packets: Vec<Vec<u8>> = pairs()
        .iter()
        .map(|syscall| [syscall.nr.to_be_bytes(), syscall.arch.to_be_bytes()].concat())
        .collect();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    for op in [Op::ModK, Op::ModX, Op::DivX, Op::DivK] {
        for k in EDGES.into_iter().skip(1) {
            for body in setups(k.rotate_left(5), k) {
                let insns = [&body[..], &[Insn::new(op, k), RET_A]].concat();
                let program = SocketProgram::new(insns).unwrap();
                judge.packets(
                    &program,
                    &packets,
                    &RandomAncillary { words: 0, network: 0, link: None },
                );
            }
        }
    }
}

/// Code after a branch: two returns, of which one is selected, or other code, with A live or dead.
fn ways() -> Vec<Vec<Insn>> {
    let ret = |k| Insn::new(Op::RetK, k);
    vec![
        vec![ret(7), ret(9)],
        vec![RET_A, ret(9)],
        vec![ret(0), RET_A],
        vec![ret(7), Insn::new(Op::LdWordAbs, 16), RET_A],
        vec![RET_A, Insn::new(Op::Txa, 0), RET_A],
    ]
}

pub(super) fn branches_agree_on_every_pair_of_boundary_values(judge: &mut dyn Judge) {
    let syscalls = pairs();
    for &op in Op::ALL.iter().filter(|op| op.is_branch()) {
        let constants = if op.uses_k() { &EDGES[..] } else { &[0] };
        for &k in constants {
            for setup in setups(k ^ 1, k) {
                for ways in ways() {
                    for (jt, jf) in [(0, 1), (1, 0), (1, 1)] {
                        let branch = Insn::branch(op, k, jt, jf);
                        let insns = [&setup[..], &[branch], &ways].concat();
                        judge.syscalls(&Program::new(insns).unwrap(), &syscalls);
                    }
                }
            }
        }
    }
}

pub(super) fn loads_agree_at_every_offset(judge: &mut dyn Judge) {
    let bytes: Vec<u8> = (0..40u8).map(|at| at.wrapping_mul(37) ^ 0xa5).collect();
    let packets: Vec<&[u8]> = (0..=bytes.len()).map(|len| &bytes[..len]).collect();
    let offsets = (0..40).chain(EDGES).chain(
        [0u32, 1, 2, 5, 38, 0x1000, 0x2000, 0xffff].into_iter().flat_map(|at| {
            [0xffe0_0000, 0xfff0_0000, 0xffff_f000].map(|base: u32| base.wrapping_add(at))
        }),
    );
    let mut programs = 0;
    for k in offsets {
        for ancillary in [
            RandomAncillary { words: 0, network: 14, link: Some(0) },
            RandomAncillary { words: 0, network: 0, link: None },
            RandomAncillary { words: 0, network: usize::MAX, link: Some(usize::MAX - 3) },
        ] {
            for op in [Op::LdWordAbs, Op::LdHalfAbs, Op::LdByteAbs, Op::LdxMsh] {
                let load = Insn::new(op, k);
                let after = [
                    vec![RET_A],
                    vec![Insn::new(Op::RetK, 3)],
                    vec![Insn::new(Op::AddX, 0), RET_A],
                    vec![Insn::branch(Op::JeqK, 0x80, 0, 1), RET_A, Insn::new(Op::RetK, 8)],
                    vec![Insn::branch(Op::JsetK, 0x8001, 1, 0), RET_A, Insn::new(Op::RetK, 8)],
                ];
                for after in after {
                    let insns = [&[Insn::new(Op::LdImm, 6), load], &after[..]].concat();
                    if let Ok(program) = SocketProgram::new(insns) {
                        judge.packets(&program, &packets, &ancillary);
                        programs += 1;
                    }
                }
            }
            for op in [Op::LdWordInd, Op::LdHalfInd, Op::LdByteInd] {
                for x in [0, 1, 4, 36, 0x7fff_ffff, 0xffff_fffc, 0xfff0_0000] {
                    for x in [
                        // RandomAncillary; from a byte, so that the sum is near; from a word, and not near.
                        vec![Insn::new(Op::LdxImm, x)],
                        vec![Insn::new(Op::LdByteAbs, x % 8), TAX],
                        vec![Insn::new(Op::LdLen, 0), Insn::new(Op::AddK, x), TAX],
                        vec![Insn::new(Op::LdLen, 0), Insn::new(Op::SubK, x), TAX],
                    ] {
                        let insns = [&x[..], &[Insn::new(op, k), RET_A]].concat();
                        judge.packets(&SocketProgram::new(insns).unwrap(), &packets, &ancillary);
                        programs += 1;
                    }
                }
            }
        }
    }
    assert!(programs > 10_000, "{programs}");
}
