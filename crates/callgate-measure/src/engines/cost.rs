//! The time that an engine takes per run: the minimum of several rounds, which excludes most of the noise
//! of other processes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use callgate::SeccompData;
use callgate::bpf::NoAncillary;

use callgate_vm::{EngineError, EngineKind, PacketEngine, SeccompEngine, UsePacket, UseSeccomp};

use super::workloads::{EngineInputs, Workload};

/// The cost of an engine on a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Nanoseconds per run, always with the same input.
    pub hot_ns: f64,
    /// Mean nanoseconds per run over different inputs.
    pub cold_ns: f64,
    /// The time to create the engine.
    pub compile: Duration,
    /// The size of the engine's code and tables.
    pub code_bytes: usize,
}

/// The number of instructions that the reference interpreter executes per run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Executed {
    /// For the hot input.
    pub hot: usize,
    /// The mean over the cold inputs.
    pub cold: f64,
}

/// The number of rounds.
const ROUNDS: usize = 7;

/// The minimum duration of a round.
const ROUND: Duration = Duration::from_millis(4);

/// Measures an engine on a workload; `None` if the engine does not support this kind of program.
///
/// # Errors
/// If the engine cannot be created.
pub fn measure(kind: EngineKind, workload: &Workload) -> Result<Option<Cost>, EngineError> {
    match &workload.inputs {
        EngineInputs::Syscalls { program, endian, hot, cold } => {
            kind.with_seccomp(program, *endian, OfSyscalls { hot, cold }).map(Some)
        }
        EngineInputs::Packets { program, hot, cold } => {
            kind.with_packet(program, OfPackets { hot, cold }).transpose()
        }
    }
}

struct OfSyscalls<'a> {
    hot: &'a SeccompData,
    cold: &'a [SeccompData],
}

impl UseSeccomp for OfSyscalls<'_> {
    type Output = Result<Cost, EngineError>;

    fn with<E: SeccompEngine>(self, make: impl Fn() -> Result<E, EngineError>) -> Self::Output {
        let engine = make()?;
        Ok(Cost {
            hot_ns: syscalls(&engine, std::slice::from_ref(self.hot)),
            cold_ns: syscalls(&engine, self.cold),
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

/// The time that `make` takes.
fn making<T>(make: impl Fn() -> T) -> Duration {
    Duration::from_secs_f64(best(1, || drop(black_box(make()))) * 1e-9)
}

/// The number of executed instructions on a workload.
pub fn executed(workload: &Workload) -> Executed {
    let mean = |sum: usize, of: usize| sum as f64 / of.max(1) as f64;
    match &workload.inputs {
        EngineInputs::Syscalls { program, endian, hot, cold } => {
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

/// Mean nanoseconds per run of an engine on these syscalls.
pub fn syscalls<E: SeccompEngine + ?Sized>(engine: &E, syscalls: &[SeccompData]) -> f64 {
    each(syscalls, |data| engine.verdict(data).0)
}

/// Mean nanoseconds per run of an engine on these packets.
pub fn packets<E: PacketEngine + ?Sized>(engine: &E, packets: &[Vec<u8>]) -> f64 {
    each(packets, |packet| engine.run(packet, &NoAncillary))
}

/// Mean nanoseconds per input. The results for several inputs are summed in a register: a store to memory, as
/// for a single input, would add to the latency of each branch misprediction.
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

/// Nanoseconds of the fastest round, divided by `at_once`, the number of runs per `turn`.
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
            // Too short to measure. 2^31 turns always take longer than a round.
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
