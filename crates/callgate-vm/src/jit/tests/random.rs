//! Random programs on random inputs: a short run as a test, and as long a run as one likes.
//!
//! `CALLGATE_CASES=10000000 cargo test --release -p callgate-vm jit_vs_reference`

use super::generate::Generator;
use super::{Judge, Known};

/// How many pairs of program and input, unless the environment says.
const CASES: u64 = 20_000;
const INPUTS: u64 = 8;

/// A number from the environment.
pub(super) fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

pub(super) fn jit_vs_reference_on_calls(judge: &mut dyn Judge) {
    let mut generator = Generator::new(from_environment("CALLGATE_SEED", 1));
    // Each input counts twice: one byte order and the other.
    for _ in 0..from_environment("CALLGATE_CASES", CASES) / 2 / (2 * INPUTS) {
        let program = generator.program();
        let calls: Vec<_> = (0..INPUTS).map(|_| generator.call(program.insns())).collect();
        judge.calls(&program, &calls);
    }
}

pub(super) fn jit_vs_reference_on_packets(judge: &mut dyn Judge) {
    let mut generator = Generator::new(!from_environment("CALLGATE_SEED", 1));
    for round in 0..from_environment("CALLGATE_CASES", CASES) as usize / 2 / INPUTS as usize {
        let program = generator.socket_program();
        let packets: Vec<_> = (0..INPUTS).map(|_| generator.packet(program.insns())).collect();
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let link = (round % 5 != 0).then_some(round % 3);
        judge.packets(&program, &packets, &Known { network: round % 7, link });
    }
}
