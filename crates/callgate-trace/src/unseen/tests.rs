//! The estimates on synthetic runs, whose true probabilities are known.

use super::*;
use crate::generate::{GenerateOptions, LimitedArgs, Runtime, generate};
use crate::recording::{Evidence, Merger, Recording, Run, RunId, SyscallId};
use callgate_bpf::random::Rng;
use callgate_core::Arch;

/// A program that does some things in some runs: each with its probability, and the syscalls that it makes.
struct Program(Vec<(f64, Vec<u32>)>);

impl Program {
    /// Things with these probabilities, each of which makes one to four syscalls of its own, and a syscall that every
    /// run makes.
    fn new(probabilities: impl IntoIterator<Item = f64>) -> Program {
        let mut next = 1;
        let mut things = vec![(1.0, vec![0])];
        for (index, probability) in probabilities.into_iter().enumerate() {
            let syscalls = 1 + index as u32 % 4;
            things.push((probability, (next..next + syscalls).collect()));
            next += syscalls;
        }
        Program(things)
    }

    fn run(&self, rng: &mut Rng) -> Recording {
        let mut recording =
            Recording::of(Run { id: Some(RunId::Assigned(rng.next())), ..Run::default() });
        for (probability, syscalls) in &self.0 {
            if (rng.next() as f64) < probability * 2_f64.powi(64) {
                syscalls
                    .iter()
                    .for_each(|nr| recording.count(SyscallId::new(Arch::X86_64, *nr), 1));
            }
        }
        recording
    }

    /// The probability that a run makes a syscall that is not in a recording.
    fn new_syscall(&self, recorded: &Recording) -> f64 {
        let unseen = self.0.iter().filter(|(_, syscalls)| {
            syscalls.iter().any(|nr| recorded.get(SyscallId::new(Arch::X86_64, *nr)).is_none())
        });
        1.0 - unseen.map(|(probability, _)| 1.0 - probability).product::<f64>()
    }

    fn syscalls(&self) -> usize {
        self.0.iter().map(|(_, syscalls)| syscalls.len()).sum()
    }
}

fn merged(runs: impl IntoIterator<Item = Recording>) -> Recording {
    Merger::all(&runs.into_iter().collect::<Vec<_>>()).unwrap()
}

fn estimate(recorded: &Recording) -> Unseen {
    let seen: Vec<Evidence> = recorded.syscalls().map(|(_, stats)| stats.seen()).collect();
    Unseen::estimate(recorded.runs().len() as u64, &seen, &[])
}

/// How often the truth is above, in and below the interval, and the means of the estimate and of the truth.
fn coverage(program: &Program, runs: usize, seeds: u64) -> ([u64; 3], f64, f64) {
    let (mut counts, mut estimates, mut truths) = ([0; 3], 0.0, 0.0);
    for seed in 0..seeds {
        let mut rng = Rng::new(seed);
        let recorded = merged((0..runs).map(|_| program.run(&mut rng)));
        let (next_run, truth) = (estimate(&recorded).next_run, program.new_syscall(&recorded));
        let place = usize::from(truth <= next_run.high) + usize::from(truth < next_run.low);
        counts[place] += 1;
        estimates += next_run.value / seeds as f64;
        truths += truth / seeds as f64;
    }
    (counts, estimates, truths)
}

/// The programs of the experiment in `lab/results/unseen.md`.
fn programs() -> [(&'static str, Program); 3] {
    let powers = (0..40).map(|index| 0.8_f64.powi(index));
    let inverse = (1..80).map(|index| (1.5 / f64::from(index)).min(1.0));
    [
        ("four rare things", Program::new([0.3, 0.1, 0.03, 0.01])),
        ("40 things, each 0.8 times as probable as the previous one", Program::new(powers)),
        ("79 things, the i-th with probability 1.5/i", Program::new(inverse)),
    ]
}

/// Nominal are 95 % within the interval. The truth is above it, which would be a false promise, in at most 2.5 % and a
/// statistical error.
#[test]
fn intervals_contain_the_truth_in_at_least_95_of_100_cases() {
    const SEEDS: u64 = 300;
    for (name, program) in programs() {
        for runs in [3, 12, 40] {
            let ([above, within, below], mean, truth) = coverage(&program, runs, SEEDS);
            let case =
                format!("{name}, {runs} runs: {above} above, {below} below, {mean:.3}, {truth:.3}");
            assert!(within * 100 >= SEEDS * 93 && above * 100 <= SEEDS * 4, "{case}");
            // The estimate is that for one run less, so it is too high rather than too low.
            assert!(mean > truth - 0.02 && mean < truth + 0.2, "{case}");
        }
    }
}

/// Prints the table in `lab/results/unseen.md`.
#[test]
#[ignore = "an experiment: prints a table"]
fn unseen_experiment() {
    println!(
        "| program | runs | true probability (mean) | estimate (mean) | within | above | below |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (name, program) in programs() {
        for runs in [2, 5, 12, 30, 100, 300] {
            let ([above, within, below], mean, truth) = coverage(&program, runs, 1000);
            let [above, within, below] = [above, within, below].map(|count| count as f64 / 10.0);
            let (truth, mean) = (truth * 100.0, mean * 100.0);
            println!(
                "| {name} | {runs} | {truth:.1} % | {mean:.1} % | {within:.1} % | {above:.1} % | {below:.1} % |"
            );
        }
    }
}

/// Many runs of a program leave little unseen, and the interval says so.
#[test]
fn intervals_shrink_with_the_number_of_runs() {
    let [_, (_, program), _] = programs();
    let mut rng = Rng::new(1);
    let widths = [4, 40, 400].map(|runs| {
        let next_run = estimate(&merged((0..runs).map(|_| program.run(&mut rng)))).next_run;
        next_run.high - next_run.low
    });
    assert!(widths[0] > 0.5 && widths[1] < 0.4 && widths[2] < 0.1, "{widths:?}");
}

/// Chao2 is a lower bound: its mean is below the truth, and most intervals reach the truth if the probabilities are similar.
#[test]
fn the_number_of_unseen_syscalls_is_a_lower_bound() {
    let program = Program((0..60).map(|nr| (0.1, vec![nr])).collect());
    let (mut mean, mut within, mut all) = (0.0, 0, 0);
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let recorded = merged((0..12).map(|_| program.run(&mut rng)));
        let truth = (program.syscalls() - recorded.syscalls().len()) as f64;
        let Some(unseen) = estimate(&recorded).syscalls else { continue };
        all += 1;
        mean += (unseen.value - truth) / 300.0;
        within += u32::from((unseen.low..=unseen.high).contains(&truth));
    }
    assert!(all > 290 && within * 100 >= all * 90, "{within} of {all}");
    assert!(mean.abs() < 3.0, "{mean}");
}

fn of(runs: u64, syscalls: &[(u64, &[u64])], values: &[(u64, &[u64])]) -> Unseen {
    let evidence = |list: &[(u64, &[u64])]| {
        list.iter().map(|(runs, known)| Evidence::of_known(*runs, known)).collect::<Vec<_>>()
    };
    Unseen::estimate(runs, &evidence(syscalls), &evidence(values))
}

#[test]
fn several_new_syscalls_of_one_run_count_once() {
    let three_runs = of(12, &[(12, &[]), (1, &[1]), (1, &[2]), (1, &[3])], &[]);
    let one_run = of(12, &[(12, &[]), (1, &[1]), (1, &[1]), (1, &[1])], &[]);
    assert_eq!((three_runs.once, three_runs.runs_alone, three_runs.next_run.value), (3, 3, 0.25));
    assert_eq!((one_run.once, one_run.runs_alone, one_run.next_run.value), (3, 1, 1.0 / 12.0));
    assert!(one_run.next_run.high < three_runs.next_run.high);
    // Runs of which nothing is known may be different ones, but there are no more than all.
    assert_eq!(of(12, &[(1, &[]), (1, &[1]), (1, &[1])], &[]).runs_alone, 2);
    let unknown: (u64, &[u64]) = (1, &[]);
    assert_eq!(of(2, &[unknown; 5], &[]).runs_alone, 2);
}

#[test]
fn values_of_limited_arguments_count_too() {
    let unseen = of(10, &[(10, &[]), (1, &[1])], &[(1, &[2]), (1, &[1]), (4, &[])]);
    assert_eq!((unseen.once, unseen.values_once, unseen.runs_alone), (1, 2, 2));
}

/// Pairs of runs matter only if neither run did something alone.
#[test]
fn pairs_widen_the_interval() {
    let width = |unseen: Unseen| unseen.next_run.high - unseen.next_run.low;
    let plain = of(10, &[(1, &[1])], &[]);
    assert!(width(of(10, &[(1, &[1]), (2, &[2, 3])], &[])) > width(plain));
    assert_eq!(of(10, &[(1, &[1]), (2, &[1, 3])], &[]).next_run, plain.next_run);
}

/// A draft of the merged recordings knows the values of its limits, without those that any run may have.
#[test]
fn a_draft_estimates_from_its_own_limits() {
    let socket = SyscallId::new(Arch::X86_64, 41);
    let mmap = SyscallId::new(Arch::X86_64, 9);
    let recordings = [1, 1, 1, 2, 10].map(|family| {
        let mut recording = Recording::of(Run { command: vec!["a".into()], ..Run::default() });
        recording.observe(socket, &[family, 1, 0, 0, 0, 0]);
        // Writable memory is usual, executable memory is not.
        recording.observe(mmap, &[0, 0, family & 2, 0, 0, 0]);
        recording
    });
    let options =
        GenerateOptions { complete: false, runtime: Runtime::None, ..GenerateOptions::default() };
    let unseen = Unseen::of(&generate(&recordings, &options).unwrap()).unwrap();
    assert_eq!((unseen.runs, unseen.once, unseen.values_once, unseen.runs_alone), (5, 0, 2, 2));
    let without = GenerateOptions { arguments: LimitedArgs::Off, ..options };
    let unseen = Unseen::of(&generate(&recordings, &without).unwrap()).unwrap();
    assert_eq!((unseen.values_once, unseen.runs_alone), (0, 0));
    assert_eq!(Unseen::of(&generate(&recordings[..1], &without).unwrap()), None);
}

#[test]
fn intervals_are_those_of_tables() {
    for (k, n, low, high) in [
        (0, 10, 0.0, 0.3085),
        (3, 12, 0.0549, 0.5719),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (1, 1000, 0.000_025, 0.005_559),
        (4000, 10_000, 0.3904, 0.4097),
    ] {
        let given = clopper_pearson(k, n);
        let near = |a: f64, b: f64| (a - b).abs() < 6e-5;
        assert!(near(given.0, low) && near(given.1, high), "{k} of {n}: {given:?}");
    }
}

/// Calculated by hand from the formulas of the paper.
#[test]
fn estimates_are_those_of_the_formulas() {
    // A = 0.9: 0.9 · 16 / 4 = 3.6; variance 2 (1.8 + 6.48 + 3.24) = 23.04; ln(1 + 1.7778) = 1.02165.
    let estimate = chao2(10, 50, 4, 2).unwrap();
    let factor = (Z * 1.021_651_247_5_f64.sqrt()).exp();
    assert!((estimate.value - 3.6).abs() < 1e-12);
    assert!((estimate.low - 3.6 / factor).abs() < 1e-6, "{estimate:?}");
    assert!((estimate.high - 3.6 * factor).abs() < 1e-4, "{estimate:?}");
    // Without syscalls of two runs: 0.9 · 3 = 2.7; variance 2.7 + 0.81 (75 − 81 / 52.7) / 4.
    let estimate = chao2(10, 50, 3, 0).unwrap();
    let variance: f64 = 2.7 + 0.81 * (75.0 - 81.0 / 52.7) / 4.0;
    let factor = (Z * (1.0 + variance / 7.29).ln().sqrt()).exp();
    assert!((estimate.value - 2.7).abs() < 1e-12);
    assert!((estimate.high - 2.7 * factor).abs() < 1e-9);
    assert_eq!(chao2(10, 50, 0, 3), None);
    assert_eq!(chao2(10, 50, 1, 0), None);
    assert!(chao2(10, 50, 1, 1).is_some());
}
