//! The list of tasks.

use crate::{
    binaries, bpf_sim, built_in_profiles, compare, containers, converted, documents, experiments,
    firecracker, hostile, kafel, kernels, libseccomp_names, libseccomp_program, libseccomp_rules,
    libseccomp_speed, libseccomp_suite, lxc, measuring, minijail, optimum, pasted_c, profiles,
    recording, refusals, smt, snap, startup, suites, systemd, truth, workloads,
};
use callgate_tasks::Task;

/// The evaluation tasks.
pub(crate) const TASKS: &[Task] = &[
    Task {
        name: "binaries",
        summary: "compare the syscalls found in code with recordings, and write docs/binaries.md",
        help: binaries::HELP,
        run: binaries::run,
    },
    Task {
        name: "bpf-sim",
        summary: "run an exported filter on a syscall, like libseccomp's scmp_bpf_sim",
        help: bpf_sim::HELP,
        run: bpf_sim::run,
    },
    Task {
        name: "built-in-profiles",
        summary: "compare the tables of built-in profiles with the originals",
        help: built_in_profiles::HELP,
        run: built_in_profiles::run,
    },
    Task {
        name: "compare",
        summary: "compare with other compilers and engines, and write docs/comparison.md",
        help: compare::HELP,
        run: compare::run,
    },
    Task {
        name: "drop-in",
        summary: "compare libseccomp.so.2 with the original for random rule sets",
        help: compare::DROP_IN_HELP,
        run: compare::drop_in,
    },
    Task {
        name: "experiment",
        summary: "repeat one published experiment with its own filters, and with yours",
        help: measuring::EXPERIMENT_HELP,
        run: measuring::experiment,
    },
    Task {
        name: "throughput",
        summary: "run a real server and its client under filters",
        help: measuring::THROUGHPUT_HELP,
        run: measuring::throughput,
    },
    Task {
        name: "experiments",
        summary: "repeat published experiments, and write docs/experiments.md and docs/published.md",
        help: experiments::HELP,
        run: experiments::run,
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
        name: "converted",
        summary: "compile converted filters with the programs that use the languages",
        help: converted::HELP,
        run: converted::run,
    },
    Task {
        name: "firecracker",
        summary: "compare the reader of Firecracker's filters with the crate seccompiler",
        help: firecracker::HELP,
        run: firecracker::run,
    },
    Task {
        name: "json",
        summary: "compare the reader of profiles in JSON with Go's encoding/json",
        help: documents::JSON_HELP,
        run: documents::json,
    },
    Task {
        name: "yaml",
        summary: "compare the reader of profiles in YAML with Go's sigs.k8s.io/yaml",
        help: documents::YAML_HELP,
        run: documents::yaml,
    },
    Task {
        name: "kafel",
        summary: "compare the reader of Kafel policies with Kafel's own compiler",
        help: kafel::HELP,
        run: kafel::run,
    },
    Task {
        name: "pasted-c",
        summary: "compare the reader of C as text with gcc",
        help: pasted_c::HELP,
        run: pasted_c::run,
    },
    Task {
        name: "snap",
        summary: "compare the reader of profiles of snaps with snap-seccomp",
        help: snap::HELP,
        run: snap::run,
    },
    Task {
        name: "lxc",
        summary: "compare the reader of LXC's profiles with LXC's own parser",
        help: lxc::HELP,
        run: lxc::run,
    },
    Task {
        name: "kernels",
        summary: "compare verdicts and costs of filters under emulated kernels",
        help: kernels::HELP,
        run: kernels::run_task,
    },
    Task {
        name: "libseccomp-names",
        summary: "compare names and numbers of syscalls with those of libseccomp",
        help: libseccomp_names::HELP,
        run: libseccomp_names::run,
    },
    Task {
        name: "libseccomp-program",
        summary: "print which libseccomp.so.2 is loaded, and the program that it makes of rules",
        help: libseccomp_program::HELP,
        run: libseccomp_program::run,
    },
    Task {
        name: "libseccomp-rules",
        summary: "compare random rules of a libseccomp.so.2 with an independent evaluator",
        help: libseccomp_rules::HELP,
        run: libseccomp_rules::run,
    },
    Task {
        name: "libseccomp-speed",
        summary: "measure how long libraries libseccomp.so.2 take for the same rules",
        help: libseccomp_speed::HELP,
        run: libseccomp_speed::run,
    },
    Task {
        name: "libseccomp-suite",
        summary: "run libseccomp's regression tests against a libseccomp.so.2",
        help: libseccomp_suite::HELP,
        run: libseccomp_suite::run,
    },
    Task {
        name: "minijail",
        summary: "compare the reader of minijail's policies with minijail's own compiler",
        help: minijail::HELP,
        run: minijail::run,
    },
    Task {
        name: "optimum",
        summary: "compare small programs with the best ones, and write docs/optimum.md",
        help: optimum::HELP,
        run: optimum::run,
    },
    Task {
        name: "profiles",
        summary: "compare random container profiles with an independent evaluator",
        help: profiles::HELP,
        run: profiles::run,
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
    Task {
        name: "suites",
        summary: "check profiles from test suites of Debian programs, for docs/generate.md",
        help: suites::HELP,
        run: suites::run,
    },
    Task {
        name: "systemd",
        summary: "compare the filters of systemd's units with those that are read from the units",
        help: systemd::HELP,
        run: systemd::run,
    },
    Task {
        name: "startup",
        summary: "measure the start of a process up to its filter, and write docs/startup.md",
        help: startup::HELP,
        run: startup::run,
    },
    Task {
        name: "tournament",
        summary: "compile random rule sets with Callgate and every installed peer",
        help: compare::TOURNAMENT_HELP,
        run: compare::tournament,
    },
    Task {
        name: "truth",
        summary: "check what is measured against a loop in C, on a quiet and on a busy machine",
        help: truth::HELP,
        run: truth::run,
    },
    Task {
        name: "workloads",
        summary: "run programs under the profiles that are generated from their recordings",
        help: workloads::HELP,
        run: workloads::run,
    },
];
