//! `SeccompProfile` resources of the Security Profiles Operator, version `v1`.
//!
//! The resource has no errno for its default action, so ERRNO is EPERM there; an errno of 0 counts as not given, and values
//! of arguments have 63 bits (`api/seccompprofile/v1/seccompprofile_types.go` of the operator).

use super::convert::{MAX_EXACT, fit_verdicts, has_enosys, profile};
use super::dialect::Dialect;
use super::write_resource::{has_resource_arch, write_resource};
use crate::convert::error::{ConvertError, ConvertErrorKind};
use crate::convert::fit::Fit;
use crate::convert::named_rules::NamedLanguage;
use crate::convert::numbering::{DENIAL, Unlisted};
use crate::convert::writing::Writing;
use crate::ruleset::{Comparison, Op};
use callgate_core::{Action, Verdict};

/// The errno where none is given.
const EPERM: u16 = 1;

/// The name of the resource, unless one is given.
const NAME: &str = "converted-profile";

/// Writes a resource.
pub(crate) fn write(fit: &mut Fit<'_>, writing: &Writing<'_>) -> Result<String, ConvertError> {
    if let Some(arch) = fit.arches.first().filter(|arch| !has_resource_arch(**arch)) {
        let why = format!("a SeccompProfile resource cannot name {arch}");
        return Err(ConvertError(ConvertErrorKind::Unsupported(why)));
    }
    fit.arches.retain(|arch| has_resource_arch(*arch));
    // The resource has errnos up to 4095, but libseccomp rejects the last one.
    fit_verdicts(fit, Dialect::Runc)?;
    for (old, new, why) in [
        (Verdict::errno(0), Verdict::errno(EPERM), "errnoRet 0 means EPERM in this resource"),
        (Verdict::trace(0), Verdict::trace(EPERM), "errnoRet 0 means 1 in this resource"),
    ] {
        fit.replace_verdict(old, new, why)?;
    }
    let unlisted = Unlisted {
        why: "the resource names syscalls, and its default action has no errno but EPERM",
        enosys_above: has_enosys(writing),
        kills_other_abi: true,
        can_be_default,
        fallbacks: &[DENIAL],
        may_lack_enosys: has_enosys(writing),
    };
    let language = NamedLanguage {
        refuses_conflicts: true,
        reaches_multiplexed: true,
        has_fixed_arches: false,
        max_number: MAX_EXACT,
        unsayable,
    };
    let profile = profile(fit, writing, unlisted, language)?;
    let name = writing.name.unwrap_or(NAME);
    write_resource(&profile, name).ok_or_else(|| ConvertError::defect("a verdict has no action"))
}

fn can_be_default(verdict: Verdict) -> bool {
    match verdict.action() {
        Action::Errno(data) | Action::Trace(data) => data == EPERM,
        Action::UserNotif(_) => false,
        _ => true,
    }
}

/// Why an entry cannot have a comparison.
fn unsayable(_: &'static str, comparison: &Comparison) -> Option<&'static str> {
    let is_large = |value: u64| i64::try_from(value).is_err();
    let is_unsayable = match comparison.op() {
        Op::MaskedEq(mask) => is_large(mask) || is_large(comparison.value()),
        _ => is_large(comparison.value()),
    };
    is_unsayable.then_some("values and masks of the resource are below 2^63")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_action_has_no_errno() {
        assert!(can_be_default(Verdict::errno(1)) && can_be_default(Verdict::KILL_PROCESS));
        assert!(!can_be_default(Verdict::errno(38)) && !can_be_default(Verdict::user_notif(0)));
    }
}
