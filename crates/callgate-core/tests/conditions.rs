//! The normal forms of conditions.

use callgate_core::policy::{Condition, Field, Shape, Test};

fn test(value: u64) -> Condition {
    Condition::test(Test::eq(Field::arg(0).unwrap(), value))
}

#[test]
fn disjunctions_are_flat_and_one_part_stands_for_itself() {
    let inner = Condition::any([test(1), test(2)]);
    let any = Condition::any([inner, test(3)]);
    assert_eq!(any.shape(), &Shape::Any(vec![test(1), test(2), test(3)]));
    assert_eq!(Condition::any([test(4)]), test(4));
    assert_eq!(Condition::any([test(5), Condition::always()]), Condition::always());
}

#[test]
fn only_the_empty_conjunction_is_always() {
    assert!(Condition::always().is_always());
    assert!(Condition::all([]).is_always());
    for other in [test(1), Condition::any([]), Condition::all([test(1), test(2)])] {
        assert!(!other.is_always(), "{other:?}");
    }
}

/// The limit itself is permitted: 2 * 3 alternatives.
#[test]
fn alternatives_are_limited() {
    let two = Condition::any([test(1), test(2)]);
    let three = Condition::any([test(3), test(4), test(5)]);
    let product = Condition::all([two, three.clone()]);
    assert_eq!(product.alternatives(6).map(|all| all.len()), Some(6));
    assert_eq!(product.alternatives(7).map(|all| all.len()), Some(6));
    assert_eq!(product.alternatives(5), None);
    assert_eq!(three.alternatives(3).map(|all| all.len()), Some(3));
    assert_eq!(three.alternatives(2), None);
}

#[test]
fn each_test_of_a_condition_is_visited_once() {
    let nested = Condition::all([test(1), Condition::any([test(2), test(3)])]);
    let mut values = Vec::new();
    nested.for_each_test(&mut |test| values.push(test.value));
    assert_eq!(values, [1, 2, 3]);
}
