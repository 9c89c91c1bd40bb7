//! Policy texts of random policies are read as these policies, and mean the same.

use callgate_core::policy::{Condition, Policy, Shape};
use callgate_formats::policy_text::{PolicyText, read, write};
use callgate_testing::random::{
    Rng, named_policies, policies, policies_of_one_argument, samples, variables,
};

/// Whether it compares with a sum or complement of a variable.
fn has_sum(condition: &Condition) -> bool {
    match condition.shape() {
        Shape::All(parts) | Shape::Any(parts) => parts.iter().any(has_sum),
        Shape::Variable(test) => test.symbol.addend() != 0 || test.symbol.is_complement(),
        Shape::Test(_) | Shape::Fields(_) => false,
    }
}

fn round_trip(policies: Vec<Policy>) {
    let is_stack = policies.len() > 1;
    let text = write(&policies, is_stack, &[]).unwrap();
    assert_eq!(read(&text), Ok(PolicyText { policies, is_stack }), "{text}");
}

#[test]
fn random_policies_are_read_as_they_are_written() {
    let mut all = samples(&named_policies(8), 1, 100);
    all.extend(samples(&policies(10), 2, 200));
    all.extend(samples(&policies_of_one_argument(), 3, 100));
    for policy in &all {
        round_trip(vec![policy.clone()]);
    }
    for pair in all.chunks(2) {
        if let [a, b] = pair {
            if a.endian() == b.endian() {
                round_trip(pair.to_vec());
            }
        }
    }
}

#[test]
fn random_policies_with_variables_are_read_as_they_are_written_or_refused() {
    let mut rng = Rng::new(1);
    let (mut written, mut refused) = (0, 0);
    for _ in 0..500 {
        let policy = variables::policy(&mut rng);
        let mut rules = policy.sections().iter().flat_map(|section| &section.rules);
        match rules.any(|rule| has_sum(&rule.when)) {
            true => {
                assert!(write(&[policy], false, &[]).is_err());
                refused += 1;
            }
            false => {
                round_trip(vec![policy]);
                written += 1;
            }
        }
    }
    assert!(written > 0 && refused > 0, "{written} {refused}");
}
