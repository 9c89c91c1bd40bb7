//! The ways to compare a filter with a policy: with or without the rules that a container runtime adds to profiles.

use super::options::ConvertOptions;
use super::source::Source;
use crate::oci::EnosysAbove;
use callgate_core::diagram::Func;

use crate::languages::EnosysRule;

/// A function that a policy must have, and how the policy is read back for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) func: Func,
    pub(crate) enosys_above: EnosysAbove,
    /// The filter as its runtime applies it, if the policy has to name the bounds of runc's rule for it.
    pub(crate) applied: Option<Func>,
}

/// The attempts, the best first. The policy that loses least is written, and of these the one about whose runtime least is to
/// be known.
pub(crate) fn attempts(source: Source, options: &ConvertOptions) -> Vec<Attempt> {
    let Source { applied, own } = source;
    let has_rules = applied != own;
    if let Some(enosys_above) = options.enosys_above {
        return vec![Attempt { func: applied, enosys_above, applied: None }];
    }
    let without = |func, applied| Attempt { func, enosys_above: EnosysAbove::Off, applied };
    let with_rules = Attempt { func: applied, enosys_above: EnosysAbove::On, applied: None };
    match options.target.writer().map(|writer| writer.enosys_rule) {
        // runc always adds its rule, also for a filter that does not have it, but not without a name above number 0.
        Some(EnosysRule::Always) => {
            vec![with_rules, without(own, Some(applied)), without(own, None)]
        }
        Some(EnosysRule::OnlyRunc | EnosysRule::Perhaps) if has_rules => {
            vec![without(own, Some(applied)), with_rules]
        }
        // The filter of a container has the rule in its program.
        Some(EnosysRule::OnlyRunc | EnosysRule::Perhaps) => vec![without(own, None), with_rules],
        // Other programs have no such rule, but most languages can say it.
        _ if has_rules => vec![without(applied, None), without(own, None)],
        _ => vec![without(own, None)],
    }
}
