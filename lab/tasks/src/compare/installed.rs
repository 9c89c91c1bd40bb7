//! Filters that programs of other projects install: those of seacomb's examples.
//!
//! The examples are built from the published crate, started with a shell as their command, and their filter is read
//! from the process, which needs CAP_SYS_ADMIN.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use callgate::Arch;
use callgate_core::Program;
use callgate_linux::dump;

use crate::versions::{SEACOMB, SEACOMB_TOOLCHAIN};
use callgate_tasks::Result;
use callgate_tasks::files::output;

/// The examples with the architectures of their filters.
const EXAMPLES: [(&str, &[Arch]); 2] =
    [("docker", &[Arch::X86_64, Arch::X86]), ("flatpak", &[Arch::X86_64])];

/// A filter that was read from a process.
pub(super) struct Installed {
    pub(super) name: String,
    pub(super) program: Program,
    pub(super) arches: &'static [Arch],
}

/// The filters of seacomb's examples.
pub(super) fn seacomb_examples(directory: &Path) -> Result<Vec<Installed>> {
    let mut cargo = Command::new("cargo");
    cargo.arg(format!("+{SEACOMB_TOOLCHAIN}")).args(["install", "--quiet", "seacomb"]);
    cargo.args(["--version", &format!("={SEACOMB}")]);
    cargo.args(EXAMPLES.iter().flat_map(|(example, _)| ["--example", example]));
    let root = directory.join("seacomb/examples");
    cargo.arg("--root").arg(&root).arg("--target-dir").arg(directory.join("seacomb/target"));
    output(&mut cargo)?;
    let filter = |(example, arches): &(&str, &'static [Arch])| {
        let program = filter_of(&root.join("bin").join(example))?;
        Ok(Installed { name: format!("seacomb, example {example}"), program, arches })
    };
    EXAMPLES.iter().map(filter).collect()
}

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The filter that a program installs before it executes its arguments.
fn filter_of(program: &Path) -> Result<Program> {
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    let mut command = Command::new(program);
    // The shell writes a line when the filter is installed, and then waits for input that never comes.
    command.args(["sh", "-c", "echo ready; read line"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Process(command.spawn().map_err(failed)?);
    let stdout = process.0.stdout.take().ok_or("the process has no output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
    if line != "ready\n" {
        return Err(format!("{} did not execute a shell", program.display()));
    }
    let dump = dump(process.0.id()).map_err(|error| error.to_string())?;
    match dump.filters.as_slice() {
        [filter] => Ok(filter.program.clone()),
        filters => Err(format!("{} filters are installed", filters.len())),
    }
}
