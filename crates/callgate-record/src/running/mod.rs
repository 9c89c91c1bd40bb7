//! What a recorder attaches to: a running process with its descendants, or the processes of a cgroup.
//!
//! systemd units and containers are cgroups. They are found by the names of directories in the cgroup hierarchy, so
//! neither systemd nor a container engine is asked, and none needs to run.
//!
//! Limits: cgroup v2. The hierarchy must be mounted, alone or beside v1 hierarchies.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`, `proc_pid_stat(5)`, `proc_pid_mountinfo(5)`; for the names,
//! systemd's `CGROUP_DELEGATION.md` and the cgroup drivers of runc, crun, containerd, CRI-O and Podman.

mod attach_target;
mod cgroup;
mod error;
mod image;
mod process;
mod stat;

pub use attach_target::AttachTarget;
pub use cgroup::Cgroup;
pub(crate) use cgroup::Population;
pub use error::TargetError;
pub(crate) use image::{Image, executed_path};
pub use process::RunningProcess;
pub(crate) use process::Thread;
pub(crate) use stat::{is_ending, parent_of, processor_of};
