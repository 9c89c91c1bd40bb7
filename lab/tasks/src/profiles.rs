//! `cargo lab profiles`: compares the reader of container profiles with an evaluator that shares no code with it, on random
//! profiles.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use callgate_profile_fuzz::generate::{Case, case, family};
use callgate_profile_fuzz::judge::{Judgement, judge};
use callgate_profile_fuzz::shrink::shrink;
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab profiles [--profiles N] [--seconds N] [--seed N] [--first N] [--keep-going]

Makes random container profiles in the dialects oci, docker, podman, runc and crun for
six families of architectures, and compares what callgate compiles with what an evaluator
says that shares no code with it. The smallest profile with a difference is printed.

  --profiles N   at most N profiles (default 100000, with --seconds no limit)
  --seconds N    for at most N seconds
  --seed N       the seed (default 1)
  --first N      the number of the first profile (default 0)
  --keep-going   count differences by kind instead of stopping at the first one

example: cargo lab profiles --profiles 100000 --seed 1
";

#[derive(Default)]
struct Options {
    profiles: Option<u64>,
    seconds: Option<u64>,
    seed: u64,
    first: u64,
    keep_going: bool,
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options { seed: 1, ..Options::default() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--keep-going" => options.keep_going = true,
            "--profiles" | "--seconds" | "--seed" | "--first" => {
                let value = words.next().ok_or_else(|| format!("missing number: {word} N"))?;
                let number = value.parse().map_err(|_| {
                    format!("{word} takes a number from 0 to {}, not {value:?}", u64::MAX)
                })?;
                match word.as_str() {
                    "--profiles" => options.profiles = Some(number),
                    "--seconds" => options.seconds = Some(number),
                    "--seed" => options.seed = number,
                    _ => options.first = number,
                }
            }
            _ => return Err(format!("unknown option {word:?}; try --help")),
        }
    }
    Ok(options)
}

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    let start = Instant::now();
    let mut said = start;
    let limit =
        options.profiles.unwrap_or(if options.seconds.is_some() { u64::MAX } else { 100_000 });
    let end = options.seconds.map(Duration::from_secs);
    let (mut done, mut calls, mut refused, mut undecided) = (0u64, 0u64, 0u64, 0u64);
    let mut doubts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut differences: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut families: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    while done < limit && end.is_none_or(|end| start.elapsed() < end) {
        let number = options.first.wrapping_add(done);
        let case = case(options.seed, number);
        *families.entry((case.host.dialect.name(), family(case.host.native))).or_default() += 1;
        match judge(&case) {
            Judgement::Same { calls: made } => calls += made as u64,
            Judgement::BothRefuse => refused += 1,
            Judgement::Undecided => undecided += 1,
            Judgement::RefusedInDoubt(doubt) => *doubts.entry(doubt).or_default() += 1,
            Judgement::Differs(difference) if options.keep_going => {
                let kind = format!("{}: {}", case.host.dialect.name(), difference.kind());
                let count = differences.entry(kind).or_insert((0, number));
                count.0 += 1;
            }
            Judgement::Differs(_) => {
                report(options.seed, number, &case);
                return Err("callgate and the evaluator differ".to_owned());
            }
        }
        done += 1;
        if said.elapsed() >= Duration::from_secs(5) {
            said = Instant::now();
            eprintln!("{done} profiles in {} s", start.elapsed().as_secs());
        }
    }
    for (kind, (count, first)) in &differences {
        println!("{count} times, first in profile {first}: {kind}");
    }
    for (doubt, count) in &doubts {
        println!("{count} refused as doubtful: {doubt}");
    }
    println!(
        "{done} profiles in {:.0} s from seed {}: {calls} calls compared, {refused} refused by both, \
         {} refused by callgate alone as doubtful, {undecided} undecided; {} combinations of dialect and \
         family; {} differences",
        start.elapsed().as_secs_f64(),
        options.seed,
        doubts.values().sum::<u64>(),
        families.len(),
        differences.values().map(|count| count.0).sum::<u64>(),
    );
    match differences.is_empty() {
        true => Ok(()),
        false => Err("callgate and the evaluator differ".to_owned()),
    }
}

/// Prints the smallest profile that shows the difference.
fn report(seed: u64, number: u64, case: &Case) {
    let Judgement::Differs(found) = judge(case) else { return };
    let at = |profile: &_| judge(&Case { host: case.host.clone(), profile: Clone::clone(profile) });
    let small = shrink(&case.profile, |profile| match at(profile) {
        Judgement::Differs(difference) => difference.is_like(&found),
        _ => false,
    });
    let Judgement::Differs(difference) = at(&small) else { return };
    let host = &case.host;
    println!("a difference in profile {number} of seed {seed}:");
    println!("  --first {number} --profiles 1 --seed {seed} shows it again");
    println!("  dialect {}, native architecture {}", host.dialect.name(), host.native.name());
    println!("  kernel {}.{}, capabilities {:?}", host.kernel.0, host.kernel.1, host.caps);
    println!("  {difference}");
    println!("{small}");
}
