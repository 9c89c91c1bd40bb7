//! Decides which syscalls a profile grants.
//!
//! In this order: recorded syscalls; syscalls that the program that installs the filter needs, which may widen limits;
//! syscalls that the kernel makes programs call; those that C libraries and language runtimes may make at any time, which may
//! widen limits; syscalls that other C libraries use instead of recorded ones. At the end, namespaces are limited. The
//! order of the recordings does not matter.

use std::collections::BTreeMap;

use super::arg_limit::ArgLimit;
use super::draft::Draft;
use super::error::{GenerateError, GenerateErrorKind};
use super::families;
use super::grant::{Grant, GrantReason};
use super::language_runtime::{RuntimeCall, detect};
use super::limitable;
use super::namespaces::AllowedNamespaces;
use super::options::{GenerateOptions, LimitedArgs};
use super::recorded_limits::{limit_args, limit_to};
use super::runtime::{MADE_BY_KERNEL, NeededSyscall};
use crate::recording::{ArgValues, Effect, Merger, Recording, SyscallId};
use callgate_bpf::SyscallTable;
use callgate_core::Arch;

/// A syscall that the code of a program can make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSyscall {
    /// The architecture.
    pub arch: Arch,
    /// The number.
    pub nr: u32,
    /// Where the syscall is made: a file and a function, such as `libc.so.6: accept4`.
    pub place: String,
}

impl CodeSyscall {
    /// The name; `None` if the tables do not have the number.
    pub fn name(&self) -> Option<&'static str> {
        self.arch.syscall_name(self.nr)
    }
}

/// Generates a profile that allows everything that was recorded, and as little else as the options permit.
///
/// # Errors
/// If nothing was recorded for the architectures, if they have different byte orders, or if syscalls are missing from a
/// recording ([`Effect::Incomplete`]) and [`GenerateOptions::partial`] is not set.
pub fn generate(
    recordings: &[Recording],
    options: &GenerateOptions,
) -> Result<Draft, GenerateError> {
    generate_with_code(recordings, &[], options)
}

/// Generates a profile that also allows what the code of the program can make, with any arguments.
///
/// # Errors
/// Those of [`generate`]. Recordings may be missing if there is code for the architectures.
pub fn generate_with_code(
    recordings: &[Recording],
    code: &[CodeSyscall],
    options: &GenerateOptions,
) -> Result<Draft, GenerateError> {
    // Only the merged recording is used, so the result is the same for recordings that were merged before.
    let mut recorded = Merger::all(recordings).map_err(GenerateErrorKind::Merge)?;
    let arches = arches(&recorded, code, options)?;
    recorded.retain(|syscall| arches.contains(&syscall.arch));
    let mut caveats = recorded.caveats();
    caveats.retain(|caveat| caveat.effect == Effect::Incomplete);
    if !caveats.is_empty() && !options.partial {
        return Err(GenerateErrorKind::Incomplete(caveats).into());
    }

    let mut numbers = Vec::new();
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (syscall, stats) in recorded.syscalls() {
        match syscall.name() {
            Some(name) => {
                let count = counts.entry(name).or_default();
                *count = count.saturating_add(stats.count());
            }
            None => numbers.push((syscall, stats.count())),
        }
    }
    let grant = |(name, count): (&'static str, u64)| {
        let mut grant = Grant::new(name, GrantReason::Recorded(count));
        limit_args(&mut grant, &recorded, options.arguments, &arches);
        (name, grant)
    };
    let grants = counts.into_iter().map(grant).collect();
    let languages = if options.runtime_calls { detect(&recorded) } else { Vec::new() };
    let mut draft = Draft {
        arches,
        options: options.clone(),
        grants,
        numbers,
        refused: Vec::new(),
        tried: Vec::new(),
        assumed: Vec::new(),
        languages,
        dangers: BTreeMap::new(),
        recorded,
    };
    draft.grant_code(code);
    draft.grant_runtime();
    draft.grant_made_by_kernel();
    draft.grant_language_runtimes();
    if options.complete {
        draft.grant_siblings();
    }
    draft.limit_namespaces();
    draft.settle_refused();
    let is_decided = |name: &str| draft.grants.contains_key(name) || draft.refused.contains(&name);
    let tries = options.runtime.tries().iter().copied();
    draft.tried = tries.filter(|name| draft.exists(name) && !is_decided(name)).collect();
    for grant in draft.grants.values_mut() {
        grant.remove_vacuous_limits();
        grant.limit_alternatives();
    }
    Ok(draft)
}

/// The architectures of the profile.
fn arches(
    recording: &Recording,
    code: &[CodeSyscall],
    options: &GenerateOptions,
) -> Result<Vec<Arch>, GenerateError> {
    let mut counts: BTreeMap<Arch, u64> = BTreeMap::new();
    for (syscall, stats) in recording.syscalls() {
        let count = counts.entry(syscall.arch).or_default();
        *count = count.saturating_add(stats.count());
    }
    for syscall in code {
        counts.entry(syscall.arch).or_default();
    }
    if counts.is_empty() {
        return Err(GenerateErrorKind::Empty.into());
    }
    let mut recorded: Vec<Arch> = counts.keys().copied().collect();
    recorded.sort_by_key(|arch| std::cmp::Reverse(counts.get(arch).copied()));
    let wanted = &options.arches;
    if wanted.is_empty() {
        return Ok(recorded);
    }
    if !wanted.iter().any(|arch| counts.contains_key(arch)) {
        return Err(GenerateErrorKind::NothingFor { wanted: wanted.clone(), recorded }.into());
    }
    // An architecture may be given twice.
    let first =
        |(at, arch): &(usize, &Arch)| wanted.iter().position(|own| own == *arch) == Some(*at);
    Ok(wanted.iter().enumerate().filter(first).map(|(_, arch)| *arch).collect())
}

impl Draft {
    /// A limit of the only limitable argument of a syscall to these values; `None` if the argument differs between the
    /// architectures.
    fn only_limit(&self, name: &str, values: &[u64]) -> Option<ArgLimit> {
        let limitable = limitable::of(name).next()?;
        let arg = limitable.common_position(&self.arches)?;
        let values = ArgValues::from_values(values.len() as u64, values.iter().copied());
        limit_to(limitable, arg, &values)
    }

    /// Grants the syscalls that the code of the program can make, with any arguments.
    fn grant_code(&mut self, code: &[CodeSyscall]) {
        for syscall in code.iter().filter(|syscall| self.arches.contains(&syscall.arch)) {
            let Some(name) = syscall.name() else {
                let id = SyscallId::new(syscall.arch, syscall.nr);
                if !self.numbers.iter().any(|(known, _)| *known == id) {
                    self.numbers.push((id, 0));
                }
                continue;
            };
            let grant =
                self.grants.entry(name).or_insert_with(|| Grant::new(name, GrantReason::Code));
            grant.code.get_or_insert_with(|| syscall.place.clone());
            grant.unlimit("the code of the program may pass other values");
        }
    }

    /// Grants the syscalls that the program that installs the filter makes afterwards.
    fn grant_runtime(&mut self) {
        let runtime = self.options.runtime;
        for NeededSyscall { name, values } in runtime.needs() {
            if !self.exists(name) {
                continue;
            }
            let new_limit = match values {
                Some(values) if self.options.arguments != LimitedArgs::Off => {
                    self.only_limit(name, values)
                }
                _ => None,
            };
            let Some(grant) = self.grants.get_mut(name) else {
                let mut grant = Grant::new(name, GrantReason::Runtime);
                grant.at_start = true;
                grant.limits.extend(new_limit);
                self.grants.insert(name, grant);
                continue;
            };
            grant.at_start = true;
            match values {
                Some(values) => grant.widen(values),
                None => grant.unlimit(&format!("{} needs other values", runtime.name())),
            }
        }
    }

    /// Grants the syscalls that the kernel makes programs call.
    fn grant_made_by_kernel(&mut self) {
        for name in MADE_BY_KERNEL.iter().copied() {
            if self.exists(name) {
                self.grants.entry(name).or_insert_with(|| Grant::new(name, GrantReason::Kernel));
            }
        }
    }

    /// Grants what C libraries and the recorded language runtimes may do at any time.
    fn grant_language_runtimes(&mut self) {
        for runtime in self.languages.clone() {
            for RuntimeCall { needed, source } in runtime.calls() {
                self.grant_needed(*needed, GrantReason::Language { runtime, source });
            }
        }
    }

    /// Grants a syscall that was not recorded; the limits of one that is granted already are widened.
    fn grant_needed(&mut self, NeededSyscall { name, values }: NeededSyscall, reason: GrantReason) {
        if !self.exists(name) {
            return;
        }
        if let Some(known) = self.grants.get_mut(name) {
            known.widen(values.unwrap_or_default());
            return;
        }
        let mut grant = Grant::new(name, reason);
        if let Some(values) = values.filter(|_| self.options.arguments != LimitedArgs::Off) {
            // Without a limit, the syscall would be a privilege that neither the runtime nor the program was seen to need.
            let Some(limit) = self.only_limit(name, values) else { return };
            grant.limits.push(limit);
        }
        self.grants.insert(name, grant);
    }

    /// Grants the syscalls that other C libraries make instead of recorded ones, and those that may accompany recorded
    /// ones.
    fn grant_siblings(&mut self) {
        let recorded: Vec<Grant> =
            self.grants.values().filter(|grant| grant.is_recorded()).cloned().collect();
        recorded.iter().for_each(|grant| self.grant_families(grant));
        recorded.iter().for_each(|grant| self.grant_companions(grant));
    }

    /// Refused syscalls are listed once, and only if they are not granted.
    fn settle_refused(&mut self) {
        self.refused.sort_unstable();
        self.refused.dedup();
        let granted = &self.grants;
        self.refused.retain(|name| !granted.contains_key(name));
    }

    /// Grants the other members of the families of a recorded syscall.
    fn grant_families(&mut self, recorded: &Grant) {
        for family in families::of(recorded.name) {
            for name in family.names.iter().copied() {
                if self.grants.contains_key(name) || !self.exists(name) {
                    continue;
                }
                let reason = GrantReason::Sibling { of: recorded.name, why: family.why };
                let mut sibling = Grant::new(name, reason);
                if family.same_arguments {
                    if !recorded.limits.is_empty() && self.args_differ(name) {
                        continue;
                    }
                    sibling.limits = recorded.limits.clone();
                }
                if name == "clone3"
                    && (self.options.namespaces != AllowedNamespaces::Any
                        || self.is_limited("clone"))
                {
                    // Its flags are in memory, which filters cannot read, so it would bypass the limit of clone.
                    // Libraries fall back to clone if it fails with ENOSYS.
                    self.refused.push(name);
                    continue;
                }
                if name == "clone" && self.options.arguments != LimitedArgs::Off {
                    // Other members of the family do not create namespaces.
                    sibling.limits.extend(self.only_limit(name, &[0]));
                }
                self.grants.insert(name, sibling);
            }
        }
    }

    /// Grants the syscalls that may accompany a recorded one.
    fn grant_companions(&mut self, recorded: &Grant) {
        for companions in families::companions(recorded.name) {
            let reason = GrantReason::Sibling { of: recorded.name, why: companions.why };
            companions.syscalls.iter().for_each(|needed| self.grant_needed(*needed, reason));
        }
    }

    fn is_limited(&self, name: &str) -> bool {
        self.grants.get(name).is_some_and(|grant| !grant.limits.is_empty())
    }

    /// Whether a limitable argument of a syscall differs on an architecture of the profile.
    fn args_differ(&self, name: &str) -> bool {
        limitable::of(name).any(|limitable| limitable.common_position(&self.arches).is_none())
    }
}
