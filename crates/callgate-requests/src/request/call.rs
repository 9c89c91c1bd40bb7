//! The syscall of a simulation.

use callgate::{Arch, SeccompData};
use callgate_bpf::diagnostic::Diagnostic;

use super::model::Call;
use crate::syscall;
use crate::written::{ANY, Written};

impl Call {
    /// A call as text.
    ///
    /// # Errors
    /// If the instruction pointer is not a number.
    pub fn of_written(written: &Written<'_>) -> Result<Call, Diagnostic> {
        let instruction_pointer = match written.at {
            Some(at) => syscall::parse_value(at).map_err(|why| {
                Diagnostic::error(None, format!("instruction pointer \"{at}\": {why}"))
            })?,
            None => 0,
        };
        let (syscall, args) = (written.name.to_owned(), written.args.clone());
        Ok(Call { syscall, args, arch: written.arch, instruction_pointer })
    }

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
        self.read(arch, |_| false).map(|(data, _)| data)
    }

    /// The syscall, in which arguments that may have any value are 0, and the indexes of these: those that are `_`, and with
    /// `rest` all that are not given.
    ///
    /// # Errors
    /// If the name is unknown, or an argument cannot be read.
    pub fn with_any(&self, arch: Arch, rest: bool) -> Result<(SeccompData, Vec<u8>), Diagnostic> {
        let (data, mut any) = self.read(arch, |text| text == ANY)?;
        if rest {
            any.extend((0..).zip(&data.args).skip(self.args.len()).map(|(index, _)| index));
        }
        Ok((data, any))
    }

    /// The syscall, and the indexes of arguments that are not read.
    fn read(
        &self,
        arch: Arch,
        is_any: impl Fn(&str) -> bool,
    ) -> Result<(SeccompData, Vec<u8>), Diagnostic> {
        let mut any = Vec::new();
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
        for ((index, slot), text) in (0..).zip(&mut data.args).zip(&self.args) {
            if is_any(text) {
                any.push(index);
            } else {
                *slot = syscall::parse_argument(Some(arch), text)?;
            }
        }
        Ok((data, any))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_as_text_has_its_instruction_pointer() {
        let of = |text| Call::of_written(&Written::of(text).unwrap());
        assert_eq!(of("read() at 0x10").unwrap().instruction_pointer, 16);
        assert!(of("read() at x").is_err());
    }
}
