//! From a profile to a filter: which entries apply, and which rules they add.

use std::collections::BTreeMap;

use super::action::{NOTIFY, action, check_action, check_errno_taken, is_permissive, podman_errno};
use super::filter::Filter;
use super::host::{Dialect, Host, Runc};
use super::refusal::Refusal;
use crate::document::{Arg, Document, Entry};
use crate::machine::{Machine, known_names};
use crate::rule::{Comparison, Op};
use crate::rules::RuleSet;

/// A profile after the extensions of Docker and Podman.
pub(super) struct Profile<'a> {
    document: Document,
    host: &'a Host,
}

/// The flags that runc (from 1.2 on) and crun know.
const FLAGS: [&str; 4] = [
    "SECCOMP_FILTER_FLAG_TSYNC",
    "SECCOMP_FILTER_FLAG_LOG",
    "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
    "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
];

impl<'a> Profile<'a> {
    /// Applies the extensions of Docker and Podman; `None` if there is no filter.
    pub(super) fn new(
        mut document: Document,
        host: &'a Host,
    ) -> Result<Option<Profile<'a>>, String> {
        let is_off = |document: &Document| {
            document.default_action.is_empty()
                && document.entries.is_empty()
                && !matches!(host.dialect, Dialect::Oci | Dialect::Crun)
        };
        if is_off(&document) {
            return Ok(None);
        }
        let own = match host.dialect {
            Dialect::Docker => host.native.docker_name(),
            Dialect::Podman => host.native.podman_name(),
            _ => return Ok(Some(Profile { document, host })),
        };
        if !document.architectures.is_empty() && !document.arch_map.is_empty() {
            return Err("both architectures and archMap".to_owned());
        }
        // Podman compares with a short list of names; LoongArch is missing in Docker's because of a typo.
        let mapped = match host.dialect {
            Dialect::Docker => !own.is_empty() && host.native != Machine::Loongarch64,
            _ => {
                let known =
                    ["amd64", "arm64", "mips64", "mips64n32", "mipsel64", "mipsel64n32", "s390x"];
                known.contains(&own)
            }
        };
        let native = host.native.oci_name();
        if let Some(row) = document.arch_map.iter().find(|row| mapped && row.architecture == native)
        {
            document.architectures = vec![native];
            document.architectures.extend(row.sub_architectures.clone());
        }
        let mut entries = Vec::new();
        for mut entry in std::mem::take(&mut document.entries) {
            let both = !entry.name.is_empty() && !entry.names.is_empty();
            if both && host.dialect == Dialect::Docker {
                return Err("both name and names".to_owned());
            }
            if !applies(&entry, host, own) {
                continue;
            }
            if both {
                return Err("both name and names".to_owned());
            }
            if !entry.name.is_empty() {
                entry.names = vec![std::mem::take(&mut entry.name)];
            }
            if host.dialect == Dialect::Podman {
                entry.errno = podman_errno(&entry.errno_name, entry.errno, host)?;
                if entry.names.is_empty() {
                    continue;
                }
            }
            entries.push(entry);
        }
        document.entries = entries;
        if host.dialect == Dialect::Podman {
            let (name, number) = (&document.default_errno_name, document.default_errno);
            document.default_errno = podman_errno(name, number, host)?;
        }
        // runc checks the remaining entries again; crun does not.
        let off = host.dialect == Dialect::Docker && is_off(&document);
        Ok((!off).then_some(Profile { document, host }))
    }

    /// The filter that libseccomp and the runtime build.
    pub(super) fn filter(self) -> Result<Filter, Refusal> {
        let (document, dialect) = (&self.document, self.host.dialect);
        if let Some(flag) = document.flags.iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
            return Err(format!("unknown flag {flag:?}").into());
        }
        if !dialect.is_runc() {
            check_errno_taken(&document.default_action, document.default_errno)?;
        }
        let default = action(&document.default_action, document.default_errno.unwrap_or(1))?;
        check_action(default, dialect)?;
        if default == NOTIFY && dialect.is_runc() {
            return Err("SCMP_ACT_NOTIFY as default action".to_owned().into());
        }
        let mut filter = Filter {
            default,
            sections: Vec::new(),
            absent: BTreeMap::new(),
            is_text: dialect == Dialect::Oci,
            undecided: false,
            largest: BTreeMap::new(),
        };
        let mut machines = vec![self.host.native];
        for name in &document.architectures {
            let machine =
                machine_of(name).ok_or_else(|| format!("unknown architecture {name:?}"))?;
            if machine.is_big_endian() != self.host.native.is_big_endian() {
                return Err(format!("{name} has another byte order").into());
            }
            if !machines.contains(&machine) {
                machines.push(machine);
            }
        }
        for machine in machines {
            filter.sections.push((machine, BTreeMap::new()));
        }
        for entry in &document.entries {
            self.entry(&mut filter, entry)?;
        }
        if dialect.is_runc() && !is_permissive(default) {
            self.largest(&mut filter);
        }
        for (_, calls) in &mut filter.sections {
            calls.values_mut().for_each(RuleSet::finish);
        }
        Ok(filter)
    }

    /// Adds the rules of an entry.
    fn entry(&self, filter: &mut Filter, entry: &Entry) -> Result<(), Refusal> {
        let dialect = self.host.dialect;
        if !dialect.is_runc() {
            check_errno_taken(&entry.action, entry.errno)?;
        }
        let verdict = action(&entry.action, entry.errno.unwrap_or(1))?;
        let skipped = verdict == filter.default;
        let args = match dialect.is_crun() {
            // crun reads only the first six, and none of an entry that it skips.
            true if skipped => &[],
            true => entry.args.get(..6).unwrap_or(&entry.args),
            false => entry.args.as_slice(),
        };
        let tests = args.iter().map(|arg| self.comparison(arg)).collect::<Result<Vec<_>, _>>();
        for name in &entry.names {
            // runc reads operators of every entry with names.
            let tests = tests.as_ref().map_err(Clone::clone)?;
            if dialect.is_runc() && verdict == NOTIFY && name == "write" {
                return Err("SCMP_ACT_NOTIFY for write".to_owned().into());
            }
            if dialect.is_runc() && name.is_empty() {
                return Err("an empty name".to_owned().into());
            }
            let never = |test: &Comparison| test.op == Op::MaskedEq && test.datum & !test.mask != 0;
            if skipped || tests.iter().any(never) || !known_names().contains(name.as_str()) {
                continue;
            }
            check_action(verdict, dialect)?;
            if let Some(test) = tests.iter().find(|test| test.arg > 5) {
                return Err(format!("argument {}", test.arg).into());
            }
            let repeats = |i: usize| tests[..i].iter().any(|test| test.arg == tests[i].arg);
            if dialect != Dialect::Oci && (0..tests.len()).any(repeats) {
                for test in tests {
                    filter.add(name, &[*test], verdict)?;
                }
            } else {
                filter.add(name, tests, verdict)?;
            }
        }
        Ok(())
    }

    fn comparison(&self, arg: &Arg) -> Result<Comparison, String> {
        let op = Op::from_name(&arg.op).ok_or_else(|| format!("unknown operator {:?}", arg.op))?;
        let (mask, datum) = match op {
            Op::MaskedEq => (arg.value, arg.value_two),
            _ => (u64::MAX, arg.value),
        };
        // libseccomp truncates the datum to the mask; according to the specification, such a comparison never holds.
        let (mask, datum) = match self.host.dialect {
            Dialect::Oci => (mask, datum),
            _ => (mask, datum & mask),
        };
        Ok(Comparison { arg: arg.index.min(6) as usize, op, mask, datum })
    }

    /// Finds the largest numbers, for the code that runc prepends.
    fn largest(&self, filter: &mut Filter) {
        let names = || self.document.entries.iter().flat_map(|entry| &entry.names);
        let listed = |machine: &Machine| self.document.architectures.contains(&machine.oci_name());
        for (machine, _) in &filter.sections {
            if self.host.runc == Runc::Listed && !listed(machine) {
                continue;
            }
            // Names that libseccomp resolves to its negative pseudo-numbers do not count.
            let numbers = names().filter(|name| machine.multiplexed(name).is_none());
            let largest = numbers.filter_map(|name| machine.number(name)).max().unwrap_or(0);
            if largest > 0 {
                filter.largest.insert(*machine, largest);
            }
        }
    }
}

/// The machine of an architecture in a profile.
pub(super) fn machine_of(name: &str) -> Option<Machine> {
    Machine::ALL.into_iter().find(|machine| machine.oci_name() == *name)
}

/// Whether an entry applies: first its `excludes`, then its `includes`.
fn applies(entry: &Entry, host: &Host, own: &str) -> bool {
    let has = |cap: &String| host.caps.contains(&cap.as_str());
    let reached = |version: &String| {
        let (kernel, major) = version.split_once('.').unwrap_or_default();
        host.kernel >= (kernel.parse().unwrap_or(0), major.parse().unwrap_or(0))
    };
    let (excludes, includes) = (&entry.excludes, &entry.includes);
    let excluded = excludes.arches.iter().any(|arch| arch == own)
        || excludes.caps.iter().any(has)
        || excludes.min_kernel.as_ref().is_some_and(reached);
    let included = (includes.arches.is_empty() || includes.arches.iter().any(|arch| arch == own))
        && includes.caps.iter().all(has)
        && includes.min_kernel.as_ref().is_none_or(reached);
    !excluded && included
}
