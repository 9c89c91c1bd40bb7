//! The order of entries has no effect, except as tested in `combine`.

use callgate::{Arch, SeccompData, Verdict};
use callgate_bpf::random::Rng;
use callgate_core::policy::Policy;
use callgate_formats::oci::Dialect;
use callgate_formats::ruleset::{Comparison, Op, RuleSet, sections};

use crate::oci::support::{args, entry, options, read, syscall};

/// A comparison that never has the same rank as another one of the same round, because then the order of entries
/// would decide.
fn comparison(random: &mut Rng, arg: u8, ordered: Op) -> Comparison {
    let value = [0, 1, 2, 3, 0x1_0000_0000, 0x1_0000_0001, u64::MAX][random.below(7)];
    Comparison::new(arg, [Op::Eq, Op::Ne, ordered][random.below(3)], value).unwrap()
}

const BAD: Verdict = Verdict::KILL_THREAD;

/// A policy with rules for syscall 0, or `None` if two of them contradict each other.
fn policy(arch: Arch, rules: &[(Vec<Comparison>, Verdict)]) -> Option<Policy> {
    let mut set = RuleSet::new(arch);
    for (conditions, verdict) in rules {
        set.add(0, conditions, *verdict, ());
    }
    if !set.contradictions().is_empty() {
        return None;
    }
    Some(Policy::new(sections(&[set], Verdict::errno(1), BAD), BAD).unwrap())
}

#[test]
fn conditional_rules_mean_the_same_in_any_order_that_is_accepted() {
    let mut random = Rng::new(1);
    let values = [0, 1, 2, 3, 4, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0001, u64::MAX];
    let mut compared = 0;
    for round in 0..600 {
        let arch = [Arch::X86_64, Arch::X86][round % 2];
        let ordered = [Op::Lt, Op::Le, Op::Gt, Op::Ge][random.below(4)];
        let mut rules: Vec<(Vec<Comparison>, Verdict)> = Vec::new();
        for _ in 0..2 + random.below(4) {
            // All rules compare the same arguments, so none is a prefix of another.
            let conditions =
                vec![comparison(&mut random, 0, ordered), comparison(&mut random, 1, ordered)];
            let verdict = [Verdict::ALLOW, Verdict::LOG, Verdict::errno(2)][random.below(3)];
            rules.push((conditions, verdict));
        }
        let Some(expected) = policy(arch, &rules) else { continue };
        for _ in 0..4 {
            random.shuffle(&mut rules);
            let Some(shuffled) = policy(arch, &rules) else { continue };
            for a in values {
                for b in values {
                    let args = [a, b, 0, 0, 0, 0];
                    let data = SeccompData { arch: arch.token(), args, ..SeccompData::default() };
                    assert_eq!(expected.evaluate(&data), shuffled.evaluate(&data), "{rules:?}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 50_000, "{compared}");
}

#[test]
fn the_order_of_entries_for_different_syscalls_does_not_matter() {
    let mut entries: Vec<String> = vec![
        entry("dup", "ALLOW", ""),
        entry("dup2", "LOG", &args(&["0 EQ 1"])),
        entry("dup2", "ALLOW", &args(&["0 GE 1"])),
        entry("dup3", "KILL", &args(&["2 NE 0"])),
        entry("pipe pipe2", "TRAP", ""),
    ];
    let expected = read(&entries, &options(Dialect::Runc));
    let mut random = Rng::new(7);
    for _ in 0..20 {
        random.shuffle(&mut entries);
        let shuffled = read(&entries, &options(Dialect::Runc));
        for name in ["dup", "dup2", "dup3", "pipe", "pipe2", "close"] {
            for args in [[0, 0, 0], [1, 0, 0], [2, 0, 1]] {
                assert_eq!(syscall(&expected, name, &args), syscall(&shuffled, name, &args));
            }
        }
    }
}
