//! Every filter of the file tests: what is written means the same, or it is refused with a reason.

use std::path::{Path, PathBuf};

use callgate::convert::{ConvertOptions, Converted, convert};
use callgate::{Arch, Description, ErrorKind};
use callgate_core::diagram::{Func, Store};
use callgate_core::{LongProgram, Program};
use callgate_formats::languages::LanguageId;
use callgate_formats::oci::EnosysAbove;
use callgate_formats::systemd::{self, UnitText};
use callgate_formats::{container_default, oci};
use callgate_testing::filetest::{FileTest, Filter};
use callgate_testing::languages::to;
use callgate_testing::languages::{self, KERNEL};

use super::support::{closest_options, has_no_policy, is_too_complex};

/// The meaning of a text, read as a user would read it, with or without the rules of a runtime.
fn read(store: &mut Store, converted: &Converted, target: LanguageId) -> Func {
    let text = &converted.text;
    let enosys = Some(converted.enosys_above);
    let read = languages::read_with(target.name(), text, &converted.arches, enosys);
    let read = read.unwrap_or_else(|error| panic!("{target} {error}\n{text}"));
    if let "systemd" | "minijail" | "firecracker" = target.name() {
        let other = read.warnings.iter().find(|one| !one.contains("every syscall gets"));
        assert_eq!(other, None, "{target}\n{text}");
    }
    read.diagram(store).unwrap()
}

/// Converts to all languages, exactly and to the nearest policy; returns the exact ones.
fn check(filter: Description<'_>, arches: &[Arch], name: &str) -> Vec<LanguageId> {
    let mut exact = Vec::new();
    for target in LanguageId::written() {
        let mut options = ConvertOptions::new(target);
        options.arches = arches.to_vec();
        let mut store = Store::default();
        match convert(filter, &options) {
            Ok(converted) => {
                let written = read(&mut store, &converted, target);
                let source = filter.to_convert(&mut store).unwrap();
                let expected = match converted.enosys_above {
                    EnosysAbove::Off if target_of_runtime(target) => source.own,
                    EnosysAbove::Off if written == source.own => source.own,
                    _ => source.applied,
                };
                assert_eq!(written, expected, "{name} {target}\n{}", converted.text);
                let again = convert(filter, &options).unwrap();
                assert_eq!(again.text, converted.text, "{name} {target}");
                exact.push(target);
            }
            Err(error) => match error.kind() {
                ErrorKind::Convert(error) if !error.losses().is_empty() => {}
                _ if is_too_complex(&error.to_string()) || has_no_policy(&error.to_string()) => {
                    continue;
                }
                _ => panic!("{name} {target}: {error}"),
            },
        }
        let mut closest = closest_options(target);
        closest.arches = arches.to_vec();
        let converted = match convert(filter, &closest) {
            Ok(converted) => converted,
            Err(error) if is_too_complex(&error.to_string()) => continue,
            Err(error) if has_no_policy(&error.to_string()) => continue,
            Err(error) => panic!("{name} {target}: {error}"),
        };
        assert_eq!(converted.losses.is_empty(), exact.contains(&target), "{name} {target}");
    }
    exact
}

/// Whether container runtimes install the policies of a language.
fn target_of_runtime(target: LanguageId) -> bool {
    matches!(target.name(), "oci" | "docker" | "podman" | "k8s")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Checks the filter of a file test; returns the exact conversions, or `None` if there is no such filter.
fn check_file(path: &Path) -> Option<usize> {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let file = FileTest::read(path);
    let found = match file.filter() {
        Filter::Policy(policy) => check(Description::policy(&policy), &[], &name),
        Filter::Program(insns, endian) => {
            let program = LongProgram::from(Program::from_raw(&insns).ok()?);
            let filter = Description::program(&program, endian);
            let native = vec![Arch::X86_64];
            let arches = if file.arches().is_empty() { native } else { file.arches() };
            let mut store = Store::default();
            if arches.iter().any(|arch| arch.endian() != endian)
                || store.program(&program, endian).is_err()
            {
                return None;
            }
            check(filter, &arches, &name)
        }
        Filter::Refused(_) => return None,
    };
    Some(found.len())
}

#[test]
fn the_filters_of_the_file_tests_survive_or_are_refused_with_a_reason() {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let found: Vec<usize> = std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(threads));
        let running: Vec<_> = parts
            .map(|part| {
                scope.spawn(|| part.iter().filter_map(|path| check_file(path)).collect::<Vec<_>>())
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let (filters, exact) = (found.len(), found.iter().sum::<usize>());
    assert!(filters > 80 && exact > 200, "{filters} filters, {exact} exact conversions");
}

#[test]
fn the_container_default_becomes_a_profile_for_docker_and_a_kafel_policy() {
    for arches in [
        vec![Arch::X86_64, Arch::X86, Arch::X32],
        vec![Arch::X86_64],
        vec![Arch::Aarch64, Arch::Arm],
        vec![Arch::S390x, Arch::S390],
        vec![Arch::Riscv64],
    ] {
        let options =
            oci::ReadOptions { arches: arches.clone(), ..oci::ReadOptions::new(arches[0], KERNEL) };
        let profile = container_default(&options).unwrap();
        let exact = check(Description::profile(&profile), &arches, arches[0].name());
        for target in [to("docker"), to("oci"), to("podman")] {
            assert!(exact.contains(&target), "{arches:?} {exact:?}");
        }
        // Without x32 its numbers are killed, which are too many for Kafel.
        let has_gap = arches == [Arch::X86_64];
        assert_eq!(exact.contains(&to("kafel")), !has_gap, "{arches:?} {exact:?}");
    }
}

#[test]
fn every_language_survives_itself() {
    let unit = "[Service]\nSystemCallFilter=@system-service\nSystemCallFilter=~@chown mount:EBADF\n\
                SystemCallErrorNumber=EPERM\nSystemCallArchitectures=native\n";
    let options = systemd::ReadOptions::new(Arch::X86_64, KERNEL);
    let unit = systemd::read(&[UnitText::unit(unit)], &options).unwrap();
    let parts = unit.filters.iter().map(|filter| Description::policy(&filter.policy)).collect();
    let stack = callgate::stack::Stack::new(parts).unwrap();
    let merged = callgate::merge(&stack, &[Arch::X86_64], &callgate::Options::default()).unwrap();
    let program = LongProgram::from(merged.compiled.program);
    let filter = Description::program(&program, callgate::Endian::Little);
    let converted = convert(filter, &ConvertOptions::new(to("systemd"))).unwrap();
    assert_eq!(
        converted.text,
        "[Service]\nSystemCallArchitectures=native\nSystemCallErrorNumber=EPERM\n\
         SystemCallFilter=@system-service\nSystemCallFilter=~@chown\nSystemCallFilter=~mount:EBADF\n"
    );
}
