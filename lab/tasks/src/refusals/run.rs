//! Asks both, and compares.

use std::path::Path;

use callgate::Arch;
use callgate_bpf::random::Rng;
use callgate_formats::ruleset::{LibseccompVersion, RuleSet};

use super::answer::Answer;
use super::library::{ask, build, parse, text};
use super::random::{Rule, rules};
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab refusals [--sets N] [--seed N]

Generates N random sets of rules (default 20000) for each family of architectures, gives them to the
installed libseccomp and to callgate, and compares which sets are refused, and at which rule. Needs a C
compiler and libseccomp's header (Debian: libseccomp-dev). CPATH, LIBRARY_PATH and LD_LIBRARY_PATH
select another libseccomp. The exit status is 1 if a result differs.
";

/// The maximum number of compared nodes of libseccomp's trees per set. Where the library hangs, this limit is
/// exceeded.
const STEPS: u64 = 60_000_000;

/// Architectures that one filter is for.
const FAMILIES: &[&[Arch]] = &[
    &[Arch::X86_64],
    &[Arch::X86_64, Arch::X86, Arch::X32],
    &[Arch::Aarch64],
    &[Arch::Aarch64, Arch::Arm],
    &[Arch::S390x, Arch::S390],
    &[Arch::Mips64, Arch::Mips64n32, Arch::Mips],
    &[Arch::Mipsel],
    &[Arch::Ppc64le],
    &[Arch::Riscv64],
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut sets, mut seed) = (20_000, 1);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok());
        match (word.as_str(), number) {
            ("--sets", Some(number)) => sets = number,
            ("--seed", Some(number)) => seed = number as u64,
            _ => return Err(format!("unknown option, or missing number: {word}\n\n{HELP}")),
        }
    }
    let directory = std::env::temp_dir().join(format!("callgate-refusals-{}", std::process::id()));
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let differences = compare(&directory, sets, seed);
    let _ = std::fs::remove_dir_all(&directory);
    match differences? {
        0 => Ok(()),
        differences => Err(format!("{differences} sets of rules differ")),
    }
}

fn compare(directory: &Path, sets: usize, seed: u64) -> Result<usize> {
    let driver = build(directory)?;
    let version = ask(&driver, &["--version"], "")?;
    let version = version.trim();
    println!("libseccomp {version}, {sets} sets of rules for each family, seed {seed}");
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0u32);
    let version = match (part(), part(), part()) >= (2, 6, 1) {
        true => LibseccompVersion::From2_6_1,
        false => LibseccompVersion::Before2_6_1,
    };
    let mut differences = 0;
    for (family, arches) in FAMILIES.iter().enumerate() {
        let mut random = Rng::new(seed.wrapping_mul(1000) + family as u64);
        let all: Vec<Vec<Rule>> = (0..sets).map(|_| rules(&mut random)).collect();
        let question: String = all.iter().map(|rules| text(arches, rules)).collect();
        let answer = ask(&driver, &[], &question)?;
        let mut lines = answer.lines();
        let (mut refused, mut differ, mut contradictory, mut broken, mut unknown) = (0, 0, 0, 0, 0);
        for rules in &all {
            let theirs = parse(lines.next().unwrap_or_default())?;
            let (ours, is_contradictory) = refused_by_us(arches, rules, version)?;
            refused += usize::from(matches!(theirs, Answer::Refused(_)));
            contradictory += usize::from(is_contradictory && theirs == Answer::Taken);
            if theirs == Answer::Unknown {
                broken += 1;
                unknown += usize::from(ours == Answer::Unknown);
            } else if ours != theirs {
                differ += 1;
                if differences + differ <= 3 {
                    println!("libseccomp: {theirs:?}, callgate: {ours:?}\n{}", text(arches, rules));
                }
            }
        }
        differences += differ;
        let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        println!(
            "{:<24} {refused} refused, {differ} differ, {contradictory} taken with two verdicts \
             under one condition, {broken} crashed or hung libseccomp ({unknown} out of steps here)",
            names.join(" ")
        );
    }
    Ok(differences)
}

fn refused_by_us(
    arches: &[Arch],
    rules: &[Rule],
    version: LibseccompVersion,
) -> Result<(Answer, bool)> {
    let (mut first, mut contradictory) = (Answer::Taken, false);
    let mut is_first = usize::MAX;
    for arch in arches {
        let mut set = RuleSet::new(*arch);
        for (place, rule) in rules.iter().enumerate() {
            let added = set.add_syscall(rule.name, &rule.comparisons, rule.verdict, place);
            added.map_err(|error| error.to_string())?;
        }
        let refusals = set.refused(version, &mut { STEPS });
        let refused = refusals.conflicts.iter().map(|conflict| conflict.later);
        let refused = refused.map(|place| (place, Answer::Refused(place)));
        let unknown = refusals.unknown.iter().map(|(place, _)| (*place, Answer::Unknown));
        // Within one rule, the multiplexer is added before the syscall itself.
        for (place, answer) in refused.chain(unknown) {
            // libseccomp does not get the rules after a refused one.
            if place < is_first {
                (is_first, first) = (place, answer);
            }
        }
        contradictory |= !set.contradictions().is_empty();
    }
    Ok((first, contradictory))
}
