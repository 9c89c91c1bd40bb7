//! Random policies whose rules overlap.

use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict};
use proptest::prelude::*;
use proptest::sample::select;

use super::near_constants::SPECIAL;

/// Verdicts, most of them ALLOW or an errno, some unknown to the kernel.
pub fn verdicts() -> impl Strategy<Value = Verdict> {
    select(vec![
        Verdict::ALLOW,
        Verdict::ALLOW,
        Verdict::ALLOW,
        Verdict::errno(1),
        Verdict::errno(1),
        Verdict::errno(38),
        Verdict::LOG,
        Verdict::KILL_THREAD,
        Verdict::KILL_PROCESS,
        Verdict::trace(7),
        Verdict::trap(0),
        Verdict(0x7fff_0001),
        Verdict(0x1234_5678),
    ])
}

fn values() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0u64..16,
        3 => select(&SPECIAL[..]),
        2 => (0u32..64).prop_map(|bit| 1u64 << bit),
        1 => any::<u32>().prop_map(u64::from),
        1 => any::<u64>(),
        1 => any::<u32>().prop_map(|high| u64::from(high) << 32),
    ]
}

fn masks() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => (0u32..64).prop_map(|bit| 1u64 << bit),
        2 => (0u32..64).prop_map(|bit| !(1u64 << bit)),
        1 => (1u32..64).prop_map(|bits| (1u64 << bits) - 1),
        1 => any::<u64>(),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b),
        1 => select(vec![0, 0x7e02_0000, 0xffff_ffff_0000_0000, 0xc000_ffff, 0x7f]),
    ]
}

fn fields() -> impl Strategy<Value = Field> {
    // Few arguments, so that tests overlap.
    let arg = prop_oneof![6 => 0u8..3, 1 => 3u8..6];
    prop_oneof![
        6 => arg.clone().prop_map(|arg| Field::arg(arg).unwrap()),
        3 => arg.prop_map(|arg| Field::arg_low(arg).unwrap()),
        1 => Just(Field::instruction_pointer()),
    ]
}

fn tests() -> impl Strategy<Value = Test> {
    let cmps = select(vec![Cmp::Eq, Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]);
    (fields(), prop::option::weighted(0.4, masks()), cmps, values(), any::<bool>()).prop_map(
        |(field, mask, cmp, value, inside)| {
            let mask = mask.unwrap_or(u64::MAX) & field.full_mask();
            // Mostly values that can occur.
            let value = if inside { value & mask } else { value };
            Test { mask, ..Test::new(field, cmp, value) }
        },
    )
}

pub(super) fn conditions() -> impl Strategy<Value = Condition> {
    let test = tests().prop_map(Condition::test);
    let tree = test.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::all),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::any),
            inner.prop_map(Condition::negated),
        ]
    });
    prop_oneof![
        5 => Just(Condition::always()),
        7 => tree,
    ]
}

fn syscall_sets() -> impl Strategy<Value = SyscallSet> {
    let nr = prop_oneof![
        8 => 0u32..12,
        4 => 0u32..480,
        2 => (0u32..12).prop_map(|nr| 0x4000_0000 | nr),
        1 => (0u32..3).prop_map(|nr| u32::MAX - nr),
        1 => any::<u32>(),
    ];
    let width = prop_oneof![4 => Just(0u32), 2 => 0u32..8, 1 => any::<u32>()];
    let range = (nr, width).prop_map(|(nr, width)| (nr, nr.saturating_add(width)));
    prop::collection::vec(range, 1..5).prop_map(SyscallSet::from_ranges)
}

fn rules() -> impl Strategy<Value = Rule> {
    (syscall_sets(), conditions(), verdicts()).prop_map(|(syscalls, when, verdict)| Rule {
        syscalls,
        when,
        verdict,
    })
}

/// Policies with at most this many rules per section, for one or several architectures of one machine.
pub fn policies(most_rules: usize) -> impl Strategy<Value = Policy> {
    let families = select(vec![
        vec![vec![Arch::X86_64]],
        vec![vec![Arch::X86_64, Arch::X32], vec![Arch::X86]],
        vec![vec![Arch::X86], vec![Arch::X86_64, Arch::X32], vec![Arch::Aarch64]],
        vec![vec![Arch::S390x]],
        vec![vec![Arch::S390x], vec![Arch::S390]],
        vec![],
    ]);
    (families, verdicts()).prop_flat_map(move |(family, bad_arch)| {
        let rules = prop::collection::vec(rules(), 0..=most_rules);
        // Sometimes the sections are the same.
        let bodies = prop::collection::vec((rules, verdicts()), family.len().max(1));
        (Just(family), bodies, Just(bad_arch), 0usize..4).prop_map(
            |(family, bodies, bad_arch, same)| {
                let sections = family
                    .into_iter()
                    .enumerate()
                    .map(|(i, arches)| {
                        let (rules, default) = bodies[if same == 0 { 0 } else { i }].clone();
                        let section = Section::new(arches[0], rules, default);
                        arches[1..].iter().fold(section, |all, arch| all.and_arch(*arch).unwrap())
                    })
                    .collect();
                Policy::new(sections, bad_arch).unwrap()
            },
        )
    })
}

/// Policies that test one argument with overlapping masks, single values and ranges.
pub fn policies_of_one_argument() -> impl Strategy<Value = Policy> {
    let small = prop_oneof![
        3 => 0u64..64,
        2 => (0u32..32).prop_map(|bit| 1u64 << bit),
        1 => (0u64..8, 0u64..64).prop_map(|(high, low)| high << 16 | low),
        1 => any::<u32>().prop_map(u64::from),
        1 => select(vec![0xffff_ffff, 0x7fff_ffff, 0x8000_0000, 0xffff_0000]),
    ];
    let mask = prop_oneof![
        3 => select(vec![1, 3, 7, 0xf, 0xff, 0xff00, 0xffff, 0xc000_ffff, 0x7e02_0000, 0xffff_0000]),
        2 => (any::<u32>(), any::<u32>()).prop_map(|(a, b)| u64::from(a & b)),
        2 => (0u32..32).prop_map(|bit| u64::from(!(1u32 << bit))),
        1 => Just(0xffff_ffff),
    ];
    let cmps = select(vec![Cmp::Eq, Cmp::Eq, Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Ge]);
    let test = (0u8..16, prop::option::weighted(0.5, mask), cmps, small).prop_map(
        |(arg, mask, cmp, value)| {
            // Nearly always the same argument.
            let field = Field::arg_low(u8::from(arg == 0)).unwrap();
            let (mask, cmp) = match mask {
                Some(mask) => (mask, if cmp == Cmp::Ne { Cmp::Ne } else { Cmp::Eq }),
                None => (u64::from(u32::MAX), cmp),
            };
            Condition::test(Test { mask, ..Test::new(field, cmp, value & mask) })
        },
    );
    let condition = prop_oneof![
        3 => test.clone(),
        1 => prop::collection::vec(test.clone(), 2..4).prop_map(Condition::all),
        1 => prop::collection::vec(test, 2..12).prop_map(Condition::any),
    ];
    let verdict = select(vec![Verdict::ALLOW, Verdict::ALLOW, Verdict::errno(1), Verdict::LOG]);
    let rule = (condition, verdict).prop_map(|(when, verdict)| Rule {
        syscalls: SyscallSet::one(16),
        when,
        verdict,
    });
    prop::collection::vec(rule, 1..12).prop_map(|rules| x86_64(rules, Verdict::errno(22)))
}

/// Policies of many rules about several arguments of one syscall, which test whether some bits are set or clear. A program that
/// tests rule after rule has a path for each combination of results.
pub fn policies_of_masks() -> impl Strategy<Value = Policy> {
    let shape = (4usize..=40, 1usize..=3, select(vec![4u32, 8, 16, 32, 64]), 1u8..=4);
    shape.prop_flat_map(|(rules, bits, width, arguments)| {
        let mask = prop::collection::vec(0..width, 1..=bits);
        let mask = mask.prop_map(|bits| bits.iter().fold(0u64, |mask, bit| mask | 1 << bit));
        let test = (mask, 0u8..8).prop_map(|(mask, kind)| (mask, if kind == 0 { 0 } else { mask }));
        let tests = prop::collection::vec(test, usize::from(arguments));
        let rule = (tests, 0u8..8).prop_map(|(tests, kind)| Rule {
            syscalls: SyscallSet::one(9),
            when: Condition::all((2..).zip(tests).map(|(argument, (mask, value))| {
                Condition::test(Test::masked_eq(Field::arg(argument).unwrap(), mask, value))
            })),
            verdict: if kind == 0 { Verdict::LOG } else { Verdict::ALLOW },
        });
        prop::collection::vec(rule, rules).prop_map(|rules| x86_64(rules, Verdict::errno(1)))
    })
}

/// A policy for x86_64 only; it kills the process on other architectures.
pub fn x86_64(rules: Vec<Rule>, default: Verdict) -> Policy {
    let section = Section::new(Arch::X86_64, rules, default);
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}
