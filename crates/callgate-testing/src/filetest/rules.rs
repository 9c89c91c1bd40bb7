//! Policies as text, for tests. Conditions nest as in none of the input languages.
//!
//! ```text
//! read write: ALLOW
//! openat: ALLOW if any(a2 == 0, all(a2 & 3 == 1, a1 >= 0x1000))
//! *: ERRNO(EPERM)
//! ```
//!
//! The first rule that matches decides; `*` stands for all syscalls, in the last rule. A condition is `always`,
//! `any(…)`, `all(…)`, `not(…)`, or a comparison of an argument `a0` to `a5` (32 bits on a 32-bit architecture), of
//! its low or high half (`a0.low`, `a0.high`), or of some of its bits (`a0 & 7`).

use callgate_bpf::SyscallTable;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict, errno_number};

/// A policy with the same rules for each of these architectures. It kills processes of other architectures.
pub(super) fn policy(text: &str, arches: &[Arch]) -> Policy {
    let sections = arches
        .iter()
        .map(|&arch| {
            let mut rules = rules(text, arch);
            let last = rules.pop().filter(|rule| rule.syscalls == SyscallSet::range(0, u32::MAX));
            let default = last.expect("`*: VERDICT` ends the rules").verdict;
            Section::new(arch, rules, default)
        })
        .collect();
    Policy::new(sections, Verdict::KILL_PROCESS).unwrap()
}

fn rules(text: &str, arch: Arch) -> Vec<Rule> {
    let mut tokens = Tokens { rest: tokens(text), wide: arch.is_64bit() };
    let mut rules = Vec::new();
    while !tokens.rest.is_empty() {
        let mut syscalls = Vec::new();
        loop {
            match tokens.next() {
                ":" => break,
                "*" => syscalls.push((0, u32::MAX)),
                name => {
                    let nr = arch.number(name).unwrap_or_else(|| panic!("{arch} has no {name}"));
                    syscalls.push((nr, nr));
                }
            }
        }
        let verdict = tokens.verdict();
        let when = if tokens.take("if") { tokens.condition() } else { Condition::always() };
        rules.push(Rule { syscalls: SyscallSet::from_ranges(syscalls), when, verdict });
    }
    rules
}

/// Names, numbers, and signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for line in text.lines().map(|line| line.split('#').next().unwrap()) {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            let is_relation = |c: char| "=!<>".contains(c);
            let end = match first {
                c if is_word(c) => rest.find(|c| !is_word(c)),
                c if is_relation(c) => rest.find(|c| !is_relation(c)),
                _ => Some(1),
            };
            let (token, next) = rest.split_at(end.unwrap_or(rest.len()));
            tokens.push(token);
            rest = next.trim_start();
        }
    }
    tokens.reverse();
    tokens
}

struct Tokens<'t> {
    /// From the last to the first.
    rest: Vec<&'t str>,
    /// Whether arguments have 64 bits.
    wide: bool,
}

impl<'t> Tokens<'t> {
    fn next(&mut self) -> &'t str {
        self.rest.pop().expect("the rules end too early")
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest.last() == Some(&token);
        if found {
            self.rest.pop();
        }
        found
    }

    fn expect(&mut self, token: &str) {
        let found = self.next();
        assert_eq!(found, token);
    }

    fn number(&mut self) -> u64 {
        let text = self.next();
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn verdict(&mut self) -> Verdict {
        match self.next() {
            "ALLOW" => Verdict::ALLOW,
            "LOG" => Verdict::LOG,
            "TRAP" => Verdict::trap(0),
            "KILL_PROCESS" => Verdict::KILL_PROCESS,
            "ERRNO" => {
                self.expect("(");
                let name = self.next();
                self.expect(")");
                Verdict::errno(
                    errno_number(name).unwrap_or_else(|| panic!("unknown error `{name}`")),
                )
            }
            other => panic!("`{other}` is not a verdict"),
        }
    }

    fn condition(&mut self) -> Condition {
        match self.next() {
            "always" => Condition::always(),
            "all" => Condition::all(self.parts()),
            "any" => Condition::any(self.parts()),
            "not" => {
                let [part] = self.parts().try_into().expect("`not` has one part");
                Condition::negated(part)
            }
            field => self.comparison(field),
        }
    }

    fn parts(&mut self) -> Vec<Condition> {
        self.expect("(");
        let mut parts = vec![self.condition()];
        while self.take(",") {
            parts.push(self.condition());
        }
        self.expect(")");
        parts
    }

    fn comparison(&mut self, field: &str) -> Condition {
        let (name, half) = field.split_once('.').unwrap_or((field, ""));
        let arg = name.strip_prefix('a').and_then(|digit| digit.parse().ok());
        let arg: u8 = arg.unwrap_or_else(|| panic!("`{field}` is not an argument"));
        let (field, shift) = match half {
            "" if !self.wide => (Field::arg_low(arg), 0),
            "low" => (Field::arg_low(arg), 0),
            "high" => (Field::arg(arg), 32),
            _ => (Field::arg(arg), 0),
        };
        let field = field.unwrap();
        let mask = if self.take("&") { self.number() } else { u64::MAX };
        let cmp = match self.next() {
            "==" => Cmp::Eq,
            "!=" => Cmp::Ne,
            "<" => Cmp::Lt,
            "<=" => Cmp::Le,
            ">" => Cmp::Gt,
            ">=" => Cmp::Ge,
            other => panic!("`{other}` is not a comparison"),
        };
        let value = self.number() << shift;
        Condition::test(Test { field, mask: (mask << shift) & field.full_mask(), cmp, value })
    }
}
