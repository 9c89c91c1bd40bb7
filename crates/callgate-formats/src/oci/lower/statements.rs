//! What a profile states, with the places of its rules.

use crate::capabilities::CapSet;
use crate::oci::model::{Entry, Model, Name, SyscallName};
use crate::oci::options::ReadOptions;
use crate::ruleset::RuleSet;
use crate::ruleset_statements::rules_of;
use crate::statements::{Gated, Inactive, Inactivity, Statements};
use crate::syntax::reader::Reader;
use callgate_core::Arch;

/// What a profile states, whose rules for each architecture are `sets`.
pub(super) fn statements(
    reader: &Reader<'_>,
    model: &Model<'_>,
    sets: &[RuleSet<Name<'_>>],
    options: &ReadOptions,
) -> Statements {
    let (mut inactive, mut gated) = (Vec::new(), Vec::new());
    for entry in &model.entries {
        let verdict = entry.action.verdict;
        let rule = |at: usize, name: &str, reason: Inactivity| Inactive {
            site: reader.site(at),
            name: name.to_owned(),
            verdict,
            reason,
            missing: entry.includes.missing_caps(options),
        };
        match reason(entry, model, options) {
            Some(reason) => {
                let names = entry.names.iter();
                inactive.extend(names.map(|name| rule(name.at, name.name, reason.clone())));
            }
            None => {
                for name in entry.names.iter().copied().filter(|name| name.is_known()) {
                    let arches = sets.iter().map(RuleSet::arch).filter(|arch| !has(*arch, name));
                    let rule = |arch| rule(name.at, name.name, Inactivity::MissingOn(arch));
                    inactive.extend(arches.map(rule));
                }
            }
        }
        let capabilities = entry.includes.capabilities();
        if capabilities != CapSet::none() {
            gated.extend(entry.names.iter().map(|name| Gated {
                site: reader.site(name.at),
                name: name.name.to_owned(),
                verdict,
                capabilities,
            }));
        }
    }
    Statements {
        rules: rules_of(reader, sets),
        inactive,
        gated,
        builtin: Vec::new(),
        default: Some(reader.site(model.default.at)),
    }
}

/// Whether an architecture has a syscall, with a number of its own or behind a multiplexer.
fn has(arch: Arch, name: SyscallName<'_>) -> bool {
    name.syscall.is_some_and(|syscall| {
        syscall.number(arch).is_some() || syscall.multiplexed(arch).is_some()
    })
}

/// Why an entry does not apply; `None` if it does.
fn reason(entry: &Entry<'_>, model: &Model<'_>, options: &ReadOptions) -> Option<Inactivity> {
    let gated = entry.excludes.excluded(options).or_else(|| entry.includes.missing(options));
    let is_default = entry.action.verdict == model.default.verdict;
    let elsewhere = gated.map(Inactivity::Elsewhere);
    elsewhere.or_else(|| is_default.then_some(Inactivity::DefaultAction))
}
