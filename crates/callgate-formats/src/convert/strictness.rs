//! Which of two verdicts is stricter.

use super::error::ConvertError;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Action, SeccompData, Verdict};

/// How much a verdict permits: less with a larger number. The order is that of the kernel's precedence, except that all
/// actions that do not run the syscall are equal.
fn rank(verdict: Verdict) -> u8 {
    match verdict.action() {
        Action::Allow => 0,
        Action::Log => 1,
        Action::Trace(_) => 2,
        Action::UserNotif(_) => 3,
        _ => 4,
    }
}

/// Whether a verdict permits no more than another one.
pub(crate) fn is_as_strict(new: Verdict, old: Verdict) -> bool {
    rank(new) >= rank(old)
}

/// The verdict whose action has the highest precedence; ALLOW if there is none.
pub(crate) fn strictest(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let all = verdicts.into_iter();
    all.max_by_key(|one| (one.precedence(), std::cmp::Reverse(one.data())))
        .unwrap_or(Verdict::ALLOW)
}

/// A syscall for which `new` permits more than `old`; `None` proves that there is none.
pub(crate) fn laxer(
    store: &mut Store,
    old: Func,
    new: Func,
) -> Result<Option<SeccompData>, ConvertError> {
    let combinations = store.verdict_combinations([old, new])?;
    let laxer = |([old, new], _): &([Verdict; 2], SeccompData)| !is_as_strict(*new, *old);
    Ok(combinations.into_iter().find(laxer).map(|(_, data)| data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_permits_less_is_stricter_and_denials_are_equal() {
        let order = [
            Verdict::ALLOW,
            Verdict::LOG,
            Verdict::trace(0),
            Verdict::user_notif(0),
            Verdict::errno(1),
        ];
        for (i, a) in order.into_iter().enumerate() {
            for (j, b) in order.into_iter().enumerate() {
                assert_eq!(is_as_strict(a, b), i >= j, "{a} {b}");
            }
        }
        let denials =
            [Verdict::errno(0), Verdict::trap(1), Verdict::KILL_THREAD, Verdict::KILL_PROCESS];
        for a in denials {
            assert!(denials.iter().all(|b| is_as_strict(a, *b)));
        }
        assert_eq!(strictest([Verdict::ALLOW, Verdict::errno(1), Verdict::LOG]), Verdict::errno(1));
        assert_eq!(strictest([]), Verdict::ALLOW);
    }
}
