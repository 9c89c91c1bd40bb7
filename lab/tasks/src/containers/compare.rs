//! Compares the filter of a container with Callgate's program and with the evaluator.

use callgate::{SeccompData, Verdict};
use callgate_codegen::query;
use callgate_core::Program;
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_profile_fuzz::runtime::{Call, Contradiction, Filter};

use callgate_tasks::Result;

/// The maximum number of groups of syscalls that are compared if two filters differ.
const GROUPS: usize = 1_000;

/// The result of a comparison.
pub(super) enum Compared {
    /// The filters are equivalent.
    Same,
    /// libseccomp's program contradicts its rules because of this defect, and nowhere else.
    Contradicted(Contradiction),
    /// The filters differ for another reason.
    Differs(String),
}

/// Compares an installed program with a policy, for all syscalls.
pub(super) fn compare(installed: &Program, policy: &Policy, rules: &Filter) -> Result<Compared> {
    let mut store = Store::default();
    let endian = callgate::Endian::NATIVE;
    let failed = |error| format!("{error}");
    let ours = store.policy(policy).map_err(failed)?;
    let theirs = store.program(installed, endian).map_err(failed)?;
    if ours == theirs {
        return Ok(Compared::Same);
    }
    let mut found = None;
    for difference in query::differences(&store, ours, theirs, GROUPS).map_err(failed)? {
        let call = call(&difference.data);
        let expected = Verdict(rules.verdict(&call));
        let show = || {
            let (ours, theirs) = (difference.left, difference.right);
            format!(
                "{:x?}: callgate {ours}, installed {theirs}, the rules {expected}",
                difference.data
            )
        };
        match rules.contradiction(&call) {
            Some(defect) if difference.left == expected => found = found.max(Some(defect)),
            _ => return Ok(Compared::Differs(show())),
        }
    }
    Ok(match found {
        Some(defect) => Compared::Contradicted(defect),
        None => Compared::Differs("the functions differ, but on no call".to_owned()),
    })
}

fn call(data: &SeccompData) -> Call {
    Call { token: data.arch, nr: data.nr, ip: data.instruction_pointer, args: data.args }
}
