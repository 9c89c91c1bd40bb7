//! A session: commands with their output, run in an empty directory.

mod compare;
pub(crate) mod page;
pub(crate) mod readme;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use callgate_testing::{Need, Skip, TestResult, needs_program};

pub(crate) use compare::{changes, patterns_match_whole_lines};
use compare::{matched, printed};

/// The time limit of a command in seconds.
const LIMIT: &str = "300";

/// Runs a session and returns it with the actual output; lines that match are unchanged.
pub(crate) fn play(text: &str, path: &Path) -> Result<String, Skip> {
    let directory = Directory::new(&path.file_stem().unwrap().to_string_lossy());
    let mut played = String::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut commands = 0;
    while let Some((number, line)) = lines.next() {
        played.push_str(line);
        played.push('\n');
        let place = || format!("{}:{}", path.display(), number + 1);
        if line.is_empty() || line.starts_with('#') {
        } else if let Some(what) = line.strip_prefix("@requires ") {
            needs(what.trim())?;
        } else if let Some(name) = line.strip_prefix("--- ") {
            let mut content = String::new();
            loop {
                let (_, line) = lines.next().unwrap_or_else(|| panic!("{}: no end", place()));
                played.push_str(line);
                played.push('\n');
                if line == "---" {
                    break;
                }
                content.push_str(line);
                content.push('\n');
            }
            fs::write(directory.0.join(name), content).unwrap();
        } else if let Some(first) = line.strip_prefix("$ ") {
            let mut command = first.to_owned();
            while command.ends_with('\\') {
                let (_, next) = lines.next().unwrap_or_else(|| panic!("{}: no end", place()));
                played.push_str(next);
                played.push('\n');
                command.push('\n');
                command.push_str(next);
            }
            let mut expected = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with(['>', '!', '?']))
            {
                expected.push(line);
            }
            for line in matched(&expected, &printed(&directory.run(&command))) {
                played.push_str(&line);
                played.push('\n');
            }
            commands += 1;
        } else {
            panic!("{}: neither a comment, a file, nor a command: {line}", place());
        }
    }
    assert!(commands > 0, "{} has no command", path.display());
    Ok(played)
}

/// Skips the session unless this machine has what it requires.
pub(crate) fn needs(what: &str) -> TestResult {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    let (need, met) = match what {
        // Root ignores file permissions.
        "user" => (Need::User, !root),
        // Only root can create files of another user.
        "root" => (Need::Root, root),
        // Dumping filters needs CAP_SYS_ADMIN and a process without filters.
        "admin" => {
            let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:\t"));
            let capabilities = capabilities.and_then(|text| u64::from_str_radix(text, 16).ok());
            let admin = capabilities.is_some_and(|set| set >> 21 & 1 == 1);
            (Need::Root, admin && status.lines().any(|line| line == "Seccomp:\t0"))
        }
        // Mounting on the directories of systemd's units.
        "units" => {
            needs("admin")?;
            let directories = ["/etc/systemd/system", "/usr/lib/systemd/system"];
            (Need::Root, directories.iter().all(|path| Path::new(path).is_dir()))
        }
        // Emulators and some sandboxes have no seccomp.
        "seccomp" => (Need::Kernel, status.lines().any(|line| line.starts_with("Seccomp:"))),
        // Containers and emulators may deny it.
        "ptrace" => {
            let recorded = Command::new(env!("CARGO_BIN_EXE_callgate"))
                .args(["record", "--via", "ptrace", "-o", "/dev/null", "--", "/bin/sh", "-c", ":"])
                .output()
                .unwrap();
            let refused = String::from_utf8_lossy(&recorded.stderr).contains("cannot be");
            (Need::Ptrace, !refused)
        }
        // Recording running processes, which needs the process IDs of the initial namespace (`PROC_PID_INIT_INO`).
        "bpf" => {
            let recorded = Command::new(env!("CARGO_BIN_EXE_callgate"))
                .args([
                    "record",
                    "--via",
                    "tracepoint",
                    "-o",
                    "/dev/null",
                    "--",
                    "/bin/sh",
                    "-c",
                    ":",
                ])
                .output()
                .unwrap();
            let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
            let is_initial = namespace == Path::new("pid:[4026531836]");
            (Need::Bpf, is_initial && recorded.status.success())
        }
        // Creating cgroups.
        "cgroup" => (Need::Kernel, can_create_cgroups()),
        // A compiler whose programs have x86-64 code.
        "cc-x86-64" => {
            needs_program(Need::Tool, "gcc")?;
            (Need::Tool, cfg!(target_arch = "x86_64"))
        }
        "musl-x86-64" => {
            needs_program(Need::Tool, "musl-gcc")?;
            (Need::Tool, cfg!(target_arch = "x86_64"))
        }
        "bash" => return needs_program(Need::Tool, "bash"),
        "fish" => return needs_program(Need::Tool, "fish"),
        // A compiler and an emulator for aarch64.
        "aarch64" => {
            needs_program(Need::Qemu, "aarch64-linux-gnu-gcc")?;
            return needs_program(Need::Qemu, "qemu-aarch64");
        }
        what => panic!("unknown requirement: {what}"),
    };
    if met { Ok(()) } else { Err(Skip::new(need, format!("the session requires {what}"))) }
}

/// Whether a cgroup v2 hierarchy is mounted, and this process may create cgroups there.
fn can_create_cgroups() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let Some(mount) = mount.and_then(|line| line.split(' ').nth(4)) else { return false };
    let test = Path::new(mount).join(format!("callgate-session-{}", std::process::id()));
    fs::create_dir(&test).and_then(|()| fs::remove_dir(&test)).is_ok()
}

/// A directory for one session, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn run(&self, command: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_callgate"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(
            std::iter::once(program.parent().unwrap().to_owned())
                .chain(std::env::split_paths(&path)),
        );
        let output = Command::new("timeout")
            .args(["-k", "10", LIMIT, "/bin/sh", "-c", command])
            .current_dir(&self.0)
            .env_clear()
            .env("PATH", path.unwrap())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("timeout(1): {error}"));
        // The exit status of `timeout` itself.
        assert_ne!(output.status.code(), Some(124), "not ended after {LIMIT} s: {command}");
        output
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
