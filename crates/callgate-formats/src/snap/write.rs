//! Snap profiles.
//!
//! A profile is two filters: lines with `~` deny with EACCES in the first one, and the other lines permit in the second. A
//! syscall that fails with EACCES is therefore permitted by a line without `~`, too.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;
use std::fmt::Write;

use crate::convert::comparisons::Rules;
use crate::convert::error::Result;
use crate::convert::fit::Fit;
use crate::convert::named_rules::{NamedLanguage, named_rules};
use crate::convert::numbering::{Numbering, Unlisted};
use crate::oci::BAD_ARCH;
use crate::ruleset::{Comparison, Op};
use crate::snap::{compat_arch, constant, takes_ids};
use callgate_bpf::constants::Family;
use callgate_codegen::query;
use callgate_core::diagram::Split;
use callgate_core::{Arch, Verdict, Word};

/// The verdict of lines with `~`.
const EXPLICIT: Verdict = Verdict::errno(13);

/// The verdict of syscalls without a line.
const IMPLICIT: Verdict = Verdict::errno(1);

/// The largest value that a profile can name.
const MAX_VALUE: u64 = 0xffff_ffff;

const LANGUAGE: NamedLanguage = NamedLanguage {
    refuses_conflicts: true,
    reaches_multiplexed: true,
    has_fixed_arches: true,
    max_number: MAX_VALUE,
    unsayable,
};

/// Writes a profile.
pub(crate) fn write(fit: &mut Fit<'_>) -> Result<String> {
    let main = fit.arches.first().copied().unwrap_or(Arch::X86_64);
    fit.arches = std::iter::once(main).chain(compat_arch(main)).collect();
    fit.set_others(BAD_ARCH, "snap filters kill syscalls of other architectures")?;
    let can_be_default = |verdict| [IMPLICIT, Verdict::LOG].contains(&verdict);
    let numbering = Numbering::choose(fit, unlisted(can_be_default))?;
    numbering.fit_unnamed(fit)?;
    let default = numbering.default;
    fit_verdicts(fit, default)?;
    let source = fit.func;
    replace_quietly(fit, EXPLICIT, Verdict::ALLOW)?;
    let allowed = named_rules(fit, &numbering, LANGUAGE)?;
    let second = fit.func;
    fit.func = source;
    replace_quietly(fit, default, Verdict::ALLOW)?;
    let permits = Numbering::choose(fit, unlisted(|verdict| verdict == Verdict::ALLOW))?;
    let denied = named_rules(fit, &permits, LANGUAGE)?;
    // If both deny, the errno is that of the second filter.
    fit.func = fit.store.highest_precedence(second, fit.func)?;
    Ok(text(main, default, &allowed, &denied))
}

/// Numbers without a line.
fn unlisted(can_be_default: fn(Verdict) -> bool) -> Unlisted {
    Unlisted {
        why: "lines name syscalls; numbers without a name fail with EPERM, or are logged with @complain",
        enosys_above: false,
        kills_other_abi: true,
        can_be_default,
        fallbacks: &[IMPLICIT],
        may_lack_enosys: false,
    }
}

/// Replaces verdicts of named syscalls that no line has.
fn fit_verdicts(fit: &mut Fit<'_>, default: Verdict) -> Result<()> {
    let nearest = if default == Verdict::LOG { EXPLICIT } else { default };
    let why = "lines permit a syscall or let it fail with EACCES; all others fail with EPERM";
    for arch in fit.arches.clone() {
        for (nr, _) in arch.syscalls() {
            let func = fit.syscall(arch.token(), nr);
            let mut fitted = func;
            for verdict in fit.store.verdicts(func) {
                if ![Verdict::ALLOW, EXPLICIT, default].contains(&verdict) {
                    let has_it = query::has_verdict(fit.store, func, verdict)?;
                    let then = fit.store.verdict(nearest)?;
                    fitted = fit.store.select(has_it, then, fitted)?;
                }
            }
            fit.replace_syscall((arch, nr), fitted, why)?;
        }
    }
    Ok(())
}

/// Replaces a verdict of the architectures, for one of the two filters.
fn replace_quietly(fit: &mut Fit<'_>, old: Verdict, new: Verdict) -> Result<()> {
    for token in fit.tokens() {
        let numbers = fit.numbers(token);
        let has_it = query::has_verdict(fit.store, numbers, old)?;
        let then = fit.store.verdict(new)?;
        let replaced = fit.store.select(has_it, then, numbers)?;
        fit.func = fit.store.split(Word::ARCH, Split::Equal(token), replaced, fit.func)?;
    }
    Ok(())
}

/// Why a line cannot have a comparison.
fn unsayable(name: &'static str, comparison: &Comparison) -> Option<&'static str> {
    let mask = match comparison.op() {
        Op::MaskedEq(mask) => mask,
        _ => 0,
    };
    match comparison.op() {
        Op::MaskedEq(MAX_VALUE) if takes_ids(name) => None,
        _ if takes_ids(name) => {
            Some("only equality of 32 bits is compared in syscalls that take IDs")
        }
        _ if comparison.value() > MAX_VALUE || mask > MAX_VALUE => {
            Some("values and masks are below 2^32")
        }
        _ => None,
    }
}

fn text(
    arch: Arch,
    default: Verdict,
    allowed: &BTreeMap<&'static str, Rules>,
    denied: &BTreeMap<&'static str, Rules>,
) -> String {
    let mut text = String::new();
    if default == Verdict::LOG {
        text.push_str("@complain\n");
    }
    for (sign, rules) in [("", allowed), ("~", denied)] {
        for (name, rules) in rules {
            for (_, comparisons) in rules {
                let _ = write!(text, "{sign}{name}");
                let last = comparisons.iter().map(|one| one.arg()).max();
                for index in 0..last.map_or(0, |last| last + 1) {
                    let own = comparisons.iter().find(|one| one.arg() == index);
                    let word = own.map(|one| word(arch, name, one));
                    let _ = write!(text, " {}", word.as_deref().unwrap_or("-"));
                }
                text.push('\n');
            }
        }
    }
    text
}

/// The word for a comparison.
fn word(arch: Arch, name: &str, comparison: &Comparison) -> String {
    let family = Family::of(arch, name, comparison.arg());
    let value = comparison.value();
    let named = |name: Option<String>, value: u64| {
        let name = name.filter(|name| constant(arch, name) == Some(value));
        name.unwrap_or_else(|| value.to_string())
    };
    let own = || named(family.and_then(|family| family.name(arch, value)), value);
    let bits = |mask: u64| named(family.and_then(|family| family.name_mask(arch, mask)), mask);
    match comparison.op() {
        Op::Eq => own(),
        Op::Ne => format!("!{}", own()),
        op @ (Op::Lt | Op::Le | Op::Gt | Op::Ge) => format!("{}{value}", op.words().1),
        Op::MaskedEq(_) if takes_ids(name) => {
            // IDs are signed in these profiles; -1 leaves an ID unchanged.
            let id = value as u32 as i32;
            if id < 0 { id.to_string() } else { value.to_string() }
        }
        Op::MaskedEq(MAX_VALUE) => format!("{MAX_VALUE}|{}", own()),
        Op::MaskedEq(mask) if mask == value => format!("|{}", bits(mask)),
        Op::MaskedEq(mask) => format!("{}|{value}", bits(mask)),
    }
}
