//! Elimination of redundant computations: values that a register holds are not computed again.

use callgate_core::{Endian, Insn, Op, Program, SeccompData, SocketProgram};

use super::{Judge, RandomAncillary};
use crate::engine::{PacketEngine, SeccompEngine};
use crate::jit::Jit;

const ANCILLARY: RandomAncillary = RandomAncillary { words: 0, network: 0, link: Some(0) };

fn insn(op: Op, k: u32) -> Insn {
    Insn::new(op, k)
}

/// Code that computes the length of a header, or something similar.
fn steps() -> Vec<Vec<Insn>> {
    let mut steps = vec![
        vec![insn(Op::LdxMsh, 0)],
        vec![insn(Op::LdxMsh, 1)],
        vec![insn(Op::Tax, 0)],
        vec![insn(Op::Txa, 0)],
        vec![insn(Op::AddX, 0)],
    ];
    for (load, at) in [(Op::LdByteAbs, 0), (Op::LdByteAbs, 1), (Op::LdHalfAbs, 0)] {
        for (mask, shift) in [(0xf, 2), (0xe, 2), (0xf, 3), (0x1f, 2)] {
            steps.push(vec![insn(load, at), insn(Op::AndK, mask), insn(Op::LshK, shift)]);
        }
        steps.push(vec![insn(load, at), insn(Op::LshK, 2), insn(Op::AndK, 0xf)]);
        steps.push(vec![insn(load, at), insn(Op::AndK, 0xf)]);
    }
    steps
}

/// Three steps, the second of them conditional, and the resulting A and X.
pub(super) fn header_lengths_agree(judge: &mut dyn Judge) {
    let steps = steps();
    let packets: Vec<[u8; 4]> =
        (0..16u8).flat_map(|at| [[at, 0x45, 3, at], [0x4f ^ at, at << 4 | 3, 1, 2]]).collect();
    let mut packets: Vec<&[u8]> = packets.iter().map(|packet| &packet[..]).collect();
    packets.extend([&[0x45, 0x46][..], &[0x47], &[]]);
    for first in &steps {
        for second in &steps {
            for third in &steps {
                let mut insns = first.clone();
                insns.push(Insn::branch(Op::JsetK, 4, second.len() as u8, 0));
                insns.extend(second.iter().chain(third));
                insns.extend([insn(Op::LshK, 8), insn(Op::AddX, 0), insn(Op::RetA, 0)]);
                judge.packets(&SocketProgram::new(insns).unwrap(), &packets, &ANCILLARY);
            }
        }
    }
}

/// Scratch loads right after the store, after other code, and after conditional code.
pub(super) fn scratch_loads_after_stores_agree(judge: &mut dyn Judge) {
    let between = [
        vec![],
        vec![insn(Op::LdByteAbs, 1)],
        vec![insn(Op::LdByteAbs, 0), insn(Op::AndK, 0xf), insn(Op::LshK, 2), insn(Op::Tax, 0)],
        vec![insn(Op::AddK, 7)],
        vec![insn(Op::AddK, 0)],
        vec![insn(Op::St, 2), insn(Op::LdMem, 1)],
        vec![Insn::branch(Op::JeqK, 0x45, 0, 1), insn(Op::LdByteAbs, 1)],
        vec![insn(Op::Ja, 1), insn(Op::LdByteAbs, 1)],
    ];
    let stores =
        [(Op::St, Op::LdMem), (Op::St, Op::LdxMem), (Op::Stx, Op::LdMem), (Op::Stx, Op::LdxMem)];
    for between in &between {
        for (store, fetch) in stores {
            for word in [1, 2] {
                let mut insns = vec![insn(Op::LdxLen, 0), insn(Op::LdByteAbs, 0), insn(Op::St, 1)];
                insns.extend([insn(Op::Stx, 2), insn(store, 1)]);
                insns.extend(between);
                insns.extend([insn(fetch, word), insn(Op::LshK, 8), insn(Op::AddX, 0)]);
                insns.push(insn(Op::RetA, 0));
                let program = SocketProgram::new(insns).unwrap();
                judge.packets(&program, &[&[0x45, 0x12, 3], &[0x46, 0x13], &[1], &[]], &ANCILLARY);
            }
        }
    }
}

/// A comparison right after a load, with and without A being read afterwards.
pub(super) fn comparisons_after_loads_agree(judge: &mut dyn Judge) {
    let loads = [
        (Op::LdByteAbs, 2),
        (Op::LdHalfAbs, 2),
        (Op::LdWordAbs, 2),
        (Op::LdByteInd, 1),
        (Op::LdHalfInd, 1),
        (Op::LdWordInd, 1),
        // May wrap, given the interval of X.
        (Op::LdHalfInd, 0x7fff_ffe0),
    ];
    let constants = [0, 1, 0x16, 0x1600, 0x1601, 0xffff, 0x1_0000, 0x0116_0000, 0x1601_0002];
    let packets: Vec<Vec<u8>> = constants
        .iter()
        .flat_map(|k: &u32| {
            let bytes = k.to_be_bytes();
            [vec![0x40], vec![0x41, 1], vec![0x40, 1, bytes[3]], vec![0x40, 2, bytes[2], bytes[3]]]
                .into_iter()
                .chain([
                    [&[0x40, 0][..], &bytes].concat(),
                    [&[0x41, 0, 0, 0, 0][..], &bytes].concat(),
                ])
        })
        .collect();
    let packets: Vec<&[u8]> = packets.iter().map(|packet| &packet[..]).collect();
    for load in loads.map(|(op, k)| insn(op, k)) {
        for test in [Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK] {
            for k in constants {
                for end in [insn(Op::RetK, 7), insn(Op::RetA, 0)] {
                    let branch = Insn::branch(test, k, 0, 1);
                    // The code in between has no effect.
                    for between in [vec![], vec![insn(Op::St, 3)], vec![insn(Op::AddK, 0)]] {
                        let head = [insn(Op::LdxMsh, 0), load];
                        let tail = [branch, end, insn(Op::RetK, 9)];
                        let insns = [&head[..], &between, &tail].concat();
                        judge.packets(&SocketProgram::new(insns).unwrap(), &packets, &ANCILLARY);
                    }
                }
            }
        }
    }
}

/// Three consecutive comparisons with every assignment of two destinations.
pub(super) fn redundant_comparisons_agree(judge: &mut dyn Judge) {
    let syscalls: Vec<SeccompData> =
        (0..4).map(|nr| SeccompData { nr, ..SeccompData::default() }).collect();
    let tests = || [1u32, 2].into_iter().flat_map(|k| [(k, 0u8), (k, 1)]);
    for (first, to_first) in tests() {
        for (second, to_second) in tests() {
            for (third, to_third) in tests() {
                for (end, op) in [(0u8, Op::JeqK), (1, Op::JeqK), (0, Op::JsetK), (1, Op::JgeK)] {
                    let program = Program::new(vec![
                        insn(Op::LdWordAbs, 0),
                        Insn::branch(op, first, 2 + to_first, 0),
                        Insn::branch(Op::JeqK, second, 1 + to_second, 0),
                        Insn::branch(Op::JeqK, third, to_third, end),
                        insn(Op::RetK, 5),
                        insn(Op::RetK, 6),
                    ]);
                    judge.syscalls(&program.unwrap(), &syscalls);
                }
            }
        }
    }
}

#[test]
fn a_header_length_is_loaded_once() {
    let by_hand = [(Op::LdByteAbs, 14), (Op::AndK, 15), (Op::LshK, 2), (Op::Tax, 0)];
    let by_hand = by_hand.map(|(op, k)| insn(op, k));
    let size = |lengths: &[&[Insn]]| {
        let end = [insn(Op::LdByteInd, 16), insn(Op::RetA, 0)];
        let program = SocketProgram::new([&lengths.concat()[..], &end].concat()).unwrap();
        Jit::new_packet(&program).unwrap().code_bytes()
    };
    let msh = &[insn(Op::LdxMsh, 14)][..];
    let once = size(&[msh]);
    for again in [&[msh, msh][..], &[msh, &by_hand], &[msh, &by_hand, msh]] {
        assert_eq!(size(again), once);
    }
    assert_eq!(size(&[&by_hand, msh]), size(&[&by_hand]));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn compared_loads_are_not_byte_swapped() {
    const ROL_AX_8: [u8; 4] = [0x66, 0xc1, 0xc0, 8];
    let turns = |end| {
        let compare = Insn::branch(Op::JeqK, 22, 1, 0);
        let head = [insn(Op::LdxMsh, 0), insn(Op::LdHalfInd, 0), compare];
        let program = SocketProgram::new([&head[..], &[end, insn(Op::RetK, 9)]].concat()).unwrap();
        let jit = Jit::new_packet(&program).unwrap();
        jit.code().windows(4).any(|code| code == ROL_AX_8)
    };
    assert!(!turns(insn(Op::RetK, 7)));
    assert!(turns(insn(Op::RetA, 0)), "A is returned");
}

#[test]
fn redundant_comparisons_are_removed() {
    let size = |numbers: &[u32]| {
        let mut insns = vec![insn(Op::LdWordAbs, 0)];
        for (&nr, behind) in numbers.iter().rev().zip(0..) {
            insns.insert(1, Insn::branch(Op::JeqK, nr, behind + u8::from(nr != 9), 0));
        }
        insns.extend([insn(Op::RetK, 5), insn(Op::RetK, 6)]);
        // The last comparison leads to the first return, all others to the second.
        insns[numbers.len()].jf = 1;
        Jit::new(&Program::new(insns).unwrap(), Endian::NATIVE).unwrap().code_bytes()
    };
    assert_eq!(size(&[1, 9]), size(&[9]));
    assert_eq!(size(&[1, 2, 9]), size(&[9]));
}
