//! Random programs that the kernel accepts, and inputs that their constants are in.

use callgate::bpf::{
    AncillaryWord, Insn, MAX_INSNS, Op, Operand, Program, ProgramError, SKF_LL_OFF, SKF_NET_OFF,
    SocketProgram,
};
use callgate::fuzz::Numbers;
use callgate::{Arch, SeccompData, Verdict, Word};

/// Values where something changes: sign, width, shifts, short forms of constants.
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

/// The arch of half of the calls.
const TOKEN: u32 = Arch::X86_64.token();

/// What a program is most of the time made of.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// Any instruction as often as any other.
    Mixed,
    /// Comparisons with close constants, and returns.
    Dispatch,
    Arithmetic,
    /// Loads that lie close together, each with a comparison.
    Headers,
}

/// A random seccomp filter.
pub fn seccomp_program(numbers: &mut Numbers) -> Program {
    accepted(insns(numbers, false), Program::new)
}

/// A random socket filter.
pub fn socket_program(numbers: &mut Numbers) -> SocketProgram {
    accepted(insns(numbers, true), SocketProgram::new)
}

fn insns(numbers: &mut Numbers, socket: bool) -> Vec<Insn> {
    let len = match numbers.below(64) {
        // As long as the kernel accepts, now and then.
        0 if numbers.below(8) == 0 => MAX_INSNS,
        0 | 1 => 200 + numbers.below(600),
        2..16 => 1 + numbers.below(6),
        _ => 1 + numbers.below(50),
    };
    let style = match numbers.below(6) {
        0 | 1 => Style::Mixed,
        2 => Style::Arithmetic,
        3 | 4 if socket => Style::Headers,
        _ => Style::Dispatch,
    };
    (1..=len).rev().map(|left| insn(numbers, left - 1, socket, style)).collect()
}

/// An instruction with so many behind it.
fn insn(numbers: &mut Numbers, behind: usize, socket: bool, style: Style) -> Insn {
    let op = op(numbers, behind, socket, style);
    let mut insn = Insn::new(op, operand(numbers, op, behind, socket, style));
    if op.is_branch() {
        let near = if numbers.below(8) == 0 { 256 } else { 6 };
        insn.jt = numbers.below(near.min(behind)) as u8;
        // A dispatch mostly goes on when it does not go away.
        insn.jf = match style {
            Style::Dispatch if numbers.below(8) > 0 => 0,
            _ => numbers.below(near.min(behind)) as u8,
        };
        if numbers.below(8) == 0 {
            std::mem::swap(&mut insn.jt, &mut insn.jf);
        }
    }
    insn
}

fn op(numbers: &mut Numbers, behind: usize, socket: bool, style: Style) -> Op {
    if behind == 0 {
        return if numbers.below(3) == 0 { Op::RetA } else { Op::RetK };
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
        Style::Arithmetic if numbers.below(4) > 0 => loop {
            let op = numbers.pick(Op::ALL).unwrap_or(Op::Tax);
            if !op.is_return() && !op.is_branch() && op != Op::Ja {
                break op;
            }
        },
        _ if numbers.below(8) > 0 => numbers.pick(usual).unwrap_or(Op::Tax),
        _ => numbers.pick(Op::ALL).unwrap_or(Op::Tax),
    };
    // Early returns make short programs.
    if op.is_return() && numbers.below(3) > 0 {
        return Op::Tax;
    }
    if !socket && !op.in_seccomp() { Op::LdWordAbs } else { op }
}

fn operand(numbers: &mut Numbers, op: Op, behind: usize, socket: bool, style: Style) -> u32 {
    let k = match style {
        Style::Dispatch if numbers.below(20) == 0 => TOKEN,
        Style::Dispatch => {
            let limit = if numbers.below(4) == 0 { 600 } else { 80 };
            numbers.below(limit) as u32
        }
        // Few values, so that loads meet them.
        Style::Headers if op == Op::AndK => numbers.pick(&[0xf, 0xf0, 0x1fff]).unwrap_or(0),
        Style::Headers => numbers.pick(&[0, 6, 17, 22, 0x800, 0x1fff]).unwrap_or(0),
        Style::Mixed | Style::Arithmetic => value(numbers),
    };
    match (op, op.operand()) {
        // The arch and the number more often than the rest.
        (_, Operand::Absolute) if !socket => {
            let words = if numbers.below(2) == 0 { 2 } else { 16 };
            numbers.below(words) as u32 * 4
        }
        (_, Operand::Absolute | Operand::HeaderLength) => match (style, numbers.below(16)) {
            (Style::Headers, 1..) => 4 + numbers.below(12) as u32,
            (_, 0) => numbers.pick(AncillaryWord::ALL).map_or(0, AncillaryWord::offset),
            (_, 1) => SKF_NET_OFF.wrapping_add(numbers.below(24) as u32),
            (_, 2) => SKF_LL_OFF.wrapping_add(numbers.below(24) as u32),
            (_, 3) => numbers
                .pick(&[0x7fff_ffff, 0x8000_0000, 0x7fff_fff8, 0x7fff_fffc, 0xffdf_ffff])
                .unwrap_or(0),
            (_, 4) => numbers.below(70) as u32,
            _ => numbers.below(24) as u32,
        },
        (_, Operand::Indexed) => match numbers.below(8) {
            0 if style != Style::Headers => k,
            1 => (numbers.below(9) as u32).wrapping_sub(8),
            _ => numbers.below(16) as u32,
        },
        (Op::DivK | Op::ModK, _) => k.max(1),
        (Op::LshK | Op::RshK, _) => k % 32,
        (_, Operand::Scratch) => k % if numbers.below(2) == 0 { 3 } else { 16 },
        (_, Operand::Jump) => numbers.below(behind.min(6)) as u32,
        _ if op.uses_k() => k,
        _ => 0,
    }
}

/// A number, more often than not one where something changes.
fn value(numbers: &mut Numbers) -> u32 {
    let random = numbers.next() as u32;
    match numbers.below(8) {
        0..3 => random % 20,
        3 => 1 << (random % 32),
        4 => (1 << (random % 32)) - 1,
        5 => numbers.pick(&EDGES).unwrap_or(0),
        6 => random % 0x1_0000,
        _ => random,
    }
}

/// The program without what the kernel refuses, which is reading scratch words that may be unwritten, and
/// offsets at which there is nothing: something harmless takes the place of such an instruction.
fn accepted<P>(mut insns: Vec<Insn>, new: impl Fn(Vec<Insn>) -> Result<P, ProgramError>) -> P {
    loop {
        let error = match new(insns.clone()) {
            Ok(program) => return program,
            Err(error) => error,
        };
        for violation in error.violations() {
            match violation.index().and_then(|at| insns.get_mut(at)) {
                Some(insn) if !insn.op.is_return() => *insn = Insn::new(Op::Txa, 0),
                // Not what this file makes; a program that is surely accepted ends the search.
                _ => insns = vec![Insn::new(Op::RetK, Verdict::ALLOW.0)],
            }
        }
    }
}

/// A constant of the program or one beside it, or any number.
fn word(numbers: &mut Numbers, insns: &[Insn]) -> u32 {
    let random = value(numbers);
    let k = numbers.pick(insns).map_or(0, |insn| insn.k);
    match numbers.below(8) {
        0 | 1 => random,
        2 => k.wrapping_add(1),
        3 => k.wrapping_sub(1),
        4 => k ^ 1 << (random % 32),
        _ => k,
    }
}

/// A call that the program has something to say about.
pub fn call(numbers: &mut Numbers, program: &Program) -> SeccompData {
    let mut data = SeccompData::default();
    for one in Word::all() {
        data.set_word(one, word(numbers, program.insns()));
    }
    // Half of the calls are such as a table of verdicts may know.
    if numbers.below(2) == 0 {
        data.arch = TOKEN;
        data.nr &= 0x4000_01ff;
    }
    data
}

/// A packet of up to 80 bytes that the program has something to say about.
pub fn packet(numbers: &mut Numbers, program: &SocketProgram) -> Vec<u8> {
    let limit = numbers.pick(&[8, 24, 48, 81]).unwrap_or(0);
    let length = numbers.below(limit);
    let mut packet = Vec::with_capacity(length + 4);
    while packet.len() < length {
        let word = word(numbers, program.insns());
        match numbers.below(3) {
            0 => packet.extend(word.to_be_bytes()),
            1 => packet.extend((word as u16).to_be_bytes()),
            _ => packet.push(word as u8),
        }
    }
    packet.truncate(length);
    // What it compares with is often there.
    if numbers.below(4) > 0 {
        for pair in program.insns().windows(2) {
            if let &[load, compare] = pair
                && compare.op == Op::JeqK
                && numbers.below(3) > 0
            {
                put(&mut packet, load, compare.k);
            }
        }
    }
    packet
}

/// Puts a value where it is loaded from, if that is in the packet.
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
