//! `RestrictNamespaces=`: the only conditions on arguments that a drop-in gets.

use callgate_bpf::data::{SeccompData, Word};
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_formats::systemd::NAMESPACES;
use callgate_proof::diagram::{Func, Split};

use super::systemd_list::List;
use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::convert::options::ConvertOptions;
use crate::convert::prove::read_back;

/// The syscalls that it restricts.
const NAMES: [&str; 4] = ["clone", "clone3", "setns", "unshare"];

/// A line that does a part of what the filter does.
pub(super) struct Namespaces {
    pub(super) line: String,
    /// What the line means.
    func: Func,
}

impl Namespaces {
    /// Finds the line, and takes its part from the filter; `None` if there is no such part.
    pub(super) fn take(
        fit: &mut Fit<'_>,
        list: &List,
        options: &ConvertOptions,
    ) -> Result<Option<Namespaces>, ConvertError> {
        let Some(line) = line(fit)? else { return Ok(None) };
        let arches = fit.arches.clone();
        let func = read_back(fit.store, &format!("[Service]\n{line}"), options, &arches)?;
        let mut rests = Vec::new();
        for arch in arches {
            for (name, nr) in NAMES.iter().filter_map(|name| Some((*name, arch.number(name)?))) {
                let denied = fit.store.follow(func, Word::ARCH, arch.token());
                let denied = fit.store.follow(denied, Word::NR, nr);
                let own = fit.syscall(arch.token(), nr);
                rests.push(((arch, nr), own, rest(fit, own, denied, list.unlisted(Some(name)))?));
            }
        }
        let is_useful = |(_, own, rest): &(_, Func, Option<Func>)| {
            rest.is_some() && fit.store.as_verdict(*own).is_none()
        };
        if !rests.iter().any(is_useful) {
            return Ok(None);
        }
        for ((arch, nr), _, rest) in rests {
            if let Some(rest) = rest {
                let numbers = fit.numbers(arch.token());
                let numbers = fit.store.split(Word::NR, Split::Equal(nr), rest, numbers)?;
                let is_arch = Split::Equal(arch.token());
                fit.func = fit.store.split(Word::ARCH, is_arch, numbers, fit.func)?;
            }
        }
        Ok(Some(Namespaces { line, func }))
    }

    /// Gives the filter its part back. The filter of `SystemCallFilter=` is a later one, so its errno counts.
    pub(super) fn restore(&self, fit: &mut Fit<'_>) -> Result<(), ConvertError> {
        fit.func = fit.store.highest_precedence(fit.func, self.func)?;
        Ok(())
    }
}

/// The line that restricts the namespaces which the filter denies to the main architecture.
fn line(fit: &mut Fit<'_>) -> Result<Option<String>, ConvertError> {
    let Some(arch) = fit.arches.first().copied() else { return Ok(None) };
    let mut retained = Vec::new();
    for (name, flag) in NAMESPACES {
        if !denies(fit, arch, *flag)? {
            retained.push(*name);
        }
    }
    Ok(match retained.len() {
        0 => Some("RestrictNamespaces=yes\n".to_owned()),
        len if len == NAMESPACES.len() => None,
        _ => Some(format!("RestrictNamespaces={}\n", retained.join(" "))),
    })
}

/// Whether a flag of `clone` or `unshare` is denied, but not the syscall without flags.
fn denies(fit: &Fit<'_>, arch: Arch, flag: u64) -> Result<bool, ConvertError> {
    for (name, arg) in [("clone", flags_of_clone(arch)), ("unshare", 0)] {
        let Some(nr) = arch.number(name) else { continue };
        let mut data = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
        let without = fit.store.evaluate(fit.func, &data)?;
        if let Some(arg) = data.args.get_mut(arg) {
            *arg = flag;
        }
        if without.permits() && !fit.store.evaluate(fit.func, &data)?.permits() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn flags_of_clone(arch: Arch) -> usize {
    usize::from(matches!(arch, Arch::S390 | Arch::S390x))
}

/// The verdict of a syscall without the line, if there is one with which the line makes all of its function.
fn rest(
    fit: &mut Fit<'_>,
    own: Func,
    denied: Func,
    unlisted: Verdict,
) -> Result<Option<Func>, ConvertError> {
    // A syscall that is not in the list needs no word. Otherwise the list allows it, and the line denies the rest.
    let candidates = [unlisted, Verdict::ALLOW].into_iter().chain(fit.store.verdicts(own));
    for verdict in candidates {
        let one = fit.store.verdict(verdict)?;
        if fit.store.highest_precedence(one, denied)? == own {
            return Ok(Some(one));
        }
    }
    Ok(None)
}
