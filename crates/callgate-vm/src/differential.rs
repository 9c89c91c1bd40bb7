//! Random programs and inputs on which every engine must say what the reference says.
//!
//! A case is a seed: the same seed gives the same program and inputs everywhere, so a difference that
//! is found once can be looked at again. Programs use every instruction that the kernel accepts, on
//! few constants, so that comparisons meet what is loaded; inputs are made of the program's constants.
//!
//! ```
//! use callgate_vm::{EngineKind, differential};
//!
//! for seed in 0..20 {
//!     differential::check(seed, EngineKind::ALL)?;
//! }
//! # Ok::<(), differential::Difference>(())
//! ```

use std::fmt;

use callgate::bpf::{
    Ancillary, AncillaryWord, Insn, MAX_INSNS, Op, Operand, Program, ProgramError, SKF_LL_OFF,
    SKF_NET_OFF, SocketProgram, Width,
};
use callgate::fuzz::Numbers;
use callgate::{Arch, Endian, SeccompData, Verdict, Word};

use crate::engine::EngineError;
use crate::kind::EngineKind;

/// How many inputs a program gets.
const INPUTS: usize = 24;

/// An engine that does not say what the reference says, and on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    seed: u64,
    engine: EngineKind,
    program: String,
    input: String,
    expected: u32,
    given: Result<u32, EngineError>,
}

impl Difference {
    /// The seed of the case: [`check`] finds it again.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The engine.
    pub fn engine(&self) -> EngineKind {
        self.engine
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { seed, engine, program, input, expected, given } = self;
        write!(f, "seed {seed:#x}: the reference returns {expected:#x}, {engine} ")?;
        match given {
            Ok(value) => write!(f, "{value:#x}")?,
            Err(error) => write!(f, "fails: {error}")?,
        }
        write!(f, ", for {input} and the program\n{program}")
    }
}

impl std::error::Error for Difference {}

/// Runs one case: a seccomp filter when the seed is even, a socket filter when it is odd. How often an
/// answer was compared.
///
/// # Errors
/// The first difference; an engine that cannot be made for an accepted program is one too.
pub fn check(seed: u64, engines: &[EngineKind]) -> Result<usize, Difference> {
    let mut numbers = Numbers::new(seed);
    if seed.is_multiple_of(2) {
        let endian = if numbers.below(4) == 0 { Endian::Big } else { Endian::Little };
        check_calls(seed, &seccomp_program(&mut numbers, endian), endian, &mut numbers, engines)
    } else {
        check_packets(seed, &socket_program(&mut numbers), &mut numbers, engines)
    }
}

/// The same for a given seccomp filter and random calls that are made of its constants.
///
/// # Errors
/// The first difference.
pub fn check_calls(
    seed: u64,
    program: &Program,
    endian: Endian,
    numbers: &mut Numbers,
    engines: &[EngineKind],
) -> Result<usize, Difference> {
    let constants = constants(program.insns());
    let calls: Vec<SeccompData> = (0..INPUTS).map(|_| call(&constants, numbers)).collect();
    let mut compared = 0;
    for &kind in engines {
        let failed = |data: &SeccompData, given| Difference {
            seed,
            engine: kind,
            program: listing(program.insns()),
            input: format!("{data:x?} ({endian:?}-endian)"),
            expected: program.run(data, endian).verdict.0,
            given,
        };
        let engine = kind
            .seccomp(program, endian)
            .map_err(|error| failed(&SeccompData::default(), Err(error)))?;
        for data in &calls {
            let expected = program.run(data, endian).verdict;
            let bytes = engine.verdict_of_bytes(&data.to_bytes(Endian::NATIVE));
            for given in [engine.verdict(data), bytes] {
                if given != expected {
                    return Err(failed(data, Ok(given.0)));
                }
                compared += 1;
            }
        }
    }
    Ok(compared)
}

/// The same for a given socket filter and packets of all lengths.
///
/// # Errors
/// The first difference.
pub fn check_packets(
    seed: u64,
    program: &SocketProgram,
    numbers: &mut Numbers,
    engines: &[EngineKind],
) -> Result<usize, Difference> {
    let constants = constants(program.insns());
    let packets: Vec<(Vec<u8>, Beside)> =
        (0..INPUTS).map(|_| (packet(&constants, numbers), Beside::random(numbers))).collect();
    let mut compared = 0;
    for &kind in engines {
        let failed = |(packet, beside): &(Vec<u8>, Beside), given| Difference {
            seed,
            engine: kind,
            program: listing(program.insns()),
            input: format!("{packet:02x?} with {beside:x?}"),
            expected: program.run(packet, beside),
            given,
        };
        let engine = match kind.packet(program) {
            None => continue,
            Some(Ok(engine)) => engine,
            Some(Err(error)) => {
                return Err(failed(&(Vec::new(), Beside::random(numbers)), Err(error)));
            }
        };
        for input in &packets {
            let (packet, beside) = input;
            let given = engine.run(packet, beside);
            if given != program.run(packet, beside) {
                return Err(failed(input, Ok(given)));
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// What a random kernel knows beside a packet.
#[derive(Clone, Copy, Debug)]
struct Beside {
    words: u32,
    network: usize,
    link: Option<usize>,
}

impl Beside {
    fn random(numbers: &mut Numbers) -> Beside {
        Beside {
            words: numbers.next() as u32,
            network: numbers.below(70),
            link: (numbers.below(4) > 0).then(|| numbers.below(8)),
        }
    }
}

impl Ancillary for Beside {
    fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
        let registers = match word {
            AncillaryWord::NetlinkAttribute | AncillaryWord::NestedAttribute => a ^ x << 1,
            _ => 0,
        };
        (self.words ^ word.offset()).wrapping_add(registers).wrapping_add(packet.len() as u32)
    }

    fn network_header(&self) -> usize {
        self.network
    }

    fn link_header(&self) -> Option<usize> {
        self.link
    }
}

/// The arch of half of the calls.
const TOKEN: u32 = Arch::X86_64.token();

/// Constants at which something may happen.
const SPECIAL: [u32; 10] = [0, 1, 2, 31, 32, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX];

fn constant(numbers: &mut Numbers) -> u32 {
    match numbers.below(8) {
        0..4 => numbers.below(12) as u32,
        4 => 1 << numbers.below(32),
        5 => numbers.below(600) as u32,
        6 if numbers.below(4) == 0 => TOKEN,
        6 => numbers.pick(&SPECIAL).unwrap_or(0),
        _ => numbers.next() as u32,
    }
}

/// A random seccomp filter.
pub fn seccomp_program(numbers: &mut Numbers, endian: Endian) -> Program {
    let word = |numbers: &mut Numbers| {
        let index = if numbers.below(3) > 0 { numbers.below(2) } else { numbers.below(16) };
        Word::from_index(index).map_or(0, |word| word.offset(endian))
    };
    let insns = body(numbers, true, word);
    accepted(insns, Program::new)
}

/// A random socket filter.
pub fn socket_program(numbers: &mut Numbers) -> SocketProgram {
    let offset = |numbers: &mut Numbers| match numbers.below(12) {
        0 => SKF_NET_OFF.wrapping_add(numbers.below(24) as u32),
        1 => SKF_LL_OFF.wrapping_add(numbers.below(24) as u32),
        2 => numbers.pick(AncillaryWord::ALL).map_or(0, AncillaryWord::offset),
        3 => numbers.below(70) as u32,
        4 => numbers.pick(&[0x7fff_fffc, 0x7fff_ffff, 0x8000_0000, 0xffdf_ffff, 65]).unwrap_or(0),
        _ => numbers.below(20) as u32,
    };
    let insns = body(numbers, false, offset);
    accepted(insns, SocketProgram::new)
}

fn body(
    numbers: &mut Numbers,
    seccomp: bool,
    mut offset: impl FnMut(&mut Numbers) -> u32,
) -> Vec<Insn> {
    let length = match numbers.below(10) {
        // As long as the kernel accepts, now and then.
        0 if numbers.below(40) == 0 => MAX_INSNS,
        0 => 200 + numbers.below(400),
        1 | 2 => 60 + numbers.below(60),
        _ => 2 + numbers.below(30),
    };
    // Some programs are little but comparisons, as filters are.
    let plain = numbers.below(3) == 0;
    let mut insns = Vec::with_capacity(length);
    while insns.len() + 1 < length {
        let behind = length - 1 - insns.len();
        let compares = if plain { numbers.below(4) > 0 } else { numbers.below(4) == 0 };
        let op = if compares {
            numbers.pick(&[Op::JeqK, Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK]).unwrap_or(Op::JeqK)
        } else if plain && numbers.below(4) > 0 {
            numbers.pick(&[Op::LdWordAbs, Op::AndK, Op::RetK]).unwrap_or(Op::LdWordAbs)
        } else {
            numbers.pick(Op::ALL).unwrap_or(Op::LdWordAbs)
        };
        if (seccomp && !op.in_seccomp()) || (op.is_return() && numbers.below(2) == 0) {
            continue;
        }
        let k = match (op, op.operand()) {
            (_, Operand::Absolute | Operand::HeaderLength) => offset(numbers),
            (_, Operand::Indexed) if numbers.below(4) > 0 => numbers.below(20) as u32,
            (Op::DivK | Op::ModK, _) => constant(numbers).max(1),
            (Op::LshK | Op::RshK, _) => numbers.below(32) as u32,
            (_, Operand::Scratch) => numbers.below(5) as u32,
            (_, Operand::Jump) => numbers.below(behind.min(6)) as u32,
            _ if op.uses_k() => constant(numbers),
            _ => 0,
        };
        let mut near = || {
            let reach = if numbers.below(6) == 0 { 256 } else { 8 };
            numbers.below(behind.min(reach)) as u8
        };
        let (jt, jf) = if op.is_branch() { (near(), near()) } else { (0, 0) };
        insns.push(Insn { op, jt, jf, k });
    }
    let value = constant(numbers);
    insns.push(match numbers.below(2) {
        0 => Insn::new(Op::RetK, value),
        _ => Insn::new(Op::RetA, 0),
    });
    insns
}

/// The program without what the kernel refuses, which is reading scratch words that may be unwritten:
/// something harmless takes the place of such an instruction.
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

/// One instruction on a line.
fn listing(insns: &[Insn]) -> String {
    insns.iter().enumerate().map(|(at, insn)| format!("{at:>4}: {insn}\n")).collect()
}

fn constants(insns: &[Insn]) -> Vec<u32> {
    let mut constants = SPECIAL.to_vec();
    constants.push(TOKEN);
    constants.extend(insns.iter().filter(|insn| insn.op.uses_k()).map(|insn| insn.k));
    constants
}

/// A value at or next to one of the constants.
fn near(constants: &[u32], numbers: &mut Numbers) -> u32 {
    let value = numbers.pick(constants).unwrap_or(0);
    match numbers.below(8) {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        2 => value ^ 1 << numbers.below(32),
        3 => numbers.next() as u32,
        4 => numbers.below(600) as u32,
        _ => value,
    }
}

fn call(constants: &[u32], numbers: &mut Numbers) -> SeccompData {
    let mut data = SeccompData::default();
    for word in Word::all() {
        data.set_word(word, near(constants, numbers));
    }
    // Half of the calls are such as a table of verdicts may know.
    if numbers.below(2) == 0 {
        data.arch = TOKEN;
        data.nr &= 0x4000_01ff;
    }
    data
}

/// A packet of any length up to 80 bytes, made of constants and single bytes.
fn packet(constants: &[u32], numbers: &mut Numbers) -> Vec<u8> {
    let length = numbers.below(81);
    let mut packet = Vec::with_capacity(length + 4);
    while packet.len() < length {
        let value = near(constants, numbers);
        let width = numbers.pick(&[Width::Byte, Width::Half, Width::Word]).unwrap_or(Width::Byte);
        packet.extend(value.to_be_bytes().iter().skip(4 - width.bytes()));
    }
    packet.truncate(length);
    packet
}
