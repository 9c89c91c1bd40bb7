//! Starts and removes containers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use callgate_profile_fuzz::runtime::Runc;

use crate::machine::said;
use callgate_tasks::Result;
use callgate_tasks::files::{make, read, write};

/// The time limit of a command. It usually takes a tenth of a second; libseccomp may hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// The supported runtimes.
pub(super) const NAMES: [&str; 2] = ["runc", "crun"];

/// An installed runtime.
pub(super) struct Runtime {
    pub(super) name: &'static str,
    pub(super) version: String,
    /// The directory with the runtime's state and the program of the containers.
    directory: PathBuf,
}

/// Why a container was not started.
pub(super) enum NotStarted {
    /// The runtime refused, with this message.
    Refused(String),
    /// The runtime did not end in time.
    Hung,
}

/// A running container, which is removed on drop.
pub(super) struct Container<'a> {
    pub(super) pid: u32,
    runtime: &'a Runtime,
    id: String,
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        self.runtime.remove(&self.id);
    }
}

impl Runtime {
    /// The runtime with this name. Removes containers that an interrupted run left.
    pub(super) fn find(name: &'static str, directory: &Path) -> Result<Runtime> {
        let version =
            said(name, &["--version"]).ok_or_else(|| format!("{name} is not installed"))?;
        let version = version.lines().next().unwrap_or(name).to_owned();
        let directory = directory.join(name);
        for place in ["proc", "dev"] {
            make(&directory.join("bundle/rootfs").join(place))?;
        }
        super::idle::install(&directory.join("bundle/rootfs/idle"))?;
        let runtime = Runtime { name, version, directory };
        let left = std::fs::read_dir(runtime.state()).into_iter().flatten().flatten();
        for entry in left {
            runtime.remove(&entry.file_name().to_string_lossy());
        }
        Ok(runtime)
    }

    /// The architectures for which this version of runc adds its own part.
    pub(super) fn runc(&self) -> Runc {
        // `runc version 1.1.5+ds1`
        let version = self.version.rsplit(' ').next().unwrap_or_default();
        let mut numbers =
            version.split(['.', '+', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        if (next(), next(), next()) < (1, 1, 15) { Runc::Listed } else { Runc::All }
    }

    fn state(&self) -> PathBuf {
        self.directory.join("state")
    }

    fn command(&self) -> Command {
        let mut command = match self.name {
            // crun looks for cgroup 2 even if it is disabled.
            "crun" => {
                let mut command = Command::new("unshare");
                let mount = "mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null; exec \"$@\"";
                command.args([
                    "--mount",
                    "sh",
                    "-c",
                    mount,
                    "sh",
                    "crun",
                    "--cgroup-manager=disabled",
                ]);
                command
            }
            name => Command::new(name),
        };
        command.arg("--root").arg(self.state());
        command
    }

    /// Starts a container under a profile.
    pub(super) fn start(&self, id: &str, profile: &str) -> Result<Container<'_>, NotStarted> {
        let refused = |why: String| NotStarted::Refused(why);
        let bundle = self.directory.join("bundle");
        let (pid, said) = (self.directory.join("pid"), self.directory.join("said"));
        write(&bundle.join("config.json"), config(id, profile)).map_err(refused)?;
        let mut command = self.command();
        command
            .args(["run", "--detach", "--pid-file"])
            .arg(&pid)
            .arg("--bundle")
            .arg(&bundle)
            .arg(id);
        // From here on, the container may exist, and dropping this removes it.
        let mut container = Container { pid: 0, runtime: self, id: id.to_owned() };
        let ended = bounded(&mut command, &said).map_err(refused)?;
        let text = |path| read(path).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        match ended {
            None => Err(NotStarted::Hung),
            Some(status) if status.success() => {
                let pid = text(&pid).map_err(refused)?;
                container.pid =
                    pid.parse().map_err(|_| refused(format!("{pid:?} is not a process")))?;
                Ok(container)
            }
            Some(status) => Err(refused(format!("{status}: {}", text(&said).unwrap_or_default()))),
        }
    }

    fn remove(&self, id: &str) {
        if !self.state().join(id).exists() {
            return;
        }
        let said = self.directory.join("removed");
        let mut command = self.command();
        command.args(["delete", "--force", id]);
        let ended = bounded(&mut command, &said);
        if !matches!(ended, Ok(Some(status)) if status.success()) {
            eprintln!("containers: {} could not remove container {id}", self.name);
        }
    }
}

/// Runs a command with its output in a file; `None` if it was killed at the limit.
fn bounded(command: &mut Command, output: &Path) -> Result<Option<ExitStatus>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let file = File::create(output).map_err(failed)?;
    let errors = file.try_clone().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(file).stderr(errors);
    let mut child = command.spawn().map_err(failed)?;
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Ok(None);
        }
        sleep(Duration::from_millis(2));
    }
}

/// A minimal configuration: no network, no cgroup limits, no capabilities.
fn config(id: &str, profile: &str) -> String {
    format!(
        r#"{{"ociVersion": "1.0.2", "hostname": "idle",
"process": {{"user": {{"uid": 0, "gid": 0}}, "args": ["/idle"], "env": [], "cwd": "/", "noNewPrivileges": true}},
"root": {{"path": "rootfs", "readonly": true}},
"mounts": [{{"destination": "/proc", "type": "proc", "source": "proc"}}],
"linux": {{"cgroupsPath": "/{id}",
"namespaces": [{{"type": "pid"}}, {{"type": "mount"}}, {{"type": "ipc"}}, {{"type": "uts"}}],
"seccomp": {profile}}}}}
"#
    )
}
