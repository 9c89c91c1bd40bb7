//! Records workloads, generates their profiles, and runs them under these.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::workload::{FUNCTIONS, Workload};
use callgate_tasks::Result;
use callgate_tasks::files::{make, output, read, run, write};

/// The time limit of a run.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is used to run a workload.
pub(super) struct Runner<'r> {
    pub(super) callgate: &'r Path,
    /// The directory of the workload.
    pub(super) directory: PathBuf,
    pub(super) workload: &'r Workload,
}

/// A profile of a workload.
pub(super) struct Profile {
    pub(super) file: PathBuf,
    /// The program as raw instructions.
    pub(super) program: PathBuf,
    /// The summary as JSON.
    pub(super) summary: String,
}

impl Runner<'_> {
    pub(super) fn prepare(&self) -> Result<()> {
        make(&self.directory)?;
        // Servers give up their privileges, and must still find their files.
        run(Command::new("chmod").arg("755").arg(&self.directory))?;
        let text = format!("set -e\n{}", self.workload.prepare);
        self.script(&text, "")
    }

    /// Records the workload this many times, and generates a profile.
    pub(super) fn profile(&self, recordings: u32) -> Result<Profile> {
        let recorded: Vec<PathBuf> =
            (1..=recordings).map(|number| self.file(&format!("recording-{number}.json"))).collect();
        for (number, file) in recorded.iter().enumerate() {
            // A workload may run several commands, each with a recording of its own.
            let tool = self.file("record.sh");
            write(&tool, RECORD)?;
            let under = format!(
                "sh {} {} {}",
                tool.display(),
                self.callgate.display(),
                file.with_extension("").display()
            );
            self.script(&self.text(), &under)
                .map_err(|error| format!("recording {}: {error}", number + 1))?;
            let parts = parts(&file.with_extension(""))?;
            let mut merge = Command::new(self.callgate);
            output(merge.args(["record", "merge", "-o"]).arg(file).args(parts))?;
        }
        let (file, program) = (self.file("profile.json"), self.file("filter.bpf"));
        let mut generate = Command::new(self.callgate);
        generate.arg("generate").args(&recorded).arg("-o").arg(&file);
        generate.args(["--runtime", "callgate", "--deny", "kill", "--format", "json"]);
        let summary = output(&mut generate)?;
        output(Command::new(self.callgate).arg("compile").arg(&file).arg("-o").arg(&program))?;
        Ok(Profile { file, program, summary })
    }

    /// Runs the workload under a profile.
    pub(super) fn run(&self, profile: &Profile) -> Result<()> {
        let under = format!("{} run -s {} --", self.callgate.display(), profile.file.display());
        self.script(&self.text(), &under)
    }

    fn text(&self) -> String {
        format!("set -e\n{FUNCTIONS}\n{}", self.workload.script)
    }

    fn file(&self, name: &str) -> PathBuf {
        let mut path = self.directory.clone().into_os_string();
        path.push(".");
        path.push(name);
        path.into()
    }

    /// Runs a script with a time limit; the error is its output.
    fn script(&self, text: &str, under: &str) -> Result<()> {
        let log = self.file("log");
        let failed = |error: std::io::Error| format!("sh: {error}");
        let file = std::fs::File::create(&log).map_err(failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", text]).current_dir(&self.directory).process_group(0);
        command.env("under", under).env("port", free_port()?.to_string());
        command.stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?).stderr(file);
        let mut child = command.spawn().map_err(failed)?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break Some(status);
            }
            if start.elapsed() > PATIENCE {
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // What the script left behind must not disturb the next run.
        // SAFETY: the call takes no pointers; the group is that of the child.
        unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
        let _ = child.wait();
        let said = String::from_utf8_lossy(&read(&log)?).into_owned();
        let said = said.lines().rev().take(4).collect::<Vec<_>>().join(" / ");
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("{status}: {said}")),
            None => Err(format!("does not end: {said}")),
        }
    }
}

/// Records each command of a script to a file of its own.
const RECORD: &str = r#"tool=$1
file=$2
shift 2
number=$(ls "$file".part-* 2>/dev/null | wc -l)
exec "$tool" record -o "$file.part-$number" -- "$@" 2>>"$file.log"
"#;

/// The recordings of the commands of one run.
fn parts(stem: &Path) -> Result<Vec<PathBuf>> {
    let (directory, name) = (stem.parent().unwrap_or(stem), stem.file_name().unwrap_or_default());
    let start = format!("{}.part-", name.to_string_lossy());
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut parts: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .map(|entry| entry.path())
        .collect();
    parts.sort();
    match parts.is_empty() {
        true => Err("nothing was recorded".to_owned()),
        false => Ok(parts),
    }
}

/// A port that is free now.
fn free_port() -> Result<u16> {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    free.map(|address| address.port()).map_err(|error| format!("127.0.0.1: {error}"))
}

/// Keeps the files of a workload.
pub(super) fn keep(runner: &Runner<'_>, profile: &Profile, directory: &Path) -> Result<()> {
    make(directory)?;
    let name = &runner.workload.name;
    write(&directory.join(format!("{name}.json")), read(&profile.file)?)?;
    write(&directory.join(format!("{name}.summary.json")), &profile.summary)
}
