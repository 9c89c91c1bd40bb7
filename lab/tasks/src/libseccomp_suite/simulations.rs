//! Tests that compare the verdicts of exported filters: `bpf-sim` and `bpf-sim-fuzz`.

use callgate::Arch;
use callgate_bpf::random::Rng;

use super::arches::select;
use super::batch::{Line, Simulation};
use super::outcome::{Case, Outcome};
use super::suite::Suite;
use super::values::{Values, combinations, ends, whole};
use crate::bpf_sim::number;
use callgate_tasks::Result;

/// Compares the verdicts of a filter with the expected one, for each combination of architecture, syscall and
/// arguments.
pub(super) fn simulate(suite: &Suite, line: &Line, simulation: &Simulation) -> Vec<Case> {
    let native = suite.tools.native;
    let arches = match select(&simulation.arches, native) {
        Ok(arches) => arches,
        Err(why) => return vec![Case::single(Outcome::Errored(why))],
    };
    if arches.is_empty() {
        let why = format!("for another architecture than {native}");
        return vec![Case::single(Outcome::Skipped(why))];
    }
    let mut cases = Vec::new();
    for arch in arches {
        match simulate_on(suite, line, simulation, arch) {
            Ok(more) => cases.extend(more),
            // Like the original, do not run the rest of the line.
            Err(why) => {
                let what = arch.name().to_owned();
                cases.push(Case { number: 1, what, outcome: Outcome::Errored(why) });
                break;
            }
        }
    }
    cases
}

fn simulate_on(
    suite: &Suite,
    line: &Line,
    simulation: &Simulation,
    arch: Arch,
) -> Result<Vec<Case>> {
    let (first, last) = ends(&simulation.syscall);
    let resolve = |syscall: &str| {
        let is_decimal = |c: char| c.is_ascii_digit() || c == '-';
        if syscall.chars().all(is_decimal) {
            whole(syscall)
        } else {
            suite.tools.number(arch, syscall)
        }
    };
    let syscalls = Values::new(resolve(first)?, resolve(last)?)?;
    let filter = suite.judge.load(suite.programs.filter(&line.program)?, arch)?;
    let [a0, a1, a2, a3, a4, a5] = simulation.args.map(|values| values.unwrap_or(Values::ZERO));
    let cases = combinations([syscalls, a0, a1, a2, a3, a4, a5])?;
    let case = |(index, [nr, args @ ..]): (usize, [u64; 7])| {
        let outcome = match filter.verdict(nr, args) {
            Ok(verdict) if verdict == simulation.verdict => Outcome::Passed,
            Ok(verdict) => {
                Outcome::Failed(format!("expected {}, got {verdict}", simulation.verdict))
            }
            Err(why) => Outcome::Errored(why),
        };
        Case { number: index + 1, what: describe(arch, nr, args), outcome }
    };
    Ok(cases.enumerate().map(case).collect())
}

/// Runs a filter on random syscalls of the native architecture. Any verdict is right.
pub(super) fn fuzz(suite: &Suite, line: &Line, count: u32) -> Vec<Case> {
    let arch = suite.tools.native;
    let filter = suite.programs.filter(&line.program);
    let filter = match filter.and_then(|filter| suite.judge.load(filter, arch)) {
        Ok(filter) => filter,
        Err(why) => return vec![Case::single(Outcome::Errored(why))],
    };
    // Another sequence for each program.
    let seed = line.program.bytes().fold(suite.seed, |seed, byte| {
        seed.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(byte))
    });
    let mut random = Rng::new(seed);
    let case = |index| {
        let nr = value(arch, &mut random);
        let args = [(); 6].map(|()| value(arch, &mut random));
        let outcome = match filter.verdict(nr, args) {
            Ok(_) => Outcome::Passed,
            Err(why) => Outcome::Errored(why),
        };
        Case { number: index as usize + 1, what: describe(arch, nr, args), outcome }
    };
    (0..count).map(case).collect()
}

/// A random value with the original's distribution: up to 16 hexadecimal digits, on most architectures up to 8, of
/// which the simulator reads a number in C's notation, so that small numbers are frequent.
fn value(arch: Arch, random: &mut Rng) -> u64 {
    let most = if arch == Arch::X86_64 { 16 } else { 8 };
    let digits = 1 + random.below(most);
    let text: String = (0..digits).map(|_| format!("{:x}", random.below(16))).collect();
    number(&text).0
}

/// The architecture, the number as an `int`, and the arguments up to the last one that is not 0.
fn describe(arch: Arch, nr: u64, args: [u64; 6]) -> String {
    let last = args.iter().rposition(|arg| *arg != 0).map_or(0, |last| last + 1);
    let args: String = args[..last].iter().map(|arg| format!(" {arg:#x}")).collect();
    format!("{arch} {}{args}", nr as u32 as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syscalls_are_described_briefly() {
        let describe = |nr, args| describe(Arch::X86, nr, args);
        assert_eq!(describe(u64::MAX, [0; 6]), "x86 -1");
        assert_eq!(describe(3, [0, 31, 0, 0, 0, 0]), "x86 3 0x0 0x1f");
    }

    #[test]
    fn random_values_are_small_and_large() {
        let mut random = Rng::new(1);
        let values: Vec<u64> = (0..1000).map(|_| value(Arch::X86_64, &mut random)).collect();
        let count = |is: fn(&&u64) -> bool| values.iter().filter(is).count();
        assert!(count(|value| **value == 0) > 100);
        assert!(count(|value| **value > u64::from(u32::MAX)) > 1);
        assert!((0..1000).all(|_| value(Arch::S390, &mut random) < 100_000_000));
    }
}
