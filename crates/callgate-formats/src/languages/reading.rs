//! How sources are read: the options of all readers.

use crate::arches::{host_of, only_arch};
use crate::capabilities::CapSet;
use crate::libseccomp_versions::LibseccompVersion;
use crate::minijail::Semantics;
use crate::oci::EnosysAbove;
use crate::systemd::SystemdVersion;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::KernelVersion;
use callgate_bpf::text::Definition;
use callgate_core::{Arch, Endian};

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
    pub enosys_above: Option<EnosysAbove>,
    /// The version of libseccomp that reads the names of syscalls in a profile of a container; one that knows all if absent.
    pub libseccomp: Option<LibseccompVersion>,
    /// The version of systemd for units; the newest if absent.
    pub systemd: Option<SystemdVersion>,
    /// Which of minijail's compilers decides what a policy means; that in Python if absent, with warnings where they differ.
    pub minijail_semantics: Option<Semantics>,
    /// Whether unknown syscall names, and characters that make a text look like another one, are errors.
    pub strict: bool,
    /// The byte order of a program; that of the first architecture if absent.
    pub endian: Option<Endian>,
    /// Macros of C that are defined, or not, before a program as text is read.
    pub definitions: Vec<Definition>,
    /// Whether the rules as the text states them are kept.
    pub statements: bool,
    /// How a user chooses the part with a name, for the help if a text has several.
    pub choosing: fn(&str) -> String,
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
            libseccomp: None,
            systemd: None,
            minijail_semantics: None,
            strict: false,
            endian: None,
            definitions: Vec::new(),
            statements: false,
            choosing: |name| format!("choose one with `part`, such as \"{name}\""),
        }
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
    pub fn host(&self) -> Arch {
        host_of(&self.arches).unwrap_or(self.machine)
    }

    /// The architecture of a source that is for one only, such as "a Firecracker filter".
    ///
    /// # Errors
    /// If several are given.
    pub fn only_arch(&self, what: &str) -> Result<Arch> {
        Ok(only_arch(what, &self.arches)?.unwrap_or(self.machine))
    }

    /// The given architectures, or that of the machine.
    pub fn each_arch(&self) -> Vec<Arch> {
        match self.arches.as_slice() {
            [] => vec![self.machine],
            given => given.to_vec(),
        }
    }

    /// The version of the kernel.
    ///
    /// # Errors
    /// If none is given.
    pub fn kernel(&self) -> Result<KernelVersion> {
        self.kernel.ok_or_else(|| {
            Diagnostic::error(None, "missing kernel version")
                .help("profiles and units have conditions on it; give one, such as \"6.12\"")
        })
    }
}
