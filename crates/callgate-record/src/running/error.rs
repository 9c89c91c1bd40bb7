//! Why a target cannot be recorded.

use std::fmt;
use std::io;
use std::path::PathBuf;

use callgate_linux::error_text;

use crate::bpf::CGROUP_LEVELS;

/// Why a target cannot be recorded.
#[derive(Debug)]
pub struct TargetError(TargetErrorKind);

#[derive(Debug)]
pub(super) enum TargetErrorKind {
    NoProcess(u32),
    Process(u32, io::Error),
    Thread {
        thread: u32,
        process: u32,
    },
    KernelThread {
        pid: u32,
        name: String,
    },
    Ended(u32),
    Init,
    Own(u32),
    NoHierarchy,
    NoCgroup(PathBuf),
    Cgroup(PathBuf, io::Error),
    Version1(PathBuf),
    NotACgroup(PathBuf),
    Root(PathBuf),
    TooDeep {
        path: PathBuf,
        levels: usize,
    },
    NoUnit(String),
    NoContainer(String),
    /// Several cgroups have this name.
    Ambiguous {
        name: String,
        found: Vec<String>,
    },
}

impl From<TargetErrorKind> for TargetError {
    fn from(kind: TargetErrorKind) -> TargetError {
        TargetError(kind)
    }
}

impl TargetError {
    /// Whether nothing with this name was found.
    pub fn is_not_found(&self) -> bool {
        matches!(self.0, TargetErrorKind::NoContainer(_))
    }

    /// What to do about it; may be empty.
    pub fn help(&self) -> String {
        use TargetErrorKind as Kind;
        match &self.0 {
            Kind::Thread { process, .. } => format!("--pid {process} records all threads of the process"),
            Kind::KernelThread { .. } => "kernel threads make no syscalls".to_owned(),
            Kind::Init => "all processes of the machine descend from it; use --unit, --container or --cgroup, \
                           or the process ID that the process of a container has on the host"
                .to_owned(),
            Kind::NoHierarchy => "mount -t cgroup2 none DIRECTORY mounts it; or record a process with --pid".to_owned(),
            Kind::NoCgroup(_) => {
                "give a directory below the mount point, or a path as /proc/PID/cgroup has it".to_owned()
            }
            Kind::Version1(_) => "only cgroup v2 is supported; record a process and its descendants with --pid".to_owned(),
            Kind::NotACgroup(_) => "give a directory of a cgroup v2 hierarchy".to_owned(),
            Kind::Root(_) => "give a cgroup below it".to_owned(),
            Kind::NoUnit(_) => "check that the unit runs: systemctl status UNIT; units without a .suffix are services"
                .to_owned(),
            Kind::NoContainer(_) => "give the ID of a running container, or the process ID of its first process \
                                     with --pid"
                .to_owned(),
            Kind::Ambiguous { .. } => "give one of them with --cgroup, or more of an ID".to_owned(),
            _ => String::new(),
        }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TargetErrorKind as Kind;
        match &self.0 {
            Kind::NoProcess(pid) => write!(f, "there is no process {pid}"),
            Kind::Process(pid, why) => {
                write!(f, "process {pid} cannot be read: {}", error_text(why))
            }
            Kind::Thread { thread, process } => {
                write!(f, "{thread} is a thread of process {process}, not a process")
            }
            Kind::KernelThread { pid, name } => write!(f, "{pid} ({name}) is a kernel thread"),
            Kind::Ended(pid) => write!(f, "process {pid} has ended and was not reaped yet"),
            Kind::Init => f.write_str("process 1 is the machine's init process"),
            Kind::Own(pid) => write!(f, "process {pid} is this recorder"),
            Kind::NoHierarchy => f.write_str("no cgroup v2 hierarchy is mounted"),
            Kind::NoCgroup(path) => write!(f, "{}: there is no such cgroup", path.display()),
            Kind::Cgroup(path, why) => write!(f, "{}: {}", path.display(), error_text(why)),
            Kind::Version1(path) => write!(f, "{} is in a cgroup v1 hierarchy", path.display()),
            Kind::NotACgroup(path) => write!(f, "{} is not a cgroup", path.display()),
            Kind::Root(path) => {
                write!(f, "{} is the root cgroup, which has all processes", path.display())
            }
            Kind::TooDeep { path, levels } => write!(
                f,
                "{} is {levels} levels below the root cgroup; the limit is {CGROUP_LEVELS}",
                path.display()
            ),
            Kind::NoUnit(name) => write!(f, "no cgroup belongs to a unit named {name}"),
            Kind::NoContainer(name) => {
                write!(
                    f,
                    "no cgroup belongs to a container named {name}, or with an ID that starts so"
                )
            }
            Kind::Ambiguous { name, found } => {
                write!(
                    f,
                    "{name} is the start or name of {} cgroups: {}",
                    found.len(),
                    found.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for TargetError {}
