//! A program depends on what a policy means, not on how it is phrased: allowlist or denylist, in any
//! order of rules that does not change the meaning, split, repeated, or with tests that cannot fail. The quick plan makes
//! programs from the rules, so it is left out here.

use callgate::compile::{Options, compile, recompile};
use callgate::{Arch, Verdict};
use callgate_codegen::{Aim, Model};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Program, SyscallSet};
use callgate_formats::oci;
use callgate_testing::random::{Rng, cases, policies, policies_of_one_argument};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// The numbers that are in one set and (not) in the other.
fn select(set: &SyscallSet, other: &SyscallSet, inside: bool) -> SyscallSet {
    let mut ranges = Vec::new();
    for &(first, last) in set.ranges() {
        let mut at = Some(first);
        for &(from, to) in other.ranges().iter().filter(|(from, to)| *to >= first && *from <= last)
        {
            if inside {
                ranges.push((from.max(first), to.min(last)));
            } else if let Some(start) = at.filter(|start| *start < from) {
                ranges.push((start, from - 1));
            }
            at = to.checked_add(1);
        }
        if let Some(start) = at.filter(|start| !inside && *start <= last) {
            ranges.push((start, last));
        }
    }
    SyscallSet::from_ranges(ranges)
}

fn everything() -> SyscallSet {
    SyscallSet::range(0, u32::MAX)
}

/// The rule after another one as it must read to come before it.
fn moved_before(rule: &Rule, earlier: &Rule) -> Vec<Rule> {
    let both = Condition::all([earlier.when.clone().negated(), rule.when.clone()]);
    let parts = [
        (select(&rule.syscalls, &earlier.syscalls, true), both),
        (select(&rule.syscalls, &earlier.syscalls, false), rule.when.clone()),
    ];
    let verdict = rule.verdict;
    let parts = parts.into_iter().filter(|(syscalls, _)| !syscalls.is_empty());
    parts.map(|(syscalls, when)| Rule { syscalls, when, verdict }).collect()
}

/// A condition that always holds and does not look like it.
fn tautology(rng: &mut Rng) -> Condition {
    let field = Field::arg(rng.below(3) as u8).unwrap();
    let value = rng.below(9) as u64;
    Condition::any([
        Condition::test(Test::new(field, Cmp::Lt, value)),
        Condition::test(Test::new(field, Cmp::Ge, value)),
    ])
}

/// The same rules in other words.
fn rephrased(rules: &mut Vec<Rule>, default: &mut Verdict, rng: &mut Rng) {
    let at = |rules: &[Rule], rng: &mut Rng| rng.below(rules.len());
    match rng.below(6) {
        // The other way round: what falls through is said, and the default is something else.
        0 => {
            let verdict = *default;
            rules.push(Rule { syscalls: everything(), when: Condition::always(), verdict });
            *default = if verdict == Verdict::ALLOW { Verdict::errno(1) } else { Verdict::ALLOW };
        }
        _ if rules.is_empty() => {}
        // Said twice.
        1 => {
            let from = at(rules, rng);
            let to = from + 1 + rng.below(rules.len() - from);
            rules.insert(to, rules[from].clone());
        }
        // One rule for each range, in any order.
        2 => {
            let from = at(rules, rng);
            let Rule { syscalls, when, verdict } = rules.remove(from);
            for &(first, last) in syscalls.ranges() {
                let to = from + rng.below(rules.len() - from + 1).min(syscalls.ranges().len());
                let rule =
                    Rule { syscalls: SyscallSet::range(first, last), when: when.clone(), verdict };
                // Only past rules of its own kind, which are the other ranges.
                let own = rules[from..]
                    .iter()
                    .take_while(|rule| rule.verdict == verdict && rule.when == when);
                let to = to.min(from + own.count());
                rules.insert(to, rule);
            }
        }
        // Two neighbours in the other order.
        3 if rules.len() > 1 => {
            let from = rng.below(rules.len() - 1);
            let earlier = rules.remove(from);
            let later = rules.remove(from);
            rules.insert(from, earlier.clone());
            for part in moved_before(&later, &earlier) {
                rules.insert(from, part);
            }
        }
        // Cut in two by a test.
        4 => {
            let from = at(rules, rng);
            let field = Field::arg(rng.below(3) as u8).unwrap();
            let test = Condition::test(Test::eq(field, rng.below(9) as u64));
            let half = Condition::all([rules[from].when.clone(), test]);
            rules.insert(from, Rule { when: half, ..rules[from].clone() });
        }
        _ => {
            let from = at(rules, rng);
            let when = Condition::all([rules[from].when.clone(), tautology(rng)]);
            rules[from].when = when;
        }
    }
}

fn rephrased_policy(policy: &Policy, times: usize, rng: &mut Rng) -> Policy {
    let mut sections = policy.sections().to_vec();
    for Section { rules, default, .. } in &mut sections {
        for _ in 0..times {
            rephrased(rules, default, rng);
        }
    }
    Policy::new(sections, policy.bad_arch()).unwrap()
}

/// What the search finds. A compilation also tries programs that follow the rules, which may be better; so the search starts with
/// the compiled program.
fn programs(policy: &Policy) -> Vec<Program> {
    let arches: Vec<Arch> = policy.arches().collect();
    let aims = [Aim::Speed, Aim::Size];
    let options = aims.map(|aim| Options { model: Model::Uncached, aim, ..Options::default() });
    let program = |options: &Options| {
        let compiled = compile(policy, options).unwrap().program;
        recompile(&compiled, policy.endian(), &arches, options).unwrap().program.into()
    };
    options.iter().map(program).collect()
}

fn the_phrase_does_not_matter(policy: &Policy, seed: u64) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed);
    let expected = programs(policy);
    for times in [1, 6] {
        let other = rephrased_policy(policy, times, &mut rng);
        prop_assert_eq!(&programs(&other), &expected, "{:?}", other);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn random_policies_in_other_words_give_the_same_bytes(
        policy in policies(6),
        seed in any::<u64>(),
    ) {
        the_phrase_does_not_matter(&policy, seed)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn sets_of_values_in_other_words_give_the_same_bytes(
        policy in policies_of_one_argument(),
        seed in any::<u64>(),
    ) {
        the_phrase_does_not_matter(&policy, seed)?;
    }
}

fn container_default(text: &str, arches: &[Arch]) -> Policy {
    let mut options = oci::ReadOptions::new(Arch::X86_64, "6.18".parse().unwrap());
    options.arches = arches.to_vec();
    oci::read(text, &options).unwrap().policy
}

const ONE: &[Arch] = &[Arch::X86_64];
const THREE: &[Arch] = &[Arch::X86_64, Arch::X86, Arch::X32];

/// Allowed is what is listed, or denied is what is listed.
#[test]
fn the_container_profile_as_a_deny_list_gives_the_same_bytes() {
    for arches in [ONE, THREE] {
        let policy = container_default(callgate_formats::CONTAINER_DEFAULT, arches);
        let mut sections = policy.sections().to_vec();
        for section in &mut sections {
            let allows = |rule: &Rule| rule.when.is_always() && rule.verdict == Verdict::ALLOW;
            let (allowed, mut rules): (Vec<Rule>, Vec<Rule>) =
                section.rules.drain(..).partition(allows);
            let allowed = allowed.iter().flat_map(|rule| rule.syscalls.ranges().to_vec());
            let syscalls = select(&everything(), &SyscallSet::from_ranges(allowed), false);
            let verdict = std::mem::replace(&mut section.default, Verdict::ALLOW);
            rules.push(Rule { syscalls, when: Condition::always(), verdict });
            section.rules = rules;
        }
        let flipped = Policy::new(sections, policy.bad_arch()).unwrap();
        assert_ne!(flipped, policy);
        assert_eq!(programs(&flipped), programs(&policy), "{arches:?}");
    }
}

/// The entries of the list `syscalls`, as they stand in the text.
fn entries(text: &str) -> (&str, Vec<&str>, &str) {
    let start = text.find("\"syscalls\": [").unwrap() + "\"syscalls\": [".len();
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    let (mut found, mut from) = (Vec::new(), start);
    for (at, c) in text[start..].char_indices().map(|(at, c)| (start + at, c)) {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' => {
                if depth == 0 {
                    from = at;
                }
                depth += 1;
            }
            ']' if depth == 0 => return (&text[..start], found, &text[at..]),
            '}' | ']' => {
                depth -= 1;
                if depth == 0 {
                    found.push(&text[from..=at]);
                }
            }
            _ => {}
        }
    }
    panic!("`syscalls` has no end");
}

#[test]
fn entries_of_a_profile_in_any_order_and_twice_give_the_same_bytes() {
    let text = callgate_formats::CONTAINER_DEFAULT;
    let (head, mut entries, tail) = entries(text);
    assert!(entries.len() > 10, "{}", entries.len());
    let mut rng = Rng::new(0x5eed);
    let expected = [ONE, THREE].map(|arches| programs(&container_default(text, arches)));
    for round in 0..3 {
        let twice = entries[rng.below(entries.len())];
        entries.push(twice);
        rng.shuffle(&mut entries);
        let shuffled = format!("{head}{}{tail}", entries.join(",\n"));
        let programs = [ONE, THREE].map(|arches| programs(&container_default(&shuffled, arches)));
        assert!(programs == expected, "round {round}");
    }
}
