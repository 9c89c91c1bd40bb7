//! Tasks of `cargo xtask` that need the product or read its sources: generators of the tables of syscalls and constants, and
//! checks of the tree. `cargo xtask` starts this program; it is a package of its own so that other tasks, such as the
//! installation of a library, do not wait until the product is built.

mod constants;
mod figures;
mod generator_options;
mod proofs;
mod seccomp_names;
mod structure;
mod syscalls;
mod systemd_groups;
mod verified;

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
        name: "figures",
        summary: "write the page of the measured values that documents quote, and mark older ones",
        help: figures::HELP,
        run: figures::run,
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
        name: "verified",
        summary: "ask the checker that is proved in Coq about the programs of many policies",
        help: verified::HELP,
        run: verified::run,
    },
];

fn main() -> ExitCode {
    callgate_tasks::run("xtask", TASKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask` lists the tasks without this program.
    #[test]
    fn the_tasks_are_those_that_xtask_lists() {
        let path = callgate_tasks::workspace().join("xtask/src/checks.rs");
        let list = std::fs::read_to_string(path).unwrap();
        // However rustfmt breaks the lines.
        let list = list.split_whitespace().collect::<Vec<_>>().join(" ").replace("( \"", "(\"");
        for Task { name, summary, .. } in TASKS {
            assert!(list.contains(&format!("(\"{name}\", \"{summary}\"")), "{name}");
        }
        assert_eq!(list.matches(" (\"").count(), TASKS.len());
    }
}
