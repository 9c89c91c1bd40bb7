//! Conjunctions of bits, such as `a == 3 && b & 6 == 2`, as the list of these bits.
//!
//! A rule with such a condition changes a function only along the path of its bits. So the condition needs no predicate, and
//! the function no if-then-else.

use rustc_hash::FxHashMap as HashMap;

use super::compare::var_of_field;
use super::node::Node;
use super::{DiagramError, Func, Store, Var};
use crate::policy::{Cmp, Condition, Shape, Test};
use callgate_bpf::Layout;

/// A variable, and the value that it must have.
type Literal = (Var, bool);

/// The literals of a condition by variable, each variable once.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Literals {
    All(Vec<Literal>),
    /// No input fulfills the condition.
    Never,
}

impl Literals {
    /// The literals of a condition on a layout, if it is an equality, or several that must all hold.
    pub(super) fn of(condition: &Condition, layout: Layout) -> Option<Literals> {
        let mut literals = Vec::new();
        let mut possible = true;
        let mut add = |condition: &Condition| match condition.shape() {
            Shape::Test(test) if test.cmp == Cmp::Eq && test.field.layout() == layout => {
                possible &= add_test(test, &mut literals);
                true
            }
            _ => false,
        };
        let is_conjunction = match condition.shape() {
            Shape::All(parts) => parts.iter().all(add),
            _ => add(condition),
        };
        if !is_conjunction {
            return None;
        }
        literals.sort_unstable();
        literals.dedup();
        // A variable that is left twice must have both values.
        possible &= literals.is_sorted_by(|(a, _), (b, _)| a < b);
        Some(if possible { Literals::All(literals) } else { Literals::Never })
    }
}

/// Adds the literals of an equality; false if no value fulfills it.
fn add_test(test: &Test, literals: &mut Vec<Literal>) -> bool {
    let mask = test.mask & test.field.full_mask();
    let bits = (0..test.field.bits()).filter(|bit| mask >> bit & 1 == 1);
    literals.extend(bits.map(|bit| (var_of_field(test.field, bit), test.value >> bit & 1 == 1)));
    test.value & !mask == 0
}

impl Store {
    /// The function with this verdict where all literals hold.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn select_literals(
        &mut self,
        literals: &[Literal],
        verdict: Func,
        func: Func,
    ) -> Result<Func, DiagramError> {
        let mut changing = Changing { then: verdict.id(), changed: HashMap::default() };
        let id = changing.node(self, literals, func.id())?;
        Ok(self.handle(id))
    }
}

/// Changes a function where literals hold.
struct Changing {
    /// The terminal that it becomes there.
    then: u32,
    /// By the number of literals that are left, and the node.
    changed: HashMap<(usize, u32), u32>,
}

impl Changing {
    /// The changed node. The recursion depth is the number of variables.
    fn node(
        &mut self,
        store: &mut Store,
        literals: &[Literal],
        start: u32,
    ) -> Result<u32, DiagramError> {
        let key = (literals.len(), start);
        if let Some(changed) = self.changed.get(&key) {
            return Ok(*changed);
        }
        let (mut left, mut node) = (literals, start);
        // The variables of the path, each with the child that is not on the path.
        let mut path: Vec<(Literal, u32)> = Vec::new();
        let mut changed = loop {
            if node == self.then {
                break node;
            }
            let Some(((var, value), rest)) = left.split_first() else { break self.then };
            let top = store.stored_at(node).test();
            if top < *var {
                let low = store.child(node, top, false);
                let high = store.child(node, top, true);
                let low = self.node(store, left, low)?;
                let high = self.node(store, left, high)?;
                break store.node(top, low, high)?;
            }
            path.push(((*var, *value), store.child(node, *var, !value)));
            (left, node) = (rest, store.child(node, *var, *value));
        };
        for ((var, value), other) in path.into_iter().rev() {
            let (low, high) = if value { (other, changed) } else { (changed, other) };
            changed = store.node(var, low, high)?;
        }
        self.changed.insert(key, changed);
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::Budget;
    use crate::policy::Field;
    use callgate_bpf::data::Endian;
    use callgate_bpf::verdict::Verdict;

    /// Conjunctions of equalities of the same and of different fields, with and without masks, some of them impossible.
    #[test]
    fn a_function_changes_as_with_a_predicate() {
        let fields: Vec<Field> =
            (0..3).flat_map(|i| [Field::arg(i), Field::arg_low(i)]).flatten().collect();
        let values = [0, 1, 2, 6, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        let masks = [u64::MAX, 0xffff_ffff, 6, 0x1_0000_0001];
        let mut store = Store::new(Budget::default());
        let verdicts = [1, 2].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
        let (mut func, mut never) = (store.verdict(Verdict::ALLOW).unwrap(), 0);
        for step in 0..800usize {
            let tests = (0..1 + step % 4).map(|k| {
                let at = step * 7 + k * (5 + step % 3);
                let mask = masks[at / 7 % 4];
                let value = values[at / 5 % 7] & if step % 5 == 0 { u64::MAX } else { mask };
                let test = Test::eq(fields[at % fields.len()], value);
                Condition::test(Test { mask: mask & test.field.full_mask(), ..test })
            });
            let condition = Condition::all(tests.collect::<Vec<_>>());
            let predicate = store.condition(&condition).unwrap();
            let verdict = verdicts[step / 3 % 2];
            let expected = store.select(predicate, verdict, func).unwrap();
            let changed = match Literals::of(&condition, Layout::Seccomp) {
                Some(Literals::All(literals)) => {
                    store.select_literals(&literals, verdict, func).unwrap()
                }
                Some(Literals::Never) => {
                    never += 1;
                    func
                }
                None => panic!("{condition:?}"),
            };
            assert_eq!(changed, expected, "{step}: {condition:?}");
            func = if step % 40 == 39 { verdict } else { changed };
        }
        assert!((50..600).contains(&never), "{never}");
    }

    #[test]
    fn other_conditions_have_no_literals() {
        let field = Field::arg(0).unwrap();
        let [equal, less] = [Cmp::Eq, Cmp::Lt].map(|cmp| Condition::test(Test::new(field, cmp, 3)));
        let others = [
            less.clone(),
            Condition::all([equal.clone(), less.clone()]),
            Condition::any([equal.clone(), less]),
        ];
        assert!(others.iter().all(|other| Literals::of(other, Layout::Seccomp).is_none()));
        assert!(Literals::of(&equal, Layout::Seccomp).is_some());
        assert_eq!(Literals::of(&equal, Layout::IoUring(Endian::Little)), None);
    }
}
