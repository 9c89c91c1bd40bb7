//! Runs the programs in turn, and prints the table.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::build::{Program, build};
use crate::files::{make, remove};
use crate::machine;
use crate::task::Result;

pub(crate) const HELP: &str = "\
usage: cargo xtask startup [--rounds N] [--libseccomp DIR]

Measures a process that installs a filter of ten rules with two variables: as source code in C and in
Rust that Callgate emitted, and made by libseccomp when the process starts (DIR has include/ and lib/;
without it, libseccomp is left out). Each round starts each program once. The columns are medians of N
rounds (default 1000) in microseconds:
  main       from the known values of the variables to the installed filter, without the system calls
             prctl(PR_SET_NO_NEW_PRIVS) and seccomp(2)
  system     the two system calls
  installed  from before fork until the filter is installed
  process    from before fork until the process has ended
and the size of the program and of the shared library that it needs. Needs cc and rustc.
";

/// The limit that is passed to the programs.
const LIMIT: &str = "16777216";

/// What a process took, in microseconds.
struct Sample {
    main: f64,
    system: f64,
    installed: f64,
    process: f64,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut rounds = 1000_usize;
    let mut libseccomp: Option<PathBuf> = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} lacks a value\n\n{HELP}"))?;
        match word.as_str() {
            "--rounds" => rounds = value.parse().map_err(|_| format!("not a number: {value}"))?,
            "--libseccomp" => libseccomp = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown option: {word}\n\n{HELP}")),
        }
    }
    let place = std::env::temp_dir().join(format!("callgate-startup-{}", std::process::id()));
    make(&place)?;
    let result = measure(&place, libseccomp.as_deref(), rounds.max(1));
    let _ = remove(&place);
    result
}

fn measure(place: &Path, libseccomp: Option<&Path>, rounds: usize) -> Result<()> {
    let programs = build(place, libseccomp)?;
    let mut samples: Vec<Vec<Sample>> = programs.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (program, samples) in programs.iter().zip(&mut samples) {
            samples.push(start(program)?);
        }
    }
    machine::lines().iter().for_each(|line| println!("{line}"));
    println!(
        "{:20} {:>8} {:>8} {:>10} {:>9} {:>9} {:>9}",
        "median µs, bytes", "main", "system", "installed", "process", "program", "library"
    );
    for (program, samples) in programs.iter().zip(&samples) {
        let median = |of: fn(&Sample) -> f64| median(samples.iter().map(of).collect());
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        println!(
            "{:20} {:8.2} {:8.2} {:10.1} {:9.1} {:9} {:9}",
            program.name,
            median(|sample| sample.main),
            median(|sample| sample.system),
            median(|sample| sample.installed),
            median(|sample| sample.process),
            size(&program.path),
            program.library.as_deref().map_or(0, size),
        );
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Starts a program, and reads what it measured.
fn start(program: &Program) -> Result<Sample> {
    let name = program.name;
    let clock = monotonic().to_string();
    let begin = Instant::now();
    let output = Command::new(&program.path)
        .args([clock.as_str(), LIMIT])
        .output()
        .map_err(|why| format!("{name}: {why}"))?;
    let process = begin.elapsed().as_secs_f64() * 1e6;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match (output.status.success(), numbers.as_slice()) {
        (true, [main, system, installed]) => Ok(Sample {
            main: main / 1e3,
            system: system / 1e3,
            installed: installed / 1e3,
            process,
        }),
        _ => Err(format!("{name} failed: {}, {text:?}", output.status)),
    }
}

/// The clock that the programs read, in nanoseconds.
fn monotonic() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to `time`, which lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
