//! The MTBDD of random policies against the evaluation of their rules.

use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_testing::random::{Constants, Rng, cases, policies, policies_of_one_argument};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

fn mtbdd_agrees_with_rules(policy: &Policy, seed: u64) -> Result<(), TestCaseError> {
    let mut store = Store::default();
    let func = store.policy(policy).unwrap();
    store.check(func).unwrap();
    let (constants, mut rng) = (Constants::of_policy(policy), Rng::new(seed));
    for _ in 0..400 {
        let data = constants.syscall(&mut rng);
        let given = store.evaluate(func, &data).unwrap();
        prop_assert_eq!(given, policy.evaluate(&data), "{:x?}", data);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn the_mtbdd_agrees_with_the_rules(policy in policies(10), seed in any::<u64>()) {
        mtbdd_agrees_with_rules(&policy, seed)?;
    }

    #[test]
    fn the_mtbdd_agrees_with_rules_about_one_argument(
        policy in policies_of_one_argument(),
        seed in any::<u64>(),
    ) {
        mtbdd_agrees_with_rules(&policy, seed)?;
    }
}
