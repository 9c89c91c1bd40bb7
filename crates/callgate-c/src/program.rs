//! Compiled programs and templates as C reads them.

use std::ffi::{CString, c_char};
use std::os::fd::OwnedFd;

use callgate::Proved;
use callgate::{SeccompData, Verdict};
use callgate_bpf::{FilterFlags, values_by_name};
use callgate_core::RawInsn;
use callgate_core::template::Template;
use callgate_linux::{Installer, check_machine};
use callgate_requests::programs::Made;
use callgate_requests::source::Messages;

use crate::error::{Failure, List, Result, c_text};

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SockFilter {
    pub(crate) code: u16,
    pub(crate) jt: u8,
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

/// `callgate_program`.
#[derive(Debug)]
pub struct CProgram {
    made: Made<Proved>,
    pub(crate) instructions: Vec<SockFilter>,
    pub(crate) warnings: List,
}

impl CProgram {
    pub(crate) fn new(made: Made<Proved>, warnings: Messages) -> CProgram {
        let instruction = |RawInsn { code, jt, jf, k }| SockFilter { code, jt, jf, k };
        let raw = made.program.to_raw().into_iter();
        CProgram {
            instructions: raw.map(instruction).collect(),
            made,
            warnings: List::new(warnings),
        }
    }

    /// The flags with which the source wants to be installed.
    pub(crate) fn flags(&self) -> FilterFlags {
        self.made.flags
    }

    pub(crate) fn run(&self, data: &SeccompData) -> Verdict {
        self.made.program.run(data, self.made.endian).verdict
    }

    /// Installs it, with these flags and those of the source.
    pub(crate) fn install(&self, flags: u32, no_new_privs: bool) -> Result<()> {
        let installer = self.installer(flags, no_new_privs)?;
        installer.install(&self.made.program).map_err(|error| Failure::install(&error))
    }

    /// The same with a listener.
    pub(crate) fn install_with_listener(&self, flags: u32, no_new_privs: bool) -> Result<OwnedFd> {
        let installer = self.installer(flags, no_new_privs)?;
        let listener = installer.install_with_listener(&self.made.program);
        listener.map(OwnedFd::from).map_err(|error| Failure::install(&error))
    }

    fn installer(&self, flags: u32, no_new_privs: bool) -> Result<Installer> {
        let mut all = self.made.flags;
        let mut unknown = flags;
        for flag in KNOWN {
            if flags & flag.bits() != 0 {
                all |= flag;
            }
            unknown &= !flag.bits();
        }
        if unknown != 0 {
            let message = format!("the flags {unknown:#x} are not for installing a program");
            let help = "give the pointer to a listener to callgate_install_with for SECCOMP_FILTER_FLAG_NEW_LISTENER";
            return Err(Failure::argument(message, help));
        }
        check_machine(&self.made.program, &self.made.arches)
            .map_err(|error| Failure::argument(error.to_string(), error.help()))?;
        Ok(Installer::new().flags(all).no_new_privs(no_new_privs))
    }
}

/// The flags of `callgate_install`.
const KNOWN: [FilterFlags; 4] = [
    FilterFlags::TSYNC,
    FilterFlags::LOG,
    FilterFlags::SPEC_ALLOW,
    FilterFlags::WAIT_KILLABLE_RECV,
];

/// `callgate_variable`. The name belongs to the template.
#[repr(C)]
#[derive(Debug)]
pub struct CVariable {
    name: *const c_char,
    bits: u32,
    reserved: u32,
}

/// `callgate_template`.
#[derive(Debug)]
pub struct CTemplate {
    made: Made<Proved<Template>>,
    pub(crate) variables: Vec<CVariable>,
    _names: Vec<CString>,
    pub(crate) warnings: List,
}

impl CTemplate {
    pub(crate) fn new(made: Made<Proved<Template>>, warnings: Messages) -> CTemplate {
        let variables = made.program.variables();
        let names: Vec<CString> =
            variables.iter().map(|variable| c_text(variable.name())).collect();
        let variables = variables
            .iter()
            .zip(&names)
            .map(|(variable, name)| CVariable {
                name: name.as_ptr(),
                bits: variable.bits(),
                reserved: 0,
            })
            .collect();
        CTemplate { variables, made, _names: names, warnings: List::new(warnings) }
    }

    /// The program for these values.
    pub(crate) fn instantiate(&self, values: &[(&str, u64)]) -> Result<CProgram> {
        let template = &self.made.program;
        let values = values_by_name(template.variables(), values.iter().copied());
        let program = values.and_then(|values| template.instantiate(&values));
        let program = program.map_err(|error| Failure::argument(error.to_string(), ""))?;
        Ok(CProgram::new(self.made.with(program), Messages::new()))
    }
}
