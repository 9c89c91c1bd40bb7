//! Random rules as libseccomp has them.

use callgate_experiments::libseccomp::{ArgCmp, Context};
use callgate_profile_fuzz::rule::Op;

use super::sequence::Rule;

/// Adds a rule.
pub(super) fn add(context: &Context<'_>, rule: &Rule) -> i32 {
    let comparisons = rule.comparisons.iter().map(|test| {
        let (op, datum_a, datum_b) = match test.op {
            Op::Ne => (1, test.datum, 0),
            Op::Lt => (2, test.datum, 0),
            Op::Le => (3, test.datum, 0),
            Op::Eq => (4, test.datum, 0),
            Op::Ge => (5, test.datum, 0),
            Op::Gt => (6, test.datum, 0),
            Op::MaskedEq => (7, test.mask, test.datum),
        };
        ArgCmp { arg: test.arg as u32, op, datum_a, datum_b }
    });
    let comparisons: Vec<ArgCmp> = comparisons.collect();
    context.rule(rule.action, context.library().number_here(rule.name), &comparisons)
}
