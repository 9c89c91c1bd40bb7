//! Options of the reader, its inputs, and its result.

use super::arches;
use super::groups::SystemdVersion;
use super::settings::Directive;
use crate::files::FileMessage;
use crate::statements::Statements;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::policy::Policy;
use callgate_core::{Arch, SeccompData, Verdict};

/// How directives are read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The version of systemd.
    pub version: SystemdVersion,
    /// Whether the version was not given, but assumed: then a unit that an older version reads differently has a warning.
    pub is_version_assumed: bool,
    /// The architecture for which systemd was built. It installs filters for this architecture and for those whose programs
    /// it can run, such as x86 and x32 on x86_64.
    pub native: Arch,
    /// The kernel: from 6.3 on, `MemoryDenyWriteExecute=` installs no filter with systemd 254 or later.
    pub kernel: KernelVersion,
    /// The section from which directives are read; without one, the first of them that occurs.
    pub section: Option<ExecSection>,
    /// Whether unknown names of syscalls and groups are errors.
    pub strict: bool,
    /// Syscalls that the system's libseccomp does not know; systemd ignores them. Empty for a libseccomp that knows as many
    /// as this crate.
    pub libseccomp_lacks: Vec<String>,
    /// Whether filters have [`statements`](super::UnitFilter::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Options for the newest version of systemd, without `strict`.
    pub fn new(native: Arch, kernel: KernelVersion) -> ReadOptions {
        ReadOptions {
            version: SystemdVersion::LATEST,
            is_version_assumed: false,
            native,
            kernel,
            section: None,
            strict: false,
            libseccomp_lacks: Vec::new(),
            statements: false,
        }
    }

    /// Whether the system's libseccomp does not know a syscall.
    pub(super) fn lacks(&self, name: &str) -> bool {
        self.libseccomp_lacks.iter().any(|lacking| lacking == name)
    }

    /// The architectures for which systemd installs filters, the native one last. None for some architectures.
    pub fn arches(&self) -> Vec<Arch> {
        arches::local(self.native, self.version)
    }
}

/// A section of a unit file that describes how processes are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ExecSection {
    Service,
    Socket,
    Mount,
    Swap,
}

impl ExecSection {
    /// All sections.
    pub const ALL: [ExecSection; 4] =
        [ExecSection::Service, ExecSection::Socket, ExecSection::Mount, ExecSection::Swap];

    /// The name in unit files.
    pub const fn name(self) -> &'static str {
        match self {
            ExecSection::Service => "Service",
            ExecSection::Socket => "Socket",
            ExecSection::Mount => "Mount",
            ExecSection::Swap => "Swap",
        }
    }

    /// The section with this name.
    pub fn from_name(name: &str) -> Option<ExecSection> {
        ExecSection::ALL.into_iter().find(|section| section.name() == name)
    }

    /// The section of units with this suffix, such as `service`.
    pub fn of_suffix(suffix: &str) -> Option<ExecSection> {
        ExecSection::ALL.into_iter().find(|section| section.name().to_ascii_lowercase() == suffix)
    }
}

/// A text with directives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitText<'t> {
    pub(super) text: &'t str,
    pub(super) form: TextForm,
    pub(super) name: Option<&'t str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextForm {
    Unit,
    Directives,
    Filter,
}

impl<'t> UnitText<'t> {
    /// A unit file or a drop-in: sections with assignments.
    pub fn unit(text: &'t str) -> UnitText<'t> {
        UnitText { text, form: TextForm::Unit, name: None }
    }

    /// Assignments of the section that is read, without its header.
    pub fn directives(text: &'t str) -> UnitText<'t> {
        UnitText { text, form: TextForm::Directives, name: None }
    }

    /// Values of `SystemCallFilter=`, one per line; a word that begins with `~` also begins a value:
    /// `@system-service ~@mount @swap` are the values `@system-service` and `~@mount @swap`.
    pub fn filter(text: &'t str) -> UnitText<'t> {
        UnitText { text, form: TextForm::Filter, name: None }
    }

    /// The same text with a name, which sites of [`statements`](super::UnitFilter::statements) have.
    #[must_use]
    pub fn named(self, name: &'t str) -> UnitText<'t> {
        UnitText { name: Some(name), ..self }
    }
}

/// The filters that systemd installs for the processes of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFilters {
    /// The filters, in the order of installation. There may be none.
    pub filters: Vec<UnitFilter>,
    /// Warnings: parts that systemd ignores, or that may not mean what was intended.
    pub warnings: Vec<FileMessage>,
}

/// A filter of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFilter {
    /// The directive that installs it.
    pub directive: Directive,
    /// The architecture whose syscalls it is for; all others are allowed. `None` for the filter of
    /// `SystemCallArchitectures=`.
    pub arch: Option<Arch>,
    /// What it does.
    pub policy: Policy,
    /// The rules as the unit states them, if the options ask for them. Those of all directives but the lists of syscalls have
    /// the place of the last line with the directive.
    pub statements: Option<Statements>,
}

impl UnitFilters {
    /// The verdict of all filters for a syscall, as the kernel combines them; ALLOW without filters.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        Verdict::of_stack(self.filters.iter().rev().map(|filter| filter.policy.evaluate(data)))
    }
}
