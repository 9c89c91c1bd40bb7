//! The directives that install filters, and what those of a unit say, before it becomes filters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::files::At;
use callgate_bpf::SyscallTable;
use callgate_core::{Arch, Verdict};

/// A directive that installs seccomp filters.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Directive {
    ProtectHostname,
    RestrictAddressFamilies,
    MemoryDenyWriteExecute,
    RestrictRealtime,
    RestrictSuidSgid,
    RestrictNamespaces,
    ProtectKernelTunables,
    ProtectKernelModules,
    ProtectKernelLogs,
    ProtectClock,
    PrivateDevices,
    SystemCallArchitectures,
    LockPersonality,
    SystemCallLog,
    SystemCallFilter,
}

impl Directive {
    /// All directives, in the order in which systemd installs their filters (`exec_child` in `execute.c`,
    /// `exec_invoke` in `exec-invoke.c`).
    pub const ALL: &'static [Directive] = &[
        Directive::ProtectHostname,
        Directive::RestrictAddressFamilies,
        Directive::MemoryDenyWriteExecute,
        Directive::RestrictRealtime,
        Directive::RestrictSuidSgid,
        Directive::RestrictNamespaces,
        Directive::ProtectKernelTunables,
        Directive::ProtectKernelModules,
        Directive::ProtectKernelLogs,
        Directive::ProtectClock,
        Directive::PrivateDevices,
        Directive::SystemCallArchitectures,
        Directive::LockPersonality,
        Directive::SystemCallLog,
        Directive::SystemCallFilter,
    ];

    /// The name in unit files.
    pub const fn name(self) -> &'static str {
        match self {
            Directive::ProtectHostname => "ProtectHostname",
            Directive::RestrictAddressFamilies => "RestrictAddressFamilies",
            Directive::MemoryDenyWriteExecute => "MemoryDenyWriteExecute",
            Directive::RestrictRealtime => "RestrictRealtime",
            Directive::RestrictSuidSgid => "RestrictSUIDSGID",
            Directive::RestrictNamespaces => "RestrictNamespaces",
            Directive::ProtectKernelTunables => "ProtectKernelTunables",
            Directive::ProtectKernelModules => "ProtectKernelModules",
            Directive::ProtectKernelLogs => "ProtectKernelLogs",
            Directive::ProtectClock => "ProtectClock",
            Directive::PrivateDevices => "PrivateDevices",
            Directive::SystemCallArchitectures => "SystemCallArchitectures",
            Directive::LockPersonality => "LockPersonality",
            Directive::SystemCallLog => "SystemCallLog",
            Directive::SystemCallFilter => "SystemCallFilter",
        }
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The settings of a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The line of the last assignment of each directive.
    pub(super) places: BTreeMap<Directive, At>,
    /// The values of the boolean directives.
    pub(super) switches: BTreeMap<Directive, Switch>,
    pub(super) dynamic_user: Option<Switch>,
    pub(super) syscall_filter: Option<SyscallList>,
    pub(super) syscall_log: Option<SyscallList>,
    /// What happens to denied syscalls.
    pub(super) denial: Denial,
    /// Where `denial` is set.
    pub(super) denial_at: Option<At>,
    /// The architectures of `SystemCallArchitectures=`; `None` is the native one.
    pub(super) arches: BTreeSet<Option<Arch>>,
    pub(super) families: Families,
    /// The flags of the namespaces that the process may use, after an assignment.
    pub(super) namespaces: Option<u64>,
    pub(super) personality: Option<u64>,
}

impl Settings {
    /// The list of `SystemCallLog=`, or of `SystemCallFilter=`.
    pub(super) fn list(&mut self, is_log: bool) -> &mut Option<SyscallList> {
        if is_log { &mut self.syscall_log } else { &mut self.syscall_filter }
    }

    /// The line that is the reason for the filters of a directive.
    pub(super) fn place(&self, directive: Directive) -> Option<At> {
        let own = self.places.get(&directive).copied();
        let is_on = self.switches.get(&directive).is_some_and(|switch| switch.is_on);
        let dynamic = self.dynamic_user.map(|user| user.at);
        match directive {
            Directive::RestrictSuidSgid if !is_on => dynamic,
            _ => own,
        }
    }

    /// Whether a boolean directive is on.
    pub(super) fn is_on(&self, directive: Directive) -> bool {
        let dynamic = self.dynamic_user.filter(|_| directive == Directive::RestrictSuidSgid);
        dynamic.is_some_and(|user| user.is_on)
            || self.switches.get(&directive).is_some_and(|switch| switch.is_on)
    }
}

/// The value of a boolean directive, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switch {
    pub(super) is_on: bool,
    pub(super) at: At,
}

/// What happens to a denied syscall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Denial {
    /// It ends the process.
    #[default]
    Kill,
    /// It fails with this errno.
    Errno(u16),
}

impl Denial {
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Denial::Kill => Verdict::KILL_PROCESS,
            Denial::Errno(errno) => Verdict::errno(errno),
        }
    }
}

/// The list of `SystemCallFilter=` or `SystemCallLog=`.
#[derive(Clone, Debug)]
pub(super) struct SyscallList {
    /// Whether it lists what is allowed (logged), not what is denied (not logged).
    pub(super) allows: bool,
    /// Where its first value is.
    pub(super) at: At,
    pub(super) entries: BTreeMap<SyscallKey, Entry>,
    /// The words that removed an entry, by its syscall.
    pub(super) removed: BTreeMap<SyscallKey, At>,
    /// The words that were read, with their signs, to find repeated ones.
    pub(super) words: BTreeSet<(bool, String)>,
    /// Whether a value with the opposite sign was reported.
    pub(super) is_reported: bool,
}

/// A syscall as systemd distinguishes them: by the number on the native architecture, and if there is none, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SyscallKey {
    Number(u32),
    Name(&'static str),
}

impl SyscallKey {
    pub(super) fn new(name: &'static str, native: Arch) -> SyscallKey {
        native.number(name).map_or(SyscallKey::Name(name), SyscallKey::Number)
    }
}

/// A syscall of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) key: SyscallKey,
}

/// A syscall in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// What happens to it instead of the action of the list.
    pub(super) denial: Option<Denial>,
    pub(super) at: At,
}

/// The address families of `RestrictAddressFamilies=`.
#[derive(Clone, Debug, Default)]
pub(super) struct Families {
    pub(super) allows: bool,
    /// `None` before the first value, which decides `allows`.
    pub(super) listed: Option<BTreeSet<u16>>,
}
