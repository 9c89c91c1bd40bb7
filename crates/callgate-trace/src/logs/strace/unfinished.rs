//! Syscalls whose line is not complete, because another process logged one in between.

use std::collections::BTreeMap;

use super::names::shortened;
use callgate_bpf::diagnostic::Position;
use callgate_bpf::syscalls::Arch;

/// How many syscalls may be unfinished at the same time. Each belongs to another thread.
pub(super) const MAX_UNFINISHED: usize = 100_000;

/// How many bytes of the arguments of unfinished syscalls are kept in total. The values of further arguments are not
/// known.
const MAX_KEPT: usize = 64 << 20;

/// The first half of a line.
pub(super) struct UnfinishedCall {
    pub(super) arch: Arch,
    pub(super) at: Position,
    pub(super) name: String,
    pub(super) args: String,
}

/// At most one unfinished syscall per process.
#[derive(Default)]
pub(super) struct UnfinishedCalls {
    by_process: BTreeMap<Option<u32>, UnfinishedCall>,
    /// The total length of their arguments in bytes.
    kept: usize,
}

impl UnfinishedCalls {
    pub(super) fn is_full(&self) -> bool {
        self.by_process.len() >= MAX_UNFINISHED
    }

    /// Adds the first half of a line. The caller has removed the previous one of the process.
    pub(super) fn insert(
        &mut self,
        process: Option<u32>,
        arch: Arch,
        at: Position,
        name: &str,
        args: &str,
    ) {
        let args = if self.kept + args.len() <= MAX_KEPT { args.to_owned() } else { String::new() };
        self.kept += args.len();
        let name = shortened(name).to_owned();
        self.by_process.insert(process, UnfinishedCall { arch, at, name, args });
    }

    /// Removes the first half that belongs to a resumed syscall of this name.
    pub(super) fn resume(&mut self, process: Option<u32>, name: &str) -> Option<UnfinishedCall> {
        let is_it = |call: &UnfinishedCall| shortened(name) == call.name;
        // Lines name no process before the second process starts, and after all but one have ended.
        let mut keys = [process, None].into_iter();
        let of_it = keys.find(|key| self.by_process.get(key).is_some_and(is_it));
        let of_any = || self.by_process.iter().find(|(_, call)| is_it(call)).map(|(key, _)| *key);
        let key = of_it.or_else(|| if process.is_none() { of_any() } else { None })?;
        self.remove(key)
    }

    /// Removes the first half of a process.
    pub(super) fn remove(&mut self, process: Option<u32>) -> Option<UnfinishedCall> {
        let call = self.by_process.remove(&process)?;
        self.kept = self.kept.saturating_sub(call.args.len());
        Some(call)
    }

    /// The unfinished syscall of the thread `by` continues under the number of `process`, whose own one is dropped.
    pub(super) fn supersede(&mut self, process: Option<u32>, by: u32) {
        let Some(call) = self.by_process.remove(&Some(by)) else { return };
        if let Some(replaced) = self.by_process.insert(process, call) {
            self.kept = self.kept.saturating_sub(replaced.args.len());
        }
    }

    /// All first halves whose second half never came.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = UnfinishedCall> + use<> {
        self.kept = 0;
        std::mem::take(&mut self.by_process).into_values()
    }
}
