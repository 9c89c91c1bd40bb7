//! Development tasks: `cargo xtask help`. The generators of the tables of syscalls and constants, the checks of the tree
//! and the installation of the C library are here; experiments and comparisons are in the workspace `lab`.

mod constants;
mod generator_options;
mod install;
mod paths;
mod proofs;
mod release;
mod seccomp_names;
mod structure;
mod syscalls;
mod systemd_groups;
mod wasm;
mod web;

use std::process::ExitCode;

use callgate_tasks::Task;

const TASKS: &[Task] = &[
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
        name: "release",
        summary: "build, check and list everything that is published",
        help: release::HELP,
        run: release::run,
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

fn main() -> ExitCode {
    callgate_tasks::run("xtask", TASKS)
}
