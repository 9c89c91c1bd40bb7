//! The policies and programs that benchmarks use.

use std::ffi::OsStr;
use std::path::PathBuf;

use callgate::{Arch, Endian, Verdict};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Program, SyscallSet};
use callgate_formats::oci::{self, EnosysAbove, ReadOptions};

/// The architecture of most benchmarks.
pub const ONE: &[Arch] = &[Arch::X86_64];

/// The same with its sub-architectures.
pub const THREE: &[Arch] = &[Arch::X86_64, Arch::X86, Arch::X32];

/// How profiles are read: as by Docker on Linux 6.18, for exactly these architectures, and without ENOSYS for
/// unknown numbers.
pub fn reading(arches: &[Arch]) -> ReadOptions {
    let kernel = KernelVersion { major: 6, minor: 18 };
    ReadOptions {
        arches: arches.to_vec(),
        enosys_above: Some(EnosysAbove::Off),
        ..ReadOptions::new(Arch::X86_64, kernel)
    }
}

/// A policy with this many rules for numbers in random order; every fourth rule compares an argument.
pub fn synthetic(rules: u32) -> Policy {
    let field = |rule: u32| Field::arg((rule % 6) as u8).or(Field::arg(0));
    let rules = (0..rules)
        .map(|rule| {
            let syscalls = SyscallSet::one(rule.wrapping_mul(2_654_435_761) >> 16);
            let when = match field(rule) {
                Some(field) if rule % 4 == 0 => {
                    Condition::test(Test::eq(field, u64::from(rule / 8)))
                }
                _ => Condition::always(),
            };
            let verdict = if rule % 3 == 0 { Verdict::LOG } else { Verdict::ALLOW };
            Rule { syscalls, when, verdict }
        })
        .collect();
    let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
    match Policy::new(vec![section], Verdict::KILL_PROCESS) {
        Ok(policy) => policy,
        Err(error) => panic!("{error}"),
    }
}

/// The files with this extension in the directory of an environment variable, sorted by name.
fn files(variable: &str, extension: &str) -> Vec<(String, PathBuf)> {
    let Some(dir) = std::env::var_os(variable) else { return Vec::new() };
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{variable}: {error}"));
    let mut files: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension() == Some(OsStr::new(extension)))
        .filter_map(|path| Some((path.file_stem()?.to_string_lossy().into_owned(), path)))
        .collect();
    files.sort();
    files
}

/// The texts in the directory of an environment variable, with any extension, sorted by name.
pub fn texts(variable: &str) -> Vec<(String, String)> {
    let Some(dir) = std::env::var_os(variable) else { return Vec::new() };
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{variable}: {error}"));
    let mut texts: Vec<(String, String)> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some((name, std::fs::read_to_string(&path).ok()?))
        })
        .collect();
    texts.sort();
    texts
}

/// The built-in profile and those of `CALLGATE_BENCH_PROFILES`, with their names.
pub fn profiles(arches: &[Arch]) -> Vec<(String, Policy)> {
    let built_in = callgate_formats::CONTAINER_DEFAULT.to_owned();
    let mut texts = vec![("container-default".to_owned(), built_in)];
    for (name, path) in files("CALLGATE_BENCH_PROFILES", "json") {
        match std::fs::read_to_string(&path) {
            Ok(text) => texts.push((name, text)),
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    let read = |(name, text): (String, String)| match oci::read(&text, &reading(arches)) {
        Ok(profile) => Some((name, profile.policy)),
        Err(messages) => {
            // The directory may contain other JSON files.
            eprintln!("{name} is omitted: {}", messages[0]);
            None
        }
    };
    texts.into_iter().filter_map(read).collect()
}

/// The programs of `CALLGATE_BENCH_FILTERS`, with their names.
pub fn programs() -> Vec<(String, Program)> {
    let read = |(name, path): (String, PathBuf)| {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        match Program::from_bytes(&bytes, Endian::Little) {
            Ok(program) => Some((name, program)),
            Err(error) => {
                eprintln!("{name} is omitted: {error}");
                None
            }
        }
    };
    files("CALLGATE_BENCH_FILTERS", "bpf").into_iter().filter_map(read).collect()
}
