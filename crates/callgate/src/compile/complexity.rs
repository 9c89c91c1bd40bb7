//! Which calls make the diagram of a policy too large.

use super::CompileError;
use super::size::with_arch;
use callgate_proof::diagram::{DiagramError, Func, Store};
use callgate_proof::policy::{CallSet, Policy};

/// How many calls are listed.
const LISTED: usize = 5;

/// A policy whose diagram grew beyond the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TooComplex {
    pub(super) limit: DiagramError,
    /// Arch token, number, and nodes: the calls that took most, the largest first.
    largest: Vec<(u32, u32, usize)>,
    /// For how many calls, or groups of calls with the same rules, nodes were made before the end.
    parts: usize,
}

/// The function that a policy describes, as [`Store::policy`]; but the error knows which calls take most.
///
/// # Errors
/// When it grows beyond the budget of the store.
pub fn diagram(store: &mut Store, policy: &Policy) -> Result<Func, CompileError> {
    let mut largest = Vec::new();
    let mut made = |token, nr, nodes| largest.push((token, nr, nodes));
    let meaning = store.policy_by_syscall(policy, &mut made);
    meaning.map_err(|limit| {
        if !limit.is_out_of_budget() {
            return limit.into();
        }
        largest.retain(|(_, _, nodes)| *nodes > 0);
        let parts = largest.len();
        largest.sort_by_key(|(_, _, nodes)| std::cmp::Reverse(*nodes));
        largest.truncate(LISTED);
        TooComplex { limit, largest, parts }.into()
    })
}

impl TooComplex {
    /// What takes most, and what to do about it.
    pub(super) fn help(&self) -> Option<String> {
        if self.largest.is_empty() {
            return None;
        }
        let mut help =
            String::from("until the limit, most nodes were made for the conditions of\n");
        for (token, nr, nodes) in &self.largest {
            help += &format!("{nodes:>12}  {}\n", with_arch(*token, &CallSet::one(*nr)));
        }
        if let Some(more @ 1..) = self.parts.checked_sub(LISTED) {
            help += &format!("{:>12}  and {more} more\n", "");
        }
        help += "        compare fewer arguments of one call, or drop some of the values; a\n        \
                 stack of several filters has room for more: the kernel runs all of them";
        Some(help)
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::{Options, compile};
    use callgate_bpf::{Arch, Verdict};
    use callgate_proof::policy::{Condition, Field, Policy, Rule, Section, Test};

    use super::*;

    /// Unrelated conditions on two arguments: each value of one meets each of the other.
    fn pairs(nr: u32, count: u64) -> impl Iterator<Item = Rule> {
        let scattered = |value: u64| value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (0..count).map(move |value| {
            let test = |index, value| {
                Condition::test(Test::eq(Field::arg_low(index).unwrap(), scattered(value)))
            };
            let when = Condition::any([test(0, value), test(1, value + count)]);
            let verdict = Verdict::errno((value % 4000) as u16);
            Rule { calls: CallSet::one(nr), when, verdict }
        })
    }

    #[test]
    fn the_calls_that_take_most_nodes_are_named() {
        let rules = pairs(41, 50).chain(pairs(16, 3000)).chain(pairs(72, 100)).collect();
        let section = Section::new(Arch::X86_64, rules, Verdict::ALLOW);
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        let error = compile(&policy, &Options::default()).unwrap_err();
        assert!(error.to_string().contains("nodes (the limit)"), "{error}");
        let help = error.help().unwrap();
        let first = help.lines().nth(1).unwrap();
        assert!(first.ends_with("  ioctl (x86_64)"), "{help}");
        let nodes: usize = first.split_whitespace().next().unwrap().parse().unwrap();
        assert!((1_500_000..=2_000_000).contains(&nodes), "{help}");
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
    }
}
