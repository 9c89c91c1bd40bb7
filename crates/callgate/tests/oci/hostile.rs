//! Profiles that are designed to be expensive get an answer, or an error with the limit.
//!
//! The tests assert the answer. Each of these profiles took minutes or more while the work was quadratic in its size.
//! `cargo lab hostile` measures the time for 16 MiB.

use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::{Diagnostic, Severity};

use callgate::{Arch, SeccompData};
use callgate_formats::oci::{self, Dialect, ReadOptions};

use callgate_testing::hostile::{self, Expensive, expect_answers};

use crate::oci::support::{options, text as profile};

/// Name and generator of each profile, and the start of the answer: the first error, or "read".
const PROFILES: &[Expensive] = &[
    ("names times conditions", names_times_conditions, "the rules of this profile have up to "),
    ("rules of mixed length", mixed_lengths, "read"),
    ("rules of several actions", several_actions, "read"),
    ("rules behind a multiplexer", behind_a_multiplexer, "read"),
    ("six comparisons in each rule", six_comparisons, "read"),
    ("unknown capabilities", unknown_capabilities, "read"),
    ("unknown names", unknown_names, "read"),
    ("unknown architectures", unknown_architectures, "unknown architecture"),
    ("unknown keys", unknown_keys, "read"),
    ("unknown operators", unknown_operators, "`op` is"),
    ("one long name", long_name, "read"),
    ("the same name", same_name, "read"),
    ("rules without effect, in one line", without_effect, "read"),
    ("conditions of one entry", conditions_of_one_entry, "read"),
];

/// As many items as fit, separated by commas.
fn fill(size: usize, item: impl FnMut(usize) -> String) -> String {
    hostile::fill(size, ",", item)
}

fn condition(index: usize, op: &str, value: usize) -> String {
    format!("{{\"index\":{index},\"op\":\"SCMP_CMP_{op}\",\"value\":{value}}}")
}

fn rule(name: &str, action: &str, conditions: &str) -> String {
    format!("{{\"names\":[\"{name}\"],\"action\":\"SCMP_ACT_{action}\",\"args\":[{conditions}]}}")
}

fn names_times_conditions(size: usize) -> String {
    let names: Vec<&str> = Arch::X86_64.syscalls().map(|(_, name)| name).collect();
    let names = fill(size / 4, |i| format!("\"{}\"", names[i % names.len()]));
    let args = fill(size * 3 / 4, |i| condition(0, "EQ", i));
    profile(&format!("{{\"names\":[{names}],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{args}]}}"))
}

fn mixed_lengths(size: usize) -> String {
    profile(&fill(size, |i| {
        let all: Vec<String> = (0..1 + i % 5).map(|arg| condition(arg, "EQ", i + arg)).collect();
        rule("ioctl", "ALLOW", &all.join(","))
    }))
}

fn several_actions(size: usize) -> String {
    let actions = ["ALLOW", "LOG", "TRAP"];
    profile(&fill(size, |i| {
        let all: Vec<String> =
            (0..1 + i % 3).map(|arg| condition((i + arg) % 6, "MASKED_EQ", i + arg)).collect();
        rule("ioctl", actions[i % 3], &all.join(","))
    }))
}

fn behind_a_multiplexer(size: usize) -> String {
    let names = ["socket", "connect", "bind", "sendto"];
    let rule = fill(size, |i| rule(names[i % 4], "ALLOW", &condition(1, "EQ", i)));
    profile(&rule).replacen('{', "{\"architectures\": [\"SCMP_ARCH_X86\"], ", 1)
}

fn six_comparisons(size: usize) -> String {
    profile(&fill(size, |i| {
        let all: Vec<String> = (0..6).map(|arg| condition(arg, "NE", i % 1000 + arg)).collect();
        rule("ioctl", if i % 2 == 0 { "ALLOW" } else { "LOG" }, &all.join(",")).replacen(
            "\"value\":",
            &format!("\"value\":{}", i + 1),
            1,
        )
    }))
}

fn unknown_capabilities(size: usize) -> String {
    let caps = fill(size, |i| format!("\"CAP_{i:05}\""));
    profile(&format!(
        "{{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"excludes\":{{\"caps\":[{caps}]}}}}"
    ))
}

fn unknown_names(size: usize) -> String {
    let names = fill(size, |i| format!("\"opemat{i}\""));
    profile(&format!("{{\"names\":[\"read\",{names}],\"action\":\"SCMP_ACT_ALLOW\"}}"))
}

fn unknown_architectures(size: usize) -> String {
    let arches = fill(size, |i| format!("\"SCMP_ARCH_X{i}\""));
    let rule = rule("read", "ALLOW", "");
    profile(&rule).replacen('{', &format!("{{\"architectures\": [{arches}], "), 1)
}

fn unknown_keys(size: usize) -> String {
    let keys = fill(size, |i| format!("\"key{i}\":1"));
    profile(&format!("{{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",{keys}}}"))
}

fn unknown_operators(size: usize) -> String {
    profile(&rule("read", "ALLOW", &fill(size, |i| condition(0, "EK", i))))
}

fn long_name(size: usize) -> String {
    profile(&format!(
        "{},{{\"names\":[\"{}\"],\"action\":\"SCMP_ACT_ALLOW\"}}",
        rule("read", "ALLOW", ""),
        "open".repeat(size / 4)
    ))
}

fn same_name(size: usize) -> String {
    let names = fill(size, |_| "\"read\"".to_owned());
    profile(&format!("{{\"names\":[{names}],\"action\":\"SCMP_ACT_ALLOW\"}}"))
}

/// Each message names a second position, at the other end of the only line.
fn without_effect(size: usize) -> String {
    profile(&format!(
        "{},{}",
        rule("read", "ALLOW", ""),
        fill(size, |i| rule("read", "LOG", &condition(0, "EQ", i)))
    ))
}

fn conditions_of_one_entry(size: usize) -> String {
    profile(&rule("ioctl", "ALLOW", &fill(size, |i| condition(i % 6, "LT", i))))
}

fn answer(text: &str, dialect: Dialect) -> String {
    let options = ReadOptions { arches: Vec::new(), enosys_above: None, ..options(dialect) };
    match oci::read(text, &options) {
        Ok(profile) => {
            // No rule has this number, so it gets the default.
            let data = SeccompData { nr: 1000, ..SeccompData::default() };
            assert_ne!(profile.policy.evaluate(&data), callgate::Verdict::ALLOW);
            assert!(profile.warnings.len() < 600, "{}", profile.warnings.len());
            "read".to_owned()
        }
        Err(messages) => {
            assert!(messages.len() < 1100, "{}", messages.len());
            let is_error = |message: &&Diagnostic| message.severity == Severity::Error;
            messages.iter().find(is_error).map(|first| first.message.clone()).unwrap_or_default()
        }
    }
}

#[test]
fn hostile_profiles_get_an_answer() {
    for dialect in [Dialect::Docker, Dialect::Oci] {
        expect_answers(PROFILES, 400_000, |text| answer(text, dialect));
    }
}

/// Each name of an entry gets all conditions of the entry.
#[test]
fn comparisons_are_limited() {
    let names: Vec<String> =
        Arch::X86_64.syscalls().take(300).map(|(_, name)| format!("\"{name}\"")).collect();
    let entry = |names: &[String], conditions: usize| {
        let conditions: Vec<String> = (0..conditions).map(|i| condition(0, "EQ", i)).collect();
        let (names, conditions) = (names.join(","), conditions.join(","));
        format!("{{\"names\":[{names}],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{conditions}]}}")
    };
    let most = entry(&names, 500);
    assert_eq!(answer(&profile(&most), Dialect::Docker), "read");
    let answer = answer(&profile(&format!("{most},{}", entry(&names[..1], 1))), Dialect::Docker);
    let start = "the rules of this profile have up to 150001 comparisons; the limit is 150000";
    assert!(answer.starts_with(start), "{answer}");
}
