//! An independent reader of the subset of Kafel that profiles use.

use std::collections::HashMap;

use callgate_core::{SeccompData, Verdict};

/// Tests of arguments, each with a mask and a value, in alternatives.
type Alternatives = Vec<Vec<(usize, u64, u64)>>;

/// A Kafel policy: the rule of each number.
pub(super) struct Kafel {
    rules: HashMap<u32, (Verdict, Alternatives)>,
    default: Verdict,
}

fn kafel_verdict(text: &str) -> Verdict {
    match text.trim() {
        "ALLOW" => Verdict::ALLOW,
        "LOG" => Verdict::LOG,
        "KILL_PROCESS" => Verdict::KILL_PROCESS,
        errno => {
            let number = errno.strip_prefix("ERRNO(").and_then(|rest| rest.strip_suffix(')'));
            Verdict::errno(number.unwrap().parse().unwrap())
        }
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim().strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Reads the subset of Kafel that profiles use.
pub(super) fn read_kafel(text: &str) -> Kafel {
    let code: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for line in code.iter().filter(|line| line.starts_with("#define")) {
        let [_, name, number] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(numbers.insert(name, number.parse().unwrap()), None);
    }
    let body = code.iter().filter(|line| !line.starts_with('#')).copied().collect::<String>();
    let (rules, default) = body.split_once("}USE generated DEFAULT ").unwrap();
    let rules = rules.strip_prefix("POLICY generated {").unwrap();
    let mut all = HashMap::new();
    // A block ends at the closing brace that is not part of a condition.
    let (mut depth, mut start) = (0, 0);
    for (at, c) in rules.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == '}' && depth == 0 {
            let block = rules[start..at].trim_start_matches(',');
            let (verdict, list) = block.split_once('{').unwrap();
            for (nr, when) in read_list(list, &numbers) {
                assert!(all.insert(nr, (kafel_verdict(verdict), when)).is_none(), "{nr} twice");
            }
            start = at + 1;
        }
    }
    Kafel { rules: all, default: kafel_verdict(default) }
}

/// `name, SYSCALL[3], name(arg0, arg1) { … }`.
fn read_list(list: &str, numbers: &HashMap<&str, u32>) -> Vec<(u32, Alternatives)> {
    let mut rules = Vec::new();
    let mut rest = list.trim();
    while !rest.is_empty() {
        let end = rest.find([',', '(']).unwrap_or(rest.len());
        let word = rest[..end].trim();
        let nr = match word.strip_prefix("SYSCALL[") {
            Some(number) => number.strip_suffix(']').unwrap().parse().unwrap(),
            None => *numbers.get(word).unwrap_or_else(|| panic!("{word} is not defined")),
        };
        if !rest[end..].starts_with('(') {
            rules.push((nr, vec![Vec::new()]));
            rest = rest[end..].trim_start_matches(',').trim();
            continue;
        }
        let (_, after) = rest.split_once('{').unwrap();
        let (condition, after) = after.split_once('}').unwrap();
        let test = |test: &str| {
            let (left, value) = test.split_once(" == ").unwrap();
            let left = left.trim().trim_start_matches('(').trim_end_matches(')');
            let (arg, mask) = match left.split_once(" & ") {
                Some((arg, mask)) => (arg, hex(mask)),
                None => (left, u64::MAX),
            };
            (arg.strip_prefix("arg").unwrap().parse().unwrap(), mask, hex(value))
        };
        let when = condition.split("||").map(|all| all.split("&&").map(test).collect()).collect();
        rules.push((nr, when));
        rest = after.trim_start_matches(',').trim();
    }
    rules
}

impl Kafel {
    pub(super) fn verdict(&self, data: &SeccompData) -> Verdict {
        let holds = |all: &Vec<(usize, u64, u64)>| {
            all.iter().all(|(arg, mask, value)| data.args[*arg] & mask == *value)
        };
        match self.rules.get(&data.nr) {
            Some((verdict, when)) if when.iter().any(holds) => *verdict,
            _ => self.default,
        }
    }
}
