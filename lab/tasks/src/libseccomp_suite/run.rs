//! The task: builds the tests, runs the lines of their tables on all processors, and reports.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::batch::{Batch, Line, Test};
use super::commands::{basic, live, valgrind};
use super::compile::Compiler;
use super::judge::Judge;
use super::kind::Kind;
use super::options::Options;
use super::outcome::Case;
use super::programs::Programs;
use super::report::{Results, print};
use super::simulations::{fuzz, simulate};
use super::suite::{Suite, has_valgrind};
use super::tools::Tools;
use super::verify::verify;
use super::{library, parallel, sources};
use callgate_tasks::files::{files, make, read, remove, stem};
use callgate_tasks::{Result, workspace};

/// What our library generates for the original's simulator.
const BASIC: (&str, &str) = ("CALLGATE_SECCOMP_INSTRUCTIONS", "basic");

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let directory = workspace().join("target/libseccomp-suite");
    make(&directory)?;
    let _lock = lock(&directory)?;
    let work = directory.join("work");
    remove(&work)?;
    let version = sources::prepare(options.source.as_deref(), &directory, &work)?;
    if let Some(headers) = &options.headers {
        sources::replace_headers(headers, &work)?;
    }
    let library = library::prepare(options.library.as_deref(), &work)?;
    let batches = batches(&work.join("tests"), &options)?;
    let compiler = Compiler { work };
    let suite = build(&compiler, &batches, &options)?;
    println!("suite:     libseccomp {version}, {}", suite.tools.native);
    println!("library:   {}, version {}", library.display(), suite.tools.version);
    println!("simulator: {}\n", suite.judge.name());
    let sums = print(&run_all(&suite, &batches), options.verbose);
    if options.verify {
        verify(&suite, &compiler, &batches)?;
    }
    match sums.failed + sums.errored {
        0 => Ok(()),
        _ => Err(format!("{} tests failed, and {} have no result", sums.failed, sums.errored)),
    }
}

/// Prevents other runs from using the directory, until the file is closed.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join("lock");
    let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(format!("another run uses {}", directory.display())),
        Err(TryLockError::Error(error)) => Err(format!("{}: {error}", path.display())),
    }
}

/// The selected lines of the tables in a directory.
fn batches(directory: &Path, options: &Options) -> Result<Vec<Batch>> {
    let mut batches = Vec::new();
    for file in files(directory, "tests")? {
        let name = stem(&file);
        if options.has_test(&name) {
            let mut batch = Batch::parse(&name, &String::from_utf8_lossy(&read(&file)?))?;
            batch.lines.retain(|line| options.has_kind(line.kind));
            if !batch.lines.is_empty() {
                batches.push(batch);
            }
        }
    }
    if batches.is_empty() { Err("no test is selected".to_owned()) } else { Ok(batches) }
}

fn build(compiler: &Compiler, batches: &[Batch], options: &Options) -> Result<Suite> {
    let names: Vec<&str> = batches.iter().map(|batch| batch.name.as_str()).collect();
    let environment = options.original_simulator.then_some(BASIC);
    Ok(Suite {
        programs: Programs::build(compiler, &names, environment)?,
        tools: Tools::build(compiler)?,
        judge: if options.original_simulator { Judge::original(compiler)? } else { Judge::Own },
        has_valgrind: has_valgrind(),
        seed: options.seed,
    })
}

/// Runs all lines; those under valgrind first, because they take longest.
fn run_all<'a>(suite: &Suite, batches: &'a [Batch]) -> Vec<Results<'a>> {
    let mut lines: Vec<(usize, usize)> = Vec::new();
    for (at, batch) in batches.iter().enumerate() {
        lines.extend((0..batch.lines.len()).map(|line| (at, line)));
    }
    lines.sort_by_key(|(batch, line)| batches[*batch].lines[*line].kind != Kind::Valgrind);
    let cases =
        parallel::map(&lines, |(batch, line)| run_line(suite, &batches[*batch].lines[*line]));
    let empty = |batch: &'a Batch| Results { batch, cases: vec![Vec::new(); batch.lines.len()] };
    let mut results: Vec<Results> = batches.iter().map(empty).collect();
    for ((batch, line), cases) in lines.into_iter().zip(cases) {
        results[batch].cases[line] = cases;
    }
    results
}

fn run_line(suite: &Suite, line: &Line) -> Vec<Case> {
    match &line.test {
        Test::Simulation(simulation) => simulate(suite, line, simulation),
        Test::Fuzz(count) => fuzz(suite, line, *count),
        Test::Live { level, action } => vec![Case::single(live(suite, line, *level, action))],
        Test::Program if line.kind == Kind::Valgrind => vec![Case::single(valgrind(suite, line))],
        Test::Program => vec![Case::single(basic(suite, line))],
    }
}
