//! Runs random programs on all engines.

use std::fmt;

use callgate_bpf::random::Rng;
use callgate_core::{Ancillary, AncillaryWord, Endian, Insn, SeccompData};

use super::generate::{packet, seccomp_program, socket_program, syscall};
use crate::engine::EngineError;
use crate::kind::EngineKind;

/// Inputs per program.
const INPUTS: usize = 24;

/// Runs at least `cases` cases with consecutive seeds from `first_seed` on. Returns the number of programs.
///
/// # Errors
/// The first difference.
pub fn run(first_seed: u64, cases: u64, engines: &[EngineKind]) -> Result<u64, Difference> {
    let programs = cases.div_ceil(INPUTS as u64);
    (0..programs).try_for_each(|program| check(first_seed.wrapping_add(program), engines))?;
    Ok(programs)
}

/// Runs one seed: a seccomp filter if it is even, a socket filter if it is odd.
///
/// # Errors
/// The first difference. An engine that cannot be created counts as one.
pub fn check(seed: u64, engines: &[EngineKind]) -> Result<(), Difference> {
    let rng = &mut Rng::new(seed);
    if seed.is_multiple_of(2) {
        let endian = if rng.below(4) == 0 { Endian::Big } else { Endian::Little };
        let program = seccomp_program(rng);
        let syscalls: Vec<SeccompData> = (0..INPUTS).map(|_| syscall(rng, &program)).collect();
        compare(
            (seed, program.insns()),
            engines,
            &syscalls,
            |data| format!("{data:x?} ({endian:?}-endian)"),
            |data| program.run(data, endian).verdict.0,
            |kind| Some(kind.seccomp(&program, endian)),
            |engine, data| {
                let bytes = data.to_bytes(Endian::NATIVE);
                [engine.verdict(data), engine.verdict_of_bytes(&bytes)].map(|verdict| verdict.0)
            },
        )
    } else {
        let program = socket_program(rng);
        let packets: Vec<(Vec<u8>, RandomAncillary)> =
            (0..INPUTS).map(|_| (packet(rng, &program), RandomAncillary::random(rng))).collect();
        compare(
            (seed, program.insns()),
            engines,
            &packets,
            |(packet, ancillary)| format!("{packet:02x?} with {ancillary:x?}"),
            |(packet, ancillary)| program.run(packet, ancillary),
            |kind| kind.packet(&program),
            |engine, (packet, ancillary)| [engine.run(packet, ancillary); 2],
        )
    }
}

/// Compares engines that are for this kind of program, on these inputs.
fn compare<I, E: ?Sized>(
    (seed, insns): (u64, &[Insn]),
    engines: &[EngineKind],
    inputs: &[I],
    text: impl Fn(&I) -> String,
    expected: impl Fn(&I) -> u32,
    make: impl Fn(EngineKind) -> Option<Result<Box<E>, EngineError>>,
    run: impl Fn(&E, &I) -> [u32; 2],
) -> Result<(), Difference> {
    for &engine in engines {
        let failed = |input: &I, given| {
            let (program, expected) = (listing(insns), expected(input));
            Difference { seed, engine, program, input: text(input), expected, given }
        };
        let made = match make(engine) {
            None => continue,
            Some(Ok(made)) => made,
            Some(Err(error)) => {
                return inputs.first().map_or(Ok(()), |i| Err(failed(i, Err(error))));
            }
        };
        for input in inputs {
            let expected = expected(input);
            if let Some(given) = run(&made, input).into_iter().find(|given| *given != expected) {
                return Err(failed(input, Ok(given)));
            }
        }
    }
    Ok(())
}

/// A case in which an engine does not return what the reference returns. Its text has the seed, with which [`check`] reproduces it.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    seed: u64,
    engine: EngineKind,
    pub(super) program: String,
    input: String,
    expected: u32,
    given: Result<u32, EngineError>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { seed, engine, program, input, expected, given } = self;
        write!(f, "seed {seed}: the reference returns {expected:#x}, {engine} ")?;
        match given {
            Ok(value) => write!(f, "{value:#x}")?,
            Err(error) => write!(f, "fails: {error}")?,
        }
        write!(f, ", for {input} and the program\n{program}")
    }
}

impl std::error::Error for Difference {}

/// One instruction per line.
pub(crate) fn listing(insns: &[Insn]) -> String {
    insns.iter().enumerate().map(|(at, insn)| format!("{at:>4}: {insn}\n")).collect()
}

/// Ancillary data for tests: a word depends on its offset, A, X and the length of the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomAncillary {
    pub(crate) words: u32,
    pub(crate) network: usize,
    pub(crate) link: Option<usize>,
}

impl RandomAncillary {
    pub(super) fn random(rng: &mut Rng) -> RandomAncillary {
        RandomAncillary {
            words: rng.next() as u32,
            network: rng.below(70),
            link: (rng.below(4) > 0).then(|| rng.below(8)),
        }
    }
}

impl Ancillary for RandomAncillary {
    fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
        self.words ^ word.offset() ^ a.rotate_left(7) ^ x.rotate_left(19) ^ packet.len() as u32
    }

    fn network_header(&self) -> usize {
        self.network
    }

    fn link_header(&self) -> Option<usize> {
        self.link
    }
}
