//! Syscalls whose line is not complete, because another process logged one in between.

use super::line::MAX_PROCESS;
use super::names::shortened;
use callgate_bpf::diagnostic::Position;
use callgate_bpf::syscalls::Arch;

/// How many syscalls may be unfinished at the same time. Each belongs to another thread.
pub(super) const MAX_UNFINISHED: usize = 100_000;

/// How many bytes of the arguments of unfinished syscalls are kept in total. The values of further arguments are not
/// known.
const MAX_KEPT: usize = 64 << 20;

/// How many comparisons of unfinished syscalls with resumed ones whose line names no process are made in total. Few
/// lines need any: strace names the process of each line unless there is only one.
pub(super) const MAX_COMPARED: usize = 10_000_000;

/// The first half of a line.
pub(super) struct UnfinishedCall {
    process: Option<u32>,
    pub(super) arch: Arch,
    pub(super) at: Position,
    /// The name and the arguments.
    text: String,
    name_length: usize,
    /// The length of the arguments when the call was added.
    kept: usize,
}

impl UnfinishedCall {
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
pub(super) struct UnfinishedCalls {
    /// In no order.
    calls: Vec<UnfinishedCall>,
    /// One more than the index of the call of each process, or 0, indexed by the [slot](slot_of) of the process. Unlike
    /// with a hash table, a hostile log cannot make look-ups slow.
    by_process: Vec<u32>,
    /// The total length of their arguments in bytes.
    kept: usize,
    /// How many calls were compared with resumed ones.
    compared: usize,
    /// An allocation for the next call.
    spare: String,
}

/// Where the index of the call of a process is.
fn slot_of(process: Option<u32>) -> usize {
    process.map_or(0, |process| process.min(MAX_PROCESS) as usize + 1)
}

impl UnfinishedCalls {
    /// Adds the first half of a line; returns the previous one of the process.
    pub(super) fn insert(
        &mut self,
        process: Option<u32>,
        arch: Arch,
        at: Position,
        name: &str,
        args: &str,
    ) -> Result<Option<UnfinishedCall>, TooManyUnfinished> {
        let index = self.index_of(process);
        if index.is_none() && self.calls.len() >= MAX_UNFINISHED {
            return Err(TooManyUnfinished);
        }
        let previous = index.and_then(|index| self.calls.get_mut(index));
        self.kept = self.kept.saturating_sub(previous.as_ref().map_or(0, |call| call.kept));
        let args = if self.kept + args.len() <= MAX_KEPT { args } else { "" };
        let name = shortened(name);
        let mut text = std::mem::take(&mut self.spare);
        text.push_str(name);
        text.push_str(args);
        let (name_length, kept) = (name.len(), args.len());
        self.kept += kept;
        let call = UnfinishedCall { process, arch, at, text, name_length, kept };
        if let Some(previous) = previous {
            return Ok(Some(std::mem::replace(previous, call)));
        }
        self.push(call);
        Ok(None)
    }

    fn push(&mut self, call: UnfinishedCall) {
        let slot = slot_of(call.process);
        self.calls.push(call);
        if slot >= self.by_process.len() {
            self.by_process.resize(slot + 1, 0);
        }
        self.set_index(slot, self.calls.len());
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
    ) -> Result<Option<UnfinishedCall>, TooManyCompared> {
        let name = shortened(name);
        // Lines name no process before the second process starts, and after all but one have ended.
        for process in [process, None] {
            let call = self.index_of(process).and_then(|index| self.calls.get(index));
            if call.is_some_and(|call| call.name() == name) {
                return Ok(self.remove(process));
            }
        }
        if process.is_some() {
            return Ok(None);
        }
        self.compared += self.calls.len();
        if self.compared > MAX_COMPARED {
            return Err(TooManyCompared);
        }
        let of_any = self.calls.iter().filter(|call| call.name() == name);
        let process = of_any.map(|call| call.process).min();
        Ok(process.and_then(|process| self.remove(process)))
    }

    /// Removes the first half of a process.
    pub(super) fn remove(&mut self, process: Option<u32>) -> Option<UnfinishedCall> {
        let index = self.index_of(process).filter(|index| *index < self.calls.len())?;
        let call = self.calls.swap_remove(index);
        self.set_index(slot_of(process), 0);
        if let Some(moved) = self.calls.get(index) {
            self.set_index(slot_of(moved.process), index + 1);
        }
        self.kept = self.kept.saturating_sub(call.kept);
        Some(call)
    }

    /// Takes back the allocation of a call that was removed.
    pub(super) fn reuse(&mut self, call: UnfinishedCall) {
        /// More would let a few long lines cost memory for each unfinished call.
        const MAX_SPARE: usize = 256;
        if call.text.capacity() <= MAX_SPARE {
            self.spare = call.text;
            self.spare.clear();
        }
    }

    /// The unfinished syscall of the thread `by` continues under the number of `process`, whose own one is dropped.
    pub(super) fn supersede(&mut self, process: Option<u32>, by: u32) {
        let Some(call) = self.remove(Some(by)) else { return };
        self.remove(process);
        self.kept += call.kept;
        self.push(UnfinishedCall { process, ..call });
    }

    /// All first halves whose second half never came, ordered by process.
    pub(super) fn take_all(&mut self) -> Vec<UnfinishedCall> {
        let mut calls = std::mem::take(self).calls;
        calls.sort_unstable_by_key(|call| call.process);
        calls
    }
}
