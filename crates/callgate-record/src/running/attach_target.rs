//! A target: a process or a cgroup.

use std::collections::BTreeSet;
use std::{fmt, io};

use super::cgroup::Cgroup;
use super::process::{RunningProcess, Thread};

/// What a recorder attaches to.
#[derive(Clone, Debug)]
pub enum AttachTarget {
    /// A process and its descendants.
    Process(RunningProcess),
    /// The processes of a cgroup and of those below.
    Cgroup(Cgroup),
    /// Those that execute a program there from now on, as the first process of a container that starts.
    Starting {
        /// Where the container starts.
        cgroup: Cgroup,
        /// The process that waits there to become the first one of the container, if it is known. Other processes that run
        /// there are a caveat.
        first_process: Option<u32>,
    },
}

impl AttachTarget {
    /// Its threads, without those of this process.
    pub(crate) fn threads(&self) -> io::Result<Vec<Thread>> {
        let mut threads = match self {
            AttachTarget::Process(process) => process.threads(),
            AttachTarget::Cgroup(cgroup) => cgroup.threads(),
            AttachTarget::Starting { .. } => return Ok(Vec::new()),
        }?;
        threads.retain(|thread| thread.process != std::process::id());
        Ok(threads)
    }

    /// How many processes run in the cgroup of a starting container besides its first one.
    pub(crate) fn others(&self) -> io::Result<u64> {
        let AttachTarget::Starting { cgroup, first_process } = self else { return Ok(0) };
        let mut processes: BTreeSet<u32> =
            cgroup.threads()?.into_iter().map(|thread| thread.process).collect();
        processes.remove(&std::process::id());
        if let Some(first) = first_process {
            processes.remove(first);
        }
        Ok(processes.len() as u64)
    }

    /// The name of a process, or its command line; empty for a cgroup.
    pub(crate) fn command(&self, with_arguments: bool) -> Vec<String> {
        match self {
            AttachTarget::Process(process) if with_arguments => process.command(),
            AttachTarget::Process(process) => vec![process.executable()],
            AttachTarget::Cgroup(_) | AttachTarget::Starting { .. } => Vec::new(),
        }
    }

    /// The cgroup whose processes are added when they execute a program.
    pub(crate) fn cgroup(&self) -> Option<&Cgroup> {
        match self {
            AttachTarget::Process(_) => None,
            AttachTarget::Cgroup(cgroup) | AttachTarget::Starting { cgroup, .. } => Some(cgroup),
        }
    }

    /// Whether nothing is recorded before an `execve`.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(self, AttachTarget::Starting { .. })
    }
}

impl fmt::Display for AttachTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachTarget::Process(process) => process.fmt(f),
            AttachTarget::Cgroup(cgroup) | AttachTarget::Starting { cgroup, .. } => cgroup.fmt(f),
        }
    }
}
