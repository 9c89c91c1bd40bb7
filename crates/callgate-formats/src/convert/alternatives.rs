//! Alternatives: the condition for a verdict as a disjunction of conjunctions, derived from the diagram.
//!
//! This is the algorithm of Minato and Morreale for irredundant sums of products with arguments in the place of bits:
//! what holds for all values of an argument is written without a condition on it. So the alternatives of a verdict may
//! overlap, but those of two verdicts never do, and their order does not matter.

use super::error::{MAX_ALTERNATIVES, Stop};
use callgate_codegen::query::{self, ArgPart, ValueCondition, ValueSet, branches};
use callgate_core::diagram::{Func, NodeSet, Pred, Store};
use callgate_core::policy::{Cmp, Condition, Field, Test};
use callgate_core::{Verdict, Word};
use rustc_hash::FxHashMap as HashMap;

/// Conditions that must all hold, at most one for each part of an argument, in order.
pub(crate) type Conjunction = Vec<ValueCondition>;

/// The maximum number of nodes that test one argument.
const MAX_NODES: usize = 20_000;

/// The alternatives for which a function of the arguments has a verdict: none if it never has it, an empty one if it
/// always has it.
pub(crate) fn alternatives(
    store: &mut Store,
    func: Func,
    verdict: Verdict,
) -> Result<Vec<Conjunction>, Stop> {
    let set = query::has_verdict(store, func, verdict)?;
    let mut sums = Sums {
        must: store.verdict(Verdict::ALLOW)?,
        may: store.verdict(Verdict::LOG)?,
        never: store.verdict(Verdict::KILL_THREAD)?,
        store,
        memo: HashMap::default(),
    };
    Ok(sums.sum(set, set)?.0)
}

/// Alternatives, and their union as a predicate.
type Sum = (Vec<Conjunction>, Pred);

struct Sums<'s> {
    store: &'s mut Store,
    /// Terminals: a value that the alternatives must cover, may cover, and must not cover.
    must: Func,
    may: Func,
    never: Func,
    memo: HashMap<(Pred, Pred), Sum>,
}

/// The values of an argument with the same rest.
struct Part {
    condition: ValueCondition,
    /// The predicate of the condition.
    values: Pred,
    lower: Pred,
    upper: Pred,
}

impl Sums<'_> {
    /// Alternatives whose union contains `lower` and is contained in `upper`. Each recursion is at a later word.
    fn sum(&mut self, lower: Pred, upper: Pred) -> Result<Sum, Stop> {
        if lower == Pred::NEVER {
            return Ok((Vec::new(), Pred::NEVER));
        }
        if upper == Pred::ALWAYS {
            return Ok((vec![Vec::new()], Pred::ALWAYS));
        }
        if let Some(done) = self.memo.get(&(lower, upper)) {
            return Ok(done.clone());
        }
        let parts = self.parts(lower, upper)?;
        // What holds for all values of the argument.
        let (mut any, mut all) = (Pred::NEVER, Pred::ALWAYS);
        for part in &parts {
            any = self.store.or(any, part.lower)?;
            all = self.store.and(all, part.upper)?;
        }
        let common = self.store.and(any, all)?;
        let (mut found, free) = self.sum(common, all)?;
        let mut covered = free;
        let not_free = self.store.not(free)?;
        let mut own: Vec<(ValueCondition, Vec<Conjunction>)> = Vec::new();
        for part in parts {
            let rest = self.store.and(part.lower, not_free)?;
            let (inner, set) = self.sum(rest, part.upper)?;
            if inner.is_empty() {
                continue;
            }
            let set = self.store.and(part.values, set)?;
            covered = self.store.or(covered, set)?;
            match own
                .iter_mut()
                .find(|(known, same)| *same == inner && joins(known, &part.condition))
            {
                Some((known, _)) => join(known, &part.condition),
                None => own.push((part.condition, inner)),
            }
        }
        for (condition, inner) in own {
            for conjunction in inner {
                let mut all = vec![condition.clone()];
                all.extend(conjunction);
                found.push(all);
            }
        }
        if found.len() > MAX_ALTERNATIVES {
            return Err(Stop::TooMany(found.len()));
        }
        self.memo.insert((lower, upper), (found.clone(), covered));
        Ok((found, covered))
    }

    /// The values of the first argument, by what the rest must and may cover.
    fn parts(&mut self, lower: Pred, upper: Pred) -> Result<Vec<Part>, Stop> {
        let outer = self.store.select(upper, self.may, self.never)?;
        let func = self.store.select(lower, self.must, outer)?;
        let nodes = nodes_of_argument(self.store, func);
        if nodes > MAX_NODES {
            return Err(Stop::TooMany(usize::MAX));
        }
        let branches = branches(self.store, func).ok_or(Stop::TooMany(usize::MAX))?;
        // The values of each exit are searched separately.
        self.store.charge_steps((nodes * branches.len()) as u64)?;
        let mut parts = Vec::new();
        for branch in branches {
            let lower = query::has_verdict(self.store, branch.then, Verdict::ALLOW)?;
            let outside = query::has_verdict(self.store, branch.then, Verdict::KILL_THREAD)?;
            let upper = self.store.not(outside)?;
            for condition in self.expanded(branch.condition, func, branch.then)? {
                let values = condition_of(&condition).unwrap_or_else(Condition::never);
                let values = self.store.condition(&values)?;
                parts.push(Part { condition, values, lower, upper });
            }
        }
        Ok(parts)
    }

    /// Conditions that can be written, for one of which values may be too many to list.
    fn expanded(
        &mut self,
        condition: ValueCondition,
        func: Func,
        exit: Func,
    ) -> Result<Vec<ValueCondition>, Stop> {
        if !matches!(condition.values, ValueSet::Many(_)) {
            return Ok(vec![condition]);
        }
        let word = self.store.top_word(func).unwrap_or(Word::IP_HIGH);
        let cubes = query::cover(self.store, func, word, exit, MAX_ALTERNATIVES)?;
        let cubes = cubes.ok_or(Stop::TooMany(usize::MAX))?;
        let one = |cube: query::Cube| ValueCondition {
            values: ValueSet::Masked { mask: cube.mask.into(), wanted: cube.wanted.into() },
            ..condition.clone()
        };
        Ok(cubes.into_iter().map(one).collect())
    }
}

/// The number of nodes of a function that test its first argument.
fn nodes_of_argument(store: &Store, func: Func) -> usize {
    let Some(first) = store.top_word(func) else { return 0 };
    let last = first
        .argument()
        .map_or(Word::IP_LOW.index(), |(_, high)| first.index() + usize::from(high));
    let mut seen = NodeSet::new(store.len());
    let (mut nodes, mut open) = (0, vec![func]);
    while let Some(node) = open.pop() {
        let is_own = store.top_word(node).is_some_and(|word| word.index() <= last);
        if is_own && seen.insert(node) {
            nodes += 1;
            open.extend(<[Func; 2]>::from(store.children(node)));
        }
    }
    nodes
}

/// Whether two conditions can be joined to one list of ranges.
fn joins(a: &ValueCondition, b: &ValueCondition) -> bool {
    let both = matches!((&a.values, &b.values), (ValueSet::Ranges(_), ValueSet::Ranges(_)));
    (a.arg, a.part) == (b.arg, b.part) && both
}

/// Adds the ranges of another condition.
fn join(into: &mut ValueCondition, other: &ValueCondition) {
    if let (ValueSet::Ranges(own), ValueSet::Ranges(more)) = (&mut into.values, &other.values) {
        own.extend(more);
        own.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(own.len());
        for (first, last) in own.drain(..) {
            match joined.last_mut() {
                Some(open) if open.1.checked_add(1) == Some(first) => open.1 = last,
                _ => joined.push((first, last)),
            }
        }
        *own = joined;
    }
}

/// The condition of a policy; `None` for values that are not listed.
fn condition_of(condition: &ValueCondition) -> Option<Condition> {
    let whole = match condition.arg {
        Some(arg) => Field::arg(arg)?,
        None => Field::instruction_pointer(),
    };
    let (field, mask, shift) = match condition.part {
        ArgPart::Whole => (whole, u64::MAX, 0),
        ArgPart::Low => (whole.low32(), u64::from(u32::MAX), 0),
        ArgPart::High => (whole, u64::from(u32::MAX) << 32, 32),
    };
    let max = mask >> shift;
    let test = |cmp, value: u64| Condition::test(Test { field, mask, cmp, value: value << shift });
    let masked = |mask: u64, wanted: u64| {
        Condition::test(Test::masked_eq(field, mask << shift, wanted << shift))
    };
    Some(match &condition.values {
        ValueSet::Ranges(ranges) => Condition::any(ranges.iter().map(|(first, last)| {
            let from = (*first > 0).then(|| test(Cmp::Ge, *first));
            let to = (*last < max).then(|| test(Cmp::Le, *last));
            Condition::all(from.into_iter().chain(to))
        })),
        ValueSet::Masked { mask, wanted } => masked(*mask, *wanted),
        ValueSet::NotMasked { mask, wanted } => masked(*mask, *wanted).negated(),
        ValueSet::Compared { .. } | ValueSet::Many(_) => return None,
    })
}

/// A mask and the required value of its bits.
pub(crate) type Bits = (u64, u64);

/// The cubes of a range of values below `2^bits`.
pub(crate) fn cubes_of_range((first, last): (u64, u64), bits: u32) -> Vec<Bits> {
    let all = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut cubes = Vec::new();
    let mut at = first;
    loop {
        // The largest aligned block that begins here and does not exceed the range.
        let mut low = 0;
        for size in 0..=bits {
            let free = u64::MAX.checked_shr(64 - size).unwrap_or(0);
            if at & free == 0 && at | free <= last {
                low = free;
            }
        }
        cubes.push((all & !low, at));
        match (at | low).checked_add(1).filter(|next| *next <= last) {
            Some(next) => at = next,
            None => return cubes,
        }
    }
}

/// The cubes of the values of a condition on the whole argument, on one half only, as bits of 64.
pub(crate) fn cubes_of(condition: &ValueCondition) -> Vec<Bits> {
    let (bits, shift) = match condition.part {
        ArgPart::Whole => (64, 0),
        ArgPart::Low => (32, 0),
        ArgPart::High => (32, 32),
    };
    let cubes = match &condition.values {
        ValueSet::Ranges(ranges) => {
            ranges.iter().flat_map(|range| cubes_of_range(*range, bits)).collect()
        }
        ValueSet::Masked { mask, wanted } => vec![(*mask, *wanted)],
        ValueSet::NotMasked { mask, wanted } => {
            bits_of(*mask).map(|bit| (bit, !wanted & bit)).collect()
        }
        ValueSet::Compared { .. } | ValueSet::Many(_) => Vec::new(),
    };
    cubes.into_iter().map(|(mask, wanted)| (mask << shift, wanted << shift)).collect()
}

/// The single bits of a mask.
pub(crate) fn bits_of(mask: u64) -> impl Iterator<Item = u64> {
    (0..64).map(|bit| 1 << bit).filter(move |bit| mask & bit != 0)
}

/// The cubes of the conditions on one argument, all of which must hold.
pub(crate) fn cubes_of_all<'c>(
    conditions: impl IntoIterator<Item = &'c ValueCondition>,
) -> Vec<Bits> {
    let mut all: Vec<Bits> = vec![(0, 0)];
    for condition in conditions {
        let own = cubes_of(condition);
        let both = |(a, x): &Bits, (b, y): &Bits| {
            let agree = x & b == y & a;
            agree.then_some((a | b, x | y))
        };
        all = all.iter().flat_map(|a| own.iter().filter_map(move |b| both(a, b))).collect();
    }
    all
}

/// The arguments that a conjunction tests, each once, in order; `None` is the instruction pointer.
pub(crate) fn arguments(all: &Conjunction) -> Vec<Option<u8>> {
    let mut arguments: Vec<Option<u8>> = all.iter().map(|one| one.arg).collect();
    arguments.sort_unstable();
    arguments.dedup();
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The alternatives of what a condition allows, checked to be exactly the condition.
    fn of(when: &Condition) -> Vec<Conjunction> {
        let mut store = Store::default();
        let (allow, deny) = (Verdict::ALLOW, Verdict::errno(1));
        let set = store.condition(when).unwrap();
        let [yes, no] = [allow, deny].map(|verdict| store.verdict(verdict).unwrap());
        let func = store.select(set, yes, no).unwrap();
        let found = alternatives(&mut store, func, allow).unwrap();
        let all =
            |all: &Conjunction| Condition::all(all.iter().map(|one| condition_of(one).unwrap()));
        let union = Condition::any(found.iter().map(all));
        assert_eq!(store.condition(&union).unwrap(), set, "{found:?}");
        found
    }

    fn texts(when: &Condition) -> Vec<String> {
        let line = |all: &Conjunction| {
            all.iter().map(|one| one.describe(None)).collect::<Vec<_>>().join(" and ")
        };
        of(when).iter().map(line).collect()
    }

    fn test(arg: u8, cmp: Cmp, value: u64) -> Condition {
        Condition::test(Test::new(Field::arg(arg).unwrap(), cmp, value))
    }

    fn masked(arg: u8, mask: u64, wanted: u64) -> Condition {
        Condition::test(Test::masked_eq(Field::arg(arg).unwrap(), mask, wanted))
    }

    #[test]
    fn what_holds_for_all_values_has_no_condition() {
        let when = Condition::any([
            Condition::all([test(0, Cmp::Eq, 1), test(1, Cmp::Eq, 2)]),
            test(1, Cmp::Eq, 3),
        ]);
        assert_eq!(texts(&when), ["args[1] == 3", "args[0] == 1 and args[1] == 2"]);
    }

    #[test]
    fn values_with_the_same_rest_are_one_condition() {
        let when = Condition::all([
            Condition::any([test(0, Cmp::Eq, 1), test(0, Cmp::Eq, 5)]),
            test(2, Cmp::Le, 7),
        ]);
        assert_eq!(texts(&when), ["args[0] in {1, 5} and args[2] <= 7"]);
    }

    #[test]
    fn masks_of_both_halves_and_their_negations_are_exact() {
        let mask = 0x0000_00f0_c000_ffff;
        assert_eq!(of(&masked(1, mask, 0x10_0000_46c8)).len(), 1);
        of(&masked(1, mask, 0x10_0000_46c8).negated());
        of(&Condition::any([masked(0, 3, 1), masked(0, 12, 4)]));
        of(&Condition::all([masked(0, 0xff00_00ff, 5).negated(), test(3, Cmp::Gt, 1 << 40)]));
    }

    #[test]
    fn nothing_and_everything_are_told_apart() {
        assert_eq!(of(&Condition::never()), Vec::<Conjunction>::new());
        assert_eq!(of(&Condition::always()), [Vec::new()]);
    }

    #[test]
    fn the_cubes_of_a_range_are_its_values() {
        for first in 0..32 {
            for last in first..32 {
                let cubes = cubes_of_range((first, last), 5);
                for value in 0..32u64 {
                    let inside =
                        cubes.iter().filter(|(mask, wanted)| value & mask == *wanted).count();
                    assert_eq!(
                        inside,
                        usize::from((first..=last).contains(&value)),
                        "{first} {last}"
                    );
                }
            }
        }
        assert_eq!(cubes_of_range((0, u64::MAX), 64), [(0, 0)]);
        assert_eq!(cubes_of_range((5, 5), 64), [(u64::MAX, 5)]);
        assert_eq!(cubes_of_range((1, u64::MAX), 64).len(), 64);
    }

    #[test]
    fn cubes_of_both_halves_are_joined_and_contradictions_dropped() {
        let one = |part, values| ValueCondition { arg: Some(0), part, values };
        let high = one(ArgPart::High, ValueSet::Ranges(vec![(0, 0)]));
        let low = one(ArgPart::Low, ValueSet::Masked { mask: 3, wanted: 1 });
        assert_eq!(cubes_of_all([&high, &low]), [(0xffff_ffff_0000_0003, 1)]);
        let not = one(ArgPart::Whole, ValueSet::NotMasked { mask: 6, wanted: 2 });
        assert_eq!(cubes_of_all([&not]), [(2, 0), (4, 4)]);
        let odd = one(ArgPart::Whole, ValueSet::Masked { mask: 1, wanted: 0 });
        assert_eq!(cubes_of_all([&low, &odd]), []);
    }
}
