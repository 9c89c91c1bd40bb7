//! Compares all architectures, and reports.

use std::path::PathBuf;

use callgate::Arch;

use super::compare::{Class, compare};
use crate::table::{Table, count};
use callgate_experiments::libseccomp::Library;
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab libseccomp-names [--library PATH]

Resolves all names and numbers of syscalls on all architectures with callgate-seccomp and with
another libseccomp (default: the installed libseccomp.so.2), and lists the differences. A name
that only callgate knows is newer than the library; every other difference makes the exit
status 1.
";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let path = match arguments {
        [] => PathBuf::from("libseccomp.so.2"),
        [option, path] if option == "--library" => PathBuf::from(path),
        _ => return Err(format!("unexpected arguments {arguments:?}; try --help")),
    };
    let library = Library::load(&path)?;
    let (mut asked, mut arches, mut differences) = (0, 0, Vec::new());
    for arch in Arch::ALL {
        let (answers, found) = compare(&library, *arch);
        arches += usize::from(answers > 0);
        asked += answers;
        differences.extend(found);
    }
    differences.sort();
    let mut table = Table::new(["arch", "syscall", "callgate", "libseccomp"]);
    for difference in &differences {
        let row =
            [difference.arch, &difference.question, &difference.callgate, &difference.library];
        table.row(row);
    }
    if !differences.is_empty() {
        print!("{}", table.plain());
    }
    println!(
        "libseccomp {}: {} answers on {arches} architectures, {} differences",
        library.version(),
        count(asked),
        count(differences.len())
    );
    let wrong = differences.iter().filter(|found| found.class != Class::OnlyCallgate).count();
    match wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} differences are not because the library is older")),
    }
}
