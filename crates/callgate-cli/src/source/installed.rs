//! Units that are installed on this machine, by their names: the unit file and all drop-ins of the system manager's directories.
//!
//! The directories are those of systemd.unit(5), "System Unit Search Path". The order of the drop-ins is that of
//! `unit_file_find_dropin_paths` in systemd's `src/shared/dropin.c`: of two with one name, the directory that comes first here
//! counts, in each directory the more specific name of a unit, and last what is for all units of a type.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use callgate_formats::systemd::SystemdVersion;

/// Where units are, the directory that counts most first.
const DIRECTORIES: [&str; 13] = [
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    "etc/systemd/system",
    "etc/systemd/system.attached",
    "run/systemd/system",
    "run/systemd/system.attached",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
    "run/systemd/generator.late",
];

/// A unit that is installed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InstalledUnit {
    pub(super) file: PathBuf,
    /// The directories with its drop-ins; of two files with one name, the one in the last directory counts.
    pub(super) drop_ins: Vec<PathBuf>,
}

impl InstalledUnit {
    /// The unit that a path names, if the path is a name alone, and no file here. `Err` if it is masked.
    pub(super) fn find(path: &Path) -> Option<io::Result<InstalledUnit>> {
        let name = path.to_str().filter(|name| !name.contains('/') && !name.ends_with(".d"))?;
        InstalledUnit::find_in(Path::new("/"), name)
    }

    /// The unit of which a path names the file that systemd reads.
    pub(super) fn of_file(path: &Path) -> Option<InstalledUnit> {
        InstalledUnit::of_file_in(Path::new("/"), &std::path::absolute(path).ok()?)
    }

    fn of_file_in(root: &Path, path: &Path) -> Option<InstalledUnit> {
        let directory = path.parent()?;
        if !DIRECTORIES.iter().any(|known| root.join(known) == directory) || path.is_dir() {
            return None;
        }
        let name = path.file_name()?.to_str()?;
        let unit = InstalledUnit::find_in(root, name)?.ok()?;
        // An instance has the file of its template.
        let file = if path.exists() { path.to_owned() } else { directory.join(template(name)?) };
        // Another directory may have a file with this name that counts more. /lib is a link to /usr/lib on most systems.
        let same = |a: &Path, b: &Path| Some(a.canonicalize().ok()? == b.canonicalize().ok()?);
        same(&unit.file, &file)?.then_some(unit)
    }

    fn find_in(root: &Path, name: &str) -> Option<io::Result<InstalledUnit>> {
        let template = template(name);
        let names = [Some(name.to_owned()), template];
        let file = names.iter().flatten().find_map(|name| {
            DIRECTORIES
                .iter()
                .map(|directory| root.join(directory).join(name))
                .find(|path| path.exists())
        })?;
        // A link names the unit that it is an alias of.
        let target = file.canonicalize().unwrap_or_else(|_| file.clone());
        if target == Path::new("/dev/null") || target.metadata().is_ok_and(|found| found.len() == 0)
        {
            let why = format!("{} is masked: it is empty or a link to /dev/null", file.display());
            return Some(Err(io::Error::other(why)));
        }
        let alias = target.file_name().and_then(|target| target.to_str());
        let alias = alias.filter(|alias| !names.iter().flatten().any(|name| name == alias));
        let mut drop_ins = Vec::new();
        let mut add = |name: &str| {
            for directory in DIRECTORIES {
                for name in specific_first(name) {
                    let found = root.join(directory).join(format!("{name}.d"));
                    if found.is_dir() && !drop_ins.contains(&found) {
                        drop_ins.push(found);
                    }
                }
            }
        };
        [Some(name), alias].into_iter().flatten().for_each(&mut add);
        if let Some((_, kind)) = name.rsplit_once('.') {
            add(kind);
        }
        drop_ins.reverse();
        Some(Ok(InstalledUnit { file, drop_ins }))
    }
}

/// The systemd of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstalledSystemd {
    /// Its version.
    number: u16,
    /// The version whose syscall sets are used: this one, or else the nearest one that is known.
    pub(crate) version: SystemdVersion,
}

impl InstalledSystemd {
    /// The version from the name of systemd's library, such as `libsystemd-shared-252.so`; `None` if there is none.
    pub(crate) fn find() -> Option<InstalledSystemd> {
        InstalledSystemd::find_in(Path::new("/"))
    }

    fn find_in(root: &Path) -> Option<InstalledSystemd> {
        let beside = fs::read_dir(root.join("usr/lib")).into_iter().flatten().flatten();
        let beside = beside.map(|entry| entry.path().join("systemd"));
        let directories =
            ["usr/lib/systemd", "usr/lib64/systemd", "lib/systemd"].map(|path| root.join(path));
        let mut numbers = beside.chain(directories).filter_map(|directory| {
            fs::read_dir(directory).ok()?.flatten().find_map(|entry| {
                let name = entry.file_name();
                let version = name.to_str()?.strip_prefix("libsystemd-shared-")?;
                let end = version.find(|c: char| !c.is_ascii_digit())?;
                version.get(..end)?.parse::<u16>().ok()
            })
        });
        let number = numbers.next()?;
        Some(InstalledSystemd { number, version: SystemdVersion::nearest(number) })
    }
}

impl fmt::Display for InstalledSystemd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InstalledSystemd { number, version } = self;
        match version.number() == *number {
            true => write!(f, "systemd {version}, which is installed here"),
            false => write!(
                f,
                "systemd {version}, the known version nearest to {number}, which is installed here"
            ),
        }
    }
}

/// The template of an instance: `foo@.service` of `foo@bar.service`.
fn template(name: &str) -> Option<String> {
    let (stem, kind) = name.rsplit_once('.')?;
    let (prefix, instance) = stem.split_once('@')?;
    (!instance.is_empty()).then(|| format!("{prefix}@.{kind}"))
}

/// The names whose drop-ins a unit has, the most specific first: for `foo-bar@x.service` this one, `foo-bar@.service`, `foo-.service`,
/// `foo-@x.service` and `foo-@.service` (`unit_file_find_dirs`).
fn specific_first(name: &str) -> Vec<String> {
    let Some((stem, kind)) = name.rsplit_once('.') else { return vec![name.to_owned()] };
    let (prefix, instance) = match stem.split_once('@') {
        Some((prefix, instance)) => (prefix, Some(instance)),
        None => (stem, None),
    };
    let dashes = prefix.match_indices('-').map(|(at, _)| at).filter(|at| *at > 0);
    let dashes: Vec<usize> = dashes.collect();
    // The prefixes that end with a dash, the longest first. One that the name is itself counts once.
    let shorter: Vec<&str> = dashes.into_iter().rev().filter_map(|at| prefix.get(..=at)).collect();
    let plain = |from: usize| shorter.iter().skip(from).map(|short| format!("{short}.{kind}"));
    let mut names = vec![name.to_owned()];
    names.extend(template(name));
    names.extend(plain(0));
    if let Some(instance) = instance.filter(|instance| !instance.is_empty()) {
        for (index, short) in shorter.iter().enumerate() {
            names.extend([format!("{short}@{instance}.{kind}"), format!("{short}@.{kind}")]);
            names.extend(plain(index + 1));
        }
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|one| seen.insert(one.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_and_the_drop_ins_that_count_are_found() {
        let root = std::env::temp_dir().join(format!("callgate-units-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let put = |path: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "[Service]\n").unwrap();
        };
        for path in [
            "usr/lib/systemd/system/foo-bar@.service",
            "usr/lib/systemd/system/foo-bar@x.service.d/1.conf",
            "etc/systemd/system/foo-bar@.service.d/1.conf",
            "etc/systemd/system/foo-.service.d/1.conf",
            "etc/systemd/system/foo-@x.service.d/1.conf",
            "etc/systemd/system/service.d/1.conf",
            "run/systemd/system/foo-bar@x.service.d/1.conf",
            "usr/lib/systemd/system/real.service",
            "etc/systemd/system/real.service.d/1.conf",
        ] {
            put(path);
        }
        let unit = InstalledUnit::find_in(&root, "foo-bar@x.service").unwrap().unwrap();
        assert_eq!(unit.file, root.join("usr/lib/systemd/system/foo-bar@.service"));
        // The last one counts.
        let expected = [
            "etc/systemd/system/service.d",
            "usr/lib/systemd/system/foo-bar@x.service.d",
            "run/systemd/system/foo-bar@x.service.d",
            "etc/systemd/system/foo-@x.service.d",
            "etc/systemd/system/foo-.service.d",
            "etc/systemd/system/foo-bar@.service.d",
        ];
        assert_eq!(unit.drop_ins, expected.map(|path| root.join(path)));

        let link = root.join("etc/systemd/system/alias.service");
        std::os::unix::fs::symlink(root.join("usr/lib/systemd/system/real.service"), &link)
            .unwrap();
        let alias = InstalledUnit::find_in(&root, "alias.service").unwrap().unwrap();
        assert_eq!(alias.file, link);
        let own = root.join("etc/systemd/system/real.service.d");
        assert!(alias.drop_ins.contains(&own), "{alias:?}");

        let of_file = |path: &str| InstalledUnit::of_file_in(&root, &root.join(path));
        let real = of_file("usr/lib/systemd/system/real.service").unwrap();
        assert_eq!(real.drop_ins.last(), Some(&own));
        let instance = of_file("usr/lib/systemd/system/foo-bar@x.service").unwrap();
        assert_eq!(instance, unit);
        put("opt/real.service");
        assert_eq!(of_file("opt/real.service"), None);
        put("run/systemd/system/real.service");
        assert_eq!(of_file("usr/lib/systemd/system/real.service"), None);
        assert!(of_file("run/systemd/system/real.service").is_some());

        let masked = root.join("etc/systemd/system/real.service");
        std::os::unix::fs::symlink("/dev/null", masked).unwrap();
        assert!(InstalledUnit::find_in(&root, "real.service").unwrap().is_err());
        assert!(InstalledUnit::find_in(&root, "other.service").is_none());
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_version_of_systemd_is_in_the_name_of_its_library() {
        let root = std::env::temp_dir().join(format!("callgate-systemd-{}", std::process::id()));
        let of = |file: &str| {
            let _ = fs::remove_dir_all(&root);
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            let found = InstalledSystemd::find_in(&root).map(|found| found.to_string());
            fs::remove_dir_all(&root).unwrap();
            found
        };
        let installed = |text: &str| Some(format!("systemd {text}, which is installed here"));
        assert_eq!(
            of("usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so"),
            installed("252")
        );
        assert_eq!(of("usr/lib/systemd/libsystemd-shared-255.4-1.fc40.so"), installed("255"));
        let old = "252, the known version nearest to 249";
        assert_eq!(of("lib/systemd/libsystemd-shared-249.so"), installed(old));
        assert_eq!(of("usr/lib/systemd/libsystemd-core-252.so"), None);
    }

    #[test]
    fn prefixes_are_names_of_drop_ins() {
        assert_eq!(
            specific_first("a-b-c.service"),
            ["a-b-c.service", "a-b-.service", "a-.service"]
        );
        assert_eq!(specific_first("a-.service"), ["a-.service"]);
        assert_eq!(specific_first("service"), ["service"]);
        assert_eq!(specific_first("a@b.socket"), ["a@b.socket", "a@.socket"]);
        assert_eq!(specific_first("-a.service"), ["-a.service"]);
        assert_eq!(
            specific_first("a-b@x.service"),
            ["a-b@x.service", "a-b@.service", "a-.service", "a-@x.service", "a-@.service"]
        );
        assert_eq!(specific_first("a-b@.service"), ["a-b@.service", "a-.service"]);
        let three = [
            "a-b-c@x.mount",
            "a-b-c@.mount",
            "a-b-.mount",
            "a-.mount",
            "a-b-@x.mount",
            "a-b-@.mount",
            "a-@x.mount",
            "a-@.mount",
        ];
        assert_eq!(specific_first("a-b-c@x.mount"), three);
    }
}
