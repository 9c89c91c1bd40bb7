//! The processes of a log, and which interface of the kernel each of them uses.
//!
//! strace says when a process changes to another interface (`[ Process PID=12 runs in 32 bit mode. ]`), but
//! not that a child begins with the interface of its parent. As long as there is one process alone, lines
//! do not say whose they are.
//!
//! Sources: `update_personality`, `alloctcb` and `printleader` of strace 6.1, and its output.

use super::line::MAX_PROCESS;
use callgate_bpf::syscalls::Arch;

/// The processes so far.
pub(super) struct Processes {
    /// Whose calls they are where the log does not say it.
    native: Arch,
    /// What is known of each process, by its number: at most [`MAX_PROCESS`] small entries. No log can make
    /// this slow, as it could a hash table.
    known: Vec<Process>,
    /// How many of them are alive, and all their numbers by exclusive or: where one is alone, this is its number.
    alive: usize,
    mixed: u32,
    /// Whose line was the last.
    last: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct Process {
    /// It is named and has not ended.
    is_alive: bool,
    /// Its interface, where that is known.
    arch: Option<Arch>,
}

impl Processes {
    pub(super) fn new(native: Arch) -> Processes {
        Processes { native, known: Vec::new(), alive: 0, mixed: 0, last: None }
    }

    /// Whose line it is; `named` is who it says. `None` for a first process that was never named.
    pub(super) fn of_line(&mut self, named: Option<u32>) -> Option<u32> {
        let process = named.or((self.alive == 1).then_some(self.mixed));
        if let Some(process) = process {
            self.set_alive(process, true);
        }
        self.last = process;
        process
    }

    /// Whose line was the last.
    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }

    /// The interface that a process uses.
    pub(super) fn arch(&self, process: Option<u32>) -> Arch {
        let known = process.and_then(|process| self.known.get(process as usize));
        known.and_then(|process| process.arch).unwrap_or(self.native)
    }

    fn set_alive(&mut self, process: u32, is_alive: bool) {
        if let Some(known) = self.known(process)
            && known.is_alive != is_alive
        {
            known.is_alive = is_alive;
            self.mixed ^= process;
            self.alive = if is_alive { self.alive + 1 } else { self.alive.saturating_sub(1) };
        }
    }

    fn set_arch(&mut self, process: u32, arch: Option<Arch>) {
        if let Some(known) = self.known(process) {
            known.arch = arch;
        }
    }

    /// What is known of a process; `None` for a number that no process can have.
    fn known(&mut self, process: u32) -> Option<&mut Process> {
        let index = process as usize;
        if index >= self.known.len() && process <= MAX_PROCESS {
            self.known.resize(index + 1, Process::default());
        }
        self.known.get_mut(index)
    }

    /// strace follows a process from here on: a child of the one that it wrote about before, or one that
    /// it was told to attach to.
    pub(super) fn attached(&mut self, process: u32) {
        self.set_arch(process, Some(self.arch(self.last)));
        self.set_alive(process, true);
    }

    /// A process changes to another interface.
    pub(super) fn changed(&mut self, process: u32, mode: &str) {
        let (wide, narrow) = match self.native {
            Arch::X86_64 | Arch::X86 | Arch::X32 => (Arch::X86_64, Arch::X86),
            Arch::Aarch64 | Arch::Arm => (Arch::Aarch64, Arch::Arm),
            Arch::S390x | Arch::S390 => (Arch::S390x, Arch::S390),
            Arch::Ppc64 | Arch::Ppc => (Arch::Ppc64, Arch::Ppc),
            other => (other, other),
        };
        let arch = match mode {
            "x32" => Arch::X32,
            _ if mode.starts_with("32") => narrow,
            _ => wide,
        };
        self.set_arch(process, Some(arch));
        self.of_line(Some(process));
    }

    /// A process ended.
    pub(super) fn ended(&mut self, process: Option<u32>) {
        if let Some(process) = self.of_line(process) {
            self.set_alive(process, false);
            self.set_arch(process, None);
        }
    }

    /// A process goes on as this thread of it, which executed a program.
    pub(super) fn superseded(&mut self, process: u32, by: u32) {
        let arch = self.arch(Some(by));
        self.ended(Some(by));
        self.of_line(Some(process));
        self.set_arch(process, Some(arch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_one_of_the_given_family() {
        let arch = |native, mode| {
            let mut processes = Processes::new(native);
            processes.changed(1, mode);
            processes.arch(Some(1))
        };
        for native in [Arch::X86_64, Arch::X86, Arch::X32] {
            let arches = ["64 bit", "32 bit", "x32"].map(|mode| arch(native, mode));
            assert_eq!(arches, [Arch::X86_64, Arch::X86, Arch::X32]);
        }
        for (wide, narrow) in [
            (Arch::Aarch64, Arch::Arm),
            (Arch::S390x, Arch::S390),
            (Arch::Ppc64, Arch::Ppc),
            (Arch::Riscv64, Arch::Riscv64),
        ] {
            assert_eq!(["64 bit", "32 bit"].map(|mode| arch(wide, mode)), [wide, narrow]);
        }
    }
}
