//! The figures as they were published, by the tables of `callgate_experiments::experiment`.

use callgate_experiments::experiment::Experiment;

/// A published measurement.
pub(super) struct Original {
    pub(super) experiment: Experiment,
    /// Who published it, and on what it was measured.
    pub(super) source: &'static str,
    pub(super) tables: &'static [Figures],
    /// Why the figures differ from ours, apart from the machine.
    pub(super) differences: &'static str,
}

/// Published figures for one of our tables.
pub(super) struct Figures {
    /// The key of our table.
    pub(super) key: &'static str,
    /// The titles of columns beside ours. Without columns, the rows are below ours, with the same columns.
    pub(super) columns: &'static [&'static str],
    /// The label of our row, or the title of a row below ours, and the figures.
    pub(super) rows: &'static [(&'static str, &'static [&'static str])],
}

/// `syscall` of UnixBench with a list of syscalls, as published for both lists.
const UNIXBENCH: &[(&str, &[&str])] = &[
    ("seccomp_off", &["10684939", ""]),
    ("seccomp_on_1_filters", &["8513805", "19.8"]),
    ("seccomp_on_4_filters", &["7105592", "33.0"]),
    ("seccomp_on_32_filters", &["2308677", "78.3"]),
];

pub(super) const ALL: &[Original] = &[
    Original {
        experiment: Experiment::Getpid,
        source: "Kees Cook, 2020, x86-64, `bpf_jit_enable` 0, and 1 with `bpf_jit_harden` 1 and 0.",
        tables: &[Figures {
            key: "getpid",
            columns: &["JIT off", "JIT hardened", "JIT on"],
            rows: &[
                ("native", &["633", "635", "636"]),
                ("RET_ALLOW 1 filter", &["737", "678", "677"]),
                ("RET_ALLOW 2 filters", &["817", "695", "695"]),
                ("BPF-less allow", &["657", "654", "660"]),
                ("total overhead for 1 filter", &["104", "43", "41"]),
                ("total overhead for 2 filters", &["184", "60", "59"]),
                ("per-filter overhead", &["80", "17", "18"]),
                ("entry overhead", &["24", "26", "23"]),
                ("BPF overhead per filter", &["80", "24", "17"]),
            ],
        }],
        differences: "The published processor took 635 ns for the syscall itself, with the mitigations of its time. Linux \
                      5.11 and later answer `BPF-less allow` from a cache; the published row is of a changed kernel.",
    },
    Original {
        experiment: Experiment::UnixbenchSyscall,
        source: "Huawei, 2020, aarch64, Linux 5.7-rc7, JIT on.",
        tables: &[
            Figures { key: "original", columns: &["loops in 10 s", "overhead %"], rows: UNIXBENCH },
            Figures {
                key: "inspecting",
                columns: &["loops in 10 s (original)", "overhead %"],
                rows: UNIXBENCH,
            },
            Figures {
                key: "replaced",
                columns: &["loops in 10 s", "overhead %"],
                rows: &[
                    ("seccomp_off", &["10685244", ""]),
                    ("seccomp_on_1_filters", &["9146483", "14.1"]),
                    ("seccomp_on_4_filters", &["8969886", "16.0"]),
                    ("seccomp_on_32_filters", &["6454372", "39.6"]),
                ],
            },
            Figures {
                key: "bpf",
                columns: &["% of the time"],
                rows: &[
                    ("1_filters", &["5.7"]),
                    ("4_filters", &["17.0"]),
                    ("32_filters", &["38.7"]),
                ],
            },
        ],
        differences: "Linux 5.11 and later answer the published filters from a cache, so the number of filters hardly matters \
                      in the first table; in the second, they run. `Replaced` was a kernel whose function that calls a program \
                      returned ALLOW; here each program is called and loads a word, so its overhead is larger, and the \
                      overhead of BPF, the difference, smaller.",
    },
    Original {
        experiment: Experiment::LongJumps,
        source: "Alexei Starovoitov, 2014, x86-64, the classic interpreter (old) and the new one; without \
                 a JIT compiler, which did not apply to seccomp.",
        tables: &[
            Figures {
                key: "interpreted",
                columns: &["seconds, old BPF", "new BPF"],
                rows: LONG_JUMPS,
            },
            Figures {
                key: "compiled",
                columns: &["seconds, old BPF", "new BPF"],
                rows: LONG_JUMPS,
            },
            Figures {
                key: "compiled_last",
                columns: &["seconds, old BPF", "new BPF"],
                rows: LONG_JUMPS,
            },
        ],
        differences: "Compiled filters are several times faster than the interpreter. `syscall(199, 100)` takes longer today: it \
                      is `fremovexattr`; `gettid` is a call whose own time is short.",
    },
    Original {
        experiment: Experiment::SocketFilters,
        source: "Alexei Starovoitov, 2014, x86-64: the same packet (hot) and 10,000 packets (cold).",
        tables: &[Figures {
            key: "kernel",
            columns: &[],
            rows: &[
                ("published: old BPF", &["90", "101", "192", "202"]),
                ("published: new BPF", &["31", "71", "47", "97"]),
                ("published: old BPF JIT", &["12", "34", "17", "44"]),
            ],
        }],
        differences: "The published figures are of a loop inside the kernel that only runs the filter. Here a whole packet is sent, \
                      and the filter's part of it is a difference; cold evicts all caches, which 10,000 packets do not. The \
                      table of Callgate's engines is of a loop, like the published one.",
    },
    Original {
        experiment: Experiment::OpenReadClose,
        source: "2017, 100 runs, with a list of names made on a 32-bit machine.",
        tables: &[Figures {
            key: "runs",
            columns: &[],
            rows: &[("published", &["", "0.58", "5.84", "", "44"])],
        }],
        differences: "The published kernel did not have the cache. Its \
                      5.84 µs are per turn of three syscalls.",
    },
    Original {
        experiment: Experiment::CondWait,
        source: "2022, Linux 3.10, whose interpreter runs seccomp filters; a sampling profiler.",
        tables: &[
            Figures { key: "interpreted_share", columns: &["share %"], rows: CONDWAIT },
            Figures { key: "share", columns: &["share %"], rows: CONDWAIT },
        ],
        differences: "Linux 3.10 has neither the cache nor a JIT compiler for seccomp, so the rows that inspect `futex` correspond to \
                      the published ones. Here the share is derived from the CPU time of waits with and without the filter.",
    },
    Original {
        experiment: Experiment::Weighted,
        source: "gVisor, 2024: its own optimizer removes about 29 % of the mean overhead of its filters for Systrap.",
        tables: &[],
        differences: "The random mix is drawn once, as a fixed sequence for all filters; gVisor's `secbench` draws with weights \
                      while it measures, from its 10 most frequent syscalls, and published the change over the smallest filter \
                      without the number of runs or their spread. The filters here are libseccomp's and Callgate's for the profile \
                      `container-default`, with the published frequencies; `cargo lab experiment weighted BEFORE AFTER` measures \
                      gVisor's.",
    },
];

const LONG_JUMPS: &[(&str, &[&str])] = &[
    ("short filter, libseccomp", &["2.7", "2.58"]),
    ("large filter, libseccomp", &["8.6", "5.7"]),
];

const CONDWAIT: &[(&str, &[&str])] = &[
    ("list, inspecting", &["50"]),
    ("tree, inspecting", &["7"]),
    ("denylist, inspecting", &["20"]),
];
