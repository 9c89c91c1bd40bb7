//! Gives the exported filters of the suite to the checker that is proved in Coq, with the rules of their programs.
//!
//! The rules are those that the package `callgate-texts` exports as a policy text: each program is linked a second time, with
//! that library, which has the functions of `callgate-seccomp`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use callgate_tasks::files::{make, write};
use callgate_tasks::{Result, workspace};

use super::batch::{Batch, Test};
use super::compile::Compiler;
use super::kind::Kind;
use super::library::SONAME;
use super::parallel;
use super::process::{End, LIMIT, run};
use super::suite::Suite;
use crate::table::count;

/// What the programs of the suite call in place of `seccomp_export_bpf`.
const EXPORTS_TEXT: &str = "-Dseccomp_export_bpf=callgate_export_policy";

/// The directory of the library and the programs, in the work directory.
const TEXTS: &str = "texts";

/// What the checker says about a filter.
enum Answer {
    Accepted(Duration),
    Refused(String),
    Undecided(String),
}

/// Checks the filters of all programs that export one, and prints how many are accepted.
///
/// # Errors
/// If one is not.
pub(super) fn verify(suite: &Suite, compiler: &Compiler, batches: &[Batch]) -> Result<()> {
    let checker = workspace().join("verified/build/callgate-check");
    if !checker.exists() {
        return Err(format!("{} is missing: `verified/check` builds it", checker.display()));
    }
    let texts = compiler.work.join(TEXTS);
    make(&texts)?;
    let library = build()?;
    fs::copy(&library, texts.join(SONAME))
        .map_err(|error| format!("{}: {error}", library.display()))?;
    let names: Vec<&str> =
        batches.iter().filter(|batch| exports(batch)).map(|batch| batch.name.as_str()).collect();
    let answers = parallel::map(&names, |name| {
        let text = text(suite, compiler, name)?;
        let filter = &suite.programs.filter(name)?.path;
        let start = Instant::now();
        let ended = run(Command::new(&checker).arg(text).arg(filter), LIMIT)?;
        Ok(match ended.end {
            End::Status(0) => Answer::Accepted(start.elapsed()),
            End::Status(1) => Answer::Refused(String::from_utf8_lossy(&ended.output).into_owned()),
            _ => Answer::Undecided(ended.describe()),
        })
    });
    let (mut accepted, mut refused, mut undecided) = (0, 0, 0);
    let mut longest = Duration::ZERO;
    for (name, answer) in names.iter().zip(answers) {
        match answer.unwrap_or_else(Answer::Undecided) {
            Answer::Accepted(time) => {
                accepted += 1;
                longest = longest.max(time);
            }
            Answer::Refused(why) => {
                refused += 1;
                println!("refused: {name}: {}", why.trim_end());
            }
            Answer::Undecided(why) => {
                undecided += 1;
                println!("not decided: {name}: {why}");
            }
        }
    }
    println!(
        "{} filters given to callgate-check: {} accepted, {} refused, {} not decided; {} ms at most",
        count(names.len()),
        count(accepted),
        count(refused),
        count(undecided),
        longest.as_millis()
    );
    match accepted == names.len() && accepted > 0 {
        true => Ok(()),
        false => Err("callgate-check does not accept all filters".to_owned()),
    }
}

/// Whether the program of a table exports a filter.
fn exports(batch: &Batch) -> bool {
    batch.lines.iter().any(|line| match line.test {
        Test::Simulation(_) | Test::Fuzz(_) => true,
        Test::Program => line.kind == Kind::Valgrind,
        Test::Live { .. } => false,
    })
}

/// The file with the rules of a program as a policy text.
fn text(suite: &Suite, compiler: &Compiler, name: &str) -> Result<PathBuf> {
    let (output, source) = (format!("{TEXTS}/{name}"), format!("tests/{name}.c"));
    let library = compiler.work.join(TEXTS);
    compiler.linked(&output, &[&source, "tests/util.c"], &library, &[EXPORTS_TEXT])?;
    let mut command = Command::new(compiler.work.join(&output));
    let text = run(command.current_dir(suite.programs.directory()).arg("-b"), LIMIT)?.success()?;
    let path = compiler.work.join(format!("{output}.txt"));
    write(&path, &text)?;
    Ok(path)
}

/// Builds the library that exports policy texts; returns its path.
fn build() -> Result<PathBuf> {
    let directory = workspace().join("lab");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let status = cargo
        .current_dir(&directory)
        .args(["build", "--locked", "--release", "--package", "callgate-texts", "--target-dir"])
        .arg(workspace().join("target/lab"))
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(workspace().join("target/lab/release/libcallgate_texts.so")),
        false => Err(format!("cargo build --package callgate-texts: {status}")),
    }
}
