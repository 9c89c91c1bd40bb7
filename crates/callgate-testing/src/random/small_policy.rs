//! Random policies of a few syscalls and constants, so that rules and conditions overlap.

use callgate_bpf::random::Rng;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict};

/// Architectures that one filter may be for.
const FAMILIES: [&[Arch]; 5] = [
    &[Arch::X86_64],
    &[Arch::X86_64, Arch::X86],
    &[Arch::Aarch64, Arch::Arm],
    &[Arch::S390x],
    &[Arch::S390x, Arch::S390],
];

const VERDICTS: [Verdict; 9] = [
    Verdict::ALLOW,
    Verdict::ALLOW,
    Verdict::errno(1),
    Verdict::errno(38),
    Verdict::LOG,
    Verdict::KILL_THREAD,
    Verdict::KILL_PROCESS,
    Verdict::trace(7),
    Verdict(0x1234_5678),
];

const VALUES: [u64; 10] = [
    0,
    1,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0005,
    0x8000_0000_0000_0000,
    0xffff_ffff_0000_0000,
    u64::MAX,
];

const MASKS: [u64; 6] = [1, 6, 0xff, 0x7e02_0000, 0xffff_ffff_0000_0000, 0xffff_ffff];

/// A policy of up to 12 rules for each architecture.
pub fn small_policy(rng: &mut Rng) -> Policy {
    let arches = rng.pick(&FAMILIES).unwrap();
    let sections = arches.iter().map(|arch| {
        let rules = (0..rng.below(13)).map(|_| rule(rng)).collect();
        Section::new(*arch, rules, verdict(rng))
    });
    let sections = sections.collect();
    let bad_arch = verdict(rng);
    Policy::new(sections, bad_arch).unwrap()
}

fn rule(rng: &mut Rng) -> Rule {
    let ranges = (0..1 + rng.below(4)).map(|_| {
        let first = match rng.below(8) {
            0 => 0x4000_0000 | rng.below(8) as u32,
            1 => u32::MAX - rng.below(3) as u32,
            2 => rng.next() as u32,
            _ => rng.below(20) as u32,
        };
        let width = if rng.below(4) == 0 { rng.below(6) as u32 } else { 0 };
        (first, first.saturating_add(width))
    });
    let syscalls = SyscallSet::from_ranges(ranges.collect::<Vec<_>>());
    let when = if rng.below(3) == 0 { Condition::always() } else { condition(rng, 3) };
    Rule { syscalls, when, verdict: verdict(rng) }
}

/// A condition with at most this many levels.
fn condition(rng: &mut Rng, levels: usize) -> Condition {
    if levels == 0 || rng.below(2) == 0 {
        return Condition::test(test(rng));
    }
    let parts: Vec<Condition> = (0..1 + rng.below(3)).map(|_| condition(rng, levels - 1)).collect();
    let condition = if rng.below(2) == 0 { Condition::all(parts) } else { Condition::any(parts) };
    if rng.below(4) == 0 { condition.negated() } else { condition }
}

fn test(rng: &mut Rng) -> Test {
    let args = if rng.below(4) == 0 { 6 } else { 2 };
    let arg = rng.below(args) as u8;
    let field = match rng.below(8) {
        0 => Field::instruction_pointer(),
        1 | 2 => Field::arg_low(arg).unwrap(),
        _ => Field::arg(arg).unwrap(),
    };
    let cmps = [Cmp::Eq, Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];
    let cmp = rng.pick(&cmps).unwrap();
    let value = match rng.below(4) {
        0 => rng.pick(&VALUES).unwrap(),
        1 => 1 << rng.below(64),
        _ => rng.below(9) as u64,
    };
    let mask = match rng.below(3) {
        0 => rng.pick(&MASKS).unwrap(),
        _ => u64::MAX,
    };
    let mask = mask & field.full_mask();
    // Mostly values that can occur.
    let value = if rng.below(8) == 0 { value } else { value & mask };
    Test { mask, ..Test::new(field, cmp, value) }
}

fn verdict(rng: &mut Rng) -> Verdict {
    rng.pick(&VERDICTS).unwrap()
}
