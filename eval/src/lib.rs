//! Evaluations of Callgate: comparison with other compilers, runtimes and kernels, the cost of recording, and inputs
//! that are made to be expensive. `cargo xtask` runs them; each directory or file is one of its tasks.

pub mod apt;
mod compare;
mod containers;
pub mod files;
mod hostile;
mod kernels;
mod machine;
mod recording;
mod refusals;
mod smt;
mod table;

use std::path::{Path, PathBuf};

/// What a task returns: the error is a message for the person at the terminal.
pub type Result<T, E = String> = std::result::Result<T, E>;

/// A task of `cargo xtask`.
pub struct Task {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for the list of tasks.
    pub summary: &'static str,
    /// Its full help.
    pub help: &'static str,
    /// Runs it with its arguments.
    pub run: fn(&[String]) -> Result<()>,
}

/// The evaluations.
pub const TASKS: &[Task] = &[
    Task {
        name: "compare",
        summary: "compile the same rules with other compilers, and write down how they do",
        help: compare::HELP,
        run: compare::run,
    },
    Task {
        name: "hostile",
        summary: "what inputs that are made to take long or much memory cost each reader",
        help: hostile::HELP,
        run: hostile::run,
    },
    Task {
        name: "containers",
        summary: "what runc and crun install for random profiles in real containers",
        help: containers::HELP,
        run: containers::run,
    },
    Task {
        name: "kernels",
        summary: "boot other kernels in emulation: what filters mean and cost there",
        help: kernels::HELP,
        run: kernels::run_task,
    },
    Task {
        name: "recording",
        summary: "how much longer programs take when they are recorded, and under strace",
        help: recording::HELP,
        run: recording::run,
    },
    Task {
        name: "refusals",
        summary: "random rules to libseccomp and to callgate: which are refused",
        help: refusals::HELP,
        run: refusals::run,
    },
    Task {
        name: "smt",
        summary: "ask z3 and cvc5 whether filters and their programs are equivalent",
        help: smt::HELP,
        run: smt::run,
    },
];

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
