//! Evaluations of Callgate: comparison with other compilers, runtimes and kernels, the cost of recording, and
//! hostile inputs. `cargo xtask` runs them; each directory or file is one of its tasks.

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
mod task;

pub use task::{Result, Task, workspace};

/// The evaluation tasks.
pub const TASKS: &[Task] = &[
    Task {
        name: "compare",
        summary: "compare with other compilers and engines, and write docs/comparison.md",
        help: compare::HELP,
        run: compare::run,
    },
    Task {
        name: "hostile",
        summary: "measure time and memory of each reader for hostile inputs",
        help: hostile::HELP,
        run: hostile::run,
    },
    Task {
        name: "containers",
        summary: "compare the filters of real containers under random profiles",
        help: containers::HELP,
        run: containers::run,
    },
    Task {
        name: "kernels",
        summary: "compare verdicts and costs of filters under emulated kernels",
        help: kernels::HELP,
        run: kernels::run_task,
    },
    Task {
        name: "recording",
        summary: "measure the slowdown of recorded programs, compared with strace",
        help: recording::HELP,
        run: recording::run,
    },
    Task {
        name: "refusals",
        summary: "compare the random rules that libseccomp and callgate refuse",
        help: refusals::HELP,
        run: refusals::run,
    },
    Task {
        name: "smt",
        summary: "check with z3 and cvc5 that programs are equivalent to their filters",
        help: smt::HELP,
        run: smt::run,
    },
];
