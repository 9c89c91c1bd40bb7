//! What is written is read as the same policies; what is wrong is refused with its line.

use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict};
use callgate_testing::random::{Strategy, check, named_policies, policies};

use super::{MAX_DEPTH, PolicyText, read, write};

fn round_trip(policies: &[Policy]) -> String {
    let is_stack = policies.len() > 1;
    let text = write(policies, is_stack, &["a header".to_owned()]).unwrap();
    let expected = PolicyText { policies: policies.to_vec(), is_stack };
    assert_eq!(read(&text).as_ref(), Ok(&expected), "{text}");
    text
}
