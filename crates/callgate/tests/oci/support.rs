//! Helpers: short profiles, and the verdicts and messages that they give.

use callgate::Arch;
use callgate_bpf::diagnostic::{Diagnostic, Severity};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::policy::Policy;
use callgate_formats::Profile;
use callgate_formats::oci::{self, Dialect, EnosysAbove, ReadOptions};
use callgate_testing::reader::{self, call, numbered};

/// Every way to read a profile: without a dialect, and each dialect.
pub(crate) const READERS: [Option<Dialect>; 6] = [
    None,
    Some(Dialect::Oci),
    Some(Dialect::Docker),
    Some(Dialect::Podman),
    Some(Dialect::Runc),
    Some(Dialect::Crun),
];

/// Only x86_64, Linux 6.18, Docker's capabilities, no ENOSYS check.
pub(crate) fn options(dialect: Dialect) -> ReadOptions {
    let mut options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
    options.dialect = Some(dialect);
    options.arches = vec![Arch::X86_64];
    options.enosys_above = Some(EnosysAbove::Off);
    options
}

/// A profile with the default action ERRNO(EPERM) and these entries.
pub(crate) fn text(entries: &str) -> String {
    format!("{{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{entries}]}}")
}

/// An entry: names separated by spaces, the action without its prefix, and further members.
pub(crate) fn entry(names: &str, action: &str, more: &str) -> String {
    let names: Vec<String> = names.split(' ').map(|name| format!("\"{name}\"")).collect();
    let comma = if more.is_empty() { "" } else { ", " };
    format!("{{\"names\": [{}], \"action\": \"SCMP_ACT_{action}\"{comma}{more}}}", names.join(", "))
}

/// Conditions: `0 EQ 5`, `1 MASKED_EQ 0xff 0x3`.
pub(crate) fn args(conditions: &[&str]) -> String {
    let one = |condition: &&str| {
        let parts: Vec<&str> = condition.split(' ').collect();
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
            None => text.parse().unwrap(),
        };
        let two = parts.get(3).map(|two| format!(", \"valueTwo\": {}", number(two)));
        format!(
            "{{\"index\": {}, \"op\": \"SCMP_CMP_{}\", \"value\": {}{}}}",
            parts[0],
            parts[1],
            number(parts[2]),
            two.unwrap_or_default()
        )
    };
    format!("\"args\": [{}]", conditions.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// The profile with these entries, which must be valid.
pub(crate) fn read(entries: &[String], options: &ReadOptions) -> Profile {
    oci::read(&text(&entries.join(", ")), options)
        .unwrap_or_else(|messages| panic!("{}", lines(&messages)))
}

/// The errors about invalid entries, without warnings.
pub(crate) fn errors(entries: &[String], options: &ReadOptions) -> Vec<String> {
    let messages = oci::read(&text(&entries.join(", ")), options).unwrap_err();
    let errors = messages.iter().filter(|message| message.severity == Severity::Error);
    errors.map(|message| message.message.clone()).collect()
}

/// The messages about an invalid text, all of which are errors.
pub(crate) fn messages(text: &str, dialect: Dialect) -> String {
    let messages = oci::read(text, &options(dialect)).expect_err("an invalid text");
    assert!(messages.iter().all(|one| one.severity == Severity::Error), "{messages:?}");
    reader::lines(&messages)
}

/// The texts of the warnings about a profile.
pub(crate) fn warnings(profile: &Profile) -> Vec<&str> {
    profile.warnings.iter().map(|warning| warning.message.as_str()).collect()
}

/// Messages with severity and help, one per line.
pub(crate) fn lines(messages: &[Diagnostic]) -> String {
    let line = |m: &Diagnostic| format!("{:?} {m} ({})\n", m.severity, m.help);
    messages.iter().map(line).collect()
}

/// The verdict for a syscall by number.
pub(crate) fn verdict_of(policy: &Policy, arch: Arch, nr: u32, args: &[u64]) -> String {
    policy.evaluate(&numbered(arch, nr, args)).to_string()
}

/// The verdict for a syscall by name on an architecture.
pub(crate) fn on(policy: &Policy, arch: Arch, name: &str, args: &[u64]) -> String {
    policy.evaluate(&call(arch, name, args)).to_string()
}

/// The verdict for a syscall by name on x86_64.
pub(crate) fn syscall(profile: &Profile, name: &str, args: &[u64]) -> String {
    on(&profile.policy, Arch::X86_64, name, args)
}
