//! The filters of the repository: the built-in profile on every architecture, the file tests, the profiles in
//! command sessions, the programs of the workloads, and programs of libseccomp.

use std::path::Path;

use callgate::compile::{self, compile};
use callgate::{Arch, Endian};
use callgate_bpf::syscalls::KernelVersion;
use callgate_codegen::{Aim, Model};
use callgate_core::LongProgram;
use callgate_formats::{container_default, oci};
use callgate_measure::engines::workloads;

use super::filetest;
use super::subject::Subject;
use crate::libseccomp_program::of_machine;
use callgate_tasks::files::{files, read, stem};
use callgate_tasks::{Result, workspace};

/// The kernel version for which profiles are read.
fn kernel() -> KernelVersion {
    const KERNEL: &str = "6.18";
    KERNEL.parse().unwrap_or_else(|_| unreachable!("{KERNEL} is a version"))
}

pub(crate) fn all() -> Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    built_in(&mut subjects);
    let tests = workspace().join("crates/callgate/tests/filetests");
    let directories =
        std::fs::read_dir(&tests).map_err(|error| format!("{}: {error}", tests.display()))?;
    let mut directories: Vec<_> = directories.flatten().map(|entry| entry.path()).collect();
    directories.sort();
    for directory in directories.iter().filter(|path| path.is_dir()) {
        for path in files(directory, "txt")? {
            subjects.extend(filetest::read(&path)?);
        }
    }
    for path in files(&workspace().join("crates/callgate-cli/tests/sessions"), "test")? {
        sessions(&path, &mut subjects)?;
    }
    for workload in workloads::all() {
        if let workloads::EngineInputs::Syscalls { program, endian, .. } = workload.inputs {
            subjects.push(Subject::program(workload.name, program.into(), endian));
        }
    }
    Ok(subjects)
}

/// The built-in profile for each architecture, and for x86-64 its programs for all models and those of libseccomp.
fn built_in(subjects: &mut Vec<Subject>) {
    for arch in Arch::ALL.iter().copied() {
        let options = oci::ReadOptions::new(arch, kernel());
        let Ok(profile) = container_default(&options) else { continue };
        let name = format!("container-default {arch}");
        if arch == Arch::X86_64 {
            let libseccomp = of_machine();
            let programs = [libseccomp.list(&profile.policy), libseccomp.tree(&profile.policy)];
            for program in programs {
                match program {
                    Ok(program) => {
                        let name = format!("{name}, by libseccomp");
                        subjects.push(Subject::program(name, program.into(), Endian::Little));
                    }
                    Err(why) => eprintln!("without libseccomp's programs: {why}"),
                }
            }
            let options =
                Model::ALL.iter().flat_map(|model| Aim::ALL.iter().map(|aim| (*model, *aim)));
            for (model, aim) in options {
                let options = compile::Options { model, aim, ..compile::Options::default() };
                if let Ok(compiled) = compile(&profile.policy, &options) {
                    let name = format!("{name}, {} {}", model.name(), aim.name());
                    let program = compiled.program.into();
                    subjects.push(Subject::program(name, program, Endian::Little));
                }
            }
        }
        subjects.push(Subject::policy(name, profile.policy));
    }
}

/// The readable profiles in a command session.
fn sessions(path: &Path, subjects: &mut Vec<Subject>) -> Result<()> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("--- ").filter(|name| name.ends_with(".json")) else {
            continue;
        };
        let content: String = lines
            .by_ref()
            .take_while(|line| *line != "---")
            .map(|line| format!("{line}\n"))
            .collect();
        let name = format!("{} in {}", name, stem(path));
        subjects.extend(profile(&name, &content));
    }
    Ok(())
}

fn profile(name: &str, text: &str) -> Option<Subject> {
    let profile = oci::read(text, &oci::ReadOptions::new(Arch::X86_64, kernel())).ok()?;
    Some(Subject::policy(name, profile.policy))
}

/// The profiles and little-endian programs of a directory and its subdirectories.
pub(crate) fn in_directory(directory: &Path) -> Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    for path in files(directory, "json")? {
        let text = String::from_utf8_lossy(&read(&path)?).into_owned();
        let name = path.display().to_string();
        subjects.push(profile(&name, &text).ok_or(format!("{name}: is not a profile"))?);
    }
    for path in files(directory, "bpf")? {
        let name = path.display().to_string();
        let program = LongProgram::from_bytes(&read(&path)?, Endian::Little);
        let program = program.map_err(|error| format!("{name}: {error}"))?;
        subjects.push(Subject::program(name, program, Endian::Little));
    }
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        subjects.extend(in_directory(&entry.path())?);
    }
    Ok(subjects)
}
