//! Random stacks: the merged program must say what the kernel's loop over the filters says, at the
//! boundary values of every constant, whatever the filters return.

use callgate::Description;
use callgate::compile::{Options, compile};
use callgate::stack::{Stack, merge};
use callgate::{Action, Arch, Endian, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_codegen::{Aim, Model};
use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{FilterSpec, Insn, Op, Program, Spec, SyscallSet, is_constant_allow};
use callgate_testing::random::{Constants, Rng, cases, policies};
use proptest::prelude::*;
use proptest::sample::select;

/// All actions, known to the kernel or not, with and without data; none that needs a listener.
const VERDICTS: [u32; 20] = [
    0x8000_0000,
    0x8000_0001,
    0x8001_0000,
    0xffff_0000,
    0xffff_ffff,
    0,
    1,
    0x0001_0002,
    0x0003_0000,
    0x0003_0007,
    0x0005_0001,
    0x0005_0026,
    0x7fbf_0000,
    0x7ff0_0000,
    0x7ff0_0009,
    0x7ffc_0000,
    0x7ffc_0005,
    0x7ffe_0000,
    0x7fff_0000,
    0x7fff_0003,
];

/// Tests one after the other, each with a verdict of its own: arch, number and halves of arguments.
fn chains() -> impl Strategy<Value = Program> {
    let word = select(vec![0u32, 0, 0, 4, 16, 16, 20, 24, 28]);
    let op = select(vec![Op::JeqK, Op::JgeK, Op::JgtK, Op::JsetK]);
    // A mask of many bits on the number would make a tree of many leaves.
    let k = prop_oneof![6 => 0u32..6, 1 => Just(Arch::X86_64.token()), 1 => any::<u32>()];
    let k = (op, k).prop_map(|(op, k)| (op, if op == Op::JsetK { k & 7 } else { k }));
    let link = (word, k, select(&VERDICTS[..]));
    (prop::collection::vec(link, 0..8), select(&VERDICTS[..])).prop_map(|(links, last)| {
        let mut insns = Vec::new();
        for (word, (op, k), verdict) in links {
            insns.push(Insn::new(Op::LdWordAbs, word));
            insns.push(Insn::branch(op, k, 0, 1));
            insns.push(Insn::new(Op::RetK, verdict));
        }
        insns.push(Insn::new(Op::RetK, last));
        Program::new(insns).unwrap()
    })
}

#[derive(Clone, Debug)]
enum Source {
    Policy(Policy),
    /// What the compiler makes of a policy.
    Compiled(Program),
    Program(Program),
}

fn sources() -> impl Strategy<Value = Source> {
    let policy =
        || policies(5).prop_filter("little-endian", |policy| policy.endian() == Endian::Little);
    prop_oneof![
        3 => policy().prop_map(Source::Policy),
        1 => policy().prop_filter_map("compiles", |policy| {
            compile(&policy, &Options::default()).ok().map(|c| Source::Compiled(c.program.into()))
        }),
        4 => chains().prop_map(Source::Program),
    ]
}

impl Source {
    fn filter(&self) -> Description<'_> {
        match self {
            Source::Policy(policy) => Description::policy(policy),
            Source::Compiled(program) | Source::Program(program) => {
                Description::program(program, Endian::Little)
            }
        }
    }

    fn spec(&self) -> FilterSpec {
        match self {
            Source::Policy(policy) => FilterSpec::Policy(policy.clone()),
            Source::Compiled(program) | Source::Program(program) => {
                FilterSpec::Program(program.clone().into(), Endian::Little)
            }
        }
    }

    fn constants(&self) -> Constants {
        match self {
            Source::Policy(policy) => Constants::of_policy(policy),
            Source::Compiled(program) | Source::Program(program) => Constants::of_program(program),
        }
    }

    fn says(&self, data: &SeccompData) -> Verdict {
        match self {
            Source::Policy(policy) => policy.evaluate(data),
            Source::Compiled(program) | Source::Program(program) => {
                program.run(data, Endian::Little).verdict
            }
        }
    }
}

/// The kernel's rule in other words: the verdicts sorted by action, those of newer filters first among
/// equals, and ALLOW without data after all of them.
fn highest_precedence(sources: &[Source], data: &SeccompData) -> Verdict {
    let newest_first = sources.iter().rev().map(|source| source.says(data));
    let mut verdicts: Vec<u32> =
        [Verdict::ALLOW.0].into_iter().chain(newest_first.map(|v| v.0)).collect();
    // Flipping the sign bit makes the signed order the unsigned one; the sort is stable.
    verdicts.sort_by_key(|value| (value ^ 0x8000_0000) >> 16);
    Verdict(verdicts[0])
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn a_merged_program_says_what_the_stack_says(
        sources in prop::collection::vec(sources(), 1..5),
        aim in select(Aim::ALL),
        model in select(Model::ALL),
        seed in any::<u64>(),
    ) {
        let stack = Stack::new(sources.iter().map(Source::filter).collect()).unwrap();
        let options = Options { aim, model, ..Options::default() };
        let arches = [Arch::X86_64, Arch::X86];
        let merged = merge(&stack, &arches, &options).unwrap();
        prop_assert!(merged.syscalls_compared >= sources.len());
        let program = &merged.compiled.program;
        prop_assert_eq!(program.spec(), &Spec::Stack(sources.iter().map(Source::spec).collect()));
        let mut rng = Rng::new(seed);
        for constants in sources.iter().map(Source::constants) {
            for _ in 0..200 {
                let data = constants.syscall(&mut rng);
                let wanted = highest_precedence(&sources, &data);
                prop_assert_eq!(stack.run(&data), wanted, "{:x?}", data);
                prop_assert_eq!(program.run(&data, Endian::Little).verdict, wanted, "{:x?}", data);
            }
        }
        // What every filter lets pass unseen passes the merged one unseen.
        let programs: Vec<&Program> = sources.iter().filter_map(|source| match source {
            Source::Policy(_) => None,
            Source::Compiled(program) | Source::Program(program) => Some(program),
        }).collect();
        for arch in arches.iter().filter(|_| programs.len() == sources.len()) {
            for (nr, name) in arch.syscalls() {
                if programs.iter().all(|program| is_constant_allow(program, arch.token(), nr)) {
                    prop_assert!(is_constant_allow(program, arch.token(), nr), "{arch} {name}");
                }
            }
        }
    }

    /// Merging in two steps is merging at once, as long as the order stays.
    #[test]
    fn stacks_of_stacks_are_stacks(sources in prop::collection::vec(sources(), 3..5)) {
        let options = Options::default();
        // Few of these stacks are too much for a filter, or for the budget of the diagram.
        let at_once = |filters: Vec<Description<'_>>| {
            match merge(&Stack::new(filters).unwrap(), &[Arch::X86_64], &options) {
                Ok(merged) => Ok(merged.compiled.program),
                Err(error) => {
                    let why = error.to_string();
                    assert!(why.contains("too complex") || why.contains("more than the kernel accepts"), "{why}");
                    Err(TestCaseError::reject(why))
                }
            }
        };
        let all = at_once(sources.iter().map(Source::filter).collect())?;
        let older = at_once(sources[..2].iter().map(Source::filter).collect())?;
        let mut filters = vec![Description::program(&older, Endian::Little)];
        filters.extend(sources[2..].iter().map(Source::filter));
        prop_assert_eq!(&*at_once(filters)?, &*all);
        let newer = at_once(sources[1..].iter().map(Source::filter).collect())?;
        let filters = vec![sources[0].filter(), Description::program(&newer, Endian::Little)];
        prop_assert_eq!(&*at_once(filters)?, &*all);
    }
}

/// Filters are combined in groups, so that their number counts little more than once.
#[test]
fn two_hundred_filters_are_merged() {
    let mut rng = Rng::new(8);
    let numbers: Vec<u32> = Arch::X86_64.syscall_numbers().collect();
    let ioctl = Arch::X86_64.number("ioctl").unwrap();
    let policies = (0..200).map(|filter| {
        let listed = (0..6).map(|_| numbers[rng.below(numbers.len())]);
        let denied = Rule {
            syscalls: listed.collect(),
            when: Condition::always(),
            verdict: Verdict::errno(filter),
        };
        let commands = (0..3).map(|_| Test::eq(Field::arg(1).unwrap(), rng.next() >> 32));
        let command = Rule {
            syscalls: SyscallSet::one(ioctl),
            when: Condition::any(commands.map(Condition::test)),
            verdict: Verdict::errno(filter),
        };
        let section = Section::new(Arch::X86_64, vec![denied, command], Verdict::ALLOW);
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    });
    let policies: Vec<Policy> = policies.collect();
    let stack = Stack::new(policies.iter().map(Description::policy).collect()).unwrap();
    let merged = merge(&stack, &[Arch::X86_64], &Options::default()).unwrap();
    for policy in &policies {
        let constants = Constants::of_policy(policy);
        for _ in 0..50 {
            let data = constants.syscall(&mut rng);
            let verdict = merged.compiled.program.run(&data, Endian::Little).verdict;
            assert_eq!(verdict, stack.run(&data), "{data:x?}");
        }
    }
}

/// Every value against every other.
#[test]
fn every_pair_of_verdicts() {
    let constant = |value| Program::new(vec![Insn::new(Op::RetK, value)]).unwrap();
    for older in VERDICTS {
        for newer in VERDICTS {
            let (a, b) = (constant(older), constant(newer));
            let stack = Stack::new(
                [&a, &b].map(|program| Description::program(program, Endian::Little)).to_vec(),
            )
            .unwrap();
            let merged = merge(&stack, &[], &Options::default()).unwrap().compiled.program;
            let wanted = highest_precedence(
                &[Source::Program(a.clone()), Source::Program(b.clone())],
                &SeccompData::default(),
            );
            assert_eq!(merged.insns(), [Insn::new(Op::RetK, wanted.0)], "{older:#x} {newer:#x}");
            assert_eq!(stack.run(&SeccompData::default()), wanted);
        }
    }
}

/// Two filters of thirty-two return other data for the same syscall, and one kills.
#[test]
fn thirty_two_filters() {
    let filters: Vec<Program> = (0..32)
        .map(|i| {
            Program::new(vec![
                Insn::new(Op::LdWordAbs, 0),
                Insn::branch(Op::JgeK, i, 0, 3),
                Insn::new(Op::LdWordAbs, 16),
                Insn::branch(Op::JeqK, i, 0, 1),
                Insn::new(Op::RetK, Verdict::errno(i as u16 + 1).0),
                Insn::new(Op::RetK, if i == 7 { Verdict::LOG.0 } else { Verdict::ALLOW.0 }),
            ])
            .unwrap()
        })
        .collect();
    let stack =
        Stack::new(filters.iter().map(|f| Description::program(f, Endian::Little)).collect())
            .unwrap();
    let merged = merge(&stack, &[Arch::X86_64], &Options::default()).unwrap();
    let mut seen = Vec::new();
    for nr in 0..34 {
        for arg in 0..34 {
            let data = SeccompData { nr, args: [arg, 0, 0, 0, 0, 0], ..SeccompData::default() };
            let verdict = stack.run(&data);
            assert_eq!(merged.compiled.program.run(&data, Endian::Little).verdict, verdict);
            seen.push(verdict);
        }
    }
    assert!(seen.contains(&Verdict::LOG) && !seen.contains(&Verdict::ALLOW));
    assert!(seen.iter().filter(|v| matches!(v.action(), Action::Errno(_))).count() > 500);
}

/// The numbers of a filter that tests their bits are too many runs to be searched at once; among the rest, a
/// look-up in a word of bits would hide from the kernel which syscalls are always allowed.
#[test]
fn the_kernel_sees_what_is_allowed_by_bits_of_the_number() {
    let program = |text| Program::new(callgate_bpf::asm::assemble(text).unwrap()).unwrap();
    let older = program(
        "ld arch\n jeq #AUDIT_ARCH_X86_64, next, allow\n ld nr\n jeq #0, allow\n jeq #123, refuse\n \
         jeq #124, refuse\n ret #0x7fff0001\n refuse: ret ERRNO(EPERM)\n allow: ret ALLOW",
    );
    let newer = program("ld nr\n jset #3, allow, no\n allow: ret ALLOW\n no: ret #0x7fbf0000");
    let newest = program("ret ALLOW");
    for (aim, model) in
        Aim::ALL.iter().flat_map(|aim| Model::ALL.iter().map(move |model| (*aim, *model)))
    {
        let filters =
            [&older, &newer, &newest].map(|program| Description::program(program, Endian::Little));
        let options = Options { aim, model, ..Options::default() };
        let merged = merge(&Stack::new(filters.to_vec()).unwrap(), &[Arch::X86_64], &options);
        assert!(merged.is_ok(), "{aim:?} {model:?}: {}", merged.unwrap_err());
    }
}
