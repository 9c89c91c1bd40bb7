//! Syscalls whose line is not complete, because another process logged one in between.

use super::names::shortened;
use callgate_bpf::diagnostic::Position;
use callgate_core::Arch;
use std::collections::BTreeMap;

/// How many syscalls may be unfinished at the same time. Each belongs to another thread.
pub(super) const MAX_UNFINISHED: usize = 100_000;

/// How many bytes of the arguments of unfinished syscalls are kept in total. The values of further arguments are not
/// known.
const MAX_KEPT: usize = 64 << 20;

/// How many comparisons of unfinished syscalls with resumed ones whose line names no process are made in total. Few
/// lines need any: strace names the process of each line unless there is only one.
pub(super) const MAX_COMPARED: usize = 10_000_000;

/// The first half of a line.
pub(super) struct UnfinishedSyscall {
    pub(super) arch: Arch,
    pub(super) at: Position,
    /// The name and the arguments.
    text: String,
    name_length: usize,
    /// The length of the arguments when the syscall was added.
    kept: usize,
}

impl UnfinishedSyscall {
    /// The name, of which at most the first bytes are kept.
    pub(super) fn name(&self) -> &str {
        self.text.get(..self.name_length).unwrap_or_default()
    }

    /// The arguments.
    pub(super) fn args(&self) -> &str {
        self.text.get(self.name_length..).unwrap_or_default()
    }

    /// Adds the arguments of the second half.
    pub(super) fn append(&mut self, args: &str) {
        self.text.push_str(args);
    }
}

/// The error that [`MAX_UNFINISHED`] is reached.
pub(super) struct TooManyUnfinished;

/// The error that [`MAX_COMPARED`] is reached.
pub(super) struct TooManyCompared;

/// At most one unfinished syscall per process.
#[derive(Default)]
pub(super) struct UnfinishedSyscalls {
    /// Unlike with a hash table, a hostile log cannot make look-ups slow.
    by_process: BTreeMap<Option<u32>, UnfinishedSyscall>,
    /// The total length of their arguments in bytes.
    kept: usize,
    /// How many syscalls were compared with resumed ones.
    compared: usize,
}

impl UnfinishedSyscalls {
    /// Adds the first half of a line; returns the previous one of the process.
    pub(super) fn insert(
        &mut self,
        process: Option<u32>,
        arch: Arch,
        at: Position,
        name: &str,
        args: &str,
    ) -> Result<Option<UnfinishedSyscall>, TooManyUnfinished> {
        let previous = self.remove(process);
        if self.by_process.len() >= MAX_UNFINISHED {
            return Err(TooManyUnfinished);
        }
        let args = if self.kept + args.len() <= MAX_KEPT { args } else { "" };
        let name = shortened(name);
        let (name_length, kept) = (name.len(), args.len());
        self.kept += kept;
        let text = [name, args].concat();
        self.by_process.insert(process, UnfinishedSyscall { arch, at, text, name_length, kept });
        Ok(previous)
    }

    /// Removes the first half that belongs to a resumed syscall of this name.
    pub(super) fn resume(
        &mut self,
        process: Option<u32>,
        name: &str,
    ) -> Result<Option<UnfinishedSyscall>, TooManyCompared> {
        let name = shortened(name);
        // Lines name no process before the second process starts, and after all but one have ended.
        for process in [process, None] {
            let syscall = self.by_process.get(&process);
            if syscall.is_some_and(|syscall| syscall.name() == name) {
                return Ok(self.remove(process));
            }
        }
        if process.is_some() {
            return Ok(None);
        }
        self.compared += self.by_process.len();
        if self.compared > MAX_COMPARED {
            return Err(TooManyCompared);
        }
        let first = self.by_process.iter().find(|(_, syscall)| syscall.name() == name);
        let process = first.map(|(process, _)| *process);
        Ok(process.and_then(|process| self.remove(process)))
    }

    /// Removes the first half of a process.
    pub(super) fn remove(&mut self, process: Option<u32>) -> Option<UnfinishedSyscall> {
        let syscall = self.by_process.remove(&process)?;
        self.kept = self.kept.saturating_sub(syscall.kept);
        Some(syscall)
    }

    /// The unfinished syscall of the thread `by` continues under the number of `process`, whose own one is dropped.
    pub(super) fn supersede(&mut self, process: Option<u32>, by: u32) {
        let Some(syscall) = self.remove(Some(by)) else { return };
        self.remove(process);
        self.kept += syscall.kept;
        self.by_process.insert(process, syscall);
    }

    /// All first halves whose second half never came, ordered by process.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = UnfinishedSyscall> + use<> {
        std::mem::take(self).by_process.into_values()
    }
}
