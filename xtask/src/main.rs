//! Development tasks: `cargo xtask help`. The installation of the C library, releases and packages for other languages are
//! here. What needs the product is in the package `callgate-checks`, to which `checks` leads; experiments and comparisons are
//! in the workspace `lab`.

mod checks;
mod install;
mod paths;
mod release;
mod wasm;
mod web;

use std::process::ExitCode;

use callgate_tasks::Task;

const TASKS: &[Task] = &[
    Task {
        name: "install",
        summary: "build and install the C library libseccomp.so.2 with its headers",
        help: install::HELP,
        run: install::run,
    },
    Task {
        name: "release",
        summary: "build, check and list everything that is published",
        help: release::HELP,
        run: release::run,
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
    callgate_tasks::run_with("xtask", TASKS, &checks::CHECKS)
}
