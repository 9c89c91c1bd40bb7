//! Sets of values of one field, built from intervals.
//!
//! Hundreds of rules that each compare one argument with a constant form one set of values. From the
//! sorted bounds of its intervals each node of the diagram is created once; adding one rule after the other
//! would rebuild most nodes for every rule.

use std::collections::BTreeMap;

use super::compare::{var_of_field, vars_of_field};
use super::node::Node;
use super::{DiagramError, Func, Pred, Store};
use crate::policy::{Cmp, Condition, Field, Shape, Test};

/// The first and the last value of each interval.
type Intervals = Vec<(u64, u64)>;

/// Per field, the values for which at least one of several tests holds.
#[derive(Debug, Default)]
pub(super) struct ValueSets {
    fields: BTreeMap<Field, Intervals>,
}

impl ValueSets {
    /// Adds a condition that is a single test of all bits of a field. For any other condition it returns
    /// false and adds nothing.
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

    /// For each field, the predicate that at least one of its tests holds.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn predicates(self, store: &mut Store) -> Result<Vec<Pred>, DiagramError> {
        let in_set = [Pred::ALWAYS, Pred::NEVER];
        let of_field = |(field, intervals)| store.value_set(field, intervals, in_set);
        self.fields.into_iter().map(of_field).collect()
    }

    /// `then` where at least one of the tests holds, `otherwise` elsewhere.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn select(
        self,
        store: &mut Store,
        then: Func,
        otherwise: Func,
    ) -> Result<Func, DiagramError> {
        let mut func = otherwise;
        // The last field first: the function of the others then tests only later variables, and needs no predicate.
        for (field, intervals) in self.fields.into_iter().rev() {
            let last = var_of_field(field, 0);
            func = if store.var(func).min(store.var(then)) > last {
                store.value_set(field, intervals, [then, func])?
            } else {
                let values = store.value_set(field, intervals, [Pred::ALWAYS, Pred::NEVER])?;
                store.select(values, then, func)?
            };
        }
        Ok(func)
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
    /// The first node where a field's value is in one of these intervals, in any order, and the second elsewhere. Both
    /// test only variables after those of the field.
    fn value_set<N: Node>(
        &mut self,
        field: Field,
        mut intervals: Intervals,
        [inside, outside]: [N; 2],
    ) -> Result<N, DiagramError> {
        self.check_layout(field.layout())?;
        intervals.sort_unstable();
        intervals.dedup_by(|(first, last), (_, end)| {
            let joins = *first <= end.saturating_add(1);
            if joins {
                *end = (*end).max(*last);
            }
            joins
        });
        let mut from_zero = outside;
        let mut bounds = Vec::new();
        for (first, last) in intervals {
            match first {
                0 => from_zero = inside,
                _ => bounds.push((first, inside.id())),
            }
            if last < field.full_mask() {
                bounds.push((last + 1, outside.id()));
            }
        }
        let id = self.by_interval(&vars_of_field(field), None, (from_zero.id(), &bounds), 0)?;
        Ok(self.handle(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeccompData;
    use crate::diagram::Budget;

    /// Every comparison with every boundary value, alone and in pairs.
    #[test]
    fn a_set_of_values_is_the_union_of_its_tests() {
        let boundaries =
            [0, 1, 2, 7, 8, 0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, u64::MAX - 1, u64::MAX];
        let cmps = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];
        for field in [Field::arg(2).unwrap(), Field::arg_low(2).unwrap()] {
            let of = |cmp| boundaries.map(|value| Condition::test(Test::new(field, cmp, value)));
            let tests: Vec<Condition> = cmps.into_iter().flat_map(of).collect();
            let mut store = Store::new(Budget::default());
            let alone: Vec<Pred> = tests.iter().map(|t| store.condition(t).unwrap()).collect();
            for (a, pred_a) in tests.iter().zip(&alone) {
                for (b, pred_b) in tests.iter().zip(&alone) {
                    let mut values = ValueSets::default();
                    assert!(values.add(a) && values.add(b));
                    let together = values.predicates(&mut store).unwrap();
                    assert_eq!(together, [store.or(*pred_a, *pred_b).unwrap()], "{a:?} {b:?}");
                }
            }
            for (test, pred) in tests.iter().zip(alone) {
                let func = store.verdict(crate::Verdict::ALLOW).unwrap();
                let deny = store.verdict(crate::Verdict::KILL_PROCESS).unwrap();
                let func = store.select(pred, func, deny).unwrap();
                for value in boundaries {
                    let mut data = SeccompData::default();
                    data.args[2] = value;
                    let holds = store.evaluate(func, &data).unwrap() == crate::Verdict::ALLOW;
                    assert_eq!(holds, test.holds(&data), "{test:?} {value:#x}");
                }
            }
        }
    }

    #[test]
    fn a_masked_test_is_not_a_set_of_values() {
        let masked = Condition::test(Test::masked_eq(Field::arg(0).unwrap(), 6, 2));
        assert!(!ValueSets::default().add(&masked));
        assert!(!ValueSets::default().add(&Condition::always()));
    }
}
