//! Random programs and inputs, also for the emulated machine.
//!
//! `CALLGATE_CASES` sets the number of pairs of program and input, `CALLGATE_SEED` the seed.
//! [`crate::differential`] compares all engines on this machine.

use callgate_bpf::random::Rng;

use super::{Judge, RandomAncillary};
use crate::differential;

/// The default number of pairs of program and input.
const CASES: u64 = 20_000;
const INPUTS: u64 = 8;

/// A number from the environment.
fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

pub(super) fn jit_vs_reference_on_syscalls(judge: &mut dyn Judge) {
    let mut rng = Rng::new(from_environment("CALLGATE_SEED", 1));
    // Each input counts twice, once per byte order.
    for _ in 0..from_environment("CALLGATE_CASES", CASES) / 2 / (2 * INPUTS) {
        let program = differential::seccomp_program(&mut rng);
        let syscalls: Vec<_> =
            (0..INPUTS).map(|_| differential::syscall(&mut rng, &program)).collect();
        judge.syscalls(&program, &syscalls);
    }
}

pub(super) fn jit_vs_reference_on_packets(judge: &mut dyn Judge) {
    let mut rng = Rng::new(!from_environment("CALLGATE_SEED", 1));
    for round in 0..from_environment("CALLGATE_CASES", CASES) as usize / 2 / INPUTS as usize {
        let program = differential::socket_program(&mut rng);
        let packets: Vec<_> =
            (0..INPUTS).map(|_| differential::packet(&mut rng, &program)).collect();
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let link = (round % 5 != 0).then_some(round % 3);
        judge.packets(&program, &packets, &RandomAncillary { words: 0, network: round % 7, link });
    }
}
