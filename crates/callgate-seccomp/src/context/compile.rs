//! The rules and attributes of a context, and the program of them.

use std::collections::BTreeMap;

use callgate::{Arch, Options, Proved, Verdict, compile};
use callgate_bpf::SyscallTable;
use callgate_codegen::{Aim, Count, Instructions, Weights};
use callgate_core::policy::Policy;
use callgate_core::{FilterSpec, Spec};
use callgate_formats::ruleset::{IncrementalRules, sections};

use crate::error::{Error, Result};

/// A proved program, and its instructions as the kernel and callers read them.
#[derive(Debug)]
pub(crate) struct Exported {
    program: Proved,
    /// `struct sock_filter`s in the byte order of the architectures. They are kept, as loading must not allocate.
    bytes: Box<[u8]>,
}

impl Exported {
    /// Compiles the rules, and proves the program.
    pub(super) fn compile(
        attributes: &Attributes,
        instructions: Instructions,
        filters: &[ArchFilter],
    ) -> Result<Exported> {
        let policy = policy(attributes, filters)?;
        let weights = weights(filters)?;
        let aim = attributes.aim();
        let options =
            Options { aim, instructions, weights, expected_insns: false, ..Options::default() };
        let compiled = compile(&policy, &options).map_err(|error| match error.insns_needed() {
            Some(_) => Error::TooLong,
            None => Error::Internal,
        })?;
        Exported::of_policy(compiled.program, &policy)
    }

    /// A program for a policy; an error if it was proved of another one. So the compiler need not be trusted to have passed the
    /// policy on.
    fn of_policy(program: Proved, policy: &Policy) -> Result<Exported> {
        match program.spec() {
            Spec::Filter(FilterSpec::Policy(own)) if own == policy => {
                let bytes = program.to_bytes(policy.endian()).into();
                Ok(Exported { program, bytes })
            }
            _ => Err(Error::Internal),
        }
    }

    /// The instructions, 8 bytes each.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of instructions, of which a program for the kernel has at most 4096.
    pub(crate) fn insns(&self) -> u16 {
        self.program.len() as u16
    }
}

/// The rules as a policy.
pub(super) fn policy(attributes: &Attributes, filters: &[ArchFilter]) -> Result<Policy> {
    let sets = filters.iter().map(|filter| filter.rules.set());
    let sections = sections(sets, attributes.default, attributes.bad_arch);
    Policy::new(sections, attributes.bad_arch).map_err(|_| Error::Internal)
}

/// Priorities as weights. Without any priority, the default
/// of the compiler.
fn weights(filters: &[ArchFilter]) -> Result<Weights> {
    if filters.iter().all(|filter| filter.priorities.values().all(|priority| *priority == 0)) {
        return Ok(Weights::default());
    }
    let counts = filters.iter().flat_map(|filter| {
        let arch = filter.arch();
        let allowed = arch.syscalls().filter(|(nr, _)| filter.rules.contains(*nr as i32));
        allowed.map(move |(nr, name)| {
            let priority = filter.priorities.get(&(nr as i32)).copied().unwrap_or(0);
            Count::of_priority(Some(arch), name, priority)
        })
    });
    Weights::of(counts).map_err(|_| Error::Internal)
}

/// The rules for one architecture.
#[derive(Clone, Debug)]
pub(crate) struct ArchFilter {
    pub(crate) rules: IncrementalRules,
    /// The priorities that were set, by syscall number.
    pub(crate) priorities: BTreeMap<i32, u8>,
}

impl ArchFilter {
    pub(super) fn new(arch: Arch) -> ArchFilter {
        ArchFilter { rules: IncrementalRules::new(arch), priorities: BTreeMap::new() }
    }

    pub(crate) fn arch(&self) -> Arch {
        self.rules.arch()
    }
}

/// The constants `SCMP_FLTATR_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    DefaultAction,
    BadArchAction,
    NoNewPrivs,
    ThreadSync,
    SkipNumber,
    Log,
    SpeculativeStoreBypass,
    Optimize,
    RawErrors,
    WaitKillable,
}

impl Attribute {
    /// The attribute of a constant.
    pub(crate) fn of(constant: u32) -> Option<Attribute> {
        Some(match constant {
            1 => Attribute::DefaultAction,
            2 => Attribute::BadArchAction,
            3 => Attribute::NoNewPrivs,
            4 => Attribute::ThreadSync,
            5 => Attribute::SkipNumber,
            6 => Attribute::Log,
            7 => Attribute::SpeculativeStoreBypass,
            8 => Attribute::Optimize,
            9 => Attribute::RawErrors,
            10 => Attribute::WaitKillable,
            _ => return None,
        })
    }
}

/// The values of all attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) default: Verdict,
    /// The verdict for syscalls of an architecture without filter.
    pub(crate) bad_arch: Verdict,
    /// Whether `seccomp_load` sets `no_new_privs`.
    pub(crate) no_new_privs: bool,
    /// Whether all threads get the filter.
    pub(crate) thread_sync: bool,
    /// Whether rules for the syscall -1 are permitted.
    pub(crate) skip_number: bool,
    /// Whether the kernel logs verdicts other than ALLOW.
    pub(crate) log: bool,
    /// Whether the mitigation of speculative store bypass stays off.
    pub(crate) speculative_store_bypass: bool,
    /// 1 for a good program in a short time, 2 for a search for the best one. In libseccomp these are a list by priority
    /// and a search tree; `seccomp_export_pfc` prints the rules in the order of the one or the other.
    pub(crate) optimize: u32,
    /// Whether errors of the kernel are returned instead of `ECANCELED`.
    pub(crate) raw_errors: bool,
    /// Whether the kernel lets a notified syscall wait only for fatal signals.
    pub(crate) wait_killable: bool,
}

impl Attributes {
    /// The values in a new context.
    pub(crate) fn new(default: Verdict) -> Attributes {
        Attributes {
            default,
            bad_arch: Verdict::KILL_THREAD,
            no_new_privs: true,
            thread_sync: false,
            skip_number: false,
            log: false,
            speculative_store_bypass: false,
            optimize: 1,
            raw_errors: false,
            wait_killable: false,
        }
    }

    /// What the compiler aims at.
    pub(super) fn aim(&self) -> Aim {
        if self.optimize == 1 { Aim::Quick } else { Aim::Speed }
    }

    /// The value of an attribute.
    pub(crate) fn get(&self, attribute: Attribute) -> u32 {
        match attribute {
            Attribute::DefaultAction => self.default.0,
            Attribute::BadArchAction => self.bad_arch.0,
            Attribute::NoNewPrivs => self.no_new_privs.into(),
            Attribute::ThreadSync => self.thread_sync.into(),
            Attribute::SkipNumber => self.skip_number.into(),
            Attribute::Log => self.log.into(),
            Attribute::SpeculativeStoreBypass => self.speculative_store_bypass.into(),
            Attribute::Optimize => self.optimize,
            Attribute::RawErrors => self.raw_errors.into(),
            Attribute::WaitKillable => self.wait_killable.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_another_policy_is_refused() {
        let policy = |default| Policy::new(Vec::new(), default).unwrap();
        let (own, other) = (policy(Verdict::ALLOW), policy(Verdict::LOG));
        let program = compile(&own, &Options::default()).unwrap().program;
        assert!(Exported::of_policy(program.clone(), &own).is_ok());
        assert_eq!(Exported::of_policy(program.clone(), &other).err(), Some(Error::Internal));
        let itself = Proved::itself(program.into_program(), own.endian());
        assert_eq!(Exported::of_policy(itself, &own).err(), Some(Error::Internal));
    }
}
