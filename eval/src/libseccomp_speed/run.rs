//! Builds the driver, and runs it with each library in turn.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callgate::Arch;

use super::rules::{Rules, all};
use crate::c_library;
use crate::task::{Result, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask libseccomp-speed [--rounds N] [--library PATH]... [--header DIR]

Measures a C program that makes filters, with each of the given libraries libseccomp.so.2 and with that of
this workspace, as it is released: the time of all functions up to the end of seccomp_load(3), that of
seccomp_load(3) alone, resident memory, and instructions. Each context has a process of its own; the
libraries take turns. The median of N rounds (default 200) is shown. Needs a C compiler.
";

/// How many contexts a library makes before it is the turn of the next one.
const TURN: usize = 20;

/// What one process measured.
struct Sample {
    total: f64,
    load: f64,
    memory: f64,
    insns: f64,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut rounds = 200_usize;
    let mut header = workspace().join("crates/callgate-seccomp/include");
    let mut libraries = vec![c_library::build()?];
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} lacks a value\n\n{HELP}"))?;
        match word.as_str() {
            "--rounds" => rounds = value.parse().map_err(|_| format!("not a number: {value}"))?,
            "--library" => libraries.push(PathBuf::from(value)),
            "--header" => header = PathBuf::from(value),
            _ => return Err(format!("unknown option: {word}\n\n{HELP}")),
        }
    }
    let directory = std::env::temp_dir().join(format!("callgate-speed-{}", std::process::id()));
    std::fs::create_dir_all(&directory).map_err(|why| format!("{}: {why}", directory.display()))?;
    let result = measure(&directory, &header, &libraries, rounds);
    let _ = std::fs::remove_dir_all(&directory);
    result
}

fn measure(directory: &Path, header: &Path, libraries: &[PathBuf], rounds: usize) -> Result<()> {
    let drivers = libraries.iter().enumerate().map(|(index, library)| {
        let place = directory.join(index.to_string());
        std::fs::create_dir_all(&place).map_err(|why| format!("{}: {why}", place.display()))?;
        build(&place, header, library)
    });
    let drivers: Vec<PathBuf> = drivers.collect::<Result<_>>()?;
    let arch = Arch::native().ok_or("unknown architecture")?;
    println!("{:30} {:>8} {:>8} {:>8} {:>7}", "µs, KiB", "total", "load", "memory", "insns");
    for rules in all(arch)? {
        println!("{}", rules.name);
        for (optimize, how) in [(1, "list"), (2, "tree")] {
            let mut samples: Vec<Vec<Sample>> = drivers.iter().map(|_| Vec::new()).collect();
            while samples.first().is_some_and(|first| first.len() < rounds) {
                for (driver, samples) in drivers.iter().zip(&mut samples) {
                    samples.extend(ask(driver, optimize, &rules)?);
                }
            }
            for (library, samples) in libraries.iter().zip(&samples) {
                let name = library.file_name().unwrap_or_default().to_string_lossy();
                let middle = |of: fn(&Sample) -> f64| median(samples.iter().map(of).collect());
                println!(
                    "  {:28} {:8.1} {:8.1} {:8.0} {:7.0}",
                    format!("{name}, {how}"),
                    middle(|sample| sample.total),
                    middle(|sample| sample.load),
                    middle(|sample| sample.memory),
                    middle(|sample| sample.insns),
                );
            }
        }
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Compiles the driver, and links it with a library under the name that it is found by.
fn build(place: &Path, header: &Path, library: &Path) -> Result<PathBuf> {
    let link = place.join("libseccomp.so.2");
    let library = library.canonicalize().map_err(|why| format!("{}: {why}", library.display()))?;
    std::os::unix::fs::symlink(&library, &link).map_err(|why| format!("{why}"))?;
    let driver = place.join("driver");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/libseccomp_speed/driver.c");
    let compile = |define: &[&str]| {
        Command::new("cc")
            .args(["-O2", "-o"])
            .arg(&driver)
            .args(define)
            .arg("-I")
            .arg(header)
            .arg(&source)
            .arg(&link)
            .arg(format!("-Wl,-rpath,{}", place.display()))
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if compile(&["-DHAVE_EXPORT_MEM"]) || compile(&[]) {
        return Ok(driver);
    }
    Err("the driver could not be compiled and linked".to_owned())
}

/// Measures a turn.
fn ask(driver: &Path, optimize: u32, rules: &Rules) -> Result<Vec<Sample>> {
    let mut child = Command::new(driver)
        .args([TURN.to_string(), optimize.to_string(), rules.default.0.to_string()])
        .args(rules.arches)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|why| format!("{}: {why}", driver.display()))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(rules.text.as_bytes()).map_err(|why| format!("the driver: {why}"))?;
    }
    let output = child.wait_with_output().map_err(|why| format!("the driver: {why}"))?;
    if !output.status.success() {
        return Err(format!("the driver failed for {}", rules.name));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let sample = |line: &str| {
        let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [total, load, memory, insns] => Ok(Sample { total, load, memory, insns }),
            _ => Err(format!("the driver printed {line:?}")),
        }
    };
    text.lines().map(sample).collect()
}
