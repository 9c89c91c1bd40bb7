//! Random policies about syscalls with names, as people write them: the same rules for several architectures, few verdicts,
//! and comparisons of 32 bits on 32-bit ABIs. Many of them can be expressed in the languages of other programs.

use callgate_bpf::SyscallTable;
use callgate_core::policy::{Condition, FieldTest, Policy, Rule, Section, Shape, Test};
use callgate_core::{Arch, SyscallSet, Verdict};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::policies::conditions;

/// Syscalls of all kinds that names treat specially: reached through `socketcall` and `ipc` as well, with a second name for
/// 32-bit arguments, or missing on some architectures.
const NAMES: &[&str] = &[
    "accept4",
    "bind",
    "chown",
    "clone",
    "clone3",
    "close",
    "connect",
    "execve",
    "exit_group",
    "fcntl",
    "fcntl64",
    "futex",
    "futex_time64",
    "getpid",
    "getuid32",
    "ioctl",
    "ipc",
    "lseek",
    "mmap",
    "mmap2",
    "mount",
    "openat",
    "personality",
    "prctl",
    "quotactl",
    "read",
    "recvmmsg",
    "semctl",
    "semget",
    "semtimedop",
    "setuid",
    "setuid32",
    "shmat",
    "socket",
    "socketcall",
    "stat",
    "umount2",
    "write",
];

/// Verdicts that occur together.
const PALETTES: &[&[Verdict]] = &[
    &[Verdict::ALLOW, Verdict::errno(1)],
    &[Verdict::ALLOW, Verdict::KILL_PROCESS],
    &[Verdict::ALLOW, Verdict::KILL_THREAD],
    &[Verdict::ALLOW, Verdict::errno(38), Verdict::errno(1)],
    &[Verdict::ALLOW, Verdict::errno(1), Verdict::errno(13)],
    &[Verdict::ALLOW, Verdict::LOG, Verdict::errno(1)],
    &[Verdict::ALLOW, Verdict::trap(0), Verdict::KILL_THREAD],
    &[
        Verdict::ALLOW,
        Verdict::LOG,
        Verdict::KILL_PROCESS,
        Verdict::KILL_THREAD,
        Verdict::errno(0),
        Verdict::errno(1),
        Verdict::errno(4095),
        Verdict::trace(0),
        Verdict::trace(7),
        Verdict::trap(0),
        Verdict::trap(7),
        Verdict::user_notif(0),
        Verdict::user_notif(7),
        Verdict(0x7fff_0001),
        Verdict(0x1234_5678),
    ],
];

/// Architectures that occur together; those with the same token are one section.
const FAMILIES: &[&[&[Arch]]] = &[
    &[&[Arch::X86_64]],
    &[&[Arch::X86_64], &[Arch::X86]],
    &[&[Arch::X86_64, Arch::X32], &[Arch::X86]],
    &[&[Arch::X86]],
    &[&[Arch::Aarch64]],
    &[&[Arch::Aarch64], &[Arch::Arm]],
    &[&[Arch::S390x], &[Arch::S390]],
    &[&[Arch::Riscv64]],
    &[&[Arch::Mips64], &[Arch::Mips]],
];

/// A rule before its names become numbers.
#[derive(Clone, Debug)]
struct NamedRule {
    names: Vec<&'static str>,
    when: Condition,
    verdict: Verdict,
    /// Whether it is for the first architecture only.
    is_native_only: bool,
}

/// The facts of a policy besides its rules.
#[derive(Clone, Debug)]
struct Frame {
    sections: &'static [&'static [Arch]],
    default: Verdict,
    bad_arch: Verdict,
    /// Whether numbers of another ABI with the same token are killed, as libseccomp does.
    kills_other_abi: bool,
    /// Whether 32-bit ABIs compare the low halves of arguments only.
    narrows: bool,
}

fn rules(palette: &'static [Verdict], most: usize) -> impl Strategy<Value = Vec<NamedRule>> {
    let when = prop_oneof![2 => Just(Condition::always()), 1 => conditions()];
    let rule = (subsequence(NAMES, 1..6), when, select(palette), prop::bool::weighted(0.1));
    let rule = rule.prop_map(|(names, when, verdict, is_native_only)| NamedRule {
        names,
        when,
        verdict,
        is_native_only,
    });
    prop::collection::vec(rule, 0..=most)
}

fn frames(palette: &'static [Verdict]) -> impl Strategy<Value = Frame> {
    let bad_arch = prop_oneof![
        6 => Just(Verdict::KILL_THREAD),
        2 => Just(Verdict::KILL_PROCESS),
        1 => Just(Verdict::ALLOW),
        1 => select(palette),
    ];
    let (often, mostly) = (prop::bool::weighted(0.7), prop::bool::weighted(0.8));
    (select(FAMILIES), select(palette), bad_arch, often, mostly).prop_map(
        |(sections, default, bad_arch, kills_other_abi, narrows)| Frame {
            sections,
            default,
            bad_arch,
            kills_other_abi,
            narrows,
        },
    )
}

/// The same condition for the low halves of the arguments.
fn narrowed(condition: &Condition) -> Condition {
    match condition.shape() {
        Shape::All(parts) => Condition::all(parts.iter().map(narrowed)),
        Shape::Any(parts) => Condition::any(parts.iter().map(narrowed)),
        Shape::Variable(_) => condition.clone(),
        Shape::Fields(test) => Condition::fields(FieldTest {
            left: test.left.low32(),
            right: test.right.low32(),
            ..*test
        }),
        Shape::Test(test) => {
            let field = test.field.low32();
            let (mask, value) = (test.mask & field.full_mask(), test.value & field.full_mask());
            Condition::test(Test { field, mask, value, cmp: test.cmp })
        }
    }
}

fn policy(frame: &Frame, rules: &[NamedRule]) -> Policy {
    let native = frame.sections[0][0];
    let mut sections = Vec::new();
    for arches in frame.sections {
        let narrows = frame.narrows && !arches[0].is_64bit();
        let own = rules.iter().filter(|rule| arches.contains(&native) || !rule.is_native_only);
        let mut own: Vec<Rule> = own
            .map(|rule| {
                let numbers = rule
                    .names
                    .iter()
                    .flat_map(|name| arches.iter().filter_map(|arch| arch.number(name)));
                let when = if narrows { narrowed(&rule.when) } else { rule.when.clone() };
                Rule { syscalls: numbers.collect(), when, verdict: rule.verdict }
            })
            .collect();
        let section = Section::new(arches[0], Vec::new(), frame.default);
        let section = arches[1..].iter().fold(section, |all, arch| all.and_arch(*arch).unwrap());
        let other: SyscallSet = section.other_abi();
        if frame.kills_other_abi && !other.is_empty() {
            let killed =
                Rule { syscalls: other, when: Condition::always(), verdict: Verdict::KILL_THREAD };
            own.insert(0, killed);
        }
        sections.push(section.with_rules(own));
    }
    Policy::new(sections, frame.bad_arch).unwrap()
}

/// Policies with at most this many rules about syscalls with names.
pub fn named_policies(most_rules: usize) -> impl Strategy<Value = Policy> {
    select(PALETTES).prop_flat_map(move |palette| {
        (frames(palette), rules(palette, most_rules))
            .prop_map(|(frame, rules)| policy(&frame, &rules))
    })
}
