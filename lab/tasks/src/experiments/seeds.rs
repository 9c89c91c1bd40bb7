//! The publications whose measurements are repeated, one row per measurement: the author's set-up and figure, ours, and the
//! difference; or why it cannot be repeated. lab/results/published.md is made of them.

use callgate_experiments::experiment::Experiment;

/// A publication.
pub(super) struct Publication {
    pub(super) title: &'static str,
    pub(super) rows: &'static [Row],
}

/// A measurement.
pub(super) struct Row {
    /// What was measured, and how.
    pub(super) theirs: &'static str,
    /// What is measured here, and the command.
    pub(super) here: &'static str,
    /// What is different, apart from the machine.
    pub(super) difference: &'static str,
    /// The published figure.
    pub(super) published: &'static str,
    pub(super) ours: Ours,
}

/// Our figure.
pub(super) enum Ours {
    /// Figures of an experiment, in the tables of lab/results/experiments.md.
    Of(Experiment, &'static [Place]),
    /// A page with figures that another command writes, or that has its own command.
    On(&'static str),
    /// There is none, for this reason.
    Not(&'static str),
}

/// A figure of a table.
pub(super) struct Place {
    /// What it is, in the cell.
    pub(super) label: &'static str,
    pub(super) table: &'static str,
    pub(super) row: &'static str,
    pub(super) column: &'static str,
    pub(super) unit: &'static str,
}

const fn place(
    label: &'static str,
    [table, row, column]: [&'static str; 3],
    unit: &'static str,
) -> Place {
    Place { label, table, row, column, unit }
}

pub(super) const PUBLICATIONS: &[Publication] = &[
    Publication {
        title: "The kernel's BPF interpreter rewritten (commit bd4cf0ed33, 2014)",
        rows: &[
            Row {
                theirs: "tcpdump's `port 22` and one of its manual, x86-64, in a loop inside the kernel; the same packet, and 10,000",
                here: "packets sent to a socket with the filter: `cargo lab experiment socket-filters`",
                difference: "the filter's part is a difference; cold evicts all caches; the JIT compiler cannot be switched off everywhere",
                published: "new BPF: #1 31 ns hot, 71 cold; #2 47 and 97; old JIT: 12, 34, 17, 44",
                ours: Ours::Of(
                    Experiment::SocketFilters,
                    &[
                        place("#1 hot", ["kernel", "JIT, accepted", "#1 hot"], "ns"),
                        place("#1 cold", ["kernel", "JIT, accepted", "#1 cold"], "ns"),
                        place("#2 hot", ["kernel", "JIT, accepted", "#2 hot"], "ns"),
                        place("#2 cold", ["kernel", "JIT, accepted", "#2 cold"], "ns"),
                    ],
                ),
            },
            Row {
                theirs: "the same in a loop that only runs the filter",
                here: "the same packets in a loop, in Callgate's interpreter of decoded instructions and in its JIT compiler, in user space: `cargo lab experiment socket-filters`",
                difference: "other engines: the kernel's interpreter cannot be called alone",
                published: "new BPF: #1 31 ns hot; old JIT: 12",
                ours: Ours::Of(
                    Experiment::SocketFilters,
                    &[
                        place("decoded", ["engines", "decoded, accepted", "#1 hot"], "ns"),
                        place("JIT", ["engines", "jit, accepted", "#1 hot"], "ns"),
                    ],
                ),
            },
            Row {
                theirs: "the same on i386 and arm32",
                here: "–",
                difference: "–",
                published: "new BPF, #1 hot: 40 ns and 180 ns",
                ours: Ours::Not("needs such machines; an emulator has no nanoseconds"),
            },
            Row {
                theirs: "10 million `syscall(199, 100)` under 2 and 200 rules of libseccomp's test 05, x86-64, interpreted",
                here: "the same calls, and `gettid(100)`, extrapolated to 10 million: `cargo lab experiment long-jumps`",
                difference: "call 199 is `fremovexattr` today; compiled filters where the JIT compiler cannot be switched off",
                published: "2 rules: 2.7 s old, 2.58 s new; 200 rules: 8.6 s and 5.7 s",
                ours: Ours::Of(
                    Experiment::LongJumps,
                    &[
                        place("2 rules", ["compiled", "short filter, libseccomp", "seconds"], "s"),
                        place(
                            "200 rules",
                            ["compiled", "large filter, libseccomp", "seconds"],
                            "s",
                        ),
                        place(
                            "200 rules, Callgate",
                            ["compiled", "large filter, Callgate", "seconds"],
                            "s",
                        ),
                    ],
                ),
            },
            Row {
                theirs: "the same on i386 and arm32",
                here: "–",
                difference: "–",
                published: "200 rules, new BPF: 3.8 s and 13.5 s",
                ours: Ours::Not("needs such machines"),
            },
            Row {
                theirs: "the share of the interpreter in it, by a sampling profiler",
                here: "the filter's part of the time: `cargo lab experiment long-jumps`",
                difference: "a difference of times instead of samples",
                published: "200 rules: 73.4 % old, 66.2 % new",
                ours: Ours::Of(
                    Experiment::LongJumps,
                    &[place(
                        "200 rules: filter",
                        ["compiled", "large filter, libseccomp", "filter: seconds"],
                        "s of the seconds above",
                    )],
                ),
            },
        ],
    },
    Publication {
        title: "Seccomp-bpf and its performance impact (2017)",
        rows: &[
            Row {
                theirs: "ffmpeg encodes a small video 20 times, with and without a filter of 23 names",
                here: "ffmpeg encodes 640×360 as MPEG-4 under `container-default`: `cargo lab throughput ffmpeg`",
                difference: "another video and another list: the published one omits syscalls that ffmpeg needs today",
                published: "no increase was seen",
                ours: Ours::On("workloads.md#figures"),
            },
            Row {
                theirs: "`/dev/zero` opened, read and closed 100,000 times, 100 runs, under the same filter",
                here: "the same loop and list: `cargo lab experiment open-read-close`",
                difference: "medians of differences instead of differences of means; since Linux 5.11 the cache answers, so the list also inspects an argument",
                published: "+0.58 s, 5.84 µs per turn, 44 %",
                ours: Ours::Of(
                    Experiment::OpenReadClose,
                    &[
                        place("as published", ["runs", "as published", "µs per turn"], "µs"),
                        place("inspecting", ["runs", "published, inspecting", "µs per turn"], "µs"),
                        place("inspecting", ["runs", "published, inspecting", "overhead %"], "%"),
                    ],
                ),
            },
        ],
    },
    Publication {
        title: "A new seccomp mode (linux-security-module, 2020)",
        rows: &[
            Row {
                theirs: "getpid without a filter, under one and two that return ALLOW, and without BPF; JIT on (Kees Cook)",
                here: "the same: `cargo lab experiment getpid`; other settings of the JIT compiler as root, where the kernel permits them",
                difference: "filters load an argument, because the cache would answer them; \"BPF-less\" is what the cache answers",
                published: "636, 677, 695 and 660 ns; entry 23 ns, per filter 18 ns",
                ours: Ours::Of(
                    Experiment::Getpid,
                    &[
                        place("native", ["getpid", "native", "JIT on"], "ns"),
                        place("one", ["getpid", "RET_ALLOW 1 filter", "JIT on"], "ns"),
                        place("two", ["getpid", "RET_ALLOW 2 filters", "JIT on"], "ns"),
                        place("BPF-less", ["getpid", "BPF-less allow", "JIT on"], "ns"),
                        place("entry", ["getpid", "entry overhead", "JIT on"], "ns"),
                        place("per filter", ["getpid", "per-filter overhead", "JIT on"], "ns"),
                    ],
                ),
            },
            Row {
                theirs: "the same with the interpreter",
                here: "the same: `cargo lab experiment getpid`",
                difference: "kernels with `CONFIG_BPF_JIT_ALWAYS_ON` have no interpreter; [kernels.md](kernels.md) has one, in executed instructions",
                published: "633, 737, 817 and 657 ns; per filter 80 ns",
                ours: Ours::Of(
                    Experiment::Getpid,
                    &[
                        place("native", ["getpid", "native", "JIT off"], "ns"),
                        place("one", ["getpid", "RET_ALLOW 1 filter", "JIT off"], "ns"),
                        place("per filter", ["getpid", "per-filter overhead", "JIT off"], "ns"),
                    ],
                ),
            },
            Row {
                theirs: "UnixBench's loop for 10 s under 1, 4 and 32 equal filters of 20 rules, aarch64, Linux 5.7 (Huawei)",
                here: "the same loop and rules: `cargo lab experiment unixbench-syscall`",
                difference: "the rules also inspect an argument: without that, the cache answers since Linux 5.11",
                published: "overhead 19.8, 33.0 and 78.3 %",
                ours: Ours::Of(
                    Experiment::UnixbenchSyscall,
                    &[
                        place("1", ["inspecting", "seccomp_on_1_filters", "overhead %"], "%"),
                        place("4", ["inspecting", "seccomp_on_4_filters", "overhead %"], "%"),
                        place("32", ["inspecting", "seccomp_on_32_filters", "overhead %"], "%"),
                        place(
                            "32 merged",
                            ["callgate", "Callgate, 32 merged, inspecting", "overhead %"],
                            "%",
                        ),
                    ],
                ),
            },
            Row {
                theirs: "the same in a kernel whose function that runs a program returns ALLOW",
                here: "stacks of the shortest programs that run: `cargo lab experiment unixbench-syscall`",
                difference: "no changed kernel: each program is called and loads one word",
                published: "overhead 14.1, 16.0 and 39.6 %; BPF 5.7, 17.0 and 38.7 %",
                ours: Ours::Of(
                    Experiment::UnixbenchSyscall,
                    &[
                        place("1", ["replaced", "seccomp_on_1_filters", "overhead %"], "%"),
                        place("4", ["replaced", "seccomp_on_4_filters", "overhead %"], "%"),
                        place("32", ["replaced", "seccomp_on_32_filters", "overhead %"], "%"),
                        place("BPF of 32", ["bpf", "32_filters", "% of the time"], "%"),
                    ],
                ),
            },
            Row {
                theirs: "the filters of systemd-resolved, counted in /proc",
                here: "32 filters merged, in the row above; `callgate merge pid:PID` merges those of a process",
                difference: "the loop is UnixBench's, not systemd-resolved's",
                published: "32 filters; no time",
                ours: Ours::Not("there is no figure to compare with"),
            },
        ],
    },
    Publication {
        title: "sk_run_filter and MySQL in a container (2022)",
        rows: &[
            Row {
                theirs: "256 threads in `pthread_cond_timedwait` under Docker's list, Linux 3.10; samples of a profiler in the interpreter",
                here: "the same threads under libseccomp's list of the published names: `cargo lab experiment condwait`; the same futex calls of one thread",
                difference: "compiled filters; the share is a difference of CPU times; futex is inspected, because the cache would answer it",
                published: "50 % of the CPU time",
                ours: Ours::Of(
                    Experiment::CondWait,
                    &[
                        place("share", ["share", "list, inspecting", "share %"], "%"),
                        place("one thread", ["futex", "list, inspecting", "over all-allow"], "ns"),
                    ],
                ),
            },
            Row {
                theirs: "the same under a denylist of 45 names",
                here: "the same: `cargo lab experiment condwait`",
                difference: "as above",
                published: "20 %",
                ours: Ours::Of(
                    Experiment::CondWait,
                    &[
                        place("share", ["share", "denylist, inspecting", "share %"], "%"),
                        place(
                            "one thread",
                            ["futex", "denylist, inspecting", "over all-allow"],
                            "ns",
                        ),
                    ],
                ),
            },
            Row {
                theirs: "the same under the list as libseccomp's binary tree",
                here: "the same, and Callgate's program: `cargo lab experiment condwait`",
                difference: "as above",
                published: "7 %",
                ours: Ours::Of(
                    Experiment::CondWait,
                    &[
                        place("share", ["share", "tree, inspecting", "share %"], "%"),
                        place("one thread", ["futex", "tree, inspecting", "over all-allow"], "ns"),
                        place(
                            "Callgate",
                            ["futex", "Callgate, inspecting", "over all-allow"],
                            "ns",
                        ),
                    ],
                ),
            },
            Row {
                theirs: "the three filters above, interpreted by Linux 3.10",
                here: "the same waits in Debian's kernels 5.10, 6.1 and 6.12, with the interpreter, the JIT compiler and the cache: `cargo lab kernels`",
                difference: "shares of executed instructions in an emulator; 3.10 is not in Debian's archive any more",
                published: "50 %, 20 % and 7 %",
                ours: Ours::On("kernels.md#share-of-a-wait-that-the-filter-takes"),
            },
            Row {
                theirs: "instructions of the filter in the kernel, read by a module",
                here: "`cargo lab experiment condwait --json`: `insns` of each filter",
                difference: "the names are those of the article; the profile of that host was not published",
                published: "953 for the list, 52 for the denylist",
                ours: Ours::Not("another profile has another number"),
            },
            Row {
                theirs: "MySQL under sysbench in a container of 1 processor and 4 GiB, 40 tables of 10 million rows, Linux 3.10",
                here: "MariaDB under sysbench, one table of 10,000 rows, no container: `cargo lab throughput mariadb --load LOAD`",
                difference: "the kernel's cache answers nearly all syscalls of `container-default`",
                published: "PS −46 %, RO −42 %, RW −25 %, UPDATE_INDEX −16 %, UPDATE_NON_INDEX −38 %",
                ours: Ours::On("workloads.md#figures"),
            },
            Row {
                theirs: "the share of the interpreter in the CPU time of seven loads with 64 threads, Linux 3.10 and 4.18",
                here: "throughput per second of CPU time: `cargo lab throughput mariadb --load LOAD --threads 64`",
                difference: "no profiler: a ratio to no filter",
                published: "16.8 to 29.9 % in 3.10, at most 0.05 % in 4.18",
                ours: Ours::On("workloads.md#figures"),
            },
            Row {
                theirs: "Linux 4.19 (JIT compiler) and 5.15 (cache) described",
                here: "Debian's kernels 5.10, 6.1 and 6.12, with and without the JIT compiler: `cargo lab kernels`",
                difference: "executed instructions in an emulator; kernels before 5.10 are not in Debian's archive any more",
                published: "no figures",
                ours: Ours::On("kernels.md"),
            },
        ],
    },
    Publication {
        title: "Optimizing seccomp usage in gVisor (2024)",
        rows: &[
            Row {
                theirs: "secbench: random sequence of gVisor's 10 most frequent syscalls with Postgres, drawn with weights, Systrap; before and after its optimizer, over an empty filter",
                here: "a fixed random sequence of 16,384, drawn with the published counts of 25 syscalls; no filter, empty filter, before, after: `cargo lab experiment weighted BEFORE AFTER`",
                difference: "the figure here is libseccomp's list and Callgate's program for `container-default`; gVisor's filters are not part of this repository",
                published: "−29 % of the overhead; runs and spread not published",
                ours: Ours::Of(
                    Experiment::Weighted,
                    &[
                        place(
                            "over the empty filter",
                            [
                                "mix_change",
                                "Callgate instead of libseccomp, list",
                                "over constant allow %",
                            ],
                            "%",
                        ),
                        place(
                            "over no filter",
                            [
                                "mix_change",
                                "Callgate instead of libseccomp, list",
                                "over no filter %",
                            ],
                            "%",
                        ),
                    ],
                ),
            },
            Row {
                theirs: "each of the 10 syscalls alone",
                here: "each of the 25 in a loop: `cargo lab experiment weighted`, a table per syscall",
                difference: "as above",
                published: "a chart without figures",
                ours: Ours::Not("there is no figure to compare with"),
            },
            Row {
                theirs: "the same with the KVM platform; `ioctl` of CUDA with nvproxy",
                here: "`cargo lab experiment weighted BEFORE AFTER --weights FILE`; `callgate bench --calls 'ioctl(…)'`",
                difference: "the counts of KVM, and which commands of CUDA were made, were not published",
                published: "charts without figures",
                ours: Ours::Not("the weights are not published"),
            },
            Row {
                theirs: "instructions of the Sentry's filter before and after",
                here: "gVisor's programs after `callgate optimize`: `cargo lab compare --filters DIR`",
                difference: "a later version of gVisor",
                published: "a fourth of the instructions",
                ours: Ours::On("comparison.md"),
            },
            Row {
                theirs: "gVisor's own interpreter before and after, three filters",
                here: "gVisor's interpreter beside Callgate's engines: `cargo lab compare engines`",
                difference: "a later version of gVisor; other filters",
                published: "2 times as fast",
                ours: Ours::On("comparison.md"),
            },
            Row {
                theirs: "building the filter when runsc starts, and precompiled",
                here: "start to installed filter with each library: `cargo lab startup`",
                difference: "a small policy; in comparison.md, gVisor compiles whole profiles",
                published: "about 10 ms",
                ours: Ours::On("startup.md"),
            },
            Row {
                theirs: "ABSL built in gVisor: with its filter, with an empty filter, after the changes",
                here: "C files built under a filter: `cargo lab throughput build`",
                difference: "no gVisor around the build",
                published: "3.6 % of the time is the filter; about 1 % was saved",
                ours: Ours::Not(
                    "needs two versions of gVisor, and resolves 1 % only with many hours of builds",
                ),
            },
            Row {
                theirs: "gRPC build, Ruby Fastlane, PyTorch in gVisor; nginx's median latency",
                here: "nginx without gVisor: `cargo lab throughput nginx`",
                difference: "no gVisor, no GPU",
                published: "charts; nginx 20 µs less",
                ours: Ours::Not("needs two versions of gVisor, and a GPU for PyTorch"),
            },
            Row {
                theirs: "gVisor's cache of verdicts for filters of sandboxed programs",
                here: "–",
                difference: "–",
                published: "a chart without figures",
                ours: Ours::Not("it is inside gVisor's kernel"),
            },
        ],
    },
];
