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
mod task;

pub use task::{Result, Task, workspace};

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
