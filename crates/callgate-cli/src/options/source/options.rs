//! Options about how sources are read.

use std::path::Path;

use callgate::Arch;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::CapSet;
use callgate_formats::languages::{LanguageId, ReadingOption};
use callgate_formats::libseccomp_versions::{LibseccompVersion, RuncVersion};
use callgate_formats::oci::EnosysAbove;
use callgate_formats::systemd::SystemdVersion;
use callgate_requests::Value;
use clap::ValueHint;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::base::BaseFile;
use super::definition::Macros;
use super::include_root::IncludeRoot;
use super::setting::Setting;
use super::values::{EndianArg, EnosysArg, KernelArg, RUNNING, SemanticsArg};
use crate::options::machine::native_arch;
use crate::options::parse::ArchParser;
use crate::report::Result;

/// How sources are read. Warns about options that affect none of the sources.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SourceOptions {
    /// The architecture of the filter; may be repeated [default: those of the source that this machine
    /// supports, including its 32-bit ABIs]
    #[arg(long, value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true, help_heading = "Reading")]
    pub(crate) arch: Vec<Arch>,

    /// The kernel version for the conditions of a profile, or "running" [default: running]. A program that is written is
    /// checked for a version that is given: 3.10 kills what is logged, or passed to a listener
    #[arg(long, value_name = "X.Y", help_heading = "Reading")]
    pub(crate) kernel: Option<KernelArg>,

    /// The capabilities for the conditions of a profile: docker or podman (their default sets), all, none,
    /// or a list such as CAP_CHOWN,CAP_SYS_ADMIN or docker,CAP_SYS_PTRACE [default: docker]
    #[arg(long, value_name = "CAPS", help_heading = "Reading")]
    pub(super) caps: Option<CapSet>,

    /// The value of a variable of a Kafel policy ($NAME); may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse, help_heading = "Reading")]
    pub(super) set: Vec<Setting>,

    /// The version of systemd for unit files and directives, 252 to 258 [default: 258, or that of this machine for a
    /// unit that is given by its name]
    #[arg(long, value_name = "VERSION", help_heading = "Reading")]
    pub(super) systemd: Option<SystemdVersion>,

    /// Whether syscalls newer than all that a profile names fail with ENOSYS: on (runc 1.1.15, 1.2 and
    /// later), runc-1.1 (1.1.3 to 1.1.14: only on architectures that the profile lists) or off (crun)
    /// [default: on for the dialects docker and runc, otherwise off]
    #[arg(long, value_name = "HOW", help_heading = "Reading")]
    pub(super) enosys_above: Option<EnosysArg>,

    /// The version of libseccomp with which the runtime of a container reads the names of syscalls, 2.3.0 to 2.6.1: rules
    /// for names that it does not know have no effect [default: one that knows all]
    #[arg(long, value_name = "VERSION", help_heading = "Reading")]
    pub(super) libseccomp: Option<LibseccompVersion>,

    /// The version of runc that reads a profile, 1.1.0 to 1.5: its rule for new syscalls (--enosys-above), and the
    /// libseccomp of its official binaries (--libseccomp)
    #[arg(long, value_name = "VERSION", conflicts_with = "crun", help_heading = "Reading")]
    pub(super) runc: Option<RuncVersion>,

    /// Read a profile as crun does, without a rule for new syscalls
    #[arg(long, help_heading = "Reading")]
    pub(super) crun: bool,

    /// The file of the base profile that a SeccompProfile resource names, or with NAME= of the base profile
    /// NAME; may be repeated [default: NAME.yaml, NAME.yml or NAME.json beside the resource]
    #[arg(
        long,
        value_name = "[NAME=]FILE",
        value_parser = OsStringValueParser::new().map(BaseFile::parse),
        value_hint = ValueHint::FilePath,
        help_heading = "Reading"
    )]
    pub(super) base: Vec<BaseFile>,

    /// Refuse what could be read in two ways: unknown names of syscalls, invisible characters, and files outside of the
    /// tree of the source (its repository, or else its directory). For gates; see docs/how-to/gate-a-profile.md
    #[arg(long, help_heading = "Reading")]
    pub(crate) strict: bool,

    /// The directory below which files are that a source includes by an absolute path, as /etc and /usr are in it; may be
    /// repeated [default: /]
    #[arg(
        long,
        value_name = "DIR",
        value_parser = OsStringValueParser::new().map(IncludeRoot::parse),
        value_hint = ValueHint::DirPath,
        help_heading = "Reading"
    )]
    pub(super) include_root: Vec<IncludeRoot>,

    /// The compiler of minijail that decides what a policy means: c (minijail0 -S) or python
    /// (compile_seccomp_policy.py) [default: python, with warnings where they differ]
    #[arg(long, value_name = "COMPILER", help_heading = "Reading")]
    pub(super) minijail_semantics: Option<SemanticsArg>,

    /// The byte order of a program [default: that of --arch, otherwise of this machine]
    #[arg(long, value_name = "ORDER", help_heading = "Reading")]
    pub(super) endian: Option<EndianArg>,

    /// The machine for which sources are read, if not this one.
    #[arg(skip)]
    pub(super) machine: Option<Arch>,

    #[command(flatten)]
    pub(super) macros: Macros,

    /// Whether filters keep the rules as their texts state them.
    #[arg(skip)]
    pub(super) statements: bool,

    /// Whether profiles are read without the rules that runtimes add, unless --enosys-above says otherwise.
    #[arg(skip)]
    pub(super) without_runtime_rules: bool,

    /// Whether filters keep the warnings of their readers, which are not printed then.
    #[arg(skip)]
    pub(crate) keeps_warnings: bool,

    /// Whether warnings about options that have no effect are left to the caller, who knows all sources.
    #[arg(skip)]
    pub(crate) warns_later: bool,

    /// Whether --kernel is also the kernel that executes the program, so that it has an effect on each source.
    #[arg(skip)]
    pub(super) is_for_kernel: bool,

    /// Those of these options that were given for one of two filters, and the end of their names.
    #[arg(skip)]
    pub(super) own: Option<(&'static str, Box<SourceOptions>)>,
}

impl SourceOptions {
    /// The options of a command that has only these.
    pub(crate) fn of(arch: &[Arch], strict: bool, caps: Option<CapSet>) -> SourceOptions {
        SourceOptions { arch: arch.to_vec(), strict, caps, ..SourceOptions::default() }
    }

    /// Like `self`, for programs that the kernel of --kernel executes.
    pub(crate) fn for_kernel(&self) -> SourceOptions {
        SourceOptions { is_for_kernel: true, ..self.clone() }
    }

    /// Like `self`, for filters that keep the rules as their texts state them.
    pub(crate) fn with_statements(&self) -> SourceOptions {
        SourceOptions { statements: true, ..self.clone() }
    }

    /// Like `self`, for filters that keep the rules as their texts state them, and the warnings about them.
    pub(crate) fn for_lint(&self) -> SourceOptions {
        SourceOptions { keeps_warnings: true, ..self.with_statements() }
    }

    /// Like `self`, but the caller warns about options that have no effect.
    pub(crate) fn warning_later(self) -> SourceOptions {
        SourceOptions { warns_later: true, ..self }
    }

    /// Like `self`, for a process that has these capabilities as well.
    pub(crate) fn with_caps(&self, more: CapSet) -> SourceOptions {
        let caps = self.caps.unwrap_or_else(CapSet::docker).with(more);
        SourceOptions { caps: Some(caps), ..self.clone() }
    }

    /// Like `self`, for sources as another machine installs them.
    pub(crate) fn on_machine(&self, machine: Arch) -> SourceOptions {
        SourceOptions { machine: Some(machine), ..self.clone() }
    }

    /// Like `self`, for a runtime that does not let new syscalls fail with ENOSYS; `None` if --enosys-above is given.
    pub(crate) fn on_older_runtime(&self) -> Option<SourceOptions> {
        let off = || SourceOptions { enosys_above: Some(EnosysArg::Off), ..self.clone() };
        let is_given = self.enosys_above.is_some() || self.runc.is_some() || self.crun;
        (!is_given).then(off)
    }

    /// What syscalls get that are newer than all that a profile names, if an option says it.
    pub(super) fn enosys(&self) -> Option<EnosysAbove> {
        let of_crun = self.crun.then_some(EnosysAbove::Off);
        let given = self.enosys_above.map(EnosysAbove::from);
        given.or(self.runc.map(RuncVersion::enosys_above)).or(of_crun)
    }

    /// The version of libseccomp, if an option says it.
    pub(crate) fn given_libseccomp(&self) -> Option<LibseccompVersion> {
        self.libseccomp.or(self.runc.map(RuncVersion::libseccomp))
    }

    /// The machine for which sources are read.
    pub(crate) fn machine(&self) -> Result<Arch> {
        self.machine.map_or_else(native_arch, Ok)
    }

    /// The options that decide whether conditions of a profile hold, with their defaults.
    pub(crate) fn conditions(&self) -> String {
        let caps = self.caps.unwrap_or_else(CapSet::docker);
        let mut given = match &self.kernel {
            Some(KernelArg::Version(version)) => format!("--caps {caps} --kernel {version}"),
            _ => format!("--caps {caps} --kernel {RUNNING}"),
        };
        if let Some(runc) = self.runc {
            given.push_str(&format!(" --runc {runc}"));
        }
        if self.crun {
            given.push_str(" --crun");
        }
        if let Some(libseccomp) = self.libseccomp {
            given.push_str(&format!(" --libseccomp {libseccomp}"));
        }
        given
    }

    /// Whether the version of systemd is given.
    pub(crate) fn gives_systemd(&self) -> bool {
        self.systemd.is_some()
    }

    /// The values of --set by name.
    pub(crate) fn values(&self) -> Vec<(String, Value)> {
        self.set.iter().map(|setting| (setting.name().to_owned(), setting.value())).collect()
    }

    /// Like `self`, but by default without the rules that runtimes add to profiles.
    pub(crate) fn without_runtime_rules(&self) -> SourceOptions {
        SourceOptions { without_runtime_rules: true, ..self.clone() }
    }

    /// The file that is given for a base profile, which the source names or one of its base profiles.
    pub(crate) fn base_file(&self, name: &str, is_in_source: bool) -> Option<&Path> {
        // A file for this name takes precedence.
        let mut files: Vec<&BaseFile> = self.base.iter().collect();
        files.sort_by_key(|file| !file.has_name());
        files.into_iter().find_map(|file| file.for_name(name, is_in_source))
    }

    /// The directories below which absolute paths of included files are.
    pub(crate) fn include_roots(&self) -> impl Iterator<Item = &Path> {
        self.include_root.iter().map(IncludeRoot::path)
    }

    /// The options without those that affect how a policy in this language is read.
    pub(crate) fn without_those_of(&self, language: LanguageId) -> SourceOptions {
        let mut options = self.clone();
        for option in language.language().options {
            match option {
                ReadingOption::Kernel => options.kernel = None,
                ReadingOption::EnosysAbove => {
                    options.enosys_above = None;
                    options.libseccomp = None;
                    options.runc = None;
                    options.crun = false;
                }
                ReadingOption::Systemd => options.systemd = None,
                ReadingOption::MinijailSemantics => options.minijail_semantics = None,
                ReadingOption::Caps | ReadingOption::Variables | ReadingOption::Definitions => {}
            }
        }
        options
    }

    /// The version of the kernel, if it is given.
    pub(crate) fn given_kernel(&self) -> Option<KernelVersion> {
        match self.kernel {
            Some(KernelArg::Version(version)) => Some(version),
            _ => None,
        }
    }

    /// The version of the kernel.
    pub(crate) fn kernel(&self) -> std::result::Result<KernelVersion, Diagnostic> {
        if let Some(version) = self.given_kernel() {
            return Ok(version);
        }
        let help = "give a version, such as --kernel 6.12";
        let release = callgate_linux::kernel::release().map_err(|error| {
            let why = callgate_linux::error_text(&error);
            Diagnostic::error(None, format!("cannot read the kernel version: {why}")).help(help)
        })?;
        release.parse().map_err(|_| {
            let message = format!("cannot parse the kernel version \"{release}\"");
            Diagnostic::error(None, message).help(help)
        })
    }
}
