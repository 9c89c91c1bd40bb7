//! Development tasks: `cargo xtask help`. The installation of the C library, releases, packages for other languages and the book
//! are here. What needs the product is in the package `callgate-checks`, to which `checks` leads; experiments and comparisons are
//! in the workspace `lab`.

mod book;
mod checks;
mod install;
mod owner;
mod paths;
mod release;
mod wasm;
mod web;

use std::process::ExitCode;

use callgate_tasks::Task;

const TASKS: &[Task] = &[
    Task {
        name: "book",
        summary: "build the pages of docs as a book with search, and check its links",
        help: book::HELP,
        run: book::run,
    },
    Task {
        name: "install",
        summary: "build and install libseccomp.so.2 or libcallgate with its headers",
        help: install::HELP,
        run: install::run,
    },
    Task {
        name: "owner",
        summary: "print or change where the tree is published, or check that all files agree",
        help: owner::HELP,
        run: owner::run,
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
