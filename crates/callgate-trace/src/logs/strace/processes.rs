//! The processes of a log, and the ABI that each of them uses.
//!
//! strace reports that a process changes to another ABI (`[ Process PID=12 runs in 32 bit mode. ]`), but not that a
//! child starts with the ABI of its parent. While there is only one process, lines do not name it.
//!
//! Sources: `update_personality`, `alloctcb` and `printleader` of strace 6.1, and its output.

use super::line::{MAX_PROCESS, Mode};
use callgate_core::Arch;

/// The processes so far.
pub(super) struct Processes {
    /// The ABI of a process before the log names another one.
    native: Arch,
    /// The state of each process, indexed by its number: at most [`MAX_PROCESS`] small entries. Unlike with a hash
    /// table, a hostile log cannot make look-ups slow.
    by_number: Vec<Process>,
    /// How many processes are alive, and the exclusive or of their numbers: if only one is alive, its number.
    alive: usize,
    alive_xor: u32,
    /// The process of the last line.
    last: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct Process {
    /// A line named it, and it has not exited.
    is_alive: bool,
    /// The ABI, if known.
    arch: Option<Arch>,
}

impl Processes {
    pub(super) fn new(native: Arch) -> Processes {
        Processes { native, by_number: Vec::new(), alive: 0, alive_xor: 0, last: None }
    }

    /// The process of a line that names the process `named`, and its ABI. `None` for the first process while no line
    /// names it.
    pub(super) fn of_line(&mut self, named: Option<u32>) -> (Option<u32>, Arch) {
        let process = named.or((self.alive == 1).then_some(self.alive_xor));
        self.last = process;
        let arch = process.and_then(|process| self.set_alive(process, true));
        (process, arch.unwrap_or(self.native))
    }

    /// The process of the last line.
    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }

    /// The ABI of a process.
    fn arch(&self, process: Option<u32>) -> Arch {
        let known = process.and_then(|process| self.by_number.get(process as usize));
        known.and_then(|process| process.arch).unwrap_or(self.native)
    }

    /// Sets whether a process is alive; returns its ABI, if known.
    fn set_alive(&mut self, process: u32, is_alive: bool) -> Option<Arch> {
        let state = self.state_mut(process)?;
        let arch = state.arch;
        if state.is_alive != is_alive {
            state.is_alive = is_alive;
            self.alive_xor ^= process;
            self.alive = if is_alive { self.alive + 1 } else { self.alive.saturating_sub(1) };
        }
        arch
    }

    fn set_arch(&mut self, process: u32, arch: Option<Arch>) {
        if let Some(state) = self.state_mut(process) {
            state.arch = arch;
        }
    }

    /// The state of a process; `None` for a number that no process can have.
    fn state_mut(&mut self, process: u32) -> Option<&mut Process> {
        let index = process as usize;
        if index >= self.by_number.len() && process <= MAX_PROCESS {
            self.by_number.resize(index + 1, Process::default());
        }
        self.by_number.get_mut(index)
    }

    /// strace starts to trace a process: a child of the process of the last line, or one that it was told to attach
    /// to.
    pub(super) fn attached(&mut self, process: u32) {
        self.set_arch(process, Some(self.arch(self.last)));
        self.set_alive(process, true);
    }

    /// A process changes to another ABI.
    pub(super) fn changed(&mut self, process: u32, mode: Mode) {
        let (wide, narrow) = match self.native {
            Arch::X86_64 | Arch::X86 | Arch::X32 => (Arch::X86_64, Arch::X86),
            Arch::Aarch64 | Arch::Arm => (Arch::Aarch64, Arch::Arm),
            Arch::S390x | Arch::S390 => (Arch::S390x, Arch::S390),
            Arch::Ppc64 | Arch::Ppc => (Arch::Ppc64, Arch::Ppc),
            other => (other, other),
        };
        let arch = match mode {
            Mode::X32 => Arch::X32,
            Mode::Narrow => narrow,
            Mode::Wide => wide,
        };
        self.set_arch(process, Some(arch));
        self.of_line(Some(process));
    }

    /// A process exited.
    pub(super) fn exited(&mut self, process: Option<u32>) {
        if let (Some(process), _) = self.of_line(process) {
            self.set_alive(process, false);
            self.set_arch(process, None);
        }
    }

    /// The thread `by` executed a program, and takes over the number of the process.
    pub(super) fn superseded(&mut self, process: u32, by: u32) {
        let arch = self.arch(Some(by));
        self.exited(Some(by));
        self.of_line(Some(process));
        self.set_arch(process, Some(arch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_those_of_the_native_architecture() {
        let arch = |native, mode| {
            let mut processes = Processes::new(native);
            processes.changed(1, mode);
            processes.arch(Some(1))
        };
        for native in [Arch::X86_64, Arch::X86, Arch::X32] {
            let arches = [Mode::Wide, Mode::Narrow, Mode::X32].map(|mode| arch(native, mode));
            assert_eq!(arches, [Arch::X86_64, Arch::X86, Arch::X32]);
        }
        for (wide, narrow) in [
            (Arch::Aarch64, Arch::Arm),
            (Arch::S390x, Arch::S390),
            (Arch::Ppc64, Arch::Ppc),
            (Arch::Riscv64, Arch::Riscv64),
        ] {
            assert_eq!([Mode::Wide, Mode::Narrow].map(|mode| arch(wide, mode)), [wide, narrow]);
        }
    }
}
