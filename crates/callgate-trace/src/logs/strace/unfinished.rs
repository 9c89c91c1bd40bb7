//! Syscalls whose line is not complete, because another process logged one in between.

use super::line::MAX_PROCESS;
use super::names::shortened;
use callgate_bpf::diagnostic::Position;
use callgate_core::Arch;

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
    process: Option<u32>,
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
    /// In no order.
    syscalls: Vec<UnfinishedSyscall>,
    /// One more than the index of the syscall of each process, or 0, indexed by the [slot](slot_of) of the process. Unlike
    /// with a hash table, a hostile log cannot make look-ups slow.
    by_process: Vec<u32>,
    /// The total length of their arguments in bytes.
    kept: usize,
    /// How many syscalls were compared with resumed ones.
    compared: usize,
    /// An allocation for the next syscall.
    spare: String,
}

/// Where the index of the syscall of a process is.
fn slot_of(process: Option<u32>) -> usize {
    process.map_or(0, |process| process.min(MAX_PROCESS) as usize + 1)
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
        let index = self.index_of(process);
        if index.is_none() && self.syscalls.len() >= MAX_UNFINISHED {
            return Err(TooManyUnfinished);
        }
        let previous = index.and_then(|index| self.syscalls.get_mut(index));
        self.kept = self.kept.saturating_sub(previous.as_ref().map_or(0, |syscall| syscall.kept));
        let args = if self.kept + args.len() <= MAX_KEPT { args } else { "" };
        let name = shortened(name);
        let mut text = std::mem::take(&mut self.spare);
        text.push_str(name);
        text.push_str(args);
        let (name_length, kept) = (name.len(), args.len());
        self.kept += kept;
        let syscall = UnfinishedSyscall { process, arch, at, text, name_length, kept };
        if let Some(previous) = previous {
            return Ok(Some(std::mem::replace(previous, syscall)));
        }
        self.push(syscall);
        Ok(None)
    }

    fn push(&mut self, syscall: UnfinishedSyscall) {
        let slot = slot_of(syscall.process);
        self.syscalls.push(syscall);
        if slot >= self.by_process.len() {
            self.by_process.resize(slot + 1, 0);
        }
        self.set_index(slot, self.syscalls.len());
    }

    fn set_index(&mut self, slot: usize, one_more: usize) {
        if let Some(index) = self.by_process.get_mut(slot) {
            *index = u32::try_from(one_more).unwrap_or_default();
        }
    }

    fn index_of(&self, process: Option<u32>) -> Option<usize> {
        (*self.by_process.get(slot_of(process))? as usize).checked_sub(1)
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
            let syscall = self.index_of(process).and_then(|index| self.syscalls.get(index));
            if syscall.is_some_and(|syscall| syscall.name() == name) {
                return Ok(self.remove(process));
            }
        }
        if process.is_some() {
            return Ok(None);
        }
        self.compared += self.syscalls.len();
        if self.compared > MAX_COMPARED {
            return Err(TooManyCompared);
        }
        let of_any = self.syscalls.iter().filter(|syscall| syscall.name() == name);
        let process = of_any.map(|syscall| syscall.process).min();
        Ok(process.and_then(|process| self.remove(process)))
    }

    /// Removes the first half of a process.
    pub(super) fn remove(&mut self, process: Option<u32>) -> Option<UnfinishedSyscall> {
        let index = self.index_of(process).filter(|index| *index < self.syscalls.len())?;
        let syscall = self.syscalls.swap_remove(index);
        self.set_index(slot_of(process), 0);
        if let Some(moved) = self.syscalls.get(index) {
            self.set_index(slot_of(moved.process), index + 1);
        }
        self.kept = self.kept.saturating_sub(syscall.kept);
        Some(syscall)
    }

    /// Takes back the allocation of a syscall that was removed.
    pub(super) fn reuse(&mut self, syscall: UnfinishedSyscall) {
        /// More would let a few long lines cost memory for each unfinished syscall.
        const MAX_SPARE: usize = 256;
        if syscall.text.capacity() <= MAX_SPARE {
            self.spare = syscall.text;
            self.spare.clear();
        }
    }

    /// The unfinished syscall of the thread `by` continues under the number of `process`, whose own one is dropped.
    pub(super) fn supersede(&mut self, process: Option<u32>, by: u32) {
        let Some(syscall) = self.remove(Some(by)) else { return };
        self.remove(process);
        self.kept += syscall.kept;
        self.push(UnfinishedSyscall { process, ..syscall });
    }

    /// All first halves whose second half never came, ordered by process.
    pub(super) fn take_all(&mut self) -> Vec<UnfinishedSyscall> {
        let mut syscalls = std::mem::take(self).syscalls;
        syscalls.sort_unstable_by_key(|syscall| syscall.process);
        syscalls
    }
}
