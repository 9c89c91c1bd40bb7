//! `cargo lab kernels specification`: compares Spec.v, the specification of the checker that is proved in Coq, with the kernels.
//!
//! The programs and calls are random, as those of `cargo xtask verified --kernel`, which asks the running kernel. `spec-run`
//! evaluates the definition `kernel_run` for each of them.

use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callgate::{Endian, SeccompData, Verdict};
use callgate_core::Program;
use callgate_linux::Marked;
use callgate_testing::random::{Constants, Rng, any_program, samples};

use super::answers::Answers;
use super::boot::{LIMITS, boot};
use super::guests::Guest;
use super::options::Options;
use super::plan::{Line, Plan};
use super::prepare::{Ready, prepare};
use super::run::check;
use super::verdicts::{Questions, Tally};
use callgate_tasks::files::{make, write};
use callgate_tasks::{Result, workspace};

/// The calls per program.
const CALLS: usize = 20;

/// The numbers of syscalls that s390x has: larger ones do not reach filters.
const NUMBERS_OF_S390X: u32 = 0xffff;

/// A program, and the calls that are made under it.
struct Asked {
    program: Program,
    calls: Vec<SeccompData>,
}

/// Runs the subcommand.
pub(super) fn run_task(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let spec_run = workspace().join("verified/build/spec-run");
    if !spec_run.exists() {
        return Err(format!("{} is missing: `verified/check` builds it", spec_run.display()));
    }
    let progress = |text: &str| eprintln!("kernels: {text}");
    let directory = workspace().join("target/kernels");
    make(&directory)?;
    let mut tools = Vec::new();
    let mut differ = 0;
    for (seed, guest) in (1..).zip(options.guests()) {
        let ready = prepare(guest, &directory, options.fetch, &mut tools, &progress)?;
        let programs = options.depth().calls / CALLS;
        let tally = compare(guest, &ready, &spec_run, (programs, seed), &progress)?;
        let Tally { calls, .. } = tally;
        println!(
            "{}: {calls} calls of {} programs, {} with another value than in Spec.v",
            guest.name(),
            tally.programs,
            tally.differ
        );
        tally.examples.iter().for_each(|example| println!("  {example}"));
        differ += tally.differ;
        if calls == 0 {
            return Err(format!("{}: nothing was compared", guest.name()));
        }
    }
    match differ {
        0 => Ok(()),
        _ => Err(format!("{differ} calls have another value than in Spec.v")),
    }
}

/// Compares a guest, without its JIT compiler and with it if it has one.
fn compare(
    guest: &Guest,
    ready: &Ready,
    spec_run: &Path,
    (programs, seed): (usize, u8),
    progress: &dyn Fn(&str),
) -> Result<Tally> {
    let arch = guest.machine.arch;
    let asked = asked(guest, programs, seed)?;
    let verdicts = said(spec_run, &asked, arch.endian(), &ready.directory)?;
    let mut verdicts = verdicts.into_iter();
    let mut all: Vec<Questions> = Vec::new();
    for (at, Asked { program, calls }) in asked.iter().enumerate() {
        let expected: Vec<(SeccompData, Verdict)> =
            calls.iter().copied().zip(verdicts.by_ref()).collect();
        let name = format!("program {at}");
        let marked = Marked::new(program, calls, arch).map_err(|error| error.to_string())?;
        // A value that the interpreter does not predict has no errno, which is an error.
        all.extend(Questions::expecting(name, marked, (arch, true), expected)?);
    }
    let mut plan = Plan::new(arch.endian());
    let mut lines: Vec<(&Questions, Line)> = Vec::new();
    for &jit in guest.modes() {
        plan.jit(jit);
        lines.extend(all.iter().map(|one| (one, one.ask(&mut plan))));
    }
    let path = ready.directory.join(format!("initrd-specification-{}", guest.machine.name));
    write(&path, plan.initrd(&ready.program)?)?;
    progress(&format!("{}: {} programs", guest.name(), all.len()));
    let answers =
        Answers::read(&boot(guest.machine, &ready.kernel.path, &path, LIMITS, progress)?)?;
    check(&answers, guest)?;
    let mut tally = Tally::default();
    for (questions, line) in lines {
        questions.count(line, &answers, &mut tally)?;
    }
    Ok(tally)
}

/// Random programs, with calls that a process of the guest can make.
fn asked(guest: &Guest, programs: usize, seed: u8) -> Result<Vec<Asked>> {
    let arch = guest.machine.arch;
    let mut rng = Rng::new(u64::from(seed));
    let mut all = Vec::with_capacity(programs);
    for program in samples(&any_program(true), seed, programs) {
        // The words that a program loads are those of this machine's byte order. Those of the other one are as good.
        let constants = Constants::of_program(&program);
        let call = |rng: &mut Rng| {
            let call = constants.syscall(rng);
            let is_narrow = guest.machine.name == "s390x";
            let nr = if is_narrow { call.nr & NUMBERS_OF_S390X } else { call.nr };
            SeccompData { nr, arch: arch.token(), instruction_pointer: 0, ..call }
        };
        let calls: Vec<SeccompData> = (0..CALLS).map(|_| call(&mut rng)).collect();
        let marked = Marked::new(&program, &calls, arch).map_err(|error| error.to_string())?;
        let calls: Vec<SeccompData> =
            marked.asked().iter().filter_map(|at| calls.get(*at)).copied().collect();
        if !calls.is_empty() {
            all.push(Asked { program, calls });
        }
    }
    Ok(all)
}

/// What Spec.v says about all calls, in their order.
fn said(
    spec_run: &Path,
    asked: &[Asked],
    endian: Endian,
    directory: &Path,
) -> Result<Vec<Verdict>> {
    let order = match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut questions = String::new();
    for Asked { program, calls } in asked {
        let program = hex(&program.to_bytes(endian));
        for call in calls {
            // Writing to a string cannot fail.
            let _ = writeln!(questions, "run {order} {program} {}", hex(&call.to_bytes(endian)));
        }
    }
    let path: PathBuf = directory.join("questions");
    write(&path, questions.as_bytes())?;
    let failed = |error: std::io::Error| format!("{}: {error}", spec_run.display());
    let input = File::open(&path).map_err(failed)?;
    let output = Command::new(spec_run).stdin(input).stderr(Stdio::inherit()).output();
    let output = output.map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let verdict = |line: &str| {
        let value = line.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        value
            .map(Verdict)
            .ok_or_else(|| format!("spec-run says {line:?} about an accepted program"))
    };
    let verdicts: Vec<Verdict> = text.lines().map(verdict).collect::<Result<_>>()?;
    let expected: usize = asked.iter().map(|one| one.calls.len()).sum();
    match output.status.success() && verdicts.len() == expected {
        true => Ok(verdicts),
        false => Err(format!("spec-run ends with {}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::guests::GUESTS;

    #[test]
    fn calls_can_be_made_by_the_guest() {
        for guest in &GUESTS {
            let all = asked(guest, 50, 1).unwrap();
            let calls: usize = all.iter().map(|one| one.calls.len()).sum();
            assert!(calls > 500, "{}: {calls}", guest.name());
            let is_big = guest.machine.arch.endian() == Endian::Big;
            let numbers = all.iter().flat_map(|one| &one.calls).map(|call| call.nr);
            assert_eq!(numbers.max().unwrap() <= NUMBERS_OF_S390X, is_big, "{}", guest.name());
        }
    }
}
