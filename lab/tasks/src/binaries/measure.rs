//! Records a use of a program, and analyses its code.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jsonc_parser::{JsonArray, JsonObject, JsonValue, parse_to_value};

use super::score::Score;
use super::uses::Use;
use callgate_tasks::Result;
use callgate_tasks::files::{make, remove, write};

/// The time limit of a use.
const PATIENCE: Duration = Duration::from_secs(120);

/// A measured program.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) is_popular: bool,
    pub(super) score: Score,
    /// Syscalls whose numbers are not known.
    pub(super) unresolved: usize,
    /// What makes the result incomplete, such as `loads-libraries`.
    pub(super) incomplete: Vec<String>,
    pub(super) time: Duration,
    /// The maximum resident memory of the analysis in bytes.
    pub(super) memory: u64,
}

/// Records and analyses; an error says why the program is left out.
pub(super) fn measure(callgate: &Path, directory: &Path, one: &Use) -> Result<Measured> {
    let recording = record(callgate, directory, one)?;
    let summary = directory.join("summary.json");
    let mut command = Command::new(callgate);
    command.args(["generate", "--partial", "--format", "json", "-o", "profile.json", "--binary"]);
    command.arg(&one.program).arg(recording).current_dir(directory);
    let failed = |error: std::io::Error| format!("callgate generate: {error}");
    command.stdout(File::create(&summary).map_err(failed)?);
    command.stderr(File::create(directory.join("warnings")).map_err(failed)?);
    let start = Instant::now();
    let memory = peak(&mut command)?;
    let time = start.elapsed();
    let text = fs::read_to_string(&summary).map_err(failed)?;
    let (score, unresolved, incomplete) =
        read(&text).ok_or_else(|| "callgate generate: unexpected JSON".to_owned())?;
    let (name, is_popular) = (one.name(), one.is_popular);
    Ok(Measured { name, is_popular, score, unresolved, incomplete, time, memory })
}

/// Records the script, and returns the recording of the program alone.
fn record(callgate: &Path, directory: &Path, one: &Use) -> Result<std::path::PathBuf> {
    let (work, parts) = (directory.join("work"), directory.join("parts"));
    remove(&work)?;
    remove(&parts)?;
    make(&work)?;
    write(&directory.join("use.sh"), &one.script)?;
    let log = File::create(directory.join("log")).map_err(|error| error.to_string())?;
    let mut child = Command::new(callgate)
        .args(["record", "--split"])
        .arg(&parts)
        .arg("-o")
        .arg(directory.join("all.json"))
        .args(["--", "/usr/bin/sh", "../use.sh"])
        .current_dir(&work)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(|error| error.to_string())?)
        .stderr(log)
        .spawn()
        .map_err(|error| format!("callgate record: {error}"))?;
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(_) => break,
            None if start.elapsed() > PATIENCE => {
                child.kill().map_err(|error| error.to_string())?;
                child.wait().map_err(|error| error.to_string())?;
                return Err(format!("the script took more than {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    let path = one.program.to_string_lossy();
    let name = format!("{}.json", path.trim_start_matches('/').replace('/', "."));
    let part = parts.join(name);
    if part.exists() { Ok(part) } else { Err("the script did not execute it".to_owned()) }
}

/// Runs a command, and returns its maximum resident memory in bytes.
fn peak(command: &mut Command) -> Result<u64> {
    let child = command.spawn().map_err(|error| error.to_string())?;
    let mut status = 0;
    // SAFETY: a `rusage` of zeros is a valid value, because it contains only numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call, and nothing else waits for this child.
    if unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) } < 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        return Err("callgate generate failed".to_owned());
    }
    Ok(usage.ru_maxrss as u64 * 1024)
}

/// Reads the JSON of `callgate generate`.
fn read(text: &str) -> Option<(Score, usize, Vec<String>)> {
    let value = parse_to_value(text, &Default::default()).ok()??;
    let JsonValue::Object(root) = value else { return None };
    let found = root.get_object("static")?;
    let mut score = Score { both: Vec::new(), only_static: Vec::new(), only_recorded: Vec::new() };
    for call in objects(found.get_array("calls")?) {
        match call.get_string("class")?.as_ref() {
            "recorded" => score.both.push(name(call)?),
            _ => score.only_static.push(name(call)?),
        }
    }
    for call in objects(found.get_array("not_static")?) {
        score.only_recorded.push(name(call)?);
    }
    let why = |remark: &JsonObject<'_>| remark.get_string("why").map(|why| why.to_string());
    let mut incomplete: Vec<String> =
        objects(found.get_array("incomplete")?).filter_map(why).collect();
    incomplete.dedup();
    Some((score, objects(found.get_array("unresolved")?).count(), incomplete))
}

fn objects<'a>(array: &'a JsonArray<'a>) -> impl Iterator<Item = &'a JsonObject<'a>> {
    array.iter().filter_map(|item| match item {
        JsonValue::Object(object) => Some(object),
        _ => None,
    })
}

fn name(call: &JsonObject<'_>) -> Option<String> {
    match call.get_string("call") {
        Some(name) => Some(name.to_string()),
        None => Some(format!("number {}", call.get_number("nr")?)),
    }
}
