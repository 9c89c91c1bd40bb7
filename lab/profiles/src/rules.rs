//! The meaning of libseccomp's rules of one syscall, from `seccomp_rule_add(3)` and, where the man page is
//! incomplete, from the behaviour of the library.
//!
//! - The rules form a union; the first unconditional rule of a syscall replaces those before it, and those after
//!   it have no effect.
//! - A rule that has all comparisons of another one and more has no effect.
//! - If several conditional rules match, the one whose comparisons come first decides. Comparisons are ordered word
//!   by word (an argument has two on 64-bit architectures): the higher argument first, then `==`, `!=` and masks
//!   before `<` and `<=` before `>` and `>=`, then the larger constant, or the smaller one for `<` and `<=`; equal
//!   ones keep the order in which they were added.
//! - A comparison with the mask 0 always holds, and a constant is truncated to its mask and to the width of
//!   arguments.
//!
//! [`crate::tree`] decides whether libseccomp accepts a rule.

use crate::rule::{Comparison, Op, Rule};
use crate::tree::{Conflict, Tree};

/// The rules of one syscall.
#[derive(Clone, Debug)]
pub struct RuleSet {
    wide: bool,
    always: Option<u32>,
    was_uncertain: bool,
    rules: Vec<Rule>,
    /// Indices of rules in their order, computed by `finish`.
    order: Vec<usize>,
    tree: Tree,
}

impl RuleSet {
    /// An empty set; `wide` for a 64-bit architecture.
    pub fn new(wide: bool) -> RuleSet {
        RuleSet {
            wide,
            always: None,
            was_uncertain: false,
            rules: Vec::new(),
            order: Vec::new(),
            tree: Tree::new(wide),
        }
    }

    fn width(&self) -> u64 {
        if self.wide { u64::MAX } else { u64::from(u32::MAX) }
    }

    /// Adds a rule.
    ///
    /// # Errors
    /// If libseccomp would refuse it.
    pub fn add(&mut self, comparisons: &[Comparison], action: u32) -> Result<(), Conflict> {
        if self.always.is_some() {
            return Ok(());
        }
        let width = self.width();
        let narrow = |test: &Comparison| Comparison {
            mask: test.mask & width,
            datum: test.datum & width,
            ..*test
        };
        let mut comparisons: Vec<Comparison> = comparisons.iter().map(narrow).collect();
        comparisons.retain(|test| test.op != Op::MaskedEq || test.mask | test.datum != 0);
        // libseccomp permits one comparison per argument; those of the specification have no order.
        comparisons.sort_by_key(|test| {
            let datum = if test.op.is_ascending() { test.datum } else { !test.datum };
            (test.arg, 3 - test.op.class(), datum)
        });
        comparisons.dedup();
        if comparisons.is_empty() {
            self.was_uncertain |= self.tree.is_uncertain();
            (self.always, self.rules, self.tree) = (Some(action), Vec::new(), Tree::new(self.wide));
            return Ok(());
        }
        let rule = Rule { comparisons, action };
        let added = self.tree.add(&rule);
        self.rules.push(rule);
        added
    }

    /// Computes the order of rules, which verdicts need.
    pub fn finish(&mut self) {
        let is_part = |other: &Rule, rule: &Rule| {
            other.comparisons.len() < rule.comparisons.len()
                && other.comparisons.iter().all(|test| rule.comparisons.contains(test))
        };
        let mut level = Level::default();
        for (index, rule) in self.rules.iter().enumerate() {
            let words = rule.comparisons.iter().flat_map(|test| test.words(self.wide));
            level.insert(words.collect::<Vec<_>>().as_slice(), index);
        }
        level.walk(&mut self.order);
        let has_effect = |rule: &Rule| !self.rules.iter().any(|other| is_part(other, rule));
        self.order.retain(|index| self.rules.get(*index).is_some_and(has_effect));
    }

    /// The verdict for these arguments; `None` if no rule matches.
    pub fn verdict(&self, args: &[u64; 6]) -> Option<u32> {
        let width = self.width();
        let holds = |rule: &&Rule| rule.comparisons.iter().all(|test| test.holds(args, width));
        let first = || self.order.iter().filter_map(|index| self.rules.get(*index)).find(holds);
        self.always.or_else(|| first().map(|rule| rule.action))
    }

    /// The verdict of the program that libseccomp generates, which contradicts its rules where ordered comparisons or
    /// `!=` share nodes of its tree ([`crate::tree`]).
    pub fn generated(&self, args: &[u64; 6]) -> Option<u32> {
        self.always.or_else(|| self.tree.walk(args))
    }

    /// Whether the program that libseccomp generates may contradict the rules: they have more than one comparison, and
    /// some ordered comparison or `!=`.
    pub fn is_contradictable(&self) -> bool {
        let mut comparisons = self.rules.iter().flat_map(|rule| &rule.comparisons);
        self.rules.len() > 1 && comparisons.any(|test| test.op.is_relational())
    }

    /// Whether libseccomp might have refused a rule.
    pub fn is_uncertain(&self) -> bool {
        self.was_uncertain || self.tree.is_uncertain()
    }

    /// Whether a verdict is correct. If a rule compares an argument twice, libseccomp's order of the rules is undefined, and
    /// the verdict of any matching rule is correct.
    pub fn allows(&self, args: &[u64; 6], verdict: u32) -> bool {
        let repeats =
            |rule: &Rule| rule.comparisons.windows(2).any(|pair| pair[0].arg == pair[1].arg);
        let width = self.width();
        let mut matching = self
            .rules
            .iter()
            .filter(|rule| rule.comparisons.iter().all(|test| test.holds(args, width)));
        self.rules.iter().any(repeats) && matching.any(|rule| rule.action == verdict)
    }

    /// The number of comparisons of words.
    pub fn size(&self) -> usize {
        if self.always.is_some() { 0 } else { self.tree.size() }
    }

    /// Whether a rule corrupted libseccomp's lists, so that it may hang.
    pub fn is_corrupt(&self) -> bool {
        self.tree.is_corrupt()
    }
}

/// A comparison of one word, in libseccomp's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    /// Twice the index of the argument, plus one for the high half.
    place: usize,
    class: u8,
    is_ascending: bool,
    /// Words with equal keys are the same.
    test: (u8, u32, u32),
}

impl Word {
    /// Whether this one comes after another one.
    fn is_after(&self, other: &Word) -> bool {
        let (mine, theirs) = ((self.place, self.class), (other.place, other.class));
        match self.is_ascending {
            _ if mine != theirs => mine < theirs,
            true => self.test.1 > other.test.1,
            false => self.test.1 < other.test.1,
        }
    }

    fn is_same(&self, other: &Word) -> bool {
        (self.place, self.test) == (other.place, other.test)
    }
}

impl Comparison {
    /// The compared words, the high one first.
    fn words(&self, wide: bool) -> Vec<Word> {
        let (op, class) = (self.op, self.op.class());
        let word = |high: bool| {
            let half = |value: u64| if high { (value >> 32) as u32 } else { value as u32 };
            // `>` and `<=` are one test, `>=` and `<` another; both compare high words with `>`.
            let kind = match op {
                Op::Eq | Op::Ne => 0,
                Op::MaskedEq => 1,
                Op::Lt | Op::Ge if !high => 2,
                _ => 3,
            };
            let mask = half(self.mask);
            let place = 2 * self.arg + usize::from(high);
            let test = (kind, half(self.datum) & mask, mask);
            Word { place, class, is_ascending: op.is_ascending(), test }
        };
        if wide { vec![word(true), word(false)] } else { vec![word(false)] }
    }
}

/// Rules with equal preceding words, in order.
#[derive(Clone, Debug, Default)]
struct Level {
    /// Rules that end here.
    ends: Vec<usize>,
    below: Vec<(Word, Level)>,
}

impl Level {
    fn insert(&mut self, words: &[Word], rule: usize) {
        let Some((word, rest)) = words.split_first() else {
            self.ends.push(rule);
            return;
        };
        let stop =
            self.below.iter().position(|(other, _)| other.is_same(word) || other.is_after(word));
        let at = stop.unwrap_or(self.below.len());
        if !self.below.get(at).is_some_and(|(other, _)| other.is_same(word)) {
            self.below.insert(at, (*word, Level::default()));
        }
        if let Some((_, level)) = self.below.get_mut(at) {
            level.insert(rest, rule);
        }
    }

    fn walk(&self, order: &mut Vec<usize>) {
        order.extend(&self.ends);
        for (_, level) in &self.below {
            level.walk(order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOW: u32 = 0x7fff_0000;
    const KILL: u32 = 0;

    fn test(arg: usize, op: Op, datum: u64) -> Comparison {
        Comparison { arg, op, mask: u64::MAX, datum }
    }

    fn set(wide: bool, rules: &[(&[Comparison], u32)]) -> RuleSet {
        let mut set = RuleSet::new(wide);
        for (comparisons, action) in rules {
            set.add(comparisons, *action).unwrap();
        }
        set.finish();
        set
    }

    #[test]
    fn unconditional_rules_win_and_the_first_of_them_stays() {
        let rules = set(true, &[(&[test(0, Op::Eq, 1)], KILL), (&[], ALLOW), (&[], KILL)]);
        assert_eq!(rules.verdict(&[1; 6]), Some(ALLOW));
    }

    #[test]
    fn higher_arguments_and_larger_constants_come_first_in_any_order() {
        let low = [test(0, Op::Eq, 1)];
        let high = [test(1, Op::Eq, 1)];
        for rules in
            [[(&low[..], KILL), (&high[..], ALLOW)], [(&high[..], ALLOW), (&low[..], KILL)]]
        {
            assert_eq!(set(true, &rules).verdict(&[1; 6]), Some(ALLOW));
        }
        let five = [test(0, Op::Gt, 5)];
        let nine = [test(0, Op::Gt, 9)];
        for rules in
            [[(&five[..], KILL), (&nine[..], ALLOW)], [(&nine[..], ALLOW), (&five[..], KILL)]]
        {
            for wide in [true, false] {
                assert_eq!(set(wide, &rules).verdict(&[10; 6]), Some(ALLOW));
                assert_eq!(set(wide, &rules).verdict(&[7; 6]), Some(KILL));
            }
        }
    }

    #[test]
    fn narrow_architectures_compare_the_low_half() {
        let rules = set(false, &[(&[test(0, Op::Eq, 1 << 32 | 7)], KILL)]);
        assert_eq!(rules.verdict(&[7 | 9 << 32; 6]), Some(KILL));
        assert_eq!(rules.verdict(&[8; 6]), None);
    }
}
