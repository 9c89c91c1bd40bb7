//! Records the tests of a suite, or reads the recordings of an earlier run of the task.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callgate::Arch;
use callgate_trace::read::{ReadOptions, read as parse};
use callgate_trace::recording::Recording;

use super::suite::{Origin, Suite};
use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::{files, make, read, remove, run, stem, write};

/// The time limit of a test; `timeout` ends it.
const SECONDS: &str = "60";

/// The time limit of a recording, which waits for processes that outlive the test.
const PATIENCE: Duration = Duration::from_secs(75);

/// Directories that the programs are searched in. The first one has all programs of the list, so their paths do not
/// depend on the user.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Whether the program is installed.
pub(super) fn installed(suite: &Suite) -> bool {
    let of_package = match suite.origin {
        Origin::Source(_) => true,
        Origin::Installed(directory) => Path::new(directory).is_dir(),
    };
    of_package && Path::new("/usr/bin").join(suite.program).exists()
}

/// A recording for each test that executed the program, in the order of the tests. A test that fails is a run as well;
/// one that does not end is not.
pub(super) fn recordings(
    suite: &Suite,
    callgate: &Path,
    work: &Path,
    kept: &Path,
) -> Result<Vec<Recording>> {
    let kept = kept.join(suite.program);
    make(&kept)?;
    // The list is written last, so it exists only if all tests were recorded.
    let list = kept.join("tests.txt");
    if !list.exists() {
        let tests = record(suite, callgate, work, &kept)?;
        write(&list, tests.join("\n"))?;
    }
    files(&kept, "json")?.iter().map(|file| recording(file)).collect()
}

/// Records all tests, and returns their names.
fn record(suite: &Suite, callgate: &Path, work: &Path, kept: &Path) -> Result<Vec<String>> {
    let source = match suite.origin {
        Origin::Installed(directory) => PathBuf::from(directory),
        Origin::Source(package) => unpacked(package, work)?,
    };
    run(Command::new("sh").args(["-ec", suite.prepare]).current_dir(&source))?;
    let tests = suite.files(&source)?;
    let mut last = Instant::now();
    for (done, test) in tests.iter().enumerate() {
        if last.elapsed() > Duration::from_secs(5) {
            eprintln!("suites: {}: {done} of {} tests", suite.program, tests.len());
            last = Instant::now();
        }
        if let Some(split) = once(suite, &source, test, callgate, work)? {
            write(&kept.join(format!("{}.json", stem(test))), read(&split)?)?;
        }
    }
    Ok(tests.iter().map(|test| stem(test)).collect())
}

/// Downloads and unpacks a source package.
fn unpacked(package: &str, work: &Path) -> Result<PathBuf> {
    let target = work.join("sources").join(package);
    if !target.exists() {
        let apt = work.join("apt");
        Apt::sources(&apt, "bookworm")?.download_source(package)?;
        make(&work.join("sources"))?;
        let description = files(&apt, "dsc")?.into_iter().find(|file| {
            file.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(&format!("{package}_")))
        });
        let description = description.ok_or_else(|| format!("{package}: no .dsc file"))?;
        let mut unpack = Command::new("dpkg-source");
        run(unpack.args(["--no-check", "-x"]).arg(description).arg(&target))?;
    }
    Ok(target)
}

/// Runs a test, and returns the file of the recording of the program; `None` if the test does not end in time, or does
/// not execute the program.
fn once(
    suite: &Suite,
    source: &Path,
    test: &Path,
    callgate: &Path,
    work: &Path,
) -> Result<Option<PathBuf>> {
    let (scratch, split, all) = (work.join("scratch"), work.join("split"), work.join("all.json"));
    remove(&scratch)?;
    remove(&split)?;
    make(&scratch)?;
    let mut command = Command::new(callgate);
    command.arg("record").arg("--split").arg(&split).arg("-o").arg(&all);
    command.args(["--", "timeout", "-k", "5", SECONDS, "sh", "-c", suite.command]);
    command.env_clear().env("PATH", PATH).env("HOME", &scratch).env("LC_ALL", "C");
    command.env("SOURCE", source).env("TEST", test).env("NAME", stem(test));
    command.current_dir(&scratch).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("callgate: {error}"))?;
    let ended = ended(&mut child)?;
    // What the test left behind must not disturb the next one.
    // SAFETY: the call takes no pointers; the group is that of the child, which was waited for last.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let status = child.wait().map_err(|error| format!("callgate: {error}"))?;
    // The status of `timeout`, or of a killed command.
    if !ended || matches!(status.code(), None | Some(124 | 137)) {
        eprintln!("suites: {}: {} does not end; it is omitted", suite.program, stem(test));
        return Ok(None);
    }
    executable(suite.program, &split)
}

/// Waits for the recorder; asks it to end after some time. Whether it ended.
fn ended(child: &mut Child) -> Result<bool> {
    let start = Instant::now();
    let mut asked = false;
    loop {
        if child.try_wait().map_err(|error| format!("callgate: {error}"))?.is_some() {
            return Ok(true);
        }
        if !asked && start.elapsed() > PATIENCE {
            // The command has ended, so the recorder stops waiting for other processes.
            // SAFETY: the call takes no pointers, and the child was not waited for.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
            asked = true;
        }
        if start.elapsed() > PATIENCE * 2 {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The recording of an executable with this file name; if there are several, the largest.
fn executable(program: &str, split: &Path) -> Result<Option<PathBuf>> {
    let end = format!("{program}.json");
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for file in files(split, "json")? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let before = name.strip_suffix(&end);
        if before.is_some_and(|before| before.is_empty() || before.ends_with('.')) {
            found.push((file.metadata().map_or(0, |data| data.len()), file));
        }
    }
    Ok(found.into_iter().max().map(|(_, file)| file))
}

fn recording(file: &Path) -> Result<Recording> {
    let bytes = read(file)?;
    let text = String::from_utf8_lossy(&bytes);
    let options = ReadOptions { arch: Arch::X86_64, strict: true, partial: false };
    let read = parse(&text, &options).map_err(|error| format!("{}: {error:?}", file.display()))?;
    Ok(read.recording)
}
