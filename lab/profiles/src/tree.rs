//! A model of libseccomp's graph of conditional rules: when it refuses a rule with EEXIST, and when its programs
//! contradict the rules.
//!
//! libseccomp stores the conditional rules of a syscall as a graph of 32-bit comparisons: the words of the rules in
//! order, with equal ones shared; a level of the graph is an ordered list. A new rule is refused if it would end at
//! a comparison that already has another action, or that leads to another action. An ordered comparison has three
//! nodes (high word greater, high word equal, low word), and `!=` two, with a common successor. What one rule adds
//! to this successor is also reached by other rules that share one of the nodes, so the program matches more than
//! the rules: a defect of the library (2.5.4 to 2.6.1). `Tree::walk` executes that program.
//!
//! Before that, redundant rules are removed: a new rule removes those with the same action that contain its
//! comparisons consecutively, and is dropped if it contains an old one in this way. What the library removes may depend on
//! state that this model does not have. Then it is uncertain whether a later rule is refused:
//!
//! - a rule contains the first node of another rule
//! - both branches of a node lead to one action
//! - a removed rule shares nodes with a rule of another action
//! - a node would be linked twice; this corrupts the library's lists, and it may hang

use crate::rule::{Comparison, Op, Rule};

/// Why a rule is refused: it ends or continues where another action exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Whether it is certain that libseccomp refuses it.
    pub is_certain: bool,
}

/// The test of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Eq,
    Masked,
    Gt,
    Ge,
}

/// A successor of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Side {
    action: Option<u32>,
    next: Option<usize>,
}

#[derive(Clone, Debug)]
struct Node {
    arg: usize,
    high: bool,
    ask: Ask,
    /// The operator of the rule that created the node.
    op: Op,
    mask: u32,
    datum: u32,
    full: u64,
    yes: Side,
    no: Side,
    level: usize,
}

/// Whether two comparisons share their first node.
fn shares(a: &Comparison, b: &Comparison, wide: bool) -> bool {
    let kind = |test: &Comparison| match test.op {
        Op::Eq | Op::Ne => 0,
        Op::MaskedEq => 1,
        Op::Gt | Op::Ge | Op::Lt | Op::Le => 2,
    };
    let word = |value: u64| if wide { value >> 32 } else { value & 0xffff_ffff };
    let key =
        |test: &Comparison| (test.arg, kind(test), word(test.mask), word(test.datum & test.mask));
    key(a) == key(b)
}

/// Whether two rules with one action share the node of two comparisons that hold on its opposite branches, so that both
/// lead to this action.
fn opposes(a: &Rule, b: &Rule, wide: bool) -> bool {
    let is_opposite = |a: &Comparison, b: &Comparison| {
        let side = |op: Op| match op {
            Op::Eq | Op::Gt | Op::Ge => 1,
            Op::Ne | Op::Le | Op::Lt => -1,
            Op::MaskedEq => 0,
        };
        side(a.op) * side(b.op) < 0 && shares(a, b, wide)
    };
    a.action == b.action
        && a.comparisons
            .iter()
            .any(|test| b.comparisons.iter().any(|other| is_opposite(test, other)))
}

impl Node {
    fn is_same(&self, other: &Node) -> bool {
        let key = |node: &Node| (node.arg, node.high, node.ask, node.datum, node.mask);
        key(self) == key(other)
    }

    fn is_after(&self, other: &Node) -> bool {
        let rank = |node: &Node| (node.arg, node.high, node.op.class());
        match self.op.is_ascending() {
            _ if rank(self) != rank(other) => rank(self) < rank(other),
            true => self.datum > other.datum,
            false => self.datum < other.datum,
        }
    }

    fn is_leaf(&self) -> bool {
        self.yes.next.is_none() && self.no.next.is_none()
    }
}

/// The conditional rules of one syscall.
#[derive(Clone, Debug)]
pub struct Tree {
    wide: bool,
    rules: Vec<Rule>,
    nodes: Vec<Node>,
    levels: Vec<Vec<usize>>,
    root: Option<usize>,
    corrupt: bool,
    uncertain: bool,
}

impl Tree {
    /// A tree without rules.
    pub(crate) fn new(wide: bool) -> Tree {
        let (rules, nodes, levels) = (Vec::new(), Vec::new(), Vec::new());
        Tree { wide, rules, nodes, levels, root: None, corrupt: false, uncertain: false }
    }

    pub(crate) fn is_corrupt(&self) -> bool {
        self.corrupt
    }

    pub(crate) fn is_uncertain(&self) -> bool {
        self.uncertain || self.corrupt
    }

    fn conflict(&self) -> Conflict {
        Conflict { is_certain: !self.is_uncertain() }
    }

    /// Adds a rule with at least one comparison.
    pub(crate) fn add(&mut self, rule: &Rule) -> Result<(), Conflict> {
        let contains = |long: &Rule, short: &Rule| {
            let (long, short) = (&long.comparisons, &short.comparisons);
            long.windows(short.len()).any(|part| part == short)
        };
        let covers = |a: &Rule, b: &Rule| a.action == b.action && contains(b, a);
        let wide = self.wide;
        let meets = |long: &Rule, short: &Rule| {
            let first = short.comparisons.first();
            long.comparisons
                .iter()
                .skip(1)
                .any(|test| first.is_some_and(|first| shares(test, first, wide)))
        };
        self.uncertain |= self
            .rules
            .iter()
            .any(|old| meets(rule, old) || meets(old, rule) || opposes(old, rule, wide));
        // A rule that begins or ends with another one has no effect either, for any action of that one.
        let new = &rule.comparisons;
        let is_dead = |old: &Rule| {
            let old = &old.comparisons;
            old.len() < new.len() && (new.starts_with(old) || new.ends_with(old))
        };
        if self.rules.iter().any(|old| covers(old, rule) || is_dead(old)) {
            return Ok(());
        }
        let covered = |old: &&Rule| covers(rule, old);
        if let Some(first) = self.rules.iter().find(covered).map(|old| old.comparisons[0]) {
            // What it removes with the old rule may be shared by rules with another action.
            self.uncertain |= self.rules.iter().any(|old| {
                old.action != rule.action
                    && old.comparisons.iter().any(|test| shares(test, &first, wide))
            });
            let mut rest = std::mem::take(&mut self.rules);
            rest.retain(|old| !covers(rule, old));
            let (corrupt, uncertain) = (self.corrupt, self.uncertain);
            *self = Tree { corrupt, uncertain, ..Tree::new(self.wide) };
            let inserted = rest.iter().try_for_each(|old| self.insert(old));
            self.rules = rest;
            if inserted.is_err() {
                // The library accepted these rules before.
                self.uncertain = true;
                return Err(self.conflict());
            }
        }
        self.rules.push(rule.clone());
        self.insert(rule)
    }

    fn insert(&mut self, rule: &Rule) -> Result<(), Conflict> {
        let new = self.chain(rule);
        self.root = match self.root {
            None => Some(new),
            Some(root) => Some(self.merge_level(root, new)?),
        };
        Ok(())
    }

    /// Creates the nodes of a rule, starting with the last comparison, and returns the first.
    fn chain(&mut self, rule: &Rule) -> usize {
        let mut goal = Side { action: Some(rule.action), next: None };
        for test in rule.comparisons.iter().rev() {
            goal = Side { action: None, next: Some(self.comparison(test, goal)) };
        }
        goal.next.unwrap_or(0)
    }

    /// Creates the nodes of a comparison that leads to `goal` if it holds.
    fn comparison(&mut self, test: &Comparison, goal: Side) -> usize {
        let stop = Side::default();
        let holds_when_no = matches!(test.op, Op::Ne | Op::Lt | Op::Le);
        let sides = |held: Side| if holds_when_no { (stop, held) } else { (held, stop) };
        let ask = match test.op {
            Op::Eq | Op::Ne => Ask::Eq,
            Op::MaskedEq => Ask::Masked,
            Op::Gt | Op::Le => Ask::Gt,
            Op::Ge | Op::Lt => Ask::Ge,
        };
        let (yes, no) = sides(goal);
        let low = self.node(test, false, ask, yes, no);
        if !self.wide {
            return low;
        }
        let to_low = Side { action: None, next: Some(low) };
        match test.op {
            Op::Eq | Op::MaskedEq => self.node(test, true, ask, to_low, stop),
            Op::Ne => self.node(test, true, ask, to_low, goal),
            Op::Gt | Op::Ge => {
                let equal = self.node(test, true, Ask::Eq, to_low, stop);
                self.node(test, true, Ask::Gt, goal, Side { action: None, next: Some(equal) })
            }
            Op::Lt | Op::Le => {
                let equal = self.node(test, true, Ask::Eq, to_low, goal);
                self.node(test, true, Ask::Gt, stop, Side { action: None, next: Some(equal) })
            }
        }
    }

    fn node(&mut self, test: &Comparison, high: bool, ask: Ask, yes: Side, no: Side) -> usize {
        let half = |value: u64| if high { (value >> 32) as u32 } else { value as u32 };
        let (arg, op, full) = (test.arg, test.op, test.datum);
        let (mask, datum) = (half(test.mask), half(test.datum) & half(test.mask));
        let (id, level) = (self.nodes.len(), self.levels.len());
        self.nodes.push(Node { arg, high, ask, op, mask, datum, full, yes, no, level });
        self.levels.push(vec![id]);
        id
    }

    /// Inserts a node into the level of another one, from that one on; returns the first node of the level.
    fn merge_level(&mut self, start: usize, new: usize) -> Result<usize, Conflict> {
        let level = self.nodes[start].level;
        let from = self.levels[level].iter().position(|node| *node == start).unwrap_or(0);
        let behind = self.levels[level][from..].iter().position(|at| {
            let node = &self.nodes[*at];
            node.is_same(&self.nodes[new]) || node.is_after(&self.nodes[new])
        });
        let at = behind.map_or(self.levels[level].len(), |behind| from + behind);
        match self.levels[level].get(at).copied() {
            Some(same) if self.nodes[same].is_same(&self.nodes[new]) => {
                self.merge(same, new)?;
                return Ok(start);
            }
            _ => {}
        }
        // The library would link the node a second time.
        if self.nodes[new].level == level || self.levels[self.nodes[new].level].len() > 1 {
            self.corrupt = true;
            return Ok(start);
        }
        self.nodes[new].level = level;
        self.levels[level].insert(at, new);
        Ok(if at == from { new } else { start })
    }

    /// Merges a node with an equal existing one.
    fn merge(&mut self, old: usize, new: usize) -> Result<(), Conflict> {
        for yes in [true, false] {
            let side = |node: &Node| if yes { node.yes } else { node.no };
            let (there, added) = (side(&self.nodes[old]), side(&self.nodes[new]));
            let Some(action) = added.action else { continue };
            let put = match there.action {
                None if self.has_other_action(there.next, action) => return Err(self.conflict()),
                None => Some(Side { action: Some(action), next: None }),
                Some(same) if same == action => None,
                Some(_) => {
                    let (old, new) = (&self.nodes[old], &self.nodes[new]);
                    if old.is_leaf() || new.is_leaf() {
                        return Err(self.conflict());
                    }
                    // The high words are equal, so for the rest the first of the two in order decides.
                    let first = if yes { new.full > old.full } else { new.full < old.full };
                    first.then_some(Side { action: Some(action), next: there.next })
                }
            };
            if let Some(side) = put {
                self.set_side(old, yes, side);
            }
        }
        for yes in [true, false] {
            let side = |node: &Node| if yes { node.yes } else { node.no };
            let (there, added) = (side(&self.nodes[old]), side(&self.nodes[new]));
            let Some(next) = added.next else { continue };
            match there {
                Side { next: Some(level), .. } => {
                    let next = Some(self.merge_level(level, next)?);
                    self.set_side(old, yes, Side { next, ..there });
                }
                Side { action: None, .. } => {
                    self.set_side(old, yes, Side { next: Some(next), ..there })
                }
                // The existing node matches more syscalls; the library drops the rest of the rule.
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn set_side(&mut self, node: usize, yes: bool, side: Side) {
        let node = &mut self.nodes[node];
        *(if yes { &mut node.yes } else { &mut node.no }) = side;
    }

    fn has_other_action(&self, next: Option<usize>, action: u32) -> bool {
        let Some(next) = next else { return false };
        let sides = |at: &usize| [self.nodes[*at].yes, self.nodes[*at].no];
        self.levels[self.nodes[next].level].iter().flat_map(sides).any(|side| {
            side.action.is_some_and(|other| other != action)
                || self.has_other_action(side.next, action)
        })
    }

    /// The number of nodes.
    pub(crate) fn size(&self) -> usize {
        let (mut seen, mut todo) = (std::collections::BTreeSet::new(), Vec::from_iter(self.root));
        while let Some(node) = todo.pop() {
            for at in &self.levels[self.nodes[node].level] {
                if seen.insert(*at) {
                    let node = &self.nodes[*at];
                    todo.extend([node.yes.next, node.no.next].into_iter().flatten());
                }
            }
        }
        seen.len()
    }

    /// The verdict of the generated program; `None` for the default action.
    pub(crate) fn walk(&self, args: &[u64; 6]) -> Option<u32> {
        self.walk_level(self.root?, args)
    }

    fn walk_level(&self, start: usize, args: &[u64; 6]) -> Option<u32> {
        self.levels[self.nodes[start].level].iter().find_map(|at| {
            let node = &self.nodes[*at];
            let shift = if node.high { 32 } else { 0 };
            let value = (args[node.arg] >> shift) as u32 & node.mask;
            let holds = match node.ask {
                Ask::Eq | Ask::Masked => value == node.datum,
                Ask::Gt => value > node.datum,
                Ask::Ge => value >= node.datum,
            };
            let side = if holds { node.yes } else { node.no };
            match side.next {
                Some(next) => self.walk_level(next, args),
                None => side.action,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;

    const ALLOW: u32 = 0x7fff_0000;
    const KILL: u32 = 0;

    fn test(arg: usize, op: Op, datum: u64) -> Comparison {
        Comparison { arg, op, mask: u64::MAX, datum }
    }

    fn add(rules: &[(&[Comparison], u32)]) -> Result<RuleSet, Conflict> {
        let mut set = RuleSet::new(true);
        for (comparisons, action) in rules {
            set.add(comparisons, *action)?;
        }
        set.finish();
        Ok(set)
    }

    #[test]
    fn equal_conditions_with_another_action_are_refused() {
        let one = [test(0, Op::Eq, 1)];
        assert!(add(&[(&one, ALLOW), (&one, KILL)]).is_err());
        assert!(add(&[(&one, ALLOW), (&one, ALLOW)]).is_ok());
    }

    #[test]
    fn the_order_of_a_prefix_matters() {
        let short = [test(0, Op::Eq, 1)];
        let long = [test(0, Op::Eq, 1), test(1, Op::Eq, 2)];
        assert!(add(&[(&long, ALLOW), (&short, KILL)]).is_err());
        let set = add(&[(&short, KILL), (&long, ALLOW)]).unwrap();
        assert_eq!(set.verdict(&[1, 2, 0, 0, 0, 0]), Some(KILL));
    }

    #[test]
    fn a_shared_high_word_refuses_rules_by_order() {
        let long = [test(0, Op::Gt, 5), test(1, Op::Eq, 0)];
        assert!(add(&[(&long, ALLOW), (&[test(0, Op::Gt, 9)], KILL)]).is_err());
        assert!(add(&[(&long, ALLOW), (&[test(0, Op::Gt, 9 << 32)], KILL)]).is_ok());
    }

    #[test]
    fn a_shared_high_word_makes_programs_that_contradict_the_rules() {
        let five = [test(0, Op::Gt, 5), test(1, Op::Eq, 0)];
        let nine = [test(0, Op::Gt, 9), test(1, Op::Eq, 1)];
        let set = add(&[(&five, ALLOW), (&nine, ALLOW)]).unwrap();
        let call = [7, 1, 0, 0, 0, 0];
        assert_eq!((set.verdict(&call), set.generated(&call)), (None, Some(ALLOW)));
        assert!(set.is_contradictable());
    }
}
