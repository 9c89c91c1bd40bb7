//! The search for a program of minimal cost: branch and bound over the instructions in an order in which each precedes its
//! successors.
//!
//! Its state is the [`Frontier`]: the instructions that are reached from those chosen so far, each with the set of values
//! that reach it. A step chooses a pending instruction that no later one leads to. Each of its outcomes is a return, a new
//! pending instruction, or one that is pending already; so code is shared.

use super::code::{Code, Node, Target, Test, bitset_insns};
use super::facts::{AllFacts, Values, masks};
use super::function::{ALL_BITS, Function, MAX_CLASSES, VALUES};
use super::state::{Frontier, Held, Pending, Set};
use rustc_hash::FxHashMap as HashMap;

/// The cost of a program: for each instruction the weight of the values that execute it, and a price.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    pub(super) weights: [u32; VALUES],
    pub(super) size_price: u32,
}

/// The result of a search for a program that costs less than a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The cheapest program, and its cost.
    Best(Code, u32),
    /// There is none.
    Nothing,
    /// The search ended because its budget was exhausted; the program is the best one known.
    Unknown(Option<(Code, u32)>),
}

/// A successor as in [`Target`], with the number of a pending instruction.
#[derive(Clone, Copy, Debug)]
enum Next {
    Class(u8),
    Pending(u8),
}

/// What a pending instruction, given by its number, becomes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Test(u8, Test, Next, Next),
    And(u8, u8, Next),
    Load(u8, Next),
    Bitset(u8, Set, u8, u8),
}

/// Finds the cheapest program for a function that costs less than `bound`.
pub(super) fn cheapest(function: &Function, cost: &Cost, bound: u32, budget: u64) -> Found {
    let mut values = Values::new();
    if !values.add_all(&first_values(function, cost), function, &cost.weights) {
        return Found::Unknown(None);
    }
    let mut search = Search {
        facts: AllFacts::new(values, cost.size_price),
        size_price: cost.size_price,
        refuted: HashMap::default(),
        steps: Vec::new(),
        left: budget,
    };
    let (mut best, mut bound) = (None, bound);
    loop {
        let found = search.solve_all(bound);
        let Some((code, cost_of)) = found else {
            return match (search.left, best) {
                (0, best) => Found::Unknown(best),
                (_, Some((code, cost))) => Found::Best(code, cost),
                (_, None) => Found::Nothing,
            };
        };
        // The program is right for the values considered; those for which it is wrong are considered, too.
        match code.counterexample(function) {
            Some(value) => {
                if !search.facts.values.add(value, function.class(value), 0) {
                    return Found::Unknown(best);
                }
            }
            None => {
                bound = cost_of;
                best = Some((code, cost_of));
            }
        }
    }
}

/// The values to begin with: all that have a weight, and bounds of intervals.
fn first_values(function: &Function, cost: &Cost) -> Vec<u8> {
    const MANY: usize = 24;
    let weighted = |value: &u8| cost.weights[usize::from(*value)] > 0;
    let mut values: Vec<u8> = (0..=ALL_BITS).filter(weighted).collect();
    let bounds: Vec<u8> =
        function.intervals().into_iter().flat_map(|(first, last)| [first, last]).collect();
    let step = bounds.len().div_ceil(MANY);
    values.extend(bounds.into_iter().step_by(step.max(1)));
    values
}

struct Search {
    facts: AllFacts,
    size_price: u32,
    /// For several pending instructions, the largest bound below which there is no program.
    refuted: HashMap<Box<[(Set, u16)]>, u32>,
    /// The steps of the program found, the last one first.
    steps: Vec<Step>,
    /// The number of states that may still be visited.
    left: u64,
}

impl Search {
    fn solve_all(&mut self, bound: u32) -> Option<(Code, u32)> {
        let set = self.facts.values.all();
        let held = Held::ALL;
        // The load precedes it.
        let start = Pending { set, held, falls: true, after_and: false, waits: false, id: 0 };
        self.steps.clear();
        if self.facts.values.class(set).is_some() {
            // A function of one class has no instructions, which cannot be improved.
            return None;
        }
        let cost = self.solve(&Frontier::one(start), bound, 1)?;
        Some((self.code(), cost))
    }

    /// The cost of a program below the bound, whose steps are added to [`Search::steps`]. The recursion depth is at most the
    /// number of instructions.
    fn solve(&mut self, frontier: &Frontier, bound: u32, next: u8) -> Option<u32> {
        if frontier.items().is_empty() {
            return (bound > 0).then_some(0);
        }
        if self.left == 0 || !self.is_possible(frontier, bound) {
            return None;
        }
        let key = match frontier.items() {
            [_] => None,
            _ => Some(frontier.key()),
        };
        if key.as_ref().and_then(|key| self.refuted.get(key)).is_some_and(|known| *known >= bound) {
            return None;
        }
        self.left = self.left.saturating_sub(1 + self.facts.take_new());
        for at in 0..frontier.items().len() {
            let chosen = frontier.items()[at];
            if chosen.waits {
                continue;
            }
            let mut rest = *frontier;
            rest.remove(at);
            // Those before it were not chosen, so a later instruction must lead to them.
            rest.items_mut()[..at].iter_mut().for_each(|skipped| skipped.waits = true);
            if let Some(cost) = self.choose(chosen, &rest, bound, next) {
                if let [only] = frontier.items() {
                    let facts = self.facts.of(only.set, only.held);
                    let achieved = &mut self.facts.get(facts).achieved;
                    *achieved = cost.min(*achieved);
                }
                return Some(cost);
            }
        }
        if self.left == 0 {
            return None;
        }
        match (key, frontier.items()) {
            (Some(key), _) => {
                self.refuted.insert(key, bound);
            }
            (None, [only]) if !only.after_and => {
                let facts = self.facts.of(only.set, only.held);
                let cost = &mut self.facts.get(facts).cost;
                *cost = bound.max(*cost);
            }
            (None, _) => {}
        }
        None
    }

    /// Whether lower bounds permit a cost below this one.
    fn is_possible(&mut self, frontier: &Frontier, bound: u32) -> bool {
        let items = frontier.items();
        let fewest = items.len() as u32 * self.size_price;
        if fewest >= bound || items.iter().all(|pending| pending.waits) {
            return false;
        }
        let mut executed = 0;
        let mut rests = [(0, 0); 8];
        for (pending, rest) in items.iter().zip(&mut rests) {
            let at = self.facts.of(pending.set, pending.held);
            let facts = self.facts.get(at);
            executed += facts.executed;
            *rest = (facts.cost - facts.executed, at);
        }
        if self.bound(&mut rests[..items.len()], executed) >= bound {
            return false;
        }
        for pending in items {
            let at = self.facts.of(pending.set, pending.held);
            self.facts.decide_two(at, pending.set, pending.held);
        }
        let rests = &mut rests[..items.len()];
        for (rest, at) in rests.iter_mut() {
            let facts = self.facts.get(*at);
            *rest = facts.cost - facts.executed;
        }
        if self.bound(rests, executed) >= bound {
            return false;
        }
        if items.len() < 2 {
            return true;
        }
        // Each alone must be possible: at most one of them precedes all others.
        for pending in items {
            let at = self.facts.of(pending.set, pending.held);
            let facts = self.facts.get(at);
            let alone = bound - (executed - facts.executed);
            if facts.achieved < alone {
                continue;
            }
            let single = Pending { falls: true, after_and: false, waits: false, id: 0, ..*pending };
            let steps = self.steps.len();
            let found = self.solve(&Frontier::one(single), alone, 1);
            self.steps.truncate(steps);
            if found.is_none() {
                return false;
            }
        }
        true
    }

    /// A lower bound of the cost, from those of the pending instructions besides what they execute. In the order of the
    /// program, each has at least as many others before it as it has predecessors there.
    fn bound(&self, rests: &mut [(u32, usize)], executed: u32) -> u32 {
        rests.sort_unstable_by(|a, b| b.cmp(a));
        let rests = rests.iter().zip(0..).map(|((rest, _), at)| rest + at * self.size_price);
        executed + rests.max().unwrap_or(0)
    }

    /// Tries all instructions for a pending one; `rest` has the others.
    fn choose(&mut self, chosen: Pending, rest: &Frontier, bound: u32, next: u8) -> Option<u32> {
        let Pending { set, held, id, .. } = chosen;
        let at = self.facts.of(set, held);
        let facts = self.facts.get(at);
        let cost = facts.weight + self.size_price;
        let left = bound.checked_sub(cost).filter(|left| *left > 0)?;
        let splits = self.facts.splits(at, set, held);
        for split in splits.iter() {
            let sides = [split.then, set & !split.then];
            if let Some((found, [then, otherwise])) = self.test(sides, held, rest, left, next) {
                self.steps.push(Step::Test(id, split.test, then, otherwise));
                return Some(cost + found);
            }
        }
        let reloads = held.is_nothing() || held != Held::ALL && !chosen.after_and;
        if reloads && let Some((found, to)) = self.follow(set, Held::ALL, false, rest, left, next) {
            self.steps.push(Step::Load(id, to));
            return Some(cost + found);
        }
        if !held.is_nothing() && !chosen.after_and && left > self.size_price {
            let bits = self.facts.values.bits(set);
            for mask in masks(held.mask() & bits) {
                if !self.is_useful(set, mask, left) {
                    continue;
                }
                let masked = Held::new(mask, bits);
                if let Some((found, to)) = self.follow(set, masked, true, rest, left, next) {
                    self.steps.push(Step::And(id, mask, to));
                    return Some(cost + found);
                }
            }
        }
        self.bitset(chosen, rest, bound, next)
    }

    /// Tries a bitset test.
    fn bitset(&mut self, chosen: Pending, rest: &Frontier, bound: u32, next: u8) -> Option<u32> {
        let Pending { set, held, id, .. } = chosen;
        if held.is_nothing() || self.facts.values.classes(set) != 2 {
            return None;
        }
        let held = self.facts.values.members(set).map(|value| value & held.mask());
        let (min, max) = held.fold((u8::MAX, 0), |(min, max), a| (a.min(min), a.max(max)));
        let base = if max < 32 { 0 } else { min };
        if max - base >= 32 || self.is_ambiguous(set, chosen.held.mask()) {
            return None;
        }
        let cost = bitset_insns(base) * (self.facts.values.weight(set) + self.size_price);
        let left = bound.checked_sub(cost)?;
        let found = self.solve(rest, left, next)?;
        self.steps.push(Step::Bitset(id, set, chosen.held.mask(), base));
        Some(cost + found)
    }

    /// Tries all ways in which both outcomes of a test may continue: the return of their class, a new pending instruction, or
    /// one that is pending.
    fn test(
        &mut self,
        sides: [Set; 2],
        held: Held,
        rest: &Frontier,
        left: u32,
        next: u8,
    ) -> Option<(u32, [Next; 2])> {
        let classes = sides.map(|side| self.facts.values.class(side));
        let count = rest.items().len();
        // A number of a pending instruction, or that of a new one.
        let choices = classes.map(|class| if class.is_some() { 1 } else { count + 1 });
        for first in 0..choices[0] {
            for second in 0..choices[1] {
                if classes == [None, None] && first == second && first < count {
                    continue;
                }
                let mut frontier = *rest;
                let mut to = [Next::Class(0); 2];
                let mut fits = true;
                for (index, choice) in [first, second].into_iter().enumerate() {
                    to[index] = match classes[index] {
                        Some(class) => Next::Class(class),
                        None if choice < count => {
                            self.join(&mut frontier.items_mut()[choice], sides[index], held)
                        }
                        None => {
                            let id = next + index as u8;
                            let set = sides[index];
                            let held = Held::new(held.mask(), self.facts.values.bits(set));
                            let (falls, after_and, waits) = (false, false, false);
                            fits &=
                                frontier.push(Pending { set, held, falls, after_and, waits, id });
                            Next::Pending(id)
                        }
                    };
                }
                if !fits {
                    continue;
                }
                frontier.sort();
                if let Some(cost) = self.solve(&frontier, left, next + 2) {
                    return Some((cost, to));
                }
            }
        }
        None
    }

    /// Leads further values to a pending instruction.
    fn join(&self, pending: &mut Pending, set: Set, held: Held) -> Next {
        let values = &self.facts.values;
        pending.held = pending.held.joined(values.bits(pending.set), held, values.bits(set));
        pending.set |= set;
        pending.waits = false;
        pending.after_and = false;
        Next::Pending(pending.id)
    }

    /// Tries all ways to continue after `and` or a load.
    fn follow(
        &mut self,
        set: Set,
        held: Held,
        after_and: bool,
        rest: &Frontier,
        left: u32,
        next: u8,
    ) -> Option<(u32, Next)> {
        let mut frontier = *rest;
        let pending = Pending { set, held, falls: true, after_and, waits: false, id: next };
        if frontier.push(pending) {
            frontier.sort();
            if let Some(cost) = self.solve(&frontier, left, next + 1) {
                return Some((cost, Next::Pending(next)));
            }
        }
        for at in 0..rest.items().len() {
            let mut frontier = *rest;
            let joined = &mut frontier.items_mut()[at];
            let jump = match joined.falls {
                true => self.facts.values.weight(set) + self.size_price,
                false => 0,
            };
            joined.falls = true;
            let to = self.join(joined, set, held);
            frontier.sort();
            let Some(left) = left.checked_sub(jump) else { continue };
            if let Some(cost) = self.solve(&frontier, left, next) {
                return Some((cost + jump, to));
            }
        }
        None
    }

    /// Whether a part of the value may be worth testing: it has at least two values, and if it does not determine the class,
    /// a test, a load and another test must be affordable.
    fn is_useful(&self, set: Set, mask: u8, left: u32) -> bool {
        let mut parts = self.facts.values.members(set).map(|value| value & mask);
        let first = parts.next();
        parts.any(|part| Some(part) != first)
            && (left > 3 * self.size_price || !self.is_ambiguous(set, mask))
    }

    /// Whether values of different classes have the same bits in a mask.
    fn is_ambiguous(&self, set: Set, mask: u8) -> bool {
        let mut classes = [u8::MAX; VALUES];
        for class in 0..MAX_CLASSES as u8 {
            for value in self.facts.values.members(set & self.facts.values.of_class(class)) {
                let of = &mut classes[usize::from(value & mask)];
                if *of != u8::MAX && *of != class {
                    return true;
                }
                *of = class;
            }
        }
        false
    }

    /// The program of the steps.
    fn code(&self) -> Code {
        let id = |step: &Step| match *step {
            Step::Test(id, ..) | Step::And(id, ..) | Step::Load(id, ..) | Step::Bitset(id, ..) => {
                id
            }
        };
        let order: Vec<u8> = self.steps.iter().rev().map(id).collect();
        let target = |next| match next {
            Next::Class(class) => Target::Class(class),
            Next::Pending(id) => {
                Target::Node(order.iter().position(|of| *of == id).unwrap_or(order.len()))
            }
        };
        let nodes = self.steps.iter().rev().map(|step| match *step {
            Step::Test(_, test, then, otherwise) => {
                Node::Test { test, then: target(then), otherwise: target(otherwise) }
            }
            Step::And(_, mask, next) => Node::And { mask, next: target(next) },
            Step::Load(_, next) => Node::Load { next: target(next) },
            Step::Bitset(_, set, mask, base) => self.bitset_node(set, mask, base),
        });
        Code { nodes: nodes.collect() }
    }

    fn bitset_node(&self, set: Set, mask: u8, base: u8) -> Node {
        let values = &self.facts.values;
        let of_set = |class: &u8| set & values.of_class(*class) != 0;
        let mut classes = (0..MAX_CLASSES as u8).filter(of_set);
        let (class_set, clear) = (classes.next().unwrap_or(0), classes.next().unwrap_or(0));
        let members = values.members(set & values.of_class(class_set));
        let bits = members.fold(0, |bits, value| bits | 1 << ((value & mask) - base));
        Node::Bitset { base, bits, set: class_set, clear }
    }
}
