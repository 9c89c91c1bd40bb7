//! Development tasks: `cargo xtask help`. The evaluations are in the package `callgate-eval`; the generators of the
//! tables of syscalls and constants, the checks of the tree and the installation of the C library are here.

mod constants;
mod generator_options;
mod install;
mod proofs;
mod seccomp_names;
mod structure;
mod syscalls;
mod systemd_groups;
mod wasm;
mod web;

use std::process::ExitCode;

use callgate_eval::Task;

const OWN: &[Task] = &[
    Task {
        name: "constants",
        summary: "generate the table of constants, or check that it is current",
        help: constants::HELP,
        run: constants::run,
    },
    Task {
        name: "install",
        summary: "build and install the C library libseccomp.so.2 with its headers",
        help: install::HELP,
        run: install::run,
    },
    Task {
        name: "proofs",
        summary: "prove programs by diagrams and by cases, and compare the proofs",
        help: proofs::HELP,
        run: proofs::run,
    },
    Task {
        name: "seccomp-names",
        summary: "generate the C header with the numbers of syscalls, or check that it is current",
        help: seccomp_names::HELP,
        run: seccomp_names::run,
    },
    Task {
        name: "structure",
        summary: "check files and their imports, dependencies between packages, paths in documents",
        help: structure::HELP,
        run: structure::run,
    },
    Task {
        name: "syscalls",
        summary: "generate the syscall tables, or check that they are current",
        help: syscalls::HELP,
        run: syscalls::run,
    },
    Task {
        name: "systemd-groups",
        summary: "generate the table of systemd's groups of syscalls, or check that it is current",
        help: systemd_groups::HELP,
        run: systemd_groups::run,
    },
    Task {
        name: "wasm",
        summary: "build the WebAssembly module and the packages for JavaScript and Go",
        help: wasm::HELP,
        run: wasm::run,
    },
    Task {
        name: "web",
        summary: "build the web page as a directory of static files",
        help: web::HELP,
        run: web::run,
    },
];

/// All tasks, by name.
fn tasks() -> Vec<&'static Task> {
    let mut tasks: Vec<&Task> = callgate_eval::TASKS.iter().chain(OWN).collect();
    tasks.sort_by_key(|task| task.name);
    tasks
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask TASK [OPTION]...\n\ntasks:\n");
    let width = tasks().iter().map(|task| task.name.len()).max().unwrap_or(0);
    for task in tasks() {
        text += &format!("  {:<width$}  {}\n", task.name, task.summary);
    }
    text + "\n`cargo xtask TASK --help` describes a task.\n"
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
    let Some(task) = tasks().into_iter().find(|task| task.name == name) else {
        eprint!("xtask: unknown task {name:?}\n\n{}", usage());
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
