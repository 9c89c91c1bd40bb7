//! How long an engine takes for a call: the best of several rounds, so that what else the machine does
//! is left out as far as possible.

use std::hint::black_box;
use std::time::{Duration, Instant};

use callgate::SeccompData;
use callgate::bpf::NoAncillary;

use callgate_vm::{EngineError, EngineKind, PacketEngine, SeccompEngine, UsePacket, UseSeccomp};

use super::workloads::{EngineInputs, Workload};

/// What an engine costs on a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Nanoseconds for a call, the same input all the time.
    pub hot_ns: f64,
    /// Nanoseconds for a call, on average over inputs that all differ.
    pub cold_ns: f64,
    /// How long it takes to make the engine.
    pub compile: Duration,
    /// What the engine made of the program.
    pub code_bytes: usize,
}

/// How many instructions of the program the reference executes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Executed {
    /// For the input that comes all the time.
    pub hot: usize,
    /// On average over the different inputs.
    pub cold: f64,
}

/// How often a measurement is taken.
const ROUNDS: usize = 7;

/// How long a round is at least.
const ROUND: Duration = Duration::from_millis(4);

/// Measures an engine on a workload; `None` when it is not for this kind of program.
///
/// # Errors
/// When the engine cannot be made.
pub fn measure(kind: EngineKind, workload: &Workload) -> Result<Option<Cost>, EngineError> {
    match &workload.inputs {
        EngineInputs::Calls { program, endian, hot, cold } => {
            kind.with_seccomp(program, *endian, OfCalls { hot, cold }).map(Some)
        }
        EngineInputs::Packets { program, hot, cold } => {
            kind.with_packet(program, OfPackets { hot, cold }).transpose()
        }
    }
}

struct OfCalls<'a> {
    hot: &'a SeccompData,
    cold: &'a [SeccompData],
}

impl UseSeccomp for OfCalls<'_> {
    type Output = Result<Cost, EngineError>;

    fn with<E: SeccompEngine>(self, make: impl Fn() -> Result<E, EngineError>) -> Self::Output {
        let engine = make()?;
        Ok(Cost {
            hot_ns: calls(&engine, std::slice::from_ref(self.hot)),
            cold_ns: calls(&engine, self.cold),
            compile: making(make),
            code_bytes: engine.code_bytes(),
        })
    }
}

struct OfPackets<'a> {
    hot: &'a Vec<u8>,
    cold: &'a [Vec<u8>],
}

impl UsePacket for OfPackets<'_> {
    type Output = Result<Cost, EngineError>;

    fn with<E: PacketEngine>(self, make: impl Fn() -> Result<E, EngineError>) -> Self::Output {
        let engine = make()?;
        Ok(Cost {
            hot_ns: packets(&engine, std::slice::from_ref(self.hot)),
            cold_ns: packets(&engine, self.cold),
            compile: making(make),
            code_bytes: engine.code_bytes(),
        })
    }
}

/// How long it takes to make something.
fn making<T>(make: impl Fn() -> T) -> Duration {
    Duration::from_secs_f64(best(1, || drop(black_box(make()))) * 1e-9)
}

/// How many instructions a workload executes.
pub fn executed(workload: &Workload) -> Executed {
    let mean = |sum: usize, of: usize| sum as f64 / of.max(1) as f64;
    match &workload.inputs {
        EngineInputs::Calls { program, endian, hot, cold } => {
            let count = |data| program.run(data, *endian).executed;
            Executed { hot: count(hot), cold: mean(cold.iter().map(count).sum(), cold.len()) }
        }
        EngineInputs::Packets { program, hot, cold } => {
            let count = |packet: &Vec<u8>| {
                let mut steps = 0;
                program.trace(packet, &NoAncillary, |_| steps += 1);
                steps
            };
            Executed { hot: count(hot), cold: mean(cold.iter().map(count).sum(), cold.len()) }
        }
    }
}

/// Nanoseconds that an engine takes for one of these calls, one after the other.
pub fn calls<E: SeccompEngine + ?Sized>(engine: &E, calls: &[SeccompData]) -> f64 {
    each(calls, |data| engine.verdict(data).0)
}

/// Nanoseconds that an engine takes for one of these packets, one after the other.
pub fn packets<E: PacketEngine + ?Sized>(engine: &E, packets: &[Vec<u8>]) -> f64 {
    each(packets, |packet| engine.run(packet, &NoAncillary))
}

/// Nanoseconds for one of these inputs. What is returned for different ones is added up in a register: through
/// memory, as for a single one, a wrong guess of the processor would have to wait for that, too.
fn each<T>(inputs: &[T], run: impl Fn(&T) -> u32) -> f64 {
    if let [input] = inputs {
        return best(1, || {
            black_box(run(black_box(input)));
        });
    }
    best(inputs.len(), || {
        let values = black_box(inputs).iter().map(&run);
        black_box(values.fold(0, u32::wrapping_add));
    })
}

/// Nanoseconds of the best round, divided by what `turn` does at once.
fn best(at_once: usize, mut turn: impl FnMut()) -> f64 {
    let mut turns = 1u32;
    let mut least = f64::INFINITY;
    let mut rounds = 0;
    while rounds < ROUNDS {
        let start = Instant::now();
        for _ in 0..turns {
            turn();
        }
        let taken = start.elapsed();
        if taken < ROUND {
            // Too short to be measured; at most 2^31 turns, which take longer than a round.
            turns = turns.saturating_mul(2).min(1 << 31);
            if turns < 1 << 31 {
                continue;
            }
        }
        rounds += 1;
        least = least.min(taken.as_secs_f64() * 1e9 / f64::from(turns));
    }
    least / at_once.max(1) as f64
}
