//! The entries of lists, with their places.

use std::collections::BTreeSet;

use super::lists::Lists;
use super::lower::Allowed;
use super::names::{kernel_name, number};
use super::options::ListText;
use crate::capabilities::CapSet;
use crate::files::{At, Report};
use crate::statements::{Inactive, Inactivity, Site, Statement, Statements};
use callgate_core::Verdict;
use callgate_core::policy::Condition;

/// The entries that allow syscalls, and those that block lists remove.
pub(super) fn statements(
    report: &Report<'_>,
    texts: &[ListText<'_>],
    lists: &Lists<'_>,
    entries: &[Allowed],
) -> Statements {
    let name = |at: At| texts.get(at.file).and_then(|text| text.name);
    let site = |at: At| Site { file: name(at).map(str::to_owned), position: report.position(at) };
    let mut statements = Statements::default();
    let mut blocked = BTreeSet::new();
    for (of_arch, allowed) in lists.arches.iter().zip(entries) {
        let arch = of_arch.arch;
        statements.rules.extend(allowed.iter().map(|(name, (nr, at))| Statement {
            site: site(*at),
            name: (*name).to_owned(),
            arch,
            nr: *nr,
            when: Condition::always(),
            verdict: Verdict::ALLOW,
        }));
        for (name, at) in &of_arch.base {
            let Some(block) = of_arch.blocked.get(name) else { continue };
            let known = kernel_name(name).filter(|_| number(arch, name).is_some());
            if let Some(known) = known.filter(|known| !allowed.contains_key(known)) {
                blocked.insert((*at, known, *block));
            }
        }
    }
    let inactive = |(at, known, block): (At, &'static str, At)| {
        let line = report.line(block);
        let reason = match name(block) {
            Some(file) => format!("{file}:{line} blocks it"),
            None => format!("line {line} of a block list blocks it"),
        };
        Inactive {
            site: site(at),
            name: known.to_owned(),
            verdict: Verdict::ALLOW,
            reason: Inactivity::Elsewhere(reason),
            missing: CapSet::none(),
        }
    };
    statements.inactive = blocked.into_iter().map(inactive).collect();
    statements
}
