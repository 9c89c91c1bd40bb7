//! Compiles policies with every plan, changes the programs, and compares the answers with those of the proof by diagrams.

use std::path::PathBuf;
use std::time::Duration;

use callgate::compile::{Options, compile};
use callgate_core::diagram::Budget;
use callgate_core::policy::Policy;
use callgate_core::{Endian, Meaning, Program};
use callgate_formats::policy_text;
use callgate_tasks::{Result, workspace};
use callgate_testing::random::{Rng, policies_of_masks, samples};

use super::checker::{Answer, Checker, Slowest, listing};
use super::kernel;
use super::spec::compare;
use crate::proofs::{built_in, changed, plans, random};

pub(crate) const HELP: &str = "\
usage: cargo xtask verified [--policies N] [--masks N] [--mutants N] [--spec N] [--kernel N]
                            [--seed N] [--checker FILE]

Compiles the built-in profiles and random policies with every aim and cost model, and
gives each program with the policy text to the checker that is proved in Coq
(`verified/check` builds it). It must accept all of them, and all changed programs that
are proved by diagrams to compute the same; it must refuse those that do not, with a
call. Fails if it accepts one of these, does not decide about more than 1 of 1,000, or
needs more than 5 seconds of processor time for an answer.
Before that, compares the specification with the reference interpreter, the acceptance
rules and the meaning of policies in callgate-core.

  --policies N    the number of random policies of each kind (default 150)
  --masks N       random policies of up to 40 rules about bits of up to 4 arguments (default 4)
  --mutants N     changed programs of each program (default 1)
  --spec N        random programs, and as many policies, for the specification (default
                  1000)
  --kernel N      random programs with which the specification is compared with the running
                  kernel: which of them, and of twice as many changed ones, it accepts, and
                  what they return for 4 calls each (default 0)
  --seed N        the seed, 0 to 255 (default 1)
  --checker FILE  the checker (default verified/build/callgate-check)
";

/// The checker must decide all programs but one in this many.
const ONE_UNDECIDED: usize = 1000;

/// The longest time of an answer, in processor time.
const MAX_TIME: Duration = Duration::from_secs(5);

struct Arguments {
    policies: usize,
    masks: usize,
    mutants: usize,
    spec: usize,
    kernel: usize,
    seed: u8,
    checker: PathBuf,
}

/// What the checker said.
#[derive(Debug, Default)]
struct Count {
    policies: usize,
    accepted: usize,
    /// Changed programs that compute the same.
    equal: usize,
    /// Changed programs that compute something else: all are refused.
    refused: usize,
    undecided: usize,
    /// Changed programs about which the diagrams do not decide.
    unknown: usize,
    /// Policies that have no text.
    unwritable: usize,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments == [kernel::ACCEPTS] {
        return kernel::answer();
    }
    let Arguments { policies, masks, mutants, spec, kernel, seed, checker } = parse(arguments)?;
    let spec_run = checker.with_file_name("spec-run");
    let (calls, refused) = compare(&spec_run, spec, seed)?;
    println!(
        "{calls:>7} calls with the same value in Spec.v, {refused} of them of programs that are not accepted"
    );
    if kernel > 0 {
        let kernel::Compared { calls, accepted, refused } =
            kernel::compare(&spec_run, kernel, seed)?;
        println!("{calls:>7} calls with the same value in Spec.v and the running kernel");
        println!("{accepted:>7} programs that both accept, {refused} that both refuse");
    }
    let mut checker = Checker::new(&checker)?;
    let built_in = built_in()?;
    let mut random = random(seed, policies);
    random.extend(samples(&policies_of_masks(), seed, masks));
    let mut rng = Rng::new(u64::from(seed));
    let mut count = Count::default();
    for policy in built_in.iter().chain(&random) {
        check(policy, mutants, &mut rng, &mut checker, &mut count)?;
    }
    println!("{} built-in and {} random policies, seed {seed}", built_in.len(), random.len());
    println!("{:>7} programs accepted", count.accepted);
    println!("{:>7} changed programs that compute the same accepted", count.equal);
    println!(
        "{:>7} changed programs that compute something else refused, with a call",
        count.refused
    );
    println!("{:>7} programs not decided", count.undecided);
    println!("{:>7} changed programs left out, which exceed the budget of diagrams", count.unknown);
    println!("{:>7} policies left out, which have no text", count.unwritable);
    let mean = checker.total / checker.calls.max(1);
    println!(
        "{:>7.1} ms for the mean program, {:.1} ms at most",
        ms(mean),
        ms(checker.slowest.time)
    );
    if count.accepted == 0 || (count.refused == 0 && mutants > 0) {
        return Err("nothing was compared".to_owned());
    }
    if checker.slowest.time > MAX_TIME {
        let Slowest { time, text, listing } = &checker.slowest;
        return Err(format!("an answer took {:.1} s: {text}\n{listing}", time.as_secs_f64()));
    }
    if count.undecided * ONE_UNDECIDED > count.accepted + count.equal + count.refused {
        return Err(format!("more than 1 of {ONE_UNDECIDED} programs were not decided"));
    }
    Ok(())
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn parse(arguments: &[String]) -> Result<Arguments> {
    let mut read = Arguments {
        policies: 150,
        masks: 4,
        mutants: 1,
        spec: 1000,
        kernel: 0,
        seed: 1,
        checker: workspace().join("verified/build/callgate-check"),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
        let wrong = |_| format!("{word} takes a number, not {value:?}");
        match word.as_str() {
            "--policies" => read.policies = value.parse().map_err(wrong)?,
            "--masks" => read.masks = value.parse().map_err(wrong)?,
            "--mutants" => read.mutants = value.parse().map_err(wrong)?,
            "--spec" => read.spec = value.parse().map_err(wrong)?,
            "--kernel" => read.kernel = value.parse().map_err(wrong)?,
            "--seed" => read.seed = value.parse().map_err(wrong)?,
            "--checker" => read.checker = PathBuf::from(value),
            _ => return Err(format!("unknown option {word:?}; try --help")),
        }
    }
    Ok(read)
}

fn check(
    policy: &Policy,
    mutants: usize,
    rng: &mut Rng,
    checker: &mut Checker,
    count: &mut Count,
) -> Result<()> {
    let Ok(text) = policy_text::write(std::slice::from_ref(policy), false, &[]) else {
        count.unwritable += 1;
        return Ok(());
    };
    count.policies += 1;
    let mut meaning = Meaning::of_policy(policy, Budget::default()).ok();
    let mut seen: Vec<Program> = Vec::new();
    for (aim, model) in plans() {
        let options = Options { aim, model, expected_insns: false, ..Options::default() };
        // A policy may need more instructions or nodes than there may be; then there is no program to check.
        let Ok(compiled) = compile(policy, &options) else { continue };
        let program = compiled.program.into_program();
        if seen.contains(&program) {
            continue;
        }
        let endian = policy.endian();
        match one(checker, &text, &program, endian)? {
            (Answer::Accepted, _) => count.accepted += 1,
            (Answer::Refused, printed) => {
                return Err(format!("a proved program is refused: {printed}\n{text}"));
            }
            (Answer::Undecided, printed) => {
                println!("not decided: {printed}{text}{}", listing(program.insns()));
                count.undecided += 1;
            }
        }
        for _ in 0..mutants {
            let Some(changed) = changed(&program, rng) else { continue };
            let proved = meaning.as_mut().map(|meaning| meaning.prove(&changed));
            let is_same = match proved {
                Some(Ok(_)) => true,
                Some(Err(refused)) if refused.witness().is_some() => false,
                _ => {
                    count.unknown += 1;
                    continue;
                }
            };
            match (one(checker, &text, &changed, endian)?, is_same) {
                ((Answer::Accepted, _), true) => count.equal += 1,
                ((Answer::Refused, _), false) => count.refused += 1,
                ((Answer::Undecided, printed), _) => {
                    println!("not decided: {printed}{text}{}", listing(changed.insns()));
                    count.undecided += 1;
                }
                ((answer, printed), _) => {
                    return Err(format!(
                        "{answer:?}, but the proof by diagrams says the opposite: {printed}\n{text}\n{:?}",
                        changed.insns()
                    ));
                }
            }
        }
        seen.push(program);
    }
    Ok(())
}

fn one(
    checker: &mut Checker,
    text: &str,
    program: &Program,
    endian: Endian,
) -> Result<(Answer, String)> {
    checker.check(text, program.insns(), endian)
}
