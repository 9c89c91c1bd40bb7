//! Random socket filters that mostly load what the proof models, and random packets near their constants.

use callgate_bpf::random::Rng;
use callgate_core::{AncillaryWord, Insn, Op, SCRATCH_WORDS, SocketProgram};

/// A random filter: loads at small offsets, also relative to the length of a header, with comparisons and arithmetic. Some load
/// behind the bytes that the proof knows, or an ancillary word.
pub fn packet_program(rng: &mut Rng) -> SocketProgram {
    let len = 2 + rng.below(24);
    let mut insns: Vec<Insn> = (0..len).map(|at| insn(rng, len - at)).collect();
    // `ret a` returns at most twelve unknown bits, so that it is modelled.
    match rng.below(4) {
        0 => insns.extend([Insn::new(Op::AndK, 0x8000_0007), Insn::new(Op::RetA, 0)]),
        _ => insns.push(Insn::new(Op::RetK, returned(rng))),
    }
    insns.push(Insn::new(Op::RetK, returned(rng)));
    // What the acceptance rules refuse: reads of scratch words that are not written on every path.
    loop {
        match SocketProgram::new(insns.clone()) {
            Ok(program) => return program,
            Err(error) => {
                for index in error.violations().iter().filter_map(|violation| violation.index()) {
                    if let Some(insn) = insns.get_mut(index) {
                        assert!(matches!(insn.op, Op::LdMem | Op::LdxMem), "{error}");
                        *insn = Insn::new(Op::Txa, 0);
                    }
                }
            }
        }
    }
}

fn returned(rng: &mut Rng) -> u32 {
    rng.pick(&[0, 0, 1, 96, 0xffff, 0x4_0000]).unwrap_or(0)
}

/// The offset of a load: mostly of headers that overlap.
fn offset(rng: &mut Rng) -> u32 {
    match rng.below(60) {
        0 => 80 + rng.below(16) as u32,
        1 => rng.next() as u32,
        2..20 => rng.below(92) as u32,
        _ => rng.below(16) as u32,
    }
}

fn constant(rng: &mut Rng) -> u32 {
    match rng.below(8) {
        0 => rng.next() as u32,
        1 => 1 << rng.below(32),
        2 => 0x0800,
        3 => rng.below(0x10000) as u32,
        _ => rng.below(12) as u32,
    }
}

/// An instruction that at least `behind` others follow.
fn insn(rng: &mut Rng, behind: usize) -> Insn {
    use Op::*;
    let near = |rng: &mut Rng| rng.below(behind.min(6)) as u8;
    match rng.below(40) {
        0..8 => {
            let op = rng.pick(&[LdByteAbs, LdByteAbs, LdHalfAbs, LdWordAbs]).unwrap_or(LdByteAbs);
            Insn::new(op, offset(rng))
        }
        8..10 => Insn::new(LdxMsh, offset(rng)),
        10..13 => {
            let op = rng.pick(&[LdByteInd, LdHalfInd, LdWordInd]).unwrap_or(LdByteInd);
            Insn::new(op, if rng.one_in(20) { u32::MAX - 3 } else { rng.below(20) as u32 })
        }
        13 => Insn::new(rng.pick(&[LdLen, LdxLen]).unwrap_or(LdLen), 0),
        14 => Insn::new(rng.pick(&[LdImm, LdxImm]).unwrap_or(LdImm), rng.below(70) as u32),
        15 => Insn::new(rng.pick(&[Tax, Txa, Neg]).unwrap_or(Tax), 0),
        16 => {
            let op = rng.pick(&[St, Stx, LdMem, LdxMem]).unwrap_or(St);
            Insn::new(op, rng.below(SCRATCH_WORDS.min(2)) as u32)
        }
        17 => Insn::new(rng.pick(&[AddX, SubX, AndX, OrX, XorX]).unwrap_or(AddX), 0),
        18 => match rng.below(6) {
            0 => Insn::new(LdWordAbs, AncillaryWord::AluXorX.offset()),
            1 => Insn::new(LdWordAbs, AncillaryWord::Mark.offset()),
            2 => Insn::new(rng.pick(&[DivX, ModX]).unwrap_or(DivX), 0),
            3 => Insn::new(rng.pick(&[LshX, RshX]).unwrap_or(LshX), 0),
            _ => Insn::new(Ja, rng.below(behind.min(6)) as u32),
        },
        19 => Insn::new(rng.pick(&[LshK, RshK]).unwrap_or(LshK), rng.below(32) as u32),
        20..24 => {
            let op = rng.pick(&[AddK, SubK, AndK, AndK, OrK, XorK, ModK]).unwrap_or(AndK);
            Insn::new(op, constant(rng).max(1))
        }
        24 => Insn::new(RetK, returned(rng)),
        25..28 => {
            let op = rng.pick(&[JeqX, JgtX, JgeX, JsetX]).unwrap_or(JeqX);
            Insn::branch(op, 0, near(rng), near(rng))
        }
        _ => {
            let op = rng.pick(&[JeqK, JeqK, JeqK, JgtK, JgeK, JsetK]).unwrap_or(JeqK);
            Insn::branch(op, constant(rng), near(rng), near(rng))
        }
    }
}

/// A packet of at most 110 bytes, mostly those of the constants of the program, and small numbers.
pub fn packet_near(program: &SocketProgram, rng: &mut Rng) -> Vec<u8> {
    let len = match rng.below(4) {
        0 => rng.below(24),
        1 => 88 + rng.below(8),
        _ => rng.below(110),
    };
    let mut packet: Vec<u8> = (0..len)
        .map(|_| match rng.below(4) {
            0 => rng.next() as u8,
            1 => 0,
            _ => rng.below(12) as u8,
        })
        .collect();
    // Where a load is compared with a constant, that constant or a neighbour of it.
    for pair in program.insns().windows(2) {
        let [load, test] = pair else { continue };
        let Some(width) = load.op.width().filter(|_| test.op.is_branch()) else { continue };
        let value = test.k.wrapping_add(rng.below(3) as u32).wrapping_sub(1).to_be_bytes();
        let bytes = &value[4 - width.bytes()..];
        for (at, byte) in (load.k as usize..).zip(bytes).take(if rng.one_in(3) { 0 } else { 4 }) {
            if let Some(slot) = packet.get_mut(at) {
                *slot = *byte;
            }
        }
    }
    packet
}
