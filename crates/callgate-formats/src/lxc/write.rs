//! LXC profiles.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;
use std::fmt::Write;

use crate::convert::comparisons::Rules;
use crate::convert::comparisons::describe;
use crate::convert::error::Result;
use crate::convert::fit::Fit;
use crate::convert::named_rules::{NamedLanguage, named_rules};
use crate::convert::numbering::{DENIAL, Numbering, Unlisted};
use crate::layout::number;
use crate::lxc::{compat_arches, host_of};
use crate::oci::BAD_ARCH;
use crate::ruleset::{Comparison, Op};
use callgate_core::{Action, Arch, Verdict};

/// The largest errno that libseccomp accepts.
const MAX_ERRNO: u16 = 4094;

/// Why other architectures have this verdict.
const OTHERS: &str = "LXC's filters kill syscalls of other architectures (KILL_THREAD)";

/// Writes a profile: version 2, whose rules are for all architectures of the host, or version 1 with the numbers that one
/// architecture permits.
pub(crate) fn write(fit: &mut Fit<'_>) -> Result<String> {
    let main = host_of(fit.arches.first().copied().unwrap_or(Arch::X86_64));
    let compat = compat_arches(main);
    if !compat.is_empty() && !compat.iter().any(|arch| fit.arches.contains(arch)) {
        return numbers(fit, main);
    }
    fit.arches = std::iter::once(main).chain(compat.iter().copied()).collect();
    fit_verdicts(fit)?;
    fit.set_others(BAD_ARCH, OTHERS)?;
    let numbering =
        Numbering::choose(fit, unlisted(can_be_default, &[DENIAL, Verdict::KILL_THREAD]))?;
    let language = NamedLanguage {
        refuses_conflicts: true,
        reaches_multiplexed: false,
        has_fixed_arches: true,
        max_number: u64::MAX,
        unsayable: |_, _| None,
    };
    let rules = named_rules(fit, &numbering, language)?;
    Ok(text(main, numbering.default, &rules))
}

/// Numbers without a rule.
fn unlisted(can_be_default: fn(Verdict) -> bool, fallbacks: &'static [Verdict]) -> Unlisted {
    Unlisted {
        why: "rules name syscalls, so numbers without a name get the action of the list",
        enosys_above: false,
        kills_other_abi: true,
        can_be_default,
        fallbacks,
        may_lack_enosys: false,
    }
}

/// Whether a verdict can be the action of syscalls without a rule.
fn can_be_default(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::Errno(errno) if errno <= MAX_ERRNO)
        || [Verdict::ALLOW, Verdict::KILL_THREAD, Verdict::trap(0)].contains(&verdict)
}

/// Replaces verdicts that LXC has no action for.
fn fit_verdicts(fit: &mut Fit<'_>) -> Result<()> {
    for arch in fit.arches.clone() {
        for verdict in fit.verdicts_of(arch) {
            if can_be_default(verdict) || verdict == Verdict::user_notif(0) {
                continue;
            }
            let (nearest, why) = match verdict.action() {
                Action::Errno(_) => {
                    (Verdict::errno(MAX_ERRNO), "libseccomp accepts errnos up to 4094")
                }
                Action::Trap(_) => (Verdict::trap(0), "trap takes no number"),
                Action::UserNotif(_) => (Verdict::user_notif(0), "notify takes no number"),
                Action::Allow => (Verdict::ALLOW, "allow takes no number"),
                Action::Log | Action::Trace(_) => {
                    (Verdict::errno(1), "LXC has no LOG and no TRACE")
                }
                _ => (Verdict::KILL_THREAD, "LXC has no action that kills the process"),
            };
            fit.replace_verdict(Some(arch), verdict, nearest, why)?;
        }
    }
    Ok(())
}

/// Version 1: numbers of the only architecture.
fn numbers(fit: &mut Fit<'_>, main: Arch) -> Result<String> {
    const DENIED: Verdict = Verdict::KILL_THREAD;
    fit.arches.truncate(1);
    for verdict in fit.verdicts_of(main) {
        if ![Verdict::ALLOW, DENIED].contains(&verdict) {
            let why = "rules of version 2 are for all architectures of the host; version 1 only permits or kills \
                       (KILL_THREAD)";
            fit.replace_verdict(Some(main), verdict, DENIED, why)?;
        }
    }
    fit.set_others(BAD_ARCH, OTHERS)?;
    let numbering = Numbering::choose(fit, unlisted(|verdict| verdict == DENIED, &[DENIED]))?;
    numbering.fit_unnamed(fit)?;
    let mut text = String::from("1\nallowlist\n");
    let numbers: Vec<(u32, &str)> = main.syscalls().collect();
    for (nr, name) in numbers {
        let verdict = |nr| fit.store.as_verdict(fit.syscall(main.token(), nr));
        // A rule is also for the multiplexer of the syscall.
        let multiplexer = main.multiplexed(name).and_then(|(name, _)| main.number(name));
        let is_alone = multiplexer.is_none_or(|nr| verdict(nr) == Some(Verdict::ALLOW));
        match verdict(nr) {
            Some(Verdict::ALLOW) if is_alone => {
                let _ = writeln!(text, "{nr}");
            }
            Some(DENIED) => {}
            _ => {
                let why = "rules of version 2 are for all architectures of the host; version 1 has no conditions";
                fit.replace_numbers(main.token(), (nr, nr), DENIED, why)?;
            }
        }
    }
    Ok(text)
}

fn text(arch: Arch, default: Verdict, rules: &BTreeMap<&'static str, Rules>) -> String {
    let list = if default == Verdict::ALLOW { "denylist" } else { "allowlist" };
    let mut text = format!("2\n{list}");
    if ![Verdict::ALLOW, Verdict::KILL_THREAD].contains(&default) {
        let _ = write!(text, " {}", action(default));
    }
    text.push_str("\n[all]\n");
    for (name, rules) in rules {
        for (verdict, comparisons) in rules {
            let parts = comparisons.iter().map(|one| describe(one, arch, name));
            let comment = parts.collect::<Vec<String>>().join(" and ");
            // LXC takes brackets in comments for comparisons.
            if !comment.is_empty() && !comment.contains('[') {
                let _ = writeln!(text, "# {comment}");
            }
            let is_plain = *verdict == Verdict::ALLOW && comparisons.is_empty();
            let _ = match is_plain {
                true => write!(text, "{name}"),
                false => write!(text, "{name} {}", action(*verdict)),
            };
            if !comparisons.is_empty() {
                text.push(' ');
            }
            comparisons.iter().for_each(|one| text.push_str(&comparison(one)));
            text.push('\n');
        }
    }
    text
}

fn action(verdict: Verdict) -> String {
    match verdict.action() {
        Action::Allow => "allow".to_owned(),
        Action::Errno(errno) => format!("errno {errno}"),
        Action::Trap(_) => "trap".to_owned(),
        Action::UserNotif(_) => "notify".to_owned(),
        _ => "kill".to_owned(),
    }
}

fn comparison(comparison: &Comparison) -> String {
    let (arg, value) = (comparison.arg(), number(comparison.value()));
    let sign = comparison.op().words().1;
    match comparison.op() {
        Op::MaskedEq(mask) => format!("[{arg},{value},{sign},{}]", number(mask)),
        _ => format!("[{arg},{value},{sign}]"),
    }
}
