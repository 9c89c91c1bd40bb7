//! Random policies with variables, values, and syscalls near them.

use callgate_bpf::random::Rng;
use callgate_core::policy::{
    Cmp, Condition, Field, Policy, Rule, Section, Test, VariableRelation, VariableTest,
};
use callgate_core::template::{Symbol, Variable};
use callgate_core::{Arch, SeccompData, SyscallSet, Verdict};

/// Constants of policies and values of variables: zeros, ones, neighbours, and halves that differ.
const VALUES: [u64; 12] = [
    0,
    1,
    2,
    3,
    7,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0002,
    0x7_0000_0007,
    0xffff_ffff_0000_0000,
    u64::MAX,
];

/// A value for each variable.
pub fn values(rng: &mut Rng, variables: &[Variable]) -> Vec<u64> {
    let same = value(rng);
    let all_same = rng.below(4) == 0;
    let one = |variable: &Variable| {
        let value = if all_same { same } else { value(rng) };
        if variable.is_wide() { value } else { value & u64::from(u32::MAX) }
    };
    variables.iter().map(one).collect()
}

fn value(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => rng.next(),
        _ => rng.pick(&VALUES).unwrap(),
    }
}

fn field(rng: &mut Rng) -> Field {
    let index = rng.below(3) as u8;
    match rng.below(3) {
        0 => Field::arg_low(index).unwrap(),
        _ => Field::arg(index).unwrap(),
    }
}

fn mask(rng: &mut Rng, field: Field) -> u64 {
    let masks = [u64::MAX, u64::MAX, u64::MAX, 0xffff_ffff, 0xf, 0xff00_0000_00ff, 3 << 32, 0];
    rng.pick(&masks).unwrap() & field.full_mask()
}

fn cmp(rng: &mut Rng) -> Cmp {
    rng.pick(&[Cmp::Eq, Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]).unwrap()
}

fn condition(rng: &mut Rng, variables: &[Variable], depth: usize) -> Condition {
    let parts = |rng: &mut Rng| -> Vec<Condition> {
        (0..2 + rng.below(2)).map(|_| condition(rng, variables, depth - 1)).collect()
    };
    match rng.below(if depth == 0 { 5 } else { 8 }) {
        0 => {
            let field = field(rng);
            let test = Test { field, mask: mask(rng, field), cmp: cmp(rng), value: value(rng) };
            Condition::test(test)
        }
        1..=4 => variable_test(rng, variables).into(),
        5 => Condition::all(parts(rng)),
        6 => Condition::any(parts(rng)),
        _ => condition(rng, variables, depth - 1).negated(),
    }
}

fn variable_test(rng: &mut Rng, variables: &[Variable]) -> VariableTest {
    let index = rng.below(variables.len());
    let symbol = Symbol::new(index as u8);
    let symbol = match rng.below(6) {
        0 => symbol.plus(rng.pick(&[1, 4096, u64::MAX, 1 << 32]).unwrap()),
        1 => symbol.complement(),
        2 => symbol.complement().plus(1),
        _ => symbol,
    };
    let relation = match rng.below(4) {
        0 => VariableRelation::AnyBit,
        1 => VariableRelation::NoBit,
        _ => VariableRelation::Cmp(cmp(rng)),
    };
    let field = field(rng);
    VariableTest::new(field, relation, symbol).masked(mask(rng, field))
}

/// A policy for x86-64 with up to four variables.
pub fn policy(rng: &mut Rng) -> Policy {
    let variable = |index: usize| match index % 2 {
        0 => Variable::u32(format!("v{index}")).unwrap(),
        _ => Variable::u64(format!("v{index}")).unwrap(),
    };
    let variables: Vec<Variable> = (0..1 + rng.below(4)).map(variable).collect();
    let verdicts = [Verdict::ALLOW, Verdict::errno(1), Verdict::errno(2), Verdict::LOG];
    let rule = |rng: &mut Rng| {
        let first = rng.below(4) as u32;
        Rule {
            syscalls: SyscallSet::range(first, first + rng.below(2) as u32),
            when: condition(rng, &variables, 2),
            verdict: rng.pick(&verdicts).unwrap(),
        }
    };
    let mut rules: Vec<Rule> = (0..1 + rng.below(5)).map(|_| rule(rng)).collect();
    rules.push(Rule {
        syscalls: SyscallSet::range(6, 9),
        when: Condition::always(),
        verdict: Verdict::ALLOW,
    });
    let section = Section::new(Arch::X86_64, rules, Verdict::errno(38));
    Policy::with_variables(vec![section], Verdict::KILL_PROCESS, variables).unwrap()
}

/// A syscall whose arguments are near the values.
pub fn syscall(rng: &mut Rng, values: &[u64]) -> SeccompData {
    let mut argument = || {
        let near = match rng.below(3) {
            0 => value(rng),
            _ => rng.pick(values).unwrap(),
        };
        match rng.below(8) {
            0 => near.wrapping_add(1),
            1 => near.wrapping_sub(1),
            2 => !near,
            3 => near ^ 1 << 32,
            4 => near & 0xffff_ffff,
            _ => near,
        }
    };
    let args = [argument(), argument(), argument(), 0, 0, 0];
    let (nr, arch) = (rng.below(11) as u32, Arch::X86_64.token());
    SeccompData { nr, arch, args, ..SeccompData::default() }
}
