//! How sources are read: the options of each reader.

use callgate::formats::systemd::{self, SystemdVersion};
use callgate::formats::{
    CapSet, android, firecracker, host_of, kafel, lxc, minijail, oci, only_arch, snap,
};
use callgate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::KernelVersion;
use callgate_bpf::text::Definition;

type Result<T> = std::result::Result<T, Diagnostic>;

/// How a source is read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The architecture of the machine, which is the default.
    pub machine: Arch,
    /// The given architectures; may be none.
    pub arches: Vec<Arch>,
    /// The kernel version for conditions of profiles.
    pub kernel: Option<KernelVersion>,
    /// The capabilities for conditions of profiles; Docker's default set if absent.
    pub caps: Option<CapSet>,
    /// Whether syscalls newer than all that a profile names fail with ENOSYS; the dialect decides if absent.
    pub enosys_above: Option<oci::EnosysAbove>,
    /// The version of systemd for units; the newest if absent.
    pub systemd: Option<SystemdVersion>,
    /// Whether unknown syscall names, and characters that make a text look like another one, are errors.
    pub strict: bool,
    /// The byte order of a program; that of the first architecture if absent.
    pub endian: Option<Endian>,
    /// Macros of C that are defined, or not, before a program as text is read.
    pub definitions: Vec<Definition>,
    /// Whether the rules as the text states them are kept.
    pub statements: bool,
}

impl Reading {
    /// For a machine, without options.
    pub fn new(machine: Arch) -> Reading {
        Reading {
            machine,
            arches: Vec::new(),
            kernel: None,
            caps: None,
            enosys_above: None,
            systemd: None,
            strict: false,
            endian: None,
            definitions: Vec::new(),
            statements: false,
        }
    }

    /// How a profile of a container runtime is read.
    ///
    /// # Errors
    /// Without a kernel version.
    pub fn of_profile(&self, dialect: Option<oci::Dialect>) -> Result<oci::ReadOptions> {
        Ok(oci::ReadOptions {
            dialect,
            resource: None,
            choosing: choose_part,
            identity: None,
            statements: self.statements,
            arches: self.arches.clone(),
            native: self.arches.first().copied().unwrap_or(self.machine),
            caps: self.caps.unwrap_or_else(CapSet::docker),
            kernel: self.kernel()?,
            enosys_above: self.enosys_above,
            strict: self.strict,
        })
    }

    /// How a unit of systemd is read.
    ///
    /// # Errors
    /// Without a kernel version, and for architectures for which one systemd installs no filters together.
    pub fn of_unit(&self) -> Result<systemd::ReadOptions> {
        let native = self.host();
        let mut options = systemd::ReadOptions::new(native, self.kernel()?);
        options.version = self.systemd.unwrap_or(SystemdVersion::LATEST);
        options.is_version_assumed = self.systemd.is_none();
        options.strict = self.strict;
        options.statements = self.statements;
        let built_for = options.arches();
        let is_other = |arch: &&Arch| **arch != native && !built_for.contains(arch);
        match self.arches.iter().find(is_other) {
            None => Ok(options),
            Some(other) => Err(Diagnostic::error(
                None,
                format!(
                    "systemd for {native} installs no filters for {other}, so a unit is not read for both"
                ),
            )
            .help(format!("give only the architecture {native}, or only {other}"))),
        }
    }

    /// How a Kafel policy is read.
    pub fn of_kafel(&self) -> kafel::ReadOptions {
        let arches = match self.arches.as_slice() {
            [] => vec![self.machine],
            given => given.to_vec(),
        };
        let options = kafel::ReadOptions::for_arches(arches);
        kafel::ReadOptions { statements: self.statements, ..options }
    }

    /// How a profile of LXC is read.
    pub fn of_lxc(&self) -> lxc::ReadOptions {
        lxc::ReadOptions { native: self.host(), strict: self.strict, statements: self.statements }
    }

    /// How a profile of a snap is read.
    pub fn of_snap(&self) -> snap::ReadOptions {
        snap::ReadOptions { native: self.host(), strict: self.strict, statements: self.statements }
    }

    /// How lists of Android are read.
    pub fn of_android(&self) -> android::ReadOptions {
        let statements = self.statements;
        android::ReadOptions { statements, ..android::ReadOptions::new(self.host()) }
    }

    /// How a document of Firecracker is read.
    ///
    /// # Errors
    /// For several architectures.
    pub fn of_firecracker(&self) -> Result<firecracker::ReadOptions> {
        let arch = self.only_arch("a filter of Firecracker")?;
        Ok(firecracker::ReadOptions {
            choosing: choose_part,
            statements: self.statements,
            ..firecracker::ReadOptions::new(arch)
        })
    }

    /// How a policy of minijail is read.
    ///
    /// # Errors
    /// For several architectures.
    pub fn of_minijail(&self) -> Result<minijail::ReadOptions> {
        let options = minijail::ReadOptions::new(self.only_arch("a policy of minijail")?);
        Ok(minijail::ReadOptions { statements: self.statements, ..options })
    }

    /// The byte order of a program.
    ///
    /// # Errors
    /// If the options contradict each other.
    pub fn of_program(&self) -> Result<Endian> {
        let order = self.endian.or(self.arches.first().map(|arch| arch.endian()));
        if let Some(odd) = self.arches.iter().find(|arch| Some(arch.endian()) != order) {
            let message = format!("the byte order of {odd} contradicts the other options");
            return Err(Diagnostic::error(None, message)
                .help("give only the byte order, or architectures with the same byte order"));
        }
        Ok(order.unwrap_or(self.machine.endian()))
    }

    /// Whether the options determine the byte order of a program.
    pub fn fixes_endian(&self) -> bool {
        self.endian.is_some() || !self.arches.is_empty()
    }

    /// The architecture of the host: the first given one with 64 bits, or the first.
    fn host(&self) -> Arch {
        host_of(&self.arches).unwrap_or(self.machine)
    }

    /// The architecture of a source that is for one only, such as "a filter of Firecracker".
    fn only_arch(&self, what: &str) -> Result<Arch> {
        Ok(only_arch(what, &self.arches)?.unwrap_or(self.machine))
    }

    fn kernel(&self) -> Result<KernelVersion> {
        self.kernel.ok_or_else(|| {
            Diagnostic::error(None, "missing kernel version")
                .help("profiles and units have conditions on it; give one, such as \"6.12\"")
        })
    }
}

/// The help for a text with several parts.
fn choose_part(name: &str) -> String {
    format!("choose one with `part`, such as \"{name}\"")
}
