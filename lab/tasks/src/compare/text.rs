//! Rules as text, for the drivers of other compilers and for rule sets in files.
//!
//! One statement per line, with words separated by spaces; empty lines and lines that begin with `#` are
//! skipped. A line belongs to the nearest line above it that can contain it:
//!
//! ```text
//! bad_arch VERDICT                 the verdict for syscalls of other architectures
//! x32 LAST VERDICT                 the verdict for numbers from 0x40000000 to LAST on x86_64
//! hot NR SHARE                     a frequent syscall, the most frequent first; in thousandths
//! arch NAME TOKEN DEFAULT          the rules of an architecture
//!   call NR NAME                   the alternatives of a syscall; `-`: a number without a name
//!     then VERDICT                 if all tests below it hold
//!       test ARG BITS CMP VALUE MASK    (ARG & MASK) CMP VALUE; ARG 6 is the instruction pointer
//! ```
//!
//! Numbers are decimal or hexadecimal with `0x`.

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use callgate::{Arch, Verdict};
use callgate_core::policy::{Cmp, Field, Test};

use super::rules::{Alternative, Block, Edges, Rules};
use callgate_tasks::Result;

/// The keywords of the comparisons.
const COMPARISONS: [(Cmp, &str); 6] = [
    (Cmp::Eq, "eq"),
    (Cmp::Ne, "ne"),
    (Cmp::Lt, "lt"),
    (Cmp::Le, "le"),
    (Cmp::Gt, "gt"),
    (Cmp::Ge, "ge"),
];

/// The argument number that stands for the instruction pointer.
const INSTRUCTION_POINTER: u8 = 6;

/// Writes rules.
pub(super) fn write(rules: &Rules) -> String {
    let mut text = format!("bad_arch {:#010x}\n", rules.edges.bad_arch.0);
    if let Some((last, verdict)) = rules.edges.x32 {
        let _ = writeln!(text, "x32 {last:#010x} {:#010x}", verdict.0);
    }
    for (nr, share) in &rules.hot {
        let _ = writeln!(text, "hot {nr} {share}");
    }
    for block in &rules.blocks {
        let (arch, default) = (block.arch, block.default.0);
        let _ = writeln!(text, "arch {arch} {:#010x} {default:#010x}", arch.token());
        for (nr, alternatives) in &block.syscalls {
            let _ = writeln!(text, "  call {nr} {}", arch.syscall_name(*nr).unwrap_or("-"));
            for Alternative { tests, verdict } in alternatives {
                let _ = writeln!(text, "    then {:#010x}", verdict.0);
                tests.iter().for_each(|test| write_test(&mut text, test));
            }
        }
    }
    text
}

fn write_test(text: &mut String, test: &Test) {
    let field = test.field;
    let arg = field.low_word().argument().map_or(INSTRUCTION_POINTER, |(arg, _)| arg);
    let bits = if field.high_word().is_some() { 64 } else { 32 };
    let word = COMPARISONS.iter().find(|(cmp, _)| *cmp == test.cmp).map_or("", |(_, word)| word);
    let _ = writeln!(text, "      test {arg} {bits} {word} {:#x} {:#x}", test.value, test.mask);
}

/// Reads rules; errors contain the line number.
pub(super) fn parse(text: &str) -> Result<Rules> {
    let edges = Edges { bad_arch: Verdict::KILL_THREAD, x32: None, bit_30: false };
    let mut rules = Rules { blocks: Vec::new(), edges, hot: Vec::new() };
    let mut syscall = None;
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        statement(&mut rules, &mut syscall, &words)
            .map_err(|error| format!("line {}: {error}: {}", index + 1, line.trim()))?;
    }
    Ok(rules)
}

/// Reads one line; `call` is the number that alternatives belong to.
fn statement(rules: &mut Rules, syscall: &mut Option<u32>, words: &[&str]) -> Result<()> {
    match words {
        ["bad_arch", verdict] => rules.edges.bad_arch = Verdict(word(verdict)?),
        ["x32", last, verdict] => rules.edges.x32 = Some((word(last)?, Verdict(word(verdict)?))),
        ["hot", nr, share] => rules.hot.push((word(nr)?, word(share)?)),
        ["arch", name, token, default] => {
            let arch = Arch::from_name(name).ok_or("unknown architecture")?;
            if word(token)? != arch.token() {
                return Err(format!("the token of {arch} is {:#010x}", arch.token()));
            }
            let default = Verdict(word(default)?);
            rules.blocks.push(Block { arch, default, syscalls: Default::default() });
            *syscall = None;
        }
        ["call", nr, _] => {
            let block = rules.blocks.last_mut().ok_or("`arch` comes first")?;
            let nr = word(nr)?;
            if block.syscalls.insert(nr, Vec::new()).is_some() {
                return Err("this syscall has rules already".to_owned());
            }
            *syscall = Some(nr);
        }
        ["then", verdict] => {
            let alternatives = alternatives(rules, *syscall).ok_or("`call` comes first")?;
            alternatives.push(Alternative::always(Verdict(word(verdict)?)));
        }
        ["test", arg, bits, cmp, value, mask] => {
            let test = test(arg, bits, cmp, value, mask)?;
            let alternative = alternatives(rules, *syscall).and_then(|all| all.last_mut());
            alternative.ok_or("`then` comes first")?.tests.push(test);
        }
        _ => return Err("unknown statement, or a wrong number of words".to_owned()),
    }
    Ok(())
}

/// The alternatives of the syscall that was named last.
fn alternatives(rules: &mut Rules, syscall: Option<u32>) -> Option<&mut Vec<Alternative>> {
    rules.blocks.last_mut()?.syscalls.get_mut(&syscall?)
}

fn test(arg: &str, bits: &str, cmp: &str, value: &str, mask: &str) -> Result<Test> {
    let arg: u8 = arg.parse().map_err(|_| "the argument is not a number")?;
    let field = match bits {
        "64" if arg == INSTRUCTION_POINTER => Some(Field::instruction_pointer()),
        "64" => Field::arg(arg),
        "32" => Field::arg_low(arg),
        _ => return Err("the width is 32 or 64".to_owned()),
    };
    let (cmp, _) = COMPARISONS
        .iter()
        .find(|(_, word)| *word == cmp)
        .ok_or("unknown comparison; the comparisons are eq, ne, lt, le, gt, ge")?;
    Ok(Test {
        field: field.ok_or("arguments are 0 to 5; 6 is the instruction pointer, 64 bits wide")?,
        mask: number(mask)?,
        cmp: *cmp,
        value: number(value)?,
    })
}

fn number(text: &str) -> Result<u64> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("{text:?} is not a 64-bit number"))
}

fn word(text: &str) -> Result<u32> {
    u32::try_from(number(text)?).map_err(|_| format!("{text} is not a 32-bit number"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rules() -> Rules {
        let test = |field: Option<Field>, cmp, value, mask| Test {
            field: field.unwrap(),
            mask,
            cmp,
            value,
        };
        let ip = Some(Field::instruction_pointer());
        let tests = vec![
            test(Field::arg(0), Cmp::Eq, u64::MAX, u64::MAX),
            test(Field::arg_low(5), Cmp::Ne, 3, 0xffff),
            test(Field::arg(1), Cmp::Lt, 4, u64::MAX),
            test(Field::arg(2), Cmp::Le, 5, u64::MAX),
            test(Field::arg(3), Cmp::Gt, 6, u64::MAX),
            test(ip, Cmp::Ge, 1 << 40, u64::MAX),
        ];
        let conditional = Alternative { tests, verdict: Verdict::ALLOW };
        let syscalls = BTreeMap::from([
            (0, vec![Alternative::always(Verdict::ALLOW)]),
            (9_999, vec![conditional, Alternative::always(Verdict::LOG)]),
        ]);
        let mut rules = Rules::new(Arch::X86_64, Verdict::errno(1), syscalls.clone());
        let (arch, default) = (Arch::X86, Verdict::KILL_PROCESS);
        rules.blocks.push(Block { arch, default, syscalls });
        rules.hot = vec![(3, 700), (1, 300)];
        rules
    }

    #[test]
    fn rules_read_back_what_was_written() {
        assert_eq!(parse(&write(&rules())), Ok(rules()));
        let commented = write(&rules()).replace("  call", "\n# why\n  call");
        assert_eq!(parse(&commented), Ok(rules()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let arch = "arch x86_64 0xc000003e 0x50001\n";
        for (text, expected) in [
            ("call 1 read\n".to_owned(), "line 1: `arch` comes first: call 1 read"),
            (format!("{arch}then 0"), "line 2: `call` comes first: then 0"),
            (format!("{arch}call 1 write\ntest 0 64 eq 1 1"), "line 3: `then` comes first"),
            (format!("{arch}call 1 write\ncall 1 write"), "line 3: this syscall has rules already"),
            (format!("{arch}call 1 write\nthen 0\ntest 7 64 eq 1 1"), "arguments are 0 to 5"),
            (format!("{arch}call 1 write\nthen 0\ntest 1 16 eq 1 1"), "the width is 32 or 64"),
            (format!("{arch}call 1 write\nthen 0\ntest 1 32 is 1 1"), "the comparisons are eq, ne"),
            ("arch x86_64 7 0".to_owned(), "the token of x86_64 is 0xc000003e"),
            ("bad_arch 0x1ffffffff".to_owned(), "is not a 32-bit number"),
            ("bad_arch -1".to_owned(), "\"-1\" is not a 64-bit number"),
            ("nonsense".to_owned(), "unknown statement"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
