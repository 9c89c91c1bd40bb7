//! Sets of values of one number, built from their borders.
//!
//! Hundreds of rules that compare one argument with a constant each are one set of values. From its
//! borders each node of the diagram is made once; one rule after the other would make most of them
//! anew for every rule.

use std::collections::BTreeMap;

use super::compare::var_of_field;
use super::node::Node;
use super::{DiagramError, Pred, Store, Var};
use crate::policy::{Cmp, Condition, Field, Shape, Test};

/// The first and the last value of each interval.
type Intervals = Vec<(u64, u64)>;

/// For which values of fields one of some tests holds.
#[derive(Debug, Default)]
pub(super) struct Values {
    fields: BTreeMap<Field, Intervals>,
}

impl Values {
    /// Adds a condition that is one test of all bits of a field; false, and nothing added, when it is
    /// not.
    pub(super) fn add(&mut self, condition: &Condition) -> bool {
        let Shape::Test(test) = condition.shape() else { return false };
        let full = test.field.full_mask();
        if test.mask != full {
            return false;
        }
        let intervals = self.fields.entry(test.field).or_default();
        intervals.extend(holds_for(test).into_iter().filter_map(|(first, last)| {
            // A constant may be wider than the field.
            (first <= last && first <= full).then_some((first, last.min(full)))
        }));
        true
    }

    /// For each field, the predicate that one of its tests holds.
    ///
    /// # Errors
    /// [`DiagramError`].
    pub(super) fn predicates(self, store: &mut Store) -> Result<Vec<Pred>, DiagramError> {
        let of_field = |(field, intervals)| store.values(field, intervals);
        self.fields.into_iter().map(of_field).collect()
    }
}

/// The values for which a test holds; an interval that ends before it begins is empty.
fn holds_for(test: &Test) -> [(u64, u64); 2] {
    const NONE: (u64, u64) = (1, 0);
    let value = test.value;
    let below = value.checked_sub(1).map_or(NONE, |last| (0, last));
    let above = value.checked_add(1).map_or(NONE, |first| (first, u64::MAX));
    match test.cmp {
        Cmp::Eq => [(value, value), NONE],
        Cmp::Ne => [below, above],
        Cmp::Lt => [below, NONE],
        Cmp::Le => [(0, value), NONE],
        Cmp::Gt => [above, NONE],
        Cmp::Ge => [(value, u64::MAX), NONE],
    }
}

impl Store {
    /// The predicate that a field's value is in one of these intervals, in any order.
    fn values(&mut self, field: Field, mut intervals: Intervals) -> Result<Pred, DiagramError> {
        intervals.sort_unstable();
        intervals.dedup_by(|(first, last), (_, end)| {
            let joins = *first <= end.saturating_add(1);
            if joins {
                *end = (*end).max(*last);
            }
            joins
        });
        let mut from_zero = Pred::NEVER;
        let mut borders = Vec::new();
        for (first, last) in intervals {
            match first {
                0 => from_zero = Pred::ALWAYS,
                _ => borders.push((first, Pred::ALWAYS)),
            }
            if last < field.full_mask() {
                borders.push((last + 1, Pred::NEVER));
            }
        }
        let bits = if field.high_word().is_some() { 64 } else { 32 };
        self.runs(&|bit| var_of_field(field, bit), (from_zero, &borders), 0, bits)
    }

    /// What a number of so many bits leads to, for its values from `base` on: to `first`, and from each
    /// border on to what stands there. Borders are in order, behind `base`, and inside the share. It
    /// calls itself `bits` deep.
    pub(super) fn runs<N: Node>(
        &mut self,
        var: &dyn Fn(u32) -> Var,
        (first, borders): (N, &[(u64, N)]),
        base: u64,
        bits: u32,
    ) -> Result<N, DiagramError> {
        let Some(bit) = bits.checked_sub(1).filter(|_| !borders.is_empty()) else {
            return Ok(first);
        };
        let middle = base | 1 << bit;
        let (below, above) = borders.split_at(borders.partition_point(|(at, _)| *at < middle));
        let in_middle = match above {
            [(at, then), behind @ ..] if *at == middle => (*then, behind),
            _ => (below.last().map_or(first, |(_, then)| *then), above),
        };
        let low = self.runs(var, (first, below), base, bit)?;
        let high = self.runs(var, in_middle, middle, bit)?;
        self.made_of(var(bit), low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::Budget;
    use callgate_bpf::data::SeccompData;

    /// Every comparison with every constant at a border, by itself and together with another.
    #[test]
    fn a_set_of_values_is_what_its_tests_are_together() {
        let borders =
            [0, 1, 2, 7, 8, 0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, u64::MAX - 1, u64::MAX];
        let cmps = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];
        for field in [Field::arg(2).unwrap(), Field::arg_low(2).unwrap()] {
            let of = |cmp| borders.map(|value| Condition::test(Test::new(field, cmp, value)));
            let tests: Vec<Condition> = cmps.into_iter().flat_map(of).collect();
            let mut store = Store::new(Budget::default());
            let alone: Vec<Pred> = tests.iter().map(|t| store.condition(t).unwrap()).collect();
            for (a, pred_a) in tests.iter().zip(&alone) {
                for (b, pred_b) in tests.iter().zip(&alone) {
                    let mut values = Values::default();
                    assert!(values.add(a) && values.add(b));
                    let together = values.predicates(&mut store).unwrap();
                    assert_eq!(together, [store.or(*pred_a, *pred_b).unwrap()], "{a:?} {b:?}");
                }
            }
            for (test, pred) in tests.iter().zip(alone) {
                let func = store.verdict(callgate_bpf::Verdict::ALLOW).unwrap();
                let deny = store.verdict(callgate_bpf::Verdict::KILL_PROCESS).unwrap();
                let func = store.select(pred, func, deny).unwrap();
                for value in borders {
                    let mut data = SeccompData::default();
                    data.args[2] = value;
                    let holds =
                        store.evaluate(func, &data).unwrap() == callgate_bpf::Verdict::ALLOW;
                    assert_eq!(holds, test.holds(&data), "{test:?} {value:#x}");
                }
            }
        }
    }

    #[test]
    fn a_masked_test_is_no_set_of_values() {
        let masked = Condition::test(Test::masked_eq(Field::arg(0).unwrap(), 6, 2));
        assert!(!Values::default().add(&masked));
        assert!(!Values::default().add(&Condition::always()));
    }
}
