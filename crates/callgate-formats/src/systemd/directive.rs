//! The directives that install filters.

use std::fmt;

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
