//! Compares the number of executed comparisons of the syscall number with lower bounds.
//!
//! `cargo bench --manifest-path lab/Cargo.toml -p callgate-benches --bench entropy`; nothing is timed, and the figures are the same on
//! every machine. `CALLGATE_BENCH_PROFILES` and `CALLGATE_BENCH_WEIGHTS` (files as for `--weights`, with any names)
//! add named instances.
//!
//! An *instance* is a policy with the frequency of each syscall. Its *intervals* are the maximal ranges of numbers
//! with the same successor; `p(r)` is the share of the syscalls in interval `r`. The benchmark computes the mean
//! number of executed comparisons of the number: the mean number of executed instructions of the compiled program
//! (`--model uncached --optimize speed`) under the weights, minus the four that are not comparisons of the number:
//! two loads, the comparison of arch, and the return.
//!
//! - *Entropy* is `Σ p(r) log2(1/p(r))`, a lower bound for trees of two-way comparisons in which each leaf is one
//!   interval (Shannon). It is not a bound for trees with equality tests, which can separate single values so that
//!   the intervals on both sides share a leaf; so ratios below 1 are possible. For Docker's default profile with
//!   equal weights for all always-allowed syscalls it is 4.2, or 8.2 instructions with the four.
//! - *Optimum* is the minimum mean over all trees with order tests between intervals and equality tests of
//!   intervals with one number, found by exhaustive search, for at most 14 intervals. Programs also test bits of the
//!   number (`jset`), so ratios below 1 are possible here too.
//!
//! The programs are not optimized for the mean alone: each instruction of a program also has a small cost.
#![allow(missing_docs)]

use callgate::compile::{Options, compile};
use callgate::{Arch, Verdict};
use callgate_benches::{ONE, profiles, texts};
use callgate_bpf::SyscallTable;
use callgate_bpf::random::Rng;
use callgate_codegen::{Count, Model, Weights, query};
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{SyscallSet, Word};
use callgate_trace::counts;

/// The maximum number of intervals for an exhaustive search.
const MOST_RUNS: usize = 14;

/// The number of instances per random family.
const INSTANCES: u64 = 60;

/// Executed instructions that are not comparisons of the number.
const FIXED: f64 = 4.0;

/// Consecutive numbers with the same successor.
struct Run {
    place: Func,
    single: bool,
    weight: f64,
}

struct Measured {
    runs: usize,
    comparisons: f64,
    entropy: f64,
    optimum: Option<f64>,
}

/// Numbers above all known syscalls have no weight, so they belong to the last interval.
const NUMBERS: std::ops::Range<u32> = 0..512;

fn measure(policy: &Policy, weights: &Weights) -> Measured {
    let options =
        Options { model: Model::Uncached, weights: weights.clone(), ..Options::default() };
    let compiled = compile(policy, &options).unwrap_or_else(|error| panic!("{error}"));
    let mut store = Store::default();
    let Ok(meaning) = store.policy(policy) else { panic!("compiled, but too large") };
    let arches: Vec<Arch> = policy.arches().collect();
    let syscalls = weights.resolve(&store, meaning, &arches);
    let total: f64 = syscalls.iter().map(|syscall| syscall.weight).sum();
    let token = arches[0].token();
    let mut restrict = |func, word, value| match query::restrict(&mut store, func, word, value) {
        Ok(func) => func,
        Err(error) => panic!("{error}"),
    };
    let rng = restrict(meaning, Word::ARCH, token);
    let mut runs: Vec<Run> = Vec::new();
    for nr in NUMBERS {
        let of_nr = syscalls.iter().filter(|syscall| syscall.token == token && syscall.nr == nr);
        let weight: f64 = of_nr.map(|syscall| syscall.weight / total).sum();
        let place = restrict(rng, Word::NR, nr);
        match runs.last_mut().filter(|run| run.place == place) {
            Some(run) => {
                run.weight += weight;
                run.single = false;
            }
            None => runs.push(Run { place, single: true, weight }),
        }
    }
    let information =
        |run: &Run| if run.weight > 0.0 { -run.weight * run.weight.log2() } else { 0.0 };
    Measured {
        runs: runs.len(),
        comparisons: compiled.stats.expected_insns.unwrap_or(f64::NAN) - FIXED,
        entropy: runs.iter().map(information).sum(),
        optimum: (runs.len() <= MOST_RUNS).then(|| optimum(&runs)),
    }
}

/// The minimum mean number of comparisons, by dynamic programming over all sets of intervals.
fn optimum(runs: &[Run]) -> f64 {
    let n = runs.len();
    let mut best = vec![0.0f64; 1 << n];
    for set in 1usize..1 << n {
        let inside = |i: &usize| set >> i & 1 == 1;
        let first = set.trailing_zeros() as usize;
        if (0..n).filter(inside).all(|i| runs[i].place == runs[first].place) {
            continue;
        }
        let weight: f64 = (0..n).filter(inside).map(|i| runs[i].weight).sum();
        let mut least = f64::INFINITY;
        for i in (0..n).filter(inside) {
            let below = set & ((1 << i) - 1);
            if below != 0 {
                least = least.min(best[below] + best[set & !below]);
            }
            if runs[i].single {
                least = least.min(best[set & !(1 << i)]);
            }
        }
        best[set] = least + weight;
    }
    best[(1 << n) - 1]
}

fn shuffled(mut values: Vec<f64>, rng: &mut Rng) -> Vec<f64> {
    rng.shuffle(&mut values);
    values
}

/// The weight of a rank.
type Spread = fn(usize) -> f64;

/// Distributions of weights, from the largest to the smallest.
const SPREADS: [(&str, Spread); 3] = [
    ("uniform", |_| 1.0),
    ("Zipf", |rank| 1.0 / (rank + 1) as f64),
    ("geometric", |rank| 0.5f64.powi(rank.min(40) as i32)),
];

/// All syscalls of x86_64 with weights, in random order.
fn weights_of_all(spread: Spread, rng: &mut Rng) -> Weights {
    let names: Vec<&str> = Arch::X86_64.syscalls().map(|(_, name)| name).collect();
    let shares = shuffled((0..names.len()).map(spread).collect(), rng);
    weights(names.into_iter().map(str::to_owned).zip(shares))
}

fn weights(counts: impl Iterator<Item = (String, f64)>) -> Weights {
    Weights::counts(counts).unwrap_or_else(|error| panic!("{error}"))
}

/// This many random intervals with up to three verdicts. Each interval has a weight by rank, which its syscalls share.
fn random(runs: usize, spread: Spread, rng: &mut Rng) -> (Policy, Weights) {
    let syscalls: Vec<(u32, &str)> = Arch::X86.syscalls().filter(|(nr, _)| *nr < 400).collect();
    let mut starts = vec![0];
    while starts.len() < runs {
        let start = 1 + rng.below(380) as u32;
        // Often adjacent to another bound, so that there are intervals of one number; none is without syscalls.
        let start = if rng.below(2) == 0 { start } else { starts[starts.len() - 1] + 1 };
        let known = syscalls.iter().any(|(nr, _)| *nr == start);
        if known && start < 380 && !starts.contains(&start) {
            starts.push(start);
        }
    }
    starts.sort_unstable();
    let verdicts = [Verdict::ALLOW, Verdict::errno(1), Verdict::LOG];
    let mut verdict = 0;
    let mut rules = Vec::new();
    let mut counts = Vec::new();
    let shares = shuffled((0..runs).map(spread).collect(), rng);
    for (at, share) in shares.into_iter().enumerate() {
        let first = starts[at];
        let last = starts.get(at + 1).map_or(u32::MAX, |next| next - 1);
        verdict = (verdict + 1 + rng.below(2)) % 3;
        let (syscalls, when) = (SyscallSet::range(first, last), Condition::always());
        rules.push(Rule { syscalls, when, verdict: verdicts[verdict] });
        let inside = || Arch::X86.syscalls().filter(|(nr, _)| (first..=last).contains(nr));
        let each = share / inside().count() as f64;
        counts.extend(inside().map(|(_, name)| (name.to_owned(), each)));
    }
    let section = Section::new(Arch::X86, rules, Verdict::KILL_PROCESS);
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS);
    (policy.unwrap_or_else(|error| panic!("{error}")), weights(counts.into_iter()))
}

/// The weights of `CALLGATE_BENCH_WEIGHTS`.
fn recorded() -> Vec<(String, Vec<Count>)> {
    let read = |(name, text): (String, String)| match counts::read(&text, Arch::X86_64, false) {
        Ok(read) => Some((name, read.counts)),
        Err(messages) => {
            eprintln!("{name} is omitted: {}", messages[0]);
            None
        }
    };
    texts("CALLGATE_BENCH_WEIGHTS").into_iter().filter_map(read).collect()
}

/// Mean and maximum.
#[derive(Default)]
struct Ratios {
    count: usize,
    sum: f64,
    worst: f64,
}

impl Ratios {
    fn add(&mut self, ratio: f64) {
        self.count += 1;
        self.sum += ratio;
        self.worst = self.worst.max(ratio);
    }

    fn columns(&self) -> String {
        match self.count {
            0 => format!("{:>7} {:>7}", "-", "-"),
            count => format!("{:7.3} {:7.3}", self.sum / count as f64, self.worst),
        }
    }
}

fn main() {
    println!("Comparisons of the number per call: mean over the weights, and its lower bounds\n");
    println!(
        "{:42} {:>9} {:>8} {:>8} {:>8}",
        "named instances", "intervals", "callgate", "entropy", "ratio"
    );
    let show = |name: String, policy: &Policy, weights: &Weights| {
        let Measured { runs, comparisons, entropy, .. } = measure(policy, weights);
        let ratio = comparisons / entropy;
        println!("{name:42} {runs:9} {comparisons:8.3} {entropy:8.3} {ratio:8.3}");
    };
    let mut rng = Rng::new(0x5eed);
    let recorded = recorded();
    for (name, policy) in profiles(ONE) {
        show(format!("{name}, always-allowed alike"), &policy, &Weights::uniform());
        for (spread, shares) in SPREADS.into_iter().skip(1) {
            // A syscall with conditions executes more than comparisons of its number.
            let weights = only_always_allowed(&policy, &weights_of_all(shares, &mut rng));
            show(format!("{name}, {spread} over allowed"), &policy, &weights);
        }
        for (from, counts) in &recorded {
            let all = Weights::of(counts.clone()).unwrap_or_else(|error| panic!("{error}"));
            show(format!("{name}, {from}"), &policy, &only_always_allowed(&policy, &all));
        }
    }

    println!("\n{:28} {:>5}  {:^15}  {:^15}", "", "", "over entropy", "over optimum");
    println!(
        "{:28} {:>5}  {:>7} {:>7}  {:>7} {:>7}",
        "random instances", "count", "mean", "worst", "mean", "worst"
    );
    for runs in [2, 4, 6, 8, 10, 12, 14, 40, 90, 150] {
        for (spread, shares) in SPREADS {
            let (mut over_entropy, mut over_optimum) = (Ratios::default(), Ratios::default());
            for _ in 0..INSTANCES {
                let (policy, weights) = random(runs, shares, &mut rng);
                let measured = measure(&policy, &weights);
                over_entropy.add(measured.comparisons / measured.entropy);
                if let Some(optimum) = measured.optimum {
                    over_optimum.add(measured.comparisons / optimum);
                }
            }
            println!(
                "{:28} {:5}  {}  {}",
                format!("{runs} intervals, {spread}"),
                over_entropy.count,
                over_entropy.columns(),
                over_optimum.columns()
            );
        }
    }
}

/// The same weights without the syscalls with conditions.
fn only_always_allowed(policy: &Policy, all: &Weights) -> Weights {
    let mut store = Store::default();
    let Ok(meaning) = store.policy(policy) else { panic!("too large") };
    let syscalls = all.resolve(&store, meaning, ONE);
    let allowed =
        syscalls.into_iter().filter(|syscall| syscall.is_always_allowed()).filter_map(|syscall| {
            let name = Arch::X86_64.syscall_name(syscall.nr)?;
            Some((name.to_owned(), syscall.weight))
        });
    weights(allowed)
}
