//! Which sequences of rules libseccomp takes for one call, and which it refuses with `-EEXIST`.
//!
//! libseccomp keeps the rules of a call as a tree of comparisons of 32-bit words, into which each new
//! rule is merged. Which rules contradict each other depends on what this tree looks like at that
//! moment, and so on the order of the rules, on halves of values that are equal, and on parts of the
//! tree that several rules share. No property of the rules alone says it, so the tree is kept here
//! as libseccomp keeps it, down to the counts of references, which decide when a part counts as
//! removed. The tree says nothing about what rules mean: [`RuleSet`](crate::ruleset::RuleSet) does.
//!
//! Facts from `src/db.c` of libseccomp 2.4 to 2.6.1, where the tree is the same but for one defect
//! that 2.6.1 mended: [`Tree::wrong_side`].
//!
//! Limits: the depth of a tree is that of one rule, three words per argument, 18 at most; recursion
//! goes down a tree or a rule. The work is counted in nodes looked at ([`Steps`]).

use crate::ruleset::comparison::{Comparison, Op};

/// Why a rule was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ruleset) enum Stop {
    /// It contradicts this earlier rule.
    Refused { earlier: u32 },
    /// There are no steps left to find it out.
    OutOfSteps,
}

/// How many nodes may still be looked at.
#[derive(Clone, Copy, Debug)]
pub(in crate::ruleset) struct Steps(pub(in crate::ruleset) u64);

impl Steps {
    fn take(&mut self) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(1).ok_or(Stop::OutOfSteps)?;
        Ok(())
    }
}

/// The place of a node in the arena.
type Id = usize;

/// How a node compares its word. The other operators take the other side of one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cmp {
    Eq,
    MaskedEq,
    Gt,
    Ge,
}

/// Which of the operators a node comes from decide first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// GT and GE.
    Above,
    /// LT and LE.
    Below,
    /// EQ, NE and MASKED_EQ.
    Equal,
}

/// The two ways to leave a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Then,
    Else,
}

/// What is at the end of a way: a verdict, nodes, or nothing.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    decided: bool,
    /// Kept, and compared, even where nothing is decided.
    verdict: u32,
    /// The rule that decided.
    rule: u32,
    child: Option<Id>,
}

impl End {
    fn leads_on(&self) -> bool {
        self.decided || self.child.is_some()
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The argument, and whether it is the high half: 2 * argument + half.
    word: u8,
    cmp: Cmp,
    class: Class,
    mask: u32,
    datum: u32,
    /// Both halves.
    value: u64,
    then: End,
    otherwise: End,
    /// The neighbours on its level: nodes are on a level in order of precedence.
    previous: Option<Id>,
    next: Option<Id>,
    references: u32,
}

impl Node {
    fn end(&self, way: Way) -> &End {
        match way {
            Way::Then => &self.then,
            Way::Else => &self.otherwise,
        }
    }

    fn end_mut(&mut self, way: Way) -> &mut End {
        match way {
            Way::Then => &mut self.then,
            Way::Else => &mut self.otherwise,
        }
    }

    fn is_high(&self) -> bool {
        self.word & 1 == 1
    }

    fn is_leaf(&self) -> bool {
        self.then.child.is_none() && self.otherwise.child.is_none()
    }

    fn compares_like(&self, other: &Node) -> bool {
        (self.word, self.cmp, self.mask, self.datum)
            == (other.word, other.cmp, other.mask, other.datum)
    }

    /// Whether the other one decides first.
    fn comes_after(&self, other: &Node) -> bool {
        let datum = match self.class {
            Class::Below => self.datum > other.datum,
            Class::Equal | Class::Above => self.datum < other.datum,
        };
        let (left, right) = ((self.word, self.class), (other.word, other.class));
        left < right || (left == right && datum)
    }
}

/// Where the identity of a level's node is kept.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Root,
    Of(Id, Way),
}

/// What the search for parts that a new rule makes superfluous has found.
mod seen {
    /// The nodes so far are the same.
    pub(in crate::ruleset) const MATCH: u8 = 1;
    /// They were at least once.
    pub(in crate::ruleset) const ONCE: u8 = 2;
    /// The path in the tree ends here.
    pub(in crate::ruleset) const TREE_ENDS: u8 = 4;
    /// So does the rule.
    pub(in crate::ruleset) const RULE_ENDS: u8 = 8;
    /// Nodes of the tree were passed over to get here.
    pub(in crate::ruleset) const TREE_LONGER: u8 = 16;
    /// Nodes of the rule were.
    pub(in crate::ruleset) const RULE_LONGER: u8 = 32;
    /// The rule holds only where the tree decides already.
    pub(in crate::ruleset) const REDUNDANT: u8 = MATCH | TREE_ENDS | RULE_LONGER;
}

/// The rules of one call on one architecture.
#[derive(Debug)]
pub(in crate::ruleset) struct Tree {
    nodes: Vec<Node>,
    root: Option<Id>,
    /// Arguments have two words.
    is_64bit: bool,
    /// Where two rules go the same way from a high half, for LT, LE and NE, the verdict of the wrong
    /// way was overwritten before 2.6.1.
    wrong_side: bool,
    /// An unconditional rule decides.
    always: bool,
}

impl Tree {
    pub(in crate::ruleset) fn new(is_64bit: bool, before_2_6_1: bool) -> Tree {
        Tree { nodes: Vec::new(), root: None, is_64bit, wrong_side: before_2_6_1, always: false }
    }

    /// Adds the rule of this number, whose comparisons are in normal form.
    pub(in crate::ruleset) fn add(
        &mut self,
        tests: &[Comparison],
        verdict: u32,
        rule: u32,
        steps: &mut Steps,
    ) -> Result<(), Stop> {
        if self.always {
            return Ok(());
        }
        let Some(new) = self.chain(tests, verdict, rule) else {
            self.always = true;
            return Ok(());
        };
        if self.root.is_some() {
            let mut found = 0;
            let freed = self.prune(self.root, Some(new), verdict, &mut found, steps)?;
            if self.root.is_some() {
                if freed == 0 && found & seen::REDUNDANT == seen::REDUNDANT {
                    return Ok(());
                }
                self.insert(Slot::Root, new, steps)?;
                return self.release_level(new, steps);
            }
        }
        self.root = Some(new);
        Ok(())
    }

    fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id)
    }

    fn end(&self, id: Id, way: Way) -> End {
        self.node(id).map_or(End::default(), |node| *node.end(way))
    }

    fn get(&self, slot: Slot) -> Option<Id> {
        match slot {
            Slot::Root => self.root,
            Slot::Of(id, way) => self.end(id, way).child,
        }
    }

    fn set(&mut self, slot: Slot, to: Option<Id>) {
        match slot {
            Slot::Root => self.root = to,
            Slot::Of(id, way) => self.change(id, |node| node.end_mut(way).child = to),
        }
    }

    fn change(&mut self, id: Id, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(id) {
            change(node);
        }
    }

    fn hold(&mut self, id: Id) {
        self.change(id, |node| node.references += 1);
    }

    /// Points a way of a node to another node.
    fn lead(&mut self, from: Id, way: Way, to: Id) {
        self.hold(to);
        self.change(from, |node| node.end_mut(way).child = Some(to));
    }

    fn head(&self, id: Id, steps: &mut Steps) -> Result<Id, Stop> {
        let mut head = id;
        while let Some(previous) = self.node(head).and_then(|node| node.previous) {
            steps.take()?;
            head = previous;
        }
        Ok(head)
    }

    /// The nodes of a rule, and the first of them; `None` when there is none.
    fn chain(&mut self, tests: &[Comparison], verdict: u32, rule: u32) -> Option<Id> {
        let mut first = None;
        // The ways out of the comparison before, where it holds.
        let mut open: Vec<(Id, Way)> = Vec::new();
        for test in tests {
            let (start, ways) = self.comparison(test);
            open.iter().for_each(|(from, way)| self.lead(*from, *way, start));
            if first.is_none() {
                self.hold(start);
                first = Some(start);
            }
            open = ways;
        }
        for (from, way) in open {
            self.change(from, |node| {
                let end = node.end_mut(way);
                (end.decided, end.verdict, end.rule) = (true, verdict, rule);
            });
        }
        first
    }

    /// The nodes of one comparison: the first of them, and the ways on which it holds.
    fn comparison(&mut self, test: &Comparison) -> (Id, Vec<(Id, Way)>) {
        let (cmp, class, way) = match test.op() {
            Op::Eq => (Cmp::Eq, Class::Equal, Way::Then),
            Op::Ne => (Cmp::Eq, Class::Equal, Way::Else),
            Op::MaskedEq(_) => (Cmp::MaskedEq, Class::Equal, Way::Then),
            Op::Gt => (Cmp::Gt, Class::Above, Way::Then),
            Op::Ge => (Cmp::Ge, Class::Above, Way::Then),
            Op::Le => (Cmp::Gt, Class::Below, Way::Else),
            Op::Lt => (Cmp::Ge, Class::Below, Way::Else),
        };
        let (mask, value) = match test.op() {
            Op::MaskedEq(mask) => (mask, test.value()),
            _ => (u64::MAX, test.value()),
        };
        let mut node = |high: bool, cmp: Cmp| {
            let half = |value: u64| if high { (value >> 32) as u32 } else { value as u32 };
            self.nodes.push(Node {
                word: 2 * test.arg() + u8::from(high),
                cmp,
                class,
                mask: half(mask),
                datum: half(value) & half(mask),
                value,
                then: End::default(),
                otherwise: End::default(),
                previous: None,
                next: None,
                references: 0,
            });
            self.nodes.len() - 1
        };
        if !self.is_64bit {
            let low = node(false, cmp);
            return (low, vec![(low, way)]);
        }
        match class {
            Class::Equal => {
                let (high, low) = (node(true, cmp), node(false, cmp));
                self.lead(high, Way::Then, low);
                let ways = match way {
                    Way::Then => vec![(low, way)],
                    Way::Else => vec![(high, way), (low, way)],
                };
                (high, ways)
            }
            Class::Above | Class::Below => {
                let (above, equal, low) =
                    (node(true, Cmp::Gt), node(true, Cmp::Eq), node(false, cmp));
                self.lead(above, Way::Else, equal);
                self.lead(equal, Way::Then, low);
                let high = if class == Class::Above { above } else { equal };
                (above, vec![(high, way), (low, way)])
            }
        }
    }

    /// Gives up a reference to a node; how many nodes are gone with it.
    fn release(&mut self, id: Id, steps: &mut Steps) -> Result<usize, Stop> {
        let mut gone = 0;
        let mut released = vec![id];
        while let Some(id) = released.pop() {
            steps.take()?;
            let Some(node) = self.nodes.get_mut(id) else { continue };
            node.references = node.references.saturating_sub(1);
            if node.references > 0 {
                continue;
            }
            gone += 1;
            // Nobody refers to it, so it has no neighbours.
            for child in [node.then.child.take(), node.otherwise.child.take()].into_iter().flatten()
            {
                self.release_level_into(child, &mut released, steps)?;
            }
        }
        Ok(gone)
    }

    /// Gives up a reference to a node of a level, and the level when nothing else refers to it.
    fn release_level(&mut self, id: Id, steps: &mut Steps) -> Result<(), Stop> {
        let mut released = Vec::new();
        self.release_level_into(id, &mut released, steps)?;
        released.into_iter().try_for_each(|id| self.release(id, steps).map(drop))
    }

    /// The same; the nodes that are gone with a further release go to a list.
    fn release_level_into(
        &mut self,
        id: Id,
        released: &mut Vec<Id>,
        steps: &mut Steps,
    ) -> Result<(), Stop> {
        let Some(node) = self.nodes.get_mut(id) else { return Ok(()) };
        if node.references <= 1 {
            released.push(id);
            return Ok(());
        }
        node.references -= 1;
        // A level that only its own nodes refer to is gone.
        let mut level = Vec::new();
        let mut at = Some(self.head(id, steps)?);
        while let Some(id) = at {
            steps.take()?;
            let Some(node) = self.node(id) else { break };
            let links = u32::from(node.previous.is_some()) + u32::from(node.next.is_some());
            if node.references > links {
                return Ok(());
            }
            level.push(id);
            at = node.next;
        }
        for id in &level {
            self.change(*id, |node| {
                (node.previous, node.next, node.references) = (None, None, 1);
            });
        }
        released.extend(level);
        Ok(())
    }

    /// A rule with another verdict than this on a level or below it.
    fn other_verdict(
        &self,
        level: Option<Id>,
        verdict: u32,
        steps: &mut Steps,
    ) -> Result<Option<u32>, Stop> {
        let Some(id) = level else { return Ok(None) };
        let mut at = Some(self.head(id, steps)?);
        while let Some(node) = at.and_then(|id| self.node(id)) {
            steps.take()?;
            for end in [&node.then, &node.otherwise] {
                if end.decided && end.verdict != verdict {
                    return Ok(Some(end.rule));
                }
            }
            for end in [&node.then, &node.otherwise] {
                if let Some(rule) = self.other_verdict(end.child, verdict, steps)? {
                    return Ok(Some(rule));
                }
            }
            at = node.next;
        }
        Ok(None)
    }

    /// Takes a node out of the level in a slot, or of one below. It and what is below it are gone when
    /// nothing else refers to it; says how many nodes are.
    fn remove(&mut self, slot: Slot, id: Id, steps: &mut Steps) -> Result<usize, Stop> {
        let Some(start) = self.get(slot) else { return Ok(0) };
        let mut at = self.head(start, steps)?;
        loop {
            steps.take()?;
            if at != id {
                let mut gone = self.remove(Slot::Of(at, Way::Then), id, steps)?;
                gone += self.remove(Slot::Of(at, Way::Else), id, steps)?;
                let Some(node) = self.node(at) else { return Ok(gone) };
                // What leads nowhere goes too.
                if node.then.leads_on() || node.otherwise.leads_on() {
                    match node.next {
                        Some(next) if gone == 0 => at = next,
                        _ => return Ok(gone),
                    }
                    continue;
                }
                return Ok(gone + self.unlink(slot, at, steps)?);
            }
            return self.unlink(slot, at, steps);
        }
    }

    fn unlink(&mut self, slot: Slot, id: Id, steps: &mut Steps) -> Result<usize, Stop> {
        let Some(node) = self.node(id) else { return Ok(0) };
        let (previous, next) = (node.previous, node.next);
        if self.get(slot) == Some(id) {
            self.set(slot, previous.or(next));
        }
        if let Some(previous) = previous {
            self.change(previous, |node| node.next = next);
        }
        if let Some(next) = next {
            self.change(next, |node| node.previous = previous);
        }
        self.change(id, |node| (node.previous, node.next) = (None, None));
        self.release(id, steps)
    }

    /// Takes out what the new rule makes superfluous; says how many nodes are gone. `found` says how the
    /// way to here went, and afterwards what was found.
    fn prune(
        &mut self,
        level: Option<Id>,
        new: Option<Id>,
        verdict: u32,
        found: &mut u8,
        steps: &mut Steps,
    ) -> Result<usize, Stop> {
        let mut gone = 0;
        let mut here = *found;
        let is_broken = *found & (seen::MATCH | seen::ONCE) == seen::ONCE;
        if let (Some(level), Some(new), false) = (level, new, is_broken) {
            let ends =
                self.prune_level(level, new, verdict, (*found, &mut here), &mut gone, steps)?;
            if ends == Level::Passed {
                here &= !seen::MATCH;
            }
        }
        if here & seen::MATCH != 0 {
            *found |= here;
        } else {
            *found &= !seen::MATCH;
        }
        Ok(gone)
    }

    fn prune_level(
        &mut self,
        level: Id,
        new: Id,
        verdict: u32,
        (above, here): (u8, &mut u8),
        gone: &mut usize,
        steps: &mut Steps,
    ) -> Result<Level, Stop> {
        let mut at = Some(self.head(level, steps)?);
        while let Some(id) = at {
            steps.take()?;
            let (Some(node), Some(rule)) = (self.node(id).copied(), self.node(new).copied()) else {
                break;
            };
            at = node.next;
            let is_same = node.compares_like(&rule);
            let is_longer = !is_same && node.comes_after(&rule);
            // One of the two may be longer, not each in its turn.
            let bar = if is_longer { seen::RULE_LONGER } else { seen::TREE_LONGER };
            if !is_same && above & bar != 0 {
                return Ok(Level::Left);
            }
            if is_same {
                *here |= seen::MATCH | seen::ONCE;
                *here |= if rule.is_leaf() { seen::RULE_ENDS } else { 0 };
                *here |= if node.is_leaf() { seen::TREE_ENDS } else { 0 };
                let ways = [(node.then, rule.then), (node.otherwise, rule.otherwise)];
                if ways.iter().any(|(node, rule)| node.leads_on() && !rule.leads_on()) {
                    return Ok(Level::Left);
                }
                let both_end = seen::RULE_ENDS | seen::TREE_ENDS;
                let differ = |(node, rule): &(End, End)| {
                    (node.decided, node.verdict) != (rule.decided, rule.verdict)
                };
                if *here & both_end == both_end && ways.iter().any(differ) {
                    return Ok(Level::Left);
                }
            }
            let mut is_gone = false;
            for way in [Way::Then, Way::Else] {
                // Down in both, in the tree alone, or in the rule alone.
                let (node, rule) = (self.end(id, way).child, self.end(new, way).child);
                let (level, next, mut below) = if is_same {
                    (node, rule, above | seen::MATCH | seen::ONCE)
                } else if is_longer {
                    (node, Some(new), above & !seen::MATCH | seen::TREE_LONGER)
                } else {
                    (Some(id), rule, above & !seen::MATCH | seen::RULE_LONGER)
                };
                if (if is_longer { node } else { rule }).is_none() {
                    continue;
                }
                self.hold(id);
                *gone += self.prune(level, next, verdict, &mut below, steps)?;
                let released = self.release(id, steps)?;
                *gone += released;
                if below & seen::MATCH != 0 {
                    *here |= below;
                    if !is_same {
                        return Ok(Level::Left);
                    }
                }
                if released > 0 {
                    is_gone = true;
                    break;
                }
            }
            if is_gone || !is_same {
                continue;
            }
            let shorter = seen::MATCH | seen::RULE_ENDS | seen::TREE_LONGER;
            let redundant = seen::REDUNDANT;
            let (is_shorter, is_redundant) =
                (*here & shorter == shorter, *here & redundant == redundant);
            if (is_shorter || is_redundant)
                && self.other_verdict(Some(id), verdict, steps)?.is_none()
            {
                if !is_shorter {
                    return Ok(Level::Left);
                }
                *gone += self.remove(Slot::Root, id, steps)?;
                if self.root.is_none() {
                    return Ok(Level::Left);
                }
            }
        }
        Ok(Level::Passed)
    }

    /// Merges the nodes of a new rule into the level in a slot.
    fn insert(&mut self, slot: Slot, new: Id, steps: &mut Steps) -> Result<(), Stop> {
        let mut at = self.get(slot);
        while let Some(id) = at {
            steps.take()?;
            let (Some(node), Some(rule)) = (self.node(id), self.node(new)) else { break };
            if node.compares_like(rule) {
                return self.merge(id, new, steps);
            }
            if node.comes_after(rule) {
                let previous = node.previous;
                self.hold(new);
                self.change(id, |node| node.previous = Some(new));
                self.change(new, |node| (node.previous, node.next) = (previous, Some(id)));
                match previous {
                    Some(previous) => {
                        self.hold(new);
                        self.change(previous, |node| node.next = Some(new));
                        // What the two neighbours were to each other, they are to the new one.
                    }
                    None => self.hold(id),
                }
                if self.get(slot) == Some(id) {
                    self.hold(new);
                    self.set(slot, Some(new));
                    self.release(id, steps)?;
                }
                return Ok(());
            }
            at = node.next;
            if at.is_none() {
                self.hold(id);
                self.hold(new);
                self.change(id, |node| node.next = Some(new));
                self.change(new, |node| node.previous = Some(id));
            }
        }
        Ok(())
    }

    /// Merges a node of a new rule, and what follows, into a node that compares the same.
    fn merge(&mut self, id: Id, new: Id, steps: &mut Steps) -> Result<(), Stop> {
        for way in [Way::Then, Way::Else] {
            let (given, there) = (self.end(new, way), self.end(id, way));
            if !given.decided {
                continue;
            }
            if !there.decided {
                if let Some(earlier) = self.other_verdict(there.child, given.verdict, steps)? {
                    return Err(Stop::Refused { earlier });
                }
                if let Some(child) = there.child {
                    self.release(child, steps)?;
                }
                self.change(id, |node| *node.end_mut(way) = given);
            } else if given.verdict != there.verdict {
                self.prefer(id, new, way);
                let is_leaf = |id| self.node(id).is_some_and(Node::is_leaf);
                if is_leaf(id) || is_leaf(new) {
                    return Err(Stop::Refused { earlier: there.rule });
                }
            }
        }
        for way in [Way::Then, Way::Else] {
            let Some(child) = self.end(new, way).child else { continue };
            let there = self.end(id, way);
            if there.child.is_some() {
                self.insert(Slot::Of(id, way), child, steps)?;
            } else if there.decided {
                return Ok(());
            } else {
                self.lead(id, way, child);
            }
        }
        Ok(())
    }

    /// Where two rules go the same way from a high half, the verdict is that of the larger value, or of
    /// the smaller one where the comparison asks for less.
    fn prefer(&mut self, id: Id, new: Id, way: Way) {
        let (Some(node), Some(rule)) = (self.node(id), self.node(new)) else { return };
        let wins = match way {
            Way::Then => rule.value > node.value,
            Way::Else => rule.value < node.value,
        };
        if rule.is_high() && wins {
            let way = if self.wrong_side { Way::Then } else { way };
            let end = *rule.end(way);
            self.change(id, |node| {
                let to = node.end_mut(way);
                (to.verdict, to.rule) = (end.verdict, end.rule);
            });
        }
    }
}

/// How the search of a level ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Before its end.
    Left,
    /// All of its nodes were passed.
    Passed,
}
