//! `systemd --user` in a change root, with units that wait.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::units::Unit;
use callgate_tasks::Result;
use callgate_tasks::files::{make, remove, write};

/// Starts the manager. The shell is the first process of a namespace, so all processes end with it. Units with mount
/// namespaces of their own need a root directory that is a mount, so `chroot` is not enough; after `pivot_root`, only
/// programs of the new root can be executed.
const SCRIPT: &str = r#"
set -e
R=$1
mount --make-rprivate /
mount --bind "$R" "$R"
mount -t tmpfs tmpfs "$R/run"
mount -t proc proc "$R/proc"
mount --rbind /sys "$R/sys"
mount -t cgroup2 cgroup2 "$R/sys/fs/cgroup"
mount --rbind /dev "$R/dev"
mkdir -p "$R/run/systemd/system" "$R/run/systemd/inaccessible/dir" "$R/run/user/0"
touch "$R/run/systemd/inaccessible/reg"
mkfifo "$R/run/systemd/inaccessible/fifo"
mknod "$R/run/systemd/inaccessible/chr" c 0 0
mknod "$R/run/systemd/inaccessible/blk" b 0 0
group="$R/sys/fs/cgroup/callgate-systemd"
mkdir -p "$group/manager"
echo 0 > "$group/manager/cgroup.procs"
cd "$R"
mkdir -p old
pivot_root . old
cd /
/usr/lib/systemd/systemd --user --unit=callgate.target &
wait
"#;

/// How long no further unit must start until the others count as refused.
const QUIET: Duration = Duration::from_secs(5);

/// How long all units together may take.
const LONGEST: Duration = Duration::from_secs(120);

/// The running manager.
pub(super) struct Manager(Child);

impl Manager {
    /// Starts all units.
    pub(super) fn start(root: &Path, units: &[Unit]) -> Result<Manager> {
        let directory = root.join("callgate/units");
        remove(&directory)?;
        make(&directory)?;
        let mut target = String::from("[Unit]\nDefaultDependencies=no\n");
        for unit in units {
            write(&directory.join(format!("{}.service", unit.name)), unit.text())?;
            target += &format!("Wants={}.service\n", unit.name);
        }
        write(&directory.join("callgate.target"), target)?;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]);
        command.args(["sh", "-c", SCRIPT, "sh"]).arg(root);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.env_clear().envs([
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", "/root"),
            ("XDG_RUNTIME_DIR", "/run/user/0"),
            ("SYSTEMD_UNIT_PATH", "/callgate/units"),
        ]);
        command.spawn().map(Manager).map_err(|error| format!("unshare: {error}"))
    }

    /// Waits until all units run, or until no further one starts; returns the processes by the names of the units.
    pub(super) fn processes(&mut self, units: &[Unit]) -> Result<BTreeMap<String, u32>> {
        let start = Instant::now();
        let (mut found, mut changed) = (BTreeMap::new(), start);
        loop {
            let now = processes(units);
            if now != found {
                (found, changed) = (now, Instant::now());
            }
            let is_quiet = !found.is_empty() && changed.elapsed() > QUIET;
            if found.len() == units.len() || is_quiet {
                return Ok(found);
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(format!("systemd ended: {status}"));
            }
            if start.elapsed() > LONGEST {
                return Err(format!("only {} of {} units run", found.len(), units.len()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // The namespaces, and all processes in them, end with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The processes of units: their last argument is the name of the unit.
fn processes(units: &[Unit]) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        let mut words = line.split(|byte| *byte == 0);
        if words.next() != Some(b"/callgate/pause") {
            continue;
        }
        let name = words.next().map(String::from_utf8_lossy).unwrap_or_default();
        if units.iter().any(|unit| unit.name == name) {
            found.insert(name.into_owned(), pid);
        }
    }
    found
}
