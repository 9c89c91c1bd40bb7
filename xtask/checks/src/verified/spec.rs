//! Questions to the specification in Coq, and a comparison with Callgate's reference interpreter, acceptance rules and policies.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use callgate_core::policy::Policy;
use callgate_core::{Endian, Program, SeccompData};
use callgate_formats::policy_text;
use callgate_tasks::Result;
use callgate_testing::random::{Constants, Rng, any_program, policies, samples};

/// Calls per program and per policy.
const CALLS: usize = 5;

/// Questions, and the answers that are expected.
#[derive(Default)]
pub(super) struct Questions {
    text: String,
    expected: Vec<String>,
}

impl Questions {
    /// The value that a program returns; `None` if it is not accepted.
    pub(super) fn run(
        &mut self,
        program: &[u8],
        endian: Endian,
        call: &SeccompData,
        value: Option<u32>,
    ) {
        let (program, call) = (hex(program), hex(&call.to_bytes(endian)));
        let _ = writeln!(self.text, "run {} {program} {call}", order(endian));
        self.expected.push(value.map_or("none".to_owned(), |value| format!("{value:#x}")));
    }

    fn run_like_the_interpreter(&mut self, bytes: &[u8], calls: &Constants, rng: &mut Rng) {
        for _ in 0..CALLS {
            let endian =
                *rng.pick(&[Endian::Little, Endian::Big]).as_ref().unwrap_or(&Endian::Little);
            let call = calls.syscall(rng);
            let program = Program::from_bytes(bytes, endian).ok();
            let value = program.map(|program| program.run(&call, endian).verdict.0);
            self.run(bytes, endian, &call, value);
        }
    }

    fn says(&mut self, policy: &Policy, rng: &mut Rng) -> Result<()> {
        let text = policy_text::write(std::slice::from_ref(policy), false, &[]);
        let text = hex(text.map_err(|error| error.to_string())?.as_bytes());
        let constants = Constants::of_policy(policy);
        for _ in 0..CALLS {
            let call = constants.syscall(rng);
            let bytes = hex(&call.to_bytes(policy.endian()));
            let _ = writeln!(self.text, "says {text} {bytes}");
            self.expected.push(format!("{:#x}", policy.evaluate(&call).0));
        }
        Ok(())
    }

    /// Compares the answers with those that are expected, which are `whose`. Returns how many there are, and how many of them
    /// are about programs that are not accepted.
    pub(super) fn compare(&self, spec_run: &Path, whose: &str) -> Result<(usize, usize)> {
        let answers = ask(spec_run, &self.text)?;
        let answers: Vec<&str> = answers.lines().collect();
        if answers.len() != self.expected.len() {
            return Err(format!("{} answers to {} questions", answers.len(), self.expected.len()));
        }
        for ((question, answer), expected) in self.text.lines().zip(&answers).zip(&self.expected) {
            if answer != expected {
                return Err(format!("Spec.v says {answer}, {whose} {expected}: {question}"));
            }
        }
        Ok((answers.len(), answers.iter().filter(|answer| **answer == "none").count()))
    }
}

/// Changes a byte of a program. The kernel does not accept most results.
pub(super) fn change(bytes: &mut [u8], rng: &mut Rng) {
    let at = rng.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte = match rng.below(2) {
            0 => rng.below(256) as u8,
            _ => *byte ^ 1 << rng.below(8),
        };
    }
}

/// Compares `count` random programs, changed programs and policies with the interpreter and the policies; returns the numbers of
/// [`Questions::compare`].
pub(super) fn compare(spec_run: &Path, count: usize, seed: u8) -> Result<(usize, usize)> {
    let mut rng = Rng::new(u64::from(seed));
    let mut questions = Questions::default();
    for program in samples(&any_program(true), seed, count) {
        let constants = Constants::of_program(&program);
        let endian = *rng.pick(&[Endian::Little, Endian::Big]).as_ref().unwrap_or(&Endian::Little);
        let mut bytes = program.to_bytes(endian);
        questions.run_like_the_interpreter(&bytes, &constants, &mut rng);
        change(&mut bytes, &mut rng);
        questions.run_like_the_interpreter(&bytes, &constants, &mut rng);
        bytes.truncate(bytes.len() - 1 - rng.below(16).min(bytes.len() - 1));
        questions.run_like_the_interpreter(&bytes, &constants, &mut rng);
    }
    for policy in samples(&policies(8), seed, count) {
        questions.says(&policy, &mut rng)?;
    }
    questions.compare(spec_run, "callgate")
}

/// The answers; the questions are a file, so that neither process waits for the other.
fn ask(spec_run: &Path, questions: &str) -> Result<String> {
    let path = std::env::temp_dir().join(format!("callgate-questions-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("{}: {error}", spec_run.display());
    std::fs::write(&path, questions).map_err(failed)?;
    let input = File::open(&path).map_err(failed)?;
    let output = Command::new(spec_run).stdin(input).stderr(Stdio::inherit()).output();
    // What is left is in the directory for temporary files.
    let _ = std::fs::remove_file(&path);
    let output = output.map_err(failed)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{} ends with {}", spec_run.display(), output.status)),
    }
}

const fn order(endian: Endian) -> &'static str {
    match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    }
}

/// Bytes as `spec-run` reads them.
pub(super) fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
