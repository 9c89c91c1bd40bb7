//! Random policies that compare arguments with each other, and syscalls whose arguments are equal, or nearly.

use callgate_bpf::random::Rng;
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Policy, Rule, Section, Test, VariableRelation,
};
use callgate_core::{Arch, SeccompData, SyscallSet, Verdict};

/// Values whose halves are equal, neighbours, zero or full.
const VALUES: [u64; 10] = [
    0,
    1,
    2,
    5,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x5_0000_0005,
    0xffff_ffff_0000_0000,
    u64::MAX,
];

fn field(rng: &mut Rng) -> Field {
    let index = rng.below(3) as u8;
    match rng.below(12) {
        0 => Field::instruction_pointer(),
        1..=4 => Field::arg_low(index).unwrap(),
        _ => Field::arg(index).unwrap(),
    }
}

fn cmp(rng: &mut Rng) -> Cmp {
    rng.pick(&[Cmp::Eq, Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]).unwrap()
}

/// A comparison of two fields, which may be the same or halves of it.
pub fn field_test(rng: &mut Rng) -> FieldTest {
    let relation = match rng.below(8) {
        0 => VariableRelation::AnyBit,
        1 => VariableRelation::NoBit,
        _ => VariableRelation::Cmp(cmp(rng)),
    };
    FieldTest { left: field(rng), relation, right: field(rng) }
}

fn condition(rng: &mut Rng, depth: usize) -> Condition {
    let parts = |rng: &mut Rng| -> Vec<Condition> {
        (0..2 + rng.below(2)).map(|_| condition(rng, depth - 1)).collect()
    };
    match rng.below(if depth == 0 { 5 } else { 8 }) {
        0 => {
            let value = rng.pick(&VALUES).unwrap();
            Condition::test(Test::new(field(rng), cmp(rng), value))
        }
        1..=4 => field_test(rng).into(),
        5 => Condition::all(parts(rng)),
        6 => Condition::any(parts(rng)),
        _ => condition(rng, depth - 1).negated(),
    }
}

/// A policy for x86-64, or for s390x, whose halves are in the other order.
pub fn policy(rng: &mut Rng) -> Policy {
    let verdicts = [Verdict::ALLOW, Verdict::errno(1), Verdict::errno(2), Verdict::LOG];
    let rule = |rng: &mut Rng| {
        let first = rng.below(4) as u32;
        Rule {
            syscalls: SyscallSet::range(first, first + rng.below(2) as u32),
            when: condition(rng, 2),
            verdict: rng.pick(&verdicts).unwrap(),
        }
    };
    let mut rules: Vec<Rule> = (0..1 + rng.below(4)).map(|_| rule(rng)).collect();
    let always = Condition::always();
    let syscalls = SyscallSet::range(6, 9);
    rules.push(Rule { syscalls, when: always, verdict: Verdict::ALLOW });
    let arch = if rng.below(4) == 0 { Arch::S390x } else { Arch::X86_64 };
    let section = Section::new(arch, rules, Verdict::errno(38));
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

/// A syscall of an architecture, most of whose arguments are equal to others, neighbours, or have the same halves.
pub fn syscall(rng: &mut Rng, arch: Arch) -> SeccompData {
    let one = match rng.below(3) {
        0 => rng.next(),
        _ => rng.pick(&VALUES).unwrap(),
    };
    let mut near = || match rng.below(10) {
        0 => rng.pick(&VALUES).unwrap(),
        1 => one.wrapping_add(1),
        2 => one.wrapping_sub(1),
        3 => one ^ 1 << 32,
        4 => one.rotate_left(32),
        5 => one & 0xffff_ffff,
        6 => !one,
        _ => one,
    };
    let args = [near(), near(), near(), 0, 0, 0];
    let instruction_pointer = near();
    let (nr, arch) = (rng.below(11) as u32, arch.token());
    SeccompData { nr, arch, args, instruction_pointer }
}
