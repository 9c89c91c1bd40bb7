//! Runs the sequences, and reports differences.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use callgate_profile_fuzz::bpf::{Insn, run as run_program};
use callgate_profile_fuzz::machine::Machine;
use callgate_profile_fuzz::rng::Rng;
use callgate_profile_fuzz::runtime::Call;

use callgate_experiments::libseccomp::{Context, Library};

use super::comparisons;
use super::model::{Expected, Model};
use super::sequence::{Rule, Sequence, Step, call, sequence};
use super::texts::{self, Compared};
use callgate_tasks::Result;
use callgate_tasks::c_library::build_shared;

pub(crate) const HELP: &str = "\
usage: cargo lab libseccomp-rules [--sets N] [--seed N] [--only SET] [--library PATH] [--texts]

Gives N random sequences of functions (default 100000) to a libseccomp.so.2, and compares the results and
the verdicts of the exported programs with an evaluator that shares no code with callgate. The library
is ours, built as `cargo xtask install` builds it, unless --library names another one. The exit status is 1
if a result differs.

--only SET gives it one of these sequences, and prints the result of each function.

--texts compares something else: our reading of the pseudo filter code that the library exports
with the exported program, as functions. A program that contradicts the rules, as some of the
original library do, is counted, but is not a difference if the text agrees with them.
";

/// How many syscalls are tried per sequence.
const CALLS: usize = 24;
/// The time between messages about progress.
const PROGRESS: Duration = Duration::from_secs(10);
/// How many differences are printed.
const PRINTED: usize = 50;

#[derive(Default)]
struct Tally {
    rules: u64,
    refused: u64,
    undecided: u64,
    calls: u64,
    insns: u64,
    corrupt: u64,
    /// Texts that were compared with programs; those programs that contradict the rules; those that were not decided.
    texts: u64,
    erring: u64,
    unknown: u64,
    differences: Vec<String>,
    /// Whether the result of each function is printed.
    prints: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut sets, mut seed, mut only) = (100_000_u64, 1_u64, None);
    let mut library = None;
    let mut is_about_texts = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--texts" {
            is_about_texts = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} lacks a value\n\n{HELP}"))?;
        let number = value.parse();
        match (word.as_str(), number) {
            ("--sets", Ok(number)) => sets = number,
            ("--seed", Ok(number)) => seed = number,
            ("--only", Ok(number)) => only = Some(number),
            ("--library", _) => library = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown option, or not a number: {word} {value}\n\n{HELP}")),
        }
    }
    let library = library.map_or_else(build_shared, Ok)?;
    let api = Library::load(&library)?;
    let mut tally = Tally { prints: only.is_some(), ..Tally::default() };
    let chosen = only.map_or(0..sets, |set| set..set + 1);
    let start = Instant::now();
    let mut shown = start;
    for set in chosen {
        if shown.elapsed() > PROGRESS {
            shown = Instant::now();
            eprintln!(
                "libseccomp-rules: {set} of {sets} sequences, {} s, {} differences",
                start.elapsed().as_secs(),
                tally.differences.len()
            );
        }
        let mut rng = Rng::new(seed.wrapping_mul(1 << 40).wrapping_add(set));
        let sequence = sequence(&mut rng);
        let checked = match is_about_texts {
            true => check_text(&api, &sequence, &mut tally),
            false => check(&api, &sequence, &mut rng, &mut tally),
        };
        if let Err(difference) = checked {
            tally.differences.push(format!("set {set}: {difference}"));
            if tally.prints {
                println!("{sequence:x?}");
            }
        }
    }
    println!(
        "{sets} sequences, seed {seed}: {} rules, {} refused, {} undecided by the evaluator, {} syscalls, {} \
         instructions; {} sequences that the original library does not survive",
        tally.rules, tally.refused, tally.undecided, tally.calls, tally.insns, tally.corrupt
    );
    if is_about_texts {
        println!(
            "{} texts beside their programs; {} programs contradict the rules, which the text does not; {} undecided",
            tally.texts, tally.erring, tally.unknown
        );
    }
    for difference in tally.differences.iter().take(PRINTED) {
        println!("{difference}");
    }
    match tally.differences.len() {
        0 => Ok(()),
        differences => Err(format!("{differences} sequences differ; see them with --only SET")),
    }
}

fn check(api: &Library, sequence: &Sequence, rng: &mut Rng, tally: &mut Tally) -> Result<()> {
    let (context, model) = executed(api, sequence, tally, true)?;
    tally.corrupt += u64::from(model.is_corrupt);
    let Some(machine) = model.machine() else { return Ok(()) };
    let program = insns(&context.program()?, machine);
    tally.insns += program.len() as u64;
    for _ in 0..CALLS {
        let (token, nr, args) = call(sequence, rng);
        let data = Call { token, nr, ip: rng.next(), args };
        let verdict = run_program(&program, &data, machine)?;
        let expected = model.verdicts(token, nr, &args);
        tally.calls += 1;
        if !expected.contains(&verdict) {
            return Err(format!("{verdict:#x} instead of {expected:x?} for {data:x?}"));
        }
    }
    Ok(())
}

/// Compares the text of a context with its program.
fn check_text(api: &Library, sequence: &Sequence, tally: &mut Tally) -> Result<()> {
    let (context, model) = executed(api, sequence, tally, false)?;
    if model.is_corrupt {
        tally.corrupt += 1;
        return Ok(());
    }
    let Some(machine) = model.machine() else { return Ok(()) };
    tally.texts += 1;
    match texts::compare(&context.text()?, &context.program()?, machine, &model)? {
        Compared::Same => {}
        Compared::ProgramErrs => tally.erring += 1,
        Compared::Undecided => tally.unknown += 1,
    }
    Ok(())
}

/// The context after all functions of a sequence. With `is_strict`, each must return what the model says; else the model follows.
fn executed<'a>(
    api: &'a Library,
    sequence: &Sequence,
    tally: &mut Tally,
    is_strict: bool,
) -> Result<(Context<'a>, Model)> {
    let mut model = Model::new(sequence);
    let context = empty(api, sequence)?;
    for (index, step) in sequence.steps.iter().enumerate() {
        let same = |given: i32, expected: i32| {
            if given == expected {
                Ok(())
            } else {
                Err(format!("step {index} returned {given} instead of {expected}"))
            }
        };
        match step {
            // Versions before 2.6 have no transactions.
            Step::Start | Step::Reject | Step::Commit if !is_strict => {}
            Step::AddArch(machine) => {
                same(context.add_arch(machine.name()), model.add_arch(*machine))?;
            }
            Step::RemoveArch(machine) => {
                same(context.remove_arch(machine.name()), model.remove_arch(*machine))?;
            }
            Step::Rule(rule) => {
                let added = add(&context, &mut model, rule, tally);
                if is_strict {
                    added.map_err(|why| format!("step {index}: {why}"))?;
                }
            }
            Step::Priority(name, priority) => {
                same(context.prioritize(name, *priority), model.prioritize())?;
            }
            Step::Optimize(value) => {
                same(context.set_attribute(8, *value), model.optimize(*value))?
            }
            Step::Start => same(context.start(), model.start())?,
            Step::Reject => {
                context.reject();
                model.reject();
            }
            Step::Commit => same(context.commit(), model.commit())?,
            Step::Merge(machine, rules) => {
                let (other, mut theirs) = (empty(api, sequence)?, Model::new(sequence));
                same(other.add_arch(machine.name()), theirs.add_arch(*machine))?;
                for rule in rules {
                    let added = add(&other, &mut theirs, rule, tally);
                    if is_strict {
                        added?;
                    }
                }
                same(context.merge(other), model.merge(&theirs))?;
            }
        }
    }
    Ok((context, model))
}

/// A context without architecture.
fn empty<'a>(api: &'a Library, sequence: &Sequence) -> Result<Context<'a>> {
    let context = api.context(sequence.default)?;
    if context.set_attribute(2, sequence.bad_arch) != 0 {
        return Err(format!("the action {:#x} is not supported", sequence.bad_arch));
    }
    let native = Machine::from_name(std::env::consts::ARCH).ok_or("unknown native architecture")?;
    if context.remove_arch(native.name()) != 0 {
        return Err("the native architecture cannot be removed".to_owned());
    }
    Ok(context)
}

fn add(context: &Context<'_>, model: &mut Model, rule: &Rule, tally: &mut Tally) -> Result<()> {
    let (expected, changed) = model.expect(rule);
    let given = comparisons::add(context, rule);
    let is_expected = match expected {
        Expected::Is(result) => given == result,
        Expected::MayBe(result) => given == result || given == 0,
    };
    if !is_expected {
        if given == 0 {
            *model = changed;
        }
        return Err(format!("a rule returned {given} instead of {expected:?}: {rule:x?}"));
    }
    if tally.prints {
        println!("{given} {expected:?}: {rule:x?}");
    }
    tally.rules += 1;
    tally.refused += u64::from(given != 0);
    tally.undecided += u64::from(matches!(expected, Expected::MayBe(_)));
    if given == 0 {
        *model = changed;
    }
    Ok(())
}

fn insns(bytes: &[u8], machine: Machine) -> Vec<Insn> {
    let insn = |bytes: &[u8; 8]| {
        let [c, d, jt, jf, k @ ..] = *bytes;
        let (code, k) = if machine.is_big_endian() {
            (u16::from_be_bytes([c, d]), u32::from_be_bytes(k))
        } else {
            (u16::from_le_bytes([c, d]), u32::from_le_bytes(k))
        };
        Insn { code, jt, jf, k }
    };
    bytes.as_chunks::<8>().0.iter().map(insn).collect()
}
