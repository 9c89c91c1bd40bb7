//! `cargo xtask refusals`: gives random rules, some of them contradictory, to libseccomp and to Callgate. Both must
//! refuse the same sets, at the same rule.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callgate::frontend::ruleset::{Comparison, LibseccompVersion, Op, RuleSet};
use callgate::random::Rng;
use callgate::{Arch, Verdict};

use crate::task::Result;

pub(crate) const HELP: &str = "\
usage: cargo xtask refusals [--sets N] [--seed N]

Generates N random sets of rules (default 20000) for each family of architectures, gives them to the
installed libseccomp and to callgate, and compares which sets are refused, and at which rule. Needs a C
compiler and libseccomp's header (Debian: libseccomp-dev). CPATH, LIBRARY_PATH and LD_LIBRARY_PATH
select another libseccomp. The exit status is 1 if a result differs.
";

const DRIVER: &str = include_str!("driver.c");

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

/// A rule for a syscall by name.
struct Rule {
    name: &'static str,
    verdict: Verdict,
    comparisons: Vec<Comparison>,
}

/// The result for a set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Taken,
    /// This rule is the first that is refused.
    Refused(usize),
    /// The library crashed or did not end, or callgate ran out of steps.
    Unknown,
}

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

fn build(directory: &Path) -> Result<PathBuf> {
    let (source, driver) = (directory.join("driver.c"), directory.join("driver"));
    std::fs::write(&source, DRIVER).map_err(|error| format!("{}: {error}", source.display()))?;
    let status = Command::new("cc")
        .args(["-O2", "-o"])
        .args([&driver, &source])
        .arg("-lseccomp")
        .status()
        .map_err(|error| format!("cc: {error}"))?;
    if status.success() { Ok(driver) } else { Err(format!("cc: {status}")) }
}

fn ask(driver: &Path, arguments: &[&str], question: &str) -> Result<String> {
    let failed = |error: std::io::Error| format!("{}: {error}", driver.display());
    let mut child = Command::new(driver)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(question.as_bytes()));
        child.wait_with_output()
    })
    .map_err(failed)?;
    if !output.status.success() {
        return Err(format!("{}: {}", driver.display(), output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn parse(line: &str) -> Result<Answer> {
    match line.split_once(' ') {
        Some(("-1", _)) => Ok(Answer::Taken),
        Some(("-2", _)) => Ok(Answer::Unknown),
        // EEXIST
        Some((place, "17")) => {
            place.parse().map(Answer::Refused).map_err(|_| format!("answer {line:?}"))
        }
        _ => Err(format!("libseccomp: answer {line:?}")),
    }
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
            let added = set.add_call(rule.name, &rule.comparisons, rule.verdict, place);
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

/// Rules with few different syscalls, verdicts, arguments and values, so that they interact.
fn rules(random: &mut Rng) -> Vec<Rule> {
    // The last ones are missing on most architectures.
    let names = ["dup2", "ioctl", "socket", "shmget", "send", "arm_fadvise64_64", "stat"];
    let verdicts = [Verdict::ALLOW, Verdict::LOG, Verdict::KILL_THREAD, Verdict::errno(2)];
    let calls = 1 + random.below(2);
    let first = random.below(names.len());
    let kinds = 1 + random.below(3);
    let (args, values) = (1 + random.below(4), 1 + random.below(10));
    let most = if random.below(8) == 0 { 24 } else { 7 };
    let count = 2 + random.below(most);
    let of_operators = random.below(4);
    let rule = |random: &mut Rng| {
        let mut places: Vec<u8> = (0..args as u8).collect();
        random.shuffle(&mut places);
        let always = random.below(40) == 0;
        let tests = if always { 0 } else { 1 + random.below(args) };
        let comparison = |arg: u8, random: &mut Rng| {
            let op = operator(of_operators, random);
            Comparison::new(arg, op, value(values, random))
        };
        Rule {
            name: names[(first + random.below(calls)) % names.len()],
            verdict: verdicts[random.below(1 + kinds)],
            comparisons: places
                .iter()
                .take(tests)
                .filter_map(|arg| comparison(*arg, random))
                .collect(),
        }
    };
    (0..count).map(|_| rule(random)).collect()
}

fn operator(of: usize, random: &mut Rng) -> Op {
    let mask =
        [0, 1, 5, 0xffff_ffff, 0xffff_ffff_0000_0000, 0x1_0000_0001, u64::MAX][random.below(7)];
    let all = [Op::Eq, Op::Ne, Op::MaskedEq(mask), Op::Lt, Op::Le, Op::Gt, Op::Ge];
    match of {
        0 => all[random.below(3)],
        1 => all[3 + random.below(4)],
        _ => all[random.below(7)],
    }
}

fn value(values: usize, random: &mut Rng) -> u64 {
    let all = [
        5,
        9,
        0,
        0x1_0000_0005,
        1,
        0x1_0000_0000,
        u64::MAX,
        0xffff_ffff,
        0x2_0000_0001,
        0x5_0000_0009,
    ];
    all[random.below(values)]
}

fn text(arches: &[Arch], rules: &[Rule]) -> String {
    let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
    let mut text = format!("set {}\n", names.join(" "));
    for rule in rules {
        text += &format!("rule {} {:#x}", rule.name, rule.verdict.0);
        for test in &rule.comparisons {
            let (op, value, datum) = match test.op() {
                Op::Ne => (1, test.value(), 0),
                Op::Lt => (2, test.value(), 0),
                Op::Le => (3, test.value(), 0),
                Op::Eq => (4, test.value(), 0),
                Op::Ge => (5, test.value(), 0),
                Op::Gt => (6, test.value(), 0),
                Op::MaskedEq(mask) => (7, mask, test.value()),
            };
            text += &format!(" {} {op} {value:#x} {datum:#x}", test.arg());
        }
        text.push('\n');
    }
    text + "end\n"
}
