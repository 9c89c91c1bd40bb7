//! The policy of a profile.

use super::arches::{choose_arches, listed_arches};
use super::checks::{check_errnos, check_names, check_notify};
use super::conflicts::report_conflicts;
use super::enosys::enosys_above;
use super::rules::combine;
use super::statements::statements;
use crate::oci::dialect::{Dialect, EnosysAbove};
use crate::oci::model::{Entry, Model};
use crate::oci::options::ReadOptions;
use crate::profile::Listener;
use crate::ruleset::{RuleSet, sections};
use crate::statements::{Builtin, Statements, other_abis};
use crate::syntax::reader::Reader;
use callgate_bpf::FilterFlags;
use callgate_bpf::syscalls::KnownSyscall;
use callgate_core::policy::Policy;
use callgate_core::{Action, Arch, Verdict};

/// What a profile means, and how it asks to be installed.
pub(in crate::oci) struct Lowered {
    pub(in crate::oci) policy: Policy,
    pub(in crate::oci) flags: FilterFlags,
    pub(in crate::oci) listener: Option<Listener>,
    /// What the profile states, if it was asked for.
    pub(in crate::oci) statements: Option<Statements>,
    /// The rules that the runtime adds.
    pub(in crate::oci) added: Vec<Builtin>,
}

/// The verdict for syscalls of an architecture that the filter does not cover: libseccomp's default.
pub const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// Turns a profile into a policy, with its statements if the options ask for them. `None` only after an error was reported.
pub(in crate::oci) fn lower(
    reader: &mut Reader<'_>,
    model: &Model<'_>,
    dialect: Dialect,
    options: &ReadOptions,
) -> Option<Lowered> {
    check_names(reader, model, options.strict);
    let arches = choose_arches(reader, model, dialect, options);
    let applies =
        |entry: &&Entry<'_>| !entry.excludes.excludes(options) && entry.includes.includes(options);
    let entries: Vec<&Entry<'_>> = model.entries.iter().filter(applies).collect();
    check_notify(reader, model, &entries, dialect);
    if dialect != Dialect::Oci {
        check_errnos(reader, model, &entries);
    }
    let rules = combine(reader, &entries, &arches, model.default.verdict)?;
    report_conflicts(reader, &rules, dialect);
    if !reader.failed() && rules.iter().all(RuleSet::is_empty) && !model.entries.is_empty() {
        let message =
            format!("no entry has an effect: every syscall gets {}", model.default.verdict);
        reader.warn(model.at, message).help =
            "either no entry applies to this machine, or all have the default action".to_owned();
    }

    let mut stated = options.statements.then(|| statements(reader, model, &rules, options));
    let mut sections = sections(&rules, model.default.verdict, BAD_ARCH);
    let permissive =
        matches!(model.default.verdict.action(), Action::Allow | Action::Log | Action::Trace(_));
    let mut added = Vec::new();
    let enosys = options.enosys_above.unwrap_or(dialect.enosys_above());
    if enosys != EnosysAbove::Off && !permissive {
        let listed = listed_arches(model, dialect, options, &arches);
        let counts = |arch: Arch| enosys == EnosysAbove::On || listed.contains(&arch);
        let names = entries.iter().flat_map(|entry| &entry.names);
        let named: Vec<KnownSyscall> = names.filter_map(|name| name.syscall).collect();
        for section in &mut sections {
            added.extend(enosys_above(section, &named, counts));
        }
    }
    if let Some(stated) = &mut stated {
        stated.builtin.extend(added.iter().cloned());
        stated.builtin.extend(other_abis(&sections, BAD_ARCH));
    }
    match Policy::new(sections, BAD_ARCH) {
        Ok(policy) => {
            let (flags, listener) = (model.flags, model.listener.clone());
            Some(Lowered { policy, flags, listener, statements: stated, added })
        }
        Err(error) => {
            reader.error(model.at, error.to_string());
            None
        }
    }
}
