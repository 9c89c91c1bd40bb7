//! The time that an engine takes per run: the minimum of several rounds, which excludes most of the noise
//! of other processes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use callgate::SeccompData;
use callgate_core::NoAncillary;

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

/// How long is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// This number of rounds.
    Rounds(usize),
    /// About this time, and at least one round.
    Time(Duration),
}

const USUAL: Extent = Extent::Rounds(7);

/// The minimum duration of a round.
const ROUND: Duration = Duration::from_millis(4);

/// The number of times that are measured for an engine.
const TIMES: u32 = 3;

/// Measures an engine on a workload; `None` if the engine does not support this kind of program.
///
/// # Errors
/// If the engine cannot be created.
pub fn measure(kind: EngineKind, workload: &Workload) -> Result<Option<Cost>, EngineError> {
    measure_extent(kind, workload, USUAL)
}

/// The same for about this time.
///
/// # Errors
/// If the engine cannot be created.
pub fn measure_for(
    kind: EngineKind,
    workload: &Workload,
    time: Duration,
) -> Result<Option<Cost>, EngineError> {
    measure_extent(kind, workload, Extent::Time(time / TIMES))
}

fn measure_extent(
    kind: EngineKind,
    workload: &Workload,
    extent: Extent,
) -> Result<Option<Cost>, EngineError> {
    match &workload.inputs {
        EngineInputs::Syscalls { program, endian, hot, cold } => {
            kind.with_seccomp(program, *endian, OfSyscalls { hot, cold, extent }).map(Some)
        }
        EngineInputs::Packets { program, hot, cold } => {
            kind.with_packet(program, OfPackets { hot, cold, extent }).transpose()
        }
    }
}

struct OfSyscalls<'a> {
    hot: &'a SeccompData,
    cold: &'a [SeccompData],
    extent: Extent,
}

impl UseSeccomp for OfSyscalls<'_> {
    type Output = Result<Cost, EngineError>;

    fn with<E: SeccompEngine>(self, make: impl Fn() -> Result<E, EngineError>) -> Self::Output {
        let engine = make()?;
        Ok(Cost {
            hot_ns: each(std::slice::from_ref(self.hot), self.extent, |data| {
                engine.verdict(data).0
            }),
            cold_ns: each(self.cold, self.extent, |data| engine.verdict(data).0),
            compile: making(self.extent, make),
            code_bytes: engine.code_bytes(),
        })
    }
}

struct OfPackets<'a> {
    hot: &'a Vec<u8>,
    cold: &'a [Vec<u8>],
    extent: Extent,
}

impl UsePacket for OfPackets<'_> {
    type Output = Result<Cost, EngineError>;

    fn with<E: PacketEngine>(self, make: impl Fn() -> Result<E, EngineError>) -> Self::Output {
        let engine = make()?;
        Ok(Cost {
            hot_ns: each(std::slice::from_ref(self.hot), self.extent, |packet| {
                engine.run(packet, &NoAncillary)
            }),
            cold_ns: each(self.cold, self.extent, |packet| engine.run(packet, &NoAncillary)),
            compile: making(self.extent, make),
            code_bytes: engine.code_bytes(),
        })
    }
}

/// The time that `make` takes.
fn making<T>(extent: Extent, make: impl Fn() -> T) -> Duration {
    Duration::from_secs_f64(best(1, extent, || drop(black_box(make()))) * 1e-9)
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
    each(syscalls, USUAL, |data| engine.verdict(data).0)
}

/// Mean nanoseconds per run of an engine on these packets.
pub fn packets<E: PacketEngine + ?Sized>(engine: &E, packets: &[Vec<u8>]) -> f64 {
    each(packets, USUAL, |packet| engine.run(packet, &NoAncillary))
}

/// Mean nanoseconds per input. The results for several inputs are summed in a register: a store to memory, as
/// for a single input, would add to the latency of each branch misprediction.
fn each<T>(inputs: &[T], extent: Extent, run: impl Fn(&T) -> u32) -> f64 {
    if let [input] = inputs {
        return best(1, extent, || {
            black_box(run(black_box(input)));
        });
    }
    best(inputs.len(), extent, || {
        let values = black_box(inputs).iter().map(&run);
        black_box(values.fold(0, u32::wrapping_add));
    })
}

/// Nanoseconds of the fastest round, divided by `at_once`, the number of runs per `turn`.
fn best(at_once: usize, extent: Extent, mut turn: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let mut turns = 1u32;
    let mut least = f64::INFINITY;
    let mut rounds = 0;
    let is_over = |rounds: usize| match extent {
        Extent::Rounds(most) => rounds >= most,
        Extent::Time(time) => rounds > 0 && begun.elapsed() >= time,
    };
    while !is_over(rounds) {
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
