//! Conditions on the arguments of a syscall, or on the members of an io_uring request.

use crate::FilterInput;
use crate::template::Symbol;

use super::comparison::{Field, FieldTest, Test, VariableTest};

/// A boolean combination of tests.
///
/// The constructors keep it in normal form: negation only in tests, no `all` directly in an `all`, no
/// `any` directly in an `any`, no combination of exactly one part.
///
/// Operations on conditions recurse once per level of nested `all` and `any`. The readers of this project create
/// at most three levels; code that builds conditions from nested input must limit the depth to a few hundred.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Shape", into = "Shape"))]
pub struct Condition(Shape);

/// The shape of a [`Condition`], for pattern matching.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Shape {
    /// All parts hold; without parts, always.
    All(Vec<Condition>),
    /// At least one part holds; without parts, never.
    Any(Vec<Condition>),
    /// A single test.
    Test(Test),
    /// A single comparison with a variable.
    #[cfg_attr(feature = "serde", serde(skip))]
    Variable(VariableTest),
    /// A single comparison of two fields.
    Fields(FieldTest),
}

impl Condition {
    /// Holds for every syscall.
    pub const fn always() -> Condition {
        Condition(Shape::All(Vec::new()))
    }

    /// Holds for no syscall.
    pub const fn never() -> Condition {
        Condition(Shape::Any(Vec::new()))
    }

    /// Holds if the test does.
    pub const fn test(test: Test) -> Condition {
        Condition(Shape::Test(test))
    }

    /// Holds if the comparison with a variable does.
    pub const fn variable(test: VariableTest) -> Condition {
        Condition(Shape::Variable(test))
    }

    /// Holds if the comparison of two fields does.
    pub const fn fields(test: FieldTest) -> Condition {
        Condition(Shape::Fields(test))
    }

    /// Holds if all parts do.
    pub fn all(parts: impl IntoIterator<Item = Condition>) -> Condition {
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else { return Condition::always() };
        let Some(second) = parts.next() else { return first };
        let mut flat = Vec::new();
        for part in [first, second].into_iter().chain(parts) {
            match part.0 {
                Shape::All(inner) => flat.extend(inner),
                Shape::Any(inner) if inner.is_empty() => return Condition::never(),
                _ => flat.push(part),
            }
        }
        match flat.len() {
            1 => flat.swap_remove(0),
            _ => Condition(Shape::All(flat)),
        }
    }

    /// Holds if at least one part does.
    pub fn any(parts: impl IntoIterator<Item = Condition>) -> Condition {
        let mut flat = Vec::new();
        for part in parts {
            match part.0 {
                Shape::Any(inner) => flat.extend(inner),
                Shape::All(inner) if inner.is_empty() => return Condition::always(),
                _ => flat.push(part),
            }
        }
        match flat.len() {
            1 => flat.swap_remove(0),
            _ => Condition(Shape::Any(flat)),
        }
    }

    /// Holds exactly if `self` does not.
    #[must_use]
    pub fn negated(self) -> Condition {
        match self.0 {
            Shape::All(parts) => Condition::any(parts.into_iter().map(Condition::negated)),
            Shape::Any(parts) => Condition::all(parts.into_iter().map(Condition::negated)),
            Shape::Test(test) => Condition::test(test.negated()),
            Shape::Variable(test) => Condition::variable(test.negated()),
            Shape::Fields(test) => Condition::fields(test.negated()),
        }
    }

    /// Whether it is syntactically true: no arguments are tested.
    pub fn is_always(&self) -> bool {
        matches!(&self.0, Shape::All(parts) if parts.is_empty())
    }

    /// Whether it holds for a syscall, or another input, when all variables are 0. See [`Condition::given`] for other
    /// values.
    pub fn holds<D: FilterInput>(&self, data: &D) -> bool {
        match &self.0 {
            Shape::All(parts) => parts.iter().all(|part| part.holds(data)),
            Shape::Any(parts) => parts.iter().any(|part| part.holds(data)),
            Shape::Test(test) => test.holds(data),
            Shape::Variable(test) => test.holds(data, &[]),
            Shape::Fields(test) => test.holds(data),
        }
    }

    /// The condition when the variables have these values; a variable without a value counts as 0.
    #[must_use]
    pub fn given(&self, values: &[u64]) -> Condition {
        match &self.0 {
            Shape::All(parts) => Condition::all(parts.iter().map(|part| part.given(values))),
            Shape::Any(parts) => Condition::any(parts.iter().map(|part| part.given(values))),
            Shape::Variable(test) => Condition::test(test.given(values)),
            Shape::Test(_) | Shape::Fields(_) => self.clone(),
        }
    }

    /// The disjunctive normal form: alternatives of which at least one must hold, each a list of tests that must
    /// all hold. No alternative means never, an empty alternative means always.
    ///
    /// `None` if there are more than `limit` alternatives, and if there are comparisons with variables or of two fields; a
    /// conjunction multiplies the alternatives of its parts.
    pub fn alternatives(&self, limit: usize) -> Option<Vec<Vec<Test>>> {
        let alternatives = match &self.0 {
            Shape::Test(test) => vec![vec![*test]],
            Shape::Variable(_) | Shape::Fields(_) => return None,
            Shape::Any(parts) => {
                let mut any = Vec::new();
                for part in parts {
                    any.extend(part.alternatives(limit)?);
                    if any.len() > limit {
                        return None;
                    }
                }
                any
            }
            Shape::All(parts) => {
                let mut all = vec![Vec::new()];
                for part in parts {
                    let part = part.alternatives(limit)?;
                    if all.len().saturating_mul(part.len()) > limit {
                        return None;
                    }
                    let with = |left: &Vec<Test>| {
                        let join = |right: &Vec<Test>| [left.as_slice(), right].concat();
                        part.iter().map(join).collect::<Vec<_>>()
                    };
                    all = all.iter().flat_map(with).collect();
                }
                all
            }
        };
        (alternatives.len() <= limit).then_some(alternatives)
    }

    /// The shape, for pattern matching.
    pub fn shape(&self) -> &Shape {
        &self.0
    }

    /// Calls `visit` for every comparison of the condition with a constant.
    pub fn for_each_test(&self, visit: &mut impl FnMut(&Test)) {
        self.for_each_leaf(&mut |leaf| {
            if let Shape::Test(test) = leaf {
                visit(test);
            }
        });
    }

    /// Calls `visit` for every comparison of the condition with a variable.
    pub fn for_each_variable_test(&self, visit: &mut impl FnMut(&VariableTest)) {
        self.for_each_leaf(&mut |leaf| {
            if let Shape::Variable(test) = leaf {
                visit(test);
            }
        });
    }

    /// Calls `visit` for every field that the condition compares, with the symbol if it is compared with a variable.
    pub(super) fn for_each_comparison(&self, visit: &mut impl FnMut(Field, Option<Symbol>)) {
        self.for_each_leaf(&mut |leaf| match leaf {
            Shape::All(_) | Shape::Any(_) => {}
            Shape::Test(test) => visit(test.field, None),
            Shape::Variable(test) => visit(test.field, Some(test.symbol)),
            Shape::Fields(test) => {
                [test.left, test.right].iter().for_each(|field| visit(*field, None))
            }
        });
    }

    /// Calls `visit` for every comparison.
    pub fn for_each_leaf(&self, visit: &mut impl FnMut(&Shape)) {
        match &self.0 {
            Shape::All(parts) | Shape::Any(parts) => {
                parts.iter().for_each(|part| part.for_each_leaf(visit));
            }
            leaf => visit(leaf),
        }
    }
}

impl From<VariableTest> for Condition {
    fn from(test: VariableTest) -> Condition {
        Condition::variable(test)
    }
}

impl From<FieldTest> for Condition {
    fn from(test: FieldTest) -> Condition {
        Condition::fields(test)
    }
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Cmp;
    use super::*;
    use crate::SeccompData;

    fn arg(index: u8) -> Field {
        Field::arg(index).unwrap()
    }

    #[test]
    fn combinations_are_in_normal_form() {
        let a = || Condition::test(Test::eq(arg(0), 1));
        let b = || Condition::test(Test::eq(arg(1), 2));
        assert_eq!(Condition::all([a()]), a());
        assert_eq!(Condition::all([]), Condition::always());
        assert_eq!(Condition::all([a(), Condition::never()]), Condition::never());
        assert_eq!(Condition::any([a(), Condition::always()]), Condition::always());
        assert_eq!(
            Condition::all([a(), Condition::all([b(), a()])]),
            Condition::all([a(), b(), a()])
        );
        assert_eq!(Condition::all([a(), b()]).negated().negated(), Condition::all([a(), b()]));
    }

    #[test]
    fn alternatives_are_equivalent_to_the_condition() {
        let test = |index, value| Condition::test(Test::eq(arg(index), value));
        let either = Condition::any([test(0, 1), test(1, 2)]);
        let both = Condition::all([either.clone(), Condition::any([test(2, 3), test(3, 4)])]);
        let nested = Condition::any([both, Condition::all([test(4, 5), test(5, 6)])]);
        let alternatives = nested.alternatives(5).unwrap();
        assert_eq!(alternatives.len(), 5);
        assert_eq!(nested.alternatives(4), None);
        for bits in 0..64u64 {
            // If bit i is set, argument i has the value that its test compares with.
            let args = std::array::from_fn(|i| if bits >> i & 1 == 1 { i as u64 + 1 } else { 0 });
            let data = SeccompData { args, ..SeccompData::default() };
            let one_holds = alternatives.iter().any(|all| all.iter().all(|test| test.holds(&data)));
            assert_eq!(one_holds, nested.holds(&data), "{args:?}");
        }
        assert_eq!(Condition::always().alternatives(1), Some(vec![vec![]]));
        assert_eq!(Condition::never().alternatives(0), Some(vec![]));
        assert_eq!(either.alternatives(1), None);
    }

    #[test]
    fn a_negated_test_holds_exactly_when_the_test_does_not() {
        for cmp in [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge] {
            for value in 0..3 {
                let test = Test { mask: 3, ..Test::new(arg(2), cmp, value) };
                for given in 0..8 {
                    let mut data = SeccompData::default();
                    data.args[2] = given;
                    assert_ne!(test.holds(&data), test.negated().holds(&data));
                }
            }
        }
    }

    #[test]
    fn a_test_of_the_low_half_ignores_the_high_half() {
        let mut data = SeccompData::default();
        data.args[1] = 0x5_0000_0007;
        assert!(Test::eq(Field::arg_low(1).unwrap(), 7).holds(&data));
        assert!(!Test::eq(arg(1), 7).holds(&data));
        assert!(Test::masked_eq(arg(1), 0xf_0000_0000, 0x5_0000_0000).holds(&data));
        assert_eq!(Field::arg(6), None);
    }
}
