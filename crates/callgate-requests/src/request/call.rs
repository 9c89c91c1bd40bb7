//! The syscall of a simulation.

use callgate::{Arch, SeccompData};
use callgate_bpf::diagnostic::Diagnostic;

use super::model::Call;
use crate::syscall;

impl Call {
    /// The ABI: the given one, or that of the machine if the filter supports it, or the first one of the filter.
    pub fn arch_among(&self, arches: &[Arch], machine: Arch) -> Arch {
        let own = Some(machine).filter(|machine| arches.contains(machine));
        self.arch.or(own).or(arches.first().copied()).unwrap_or(machine)
    }

    /// The syscall with its arguments.
    ///
    /// # Errors
    /// If the name is unknown, or an argument cannot be read.
    pub fn data(&self, arch: Arch) -> Result<SeccompData, Diagnostic> {
        let mut data = SeccompData {
            arch: arch.token(),
            nr: syscall::number(arch, &self.syscall)?,
            instruction_pointer: self.instruction_pointer,
            ..SeccompData::default()
        };
        if self.args.len() > data.args.len() {
            let given = self.args.len();
            let message = format!("{given} arguments given, but a syscall has at most 6");
            return Err(Diagnostic::error(None, message));
        }
        for (slot, text) in data.args.iter_mut().zip(&self.args) {
            *slot = syscall::parse_argument(Some(arch), text)?;
        }
        Ok(data)
    }
}
