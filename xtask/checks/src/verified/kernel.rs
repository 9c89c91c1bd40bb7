//! Compares the specification in Coq with the running kernel: which programs it accepts, and what they return.
//!
//! - Values: a child process makes random calls under random programs ([`probe`]). Calls for which a program reads the
//!   instruction pointer or divides by zero cannot be made in this way.
//! - Acceptance: another process installs filters until the kernel permits no more instructions (`MAX_INSNS_PER_PATH` in
//!   `kernel/seccomp.c`). From then on, the kernel refuses a program with `EINVAL` if its instructions are not accepted, and
//!   with `ENOMEM` otherwise, without installing it.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use callgate_core::{Arch, Endian, Insn, MAX_INSNS, Op, Program, SeccompData, Verdict};
use callgate_linux::{FilterFlags, ProbeAnswer, install_unproved, probe};
use callgate_tasks::Result;
use callgate_testing::random::{Constants, Rng, any_program, samples};

use super::spec::{Questions, change, hex};

/// The word with which this program starts itself to ask about acceptance.
pub(super) const ACCEPTS: &str = "--which-are-accepted";

/// Calls per program.
const CALLS: usize = 4;
/// Programs whose questions are asked together.
const BATCH: usize = 2000;

/// What was compared.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Calls with the same value.
    pub(super) calls: usize,
    /// Programs that both accept, and those that both refuse.
    pub(super) accepted: usize,
    pub(super) refused: usize,
}

/// Compares `count` random programs, and twice as many changed ones.
pub(super) fn compare(spec_run: &Path, count: usize, seed: u8) -> Result<Compared> {
    let arch = Arch::native().ok_or("the architecture of this machine is unknown")?;
    let mut rng = Rng::new(u64::from(seed));
    let mut compared = Compared::default();
    let programs = samples(&any_program(true), seed, count);
    for batch in programs.chunks(BATCH) {
        let mut questions = Questions::default();
        let mut bytes = Vec::new();
        for program in batch {
            values(program, arch, &mut rng, &mut questions)?;
            let own = program.to_bytes(Endian::NATIVE);
            let mut changed = own.clone();
            change(&mut changed, &mut rng);
            let mut cut = changed.clone();
            cut.truncate(8 * rng.below(cut.len() / 8));
            bytes.extend([own, changed, cut]);
        }
        compared.calls += questions.compare(spec_run, "the kernel")?.0;
        let mut questions = Questions::default();
        for (program, is_accepted) in bytes.iter().zip(accepted(&bytes)?) {
            let call = SeccompData::default();
            // The value is not compared here: it is that of the interpreter, with which it is compared elsewhere.
            let value = Program::from_bytes(program, Endian::NATIVE).ok();
            let value = value.map(|program| program.run(&call, Endian::NATIVE).verdict.0);
            if value.is_some() != is_accepted {
                let what = if is_accepted { "accepts" } else { "refuses" };
                return Err(format!("the kernel {what} this, callgate does not: {}", hex(program)));
            }
            questions.run(program, Endian::NATIVE, &call, value);
        }
        let (all, refused) = questions.compare(spec_run, "the kernel and callgate")?;
        compared.accepted += all - refused;
        compared.refused += refused;
    }
    Ok(compared)
}

/// Asks the kernel for values of a program.
fn values(program: &Program, arch: Arch, rng: &mut Rng, questions: &mut Questions) -> Result<()> {
    let constants = Constants::of_program(program);
    let call = |rng: &mut Rng| SeccompData {
        arch: arch.token(),
        instruction_pointer: 0,
        ..constants.syscall(rng)
    };
    let calls: Vec<SeccompData> = (0..CALLS).map(|_| call(rng)).collect();
    let answers = probe(program, &calls).map_err(|error| error.to_string())?;
    let bytes = program.to_bytes(Endian::NATIVE);
    for (call, answer) in calls.iter().zip(answers) {
        match answer {
            ProbeAnswer::Verdict(value) => {
                questions.run(&bytes, Endian::NATIVE, call, Some(value.0));
            }
            ProbeAnswer::Unexpected => {
                return Err(format!(
                    "the kernel returns a value that the program does not have: {call:x?}, {}",
                    hex(&bytes)
                ));
            }
            ProbeAnswer::NotAsked => {}
        }
    }
    Ok(())
}

/// Which of these programs the kernel accepts, by a process that [`answer`]s.
fn accepted(programs: &[Vec<u8>]) -> Result<Vec<bool>> {
    let failed = |error: io::Error| format!("asking the kernel which programs it accepts: {error}");
    let myself = std::env::current_exe().map_err(failed)?;
    let path = std::env::temp_dir().join(format!("callgate-programs-{}", std::process::id()));
    let lines: String = programs.iter().map(|program| hex(program) + "\n").collect();
    std::fs::write(&path, lines).map_err(failed)?;
    let input = std::fs::File::open(&path).map_err(failed)?;
    let mut command = Command::new(myself);
    command.args(["verified", ACCEPTS]).stdin(input).stderr(Stdio::inherit());
    let output = command.output();
    // What is left is in the directory for temporary files.
    let _ = std::fs::remove_file(&path);
    let output = output.map_err(failed)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<bool> = printed.lines().map(|line| line == "yes").collect();
    match output.status.success() && answers.len() == programs.len() {
        true => Ok(answers),
        false => Err(format!("the process that asks the kernel ends with {}", output.status)),
    }
}

/// Answers about the programs of standard input, a line each, with `yes` or `no`.
pub(super) fn answer() -> Result<()> {
    fill()?;
    let allow = [Insn::new(Op::RetK, Verdict::ALLOW.0)];
    let accepted =
        is_accepted(&Program::new(allow.to_vec()).map_err(text)?.to_bytes(Endian::NATIVE))?;
    if !accepted || is_accepted(&[0xff; 8])? {
        return Err("the kernel does not tell programs apart".to_owned());
    }
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(text)?;
        let program = unhex(&line).ok_or_else(|| format!("not a program: {line}"))?;
        let word = if is_accepted(&program)? { "yes" } else { "no" };
        writeln!(output, "{word}").map_err(text)?;
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Installs filters that allow everything, until the kernel permits no instruction more.
fn fill() -> Result<()> {
    let mut length = MAX_INSNS;
    let mut installed = 0;
    loop {
        let allow = Insn::new(Op::RetK, Verdict::ALLOW.0);
        let program = Program::new(vec![allow; length]).map_err(text)?;
        match install_unproved(&program, FilterFlags::NONE) {
            Ok(_) => installed += 1,
            Err(error) if installed == 0 => return Err(error.to_string()),
            Err(_) if length == 1 => return Ok(()),
            Err(_) => length /= 2,
        }
    }
}

/// Whether the kernel accepts a program, where it would not install it anyway.
fn is_accepted(program: &[u8]) -> Result<bool> {
    let insns: Vec<libc::sock_filter> = program
        .chunks_exact(8)
        .map(|insn| {
            let word = |at: usize| insn.get(at).copied().unwrap_or(0);
            libc::sock_filter {
                code: u16::from_ne_bytes([word(0), word(1)]),
                jt: word(2),
                jf: word(3),
                k: u32::from_ne_bytes([word(4), word(5), word(6), word(7)]),
            }
        })
        .collect();
    let len = u16::try_from(insns.len()).map_err(text)?;
    let described = libc::sock_fprog { len, filter: insns.as_ptr().cast_mut() };
    // SAFETY: the kernel reads the instructions during the call, and does not change them. If it installs the filter against
    // expectation, this process ends.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const described)
    };
    let error = io::Error::last_os_error();
    match (result, error.raw_os_error()) {
        (-1, Some(libc::EINVAL)) => Ok(false),
        (-1, Some(libc::ENOMEM)) => Ok(true),
        (-1, _) => Err(format!("seccomp(2): {error}")),
        _ => std::process::abort(),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if text == "-" {
        return Some(Vec::new());
    }
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(byte).collect()
}
