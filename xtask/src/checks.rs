//! The tasks of the package `callgate-checks`, which need the product or read its sources. Its program is built only when
//! one of them is asked for.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use callgate_tasks::{Elsewhere, workspace};

/// The program, and its package.
const PROGRAM: &str = "callgate-checks";

/// Its tasks with their summaries.
const SUMMARIES: &[(&str, &str)] = &[
    ("constants", "generate the table of constants, or check that it is current"),
    ("figures", "write the page of the measured values that documents quote, and mark older ones"),
    ("proofs", "prove programs by diagrams and by cases, and compare the proofs"),
    (
        "seccomp-names",
        "generate the C header with the numbers of syscalls, or check that it is current",
    ),
    (
        "structure",
        "check files and their imports, dependencies between packages, paths in documents",
    ),
    ("syscalls", "generate the syscall tables, or check that they are current"),
    (
        "systemd-groups",
        "generate the table of systemd's groups of syscalls, or check that it is current",
    ),
    ("verified", "ask the checker that is proved in Coq about the programs of many policies"),
];

/// The tasks, for the command line.
pub(crate) const CHECKS: Elsewhere = Elsewhere { tasks: SUMMARIES, run };

/// Runs the program in place of this process.
fn run(arguments: &[String]) -> ExitCode {
    let mut command = built_beside().unwrap_or_else(by_cargo);
    let error = command.args(arguments).exec();
    eprintln!("xtask: {}: {error}", command.get_program().to_string_lossy());
    ExitCode::FAILURE
}

/// The program in the directory of this one, unless Cargo started this process: `cargo xtask` answers for the sources as they
/// are, and `target/debug/xtask` for what was built together.
fn built_beside() -> Option<Command> {
    let is_run_by_cargo = std::env::var_os("CARGO_MANIFEST_DIR").is_some();
    let beside = std::env::current_exe().ok()?.with_file_name(PROGRAM);
    (!is_run_by_cargo && beside.exists()).then(|| Command::new(beside))
}

/// Cargo, which builds the program if it is not current. It says so: the first build takes minutes.
fn by_cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--release", "--locked", "--package", PROGRAM, "--manifest-path"]);
    cargo.arg(workspace().join("Cargo.toml")).arg("--");
    cargo
}
