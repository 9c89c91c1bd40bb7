//! Profiles with ten thousand random rules: a program, or an error that names the limit.

use callgate::Arch;
use callgate::compile::{Options, compile};
use callgate_bpf::SyscallTable;
use callgate_bpf::random::Rng;
use callgate_core::diagram::Budget;
use callgate_formats::oci::{self, Dialect};

use crate::oci::support::{args, entry, options, text};

const RULES: usize = 10_000;

/// A smaller budget than the default, so that unoptimized tests are fast, too.
const BUDGET: Budget = Budget { nodes: 200_000, steps: 20_000_000 };

/// A profile with this number of comparisons in each rule.
fn profile(names: &[&str], operators: &[&str], comparisons: usize) -> String {
    let mut random = Rng::new(1);
    let entries: Vec<String> = (0..RULES)
        .map(|_| {
            let name = names[random.below(names.len())];
            let first = random.below(6);
            let conditions: Vec<String> = (0..comparisons)
                .map(|at| {
                    let arg = (first + at) % 6;
                    let operator = operators[random.below(operators.len())];
                    let value = random.next() >> 32;
                    match operator {
                        "MASKED_EQ" => {
                            let mask = random.next() >> 32;
                            format!("{arg} {operator} {mask:#x} {:#x}", value & mask)
                        }
                        _ => format!("{arg} {operator} {value:#x}"),
                    }
                })
                .collect();
            let conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
            let args = if comparisons == 0 { String::new() } else { args(&conditions) };
            entry(name, "ALLOW", &args)
        })
        .collect();
    text(&entries.join(","))
}

/// The number of instructions, or the message.
fn compiled(text: &str) -> Result<usize, String> {
    let policy = oci::read(text, &options(Dialect::Runc)).unwrap().policy;
    let compiled = compile(&policy, &Options { budget: BUDGET, ..Options::default() });
    compiled.map(|compiled| compiled.program.len()).map_err(|error| error.to_string())
}

#[test]
fn ten_thousand_rules_without_conditions_are_a_short_program() {
    let names: Vec<&str> = Arch::X86_64.syscalls().map(|(_, name)| name).collect();
    let insns = compiled(&profile(&names, &[], 0)).unwrap();
    assert!(insns < 30, "{insns}");
}

#[test]
fn ten_thousand_random_conditions_are_an_error_with_the_limit() {
    let names: Vec<&str> = Arch::X86_64.syscalls().map(|(_, name)| name).collect();
    for (names, operators, comparisons) in [
        (&names[..], &["EQ"][..], 1),
        (&names[..], &["EQ", "NE", "LT", "GE", "MASKED_EQ"][..], 2),
        (&names[..], &["MASKED_EQ"][..], 1),
        (&["ioctl"][..], &["EQ"][..], 1),
        (&["ioctl"][..], &["EQ", "LT", "GE", "MASKED_EQ"][..], 3),
        (&["read", "write", "poll"][..], &["LT", "GE"][..], 3),
    ] {
        let error = compiled(&profile(names, operators, comparisons)).unwrap_err();
        let limits = ["200000 nodes (the limit)", "more than the kernel accepts (4096)"];
        assert!(limits.iter().any(|limit| error.contains(limit)), "{operators:?}: {error}");
    }
}
