//! Containers start under generated profiles with real runtimes.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use callgate_testing::{Need, Skip, TestResult, needs_program, needs_root};

const CALLGATE: &str = env!("CARGO_BIN_EXE_callgate");

/// A container runtime, and the shell command that runs the bundle in `./bundle`.
struct Tool {
    name: &'static str,
    run: &'static str,
}

/// crun does not manage cgroups here, but needs a cgroup2 hierarchy.
static TOOLS: &[Tool] = &[
    Tool { name: "runc", run: "timeout 60 runc --root ./state run -b bundle callgate-test-$$" },
    Tool {
        name: "crun",
        run: "timeout 60 unshare -m sh -c 'umount -R /sys/fs/cgroup 2>/dev/null
              mount -t cgroup2 none /sys/fs/cgroup &&
              exec crun --cgroup-manager=disabled --root ./state run -b bundle callgate-test-$$'",
    },
];

/// A directory with a root file system of busybox, removed at the end.
struct Ground(PathBuf);

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Ground {
    fn new(name: &str, busybox: &Path) -> Ground {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("containers-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let root = path.join("bundle/rootfs");
        for directory in ["bin", "dev", "etc", "proc", "tmp"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::copy(busybox, root.join("bin/busybox")).unwrap();
        for applet in ["cat", "echo", "id", "sh"] {
            symlink("busybox", root.join("bin").join(applet)).unwrap();
        }
        Ground(path)
    }

    fn shell(&self, command: &str) -> Output {
        Command::new("/bin/sh").args(["-c", command]).current_dir(&self.0).output().unwrap()
    }

    fn callgate(&self, args: &[&str]) -> Output {
        Command::new(CALLGATE).args(args).current_dir(&self.0).output().unwrap()
    }

    /// Writes the bundle's configuration; without a profile the container has no filter.
    fn configure(&self, case: &Case, profile: Option<&str>) {
        let Case { no_new_privileges, uid, capabilities } = *case;
        let caps = if capabilities { r#""CAP_CHOWN", "CAP_SETUID", "CAP_KILL""# } else { "" };
        let sets = ["bounding", "effective", "inheritable", "permitted", "ambient"]
            .map(|set| format!("\"{set}\": [{caps}]"))
            .join(", ");
        let seccomp = profile.map_or_else(String::new, |profile| {
            format!(", \"seccomp\": {}", fs::read_to_string(self.0.join(profile)).unwrap())
        });
        let text = format!(
            r#"{{"ociVersion": "1.0.0",
"process": {{"terminal": false, "user": {{"uid": {uid}, "gid": {uid}, "additionalGids": [5]}},
  "args": {ARGS}, "env": ["PATH=/bin"], "cwd": "/tmp",
  "capabilities": {{{sets}}}, "noNewPrivileges": {no_new_privileges}}},
"root": {{"path": "rootfs", "readonly": true}}, "hostname": "test",
"mounts": [{{"destination": "/proc", "type": "proc", "source": "proc"}}],
"linux": {{"namespaces": [{{"type": "pid"}}, {{"type": "mount"}}, {{"type": "ipc"}}, {{"type": "uts"}}]{seccomp}}}}}
"#
        );
        fs::write(self.0.join("bundle/config.json"), text).unwrap();
    }
}

/// The command of all containers, as JSON and for the recorder.
const ARGS: &str = r#"["sh", "-c", "echo started; cat /proc/self/status"]"#;
const SCRIPT: &str = "echo started; ./bundle/rootfs/bin/cat /proc/self/status";

#[derive(Clone, Copy, Debug)]
struct Case {
    no_new_privileges: bool,
    uid: u32,
    capabilities: bool,
}

fn cases() -> impl Iterator<Item = Case> {
    (0..8).map(|bits| Case {
        no_new_privileges: bits & 1 != 0,
        uid: if bits & 2 != 0 { 1000 } else { 0 },
        capabilities: bits & 4 != 0,
    })
}

/// A statically linked busybox.
fn busybox() -> Option<PathBuf> {
    let paths = ["/bin/busybox", "/usr/bin/busybox", "/bin/busybox.static"];
    let is_static = |path: &PathBuf| {
        fs::read(path).is_ok_and(|bytes| {
            bytes.starts_with(b"\x7fELF") && !bytes.windows(10).any(|part| part == b"/ld-linux-")
        })
    };
    paths.iter().map(PathBuf::from).find(is_static)
}

fn is_started(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success() && text.contains("started") && text.contains("Seccomp:")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Skips the test if the runtime cannot start a container without a filter.
fn needs_runtime(tool: &Tool, ground: &Ground) -> TestResult {
    ground.configure(&Case { no_new_privileges: true, uid: 0, capabilities: true }, None);
    let output = ground.shell(tool.run);
    if is_started(&output) {
        return Ok(());
    }
    let reason = format!("{} cannot start a container: {}", tool.name, said(&output).trim());
    Err(Skip::new(Need::Containers, reason))
}

fn try_tool(tool: &Tool) -> TestResult {
    needs_root()?;
    needs_program(Need::Containers, tool.name)?;
    let busybox =
        busybox().ok_or_else(|| Skip::new(Need::Containers, "no statically linked busybox"))?;
    let ground = Ground::new(tool.name, &busybox);
    needs_runtime(tool, &ground)?;
    let busybox = "bundle/rootfs/bin/busybox";
    for (uid, file) in [(0, "root.json"), (1000, "user.json")] {
        // The shell behaves differently for users and for root.
        let args = ["record", "--via", "ptrace", "-o", "-", "--", busybox, "sh", "-c", SCRIPT];
        let mut record = Command::new(CALLGATE);
        let recorded = record.args(args).current_dir(&ground.0).uid(uid).output();
        match recorded {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8(output.stdout).unwrap();
                let start = text.find("{\n  \"callgate\"").unwrap();
                fs::write(ground.0.join(file), &text[start..]).unwrap();
            }
            Ok(output) => return Err(Skip::new(Need::Ptrace, said(&output))),
            Err(why) => return Err(Skip::new(Need::Ptrace, why)),
        }
    }
    let mut failures = Vec::new();
    for runtime in ["oci", tool.name] {
        for deny in ["enosys", "eperm", "kill"] {
            let generated = ground.callgate(&[
                "generate",
                "root.json",
                "user.json",
                "--runtime",
                runtime,
                "--deny",
                deny,
                "-o",
                "p.json",
            ]);
            assert!(generated.status.success(), "{}", said(&generated));
            for case in cases() {
                ground.configure(&case, Some("p.json"));
                let output = ground.shell(tool.run);
                if !is_started(&output) {
                    failures.push(format!("{runtime} {deny} {case:?}: {}", said(&output).trim()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}: {}", tool.name, failures.join("\n"));
    Ok(())
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        runc_starts_containers_under_generated_profiles,
        crun_starts_containers_under_generated_profiles,
    ]
}

fn runc_starts_containers_under_generated_profiles() -> TestResult {
    try_tool(&TOOLS[0])
}

fn crun_starts_containers_under_generated_profiles() -> TestResult {
    try_tool(&TOOLS[1])
}
