//! Finds the programs of a workload, and the packages of those that are missing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::WorkloadError;

/// Directories of servers that are not in the `PATH` of ordinary users.
const SYSTEM: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A program that a workload needs.
pub(super) struct Need {
    /// Its names; the first one that exists is used.
    pub(super) names: &'static [&'static str],
    /// Its package in Debian and Ubuntu.
    pub(super) package: &'static str,
    /// Directories per version, such as `/usr/lib/postgresql/15/bin`: the parts of the path before and after the version.
    /// The highest version takes precedence over `PATH`.
    pub(super) versions: &'static [(&'static str, &'static str)],
}

impl Need {
    pub(super) const fn new(names: &'static [&'static str], package: &'static str) -> Need {
        Need { names, package, versions: &[] }
    }
}

/// The programs of a workload, found.
pub(super) struct Tools {
    /// In the order of the needs.
    found: Vec<PathBuf>,
}

impl Tools {
    /// Finds all of them in a search path.
    pub(super) fn find(
        workload: &'static str,
        needs: &[Need],
        search: &OsStr,
    ) -> Result<Tools, WorkloadError> {
        let (mut found, mut missing, mut packages) = (Vec::new(), Vec::new(), Vec::new());
        for need in needs {
            match find(need, search) {
                Some(path) => found.push(path),
                None => {
                    missing.push(need.names.join(" or "));
                    if !packages.contains(&need.package) {
                        packages.push(need.package);
                    }
                }
            }
        }
        match missing.is_empty() {
            true => Ok(Tools { found }),
            false => Err(WorkloadError::missing(workload, &missing, &packages)),
        }
    }

    /// The program of a need, by its number.
    pub(super) fn get(&self, number: usize) -> &Path {
        self.found.get(number).map_or(Path::new(""), PathBuf::as_path)
    }

    /// Whether the program of a need has this name.
    pub(super) fn is(&self, number: usize, name: &str) -> bool {
        self.get(number).file_name() == Some(OsStr::new(name))
    }
}

fn find(need: &Need, search: &OsStr) -> Option<PathBuf> {
    let directories: Vec<PathBuf> = need
        .versions
        .iter()
        .filter_map(|(before, behind)| newest(Path::new(before), behind))
        .chain(std::env::split_paths(search))
        .chain(SYSTEM.iter().map(PathBuf::from))
        // A relative path would change its meaning, because the server runs in another directory.
        .filter(|directory| directory.is_absolute())
        .collect();
    let command = |name: &&str| {
        let paths = directories.iter().map(|directory| directory.join(name).into_os_string());
        paths.filter_map(|path| callgate_linux::Command::find(&[path]).ok()).next()
    };
    need.names.iter().find_map(command).map(|command| command.path().to_owned())
}

/// The directory of the highest version.
fn newest(before: &Path, behind: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(before).ok()?;
    let versions = entries.flatten().filter_map(|entry| {
        let version = entry.file_name().to_str()?.parse::<u32>().ok()?;
        let directory = entry.path().join(behind);
        directory.is_dir().then_some((version, directory))
    });
    versions.max().map(|(_, directory)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_that_is_there_is_taken() {
        let needs =
            [Need::new(&["no-such-program", "sh"], "dash"), Need::new(&["cat"], "coreutils")];
        let tools = Tools::find("x", &needs, OsStr::new("relative:/usr/bin:/bin")).unwrap();
        assert!(tools.is(0, "sh") && tools.is(1, "cat") && !tools.is(1, "sh"));
    }

    #[test]
    fn all_that_is_missing_is_said_at_once() {
        let needs = [
            Need::new(&["no-such-server"], "server"),
            Need::new(&["sh"], "dash"),
            Need::new(&["no-such-client", "no-such-other"], "client"),
        ];
        let error = Tools::find("redis", &needs, OsStr::new("/bin")).err().unwrap();
        assert_eq!(
            error.to_string(),
            "the workload redis needs no-such-server, no-such-client or no-such-other"
        );
        assert!(error.help().contains("apt-get install server client"), "{}", error.help());
    }
}
