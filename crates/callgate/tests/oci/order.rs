//! The order of entries changes nothing, but for what `combine` says.

use callgate::frontend::oci::Dialect;
use callgate::fuzz::Numbers;
use callgate::policy::Policy;
use callgate::policy::ruleset::{Comparison, Op, RuleSet, sections};
use callgate::{Arch, SeccompData, Verdict};

use crate::support::{args, call, entry, options, read};

/// Comparisons of which no two are equal in rank.
fn comparison(random: &mut Numbers, arg: u8) -> Comparison {
    let value = [0, 1, 2, 3, 7, 0xffff_fffe, 0xffff_ffff][random.below(7)];
    Comparison::new(arg, [Op::Eq, Op::Lt, Op::Gt][random.below(3)], value).unwrap()
}

const BAD: Verdict = Verdict::KILL_THREAD;

/// A policy of rules for call 0, or `None` when two contradict each other.
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
fn rules_of_different_rank_mean_the_same_in_any_order_that_is_accepted() {
    let mut random = Numbers::new(1);
    let values = [0, 1, 2, 3, 4, 7, 8, 0xffff_fffd, 0xffff_fffe, 0xffff_ffff];
    let mut compared = 0;
    for round in 0..600 {
        // With one word each; of two words, the high ones often are.
        let arch = [Arch::Arm, Arch::X86][round % 2];
        let mut rules: Vec<(Vec<Comparison>, Verdict)> = Vec::new();
        for _ in 0..2 + random.below(4) {
            // No rule is the prefix of another: all look at the same arguments.
            let conditions = vec![comparison(&mut random, 0), comparison(&mut random, 1)];
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
fn the_order_of_entries_for_different_calls_does_not_matter() {
    let mut entries: Vec<String> = vec![
        entry("dup", "ALLOW", ""),
        entry("dup2", "LOG", &args(&["0 EQ 1"])),
        entry("dup2", "ALLOW", &args(&["0 GE 1"])),
        entry("dup3", "KILL", &args(&["2 NE 0"])),
        entry("pipe pipe2", "TRAP", ""),
    ];
    let expected = read(&entries, &options(Dialect::Runc));
    let mut random = Numbers::new(7);
    for _ in 0..20 {
        random.shuffle(&mut entries);
        let shuffled = read(&entries, &options(Dialect::Runc));
        for name in ["dup", "dup2", "dup3", "pipe", "pipe2", "close"] {
            for args in [[0, 0, 0], [1, 0, 0], [2, 0, 1]] {
                assert_eq!(call(&expected, name, &args), call(&shuffled, name, &args));
            }
        }
    }
}
