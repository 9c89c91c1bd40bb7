//! Compiled programs and templates as C reads them.

use std::ffi::{CString, c_char};

use callgate::Proved;
use callgate::{Arch, SeccompData, Verdict};
use callgate_bpf::{FilterFlags, values_by_name};
use callgate_core::RawInsn;
use callgate_core::template::Template;
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
    pub(crate) fn install(&self, flags: u32) -> Result<()> {
        let mut all = self.made.flags;
        let mut unknown = flags;
        for flag in [FilterFlags::TSYNC, FilterFlags::LOG, FilterFlags::SPEC_ALLOW] {
            if flags & flag.bits() != 0 {
                all |= flag;
            }
            unknown &= !flag.bits();
        }
        if unknown != 0 {
            let message = format!("callgate_install does not take the flags {unknown:#x}");
            let help = "for a listener, pass callgate_program_instructions to seccomp(2)";
            return Err(Failure::argument(message, help));
        }
        // Such a program would kill the process at its next syscall.
        if !Arch::native().is_some_and(|native| self.made.arches.contains(&native)) {
            let names: Vec<&str> = self.made.arches.iter().map(|arch| arch.name()).collect();
            let (names, native) = (names.join(", "), std::env::consts::ARCH);
            let message = format!("the filter is for {names}, but this process is for {native}");
            return Err(Failure::argument(message, "compile the source for this machine"));
        }
        callgate_linux::install(&self.made.program, all).map_err(|error| Failure::install(&error))
    }
}

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
