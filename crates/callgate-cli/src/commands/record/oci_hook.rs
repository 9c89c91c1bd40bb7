//! `--oci-hook`: records a container from its start in the background, while its runtime continues.
//!
//! A runtime calls the hooks named createRuntime when the first process of the container waits in its cgroup, still
//! with the code of the runtime. The hook starts a recorder of that cgroup, and returns when the recorder is attached.
//! The recording starts with the `execve` of the container's program.
//!
//! The background process has its own files as standard streams: runtimes wait until no process has theirs.
//!
//! Source: the section on hooks and that on the state of containers in the OCI runtime specification.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callgate_formats::syntax::json;
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::args::RecordArgs;
use super::attach::check_method;
use crate::report::{Failure, Result};

/// How long the recorder may take to attach.
const PATIENCE: Duration = Duration::from_secs(20);

/// A state has the ID, the process ID, and annotations.
const MAX_STATE: u64 = 4 << 20;

pub(super) fn run(args: &RecordArgs) -> Result<u8> {
    check_method(args.via)?;
    let state = State::read()?;
    let cgroup = state.cgroup()?;
    let output = args.output.as_deref().map(|path| with_id(path, &state.id)).unwrap_or_default();
    let log = beside(&output);
    let failed =
        |what: &str, why: &io::Error| Failure::about(what, callgate_linux::error_text(why));
    let log_name = log.display().to_string();
    let log_file = File::create(&log).map_err(|why| failed(&log_name, &why))?;
    let mut recorder = Command::new("/proc/self/exe");
    recorder.args(["record", "--starting", "--cgroup"]).arg(cgroup);
    recorder.args(["--first-process", &state.pid.to_string()]);
    recorder.arg("--output").arg(&output);
    if let Some(split) = &args.split {
        recorder.arg("--split").arg(with_id(split, &state.id));
    }
    for label in &args.label {
        recorder.arg("--label").arg(label.to_string());
    }
    if let Some(time) = args.time {
        recorder.arg("--for").arg(format!("{}ms", time.as_millis()));
    }
    let recorder = recorder.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log_file);
    // Signals for the runtime's process group are not for the recorder.
    let mut recorder =
        recorder.process_group(0).spawn().map_err(|why| failed("the recorder", &why))?;
    let start = Instant::now();
    loop {
        let said = fs::read_to_string(&log).unwrap_or_default();
        if said.lines().any(|line| line.starts_with("callgate: attached to ")) {
            return Ok(0);
        }
        let has_ended = !matches!(recorder.try_wait(), Ok(None));
        if has_ended || start.elapsed() >= PATIENCE {
            let _ = recorder.kill();
            let _ = recorder.wait();
            let said = fs::read_to_string(&log).unwrap_or_default();
            let _ = fs::remove_file(&log);
            return Err(Failure::new(format!(
                "the container is not recorded: {}",
                said.trim_end()
            ))
            .multiline());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The state of a container, as a runtime gives it to hooks.
struct State {
    id: String,
    pid: u32,
}

impl State {
    fn read() -> Result<State> {
        let mut text = String::new();
        let read = io::stdin().lock().take(MAX_STATE).read_to_string(&mut text);
        let tree = read.ok().and_then(|_| json::parse(&text).ok());
        tree.as_ref().and_then(State::of).ok_or_else(|| {
            Failure::about("standard input", "is not the state of a container: missing id or pid")
                .help(
                    "--oci-hook is for runtimes: name it in the hooks createRuntime of config.json",
                )
        })
    }

    fn of(tree: &Node<'_>) -> Option<State> {
        let id = tree.get("id")?.text()?.to_owned();
        let NodeKind::Number(digits) = &tree.get("pid")?.kind else { return None };
        // An ID becomes a part of a file name.
        let is_name = !id.is_empty() && id != ".." && id != "." && !id.contains(['/', '\0']);
        Some(State { id, pid: digits.parse().ok().filter(|pid| *pid > 0)? }).filter(|_| is_name)
    }

    /// Its cgroup, from the root of the v2 hierarchy.
    fn cgroup(&self) -> Result<String> {
        let text = fs::read_to_string(format!("/proc/{}/cgroup", self.pid)).unwrap_or_default();
        let path = text.lines().find_map(|line| line.strip_prefix("0::"));
        path.filter(|path| *path != "/").map(str::to_owned).ok_or_else(|| {
            Failure::new(format!(
                "process {} of container {} has no cgroup of its own in a v2 hierarchy",
                self.pid, self.id
            ))
            .help("the runtime must manage cgroups, of version 2")
        })
    }
}

/// The file for a container.
fn with_id(path: &Path, id: &str) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| text.replace("{id}", id).into())
}

/// The file for the recorder's messages.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".log");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_an_id_and_a_process() {
        let of =
            |text: &str| State::of(&json::parse(text).unwrap()).map(|state| (state.id, state.pid));
        let state = r#"{"ociVersion": "1.0.2", "id": "web", "status": "created", "pid": 812, "bundle": "/b"}"#;
        assert_eq!(of(state), Some(("web".to_owned(), 812)));
        for bad in [
            "{}",
            r#"{"id": "web"}"#,
            r#"{"id": "web", "pid": 0}"#,
            r#"{"id": "web", "pid": "812"}"#,
            r#"{"id": "../web", "pid": 812}"#,
            r#"{"id": "", "pid": 812}"#,
            "[]",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(with_id(Path::new("/v/{id}.json"), "web"), Path::new("/v/web.json"));
    }
}
