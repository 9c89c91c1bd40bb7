//! Every fuzz target, for a second: its corpus, then mutations of it from a seed.
//!
//! `CALLGATE_FUZZ_SECONDS` and `CALLGATE_FUZZ_SEED` change both. A panic names the seed, and the input in hexadecimal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use callgate_bpf::random::Rng;
use callgate_fuzz_targets::{Target, targets};
use callgate_testing::{TestResult, test};

fn main() -> ExitCode {
    let seconds = targets().map(|target| test(target.name, move || run(target)));
    callgate_testing::run(
        seconds.chain([test("each_target_is_one_of_libfuzzer", listed)]).collect(),
    )
}

/// Each target is a program of libFuzzer, and the other way round.
fn listed() -> TestResult {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    let names =
        manifest.split("[[bin]]").skip(1).map(|bin| bin.split('"').nth(1).unwrap_or_default());
    let mut listed: Vec<&str> = names.collect();
    listed.sort_unstable();
    let mut all: Vec<&str> = targets().map(|target| target.name).collect();
    all.sort_unstable();
    assert_eq!(listed, all);
    for name in all {
        let path = format!("fuzz_targets/{name}.rs");
        assert!(manifest.contains(&format!("path = \"{path}\"")), "{path}");
        let program = std::fs::read_to_string(fuzz.join(&path)).unwrap();
        assert!(program.contains(&format!("run(\"{name}\", input)")), "{path}");
    }
    Ok(())
}

fn run(target: Target) -> TestResult {
    let seconds = number("CALLGATE_FUZZ_SECONDS", 1);
    let seed = number("CALLGATE_FUZZ_SEED", 1);
    let corpus = corpus(target.name);
    assert!(!corpus.is_empty(), "the corpus of {} is empty", target.name);
    for input in &corpus {
        check(target, input, seed);
    }
    let mut rng = Rng::new(seed);
    let start = Instant::now();
    let mut count = 0_u64;
    // At least one mutation is run on the slowest machine.
    while count == 0 || start.elapsed() < Duration::from_secs(seconds) {
        check(target, &mutated(&corpus, &mut rng), seed);
        count += 1;
    }
    eprintln!("{}: {} inputs of the corpus, {count} mutations", target.name, corpus.len());
    Ok(())
}

fn check(target: Target, input: &[u8], seed: u64) {
    let result = catch_unwind(AssertUnwindSafe(|| target.run(input)));
    if result.is_err() {
        let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!("{} fails, seed {seed}, for the input {hex}", target.name);
    }
}

fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text:?}")),
        Err(_) => default,
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(name);
    let entries = std::fs::read_dir(&directory)
        .unwrap_or_else(|why| panic!("{}: {why}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// One or two inputs of the corpus, with a few changes.
fn mutated(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut input = corpus[rng.below(corpus.len())].clone();
    for _ in 0..=rng.below(6) {
        let at = rng.below(input.len() + 1);
        match rng.below(7) {
            0 => input.truncate(at),
            1 => input.insert(at, rng.next() as u8),
            2 if at < input.len() => input[at] ^= 1 << rng.below(8),
            3 if at < input.len() => input[at] = rng.next() as u8,
            4 => {
                let other = &corpus[rng.below(corpus.len())];
                input.truncate(at);
                input.extend(&other[rng.below(other.len() + 1)..]);
            }
            5 if at < input.len() => {
                let end = (at + 1 + rng.below(8)).min(input.len());
                input.drain(at..end);
            }
            _ => {
                let copied: Vec<u8> = input[at..].iter().take(1 + rng.below(16)).copied().collect();
                input.splice(at..at, copied);
            }
        }
    }
    input
}
