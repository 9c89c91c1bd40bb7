//! Finds a container by its ID, or by the name that docker or podman know.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callgate_record::{Cgroup, TargetError};
use rustix::fs::{OFlags, fcntl_setfl};

use crate::report::{Failure, Result};

/// The number of digits to which tools shorten an ID. Hexadecimal words of this length are IDs, and tools are not asked.
const SHORT_ID: usize = 12;

/// How long a tool may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The cgroup of a container. Short IDs may be names: tools go before them, as in `docker inspect`.
pub(super) fn find(name: &str) -> Result<Cgroup> {
    let is_id = name.len() >= SHORT_ID && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        match Cgroup::of_container(&name.to_ascii_lowercase(), name) {
            Err(error) if error.is_not_found() => {}
            result => return result.map_err(|error| failure(&error)),
        }
    }
    let mut ids: Vec<(&str, String)> = ["podman", "docker"]
        .into_iter()
        .filter_map(|tool| Some((tool, ask(tool, name)?)))
        .collect();
    ids.dedup_by(|(_, a), (_, b)| a == b);
    match &ids[..] {
        [] => Cgroup::of_container(name, name).map_err(|error| failure(&error)),
        [(tool, id)] => Cgroup::of_container(id, name).map_err(|error| {
            if error.is_not_found() {
                return Failure::new(format!(
                    "container {name} of {tool} has no cgroup v2 with processes"
                ))
                .help(format!(
                    "start it, or give the process ID of its first process with --pid: \
                         {tool} inspect --format {{{{.State.Pid}}}} {name}"
                ));
            }
            failure(&error)
        }),
        _ => {
            let ids: Vec<String> = ids.iter().map(|(tool, id)| format!("{id} of {tool}")).collect();
            Err(Failure::new(format!("several containers are named {name}: {}", ids.join(", ")))
                .help("give the ID of one"))
        }
    }
}

pub(super) fn failure(error: &TargetError) -> Failure {
    Failure::new(error.to_string()).help(error.help())
}

/// The ID that a tool reports for a container; `None` if the tool is missing or does not know it.
fn ask(tool: &str, name: &str) -> Option<String> {
    let mut process = Command::new(tool)
        .args(["container", "inspect", "--format", "{{.Id}}", "--", name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut output = process.stdout.take()?;
    let start = Instant::now();
    // The answer fits into the pipe, so the tool does not wait for a reader.
    let status = loop {
        match process.try_wait() {
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Ok(Some(status)) => break status,
            _ => {
                let _ = process.kill();
                let _ = process.wait();
                return None;
            }
        }
    };
    // What it has started may keep the pipe open, so this does not wait for its end.
    fcntl_setfl(&output, OFlags::NONBLOCK).ok()?;
    let mut bytes = [0; 1 << 10];
    let count = output.read(&mut bytes).ok()?;
    let id = std::str::from_utf8(bytes.get(..count)?).ok()?.trim();
    let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (status.success() && is_id).then(|| id.to_owned())
}
