//! What is known already is not computed again.

use callgate::bpf::{Insn, Op, SocketProgram};

use super::{Beside, Judge};
use crate::engine::PacketEngine;
use crate::jit::Jit;

const BESIDE: Beside = Beside { words: 0, network: 0, link: Some(0) };

fn insn(op: Op, k: u32) -> Insn {
    Insn::new(op, k)
}

/// A step of a program that computes the length of a header, or nearly so.
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

/// Three steps after each other, the second on one way only, and what is in the registers then.
pub(super) fn header_lengths_agree_however_they_are_computed(judge: &mut dyn Judge) {
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
                judge.packets(&SocketProgram::new(insns).unwrap(), &packets, &BESIDE);
            }
        }
    }
}

/// A is fetched right after it was stored, after something else, and on one way only.
pub(super) fn what_was_stored_is_fetched(judge: &mut dyn Judge) {
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
                judge.packets(&program, &[&[0x45, 0x12, 3], &[0x46, 0x13], &[1], &[]], &BESIDE);
            }
        }
    }
}

#[test]
fn a_header_length_is_computed_once() {
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
