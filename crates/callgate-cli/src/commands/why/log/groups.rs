//! The filters that the syscalls of a log are asked about: the source as the machine of each syscall installs it.
//!
//! A log may come from another machine than this one, or from several. A profile for containers, a unit, a minijail policy have
//! other rules there: other architectures, other numbers, other syscalls. Without --arch, the source is read for the machine of
//! each architecture in the log.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use callgate::{Arch, SeccompData, Verdict};
use callgate_formats::languages::ReadingOption;
use callgate_formats::libseccomp_versions::LibseccompVersion;
use callgate_requests::logged::{Relevance, find};
use callgate_trace::denials::{Denial, Evidence, LoggedCall};
use callgate_trace::recording::SyscallId;

use super::super::read::Read;
use crate::called::default_arch;
use crate::options::{SourceOptions, native_arch};
use crate::report::{Failure, Result, muted, unrepeated};
use crate::source::{LoadedSource, Text};

/// A source as one machine installs it.
pub(super) struct Group {
    pub(super) read: Read,
    /// The options with which it is read.
    pub(super) options: SourceOptions,
    /// The machine, if it is not this one.
    machine: Option<Arch>,
    relevance: Relevance,
    /// The source without ENOSYS for new syscalls, once it was needed; `None` if it cannot be read.
    older: Option<Option<(Read, Relevance)>>,
    /// Whether a syscall of the log was asked about, and the warnings were printed.
    is_used: bool,
}

/// The source as each machine of the log installs it.
pub(super) struct Groups<'a> {
    source: LoadedSource,
    options: &'a SourceOptions,
    groups: Vec<Group>,
    /// The group of each architecture on 64-bit and 32-bit kernels.
    by_arch: BTreeMap<(Arch, bool), usize>,
    /// The machines for which the source cannot be read, and why.
    failed: Vec<(Option<Arch>, Failure)>,
    /// Why the log cannot be answered.
    failure: Option<Failure>,
    /// Denials of architectures that --arch does not name.
    pub(super) outside: BTreeMap<Arch, u64>,
    /// Syscalls that failed for a reason other than the filter.
    pub(super) unrelated: u64,
    /// Those of them that failed with the errno that the filter returns if the runtime is older, by name.
    pub(super) older: BTreeMap<&'static str, u64>,
    /// Those that the filter allows, but that failed with its default errno, by name.
    pub(super) unknown: BTreeMap<&'static str, u64>,
    /// The first version of libseccomp that knows all of these.
    pub(super) known_since: Option<LibseccompVersion>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(source: LoadedSource, options: &'a SourceOptions) -> Groups<'a> {
        Groups {
            source,
            options,
            groups: Vec::new(),
            by_arch: BTreeMap::new(),
            failed: Vec::new(),
            failure: None,
            outside: BTreeMap::new(),
            unrelated: 0,
            older: BTreeMap::new(),
            unknown: BTreeMap::new(),
            known_since: None,
        }
    }

    /// The architecture of reports that do not name one.
    pub(super) fn usual_arch(&mut self) -> Result<Arch> {
        if let Some(arch) = given_arch(self.options) {
            return Ok(arch);
        }
        match self.on(None).and_then(|at| self.groups.get(at)) {
            Some(group) => default_arch(&group.read.stack.arches()),
            None => native_arch(),
        }
    }

    /// The arguments of a syscall that matter, a bit for each; `None` if it is not a denial of the filters.
    pub(super) fn relevant(&mut self, call: &LoggedCall) -> Option<u8> {
        let arch = call.syscall.arch;
        let is_filter = call.evidence == Evidence::Filter;
        if !(self.options.arch.is_empty() || self.options.arch.contains(&arch)) {
            if is_filter {
                *self.outside.entry(arch).or_default() += 1;
            }
            return None;
        }
        let group = self.group_of(arch, call.is_of_narrow_kernel)?;
        let mask = match group.read.required_diagram() {
            Ok(diagram) => group.relevance.of(diagram, call),
            Err(failure) => {
                self.failure = Some(failure);
                return None;
            }
        };
        if let (None, Evidence::Failed(errno)) = (mask, call.evidence) {
            let is_of_older = group.fails_on_older_runtime(call);
            let is_unknown = !is_of_older && group.fails_as_unknown(call, errno);
            self.unrelated += 1;
            if let Some(name) = call.syscall.name().filter(|_| is_of_older) {
                *self.older.entry(name).or_default() += 1;
            }
            if let Some(name) = call.syscall.name().filter(|_| is_unknown) {
                *self.unknown.entry(name).or_default() += 1;
                let since = LibseccompVersion::since(name, call.syscall.arch);
                self.known_since = self.known_since.max(since);
            }
        }
        mask
    }

    /// The group of a denial.
    pub(super) fn of(&self, denial: &Denial) -> Option<&Group> {
        let call = &denial.call;
        self.groups.get(*self.by_arch.get(&(call.syscall.arch, call.is_of_narrow_kernel))?)
    }

    /// All groups that a syscall of the log was asked about, or the one for this machine.
    pub(super) fn used(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| group.is_used)
    }

    /// Ends the log: fails if the source could not be read for it.
    pub(super) fn check(&mut self) -> Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.used().next().is_none() {
            let at = self.on(None);
            self.using(at, None);
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
        }
        Ok(())
    }

    fn group_of(&mut self, arch: Arch, is_of_narrow_kernel: bool) -> Option<&mut Group> {
        let key = (arch, is_of_narrow_kernel);
        let at = match self.by_arch.get(&key) {
            Some(at) => Some(*at),
            None => {
                let at = self.find(arch, is_of_narrow_kernel);
                self.by_arch.extend(at.map(|at| (key, at)));
                self.using(at, Some(host_of(arch)));
                at
            }
        };
        at.and_then(|at| self.groups.get_mut(at)).filter(|group| group.is_used)
    }

    /// Prints the warnings of a group that is used for the first time. If there is none, the source cannot be read for this
    /// machine.
    fn using(&mut self, at: Option<usize>, machine: Option<Arch>) {
        let Some(group) = at.and_then(|at| self.groups.get_mut(at)) else {
            if self.failure.is_none() && !self.failed.is_empty() {
                let of_machine = self.failed.iter().position(|(failed, _)| *failed == machine);
                let (_, failure) = self.failed.swap_remove(of_machine.unwrap_or_default());
                self.failure = Some(failure);
            }
            return;
        };
        if group.is_used {
            return;
        }
        let again = unrepeated(|| self.source.read(&group.options));
        match again.and_then(|stack| Ok(stack.check_values()?)) {
            Ok(()) => group.is_used = true,
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// The group for an architecture: the first of this machine and one whose programs usually have 64 bits whose filter is for
    /// it; and one of this architecture alone, if the kernel had 32 bits. A 64-bit kernel runs programs of 32 bits with the filter
    /// of its own architecture, even if that is not for them.
    fn find(&mut self, arch: Arch, is_of_narrow_kernel: bool) -> Option<usize> {
        let this = self.on(None);
        if !self.options.arch.is_empty() || self.source.is_of_machine() {
            return this;
        }
        let is_for = |group: &Group| {
            let arches = group.read.stack.arches();
            arches.contains(&arch) || arch == Arch::X32 && arches.contains(&Arch::X86_64)
        };
        let has = |groups: &Groups<'_>, at: Option<usize>| {
            at.and_then(|at| groups.groups.get(at)).is_some_and(is_for)
        };
        if has(self, this) {
            return this;
        }
        let host = self.on(Some(host_of(arch)));
        if has(self, host) {
            return host;
        }
        // Programs of 32 bits may install a policy that only their architecture can have.
        if is_of_narrow_kernel || host.is_none() {
            let alone = self.on(Some(arch));
            if has(self, alone) {
                return alone;
            }
        }
        // A program is the same on all machines.
        if self.source.texts().is_empty() { host.or(this) } else { host }
    }

    /// The source on a machine; `None` for this one.
    fn on(&mut self, machine: Option<Arch>) -> Option<usize> {
        let machine = machine.filter(|machine| Arch::native() != Some(*machine));
        if let Some(at) = self.groups.iter().position(|group| group.machine == machine) {
            return Some(at);
        }
        if self.failed.iter().any(|(failed, _)| *failed == machine) {
            return None;
        }
        let options =
            machine.map_or_else(|| self.options.clone(), |arch| self.options.on_machine(arch));
        match muted(|| Read::new(self.source.clone(), &options)) {
            Ok(read) => {
                let relevance = Relevance::default();
                let group =
                    Group { read, options, machine, relevance, older: None, is_used: false };
                self.groups.push(group);
                Some(self.groups.len() - 1)
            }
            Err(failure) => {
                self.failed.push((machine, failure));
                None
            }
        }
    }
}

impl Group {
    /// Whether a syscall failed as it does with a runtime that has no ENOSYS for syscalls newer than the profile.
    fn fails_on_older_runtime(&mut self, call: &LoggedCall) -> bool {
        let enosys = Verdict::errno(call.syscall.arch.enosys());
        let Ok(diagram) = self.read.diagram() else { return false };
        // Most syscalls fail for other reasons, with a filter that allows them.
        if find(diagram, call, |verdict| verdict == enosys).is_none() {
            return false;
        }
        let Some((read, relevance)) = self.on_older_runtime() else { return false };
        read.diagram().is_ok_and(|diagram| relevance.of(diagram, call).is_some())
    }

    /// The source without ENOSYS for new syscalls.
    fn on_older_runtime(&mut self) -> Option<&mut (Read, Relevance)> {
        let source = &self.read.source;
        let options = &self.options;
        let older = self.older.get_or_insert_with(|| {
            let options = options.on_older_runtime()?;
            let read = muted(|| Read::new(source.clone(), &options)).ok()?;
            Some((read, Relevance::default()))
        });
        older.as_mut()
    }

    /// Whether a syscall that the profile allows failed with its default errno: a libseccomp that does not know the name leaves
    /// the rule out. Versions that are in use know all names before `statx` (Linux 4.11).
    fn fails_as_unknown(&mut self, call: &LoggedCall, errno: u16) -> bool {
        /// A number that no syscall has.
        const NO_SYSCALL: u32 = 0x0fff_ffff;
        let SyscallId { arch, nr } = call.syscall;
        let is_new = arch.number("statx").is_some_and(|first| nr >= first);
        let has_number = |version: LibseccompVersion| {
            call.syscall.name().is_some_and(|name| version.has_number(name, arch))
        };
        if self.options.given_libseccomp().is_some_and(has_number) {
            return false;
        }
        let is_profile = |text: &Text<'_>| text.language.has_option(ReadingOption::EnosysAbove);
        if !is_new || !self.read.source.texts().iter().any(is_profile) {
            return false;
        }
        let is_denied = |verdict: Verdict| !verdict.permits();
        if self.read.diagram().map_or(true, |diagram| find(diagram, call, is_denied).is_some()) {
            return false;
        }
        let data = SeccompData {
            nr: arch.first_number() | NO_SYSCALL,
            arch: arch.token(),
            ..SeccompData::default()
        };
        let default = |read: &Read| {
            let (store, root) = read.diagram().ok()?;
            store.evaluate(*root, &data).ok()
        };
        let default = match self.on_older_runtime() {
            Some((read, _)) => default(read),
            None => default(&self.read),
        };
        default == Some(Verdict::errno(errno))
    }
}

/// The architecture for reports that do not name one: the first 64-bit one of --arch, or else the first one.
pub(in super::super) fn given_arch(options: &SourceOptions) -> Option<Arch> {
    let wide = options.arch.iter().find(|arch| arch.is_64bit());
    wide.or(options.arch.first()).copied()
}

/// The machine whose kernel usually runs programs of an architecture.
fn host_of(arch: Arch) -> Arch {
    let is_on = |host: &&Arch| callgate_formats::abis(**host).contains(&arch);
    Arch::ALL.iter().filter(|host| host.is_64bit()).find(is_on).copied().unwrap_or(arch)
}
