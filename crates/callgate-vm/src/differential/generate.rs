//! Random programs that the kernel accepts, and inputs made of their constants.

use callgate_bpf::random::Rng;
use callgate_core::{
    AncillaryWord, Arch, Insn, MAX_INSNS, Op, Operand, Program, ProgramError, SKF_LL_OFF,
    SKF_NET_OFF, SeccompData, SocketProgram, Verdict, Word,
};

/// Boundary values: of signs, widths, shifts and short encodings of constants.
pub(crate) const EDGES: [u32; 26] = [
    0,
    1,
    2,
    3,
    5,
    15,
    31,
    32,
    33,
    63,
    0x7f,
    0x80,
    0xff,
    0x100,
    0xfff,
    0x1000,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x00ff_f000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ff80,
    0xffff_fffe,
    0xffff_ffff,
];

/// The arch of half of the syscalls.
const TOKEN: u32 = Arch::X86_64.token();

/// Which instructions dominate a program.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// All instructions equally.
    Mixed,
    /// Comparisons with constants that are close together, and returns.
    Dispatch,
    Arithmetic,
    /// Loads from neighbouring offsets, each with a comparison.
    Headers,
}

/// A random seccomp filter.
pub fn seccomp_program(rng: &mut Rng) -> Program {
    accepted(insns(rng, false), Program::new)
}

/// A random socket filter.
pub fn socket_program(rng: &mut Rng) -> SocketProgram {
    accepted(insns(rng, true), SocketProgram::new)
}

fn insns(rng: &mut Rng, socket: bool) -> Vec<Insn> {
    let len = match rng.below(64) {
        // Sometimes the longest program that the kernel accepts.
        0 if rng.below(8) == 0 => MAX_INSNS,
        0 | 1 => 200 + rng.below(600),
        2..16 => 1 + rng.below(6),
        _ => 1 + rng.below(50),
    };
    let style = match rng.below(6) {
        0 | 1 => Style::Mixed,
        2 => Style::Arithmetic,
        3 | 4 if socket => Style::Headers,
        _ => Style::Dispatch,
    };
    (1..=len).rev().map(|left| insn(rng, left - 1, socket, style)).collect()
}

/// An instruction that `behind` others follow.
fn insn(rng: &mut Rng, behind: usize, socket: bool, style: Style) -> Insn {
    let op = op(rng, behind, socket, style);
    let mut insn = Insn::new(op, operand(rng, op, behind, socket, style));
    if op.is_branch() {
        let near = if rng.below(8) == 0 { 256 } else { 6 };
        insn.jt = rng.below(near.min(behind)) as u8;
        // In a dispatch, most comparisons fall through to the next one.
        insn.jf = match style {
            Style::Dispatch if rng.below(8) > 0 => 0,
            _ => rng.below(near.min(behind)) as u8,
        };
        if rng.below(8) == 0 {
            std::mem::swap(&mut insn.jt, &mut insn.jf);
        }
    }
    insn
}

fn op(rng: &mut Rng, behind: usize, socket: bool, style: Style) -> Op {
    if behind == 0 {
        return if rng.below(3) == 0 { Op::RetA } else { Op::RetK };
    }
    let usual: &[Op] = match style {
        Style::Mixed => Op::ALL,
        Style::Arithmetic => &[],
        Style::Dispatch => {
            use Op::*;
            &[JeqK, JeqK, JeqK, JeqK, JeqK, JgeK, JgtK, JsetK, LdWordAbs, LdWordAbs, RetK, AndK]
        }
        Style::Headers => {
            use Op::*;
            &[
                LdByteAbs, LdHalfAbs, LdHalfAbs, LdWordAbs, LdByteInd, LdHalfInd, LdxMsh, JeqK,
                JeqK, JeqK, JeqK, JeqK, JsetK, AndK, RetK,
            ]
        }
    };
    let op = match style {
        Style::Arithmetic if rng.below(4) > 0 => loop {
            let op = rng.pick(Op::ALL).unwrap_or(Op::Tax);
            if !op.is_return() && !op.is_branch() && op != Op::Ja {
                break op;
            }
        },
        _ if rng.below(8) > 0 => rng.pick(usual).unwrap_or(Op::Tax),
        _ => rng.pick(Op::ALL).unwrap_or(Op::Tax),
    };
    // With many early returns, most of the program would be unreachable.
    if op.is_return() && rng.below(3) > 0 {
        return Op::Tax;
    }
    if !socket && !op.in_seccomp() { Op::LdWordAbs } else { op }
}

fn operand(rng: &mut Rng, op: Op, behind: usize, socket: bool, style: Style) -> u32 {
    let k = match style {
        Style::Dispatch if rng.below(20) == 0 => TOKEN,
        Style::Dispatch => {
            let limit = if rng.below(4) == 0 { 600 } else { 80 };
            rng.below(limit) as u32
        }
        // Few values, so that comparisons often hold.
        Style::Headers if op == Op::AndK => rng.pick(&[0xf, 0xf0, 0x1fff]).unwrap_or(0),
        Style::Headers => rng.pick(&[0, 6, 17, 22, 0x800, 0x1fff]).unwrap_or(0),
        Style::Mixed | Style::Arithmetic => value(rng),
    };
    match (op, op.operand()) {
        // The arch and the syscall number more often than other words.
        (_, Operand::Absolute) if !socket => {
            let words = if rng.below(2) == 0 { 2 } else { 16 };
            rng.below(words) as u32 * 4
        }
        (_, Operand::Absolute | Operand::HeaderLength) => match (style, rng.below(16)) {
            (Style::Headers, 1..) => 4 + rng.below(12) as u32,
            (_, 0) => rng.pick(AncillaryWord::ALL).map_or(0, AncillaryWord::offset),
            (_, 1) => SKF_NET_OFF.wrapping_add(rng.below(24) as u32),
            (_, 2) => SKF_LL_OFF.wrapping_add(rng.below(24) as u32),
            (_, 3) => rng
                .pick(&[0x7fff_ffff, 0x8000_0000, 0x7fff_fff8, 0x7fff_fffc, 0xffdf_ffff])
                .unwrap_or(0),
            (_, 4) => rng.below(70) as u32,
            _ => rng.below(24) as u32,
        },
        (_, Operand::Indexed) => match rng.below(8) {
            0 if style != Style::Headers => k,
            1 => (rng.below(9) as u32).wrapping_sub(8),
            _ => rng.below(16) as u32,
        },
        (Op::DivK | Op::ModK, _) => k.max(1),
        (Op::LshK | Op::RshK, _) => k % 32,
        (_, Operand::Scratch) => k % if rng.below(2) == 0 { 3 } else { 16 },
        (_, Operand::Jump) => rng.below(behind.min(6)) as u32,
        _ if op.uses_k() => k,
        _ => 0,
    }
}

/// A number, often a boundary value.
fn value(rng: &mut Rng) -> u32 {
    let random = rng.next() as u32;
    match rng.below(8) {
        0..3 => random % 20,
        3 => 1 << (random % 32),
        4 => (1 << (random % 32)) - 1,
        5 => rng.pick(&EDGES).unwrap_or(0),
        6 => random % 0x1_0000,
        _ => random,
    }
}

/// The program with each instruction that the kernel refuses (reads of unwritten scratch words and of
/// unknown ancillary words) replaced by a harmless one.
fn accepted<P>(mut insns: Vec<Insn>, new: impl Fn(Vec<Insn>) -> Result<P, ProgramError>) -> P {
    loop {
        let error = match new(insns.clone()) {
            Ok(program) => return program,
            Err(error) => error,
        };
        for violation in error.violations() {
            match violation.index().and_then(|at| insns.get_mut(at)) {
                Some(insn) if !insn.op.is_return() => *insn = Insn::new(Op::Txa, 0),
                // Never generated here; an acceptable program ends the loop.
                _ => insns = vec![Insn::new(Op::RetK, Verdict::ALLOW.0)],
            }
        }
    }
}

/// A constant of the program, a neighbour of one, or any number.
fn word(rng: &mut Rng, insns: &[Insn]) -> u32 {
    let random = value(rng);
    let k = rng.pick(insns).map_or(0, |insn| insn.k);
    match rng.below(8) {
        0 | 1 => random,
        2 => k.wrapping_add(1),
        3 => k.wrapping_sub(1),
        4 => k ^ 1 << (random % 32),
        _ => k,
    }
}

/// A syscall made of the program's constants.
pub fn syscall(rng: &mut Rng, program: &Program) -> SeccompData {
    let mut data = SeccompData::default();
    for one in Word::all() {
        data.set_word(one, word(rng, program.insns()));
    }
    // Half of the syscalls are in the range of `Cached`'s table.
    if rng.below(2) == 0 {
        data.arch = TOKEN;
        data.nr &= 0x4000_01ff;
    }
    data
}

/// A packet of up to 80 bytes, made of the program's constants.
pub fn packet(rng: &mut Rng, program: &SocketProgram) -> Vec<u8> {
    let limit = rng.pick(&[8, 24, 48, 81]).unwrap_or(0);
    let length = rng.below(limit);
    let mut packet = Vec::with_capacity(length + 4);
    while packet.len() < length {
        let word = word(rng, program.insns());
        match rng.below(3) {
            0 => packet.extend(word.to_be_bytes()),
            1 => packet.extend((word as u16).to_be_bytes()),
            _ => packet.push(word as u8),
        }
    }
    packet.truncate(length);
    // Often, the value that the program compares with is where it loads from.
    if rng.below(4) > 0 {
        for pair in program.insns().windows(2) {
            if let &[load, compare] = pair
                && compare.op == Op::JeqK
                && rng.below(3) > 0
            {
                put(&mut packet, load, compare.k);
            }
        }
    }
    packet
}

/// Writes a value to where it is loaded from, if that is in the packet.
fn put(packet: &mut [u8], load: Insn, value: u32) {
    let width = match load.op {
        Op::LdWordAbs => 4,
        Op::LdHalfAbs => 2,
        Op::LdByteAbs => 1,
        _ => return,
    };
    let start = load.k as usize;
    let bytes = value.to_be_bytes().into_iter().skip(4 - width);
    for (place, byte) in packet.iter_mut().skip(start).zip(bytes) {
        *place = byte;
    }
}
