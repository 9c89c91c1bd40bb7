//! Compiles rules with rust-vmm's seccompiler: `main RULES PROGRAM - MILLISECONDS`
//!
//! Reads the text form of lab/tasks/src/compare/text.rs, writes the program as the bytes of a
//! sock_filter array. The library supports one architecture per program and one action besides the default.
//! The time is that from rules in its own types to the program.

use std::collections::BTreeMap;
use std::fs;
use std::process::exit;
use std::time::{Duration, Instant};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The exit status if the compiler cannot express the rules.
const CANNOT_EXPRESS: i32 = 3;
const MAX_RUNS: usize = 1001;
const X86_64: u64 = 0xc000_003e;

fn stop(status: i32, message: impl std::fmt::Display) -> ! {
    eprintln!("{message}");
    exit(status)
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| stop(1, format!("not a number: {text}")))
}

fn action(verdict: u32) -> SeccompAction {
    let data = u32::from(verdict as u16);
    match verdict >> 16 {
        0x8000 => SeccompAction::KillProcess,
        0x0000 => SeccompAction::KillThread,
        0x0003 => SeccompAction::Trap,
        0x0005 => SeccompAction::Errno(data),
        0x7ff0 => SeccompAction::Trace(data),
        0x7ffc => SeccompAction::Log,
        0x7fff => SeccompAction::Allow,
        _ => stop(CANNOT_EXPRESS, format!("it has no action for {verdict:#010x}")),
    }
}

fn condition(words: &[&str]) -> SeccompCondition {
    let [arg, bits, cmp, value, mask] = words else { stop(1, "a test has five words") };
    let (value, mask) = (number(value), number(mask));
    let (length, full) = match *bits {
        "64" => (SeccompCmpArgLen::Qword, u64::MAX),
        _ => (SeccompCmpArgLen::Dword, u64::from(u32::MAX)),
    };
    let operator = match *cmp {
        "eq" if mask != full => SeccompCmpOp::MaskedEq(mask),
        _ if mask != full => stop(CANNOT_EXPRESS, "under a mask it only tests for equality"),
        "eq" => SeccompCmpOp::Eq,
        "ne" => SeccompCmpOp::Ne,
        "lt" => SeccompCmpOp::Lt,
        "le" => SeccompCmpOp::Le,
        "gt" => SeccompCmpOp::Gt,
        _ => SeccompCmpOp::Ge,
    };
    SeccompCondition::new(number(arg) as u8, length, operator, value)
        .unwrap_or_else(|error| stop(CANNOT_EXPRESS, error))
}

#[derive(Default)]
struct Rules {
    default: u32,
    verdict: Option<u32>,
    calls: BTreeMap<i64, Vec<Vec<SeccompCondition>>>,
}

fn read(path: &str) -> Rules {
    let text = fs::read_to_string(path).unwrap_or_else(|error| stop(1, error));
    let mut rules = Rules::default();
    let (mut arches, mut call) = (0, 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // The verdict for other architectures is fixed: the process is killed.
            [] | ["bad_arch" | "x32" | "hot", ..] => {}
            ["arch", _, token, default] => {
                arches += 1;
                if arches > 1 || number(token) != X86_64 {
                    stop(CANNOT_EXPRESS, "it supports one architecture per program");
                }
                rules.default = number(default) as u32;
            }
            ["call", nr, _] => call = number(nr) as i64,
            ["then", verdict] => {
                let verdict = number(verdict) as u32;
                if *rules.verdict.get_or_insert(verdict) != verdict {
                    stop(CANNOT_EXPRESS, "it supports one action besides the default");
                }
                rules.calls.entry(call).or_default().push(Vec::new());
            }
            ["test", test @ ..] => {
                if let Some(conditions) = rules.calls.entry(call).or_default().last_mut() {
                    conditions.push(condition(test));
                }
            }
            _ => stop(1, format!("cannot read: {line}")),
        }
    }
    rules
}

/// The rules in the types of the library, where a syscall without conditions has no rules.
fn chains(rules: &Rules) -> BTreeMap<i64, Vec<SeccompRule>> {
    let chain = |alternatives: &Vec<Vec<SeccompCondition>>| -> Vec<SeccompRule> {
        if alternatives.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let rule = |conditions: &Vec<SeccompCondition>| {
            SeccompRule::new(conditions.clone()).unwrap_or_else(|error| stop(1, error))
        };
        alternatives.iter().map(rule).collect()
    };
    rules.calls.iter().map(|(nr, alternatives)| (*nr, chain(alternatives))).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, output, _, milliseconds] = arguments.as_slice() else {
        stop(1, "usage: main RULES PROGRAM - MILLISECONDS")
    };
    let rules = read(path);
    let verdict = rules.verdict.unwrap_or(rules.default);
    let budget = Duration::from_millis(number(milliseconds));
    let mut times: Vec<Duration> = Vec::new();
    let mut program = BpfProgram::new();
    while times.is_empty() || times.iter().sum::<Duration>() < budget && times.len() < MAX_RUNS {
        let chains = chains(&rules);
        let start = Instant::now();
        let (mismatch, matched) = (action(rules.default), action(verdict));
        let filter = SeccompFilter::new(chains, mismatch, matched, TargetArch::x86_64);
        program = filter
            .and_then(BpfProgram::try_from)
            .unwrap_or_else(|error| stop(CANNOT_EXPRESS, error));
        times.push(start.elapsed());
    }
    let instructions = program.iter().flat_map(|insn| {
        let mut bytes = insn.code.to_ne_bytes().to_vec();
        bytes.extend([insn.jt, insn.jf]);
        bytes.extend(insn.k.to_ne_bytes());
        bytes
    });
    if let Err(error) = fs::write(output, instructions.collect::<Vec<u8>>()) {
        stop(1, format!("{output}: {error}"));
    }
    times.sort();
    println!("time {} {}", times.len(), times[times.len() / 2].as_nanos());
    println!("memory {}", peak());
}

/// The maximum resident memory of this process in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_else(|error| stop(1, error));
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    number(line.and_then(|line| line.split_whitespace().next()).unwrap_or("0"))
}
