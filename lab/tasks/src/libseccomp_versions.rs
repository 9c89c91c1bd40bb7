//! `cargo lab libseccomp-versions`: compares the table of the names that each libseccomp knows with the tags of libseccomp.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::known_names;
use callgate_formats::libseccomp_versions::LibseccompVersion;
use callgate_tasks::Result;

use crate::table::count;

pub(crate) const HELP: &str = "\
usage: cargo lab libseccomp-versions REPOSITORY

Compares the table of --libseccomp VERSION with a git repository of libseccomp: for each release
in the table, all architectures and all names that Callgate knows, the table must say that the
release has a number if the tables of its tag have one. These are src/syscalls.csv since 2.5.0,
and src/arch-ARCH-syscalls.c before.

example: cargo lab libseccomp-versions libseccomp/.git
";

/// The syscalls with a number, by architecture.
type Numbers = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [repository] = arguments else {
        return Err(format!("unexpected arguments {arguments:?}; try --help"));
    };
    let repository = Path::new(repository);
    let releases: Vec<LibseccompVersion> =
        std::iter::successors(Some(LibseccompVersion::NEWEST), |one| one.previous()).collect();
    let (mut compared, mut differences) = (0, 0);
    for release in releases.iter().rev() {
        let original = original(repository, *release)?;
        for arch in Arch::ALL {
            let Some(own) = numbers_of(&original, *arch) else { continue };
            for name in known_names().filter(|name| arch.number(name).is_some()) {
                compared += 1;
                let (expected, table) = (own.contains(name), release.has_number(name, *arch));
                if expected != table {
                    differences += 1;
                    let has = |is: bool| if is { "a number" } else { "none" };
                    println!(
                        "{release} {arch} {name}: the tag has {}, the table {}",
                        has(expected),
                        has(table)
                    );
                }
            }
        }
    }
    println!(
        "{} releases, {} comparisons, {} differences",
        releases.len(),
        count(compared),
        count(differences)
    );
    match differences {
        0 => Ok(()),
        _ => Err(format!("{differences} differences")),
    }
}

/// What the tables of a tag say about an architecture; `None` if libseccomp has none for this byte order.
fn numbers_of(original: &Numbers, arch: Arch) -> Option<BTreeSet<String>> {
    // The tables are for both byte orders.
    let name = match arch {
        Arch::Ppc64le => "ppc64",
        Arch::Mipsel => "mips",
        Arch::Mipsel64 => "mips64",
        Arch::Mipsel64n32 => "mips64n32",
        Arch::Sheb => "sh",
        other => other.name(),
    };
    // One that a later release supports has no numbers.
    Some(original.get(name).cloned().unwrap_or_default())
}

/// The tables of a tag.
fn original(repository: &Path, release: LibseccompVersion) -> Result<Numbers> {
    let tag = format!("v{release}");
    let files = git(repository, &["ls-tree", "--name-only", &tag, "src/"])?;
    if files.lines().any(|file| file == "src/syscalls.csv") {
        return of_csv(&git(repository, &["show", &format!("{tag}:src/syscalls.csv")])?);
    }
    let mut all = Numbers::new();
    for file in files.lines() {
        let arch = file.strip_prefix("src/arch-").and_then(|rest| rest.strip_suffix("-syscalls.c"));
        if let Some(arch) = arch {
            let text = git(repository, &["show", &format!("{tag}:{file}")])?;
            all.insert(arch.to_owned(), of_c(&text));
        }
    }
    if all.is_empty() { Err(format!("{tag} has no tables")) } else { Ok(all) }
}

/// Rows of names, with a column for each architecture; `PNR` is no number.
fn of_csv(text: &str) -> Result<Numbers> {
    let mut lines = text.lines();
    let heading = lines.next().ok_or("the table is empty")?;
    let columns: Vec<&str> = heading.split(',').skip(1).collect();
    let mut all = Numbers::new();
    for line in lines {
        let mut cells = line.split(',');
        let name = cells.next().unwrap_or_default();
        for (column, cell) in columns.iter().zip(cells) {
            if cell.parse::<u32>().is_ok() && !column.ends_with("_kver") {
                all.entry((*column).to_owned()).or_default().insert(name.to_owned());
            }
        }
    }
    Ok(all)
}

/// Elements `{ "name", NUMBER }`; `__PNR_name` is no number.
fn of_c(text: &str) -> BTreeSet<String> {
    let elements = text.lines().filter_map(|line| {
        let (name, rest) = line.trim().strip_prefix("{ \"")?.split_once("\",")?;
        let is_number = !rest.trim().starts_with("__PNR_");
        is_number.then(|| name.to_owned())
    });
    elements.collect()
}

fn git(repository: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("--git-dir").arg(repository).args(arguments).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| format!("git {arguments:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_tables_are_read() {
        let csv = "#syscall (v6.17),x86,x86_kver,x86_64,x86_64_kver\naccept,PNR,KV_UNDEF,43,KV_UNDEF\n\
                   read,3,KV_UNDEF,0,KV_UNDEF\n";
        let all = of_csv(csv).unwrap();
        let names = |arch: &str| all.get(arch).unwrap().iter().cloned().collect::<Vec<_>>();
        assert_eq!(
            (names("x86"), names("x86_64")),
            (vec!["read".into()], vec!["accept".to_owned(), "read".to_owned()])
        );
        assert_eq!(all.len(), 2);
        let c = "\t{ \"accept\", __PNR_accept },\n\t{ \"read\", (__SCMP_NR_BASE + 3) },\n\
                 \t{ NULL, __NR_SCMP_ERROR },\n";
        assert_eq!(of_c(c).into_iter().collect::<Vec<_>>(), ["read"]);
    }

    #[test]
    fn a_directory_without_a_repository_is_refused() {
        assert!(run(&["/nonexistent".to_owned()]).is_err());
        assert!(run(&[]).is_err());
    }
}
