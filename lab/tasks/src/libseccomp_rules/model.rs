//! What the functions of a sequence answer, and the verdicts of the filter, by the man pages.

use std::collections::BTreeMap;

use callgate_profile_fuzz::machine::{Machine, X32_BIT};
use callgate_profile_fuzz::rule::{Comparison, Op};
use callgate_profile_fuzz::rules::RuleSet;

use super::sequence::{Rule, Sequence};

/// What is known about the result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Is(i32),
    /// Success or this error: the evaluator cannot tell whether rules contradict each other.
    MayBe(i32),
}

/// The rules of a syscall, by number; of a syscall without number by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(u32),
    Missing(&'static str),
}

#[derive(Clone, Debug)]
struct Filter {
    machine: Machine,
    rules: BTreeMap<Key, Vec<(Vec<Comparison>, u32)>>,
}

/// A context.
#[derive(Clone, Debug)]
pub(super) struct Model {
    default: u32,
    bad_arch: u32,
    filters: Vec<Filter>,
    snapshots: Vec<Vec<Filter>>,
    /// Whether libseccomp itself hangs or corrupts its memory for some of the rules.
    pub(super) is_corrupt: bool,
}

const EACCES: i32 = -13;
const EEXIST: i32 = -17;
const EINVAL: i32 = -22;
const EDOM: i32 = -33;
const EOPNOTSUPP: i32 = -95;

impl Model {
    /// A context without architecture.
    pub(super) fn new(sequence: &Sequence) -> Model {
        Model {
            default: sequence.default,
            bad_arch: sequence.bad_arch,
            filters: Vec::new(),
            snapshots: Vec::new(),
            is_corrupt: false,
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        !self.filters.is_empty()
    }

    /// The architecture whose byte order the program has.
    pub(super) fn machine(&self) -> Option<Machine> {
        self.filters.first().map(|filter| filter.machine)
    }

    pub(super) fn add_arch(&mut self, machine: Machine) -> i32 {
        if self.filters.iter().any(|filter| filter.machine == machine) {
            return EEXIST;
        }
        let big = machine.is_big_endian();
        if self.filters.iter().any(|filter| filter.machine.is_big_endian() != big) {
            return EDOM;
        }
        self.filters.push(Filter { machine, rules: BTreeMap::new() });
        0
    }

    pub(super) fn remove_arch(&mut self, machine: Machine) -> i32 {
        let before = self.filters.len();
        self.filters.retain(|filter| filter.machine != machine);
        if self.filters.len() == before { EEXIST } else { 0 }
    }

    pub(super) fn optimize(&self, value: u32) -> i32 {
        match value {
            _ if !self.is_valid() => EINVAL,
            1 | 2 => 0,
            _ => EOPNOTSUPP,
        }
    }

    pub(super) fn start(&mut self) -> i32 {
        if !self.is_valid() {
            return EINVAL;
        }
        self.snapshots.push(self.filters.clone());
        0
    }

    pub(super) fn reject(&mut self) {
        if !self.is_valid() {
            return;
        }
        if let Some(filters) = self.snapshots.pop() {
            self.filters = filters;
        }
    }

    pub(super) fn commit(&mut self) -> i32 {
        if !self.is_valid() {
            return EINVAL;
        }
        self.snapshots.pop();
        0
    }

    pub(super) fn merge(&mut self, other: &Model) -> i32 {
        if !self.is_valid() || !other.is_valid() {
            return EINVAL;
        }
        let big = |model: &Model| model.machine().map(Machine::is_big_endian);
        if big(self) != big(other) {
            return EDOM;
        }
        let has = |filter: &Filter| self.filters.iter().any(|mine| mine.machine == filter.machine);
        if other.filters.iter().any(has) {
            return EEXIST;
        }
        self.filters.extend(other.filters.iter().cloned());
        self.is_corrupt |= other.is_corrupt;
        0
    }

    /// The result of setting the priority of a syscall.
    pub(super) fn prioritize(&self) -> i32 {
        if self.is_valid() { 0 } else { EINVAL }
    }

    /// What adding a rule returns, and the model with the rule.
    pub(super) fn expect(&self, rule: &Rule) -> (Expected, Model) {
        let mut changed = self.clone();
        if !self.is_valid() {
            return (Expected::Is(EINVAL), changed);
        }
        if rule.action == self.default {
            return (Expected::Is(EACCES), changed);
        }
        let (mut certain, mut possible) = (false, false);
        for filter in &mut changed.filters {
            for (key, comparisons) in parts(filter.machine, rule) {
                let rules = filter.rules.entry(key).or_default();
                rules.push((comparisons, rule.action));
                let (set, refused) = build(filter.machine, rules);
                changed.is_corrupt |= set.is_corrupt();
                match refused {
                    Some(true) => certain = true,
                    Some(false) => possible = true,
                    None => possible |= set.is_uncertain(),
                }
            }
        }
        let expected = match (certain, possible) {
            (true, _) => Expected::Is(EEXIST),
            (false, true) => Expected::MayBe(EEXIST),
            (false, false) => Expected::Is(0),
        };
        (expected, changed)
    }

    /// The verdicts that a syscall may have.
    pub(super) fn verdicts(&self, token: u32, nr: u32, args: &[u64; 6]) -> Vec<u32> {
        let is_x32 = token == Machine::X32.token() && nr >= X32_BIT && nr != u32::MAX;
        let mut known = self.filters.iter().filter(|filter| filter.machine.token() == token);
        let found = known.find(|filter| {
            filter.machine.token() != Machine::X32.token()
                || (filter.machine == Machine::X32) == is_x32
        });
        let Some(filter) = found else { return vec![self.bad_arch] };
        let Some(rules) = filter.rules.get(&Key::Number(nr)) else { return vec![self.default] };
        let (mut set, _) = build(filter.machine, rules);
        set.finish();
        let first = set.verdict(args).unwrap_or(self.default);
        let others = rules.iter().map(|(_, action)| *action);
        let others = others.filter(|action| *action != first && set.allows(args, *action));
        std::iter::once(first).chain(others).collect()
    }
}

/// The rules of a syscall, and whether the last one is refused: certainly, perhaps or not.
fn build(machine: Machine, rules: &[(Vec<Comparison>, u32)]) -> (RuleSet, Option<bool>) {
    let mut set = RuleSet::new(machine.is_wide());
    let mut refused = None;
    for (comparisons, action) in rules {
        refused = set.add(comparisons, *action).err().map(|conflict| conflict.is_certain);
    }
    (set, refused)
}

/// The syscalls of a machine for which a rule becomes rules, with their comparisons.
fn parts(machine: Machine, rule: &Rule) -> Vec<(Key, Vec<Comparison>)> {
    let mut parts = Vec::new();
    // Bits of a value outside its mask are ignored.
    let masked = |test: &Comparison| Comparison { datum: test.datum & test.mask, ..*test };
    let given: Vec<Comparison> = rule.comparisons.iter().map(masked).collect();
    let through = machine.multiplexed(rule.name);
    if let Some(call) = through {
        let selects = Comparison { arg: 0, op: Op::Eq, mask: u64::MAX, datum: call.call };
        let others = given.iter().filter(|test| test.arg != 0);
        let comparisons = std::iter::once(&selects).chain(others).copied().collect();
        parts.push((Key::Number(call.number), comparisons));
    }
    let has_multiplexers = machine.multiplexed("socket").is_some();
    match machine.number(rule.name) {
        Some(nr) => parts.push((Key::Number(nr), given)),
        None if through.is_some() || !has_multiplexers => {
            parts.push((Key::Missing(rule.name), given));
        }
        None => {}
    }
    parts
}
