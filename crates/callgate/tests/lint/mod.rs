//! Each check finds its mistake, with a syscall that shows it, and nothing where the mistake is corrected.

mod architectures;
mod arguments;
mod filters;
mod rules;
mod syscalls;

use callgate::lint::{Check, Finding, Subject, lint};
use callgate::{Arch, Endian};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::LongProgram;
use callgate_formats::oci::{Dialect, ReadOptions};
use callgate_formats::{CapSet, Profile, oci};

fn options(arches: &[Arch], dialect: Dialect) -> ReadOptions {
    let kernel = KernelVersion { major: 6, minor: 18 };
    let mut options = ReadOptions::new(Arch::X86_64, kernel);
    options.arches = arches.to_vec();
    options.dialect = Some(dialect);
    options.statements = true;
    options.caps = CapSet::all();
    options
}

fn read(text: &str, arches: &[Arch]) -> Profile {
    oci::read(text, &options(arches, Dialect::Podman)).unwrap()
}

/// A profile of these entries, each in a line of its own, from line 2 on.
fn profile(default: &str, entries: &[&str]) -> String {
    format!(
        "{{\"defaultAction\": \"SCMP_ACT_{default}\", \"syscalls\": [\n{}\n]}}",
        entries.join(",\n")
    )
}

fn entry(names: &[&str], action: &str, args: &[(u8, &str, u64, u64)]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let args: Vec<String> = args
        .iter()
        .map(|(index, op, value, two)| {
            format!(
                "{{\"index\": {index}, \"op\": \"SCMP_CMP_{op}\", \"value\": {value}, \"valueTwo\": {two}}}"
            )
        })
        .collect();
    format!(
        "{{\"names\": [{}], \"action\": \"SCMP_ACT_{action}\", \"args\": [{}]}}",
        names.join(", "),
        args.join(", ")
    )
}

/// The findings of a check for a profile.
fn found_on(arches: &[Arch], default: &str, entries: &[&str], check: Check) -> Vec<Finding> {
    let profile = read(&profile(default, entries), arches);
    let all = lint(&[Subject::profile(&profile)], arches).unwrap();
    all.into_iter().filter(|finding| finding.check == check).collect()
}

fn found(default: &str, entries: &[&str], check: Check) -> Vec<Finding> {
    found_on(&[Arch::X86_64], default, entries, check)
}

fn line(finding: &Finding) -> u32 {
    finding.site.as_ref().unwrap().position.line
}

/// The only finding, at a line.
fn only(found: Vec<Finding>, at: u32) -> Finding {
    let [finding] = <[Finding; 1]>::try_from(found).unwrap();
    assert_eq!(line(&finding), at, "{finding:?}");
    finding
}

fn of_program(program: &LongProgram, arches: &[Arch], check: Check) -> Vec<Finding> {
    let all = lint(&[Subject::program(program, Endian::Little)], arches).unwrap();
    all.into_iter().filter(|finding| finding.check == check).collect()
}

#[test]
fn the_documentation_has_all_checks() {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/lint.md"
    ));
    let page = page.unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for check in Check::ALL {
        let row = format!("| `{}` | {} | ", check.id(), check.level());
        assert!(rows.iter().any(|line| line.starts_with(&row)), "{row}");
    }
}
