//! Reads the sources of each version from git and writes the table.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::files::{make, read, run as output, write};
use callgate_tasks::{Result, workspace};

use super::parse::groups;
use super::render::table;

pub(crate) const HELP: &str = "\
usage: cargo xtask systemd-groups [--repository URL] [--check]

Writes crates/callgate-formats/src/systemd/table.rs from the sources of systemd: the
members of each group of syscalls (@default, @system-service, ...) in each version. The tags
are those of RELEASES in xtask/checks/src/systemd_groups/run.rs. With --check, writes nothing, and
fails if the file would change.

--repository URL  where the tags are [default: https://github.com/systemd/systemd]
";

/// The last stable release of each version.
const RELEASES: &[(u16, &str)] = &[
    (252, "v252.39"),
    (253, "v253.26"),
    (254, "v254.27"),
    (255, "v255.22"),
    (256, "v256.17"),
    (257, "v257.13"),
    (258, "v258.10"),
];

const TABLE: &str = "crates/callgate-formats/src/systemd/table.rs";
const REPOSITORY: &str = "https://github.com/systemd/systemd";
const SOURCE: &str = "src/shared/seccomp-util.c";

/// Where the list of `@known` is: until 257, and from 258 on.
const LISTS: [&str; 2] =
    ["src/basic/syscall-list.txt", "src/include/override/sys/syscall-list.txt"];

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut is_check, mut repository) = (false, REPOSITORY.to_owned());
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        match option.as_str() {
            "--check" => is_check = true,
            "--repository" => repository.clone_from(rest.next().ok_or("--repository needs a URL")?),
            other => return Err(format!("unexpected argument {other:?}; try --help")),
        }
    }
    let git = Git::open(&workspace().join("target/systemd-groups"))?;
    let mut versions = Vec::new();
    for (version, tag) in RELEASES {
        git.fetch(&repository, tag)?;
        let list = LISTS.iter().find_map(|path| git.show(tag, path).ok());
        let list = list.ok_or_else(|| format!("{tag} has no {}", LISTS.join(" or ")))?;
        let parsed =
            groups(&git.show(tag, SOURCE)?, &list).map_err(|error| format!("{tag}: {error}"))?;
        println!("{tag}: {} groups, {} known syscalls", parsed.len(), list.lines().count());
        versions.push((*version, *tag, parsed));
    }
    let (path, text) = (workspace().join(TABLE), table(&versions));
    if is_check {
        return match read(&path)? == text.as_bytes() {
            true => Ok(()),
            false => Err(format!("{TABLE} is not current; run `cargo xtask systemd-groups`")),
        };
    }
    write(&path, text)?;
    println!("wrote {TABLE}");
    Ok(())
}

/// A repository without files, into which tags are fetched.
struct Git(PathBuf);

impl Git {
    fn open(directory: &Path) -> Result<Git> {
        make(directory)?;
        let git = Git(directory.to_owned());
        git.run(&["init", "--quiet", "--bare"])?;
        Ok(git)
    }

    /// Fetches the commit of a tag, without its history; its files are fetched when they are shown.
    fn fetch(&self, repository: &str, tag: &str) -> Result<()> {
        if self.run(&["rev-parse", "--quiet", "--verify", &format!("refs/tags/{tag}")]).is_ok() {
            return Ok(());
        }
        // A partial repository needs a remote to fetch from later.
        self.run(&["config", "remote.origin.url", repository])?;
        self.run(&["config", "remote.origin.promisor", "true"])?;
        let refs = format!("refs/tags/{tag}:refs/tags/{tag}");
        self.run(&["fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", &refs])
            .map(drop)
    }

    fn show(&self, tag: &str, path: &str) -> Result<String> {
        self.run(&["show", &format!("{tag}:{path}")])
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        output(Command::new("git").arg("--git-dir").arg(&self.0).args(arguments))
    }
}
