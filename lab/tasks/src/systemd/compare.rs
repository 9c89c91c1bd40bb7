//! Compares the filters of a process with those that the reader returns for its unit.

use callgate::{Arch, Description, Endian, diff};
use callgate_core::SyscallSet;
use callgate_core::policy::{Condition, Policy, Rule};
use callgate_formats::systemd::{self, ReadOptions, UnitText};
use callgate_linux::dump;

use super::units::Unit;

/// How a unit compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All of its filters, this number, are equal.
    Equal(usize),
    /// Neither systemd nor the reader accepts it.
    Refused,
    Different(String),
}

/// A policy whose rules for syscalls that libseccomp lacks on an architecture are left out.
fn without(policy: &Policy, lacks_on: &[(Arch, u32)]) -> Policy {
    let sections = policy.sections().iter().map(|section| {
        let lacked = lacks_on.iter().filter(|(arch, _)| section.arches().eq([*arch]));
        let front = lacked.map(|(_, number)| Rule {
            syscalls: SyscallSet::one(*number),
            when: Condition::always(),
            verdict: section.default,
        });
        section.with_rules(front.chain(section.rules.iter().cloned()).collect())
    });
    // The sections are those of a valid policy.
    Policy::new(sections.collect(), policy.bad_arch()).unwrap_or_else(|_| policy.clone())
}

/// Compares the filters of the process, if there is one.
pub(super) fn compare(
    unit: &Unit,
    pid: Option<u32>,
    options: &ReadOptions,
    lacks_on: &[(Arch, u32)],
) -> Outcome {
    let text = unit.text();
    let (filters, pid) = match (systemd::read(&[UnitText::unit(&text)], options), pid) {
        (Ok(read), Some(pid)) => (read.filters, pid),
        (Err(_), None) => return Outcome::Refused,
        (Ok(_), None) => return Outcome::Different("systemd does not start it".to_owned()),
        (Err(errors), Some(_)) => {
            return Outcome::Different(format!("systemd starts it: {errors}"));
        }
    };
    let installed = match dump(pid) {
        Ok(dump) => dump.filters,
        Err(error) => return Outcome::Different(error.to_string()),
    };
    if installed.len() != filters.len() {
        return Outcome::Different(format!(
            "systemd installs {} filters, the reader returns {}",
            installed.len(),
            filters.len()
        ));
    }
    for (number, (own, theirs)) in filters.iter().zip(&installed).enumerate() {
        let theirs = theirs.program.clone().into();
        let policy = without(&own.policy, lacks_on);
        let found = diff(&policy, Description::program(&theirs, Endian::Little), 1);
        let what = format!("filter {number}, {} {:?}", own.directive, own.arch);
        match found {
            Err(error) => return Outcome::Different(format!("{what}: {error}")),
            Ok(found) => {
                if let Some(first) = found.first() {
                    return Outcome::Different(format!(
                        "{what}: number {} of {:#x}: reader {}, systemd {}",
                        first.data.nr, first.data.arch, first.left, first.right
                    ));
                }
            }
        }
    }
    Outcome::Equal(filters.len())
}
