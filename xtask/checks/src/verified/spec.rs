//! Compares the specification in Coq with Callgate's reference interpreter, acceptance rules and policies.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use callgate_core::policy::Policy;
use callgate_core::{Endian, Program};
use callgate_formats::policy_text;
use callgate_tasks::Result;
use callgate_testing::random::{Constants, Rng, any_program, policies, samples};

/// Calls per program and per policy.
const CALLS: usize = 5;

/// Questions, and the answers that are expected.
#[derive(Default)]
struct Questions {
    text: String,
    expected: Vec<String>,
}

impl Questions {
    fn run(&mut self, bytes: &[u8], calls: &Constants, rng: &mut Rng) {
        for _ in 0..CALLS {
            let endian =
                *rng.pick(&[Endian::Little, Endian::Big]).as_ref().unwrap_or(&Endian::Little);
            let call = calls.syscall(rng);
            let value = Program::from_bytes(bytes, endian).ok();
            let value = value.map(|program| program.run(&call, endian).verdict.0);
            let (program, call) = (hex(bytes), hex(&call.to_bytes(endian)));
            let _ = writeln!(self.text, "run {} {program} {call}", order(endian));
            self.expected.push(value.map_or("none".to_owned(), |value| format!("{value:#x}")));
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
}

/// Compares `count` random programs, changed programs and policies; returns the number of calls.
pub(super) fn compare(spec_run: &Path, count: usize, seed: u8) -> Result<(usize, usize)> {
    let mut rng = Rng::new(u64::from(seed));
    let mut questions = Questions::default();
    for program in samples(&any_program(true), seed, count) {
        let constants = Constants::of_program(&program);
        let endian = *rng.pick(&[Endian::Little, Endian::Big]).as_ref().unwrap_or(&Endian::Little);
        let mut bytes = program.to_bytes(endian);
        questions.run(&bytes, &constants, &mut rng);
        // The kernel does not accept most of these.
        let at = rng.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = match rng.below(2) {
                0 => rng.below(256) as u8,
                _ => *byte ^ 1 << rng.below(8),
            };
        }
        questions.run(&bytes, &constants, &mut rng);
        bytes.truncate(bytes.len() - 1 - rng.below(16).min(bytes.len() - 1));
        questions.run(&bytes, &constants, &mut rng);
    }
    for policy in samples(&policies(8), seed, count) {
        questions.says(&policy, &mut rng)?;
    }
    let answers = ask(spec_run, &questions.text)?;
    let answers: Vec<&str> = answers.lines().collect();
    if answers.len() != questions.expected.len() {
        return Err(format!("{} answers to {} questions", answers.len(), questions.expected.len()));
    }
    for ((question, answer), expected) in
        questions.text.lines().zip(&answers).zip(&questions.expected)
    {
        if answer != expected {
            return Err(format!("Spec.v says {answer}, callgate {expected}: {question}"));
        }
    }
    let refused = answers.iter().filter(|answer| **answer == "none").count();
    Ok((answers.len(), refused))
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

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
