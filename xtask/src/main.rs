//! Generators and comparisons for development: `cargo xtask help`. One file or directory per task.

mod apt;
mod compare;
mod containers;
mod files;
mod hostile;
mod kernels;
mod machine;
mod recording;
mod refusals;
mod smt;
mod syscalls;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a task returns: an error is a message for the person at the terminal.
type Result<T, E = String> = std::result::Result<T, E>;

/// A task: its name, one line about it, its full help, and what it does with its arguments.
struct Task {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const TASKS: &[Task] = &[
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
    Task {
        name: "syscalls",
        summary: "generate the tables of system calls, or check that they are current",
        help: syscalls::HELP,
        run: syscalls::run,
    },
];

/// The root of the workspace.
fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask TASK [OPTION]...\n\ntasks:\n");
    for task in TASKS {
        text += &format!("  {:<12}{}\n", task.name, task.summary);
    }
    text + "\n`cargo xtask TASK --help` says more about one of them.\n"
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    let asks_help = |word: &String| matches!(word.as_str(), "help" | "--help" | "-h");
    if asks_help(name) {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprint!("xtask: there is no task {name:?}\n\n{}", usage());
        return ExitCode::from(2);
    };
    if rest.iter().any(asks_help) {
        print!("{}", task.help);
        return ExitCode::SUCCESS;
    }
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}
