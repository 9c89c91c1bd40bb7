//! `cargo xtask syscalls`: the tables of `crates/callgate-bpf/src/syscalls/generated/`.
//!
//! Numbers come from the kernel's uapi headers, versions from the man page syscalls(2), arguments
//! from the running kernel's trace events; [`supplement`] has what these sources lack. The
//! output depends only on the sources, so a second run with the same sources changes nothing.

mod fetch;
mod headers;
mod manpage;
mod prototype;
mod render;
mod sources;
mod supplement;

use callgate_eval::{Result, workspace};
use sources::Sources;
use std::fs;
use std::path::{Path, PathBuf};

/// What `cargo xtask syscalls --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask syscalls [--check] [--fetch] [--sources DIR] [--headers DIR]

Writes crates/callgate-bpf/src/syscalls/generated/*.rs from three sources:
  numbers    the kernel's uapi headers of all architectures
  versions   the table of the man page syscalls(2)
  arguments  /sys/kernel/tracing/events/syscalls of an x86-64 kernel

  --check        write nothing; fail if a generated file would change
  --fetch        download the sources again (default: only if DIR lacks them)
  --sources DIR  the directory of the sources; default: target/syscall-sources
  --headers DIR  take the numbers from this unpacked linux-libc-dev, with the
                 directories usr/lib/linux/uapi/ARCH/asm and usr/include/linux

Downloads Debian's newest linux-libc-dev and manpages-dev (suite sid) with a private apt
configuration and this system's mirror and keyring; installs nothing and does not need root.
The arguments need a mounted tracefs that this user may read.
";

/// The options of one run.
#[derive(Debug, Default)]
struct Options {
    check: bool,
    fetch: bool,
    sources: Option<PathBuf>,
    headers: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut directory =
                || words.next().map(PathBuf::from).ok_or(format!("missing value: {word} DIR"));
            match word.as_str() {
                "--check" => options.check = true,
                "--fetch" => options.fetch = true,
                "--sources" => options.sources = Some(directory()?),
                "--headers" => options.headers = Some(directory()?),
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(options)
    }
}

/// The default directory of the sources.
fn default_sources() -> PathBuf {
    workspace().join("target/syscall-sources")
}

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let directory = options.sources.unwrap_or_else(default_sources);
    if options.fetch || !sources::complete(&directory) {
        fetch::fetch(&directory)?;
    }
    let sources = Sources::load(&directory, options.headers.as_deref())?;
    let output = workspace().join("crates/callgate-bpf/src/syscalls/generated");
    let changes = stale(&output, &generate(&sources)?);
    if options.check {
        return match changes.as_slice() {
            [] => {
                println!("the generated files are current ({})", sources.summary());
                Ok(())
            }
            files => Err(explain(files, &sources)),
        };
    }
    for file in &changes {
        fs::create_dir_all(&output).map_err(|e| format!("{}: {e}", output.display()))?;
        fs::write(&file.path, &file.wanted).map_err(|e| format!("{}: {e}", file.path.display()))?;
        println!("wrote {}", file.path.display());
    }
    println!("{} of the generated files changed ({})", changes.len(), sources.summary());
    Ok(())
}

/// The generated files: name and text.
fn generate(sources: &Sources) -> Result<Vec<(&'static str, String)>> {
    let tables = headers::read(&sources.headers)?;
    let versions = manpage::read(&sources.manpage)?;
    let prototypes = prototype::read_formats(&sources.formats)?;
    let mut elsewhere = headers::names_of_all(&sources.headers)?;
    elsewhere.extend(versions.keys().cloned());
    elsewhere.retain(|name| !tables.calls.contains_key(name));
    Ok(vec![
        ("numbers.rs", render::numbers(sources, &tables, &elsewhere)),
        ("facts.rs", render::facts(sources, &tables, &versions, &prototypes)?),
        ("multiplexed.rs", render::multiplexed(sources, &headers::multiplexed(&sources.headers)?)),
    ])
}

/// A file that differs from the generator's output.
struct Stale {
    path: PathBuf,
    present: String,
    wanted: String,
}

fn stale(directory: &Path, files: &[(&str, String)]) -> Vec<Stale> {
    let stale = files.iter().filter_map(|(name, wanted)| {
        let path = directory.join(name);
        let present = fs::read_to_string(&path).unwrap_or_default();
        (present != *wanted).then(|| Stale { path, present, wanted: wanted.clone() })
    });
    stale.collect()
}

/// Describes the differences by the first different line of each file.
fn explain(files: &[Stale], sources: &Sources) -> String {
    let mut text = format!("these files differ from the generated ones ({}):", sources.summary());
    for file in files {
        let mut present = file.present.lines();
        let mut wanted = file.wanted.lines();
        let (mut line, mut old, mut new) = (1, present.next(), wanted.next());
        while old == new && old.is_some() {
            (line, old, new) = (line + 1, present.next(), wanted.next());
        }
        let show = |line: Option<&str>| line.unwrap_or("(end of file)").to_owned();
        text += &format!(
            "\n{}:{line}:\n  is      {}\n  becomes {}",
            file.path.display(),
            show(old),
            show(new)
        );
    }
    text + "\nrun `cargo xtask syscalls` and commit the result"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn options_say_what_is_wrong() {
        let parse = |words: &[&str]| {
            Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert!(parse(&["--check", "--headers", "x"]).unwrap().check);
        assert!(parse(&["--headers"]).unwrap_err().contains("missing value: --headers DIR"));
        assert!(parse(&["--chekc"]).unwrap_err().contains("--chekc"));
    }

    /// The sources are too large to commit, so this runs only if they were downloaded: to
    /// `CALLGATE_SYSCALL_SOURCES`, or to the default directory of `cargo xtask syscalls`.
    #[test]
    fn regenerating_changes_nothing() {
        let given = std::env::var_os("CALLGATE_SYSCALL_SOURCES").map(PathBuf::from);
        let directory = given.clone().unwrap_or_else(default_sources);
        if given.is_none() && !sources::complete(&directory) {
            // Not eprintln!, whose output is shown only if a test fails.
            let place = directory.display();
            writeln!(
                std::io::stderr(),
                "not run: no sources in {place}; `cargo xtask syscalls --check` fetches them"
            )
            .unwrap();
            return;
        }
        let sources = Sources::load(&directory, None).unwrap();
        let output = workspace().join("crates/callgate-bpf/src/syscalls/generated");
        let changes = stale(&output, &generate(&sources).unwrap());
        assert!(changes.is_empty(), "{}", explain(&changes, &sources));
    }
}
